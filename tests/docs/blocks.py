"""Running the code of a page: what a reader would type, in the order of the page.

- ``pycon`` blocks are doctests, ``python`` blocks are run; both share one namespace a page.
- ``console`` blocks: ``$ linkwise ...`` runs, and what the page shows below must come out. A
  command that the page shows nothing of must end with exit code 0.
- ``$ cd FOLDER`` changes the folder for the rest of the page.
- A block with a caption that is the name of a file is written to that file.

How long it took, the course of the objective and the order of clusters may differ, and ``...``
stands for anything.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from linkwise.cli import _output, app

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NOT_RUN = (
    "pip",
    "make",
    "git",
    "python",
    "python3",
    "source",
    "dask",
)  # about the machine, not about linkwise
_FENCE = re.compile(r"^(?P<fence>```+)(?P<kind>[^\n]*)\n(?P<body>.*?)^(?P=fence)\s*$", re.M | re.S)
_CAPTION = re.compile(r"^:caption: *(?P<name>\S+)\s*\n+", re.M)
_SIZES = re.compile(r"(?<=clusters of )[\d,]+(, [\d,]+)+(?= rows)")
_COURSE = re.compile(r"objective \S+ after \d+ iterations|\d+(\.\d+)? s\b")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, caption, text and first line."""

    kind: str
    caption: str | None
    body: str
    line: int


def blocks(text: str) -> Iterator[Block]:
    """All fenced blocks of a page in their order."""
    for found in _FENCE.finditer(text):
        kind, body = found["kind"].strip(), found["body"]
        caption = _CAPTION.search(body) if kind.startswith("{code-block}") else None
        if caption is not None:
            body = body[caption.end() :]
        kind = kind.removeprefix("{code-block}").strip()
        line = text.count("\n", 0, found.start("body"))
        yield Block(kind, caption["name"] if caption else None, body, line)


def run_page(path: Path) -> int:
    """Run all code of a page in the current folder; the number of blocks that were run."""
    names: dict[str, object] = {}
    n_run = 0
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.caption is not None:
            Path(block.caption).write_text(block.body, encoding="utf-8")
        elif block.kind == "pycon":
            _run_doctest(block, names, path)
        elif block.kind == "python":
            exec(compile("\n" * block.line + block.body, str(path), "exec"), names)
        elif block.kind == "console":
            _run_commands(block, path)
        else:
            continue
        n_run += 1
    return n_run


def _run_doctest(block: Block, names: dict[str, object], path: Path) -> None:
    test = doctest.DocTestParser().get_doctest(block.body, names, path.name, str(path), block.line)
    said: list[str] = []
    runner = doctest.DocTestRunner(_Checker(), optionflags=OPTIONS)
    found = runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert not found.failed, "".join(said)


def _run_commands(block: Block, path: Path) -> None:
    for command, wanted in _commands(block.body):
        program, *arguments = shlex.split(command)
        if program in NOT_RUN:
            continue
        if program == "cd":
            os.chdir(*arguments)
            continue
        if program == "linkwise":
            code, out = _run_linkwise(arguments)
        else:
            done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
            code, out = done.returncode, done.stdout + done.stderr
        where = f"{path}, line {block.line + 1}: $ {command}\n{out}"
        if wanted.strip():
            same = _Checker().check_output(wanted, out, OPTIONS)
            assert same, f"{where}\nexpected:\n{wanted}"
        else:
            assert code == 0, where


def _commands(body: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
        command, _, shown = re.sub(r"\\\n\s*", "", part).partition("\n")
        yield command, shown


def _run_linkwise(arguments: list[str]) -> tuple[int, str]:
    for console in (_output.console, _output.errors):
        console.width = 80
    done = CliRunner().invoke(app, arguments)
    return done.exit_code, done.output


def _settled(text: str) -> str:
    text = _COURSE.sub("...", text.rstrip() + "\n")
    return _SIZES.sub(lambda found: "".join(sorted(found[0].split(", "))), text)


class _Checker(doctest.OutputChecker):
    """Compares what is shown with what came out, but for its course."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(_settled(want), _settled(got), optionflags)
