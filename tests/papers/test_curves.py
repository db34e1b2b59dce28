"""The scripts of Eaton and of Basu et al., as far as it takes to see that they work."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from papers._claims import MissingResults
from papers._curves import Gain, curve_of, gains
from papers.basu2006_hmrf_kmeans import __main__ as basu
from papers.basu2006_hmrf_kmeans import claims as basu_claims
from papers.basu2006_hmrf_kmeans.questions import Asked, ask
from papers.eaton2005_gpk_means import __main__ as eaton
from papers.eaton2005_gpk_means import claims as eaton_claims
from papers.experiment import LearningCurve, Protocol, learning_curve, paired_p


def test_a_quick_run_of_one_data_set_writes_curves_and_figures(tmp_path, capsys):
    basu.main(["--quick", "--sets", "iris", "--output", str(tmp_path)])
    assert "results:" in capsys.readouterr().out
    for name in ("figures_3_6_to_3_11", "questions_nmi", "questions_nmi_all"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    raw = curve_of(tmp_path, "iris_raw")
    assert raw.methods == ("k-means", "C", "C-D", "C-D-R")
    assert np.nanmax(raw.values("rise")) < 1e-9  # claim H4
    assert len(basu_claims.asked_curve(tmp_path, "iris", "PCK").methods) == 4
    with pytest.raises(MissingResults, match="wine"):
        basu_claims.findings(tmp_path)


@pytest.mark.parametrize("metrics", ["one", "many"])
def test_propagating_nothing_is_two_runs(metrics):
    """Claim E7."""
    assert eaton.same_as_twice("iris", metrics, 0) == [{"same": 1, "propagated": 0}]


def test_every_method_of_the_thesis_fits(tmp_path):
    run = eaton.Run(tmp_path, sets=("iris",))
    one = next(iter(eaton.experiments(run)))
    X, y = one.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rounds may go in circles
        curve = learning_curve(one.methods(3), X, y, [10], Protocol(1, 2), record=one.record)
    assert np.isfinite(curve.values("ari")).all()
    assert set(curve.methods) >= {"PCK", "MPCK", eaton_claims.TWICE, eaton_claims.PRINTED}


def test_explore_and_consolidate_beat_random_pairs():
    """Claim H5 in small, where starting well matters."""
    X, y = _digits()
    strategies = ("RandomPairs", "ExploreConsolidate")
    curves = {
        name: learning_curve(
            {"PCK": basu.models(3)["PCK"]}, X, y, (20, 60),
            Protocol(4, 2, kind=Asked(name, (20, 60))), scoring="nmi",
        )
        for name in strategies
    }  # fmt: skip
    gain = gains(LearningCurve.join(curves), strategies[0], "nmi")[strategies[1]]
    assert gain.mean > 0.05
    assert gain.above


def test_explore_takes_few_questions_and_at_most_k_less_one_a_row():
    X, y = basu.scaled("iris", "raw")
    for trial in range(4):
        rows = basu.PROTOCOL.folds(y, 0, trial)[1]
        found = ask("ExploreConsolidate", X, y, rows, (40,))
        assert 0 < found.to_find_all < 15
        assert found.most <= 2
        ends = np.concatenate([found.known[40].must_link, found.known[40].cannot_link])
        assert np.isin(ends, rows).all()


def test_gains_have_a_sign():
    away = np.array([0.1, 0.12, 0.11])
    assert Gain.of(away) == Gain(pytest.approx(0.11), paired_p(away))
    assert Gain.of(away).above
    assert Gain.of(-away).below
    assert not Gain(0.1, 0.5).above


def _digits():
    try:
        X, y = basu.scaled("digits389", "raw")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    return X, y
