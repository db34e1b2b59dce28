"""Links that may be wrong: objective, estimate, probability of each link, against slow versions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import ITML, Constraints, HMRFKMeans, MPCKMeans, PCKMeans
from linkwise.constraints import most_wrong
from linkwise.datasets import load
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.solver import _noise
from linkwise.kmeans.solver._link_graph import LinkGraph
from linkwise.kmeans.solver._problem import Problem
from linkwise.kmeans.solver._spectral_start import from_linked_neighbors

from .cases import blobs, watched

METHODS = {
    "pck": PCKMeans(3, noise="auto", n_init=3, random_state=0),
    "pck-cosine": PCKMeans(3, noise="auto", distortion="cosine", n_init=3, random_state=0),
    "mpck": MPCKMeans(3, noise="auto", n_init=3, random_state=0),
    "mpck-full": MPCKMeans(3, noise="auto", metric="full", n_init=3, random_state=0),
    "mpck-per-cluster": MPCKMeans(3, noise="auto", per_cluster=True, n_init=3, random_state=0),
    "hmrf": HMRFKMeans(3, noise="auto", n_init=3, random_state=0),
    "hmrf-cosine": HMRFKMeans(3, noise="auto", distortion="cosine", n_init=3, random_state=0),
    "hmrf-divergence": HMRFKMeans(
        3, noise="auto", distortion="divergence", n_init=3, random_state=0
    ),
}


def noisy(n: int = 90, m: int = 120, share: float = 0.2, apart: float = 6.0, seed: int = 0):
    """Rows with positive entries, true labels, links of which some are wrong, and which."""
    X, y = blobs(n, 4, apart=apart, seed=seed)
    known = Constraints.from_labels(y, m, random_state=seed).flip(share, random_state=seed)
    kept = known.satisfied(y)
    return X - X.min() + 0.1, y, known, ~np.concatenate([kept.must_link, kept.cannot_link])


# -------------------------------------------------------------------- the objective


@pytest.mark.filterwarnings("ignore:the links held out agree better with k-means")
@pytest.mark.parametrize("name", METHODS)
def test_no_half_step_raises_the_objective(name):
    X, _, known, _ = noisy()
    spy = watched(clone(METHODS[name]), X, constraints=known)
    for found in spy.solutions:
        steps = np.array(found.half_steps)
        assert (np.diff(steps) <= 1e-9 * np.abs(steps[:-1]) + 1e-9).all()


@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_the_objective_is_minus_the_log_posterior(metric):
    """Row by row, link by link, in units of the rows' cost."""
    X, _, known, _ = noisy()
    model = MPCKMeans(3, metric=metric, noise="auto", n_init=1, random_state=0)
    model.fit(X, constraints=known)
    A = model.metrics_ if metric == "full" else np.diag(model.metrics_)
    away = X - model.cluster_centers_[model.labels_]
    rows = sum(r @ A @ r for r in away) - len(X) * np.linalg.slogdet(A)[1]
    a, b = np.concatenate([known.must_link, known.cannot_link]).astype(int).T
    together = model.labels_[a] == model.labels_[b]
    violated = together != (np.arange(len(a)) < known.n_must_link)
    p = np.clip(model.noise_, _noise.LEAST, _noise.MOST)
    said = [np.log(p) if broken else np.log(1 - p) for broken in violated]
    prior = 1.5 * np.log(p) + 8.5 * np.log(1 - p)
    wanted = rows - model._model.unit * (sum(said) + prior)
    np.testing.assert_allclose(model.objective_, wanted, rtol=1e-9)


