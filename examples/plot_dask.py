"""
Past one machine: Dask
======================

A Dask array is an array in blocks, which may lie on many machines and need not fit into the memory
of any. ``fit`` takes it like any other: blocks stay where they are, only sums travel, and the few
rows that constraints touch are fetched once.
"""

# %%
# Without a cluster, blocks are worked on one after the other, on this machine. Once the program has
# a ``dask.distributed.Client``, the same lines run on its workers.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from linkwise import Constraints, PCKMeans, plot_clusters
from linkwise.datasets import make_blobs
from linkwise.evaluation import score

rows, y = make_blobs(20_000, centers=4, cluster_std=2.0, random_state=2)
X = da.from_array(rows, chunks=(5_000, 2))
print(f"{X.shape[0]:,} rows in {X.numblocks[0]} blocks")

# %%
# Constraints go by row number, as ever. On workers, labels are a Dask array in the blocks of the
# data; ``np.asarray`` fetches them.

known = Constraints.from_labels(y, 2_000, random_state=0)
model = PCKMeans(4, random_state=0).fit(X, constraints=known)
labels = np.asarray(model.labels_)
print(str(model.report_).split("not kept")[0])

# %%
# Given the same start, the result is that of the rows in memory.

start = model.cluster_centers_
far, near = (
    PCKMeans(4, init=start, random_state=0).fit(data, constraints=known).labels_
    for data in (X, rows)
)
print(f"labels that differ: {np.sum(np.asarray(far) != near)} of {len(rows):,}")

# %%
# One row in ten is drawn. The bars show what stays and what travels: in every iteration a block
# sends back counts and sums of its clusters, never its rows.

sent = 8 * model.cluster_centers_.size + 8 * len(model.cluster_centers_)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
plot_clusters(rows[::10], labels[::10], like=y[::10], legend=False, ax=left)
left.set_title(f"{len(rows):,} rows, ARI {score(y, labels).ari:.2f}", loc="left", weight="bold")
sizes = {"a block of rows": 8 * X.chunks[0][0] * X.shape[1], "what it sends back": sent}
right.barh(list(sizes), list(sizes.values()), color=["#98a2b3", "#0072b2"], height=0.5)
for place, size in enumerate(sizes.values()):
    right.text(size * 1.15, place, f"{size:,} bytes", va="center")
right.set(xscale="log", xlabel="bytes", xlim=(10, 1e6))
right.spines[["top", "right"]].set_visible(False)
right.set_title("In every iteration", loc="left", weight="bold")
plt.show()
