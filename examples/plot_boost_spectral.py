"""
Any clusterer can listen: boosting spectral clustering
======================================================

BoostCluster takes a clusterer that knows nothing of constraints, here scikit-learn's spectral
clustering, and lets it cluster the data again and again, each time projected so that the links
which are kept worst so far stand out more. The clusterings are then put together.
"""

# %%
# Handwritten threes, fives, eights and nines out of scikit-learn's digits, as 8 x 8 pixels.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits

from linkwise import BoostCluster, Constraints
from linkwise.evaluation import score

digits = load_digits()
rows = np.flatnonzero(np.isin(digits.target, (3, 5, 8, 9)))[:200]
X, y = digits.data[rows], digits.target[rows]
base = SpectralClustering(4, gamma=5e-4, assign_labels="cluster_qr", random_state=0)
alone = score(y, base.fit_predict(X)).nmi

# %%
# Three draws of links, half of them must-links, as in the paper.

counts = (25, 50, 100, 200)
found = np.empty((3, len(counts)))
for draw in range(3):
    for place, count in enumerate(counts):
        known = Constraints.from_labels(y, count, "balanced", random_state=draw)
        model = BoostCluster(base, n_rounds=5, random_state=0).fit(X, constraints=known)
        found[draw, place] = score(y, model.labels_).nmi
print(f"the last of them: {model.n_iter_} rounds; {model.stopped_}")

# %%
# Few links can do harm: the projection then follows them and forgets the rest.

figure, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
ax.plot(counts, found.T, "o", color="#0072b2", alpha=0.35, ms=5, mew=0)
ax.plot(counts, found.mean(axis=0), color="#0072b2", lw=2)
ax.text(counts[-1] * 1.08, found[:, -1].mean(), "boosted", color="#0072b2", weight="bold")
ax.axhline(alone, color="0.5", ls="--", lw=1)
ax.text(counts[-1] * 1.08, alone, "spectral clustering\nalone", color="0.4", va="center")
ax.set(xscale="log", xlabel="links", ylabel="NMI", xlim=(22, 380))
ax.set_xticks(counts, [str(count) for count in counts])
ax.minorticks_off()
ax.set_title("Three draws of links, and their mean", loc="left", size=10)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
