"""Kills, full disks, read-only places and signals on one machine."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .case import Case, members

_OLD = b"what was there before\n"
_TOLD = 20  # kills after which a line says so


def kills(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """SIGKILL at random times: a later run continues, and ends with the same labels."""
    done, finished = 0, 0
    while done < number:
        words = [*case.cluster("out.csv"), "--checkpoint", case.at("state")]
        child = case.start(*words)
        if not child.wait(rng.uniform(0.05, 1.1) * case.seconds):
            child.end()
            done += 1
            case.check_parts()
            if done % _TOLD == 0:
                yield f"cluster: {done} kills so far"
            if done < number and rng.random() < 0.7:
                continue  # is killed again on the way
            case.run(*words)
        assert (case.folder / "out.csv").read_bytes() == case.labels, "another result"
        assert not (case.folder / "state").exists(), "the checkpoint is left over"
        finished += 1
        case.clean()
    yield f"cluster: {done} kills, {finished} fits finished with the same labels"


def predictions(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """SIGKILL while labels of new rows are computed and written."""
    done, runs = 0, 0
    while done < number:
        child, runs = case.start(*case.predict("new.csv")), runs + 1
        if not child.wait(rng.uniform(0.05, 1.0) * case.predict_seconds):
            child.end()
            done += 1
        case.check_parts()
        case.clean()
    yield f"predict: {done} kills in {runs} runs, nothing half-written"


def updates(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """SIGKILL while a model is updated: it is the old one or the new one, and labels go first."""
    live, done, new = case.folder / "live.npz", 0, 0
    while done < number:
        case.clean()
        live.write_bytes(case.model)
        child = case.start(*case.update("new2.csv"))
        if child.wait(rng.uniform(0.05, 1.0) * case.update_seconds):
            continue  # not killed
        child.end()
        done += 1
        case.check_parts()
        if live.read_bytes() == case.model:
            case.run(*case.update("new2.csv"))
        else:
            new += 1
        assert members(live) == case.updated_model, "the model is half-written, or another one"
        assert (case.folder / "new2.csv").read_bytes() == case.updated, "labels are lost"
    yield f"update: {done} kills, {new} updates had been done, the others were done again"


def sessions(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """SIGKILL while a session writes answers; see `tests.active.kill`."""
    folder = case.folder / "sessions"
    folder.mkdir(exist_ok=True)
    words = ["-m", "tests.active.kill", str(folder), str(number), str(rng.randrange(10**6))]
    found = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert not found.returncode, found.stderr
    yield f"session: {found.stdout.strip()}"


# -------------------------------------------------------------------- disks


def cut_files(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """No file can become larger than a limit: the message names it, and the old file stays."""
    sizes = {"out.csv": len(case.labels), "m.npz": len(case.model), "live.npz": len(case.model)}
    tried = 0
    for name, size in sizes.items():
        most = int(0.98 * size)  # the size of a model differs by a few bytes
        limits = {0, size // 2, most, *(rng.randrange(most) for _ in range(number // 20))}
        for limit in sorted(limits):
            old = case.model if name == "live.npz" else _OLD
            (case.folder / name).write_bytes(old)
            code, said = case.run(
                *_writing(case, name), code=None, before=lambda most=limit: _limit(most)
            )
            assert code == 2, f"{name} at {limit} bytes: exit {code}\n{said}"
            named = any(each in said.replace("\n", "") for each in (name, "out2.csv"))
            assert named, f"the file is not named: {said}"
            assert (case.folder / name).read_bytes() == old, f"{name} is broken at {limit} bytes"
            assert not list(case.folder.glob(".*.part")), "a part is left"
            tried += 1
            case.clean()
    yield f"cut files: {tried} writes cut, all named, the old files stay"


def _writing(case: Case, name: str) -> list[str]:
    if name == "live.npz":
        return case.update("out2.csv")
    if name == "m.npz":
        return [*case.cluster("out2.csv"), "--save", case.at(name)]
    return case.cluster(name)


def _limit(most: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def small_disks(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """A real disk of every size, page by page: labels, model and checkpoint on it. Needs root."""
    if os.geteuid():
        yield "small disks: left out, only root can make one"
        return
    whole = 3 * (len(case.labels) + len(case.model))  # old and new at once, and the checkpoint
    step = max(4096, whole // max(number // 10, 4) // 4096 * 4096)
    ends = {0: 0, 2: 0}
    for size in range(4096, whole + 2 * step, step):
        with _disk(case.folder / "disk", size) as disk:
            words = [*case.cluster("x")[:-1], str(disk / "out.csv"), "--save", str(disk / "m.npz")]
            code, said = case.run(*words, "--checkpoint", str(disk / "state"), code=None)
            ends[code] += 1  # KeyError: another exit code
            labels = disk / "out.csv"
            assert not labels.exists() or labels.read_bytes() == case.labels, "half-written labels"
            assert code or (labels.exists() and (disk / "m.npz").exists()), said
            assert not list(disk.glob(".*.part")), "a part is left"
            assert code == 0 or "No space left" in said, said
    assert ends[0], "no disk was large enough"
    yield f"small disks: {sum(ends.values())} sizes, {ends[0]} large enough, {ends[2]} refused"


@contextmanager
def _disk(place: Path, size: int) -> Iterator[Path]:
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def full_checkpoint(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """A checkpoint that cannot be written is a warning, not the end. Needs root."""
    if os.geteuid():
        yield "checkpoint on a full disk: left out, only root can make one"
        return
    with _disk(case.folder / "disk", 4096) as disk:
        (disk / "other").write_bytes(bytes(4096))
        said = case.run(*case.cluster("out.csv"), "--checkpoint", str(disk / "state"))[1]
        assert "No space left" in said, said
        assert "the fit continues" in said, said
        assert [path.name for path in disk.iterdir()] == ["other"], "a part is left"
    assert (case.folder / "out.csv").read_bytes() == case.labels, "another result"
    case.clean()
    yield "checkpoint on a full disk: warned of, the fit continues to the same labels"


def read_only(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """Places that cannot be written, also not by root."""
    for place in ("/proc/labels.csv", "/sys/labels.csv", case.at("links.csv/labels.csv")):
        code, said = case.run(*case.cluster("x")[:-1], place, code=None)
        assert code == 2, f"{place}: exit {code}\n{said}"
        assert place in said.replace("\n", ""), said
    yield "read-only places: 3 refused with their names"


def signals(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """SIGINT and SIGTERM in compiled loops end soon, and leave nothing half-written."""
    sent, slowest = 0, 0.0
    for kind, codes in ((signal.SIGINT, (130,)), (signal.SIGTERM, (-signal.SIGTERM, 143))):
        for _ in range(max(2, number // 20)):
            child = case.start(*case.cluster("out.csv"))
            if not child.wait(rng.uniform(0.1, 1.0) * case.seconds):
                started = time.monotonic()
                child.end(kind)
                slowest, sent = max(slowest, time.monotonic() - started), sent + 1
                assert child.code in (0, *codes), f"{kind}: {child.code}\n{child.said()}"
                assert "Traceback" not in child.said(), child.said()
            case.check_parts()
            case.clean()
    yield f"signals: {sent} sent, answered within {slowest:.1f} s"