def test_the_estimate_lowers_the_objective_most():
    _, y, known, _ = noisy()
    links = LinkGraph.of(known)
    labels = np.random.default_rng(0).integers(3, size=len(links.rows)).astype(np.int32)
    labels[: len(labels) // 2] = y[links.rows[: len(labels) // 2]]
    penalty = _noise.LogOddsPenalty(links, _noise.NoiseModel(_noise.MOST, True, 2.0))

    def objective(p: float) -> float:
        penalty.restore({"p": p})
        cost = penalty.costs(None)[:, 0]
        return float(cost[links.violated(labels)].sum() + penalty.constant())

    tried = {p: objective(p) for p in np.linspace(_noise.LEAST, _noise.MOST, 400)}
    penalty.learn(labels)
    assert objective(penalty.p) <= min(tried.values()) + 1e-9
    assert _noise.LEAST <= penalty.p <= _noise.MOST


def test_a_fixed_share_costs_its_log_odds():
    X, _, known, _ = noisy()
    model = MPCKMeans(3, metric="full", noise=0.25, n_init=2, random_state=0)
    model.fit(X, constraints=known)
    broken = ~np.concatenate(
        [model.report_.satisfaction.must_link, model.report_.satisfaction.cannot_link]
    )
    np.testing.assert_allclose(model.report_.costs[broken], 2 * np.log(3))
    assert not model.report_.costs[~broken].any()


def test_none_is_the_published_objective():
    X, _, known, _ = noisy()
    a = MPCKMeans(3, n_init=2, random_state=0).fit(X, constraints=known)
    b = MPCKMeans(3, noise="auto", n_init=2, random_state=0).fit(X, constraints=known)
    b.set_params(noise=None).fit(X, constraints=known)
    assert a.objective_ == b.objective_
    assert not hasattr(b, "noise_")
    assert b.report_.wrong is None
    assert b.report_.likely_wrong() == []


# -------------------------------------------------------------------- units of likelihood


def test_the_unit_is_that_of_gaussian_costs():
    """Costs that are c times a log likelihood have a unit of c; twice that for nearest rows."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (4000, 3)), rng.normal([6, 0, 0], 1, (4000, 3))])
    centers = np.array([[0.0, 0, 0], [6, 0, 0]])
    costs = ((X[:, None] - centers) ** 2).sum(axis=2)  # minus twice a log likelihood
    np.testing.assert_allclose(_noise.likelihood_unit(costs), 2 * 2, rtol=0.1)
    np.testing.assert_allclose(_noise.likelihood_unit(10 * costs), 2 * 20, rtol=0.1)
    # Each feature given twice: costs say twice as much as they should.
    np.testing.assert_allclose(_noise.likelihood_unit(2 * costs), 2 * 4, rtol=0.1)


def test_units_of_the_data_do_not_matter():
    X, _, known, _ = noisy()
    for model in (PCKMeans(3, noise="auto", n_init=3, random_state=0), METHODS["mpck"]):
        a = clone(model).fit(X, constraints=known)
        b = clone(model).fit(1000 * X, constraints=known)
        np.testing.assert_array_equal(a.labels_, b.labels_)
        np.testing.assert_allclose(a.noise_, b.noise_)
        np.testing.assert_allclose(a.report_.wrong, b.report_.wrong, atol=1e-6)


@pytest.mark.parametrize("costs", [np.zeros((5, 2)), np.ones((1, 1)), np.zeros((0, 3))])
def test_a_unit_there_is_always(costs):
    assert _noise.likelihood_unit(costs) > 0


# -------------------------------------------------------------------- which links are wrong


def test_the_probability_of_each_link_by_trying_all_places():
    """Both rows of a link in all clusters, all others held: the best way together, and apart."""
    rng = np.random.default_rng(1)
    known = Constraints(
        must_link=[(0, 1), (1, 2, 0.5), (3, 4), (0, 5)], cannot_link=[(0, 2), (2, 5), (1, 4, 2.0)]
    )
    links = LinkGraph.of(known)
    k, p, unit = 3, 0.2, 1.7
    labels = rng.integers(k, size=len(links.rows)).astype(np.int32)
    costs = rng.uniform(0, 6, (len(links.rows), k))
    price = unit * links.weight * np.log((1 - p) / p)

    def total(places, without):
        found = costs[np.arange(len(places)), places].sum()
        for link, (i, j) in enumerate(links.ends):
            if link != without and (places[i] == places[j]) != links.is_must[link]:
                found += price[link]
        return found

    wanted = []
    for link, (i, j) in enumerate(links.ends):
        best = {True: np.inf, False: np.inf}
        for a, b in product(range(k), repeat=2):
            places = labels.copy()
            places[i], places[j] = a, b
            best[a == b] = min(best[a == b], total(places, link))
        must = bool(links.is_must[link])
        odds = links.weight[link] * np.log((1 - p) / p) + (best[not must] - best[must]) / unit
        wanted.append(expit(-odds))
    found = _noise.probability_wrong(links, labels, costs, p, unit)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_suspects_are_the_wrong_links(name):
    X, _, known, bad = noisy(apart=8.0)
    model = clone(METHODS[name]).fit(X, constraints=known)
    listed = model.report_.wrong > 0.5
    assert (listed & bad).sum() / bad.sum() > 0.8
    assert (listed & bad).sum() / listed.sum() > 0.8
    assert abs(model.noise_ - bad.mean()) < 0.08
    assert [p for _, p in model.report_.likely_wrong()] == sorted(
        model.report_.wrong[listed].tolist(), reverse=True
    )


def test_wine_with_one_link_in_five_wrong():
    wine = load("wine")
    X = StandardScaler().fit_transform(wine.data)
    known = Constraints.from_labels(wine.target, 400, random_state=0).flip(0.2, random_state=0)
    kept = known.satisfied(wine.target)
    bad = ~np.concatenate([kept.must_link, kept.cannot_link])
    told = MPCKMeans(3, metric="full", random_state=0).fit(X, constraints=known)
    model = MPCKMeans(3, metric="full", noise="auto", random_state=0).fit(X, constraints=known)
    listed = model.report_.wrong > 0.5
    assert (listed & bad).sum() / bad.sum() > 0.9
    assert (listed & bad).sum() / listed.sum() > 0.9
    assert 0.15 < model.noise_ < 0.25
    assert adjusted_rand_score(wine.target, told.labels_) < 0.5
    assert adjusted_rand_score(wine.target, model.labels_) > 0.9
    assert "% of the links look wrong" in str(model.report_)
    assert "wrong" in model.report_.to_frame()


# -------------------------------------------------------------------- trust


def test_links_that_confirm_each_other_are_trusted():
    X, y, _, _ = noisy()
    dense = Constraints.from_labels(y, 1500, random_state=0)
    assert most_wrong(dense) < _noise.TRUSTED
    assert most_wrong(dense.flip(0.1, random_state=0)) == 1
    assert most_wrong(Constraints.from_labels(y, 20, random_state=0)) == 1
    model = PCKMeans(3, noise="auto", n_init=1, random_state=0).fit(X, constraints=dense)
    assert model.report_.satisfaction.share == 1
    assert model.noise_ < 0.01


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_held_out_links_tell_whether_the_others_are_right(share):
    """Links along the narrow direction: right, though rows alone say otherwise; or wrong."""
    rng, y = np.random.default_rng(0), np.arange(60) % 2
    far = 8 * rng.integers(2, size=60)
    X = np.column_stack([2 * y + rng.normal(0, 0.5, 60), far + rng.normal(0, 0.5, 60)])
    known = Constraints.from_labels(y, 90, random_state=0)
    known = known.flip(share, random_state=0) if share else known
    assert most_wrong(known) > _noise.TRUSTED
    model = PCKMeans(2, noise="auto", n_init=4, random_state=0).fit(X, constraints=known)
    published = PCKMeans(2, n_init=4, random_state=0).fit(X, constraints=known)
    assert (model.objective_ == published.objective_) == (share == 0)
    wanted = far > 4 if share else y
    assert adjusted_rand_score(wanted, model.labels_) > 0.7


def test_a_reading_must_be_better_beyond_chance():
    """If each link counts the same, it is McNemar's test."""
    first = np.ones(100)
    first[:20] = 0
    for gained, lost in product(range(21), range(0, 60, 3)):
        other = first.copy()
        other[:gained], other[20 : 20 + lost] = 1, 0
        is_clear = gained - lost > np.sqrt(gained + lost)
        assert _noise.first_unless_clear(np.array([first, other])) == int(is_clear)
    better, best = first.copy(), np.ones(100)
    better[:10] = 1
    assert _noise.first_unless_clear(np.array([first, better, best])) == 2


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_agreement_is_the_rand_index_up_to_a_factor(share):
    """All pairs are linked, some wrongly: the factor is the same for all clusters."""
    rng, y = np.random.default_rng(0), np.arange(200) % 5
    a, b = np.triu_indices(200, 1)
    said = (y[a] == y[b]) ^ (rng.random(len(a)) < share)
    pairs = np.column_stack([a, b])
    links = LinkGraph.of(Constraints(must_link=pairs[said], cannot_link=pairs[~said]))
    ratios = []
    for wrong in (0, 20, 60):
        labels = np.where(np.arange(200) < wrong, rng.integers(5, size=200), y)
        found = _noise.agreement(links, labels, 5).sum()
        ratios.append(found / adjusted_rand_score(y, labels))
    np.testing.assert_allclose(ratios, ratios[0], rtol=0.1 if share else 0.01)


@pytest.mark.parametrize(
    ("labels", "known"),
    [
        (np.zeros(4, dtype=int), Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)])),
        (np.arange(4), Constraints(must_link=[(0, 1)])),
        (np.array([0, 0, -1, -1]), Constraints(cannot_link=[(0, 1), (2, 3)])),
        (np.array([0, 1, 1, 0]), Constraints()),
    ],
)
def test_agreement_there_is_always(labels, known):
    assert np.isfinite(_noise.agreement(LinkGraph.of(known), labels, 2)).all()


