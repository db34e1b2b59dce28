"""
Constraints for any clusterer: boosting spectral clustering
===========================================================

BoostCluster adds constraints to any clusterer, here scikit-learn's spectral clustering. In each
round the base clusters a projection of the data that emphasizes the links which the earlier rounds
violate most. The clusterings of all rounds are then combined.
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
# Few links can make the result worse: the projection then follows them and ignores the rest of the
# data.

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
