"""
Soft memberships: a mixture with links
======================================

Two species of Iris overlap. A Gaussian mixture says how sure each row's cluster is, and 30 links
make it surer.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from linkwise import ConstrainedMixture, Constraints
from linkwise.evaluation import score

X, y = load_iris(return_X_y=True)
known = Constraints.from_labels(y, 30, random_state=0)

# %%
# Every link is satisfied: rows that must be together share one membership.
plain = ConstrainedMixture(3, random_state=0).fit(X)
linked = ConstrainedMixture(3, random_state=0).fit(X, constraints=known)
for name, model in (("without links", plain), ("with links", linked)):
    unsure = (model.probabilities_.max(axis=1) < 0.95).sum()
    print(f"{name}: ARI {score(y, model.labels_).ari:.3f}, {unsure} rows below 95 %")

# %%
# New rows get memberships too, and a likelihood that tells outliers.
print(linked.predict_proba([[6.0, 2.9, 4.8, 1.6]]).round(3))
print(linked.score_samples([[6.0, 2.9, 4.8, 1.6], [9.0, 1.0, 1.0, 3.0]]).round(1))

# %%
# How sure each row is: gray rows lie between two clusters.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True)
for ax, model, name in zip(axes, (plain, linked), ("without", "with"), strict=True):
    sure = np.clip(2 * model.probabilities_.max(axis=1) - 1, 0, 1)
    ax.scatter(X[:, 2], X[:, 3], c=sure, cmap="viridis", s=18)
    ax.set_title(f"{name} links")
    ax.set_xlabel("petal length")
axes[0].set_ylabel("petal width")
figure.tight_layout()
plt.show()
