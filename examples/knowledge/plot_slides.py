"""
The slides' example: a border that distances cannot see
=======================================================

Two clouds, and a third class that is a corner cut out of the first one: the points to the right of
the one axis and below the other. A clustering by distance finds roughly where the corner is, but
not its border. Somebody who knows some of the points can say so in two ways: with links between
pairs of points, or with a tag on one class.

The data is drawn like that of Teja's slides on constrained clustering.
"""

# %%
# Plain k-means first.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from linkwise import Constraints, COPKMeans, PreIdentifiedKMeans, plot_clusters
from linkwise.datasets import make_slides
from linkwise.evaluation import score

X, y = make_slides(600, random_state=0)
plain = KMeans(3, n_init=10, random_state=0).fit_predict(X)

# %%
# First way: random pairs of points, each with the answer whether both are of one class. COP-KMeans
# satisfies all of them. A link names two points only, so it takes many to define a border.

known = Constraints.from_labels(y, 1500, random_state=0)
print(known.diagnose(n_clusters=3, n_rows=len(X)))
linked = COPKMeans(3, n_init=3, random_state=0).fit(X, constraints=known)

# %%
# Second way: the points of the corner have a tag, and nothing is known about the others. The tagged
# points are a cluster that no other point may join.

tagged = np.where(y == 2, 2, -1)
preset = PreIdentifiedKMeans(3, random_state=0).fit(X, tagged)

# %%
# Color is the cluster, shape the class; the second cloud, which every method finds, is mostly
# outside the picture. Without knowledge the border is the line halfway between two centers.

results = {
    "k-means": plain,
    "COP-KMeans, 1500 links": linked.labels_,
    "PreIdentify, corner tagged": preset.labels_,
}
names = np.array(["first cloud", "second cloud", "the corner"])[y]
figure, panels = plt.subplots(1, 3, figsize=(11, 5), sharey=True, layout="constrained")
for ax, (title, labels) in zip(panels, results.items(), strict=True):
    ax.axvline(0, color="0.85", lw=1, zorder=0)
    ax.axhline(0, color="0.85", lw=1, zorder=0)
    plot_clusters(X, labels, classes=names, like=y, legend=False, ax=ax)
    ax.set(xlim=(-18, 22), ylim=(-30, 30))
    ax.set_title(title, loc="left", weight="bold", pad=22)
    ax.text(0, 1.02, f"NMI {score(y, labels).nmi:.2f}", color="0.35", transform=ax.transAxes)
entries = panels[0].get_legend_handles_labels()
figure.legend(*entries, loc="outside lower center", ncols=3, frameon=False)
plt.show()