def test_one_cluster_agrees_with_links_by_chance():
    links = LinkGraph.of(Constraints([(0, 1)], [(1, 2)]))
    with np.errstate(all="raise"):
        found = _noise.agreement(links, np.zeros(4, dtype=np.int64), 1)
    np.testing.assert_array_equal(found, 0.0)


@pytest.mark.parametrize("name", ["mpck", "hmrf"])
def test_links_that_mislead_do_not_count(name):
    """Two in five are wrong: log odds, which allow for fewer, do worse than k-means."""
    X, y, known, _ = noisy(80, 600, 0.4, apart=4.0)
    model = clone(METHODS[name]).set_params(n_init=4)
    with pytest.warns(UserWarning, match="agree better with k-means"):
        model.fit(X, constraints=known)
    doubted = clone(model).set_params(noise=0.15).fit(X, constraints=known)
    found, other = (adjusted_rand_score(y, m.labels_) for m in (model, doubted))
    assert found > max(other, 0.9)
    assert 0.3 < model.noise_ < 0.5
    assert (model.metrics_ == 1).all() if hasattr(model, "metrics_") else True
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_metric_that_collapses_is_noticed(monkeypatch):
    """Onto rows that agree in a rare feature: a low objective, with half of the links violated."""
    rng, y = np.random.default_rng(3), np.arange(100) % 2
    telling = y[:, None] + rng.normal(0, 0.6, (2, 100)).T
    X = StandardScaler().fit_transform(np.hstack([telling, rng.random((2, 100)).T < 0.15]))
    known = Constraints.from_labels(y, 150, random_state=3).flip(0.2, random_state=3)
    monkeypatch.setattr(MPCKMeans, "_may_ask_neighbors", lambda *given: False)
    model = MPCKMeans(2, metric="full", noise="auto", random_state=0).fit(X, constraints=known)
    low = MPCKMeans(2, metric="full", noise=0.15, random_state=0).fit(X, constraints=known)
    assert low.objective_ < model.objective_
    assert low.noise_ > 0.4 > 0.3 > model.noise_
    assert adjusted_rand_score(y, model.labels_) > 0.7


