"""
More than one machine: Dask
===========================

A Dask array consists of blocks, which may be on many machines and need not fit into the memory of
one. ``fit`` accepts it like any other array: blocks stay where they are, only sums are transferred,
and the few rows that constraints name are fetched once.
"""

# %%
# Without a cluster, blocks are processed one after the other on this machine. Once the program has
# a ``dask.distributed.Client``, the same lines run on its workers.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from linkwise import Constraints, PCKMeans, plot_clusters
from linkwise.datasets import make_blobs
from linkwise.evaluation import score

rows, y = make_blobs(20_000, centers=4, cluster_std=1.4, random_state=2)
X = da.from_array(rows, chunks=(5_000, 2))
print(f"{X.shape[0]:,} rows in {X.numblocks[0]} blocks")

# %%
# Constraints name row numbers, as always. On workers, labels are a Dask array in the blocks of the
# data; ``np.asarray`` fetches them.

known = Constraints.from_labels(y, 2_000, random_state=0)
model = PCKMeans(4, random_state=0).fit(X, constraints=known)
labels = np.asarray(model.labels_)
print(str(model.report_).split("violated")[0])

# %%
# From the same start, the result is the same as in memory.

start = model.cluster_centers_
far, near = (
    PCKMeans(4, init=start, random_state=0).fit(data, constraints=known).labels_
    for data in (X, rows)
)
differ = np.sum(np.asarray(far) != near)
print(f"labels that differ: {differ} of {len(rows):,}")

# %%
# One row in ten is drawn.

shown = np.arange(0, len(rows), 10)
figure, ax = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
plot_clusters(rows[shown], labels[shown], like=y[shown], legend=False, ax=ax)
title = f"{len(rows):,} rows in {X.numblocks[0]} blocks: ARI {score(y, labels).ari:.2f}"
ax.set_title(title, loc="left", weight="bold")
plt.show()

# %%
# In every iteration a block returns sums over its rows, whose size does not depend on the number of
# rows. So a fit needs the time to read the blocks, but not the memory to hold them.
