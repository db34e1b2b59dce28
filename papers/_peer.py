"""The PyPI package active-semi-supervised-clustering, run so that it cannot hold us up.

It is not among our requirements: ``pip install --no-deps active-semi-supervised-clustering
metric-learn`` first (here or in a folder on PYTHONPATH). Every fit runs in a process of its own
that is ended when it has taken too long. Its methods draw from NumPy's global random numbers.
"""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from linkwise import Constraints

PACKAGE = "active_semi_clustering"
_MODULE = f"{PACKAGE}.semi_supervised.pairwise_constraints"


class PeerFit(NamedTuple):
    """Labels (None if there was no answer) and the time it took."""

    labels: np.ndarray | None
    seconds: float
    cpu_seconds: float


def installed() -> bool:
    """Whether the peer is there."""
    return importlib.util.find_spec(PACKAGE) is not None


def fit(
    method: str,
    X: Any,
    k: int,
    known: Constraints,
    seed: int = 0,
    *,
    patience: float = 60.0,
    cpu_limit: int | None = None,
) -> PeerFit:
    """Cluster with the peer's method of that name.

    Parameters
    ----------
    method : {"PCKMeans", "MPCKMeans", "COPKMeans"}
    X, k, known, seed
        Data, number of clusters, constraints, seed.
    patience : float, default=60.0
        Seconds on the clock after which it is ended.
    cpu_limit : int, default=None
        Seconds of computing after which it is ended; fair on a busy machine.
    """
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_fit, args=(method, X, k, known, seed, cpu_limit, send))
    process.start()
    send.close()  # so that the end of the process ends the waiting
    found = PeerFit(None, patience, float(cpu_limit or patience))
    try:
        if receive.poll(patience):
            found = PeerFit(*receive.recv())
    except EOFError:
        pass
    finally:
        process.kill()
        process.join()
    return found


def _fit(
    method: str, X: Any, k: int, known: Constraints, seed: int, limit: int | None, send: Any
) -> None:
    warnings.simplefilter("ignore")
    np.random.seed(seed)  # noqa: NPY002 (the peer draws from it)
    model = getattr(importlib.import_module(_MODULE), method)(n_clusters=k)
    must, cannot = (
        [tuple(p) for p in part.tolist()] for part in (known.must_link, known.cannot_link)
    )
    start, cpu = time.perf_counter(), time.process_time()
    if limit:
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu) + 1 + limit, int(cpu) + 1 + limit))
    try:
        model.fit(X, ml=must, cl=cannot)
        labels = np.asarray(model.labels_)
    except Exception:  # dead ends, empty clusters
        labels = None
    send.send((labels, time.perf_counter() - start, time.process_time() - cpu))