def test_a_full_metric_of_few_rows_and_doubted_links_is_searched_for_shortly():
    """Nine rows per feature; a long search replaces centers, and runs again and again."""
    X, _, known, _ = noisy(36)
    model = MPCKMeans(3, metric="full", noise=0.1, random_state=0)
    assert len(watched(clone(model), X, constraints=known).solutions) == 8
    right = clone(model).set_params(noise=None)
    assert len(watched(right, X, constraints=known).solutions) > 8
    X, _, known, _ = noisy(40)
    assert len(watched(clone(model), X, constraints=known).solutions) > 8


def test_held_out_links_choose_the_shape_of_the_metric():
    X, _, known, _ = noisy()
    model = MPCKMeans(3, metric="auto", noise="auto", n_init=2, random_state=0)
    model.fit(X, constraints=known)
    fixed = clone(model).set_params(metric=model.metric_).fit(X, constraints=known)
    np.testing.assert_array_equal(model.labels_, fixed.labels_)


@pytest.mark.parametrize(("m", "shape"), [(30, "identity"), (60, "full")])
def test_few_links_learn_no_metric(m, shape):
    """Nobody could tell whether it means something; a fixed share has no test at all."""
    X, _, known, _ = noisy(90, m)
    model = MPCKMeans(3, metric="auto", noise=0.1, n_init=1, random_state=0)
    assert model.fit(X, constraints=known).metric_ == shape


