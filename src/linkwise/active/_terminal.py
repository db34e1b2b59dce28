"""Questions in a terminal: two records side by side, one key per answer.

Fits a plain 80x24 terminal: the marks are ASCII, and color only repeats what they say. Records
are shown as text: control characters in them never reach the terminal.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.text import Text

from ._answer_log import LogEntry
from ._progress import Progress
from ._questions import Answer, Dispute

_KEYS = {"s": "same", "d": "different", "u": "unsure", "z": "undo", "q": "stop"}
_HELP = "s same   d different   u unsure   z undo   q quit"
_CHOICES = "123456789abcdefghijklmnoprtvwxy"
_WIDEST_NAME, _LEAST_WIDTH = 18, 40
_AROUND = 10  # lines of a screen that are not fields
_ESCAPE, _END = "\x1b", "\x04"


class Keys:
    """Keys as they are pressed; from a pipe or a file, the first letter of each line."""

    def __init__(self, stream: Any = None):
        self._stream = sys.stdin if stream is None else stream
        self._before: Any = None
        self._waiting: deque[str] = deque()

    def __enter__(self) -> Keys:
        if self._stream.isatty() and os.name == "posix":
            import termios
            import tty

            self._before = termios.tcgetattr(self._stream)
            # Not the default, which throws away what was typed ahead.
            tty.setcbreak(self._stream, termios.TCSADRAIN)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            import termios

            termios.tcsetattr(self._stream, termios.TCSADRAIN, self._before)
            self._before = None

    def read(self) -> str:
        """The next key in lower case; "q" at the end of the input."""
        if self._before is None:
            return self._read_line()
        while not self._waiting:
            typed = os.read(self._stream.fileno(), 256).decode(errors="replace")
            if not typed:
                return "q"
            # What begins with an escape is an arrow, or another key that means nothing.
            self._waiting.extend(typed.partition(_ESCAPE)[0])
        key = self._waiting.popleft()
        return "q" if key == _END else key.lower()

    def _read_line(self) -> str:
        if self._stream.isatty() and os.name == "nt":  # pragma: no cover
            import msvcrt

            return str(msvcrt.getwch()).lower()  # type: ignore[attr-defined]
        line = self._stream.readline()
        return line.strip()[:1].lower() if line else "q"


class TerminalOracle:
    """A person at a terminal.

    Parameters
    ----------
    record : callable
        Gives the fields of a row as a mapping of names to text.
    name : callable, default=str
        What a row is called.
    progress : callable, default=None
        Gives the `Progress` to show.
    console : rich.console.Console, default=None
    keys : Keys, default=None

    Examples
    --------
    >>> import io
    >>> from rich.console import Console
    >>> from linkwise.active import TerminalOracle
    >>> records = [{"kind": "cat"}, {"kind": "dog"}]
    >>> quiet = Console(file=io.StringIO())
    >>> with TerminalOracle(records.__getitem__, console=quiet, keys=Keys(io.StringIO("d"))) as me:
    ...     me(0, 1)
    'different'
    """

    def __init__(
        self,
        record: Callable[[int], Mapping[str, object]],
        *,
        name: Callable[[int], object] = str,
        progress: Callable[[], Progress] | None = None,
        console: Console | None = None,
        keys: Keys | None = None,
    ):
        self._record, self._name, self._progress = record, name, progress
        self._console = Console(highlight=False) if console is None else console
        self._keys = Keys() if keys is None else keys
        self._note = ""

    def __enter__(self) -> TerminalOracle:
        self._keys.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._keys.__exit__(kind, error, trace)

    def __call__(self, i: int, j: int) -> str:
        """Show two rows and wait for an answer: one of the answers, "undo" or "stop"."""
        lines = [
            Text("Do these two belong together?", style="bold"),
            *self._records(i, j),
            Text(),
            *self._progress_lines(),
        ]
        return _KEYS[self._asked(lines, Text(_HELP, style="bold"), tuple(_KEYS))]

    def undone(self, said: Sequence[LogEntry]) -> None:
        """Show what was undone with the next question.

        Parameters
        ----------
        said : sequence of log entries
            What was undone.
        """
        told = [
            f"{self._called(one.i)} and {self._called(one.j)}: {one.said}"
            if isinstance(one, Answer)
            else str(one)
            for one in said
        ]
        self._note = f"taken back: {'; '.join(told)}" if told else "nothing of yours to take back"

    def resolve(self, dispute: Dispute) -> Answer | None:
        """Show contradicting answers; return the one to retract, or None for later.

        Parameters
        ----------
        dispute : Dispute
            The answers that contradict each other.
        """
        ways = dispute.choices[: len(_CHOICES)]
        lines = [
            Text("These answers cannot all be right. Which one do you take back?", style="bold"),
            Text(),
        ]
        for key, answer in zip(_CHOICES, ways, strict=False):
            told = f"{self._called(answer.i)} and {self._called(answer.j)} are {answer.said}"
            lines.append(Text(f"  {key}  {told} ({clean(answer.who)}, {answer.at:%Y-%m-%d %H:%M})"))
        keys = Text("the key of an answer   q later", style="bold")
        key = self._asked(lines, keys, (*_CHOICES[: len(ways)], "q"))
        return None if key == "q" else ways[_CHOICES.index(key)]

    # ---------------------------------------------------------------- drawing

    def _asked(self, lines: Sequence[Text], keys: Text, known: Sequence[str]) -> str:
        """Show a question until one of its keys is pressed."""
        self._draw([*lines, Text(self._note, style="yellow"), keys])
        self._note = ""
        while (key := self._keys.read()) not in known:
            if key.strip():  # an empty line says nothing
                told = Text(f"{clean(key)}: no such key", style="yellow")
                self._draw([*lines, told, keys] if self._console.is_terminal else [told])
        return key

    def _called(self, row: int) -> str:
        return clean(self._name(row))

    def _draw(self, lines: Sequence[Text]) -> None:
        if self._console.is_terminal:
            self._console.clear()
        for line in lines:
            self._console.print(line, no_wrap=True, overflow="ellipsis", crop=True)

    def _progress_lines(self) -> list[Text]:
        if self._progress is None:
            return []
        now = self._progress()
        told = f"{now.n_same} same, {now.n_different} different, {now.n_unsure} unsure"
        rest = f"about {now.expected_remaining:,} questions would place all; it is good long before"
        of = "" if now.n_clusters is None else f" of {now.n_clusters}"
        return [
            Text(f"{_answers(now.n_answers)}: {told}"),
            Text(f"{now.n_groups}{of} groups, {now.n_covered:,} of {now.n_rows:,} rows placed"),
            Text(rest if now.expected_remaining else ""),
            Text(now.hint, style="green" if now.stop else ""),
        ]

    def _records(self, i: int, j: int) -> list[Text]:
        width, height = self._console.width, self._console.height
        left, right = ({str(k): clean(v) for k, v in self._record(r).items()} for r in (i, j))
        names = list(dict.fromkeys([*left, *right]))
        label = min(_WIDEST_NAME, max(map(len, names), default=0))
        column = max(8, (max(width, _LEAST_WIDTH) - label - 7) // 2)
        rows = [(name, left.get(name, ""), right.get(name, "")) for name in names]
        head = _line("", "", (self._called(i), self._called(j)), label, column)
        head.stylize("underline")
        return [head, *self._fit(rows, label, column, max(2, height - _AROUND))]

    def _fit(
        self, rows: list[tuple[str, str, str]], label: int, column: int, most: int
    ) -> list[Text]:
        """Fit the fields into `most` lines; fields that differ come first."""
        left_out = 0
        if len(rows) > most:
            left_out = len(rows) - most + 1
            chosen = sorted(rows, key=lambda row: row[1] == row[2])[: most - 1]
            rows = [row for row in rows if row in chosen]
        cells = [[self._wrapped(cell, column) for cell in row[1:]] for row in rows]
        heights = _share([max(map(len, pair)) for pair in cells], most - bool(left_out))
        lines: list[Text] = []
        for (name, a, b), (one, two), n_lines in zip(rows, cells, heights, strict=True):
            for k in range(n_lines):
                more = k == n_lines - 1
                shown = [_cell(c, k, more and len(c) > n_lines, column) for c in (one, two)]
                mark = "*" if a != b and k == 0 else ""
                line = _line(mark, name if k == 0 else "", (shown[0], shown[1]), label, column)
                line.stylize("bold yellow" if a != b else "dim")
                lines.append(line)
        if left_out:
            lines.append(Text(f"... and {left_out} more fields", style="dim"))
        return lines

    def _wrapped(self, cell: str, width: int) -> list[str]:
        return [line.plain.rstrip() for line in Text(cell).wrap(self._console, width)] or [""]


def _answers(n: int) -> str:
    return f"{n:,} answer{'' if n == 1 else 's'}"


def clean(value: object) -> str:
    """A value as one line of text without control characters."""
    text = " ".join(str(value).split())
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _share(wanted: Sequence[int], most: int) -> list[int]:
    """Lines per field: at least one, the rest in turn."""
    heights = [1] * len(wanted)
    left = most - len(wanted)
    while left > 0 and any(h < w for h, w in zip(heights, wanted, strict=True)):
        for place, (height, want) in enumerate(zip(heights, wanted, strict=True)):
            if height < want and left > 0:
                heights[place] += 1
                left -= 1
    return heights


def _cell(lines: Sequence[str], k: int, cut: bool, width: int) -> str:
    text = lines[k] if k < len(lines) else ""
    return f"{text[: width - 3]}..." if cut else text


def _line(mark: str, name: str, sides: tuple[str, str], label: int, column: int) -> Text:
    line, (left, right) = Text(), sides
    for text, width, gap in ((mark, 1, 1), (name, label, 2), (left, column, 2), (right, column, 0)):
        part = Text(text)
        part.truncate(width, overflow="ellipsis", pad=True)
        line.append_text(part).append(" " * gap)
    line.rstrip()
    return line
