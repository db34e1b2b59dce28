"""The studio's server without a browser: processor time to the first clusters, and memory.

Plays the start page, k not given: a CSV file, its columns, the session, the first question with its
clusters and map, then answers. Processor time of all threads, one thread for linear algebra; give a
shape to measure another one: ``python -m benchmarks.studio_server 500 1000``.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

K, ANSWERS, PAUSE = 10, 120, 0.05  # PAUSE in seconds
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")  # read by the imports


class Meter:
    """Processor time since the last stage, and memory now."""

    def __init__(self) -> None:
        self._last = 0.0  # of the process, so that its start counts

    def tell(self, stage: str) -> None:
        """Print it, and begin the next stage."""
        now = time.process_time()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        memory = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
        print(f"{stage:28s} {now - self._last:5.2f} s, {now:5.2f} in all; {memory:.0f} MB")
        self._last = time.process_time()

    def pause(self) -> None:
        """What was done since the last stage does not count."""
        self._last = time.process_time()


def main(n_rows: int, n_features: int) -> None:
    """Measure it for one shape."""
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    meter = Meter()
    warnings.simplefilter("ignore")

    import linkwise.studio._page  # noqa: F401
    from linkwise import Studio
    from linkwise.studio._start import Start
    from linkwise.studio._state import look

    with (
        tempfile.TemporaryDirectory() as folder,
        Studio(port=0, start=Start(Path(folder) / "home")) as studio,
    ):
        meter.tell("imports, open port")
        file, classes = _write(Path(folder), n_rows, n_features)
        meter.pause()
        start: Any = studio.start
        seen = start.look(start.adopt(str(file)))
        meter.tell("columns guessed")
        roles = {column["name"]: column["role"] for column in seen["columns"]}
        studio._show_owned(*start.begin(seen["project"], roles, None, "me"))
        meter.tell("session begun")
        question = studio.controller.questions.next("me")
        while studio.controller.session.snapshot().fit is None:
            time.sleep(0.01)
        look(studio.controller, "me", ["me"])
        meter.tell("first clusters")
        studio.controller.map.places()
        meter.tell("map")
        _answer(studio.controller, question, classes)
        meter.tell(f"{ANSWERS} answers")


def _write(folder: Path, n_rows: int, n_features: int) -> tuple[Path, Any]:
    """A table, and the true classes of its rows; made by another process to keep this one small."""
    import subprocess

    import numpy as np

    code = (
        "import numpy as np, sys; from sklearn.datasets import make_blobs; "
        "n, d, k = map(int, sys.argv[2:]); "
        "X, y = make_blobs(n, d, centers=k, cluster_std=7.0, random_state=0); "
        "np.savetxt(sys.argv[1], X, '%.5f', ',', header=','.join(f'c{i}' for i in range(d)), "
        "comments=''); np.save(sys.argv[1] + '.npy', y)"
    )
    file = folder / "table.csv"
    words = [str(file), str(n_rows), str(n_features), str(K)]
    subprocess.run([sys.executable, "-c", code, *words], check=True)
    return file, np.load(f"{file}.npy")


def _answer(controller: Any, question: Any, classes: Any) -> None:
    """Answers, each with the next question and with what the page shows beside it."""
    import numpy as np

    from linkwise.studio._state import look

    spent = []
    for _ in range(ANSWERS):
        i, j = question["i"], question["j"]
        started = time.process_time()
        said = "same" if classes[i] == classes[j] else "different"
        controller.questions.answer(said, (i, j), "me")
        question = controller.questions.next("me")
        spent.append(1000 * (time.process_time() - started))
        look(controller, "me", ["me"])
        controller.map.picture(controller.session.snapshot())
        time.sleep(PAUSE)
    median, high = np.quantile(spent, [0.5, 0.95])
    print(f"answer and next question: {median:.0f} ms in the median, {high:.0f} ms at 95 %")


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:] or ("100000", "16"))))