def test_contradictions_are_no_special_case():
    X, y, known, _ = noisy(apart=8.0)
    known = known + Constraints(must_link=[(0, 3)], cannot_link=[(0, 3)])
    assert not known.closure().consistent
    model = MPCKMeans(3, noise="auto", n_init=5, random_state=0).fit(X, constraints=known)
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_without_links_it_is_the_method_without():
    X, _, _, _ = noisy()
    a = PCKMeans(3, noise="auto", random_state=0).fit(X)
    b = PCKMeans(3, random_state=0).fit(X)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert len(a.report_.wrong) == 0


def test_wrong_links_do_less_harm_than_none_do_good():
    """On average above plain k-means, whatever share is wrong."""
    gains = []
    for seed, share in product(range(2), (0.0, 0.3)):
        X, y, known, _ = noisy(100, 150, share, apart=3.0, seed=seed)
        plain = KMeans(3, n_init=5, random_state=0).fit(X).labels_
        model = MPCKMeans(3, metric="full", noise="auto", n_init=4, random_state=0)
        found = model.fit(X, constraints=known).labels_
        gains.append(adjusted_rand_score(y, found) - adjusted_rand_score(y, plain))
    assert np.mean(gains) > 0


# -------------------------------------------------------------------- other data, other ways


def test_sparse_rows_are_the_same_rows():
    X, _, known, _ = noisy()
    X *= np.quantile(X, 0.3) <= X
    a = PCKMeans(3, noise="auto", n_init=2, random_state=0).fit(X, constraints=known)
    b = clone(a).fit(sparse.csr_matrix(X), constraints=known)
    np.testing.assert_allclose(a.objective_, b.objective_, rtol=1e-6)
    np.testing.assert_allclose(a.report_.wrong, b.report_.wrong, atol=1e-4)


def test_weights_are_evidence():
    """A link that weighs nothing testifies to nothing; a heavy one is not doubted."""
    X = np.array([[0.0], [0.1], [0.2], [0.3], [9.0], [9.1], [9.2], [9.3]])
    light = Constraints(must_link=[(0, 1), (2, 3), (4, 5), (6, 7), (0, 4, 0.01)])
    model = PCKMeans(2, noise=0.1, random_state=0).fit(X, constraints=light)
    assert model.labels_[0] != model.labels_[4]


@pytest.mark.parametrize("noise", [0.5, 0.7, -0.1, "much", True])
def test_wrong_parameters(noise):
    X, _, known, _ = noisy()
    for kind in (PCKMeans, MPCKMeans, HMRFKMeans):
        with pytest.raises((ValueError, TypeError), match="noise="):
            kind(3, noise=noise).fit(X, constraints=known)


def test_a_checkpoint_keeps_the_estimate(tmp_path, monkeypatch):
    X, _, known, _ = noisy()
    monkeypatch.setattr(MPCKMeans, "_may_ask_neighbors", lambda *given: False)  # several runs
    model = MPCKMeans(3, noise="auto", n_init=3, random_state=0)
    wanted = clone(model).fit(X, constraints=known)

    class StopHere(Exception):
        pass

    def stop(run, iteration, objective):
        if (run, iteration) == (1, 2):
            raise StopHere

    path = tmp_path / "state.npz"
    with pytest.raises(StopHere):
        clone(model).set_params(checkpoint=path, callback=stop).fit(X, constraints=known)
    found = clone(model).set_params(checkpoint=path).fit(X, constraints=known)
    np.testing.assert_array_equal(found.labels_, wanted.labels_)
    assert found.noise_ == wanted.noise_


# -------------------------------------------------------------------- the shape of the metric


@pytest.mark.parametrize(
    ("rows", "features", "shape"),
    [(60, 4, "full"), (60, 20, "diagonal"), (600, 101, "diagonal")],
)
def test_the_metric_is_full_where_rows_allow(rows, features, shape):
    X, y = blobs(rows, features)
    known = Constraints.from_labels(y, 20, random_state=0)
    model = MPCKMeans(3, metric="auto", n_init=1, random_state=0).fit(X, constraints=known)
    assert model.metric_ == shape
    assert model.metrics_.ndim == (2 if shape == "full" else 1)


