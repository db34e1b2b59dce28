"""Kill a session with SIGKILL again and again, at random moments, and look what is left.

Run as a process of its own (``python -m tests.active.kill FOLDER TIMES SEED``): it forks, which a
process with threads must not do. Each child answers as fast as it can and reports every answer
through a pipe once `tell` has returned; the parent kills it and compares the file with the report.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from linkwise.active import LabelOracle, RandomPairs, Session
from linkwise.active._store import Store

N_ROWS = 3000


def main(folder: str, times: int, seed: int) -> None:
    rng = random.Random(seed)
    found = {"kills": 0, "kept": 0, "unreported": 0}
    while found["kills"] < times:
        path = f"{folder}/work{found['kills']}.db"  # a small file is quicker to look through
        told: list[int] = []  # ids that were reported as kept
        for _ in range(25):
            told, extra = kill_once(path, told, rng.uniform(0, 0.008))
            found["kills"] += 1
            found["unreported"] += extra
        found["kept"] += len(told)
    print(json.dumps(found))


def kill_once(path: str, told: list[int], delay: float) -> tuple[list[int], int]:
    """Start, kill, compare; the answers kept, and how many of them nobody was told of."""
    report, child = start(path)
    select.select([report], [], [], 30)  # the first answer is kept, and the next on its way
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "it had ended before it was killed"
    told = told + read_report(report)
    kept = look(path)
    assert set(told) <= set(kept), f"lost: {sorted(set(told) - set(kept))}"
    extra = set(kept) - set(told)
    assert len(extra) <= 1, f"kept without a report: {extra}"  # the one being written
    return kept, len(extra)


class NoModel(ClusterMixin, BaseEstimator):
    """Is never fitted here; a real one would make a large process, which is slow to fork."""


def session(path: str) -> Session:
    X = np.arange(N_ROWS, dtype=float)[:, None]
    return Session(X, RandomPairs(), NoModel(), 9, path=path, refit_every=None, who="child")


def start(path: str) -> tuple[int, int]:
    report, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        return report, child
    work = session(path)
    oracle = LabelOracle(np.arange(N_ROWS) % 9)
    while (question := work.ask()) is not None:
        work.tell(oracle(*question), question)
        os.write(write, f"{work.snapshot().answers[-1].id}\n".encode())
    os._exit(0)


def read_report(report: int) -> list[int]:
    data = b""
    while chunk := os.read(report, 65536):
        data += chunk
    os.close(report)
    return [int(line) for line in data.split(b"\n") if line]


def look(path: str) -> list[int]:
    store = Store(path)
    (sound,) = store._db.execute("PRAGMA integrity_check").fetchone()
    assert sound == "ok", sound
    kept = [answer.id for answer in store.answers()]
    store.close()
    return kept


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
