"""Faults on purpose: `make faults KILLS=200 SEED=0`.

Every part runs `linkwise` as a process of its own and looks at what is left of its files: nothing
lost, nothing twice, nothing half-written, and the same result as without the fault. A line per part
says how often it was tried; the first broken promise ends the run with an error.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

_SECONDS = 300  # a run that takes longer hangs


class Case:
    """Rows, links and a saved model in a folder, and the labels that fits of them give."""

    def __init__(self, folder: Path):
        rng = np.random.default_rng(0)
        group = rng.integers(0, 8, 8_000)
        rows = rng.normal(size=(8_000, 6)) + 2.0 * rng.normal(size=(8, 6))[group]
        pairs = rng.integers(0, len(rows), (500, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        kinds = np.where(group[pairs[:, 0]] == group[pairs[:, 1]], "must", "cannot")
        self.folder = folder
        np.save(folder / "rows.npy", rows)
        lines = [f"{i},{j},{kind}" for (i, j), kind in zip(pairs.tolist(), kinds, strict=True)]
        (folder / "links.csv").write_text("\n".join(["i,j,link", *lines]) + "\n")
        self.run(*self.cluster("labels.csv"), "--save", self.at("model.npz"))  # compiles
        started = time.monotonic()
        self.run(*self.cluster("labels.csv"))
        self.seconds = time.monotonic() - started
        self.labels = (folder / "labels.csv").read_bytes()
        self.run(*self.predict("predicted.csv"))
        self.predicted = (folder / "predicted.csv").read_bytes()

    def at(self, name: str) -> str:
        return str(self.folder / name)

    def cluster(self, output: str) -> list[str]:
        return [
            "cluster", self.at("rows.npy"), "-k", "12", "--constraints", self.at("links.csv"),
            "--algorithm", "mpck", "--n-init", "3", "-o", self.at(output),
        ]  # fmt: skip

    def predict(self, output: str) -> list[str]:
        return ["predict", self.at("model.npz"), self.at("rows.npy"), "-o", self.at(output)]

    def start(self, *words: str, before: Callable[[], None] | None = None) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-m", "linkwise", *words], cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, preexec_fn=before,
        )  # fmt: skip

    def run(
        self, *words: str, code: int | None = 0, before: Callable[[], None] | None = None
    ) -> tuple[int, str]:
        process = self.start(*words, before=before)
        said = process.communicate(timeout=_SECONDS)[0]
        assert code is None or process.returncode == code, f"{words}: {process.returncode}\n{said}"
        assert "Traceback" not in said, said
        return process.returncode, said

    def check_parts(self) -> None:
        """No file stands under its name half-written; only a kill may leave a hidden part."""
        for name, whole in (("out.csv", self.labels), ("new.csv", self.predicted)):
            path = self.folder / name
            assert not path.exists() or path.read_bytes() == whole, f"{name} is half-written"

    def clean(self) -> None:
        for path in self.folder.iterdir():
            if path.name.startswith(("out", "new", ".", "state", "m.", "r.")):
                path.unlink()


# -------------------------------------------------------------------- parts


def kills(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """SIGKILL at random times: a later run continues, and ends with the same labels."""
    done, finished = 0, 0
    while done < number:
        words = [*case.cluster("out.csv"), "--checkpoint", case.at("state")]
        process = case.start(*words)
        try:
            process.communicate(timeout=rng.uniform(0.1, 1.2) * case.seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            done += 1
            case.check_parts()
            if rng.random() < 0.7:
                continue  # is killed again on the way
            case.run(*words)
        assert (case.folder / "out.csv").read_bytes() == case.labels, "another result"
        assert not (case.folder / "state").exists(), "the checkpoint is left over"
        finished += 1
        case.clean()
    case.clean()
    yield f"cluster: {done} kills, {finished} fits finished with the same labels"
    for _ in range(max(1, number // 4)):
        process = case.start(*case.predict("new.csv"))
        try:
            process.communicate(timeout=rng.uniform(0.1, 1.0) * case.seconds / 2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        case.check_parts()
        case.clean()
    yield f"predict: {max(1, number // 4)} kills, nothing half-written"


def sessions(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """SIGKILL while a session writes answers; see `tests.active.kill`."""
    folder = case.folder / "sessions"
    folder.mkdir(exist_ok=True)
    words = ["-m", "tests.active.kill", str(folder), str(number), str(rng.randrange(10**6))]
    found = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert not found.returncode, found.stderr
    yield f"session: {found.stdout.strip()}"


def full_disk(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """Every file may be cut at any size: the message names it, and the old file stays."""
    whole = {"out.csv": len(case.labels), "m.npz": (case.folder / "model.npz").stat().st_size}
    tried = 0
    for name, size in whole.items():
        for limit in sorted({0, 1, size // 2, size - 1, *(rng.randrange(size) for _ in range(2))}):
            old = b"what was there before\n"
            (case.folder / name).write_bytes(old)
            extra = ["--save", case.at(name)] if name == "m.npz" else []
            output = "out2.csv" if extra else name
            if extra and limit <= whole["out.csv"]:
                continue  # the labels would not fit either
            code, said = case.run(
                *case.cluster(output), *extra, code=None, before=lambda most=limit: _limit(most)
            )
            assert code == 2, f"{name} at {limit} bytes: exit {code}\n{said}"
            assert name in said.replace("\n", ""), f"the file is not named: {said}"
            assert (case.folder / name).read_bytes() == old, f"{name} is broken at {limit} bytes"
            assert not list(case.folder.glob(".*.part")), "a part is left"
            tried += 1
            case.clean()
    yield f"full disk: {tried} writes cut, all named, nothing half-written"


def _limit(most: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def full_checkpoint(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """A checkpoint that cannot be written is a warning, not the end."""
    words = [*case.cluster("out.csv"), "--checkpoint", "/dev/full"]
    code, said = case.run(*words, code=None)
    ended = code == 0 and (case.folder / "out.csv").read_bytes() == case.labels
    assert ended or code == 2, said
    case.clean()
    yield f"checkpoint on a full disk: {'the fit goes on' if ended else 'refused at the start'}"


def read_only(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """Places that cannot be written, also not by root."""
    for place in ("/proc/labels.csv", "/sys/labels.csv", case.at("links.csv/labels.csv")):
        code, said = case.run(*case.cluster("x")[:-1], place, code=None)
        assert code == 2, f"{place}: exit {code}\n{said}"
        assert place in said.replace("\n", ""), said
    yield "read-only places: 3 refused with their names"


def signals(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """SIGINT and SIGTERM in compiled loops end soon, and leave nothing half-written."""
    slowest = 0.0
    for kind, codes in ((signal.SIGINT, (130,)), (signal.SIGTERM, (-signal.SIGTERM, 143))):
        for _ in range(max(2, number // 20)):
            process = case.start(*case.cluster("out.csv"))
            time.sleep(rng.uniform(0.5, 1.0) * case.seconds)
            if process.poll() is None:
                sent = time.monotonic()
                process.send_signal(kind)
                said = process.communicate(timeout=_SECONDS)[0]
                slowest = max(slowest, time.monotonic() - sent)
                assert process.returncode in (0, *codes), f"{kind}: {process.returncode}\n{said}"
                assert "Traceback" not in said, said
            case.check_parts()
            case.clean()
    yield f"signals: {2 * max(2, number // 20)} sent, answered within {slowest:.1f} s"


def workers(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """Dask workers killed, all of them killed, the client killed: tests of the engine."""
    words = ["-q", "-m", "", "-k", "kill or die or worker", "tests/engines/test_dask.py"]
    found = subprocess.run([sys.executable, "-m", "pytest", *words], capture_output=True, text=True)
    assert not found.returncode, found.stdout
    yield f"workers: {found.stdout.strip().splitlines()[-1]}"


PARTS = (kills, sessions, full_disk, full_checkpoint, read_only, signals, workers)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    names = [part.__name__ for part in PARTS]
    parser.add_argument("--only", choices=names, nargs="*", default=names)
    given = parser.parse_args()
    os.environ["COLUMNS"] = "500"  # messages in one line
    with tempfile.TemporaryDirectory() as folder:
        case = Case(Path(folder))
        print(f"a fit takes {case.seconds:.1f} s", flush=True)
        for part in PARTS:
            if part.__name__ in given.only:
                for line in part(case, given.kills, random.Random(given.seed)):
                    print(line, flush=True)


if __name__ == "__main__":
    main()
