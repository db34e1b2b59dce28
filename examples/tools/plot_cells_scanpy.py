"""
Cell types from markers, with scanpy
====================================

Clusters of single cells show batches as well as types. Cells with a clear marker are labeled, and
the labels decide which differences count. The clusters go into ``adata.obs``, as those of scanpy's
own functions do.
"""

# %%
# In scanpy the preparation is::
#
#     import scanpy as sc
#
#     sc.pp.normalize_total(adata)
#     sc.pp.log1p(adata)
#     sc.pp.pca(adata, n_comps=10)
#
# The same here, with NumPy, on counts that are made up: three types with a marker gene each, and a
# batch that changes thirty other genes. ``adata`` has the parts of an ``AnnData`` that are used.

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from linkwise import MPCKMeans
from linkwise.evaluation import score
from linkwise.integrations import cluster_cells

rng = np.random.default_rng(0)
types = np.array(["B cell", "T cell", "monocyte"])
kind, batch = rng.integers(0, 3, 300), rng.integers(0, 2, 300)
level = np.ones((300, 60))
level[np.arange(300), kind] = 12
level[:, 10:40] *= np.where(batch == 1, 2.2, 1.0)[:, None]
counts = rng.poisson(level * rng.uniform(0.5, 2, (300, 1)))
logged = np.log1p(1e3 * counts / counts.sum(axis=1, keepdims=True))

obs = pd.DataFrame(index=[f"cell {row}" for row in range(300)])
obsm = {"X_pca": PCA(10, random_state=0).fit_transform(logged)}
adata = SimpleNamespace(obs=obs, obsm=obsm, obs_names=obs.index, uns={})

# %%
# Label the cells in which one marker is far above the others; the rest is unknown.

markers = pd.DataFrame(counts[:, :3], index=adata.obs_names, columns=types)
ordered = np.sort(markers.to_numpy(), axis=1)
clear = ordered[:, 2] >= 4 * np.maximum(ordered[:, 1], 3)
adata.obs["known"] = markers.idxmax(axis=1).where(clear, "unknown")
print(adata.obs["known"].value_counts())

# %%
# Cluster. A learnt metric gives the directions of the batch a low weight. Clusters are called by
# their most frequent label.

adata.obs["plain"] = KMeans(3, n_init=10, random_state=0).fit_predict(adata.obsm["X_pca"])
cluster_cells(adata, MPCKMeans(3, n_init=5, random_state=0), labels="known", key_added="type")
for name in ("plain", "type"):
    print(f"{name}: ARI {score(kind, adata.obs[name]).ari:.2f}")

# %%
# With scanpy: ``sc.pl.pca(adata, color=["plain", "type"])``.

fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharex=True, sharey=True)
shown = {"batch": batch, "plain k-means": adata.obs["plain"], "with markers": adata.obs["type"]}
for ax, (title, values) in zip(axes, shown.items(), strict=True):
    codes, names = pd.factorize(np.asarray(values), sort=True)
    for number, name in enumerate(names):
        ax.scatter(*adata.obsm["X_pca"][codes == number, :2].T, s=10, label=str(name))
    ax.set_title(title)
    ax.legend(fontsize=8)
    ax.set_xticks([])
    ax.set_yticks([])
plt.tight_layout()
plt.show()
