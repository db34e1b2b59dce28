"""A method that is added to the registry, in this one file, appears everywhere."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from typer.testing import CliRunner

from linkwise import Constraints, ReCon, _methods, open_blocks
from linkwise._methods import Method
from linkwise.cli import build
from linkwise.kmeans.estimators._base import BaseKMeans
from linkwise.kmeans.estimators._parts import euclidean, labels_as_links, soft_runs
from linkwise.kmeans.solver._assigners import ICM
from linkwise.kmeans.solver._penalties import WeightPenalty
from linkwise.kmeans.solver._runs import Preset
from linkwise.kmeans.solver._starts import chosen_start, soft_start
from tests import methods, tables
from tests.common.test_estimators import expected
from tests.engines.test_blocks import assert_same


class ToyKMeans(BaseKMeans):
    """k-means in which a violated link costs its weight."""

    def _preset(self, problem):
        problem = labels_as_links(problem, max_entailed=1_000_000)
        return Preset(
            problem,
            geometry=lambda: euclidean(problem),
            penalty=lambda: WeightPenalty(problem.links),
            assigner=lambda: ICM(problem),
            start=chosen_start(self.init, problem, soft_start(problem)),
            n_runs=soft_runs(self.n_init, self.init, problem),
        )


TOY = Method(
    "ToyKMeans", "toy", __name__, "weighted pairs", "at a cost", "Euclidean", "nobody",
    blocks=True,
)  # fmt: skip


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setattr(_methods, "METHODS", [*_methods.METHODS, TOY])


@pytest.fixture
def rows(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3)) + np.arange(60)[:, None] % 2 * 5
    np.save(tmp_path / "rows.npy", X)
    return tmp_path / "rows.npy"


def run(*arguments):
    return CliRunner().invoke(build(), [*map(str, arguments)], env={"COLUMNS": "200"})


def test_on_the_command_line(rows):
    given = ("cluster", rows, "-k", 2, "--algorithm")
    done = run(*given, "toy", "--set", "tol=0.01", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["algorithm"] == "ToyKMeans"
    assert json.loads(done.stdout)["cluster_sizes"] == [30, 30]
    assert ", toy;" in run("cluster", "--help").output
    # The limit counts the whole process, which holds the tests that ran before.
    done = run(*given, "toy", "--memory-limit", "8GB")
    assert done.exit_code == 0, done.output


def test_in_the_lists():
    for table in (tables.guide(), tables.scale()):
        assert "`ToyKMeans`" in table


def test_in_the_refusals(rows):
    with pytest.raises(TypeError, match="HMRFKMeans and ToyKMeans work on it as it is"):
        ReCon().fit(open_blocks(rows))


@pytest.mark.filterwarnings("ignore:y has [0-9]+ labels, more than")
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_in_the_checks_of_scikit_learn():
    (found,) = [model for model in methods.instances() if isinstance(model, ToyKMeans)]
    check_estimator(found, expected_failed_checks=expected(found), on_skip=None, on_fail="raise")


def test_in_the_tests_of_engines(rows):
    model = methods.on_blocks()["toy"].set_params(n_clusters=2, random_state=0)
    known = Constraints(must_link=[(0, 2), (1, 3)], cannot_link=[(0, 1)])
    near = clone(model).fit(np.load(rows), constraints=known)
    assert_same(clone(model).fit(open_blocks(rows), constraints=known), near)


@pytest.mark.parametrize("page", tables.PLACES)
def test_pages_have_the_tables_of_the_registry(page, monkeypatch):
    monkeypatch.setattr(_methods, "METHODS", [m for m in _methods.METHODS if m is not TOY])
    is_now, should_be = tables.renewed(page)
    assert is_now == should_be, "run python -m tests.tables"
