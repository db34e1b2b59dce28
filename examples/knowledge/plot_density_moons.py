"""
Two moons: dense regions with links
===================================

Noise joins the two moons, so that density alone splits them into pieces. A few links say which
pieces belong together and which do not.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from linkwise import ConstrainedHDBSCAN, Constraints, plot_clusters
from linkwise.evaluation import score

X, y = make_moons(500, noise=0.15, random_state=0)
known = Constraints.from_labels(y, 60, random_state=0)

# %%
# Without links, and with 60 of them. The number of clusters is found; -1 is noise.
plain = ConstrainedHDBSCAN(10, min_samples=5).fit(X)
linked = ConstrainedHDBSCAN(10, min_samples=5).fit(X, constraints=known)
for name, model in (("without links", plain), ("with links", linked)):
    noise = (model.labels_ < 0).mean()
    print(f"{name}: {model.n_clusters_} clusters, {noise:.0%} noise, "
          f"ARI {score(y, model.labels_).ari:.2f}")  # fmt: skip
print(linked.report_)

# %%
# Rows in the colors of their clusters, links as lines.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5))
plot_clusters(X, plain.labels_, ax=axes[0])
plot_clusters(X, linked.labels_, known, ax=axes[1])
axes[0].set_title("density alone")
axes[1].set_title("with 60 links")
figure.tight_layout()
plt.show()
