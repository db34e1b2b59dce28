"""
Ten constraints that speak for many: GPK-Means
==============================================

Ten links are next to nothing for two hundred rows. GPK-Means spreads them: rows close to the ends
of a link get a weaker link of the same kind, and the method clusters again with all of them.
"""

# %%
# Two classes that differ in one feature; the other one is noise, and louder. k-means follows the
# noise.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from linkwise import Constraints, GPKMeans, MPCKMeans, PCKMeans, plot_clusters
from linkwise.evaluation import score

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 100)
X = np.column_stack([2 * y + rng.normal(0, 0.5, 200), rng.normal(0, 2, 200)])
plain = KMeans(2, n_init=10, random_state=0).fit_predict(X)

# %%
# One draw of ten links. MPCK-Means, which learns how much each feature counts, keeps them all, but
# takes the noise for the rule. GPK-Means infers more links in each round; how close a row must be
# to speak for its neighbor is the ``threshold``.

known = Constraints.from_labels(y, 10, random_state=4)
alone = MPCKMeans(2, random_state=0).fit(X, constraints=known)
model = GPKMeans(2, threshold=0.8, random_state=0).fit(X, constraints=known)
inferred = model.propagated_constraints_ - known
print(f"{known.n_constraints} links given, {inferred.n_constraints} inferred in the last round")

# %%
# The second picture shows a hundred of the links inferred.

views = {
    "MPCK-Means": (alone.labels_, known),
    "GPK-Means, links inferred": (model.labels_, inferred.sample(100, random_state=0)),
    "GPK-Means": (model.labels_, known),
}
figure, panels = plt.subplots(1, 3, figsize=(11, 5), sharey=True, layout="constrained")
entries = {}
for ax, (title, (labels, links)) in zip(panels, views.items(), strict=True):
    plot_clusters(X, labels, links, like=y, legend=False, ax=ax)
    ax.set_title(title, loc="left", weight="bold", pad=22)
    ari, kept = score(y, labels).ari, links.satisfied(labels).n_kept
    what = f"ARI {ari:.2f}, {kept} of {links.n_constraints} links kept"
    ax.text(0, 1.02, what, color="0.35", transform=ax.transAxes)
    handles, words = ax.get_legend_handles_labels()
    entries |= dict(zip(words, handles, strict=True))
panels[0].set(ylabel="the louder feature, noise")
panels[1].set(xlabel="the feature that counts")
figure.legend(entries.values(), entries, loc="outside lower center", ncols=4, frameon=False)
plt.show()

# %%
# One draw may be luck, so here are twelve. With some draws the rounds do not settle, which is a
# warning; the round that keeps most of the given links is taken then.

warnings.simplefilter("ignore", ConvergenceWarning)
methods = {
    "PCK-Means": PCKMeans(2, random_state=0),
    "MPCK-Means": MPCKMeans(2, random_state=0),
    "GPK-Means": GPKMeans(2, threshold=0.8, random_state=0),
}
draws = [Constraints.from_labels(y, 10, random_state=seed) for seed in range(12)]
print(f"k-means     ARI {score(y, plain).ari:.2f}")
for name, method in methods.items():
    found = [score(y, method.fit_predict(X, constraints=draw)).ari for draw in draws]
    print(f"{name:11} ARI {np.mean(found):.2f} on average, {min(found):z.2f} to {max(found):.2f}")

# %%
# Spreading does not always pay: it assumes that what lies close together belongs together. With
# round clusters, or with hundreds of links, MPCK-Means alone does as well.
