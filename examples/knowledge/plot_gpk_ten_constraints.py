"""
Ten constraints and their neighborhood: GPK-Means
=================================================

Ten links are very few for two hundred rows. GPK-Means propagates them: rows close to the ends of a
link get a weaker link of the same kind, and the method clusters again with all of them.
"""

# %%
# Two classes that differ in one feature; the other one is noise with a larger variance. k-means
# follows the noise.

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
# One draw of ten links. MPCK-Means, which learns the weight of each feature, satisfies them all,
# but gives the noise a high weight. GPK-Means infers more links in each round; the ``threshold``
# says how close a row must be to an end of a link.

known = Constraints.from_labels(y, 10, random_state=4)
alone = MPCKMeans(2, random_state=0).fit(X, constraints=known)
model = GPKMeans(2, threshold=0.8, random_state=0).fit(X, constraints=known)
inferred = model.propagated_constraints_ - known
print(f"{known.n_constraints} links given, {inferred.n_constraints} inferred in the last round")

# %%
# The second picture shows a hundred of the inferred links.

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
    ari, satisfied = score(y, labels).ari, links.satisfied(labels).n_satisfied
    what = f"ARI {ari:.2f}, {satisfied} of {links.n_constraints} links satisfied"
    ax.text(0, 1.02, what, color="0.35", transform=ax.transAxes)
    handles, words = ax.get_legend_handles_labels()
    entries |= dict(zip(words, handles, strict=True))
panels[0].set(ylabel="the louder feature, noise")
panels[1].set(xlabel="the feature that counts")
figure.legend(entries.values(), entries, loc="outside lower center", ncols=4, frameon=False)
plt.show()

# %%
# One draw may be luck, so here are twelve. With some draws the rounds do not converge; GPK-Means
# then warns and takes the round that satisfies most of the given links.

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
# Propagation does not always help: it assumes that rows close together belong together. With round
# clusters, or with hundreds of links, MPCK-Means alone is as good.
