"""
Hard or soft: COP-KMeans against PCK-Means
==========================================

COP-KMeans satisfies every constraint. PCK-Means may violate one at a cost. Which of them is better
depends above all on whether the constraints are right.
"""

# %%
# Three blobs that overlap, and 200 links, drawn ten times. In each draw a share of the links is
# flipped: "same" becomes "different" and vice versa.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, COPKMeans, PCKMeans
from linkwise.datasets import make_blobs
from linkwise.evaluation import score

X, y = make_blobs(300, centers=3, cluster_std=2.2, random_state=3)
X = StandardScaler().fit_transform(X)
plain = score(y, KMeans(3, n_init=10, random_state=0).fit_predict(X)).ari

# %%
# Wrong links soon contradict right ones. ``on_infeasible="relax"`` lets COP-KMeans drop as few
# links as possible; otherwise it would refuse and name the contradiction.

methods = {
    "COP-KMeans (hard)": COPKMeans(3, on_infeasible="relax", n_init=2, random_state=0),
    "PCK-Means (soft)": PCKMeans(3, random_state=0),
}
shares = np.array([0.0, 0.05, 0.1, 0.2, 0.3])
found = {name: np.empty((10, len(shares))) for name in methods}
for draw in range(10):
    right = Constraints.from_labels(y, 200, random_state=draw)
    for place, share in enumerate(shares):
        known = right.flip(share, random_state=draw)
        for name, model in methods.items():
            labels = model.fit(X, constraints=known).labels_
            found[name][draw, place] = score(y, labels).ari

# %%
# With right links both are equally good here. As soon as one link in twenty is wrong, the soft
# method is clearly better, and the hard one is soon worse than k-means, which uses no links.

figure, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
looks = (("#0072b2", "o"), ("#e69f00", "s"))
for (name, values), (color, marker) in zip(found.items(), looks, strict=True):
    mean, spread = values.mean(axis=0), values.std(axis=0)
    ax.plot(100 * shares, mean, marker=marker, color=color)
    ax.fill_between(100 * shares, mean - spread, mean + spread, color=color, alpha=0.15, lw=0)
    ax.text(30.6, mean[-1], name, color=color, va="center", weight="bold")
ax.axhline(plain, color="0.5", ls="--", lw=1)
ax.text(30.6, plain + 0.006, "k-means, told nothing", color="0.4", va="bottom")
ax.set(xlabel="wrong links, %", ylabel="ARI", xlim=(0, 41), xticks=100 * shares)
ax.set_title("Mean of ten draws of 200 links, and one standard deviation", loc="left", size=10)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# With many wrong links the soft method is worse than k-means too. If some answers are more certain
# than others, say so: the third entry of a link is its weight, the cost of violating it.
# `AutoCluster` estimates the share of wrong links and lists suspicious ones.
