"""Questions in a terminal: two records side by side, one key per answer.

Fits a plain 80x24 terminal: the marks are ASCII, and color only repeats what they say. Records
are shown as text: control characters in them never reach the terminal, and letters that its
encoding lacks become question marks. What is typed before a question is on the screen is thrown
away, since nobody can mean it; the screen is drawn again when the window changes its size.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import textwrap
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, TracebackType
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from ._answer_log import LogEntry
from ._progress import Progress
from ._questions import Answer, Dispute

_KEYS = {"s": "same", "d": "different", "u": "unsure", "z": "undo", "q": "stop"}
_WORDS = {**{word: key for key, word in _KEYS.items()}, "quit": "q"}  # lines of a pipe
_HELP = "s same   d different   u unsure   z undo   q quit"
_SHORT_HELP = "s/d/u  z undo  q quit"  # on a narrow screen
_MORE = "m"
_SET_LETTERS = "abcdefghijkl"
_SET_HELP = "Enter done   z undo   q quit"
_CHOICES = "123456789abcdefghijklmnoprtvwxy"
_WIDEST_NAME, _LEAST_WIDTH = 18, 40
_AROUND = 8  # lines of a low screen that are not fields
_MIDDLING = 16  # least lines of a terminal to show counts of answers, on three lines
_ROOMY = 20  # least lines of a terminal to show reason and hint on two lines each
_ESCAPE, _END, _ERASE = "\x1b", "\x04", "\x7f\x08"
RESIZED = "resized"


class Keys:
    """Keys as they are pressed; from a pipe or a file, one key or answer ("same") a line."""

    def __init__(self, stream: TextIO | None = None):
        self._stream = sys.stdin if stream is None else stream
        self._before: list[Any] | None = None  # what `termios.tcgetattr` returns
        self._waiting: deque[str] = deque()
        self._wake: tuple[int, int] | None = None
        self._handler: Any = None

    @property
    def is_terminal(self) -> bool:
        """Whether single keys are read."""
        return self._before is not None

    def __enter__(self) -> Keys:
        if self._stream.isatty() and os.name == "posix":
            import termios
            import tty

            self._before = termios.tcgetattr(self._stream)
            tty.setcbreak(self._stream, termios.TCSADRAIN)
            if threading.current_thread() is threading.main_thread():
                self._wake = os.pipe()
                self._handler = signal.signal(signal.SIGWINCH, self._resized)
        return self

    def __exit__(self, *_: object) -> None:
        if self._wake is not None:
            signal.signal(signal.SIGWINCH, self._handler or signal.SIG_DFL)
            for end in self._wake:
                os.close(end)
            self._wake = None
        if self._before is not None:
            import termios

            termios.tcsetattr(self._stream, termios.TCSADRAIN, self._before)
            self._before = None

    def _resized(self, _: int, __: FrameType | None) -> None:
        if self._wake is not None:
            os.write(self._wake[1], b"x")

    def discard(self) -> None:
        """Throw away what was typed so far; lines of a pipe or file stay."""
        self._waiting.clear()
        if self._before is not None:
            import termios

            termios.tcflush(self._stream, termios.TCIFLUSH)

    def read(self) -> str:
        """The next key in lower case; "q" at the end of the input, `RESIZED` when that happened."""
        if self._before is None:
            line = self.read_line()
            return _WORDS.get(line, line)
        while not self._waiting:
            if self._wake is not None:
                ready, _, _ = select.select([self._stream, self._wake[0]], [], [])
                if self._wake[0] in ready:
                    os.read(self._wake[0], 256)
                    return RESIZED
            typed = os.read(self._stream.fileno(), 256).decode(errors="replace")
            if not typed:
                return "q"
            # What begins with an escape is an arrow, or another key that means nothing.
            self._waiting.extend(typed.partition(_ESCAPE)[0])
        key = self._waiting.popleft()
        return "q" if key == _END else key.lower()

    def read_line(self) -> str:
        """The next line of a pipe or file, in lower case; "q" at its end."""
        if self._stream.isatty() and os.name == "nt":  # pragma: no cover
            import msvcrt

            return str(msvcrt.getwch()).lower()  # type: ignore[attr-defined]
        line = self._stream.readline()
        return line.strip().lower() if line else "q"


class TerminalOracle:
    """A person at a terminal.

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
        reason: Callable[[Sequence[int]], str] | None = None,
        console: Console | None = None,
        keys: Keys | None = None,
    ):
        self._record, self._name, self._progress = record, name, progress
        self._reason = reason
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
        now, why, page = self._now(), self._why([i, j]), 0
        while True:
            pages = self._pages(i, j)
            page %= len(pages)
            lines = [
                Text("Do these two belong together?", style="bold"),
                self._told_why(why),
                *pages[page],
                Text(),
                *self._progress_lines(now)[0 if self._console.height >= _MIDDLING else -1 :],
            ]
            more = [_MORE] if len(pages) > 1 else []
            key = self._asked(lines, self._help(page, len(pages)), (*_KEYS, *more))
            if key in _KEYS:
                return _KEYS[key]
            page += key == _MORE

    def group(self, rows: Sequence[int]) -> list[list[int]] | str:
        """Show up to 12 rows and wait for groups of them; or "undo" or "stop".

        Letters of records that belong together are typed without a space between them: "ac bd" are
        two groups. Records that are not typed remain open.
        """
        now, why, typed = self._now(), self._why(rows), ""
        while True:
            lines = [
                Text("Which of these belong together?", style="bold"),
                self._told_why(why),
                *self._listed(rows),
                Text(),
                *self._progress_lines(now)[1::2],  # groups and rows so far, and whether to stop
                Text("type the letters of each group, with a space between groups: ac bd"),
                Text(_SET_HELP, style="bold"),
                Text(f"> {typed}"),
            ]
            if self._keys.is_terminal:
                key = self._asked(lines[:-1], lines[-1], None, keep=bool(typed))
            else:
                self._draw([*lines[:-1], Text(self._note), lines[-1]])
                key, typed, self._note = "\n", self._keys.read(), ""
            if typed in ("q", "z") or key in ("q", "z"):
                return "stop" if "q" in (typed, key) else "undo"
            if key in ("\n", "\r"):
                found = _read_groups(typed, rows)
                if found is not None:
                    return found
                self._note, typed = f"{clean(typed)}: a letter stands twice, or is unknown", ""
            elif key in _ERASE:
                typed = typed[:-1]
            elif key == " " or key in _SET_LETTERS[: len(rows)]:
                typed += key

    def undone(self, said: Sequence[LogEntry]) -> None:
        """Show what was undone with the next question."""
        told = [
            f"{self._called(one.i)} and {self._called(one.j)}: {one.said}"
            if isinstance(one, Answer)
            else str(one)
            for one in said
        ]
        self._note = f"taken back: {'; '.join(told)}" if told else "nothing of yours to take back"

    def resolve(self, dispute: Dispute) -> Answer | None:
        """Show contradicting answers; return the one to retract, or None for later."""
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

    def _asked(
        self, lines: Sequence[Text], keys: Text, known: Sequence[str] | None, keep: bool = False
    ) -> str:
        """Show a question until one of its keys is pressed; any key if `known` is None."""
        self._draw([*lines, Text(self._note, style="yellow"), keys], keep)
        self._note = ""
        while (key := self._keys.read()) != RESIZED and known is not None and key not in known:
            if key.strip():  # an empty line is no answer
                told = Text(f"{clean(key)}: no such key", style="yellow")
                self._draw([*lines, told, keys] if self._console.is_terminal else [told], keep=True)
        return key

    def _called(self, row: int) -> str:
        return clean(self._name(row))

    def _draw(self, lines: Sequence[Text], keep: bool = False) -> None:
        """Show lines; what was typed before the last of them is thrown away unless `keep`."""
        if self._console.is_terminal:
            self._console.clear()
        for place, line in enumerate(lines):
            if place == len(lines) - 1 and not keep:
                self._keys.discard()
            self._console.print(
                _encodable(line, self._console), no_wrap=True, overflow="crop", crop=True
            )

    def _why(self, rows: Sequence[int]) -> str:
        return "" if self._reason is None else self._reason(rows)

    def _told_why(self, why: str) -> Text:
        return Text(self._in_two_lines(f"Why: {why}") if why else "", style="dim")

    def _help(self, page: int, n_pages: int) -> Text:
        """The keys, in one line."""
        for keys, all_fields in ((_HELP, "   m all fields (%d/%d)"), (_SHORT_HELP, "  m %d/%d")):
            text = keys + (all_fields % (page + 1, n_pages) if n_pages > 1 else "")
            if len(text) <= self._console.width:
                break
        return Text(text, style="bold")

    def _in_two_lines(self, text: str) -> str:
        """The text in at most two lines; in one on a low screen."""
        width = max(self._console.width, _LEAST_WIDTH)
        if self._console.height < _ROOMY:
            return _shortened(text, width)
        first, *rest = textwrap.wrap(text, width) or [""]
        return f"{first}\n{_shortened(' '.join(rest), width)}" if rest else first

    def _listed(self, rows: Sequence[int]) -> list[Text]:
        """One line per record: its letter, name and fields."""
        width = max(self._console.width, _LEAST_WIDTH) - 1
        lines = []
        for letter, row in zip(_SET_LETTERS, rows, strict=False):
            cells = [clean(value) for value in self._record(row).values()]
            fields = "  ".join(cell for cell in cells if cell and cell != self._called(row))
            lines.append(Text(_shortened(f"  {letter}  {self._called(row)}  {fields}", width)))
        return lines

    def _now(self) -> Progress | None:
        return None if self._progress is None else self._progress()

    def _progress_lines(self, now: Progress | None) -> list[Text]:
        if now is None:
            return []
        told = f"{now.n_same} same, {now.n_different} different, {now.n_unsure} unsure"
        of = "" if now.n_clusters is None else f" of {now.n_clusters}"
        groups = f"{now.n_groups}{of} group{'s' * (now.n_groups != 1 or bool(of))}"
        return [
            Text(f"{_answers(now.n_answers)}: {told}"),
            Text(f"{groups}, {now.n_covered:,} of {now.n_rows:,} rows placed"),
            Text(self._in_two_lines(now.hint), style="green" if now.stop else ""),
        ]

    def _pages(self, i: int, j: int) -> list[list[Text]]:
        """The fields side by side: on one page, shortened; if not all fit, all of them follow."""
        width, height = self._console.width, self._console.height
        left, right = ({str(k): clean(v) for k, v in self._record(r).items()} for r in (i, j))
        names = list(dict.fromkeys([*left, *right]))
        label = min(_WIDEST_NAME, max(map(len, names), default=0))
        column = max(8, (max(width, _LEAST_WIDTH) - label - 7) // 2)
        rows = [(name, left.get(name, ""), right.get(name, "")) for name in names]
        head = _line("", "", (self._called(i), self._called(j)), label, column)
        head.stylize("underline")
        most = max(2, height - _AROUND - 3 * (height >= _MIDDLING) - 2 * (height >= _ROOMY))
        every = self._fields(rows, label, column, None)
        if len(every) <= most or not self._console.is_terminal:
            return [[head, *self._fit(rows, label, column, most)]]
        parts = [every[start : start + most] for start in range(0, len(every), most)]
        return [[head, *self._fit(rows, label, column, most)], *([head, *part] for part in parts)]

    def _fit(
        self, rows: list[tuple[str, str, str]], label: int, column: int, most: int
    ) -> list[Text]:
        """Fit the fields into `most` lines; fields that differ come first."""
        left_out = 0
        if len(rows) > most:
            left_out = len(rows) - most + 1
            chosen = sorted(rows, key=lambda row: row[1] == row[2])[: most - 1]
            rows = [row for row in rows if row in chosen]
        lines = self._fields(rows, label, column, most - bool(left_out))
        if left_out:
            lines.append(Text(f"... and {left_out} more fields", style="dim"))
        return lines

    def _fields(
        self, rows: list[tuple[str, str, str]], label: int, column: int, most: int | None
    ) -> list[Text]:
        """Lines of fields; `most` of them, with long texts cut, or as many as it takes."""
        cells = [[self._wrapped(cell, column) for cell in row[1:]] for row in rows]
        wanted = [max(map(len, pair)) for pair in cells]
        heights = wanted if most is None else _share(wanted, most)
        lines: list[Text] = []
        for (name, a, b), (one, two), n_lines in zip(rows, cells, heights, strict=True):
            for k in range(n_lines):
                more = k == n_lines - 1
                shown = [_cell(c, k, more and len(c) > n_lines, column) for c in (one, two)]
                mark = "*" if a != b and k == 0 else ""
                line = _line(mark, name if k == 0 else "", (shown[0], shown[1]), label, column)
                line.stylize("bold yellow" if a != b else "dim")
                lines.append(line)
        return lines

    def _wrapped(self, cell: str, width: int) -> list[str]:
        return [line.plain.rstrip() for line in Text(cell).wrap(self._console, width)] or [""]


def _answers(n: int) -> str:
    return f"{n:,} answer{'' if n == 1 else 's'}"


def clean(value: object) -> str:
    """A value as one line of text without control characters."""
    text = " ".join(str(value).split())
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _read_groups(typed: str, rows: Sequence[int]) -> list[list[int]] | None:
    """Rows of the groups that were typed as letters; None if that makes no sense."""
    letters = _SET_LETTERS[: len(rows)]
    words = typed.split()
    flat = "".join(words)
    if len(set(flat)) < len(flat) or not set(flat) <= set(letters):
        return None
    return [[int(rows[letters.index(letter)]) for letter in word] for word in words]


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(width - 3, 1)]}..."


def _encodable(line: Text, console: Console) -> Text:
    """The line with a question mark for each letter that the terminal cannot show."""
    try:
        line.plain.encode(console.encoding)
    except UnicodeEncodeError:
        line = line.copy()
        plain = line.plain.replace("\u2026", ".")
        line.plain = plain.encode(console.encoding, "replace").decode(console.encoding)
    return line


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
