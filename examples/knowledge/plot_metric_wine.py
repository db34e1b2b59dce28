"""
Metric learning on wine: which features count
=============================================

Thirteen chemical measurements of 178 wines from three growers, in their own units. In these units
proline, with values above a thousand, dominates every distance, so k-means uses hardly anything
else. Thirty links are enough for MPCK-Means to learn the weight of each measurement.
"""

# %%
# We do not scale the features, on purpose: the metric has to correct the units.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, MPCKMeans, plot_clusters
from linkwise.evaluation import score

wine = load_wine()
X, y = wine.data, wine.target
plain = KMeans(3, n_init=10, random_state=0).fit_predict(X)
known = Constraints.from_labels(y, 30, random_state=0)
model = MPCKMeans(3, random_state=0).fit(X, constraints=known)

# %%
# A metric of weights is the same as stretching the features by the roots of the weights. Both
# pictures show the two directions in which the wines differ most, in raw units and as the learnt
# metric sees them.

growers = np.array(["grower 1", "grower 2", "grower 3"])[y]
views = {
    "k-means, raw units": (X, plain),
    "MPCK-Means, 30 links": (X * np.sqrt(model.metrics_), model.labels_),
}
figure, panels = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
for ax, (title, (seen, labels)) in zip(panels, views.items(), strict=True):
    plot_clusters(seen, labels, classes=growers, like=y, legend=False, ax=ax)
    ax.set_title(title, loc="left", weight="bold", pad=22)
    ax.text(0, 1.02, f"ARI {score(y, labels).ari:.2f}", color="0.35", transform=ax.transAxes)
entries = panels[0].get_legend_handles_labels()
figure.legend(*entries, loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# How much a feature counts is its weight times its variance. In raw units proline makes up nearly
# all of every distance. The learnt metric gives most to the features in which wines of one grower
# agree.


def share(weights):
    """What each feature makes up of the distances between wines, in per cent."""
    counts = weights * X.var(axis=0)
    return 100 * counts / counts.sum()


learnt, raw = share(model.metrics_), share(np.ones(X.shape[1]))
order = np.argsort(learnt)
figure, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
ax.barh(np.arange(len(order)), learnt[order], color="#0072b2")
ax.set_yticks(np.arange(len(order)), [wine.feature_names[i].replace("_", " ") for i in order])
ax.set(xlabel="share of the distances, %")
ax.set_title(f"As learnt; in raw units proline has {raw.max():.1f} %", loc="left", weight="bold")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Is standardizing enough? On wine it is: all features matter, and it needs no links. Links improve
# it further. If some features are noise, only links can show which
# (:ref:`sphx_glr_auto_examples_knowledge_plot_gpk_ten_constraints.py`). With links, the mean of
# five draws:

scaled = StandardScaler().fit_transform(X)


def with_links(data, number):
    """Mean ARI of MPCK-Means over five draws of so many links."""
    draws = [Constraints.from_labels(y, number, random_state=seed) for seed in range(5)]
    model = MPCKMeans(3, random_state=0)
    return np.mean([score(y, model.fit_predict(data, constraints=draw)).ari for draw in draws])


by_hand = KMeans(3, n_init=10, random_state=0).fit_predict(scaled)
print(f"k-means, raw units               ARI {score(y, plain).ari:.2f}")
print(f"MPCK-Means, raw units, 30 links  ARI {with_links(X, 30):.2f}")
print(f"k-means, scaled                  ARI {score(y, by_hand).ari:.2f}")
print(f"MPCK-Means, scaled, 150 links    ARI {with_links(scaled, 150):.2f}")
