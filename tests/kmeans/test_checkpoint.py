"""A fit that was interrupted continues from its file; files of another fit are refused."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from linkwise import Constraints, COPKMeans, HMRFKMeans, MPCKMeans, PCKMeans, SeededKMeans

X, Y = make_blobs(600, 4, centers=5, cluster_std=4.0, random_state=0)
X = np.abs(X)
KNOWN = Constraints.from_labels(Y, 100, "balanced", random_state=0)
METHODS = {
    "pck": PCKMeans(5, init="k-means++", n_init=3),
    "mpck": MPCKMeans(5, metric="full", per_cluster=True, n_init=2),
    "hmrf-cosine": HMRFKMeans(5, distortion="cosine", eta=1.0, n_init=2),
    "hmrf-divergence": HMRFKMeans(5, distortion="divergence", eta=0.01, n_init=1),
    "cop": COPKMeans(5, init="k-means++", n_init=3),
    "swaps": PCKMeans(5),
    "outliers": PCKMeans(5, outliers=20, n_init=2),
    "seeded": SeededKMeans(5, init="k-means++", n_init=2),
}


class Cut(Exception):
    """What ends a fit here."""


def cut_after(number):
    seen = []

    def callback(*facts):
        seen.append(facts)
        if len(seen) == number:
            raise Cut

    return callback, seen


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("method", METHODS)
def test_a_fit_that_was_cut_off_goes_on(method, share, tmp_path):
    model = clone(METHODS[method]).set_params(random_state=0, max_iter=1000)
    callback, calls = cut_after(-1)
    whole = clone(model).set_params(callback=callback).fit(X, constraints=KNOWN)
    path = tmp_path / "state"
    stop = max(3, int(share * len(calls)))
    model.set_params(checkpoint=path)
    with pytest.raises(Cut):
        clone(model).set_params(callback=cut_after(stop)[0]).fit(X, constraints=KNOWN)
    assert path.exists()
    callback, rest = cut_after(-1)
    again = clone(model).set_params(callback=callback).fit(X, constraints=KNOWN)
    if model.n_init != "auto":  # a swap is saved when it is done
        assert rest[0][:2] == calls[stop - 1][:2]
    assert not path.exists()  # done: the next fit starts from the beginning
    assert again.n_iter_ == len(again.objective_path_)
    steps = again.objective_path_
    assert (np.diff(steps) <= 1e-9 * np.abs(steps[:-1]) + 1e-9).all()
    assert again.objective_ == pytest.approx(whole.objective_, rel=0.02)
    if method in ("cop", "seeded"):  # their state is complete
        np.testing.assert_array_equal(again.labels_, whole.labels_)
        np.testing.assert_allclose(steps, whole.objective_path_, rtol=1e-9)


@pytest.mark.parametrize("seed", [None, np.random.RandomState(3)])
def test_a_seed_that_is_no_number_is_noted(seed, tmp_path):
    model = PCKMeans(5, n_init=3, random_state=seed, checkpoint=tmp_path / "state")
    with pytest.raises(Cut):
        clone(model).set_params(callback=cut_after(7)[0]).fit(X, constraints=KNOWN)
    kept = (tmp_path / "state").read_bytes()
    first = clone(model).set_params(random_state=None).fit(X, constraints=KNOWN)
    (tmp_path / "state").write_bytes(kept)
    second = clone(model).set_params(random_state=None).fit(X, constraints=KNOWN)
    np.testing.assert_array_equal(first.labels_, second.labels_)


_KILLED = """
import os, signal, sys
import numpy as np
from linkwise import Constraints, PCKMeans
X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
def callback(run, iteration, objective):
    if (run, iteration) == (1, 3):
        os.kill(os.getpid(), signal.SIGKILL)
known = Constraints.from_labels(y, 100, "balanced", random_state=0)
PCKMeans(5, n_init=3, random_state=0, checkpoint=sys.argv[3], callback=callback).fit(
    X, constraints=known
)
"""


def test_after_a_kill_in_another_process(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    arguments = [str(tmp_path / name) for name in ("x.npy", "y.npy", "state")]
    done = subprocess.run([sys.executable, "-c", _KILLED, *arguments], check=False)
    assert done.returncode == -9
    again = PCKMeans(5, n_init=3, random_state=0, checkpoint=tmp_path / "state")
    again.fit(X, constraints=KNOWN)
    whole = PCKMeans(5, n_init=3, random_state=0).fit(X, constraints=KNOWN)
    assert again.objective_ == pytest.approx(whole.objective_, rel=0.02)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": X + 1}, "of other rows"),
        ({"X": X[:500]}, "of 600 x 4 float64 rows"),
        ({"known": Constraints(must_link=[(0, 1)])}, "with other constraints or labels"),
        (
            {"model": PCKMeans(5, n_init=3, penalty="distance")},
            r"with other .* \(penalty\)",
        ),
        ({"model": COPKMeans(5, n_init=3)}, "by PCKMeans"),
    ],
)
def test_notes_of_another_fit_are_refused(change, words, tmp_path):
    path = tmp_path / "state"
    model = PCKMeans(5, n_init=3, random_state=0, checkpoint=path)
    with pytest.raises(Cut):
        clone(model).set_params(callback=cut_after(5)[0]).fit(X, constraints=KNOWN)
    other = change.get("model", model)
    other = clone(other).set_params(random_state=0, checkpoint=path)
    known = Constraints() if "X" in change else change.get("known", KNOWN)
    known = KNOWN.restrict(range(500)) if len(change.get("X", X)) == 500 else known
    known = KNOWN if "X" in change and len(change["X"]) == 600 else known
    with pytest.raises(ValueError, match=f"checkpoint .*state is of another fit: {words}"):
        other.fit(change.get("X", X), constraints=known)
    assert path.exists()


def test_files_that_are_no_notes(tmp_path):
    path = tmp_path / "state"
    path.write_text("shopping list")
    with pytest.raises(ValueError, match="not a checkpoint file"):
        PCKMeans(5, checkpoint=path).fit(X)
    with pytest.raises(ValueError, match="no folder"):
        PCKMeans(5, checkpoint=tmp_path / "nowhere" / "state").fit(X)
