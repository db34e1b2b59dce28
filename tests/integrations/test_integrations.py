from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from linkwise import (
    ConstrainedHDBSCAN,
    Constraints,
    PCKMeans,
    SeededKMeans,
    Session,
    SpectralLearning,
)
from linkwise.datasets import load
from linkwise.integrations import BoundConstraints, ProgressBar, cluster_cells, show_studio

IRIS = load("iris")
X, Y = IRIS.data, IRIS.target
IDS = [f"c{row}" for row in range(len(X))]
KNOWN = Constraints.from_labels(dict(zip(IDS, Y.tolist(), strict=True)), 200, random_state=0)


# -------------------------------------------------------------------- bound constraints


class Topics:
    """Calls a clusterer as BERTopic does."""

    def __init__(self, hdbscan_model):
        self.hdbscan_model = hdbscan_model

    def fit_transform(self, embeddings, y=None):
        self.hdbscan_model.fit(embeddings, y=y)
        self.probabilities = getattr(self.hdbscan_model, "probabilities_", None)
        return self.hdbscan_model.labels_

    def transform(self, embeddings):
        return self.hdbscan_model.predict(embeddings)


@pytest.mark.parametrize("model", [PCKMeans(3, random_state=0), ConstrainedHDBSCAN(10)])
def test_as_the_clusterer_of_a_topic_model(model):
    topics = Topics(BoundConstraints(model, KNOWN, IDS))
    labels = topics.fit_transform(X)
    direct = clone(model).fit(X, constraints=KNOWN, sample_ids=IDS)
    np.testing.assert_array_equal(labels, direct.labels_)
    assert topics.probabilities.shape == (150,)
    assert ((topics.probabilities >= 0) & (topics.probabilities <= 1)).all()
    assert topics.transform(X[:7]).shape == (7,)


def test_what_the_inner_one_lacks_is_lacking():
    bound = BoundConstraints(SpectralLearning(3, random_state=0))
    assert not hasattr(bound, "predict_proba")
    bound.fit(X)
    assert not hasattr(bound, "probabilities_")


def test_bound_rows_must_be_those_of_the_fit():
    bound = BoundConstraints(PCKMeans(3), KNOWN, IDS)
    with pytest.raises(ValueError, match="sample_ids has 150 entries, but fit got 149 rows"):
        bound.fit(X[1:])
    assert clone(bound).get_params()["constraints"] is not None


# -------------------------------------------------------------------- cells


@pytest.fixture
def adata():
    pd = pytest.importorskip("pandas")
    obs = pd.DataFrame(index=IDS)
    obs["marker"] = np.where(np.arange(150) % 3 == 0, IRIS.target_names[Y], "unknown")
    return SimpleNamespace(obs=obs, obsm={"X_pca": X}, obs_names=obs.index, uns={})


def test_clusters_of_cells_go_into_obs(adata):
    model = cluster_cells(adata, SeededKMeans(3, random_state=0), labels="marker")
    assert set(adata.obs["linkwise"].cat.categories) == set(IRIS.target_names)
    assert np.mean(adata.obs["linkwise"] == IRIS.target_names[Y]) > 0.85
    assert adata.obs["linkwise_probability"].between(0, 1).all()
    assert adata.uns["linkwise"]["params"]["method"] == "SeededKMeans"
    assert len(model.labels_) == 150


def test_constraints_on_cells_by_name(adata):
    cluster_cells(adata, PCKMeans(3, random_state=0), constraints=KNOWN, key_added="own")
    assert set(adata.obs["own"]) == {"0", "1", "2"}


def test_what_cells_lack_is_told(adata):
    with pytest.raises(ValueError, match="no 'X_umap'; there are 'X_pca'"):
        cluster_cells(adata, PCKMeans(3), use_rep="X_umap")
    with pytest.raises(ValueError, match="no column 'type'"):
        cluster_cells(adata, PCKMeans(3), labels="type")


# -------------------------------------------------------------------- notebooks


def test_studio_in_a_cell():
    pytest.importorskip("nicegui")
    with Session(X, n_clusters=3, random_state=0) as session:
        frame = show_studio(session, height=500)
        try:
            assert frame.studio.url in frame._repr_html_()
        finally:
            frame.studio.close()


def test_the_bar_is_called_and_closed(monkeypatch):
    monkeypatch.setattr("linkwise.integrations._progress._SECONDS_BEFORE", -1)
    monkeypatch.setattr("linkwise.integrations._progress._SECONDS_BETWEEN", -1)
    with ProgressBar(3) as bar:
        PCKMeans(3, n_init=3, callback=bar, random_state=0).fit(X)
    assert bar.n_calls >= 3
    assert not bar._bar.live.is_started
