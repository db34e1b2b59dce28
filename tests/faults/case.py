"""Rows, links and a saved model in a folder, and `linkwise` as a process that may be killed."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

_SECONDS = 600  # a run that takes longer hangs
_POLL = 0.005
_ROWS = 3_000  # few, so that hundreds of kills are affordable
_STALE = ("out", "new", ".", "state", "m.", "r.", "live", "disk")


class Child:
    """`linkwise` with some arguments, forked from a process that has imported it already."""

    def __init__(self, words: list[str], folder: Path, before: Callable[[], None] | None = None):
        self._said, said = os.pipe()  # not a file, which may be limited in size
        self._text: str | None = None
        self.code: int | None = None
        self.pid = os.fork()
        if not self.pid:
            os.dup2(said, 1)
            os.dup2(said, 2)
            self._run(words, folder, before)
        os.close(said)

    def _run(self, words: list[str], folder: Path, before: Callable[[], None] | None) -> None:
        from linkwise.cli import main

        code: object = 99
        try:
            os.chdir(folder)
            if before is not None:
                before()
            sys.argv = ["linkwise", *words]
            main()
        except SystemExit as end:
            code = end.code
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(int(code or 0))  # type: ignore[call-overload]

    def wait(self, seconds: float = _SECONDS) -> bool:
        """Whether it ended within this time."""
        until = time.monotonic() + seconds
        while self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= until:
                return False
            else:
                time.sleep(_POLL)
        return True

    def end(self, kind: int = signal.SIGKILL) -> None:
        """Send a signal and wait."""
        os.kill(self.pid, kind)
        assert self.wait(), f"does not end after signal {kind}"

    def said(self) -> str:
        """What it printed; to be called when it has ended."""
        if self._text is None:
            with os.fdopen(self._said, "rb") as pipe:
                self._text = pipe.read().decode()
        return self._text


class Case:
    """The files, and what commands make of them without a fault."""

    def __init__(self, folder: Path):
        rng = np.random.default_rng(0)
        group = rng.integers(0, 8, _ROWS)
        rows = rng.normal(size=(_ROWS, 6)) + 2.0 * rng.normal(size=(8, 6))[group]
        pairs = rng.integers(0, len(rows), (500, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        kinds = np.where(group[pairs[:, 0]] == group[pairs[:, 1]], "must", "cannot")
        self.folder = folder
        np.save(folder / "rows.npy", rows)
        np.save(folder / "more.npy", rows[: _ROWS // 4] + 0.1)
        lines = [f"{i},{j},{kind}" for (i, j), kind in zip(pairs.tolist(), kinds, strict=True)]
        (folder / "links.csv").write_text("\n".join(["i,j,link", *lines]) + "\n")
        _warm()
        self.run(*self.cluster("labels.csv"), "--save", self.at("model.npz"))
        self.seconds = self._timed(*self.cluster("labels.csv"))
        self.labels = (folder / "labels.csv").read_bytes()
        self.model = (folder / "model.npz").read_bytes()
        self.predict_seconds = self._timed(*self.predict("predicted.csv"))
        self.predicted = (folder / "predicted.csv").read_bytes()
        live = folder / "live.npz"
        self.update_seconds = self._timed(
            *self.update("updated.csv"), before=lambda: live.write_bytes(self.model)
        )
        self.updated_model = members(live)
        self.updated = (folder / "updated.csv").read_bytes()

    def _timed(self, *words: str, before: Callable[[], object] = lambda: None) -> float:
        """Seconds, the least of three runs: a kill after the end is none."""
        found = []
        for _ in range(3):
            before()
            started = time.monotonic()
            self.run(*words)
            found.append(time.monotonic() - started)
        return min(found)

    def at(self, name: str) -> str:
        return str(self.folder / name)

    def cluster(self, output: str) -> list[str]:
        return [
            "cluster", self.at("rows.npy"), "-k", "12", "--constraints", self.at("links.csv"),
            "--algorithm", "mpck", "--n-init", "3", "-o", self.at(output),
        ]  # fmt: skip

    def predict(self, output: str) -> list[str]:
        return ["predict", self.at("model.npz"), self.at("rows.npy"), "-o", self.at(output)]

    def update(self, output: str) -> list[str]:
        return ["update", self.at("live.npz"), self.at("more.npy"), "-o", self.at(output)]

    def start(self, *words: str, before: Callable[[], None] | None = None) -> Child:
        return Child(list(words), self.folder, before)

    def run(
        self, *words: str, code: int | None = 0, before: Callable[[], None] | None = None
    ) -> tuple[int, str]:
        child = self.start(*words, before=before)
        assert child.wait(), f"{words}: hangs\n{child.said()}"
        said = child.said()
        assert code is None or child.code == code, f"{words}: {child.code}\n{said}"
        assert "Traceback" not in said, said
        assert child.code is not None
        return child.code, said

    def check_parts(self) -> None:
        """No file stands under its name half-written; only a kill may leave a hidden part."""
        whole = {"out.csv": self.labels, "new.csv": self.predicted, "new2.csv": self.updated}
        for name, content in whole.items():
            path = self.folder / name
            assert not path.exists() or path.read_bytes() == content, f"{name} is half-written"

    def clean(self) -> None:
        for path in self.folder.iterdir():
            if path.name.startswith(_STALE) and path.is_file():
                path.unlink()


def members(path: Path) -> dict[str, bytes]:
    """What is in the file of a saved model, but for the time of writing."""
    with zipfile.ZipFile(path) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    found["model.json"] = re.sub(rb'"saved": "[^"]*"', b"", found["model.json"])
    return found


def _warm() -> None:
    """Import and load what a run needs, in one thread, so that children start at once."""
    from linkwise import Constraints, MPCKMeans
    from linkwise.cli import main  # noqa: F401
    from linkwise.persistence import load_model  # noqa: F401

    X = np.random.default_rng(0).normal(size=(40, 6))
    model = MPCKMeans(2, n_init=1).fit(X, constraints=Constraints(must_link=[(0, 1)]))
    model.predict(X)