def test_sparse_data_has_a_diagonal_metric():
    X, _, known, _ = noisy()
    model = MPCKMeans(3, metric="auto", n_init=1, random_state=0)
    wide = np.pad(X, ((0, 0), (0, 2 * X.shape[1])))  # few enough entries to stay sparse
    assert model.fit(sparse.csr_matrix(wide), constraints=known).metric_ == "diagonal"


def test_links_to_outliers_say_nothing_about_other_links():
    costs = np.random.default_rng(0).random((4, 3))
    costs[1, 2] = -4.0  # the last cluster, number -1 of an array, decides
    labels = np.array([0, 0, 1, -1], dtype=np.int32)
    some = LinkGraph.of(Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)]))
    more = LinkGraph.of(Constraints(must_link=[(0, 1)], cannot_link=[(1, 2), (1, 3)]))
    expected = _noise.probability_wrong(some, labels[:3], costs[:3], 0.1, 1.0)
    found = _noise.probability_wrong(more, labels, costs, 0.1, 1.0)
    np.testing.assert_allclose(found[:2], expected)


@pytest.mark.filterwarnings("ignore:the links held out agree better with k-means")
def test_too_many_features_for_a_metric_leave_it_out():
    """Links that may be wrong, in more features than they can weigh."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 40)) + 2 * np.eye(3, 40)[y]
    known = Constraints.from_labels(y, 60, random_state=0).flip(0.2, random_state=0)
    model = MPCKMeans(3, metric="auto", per_cluster=True, noise="auto", n_init=2, random_state=0)
    model.fit(X, constraints=known)
    assert model.metric_ == "identity"
    np.testing.assert_array_equal(model.metrics_, np.ones(40))
    assert (model.predict(X) >= 0).all()


@pytest.mark.filterwarnings("ignore:ITML did not converge")
def test_right_links_teach_a_metric_before_there_are_clusters():
    """ITML's metric, with the published penalty of violated links."""
    X, y, _, _ = noisy(apart=2.0)
    known = Constraints.from_labels(y, 400, random_state=0)
    model = MPCKMeans(3, metric="auto", noise="auto", n_init=2, random_state=0)
    model.fit(X, constraints=known)
    assert most_wrong(known) < _noise.TRUSTED
    assert model.metric_ == "linked"
    wanted = ITML(max_iter=100, random_state=0).fit(X, constraints=known)
    np.testing.assert_allclose(model.metrics_, wanted.metric_, rtol=1e-6)
    away = X - model.cluster_centers_[model.labels_]
    rows = np.einsum("ij,jk,ik->", away, model.metrics_, away)
    rows -= len(X) * np.linalg.slogdet(model.metrics_)[1]
    np.testing.assert_allclose(model.objective_, rows + model.report_.costs.sum(), rtol=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.transform(X).argmin(axis=1))
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_a_start_from_neighbors_outweighs_wrong_links():
    """Each cluster is two blobs, one link in four is wrong: links join them, neighbors the rest."""
    rng, y = np.random.default_rng(0), np.arange(120) % 3
    corner = rng.integers(2, size=120)
    places = np.array([[[0, 0], [3, 0]], [[0, 6], [3, 6]], [[8, 0], [8, 3]]], dtype=float)
    X = places[y, corner] + rng.normal(0, 0.5, (120, 2))
    known = Constraints.from_labels(y, 200, random_state=0).flip(0.25, random_state=0)
    rows = LocalRows(X)
    centers = from_linked_neighbors(Problem(rows, 3, known), 0.15, np.random.RandomState(0))
    wanted = np.array([X[y == c].mean(axis=0) for c in range(3)])
    nearest = ((centers + rows.shift)[:, None] - wanted) ** 2
    assert nearest.sum(axis=2).min(axis=0).max() < 0.1


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_equal_rows_teach_no_metric():
    known = Constraints.from_labels(np.arange(60) % 3, 80, random_state=0)
    model = MPCKMeans(3, metric="auto", noise="auto", random_state=0)
    assert model.fit(np.ones((60, 4)), constraints=known).metric_ != "linked"
