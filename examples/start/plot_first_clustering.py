"""
Two clusterings of the same rows
================================

The shortest example. Points form four squares, and two clusters can be found in two ways that fit
equally well. Two links say which one is meant.
"""

# %%
# Left and right, or top and bottom? The distances alone do not say it.

import matplotlib.pyplot as plt
import numpy as np

from linkwise import Constraints, COPKMeans, plot_clusters

rng = np.random.default_rng(0)
corners = np.array([[0, 0], [0, 4], [4, 0], [4, 4]])
around = rng.uniform(-1, 1, (12, 2))
around = np.vstack([around, around[:, ::-1]])  # as wide as high
X = np.repeat(corners, 24, axis=0) + np.tile(around, (4, 1))

# %%
# Rows 0 and 24 are in the two squares on the left, rows 0 and 48 in the two at the bottom.

left_right = Constraints(must_link=[(0, 24)], cannot_link=[(0, 48)])
top_bottom = Constraints(must_link=[(0, 48)], cannot_link=[(0, 24)])

# %%
# COP-KMeans satisfies every link. Solid lines are must-links, dotted lines cannot-links: two links
# are enough for all 96 rows.

figure, panels = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for ax, known in zip(panels, (left_right, top_bottom), strict=True):
    model = COPKMeans(n_clusters=2, init="k-means++", n_init=20, random_state=0).fit(
        X, constraints=known
    )
    print(model.report_)
    plot_clusters(X, model.labels_, known, legend=False, ax=ax)
panels[0].set_title("left and right", loc="left", weight="bold")
panels[1].set_title("top and bottom", loc="left", weight="bold")
plt.show()
