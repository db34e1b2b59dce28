"""A real cluster of processes: the same result as in memory, also when workers die."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs

from linkwise import (
    RCA,
    ConstraintError,
    Constraints,
    COPKMeans,
    HMRFKMeans,
    MPCKMeans,
    PCKMeans,
    ReCon,
)
from linkwise import SeededKMeans as Seeded

from .test_blocks import assert_same

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, about sizes of graphs and the like

X, Y = make_blobs(1500, 5, centers=4, cluster_std=3.0, random_state=0)
X = np.abs(X)
KNOWN = Constraints.from_labels(Y, 150, "balanced", random_state=0)
METHODS = {
    "pck": PCKMeans(4, n_init=2),
    "mpck": MPCKMeans(4, n_init=1),
    "mpck-full": MPCKMeans(4, metric="full", per_cluster=True, n_init=1),
    "hmrf": HMRFKMeans(4, n_init=1),
    "hmrf-cosine": HMRFKMeans(4, distortion="cosine", eta=1.0, n_init=1, tol=1e-2),
    "seeded": Seeded(4),
    "cop": COPKMeans(4, init="k-means++", n_init=1),  # the default start is too good to be cut off
}


def start_cluster():
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )


@pytest.fixture(scope="module")
def cluster():
    with start_cluster() as found:
        yield found


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as found:
        yield found


@pytest.fixture
def doomed():
    """A client of a cluster that nobody else uses, whose workers may die."""
    with start_cluster() as own, distributed.Client(own) as found:
        yield found


def pids(client):
    return list(client.run(os.getpid).values())


# -------------------------------------------------------------------- the same result


@pytest.mark.parametrize("method", METHODS)
def test_result_is_that_of_rows_in_memory(method, client):
    model = clone(METHODS[method]).set_params(random_state=0)
    near = clone(model).fit(X, constraints=KNOWN)
    rows = da.from_array(X, chunks=(310, 3))
    far = clone(model).fit(rows, constraints=KNOWN)
    assert isinstance(far.labels_, da.Array)
    assert far.labels_.chunks == ((310, 310, 310, 310, 260),)
    assert_same(far, near)
    predicted, distances = far.predict(rows), far.transform(rows)
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), near.predict(X))
    np.testing.assert_allclose(distances.compute(), near.transform(X), rtol=1e-6, atol=1e-7)


def test_weights_labels_and_float32(client):
    weight = np.random.default_rng(0).random(len(X))
    y = np.where(weight < 0.05, Y, -1)
    data = X.astype(np.float32)
    near = PCKMeans(4, n_init=1, random_state=0).fit(data, y, sample_weight=weight)
    far = PCKMeans(4, n_init=1, random_state=0).fit(
        da.from_array(data, chunks=(400, 5)),
        y,
        sample_weight=da.from_array(0.01 * weight, chunks=99),  # their scale does not matter
    )
    assert far.objective_ == pytest.approx(0.01 * near.objective_, rel=1e-6)
    np.testing.assert_array_equal(far.labels_.compute(), near.labels_)
    assert far.cluster_centers_.dtype == np.float32
    np.testing.assert_allclose(far.cluster_centers_, near.cluster_centers_, rtol=1e-4)


def test_dataframe_by_index_and_by_number(client):
    names = [f"p{i}" for i in np.random.default_rng(0).permutation(len(X))]
    frame = pd.DataFrame(X, columns=list("abcde"), index=names)
    known = Constraints(must_link=[("p3", "p1400"), ("p9", "nobody")], cannot_link=[("p5", "p77")])
    model = PCKMeans(4, n_init=1, random_state=0)
    far = clone(model).fit(dd.from_pandas(frame, npartitions=4, sort=False), constraints=known)
    near = clone(model).fit(frame, constraints=known)
    assert far.report_.n_dropped == near.report_.n_dropped == 1
    assert far.feature_names_in_.tolist() == list("abcde")
    assert_same(far, near)
    with pytest.raises(
        ConstraintError, match="none of the 1 constraints is on rows of X: they use the ids"
    ):
        far.fit(
            dd.from_pandas(frame, npartitions=4, sort=False),
            constraints=Constraints(must_link=[("nobody", "nowhere")]),
        )
    plain = dd.from_pandas(frame.reset_index(drop=True), npartitions=4)
    assert_same(clone(model).fit(plain, constraints=KNOWN), clone(model).fit(X, constraints=KNOWN))
    np.testing.assert_array_equal(far.predict(plain).compute(), near.predict(frame))
    # Some partitions may have no rows left.
    some = plain[plain["a"] > 4]
    assert far.predict(some).compute().shape == (int((X[:, 0] > 4).sum()),)


def test_without_a_cluster_chunks_are_computed_one_by_one():
    near = MPCKMeans(4, n_init=1, random_state=0).fit(X, constraints=KNOWN)
    far = MPCKMeans(4, n_init=1, random_state=0).fit(
        da.from_array(X, chunks=(400, 5)), constraints=KNOWN
    )
    assert isinstance(far.labels_, np.ndarray)
    assert_same(far, near)
    frame = pd.DataFrame(X, index=[f"p{i}" for i in range(len(X))])
    known = Constraints(must_link=[("p3", "p1400")])
    far = PCKMeans(4, n_init=1, random_state=0).fit(
        dd.from_pandas(frame, npartitions=3, sort=False), constraints=known
    )
    assert_same(far, PCKMeans(4, n_init=1, random_state=0).fit(frame, constraints=known))


def test_most_rows_constrained(client):
    known = Constraints.from_labels(Y, 3000, "balanced", random_state=0)
    model = PCKMeans(4, n_init=1, random_state=0)
    far = clone(model).fit(da.from_array(X, chunks=(310, 5)), constraints=known)
    assert_same(far, clone(model).fit(X, constraints=known))


@pytest.mark.parametrize("method", ["pck", "hmrf-cosine"])
def test_sparse_chunks(method, client):
    model = clone(METHODS[method]).set_params(random_state=0)
    most = X.max(axis=1, keepdims=True) == X  # no row of zeros
    few = np.where(most | (np.quantile(X, 0.8) < X), X, 0.0)  # an array would be larger
    rows = da.from_array(few, chunks=(310, 5)).map_blocks(
        sparse.csr_matrix, dtype=X.dtype, meta=sparse.csr_matrix((0, 0))
    )
    far = clone(model).fit(rows, constraints=KNOWN)
    near = clone(model).fit(sparse.csr_matrix(few), constraints=KNOWN)
    assert_same(far, near)
    np.testing.assert_array_equal(far.predict(rows).compute(), near.predict(sparse.csr_matrix(few)))


@pytest.mark.parametrize("method", ["pck", "mpck", "hmrf-cosine", "cop"])
def test_a_fit_that_was_cut_off_goes_on(method, client, tmp_path):
    model = clone(METHODS[method]).set_params(random_state=0, checkpoint=tmp_path / "state")
    rows, seen = da.from_array(X, chunks=(310, 5)), []

    def cut(*facts):
        seen.append(facts)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clone(model).set_params(callback=cut).fit(rows, constraints=KNOWN)
    assert (tmp_path / "state").exists()
    kept = (tmp_path / "state").read_bytes()
    far = clone(model).fit(rows, constraints=KNOWN)
    (tmp_path / "state").write_bytes(kept)  # a fit may continue on another engine
    assert_same(far, clone(model).fit(X, constraints=KNOWN))


def test_chunks_of_other_sizes_than_said(client):
    rows = da.from_array(X, chunks=(310, 5))
    for change in (lambda b: b[b[:, 0] > 4], lambda b: np.repeat(b, 2, axis=0)):
        with pytest.raises(ValueError, match="compute_chunk_sizes"):
            PCKMeans(4).fit(rows.map_blocks(change, dtype=X.dtype))


# -------------------------------------------------------------------- faults


def fit_and_kill(victim, iteration):
    """Fit, with a worker killed during an iteration; the model, and those that died."""
    died = []

    def kill(run, at, objective):
        if at == iteration and not died:
            died.append(victim)
            # Not at once: the next iteration is under way when it happens.
            threading.Timer(0.05, os.kill, (died[0], signal.SIGKILL)).start()

    model = MPCKMeans(4, n_init=1, max_iter=8, tol=0, random_state=0, callback=kill)
    rows = da.from_array(X, chunks=(100, 5))
    return model.fit(rows, constraints=KNOWN), died


def test_a_worker_killed_in_the_middle_does_not_change_the_result(doomed):
    near = MPCKMeans(4, n_init=1, max_iter=8, tol=0, random_state=0).fit(X, constraints=KNOWN)
    before = pids(doomed)
    far, died = fit_and_kill(before[0], 3)
    assert died == [before[0]]
    assert_same(far, near)
    assert before[0] not in pids(doomed)


def test_labels_lost_with_their_worker_are_made_again(doomed):
    near = PCKMeans(4, n_init=1, random_state=0).fit(X, constraints=KNOWN)
    far = PCKMeans(4, n_init=1, random_state=0).fit(
        da.from_array(X, chunks=(100, 5)), constraints=KNOWN
    )
    os.kill(pids(doomed)[0], signal.SIGKILL)
    np.testing.assert_array_equal(far.labels_.compute(), near.labels_)


_CLIENT = """
import sys, numpy as np, dask.array as da, distributed
from linkwise import PCKMeans
client = distributed.Client(sys.argv[1])
X = da.random.random((20_000, 8), chunks=(500, 8))
print("started", flush=True)
PCKMeans(8, max_iter=10_000, tol=0, random_state=0, n_init=1000).fit(X)
"""


def test_a_dead_client_leaves_no_worker_busy(cluster, client):
    process = subprocess.Popen(
        [sys.executable, "-c", _CLIENT, cluster.scheduler_address],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline().strip() == "started"
    wait_for(lambda: len(cluster.scheduler.tasks) > 10)
    process.kill()
    process.wait()
    process.stdout.close()
    wait_for(lambda: not cluster.scheduler.tasks)
    assert not any(client.processing().values())


def wait_for(what, patience=120):
    until = time.monotonic() + patience
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_clear_error_when_no_worker_is_left():
    with (
        dask.config.set({"linkwise.patience": 1.0}),
        distributed.LocalCluster(
            n_workers=0, processes=True, dashboard_address=None, silence_logs=50
        ) as empty,
        distributed.Client(empty),
        pytest.raises(RuntimeError, match="no Dask worker is left: the scheduler had none for 1"),
    ):
        PCKMeans(4).fit(da.from_array(X, chunks=(400, 5)))


# -------------------------------------------------------------------- wrong input


def test_wrong_input_is_named(client):
    bad = X.copy()
    bad[777, 1] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity, first in row 777"):
        PCKMeans(4).fit(da.from_array(bad, chunks=(400, 5)))
    with pytest.raises(ValueError, match="Expected 2D array"):
        PCKMeans(4).fit(da.from_array(X[0], chunks=3))
    frame = pd.DataFrame({"a": [1.0, 2.0], "kind": ["x", "y"]})
    with pytest.raises(ValueError, match="columns without numbers: kind"):
        PCKMeans(1).fit(dd.from_pandas(frame, npartitions=1))
    with pytest.raises(ValueError, match="row 5000 is out of range"):
        PCKMeans(4).fit(
            da.from_array(X, chunks=(400, 5)), constraints=Constraints(must_link=[(1, 5000)])
        )


@pytest.mark.parametrize("model", [RCA(), ReCon()])
def test_others_say_what_they_need(model):
    with pytest.raises(TypeError, match=r"needs .* in memory \(1,500 x 5.* dask Array"):
        model.fit(da.from_array(X, chunks=(400, 5)), constraints=KNOWN)
