"""What all commands share: how they print and fail."""

from __future__ import annotations

import json
import re
import shlex
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console

from linkwise._version import __version__

CONSISTENT, CONTRADICTION, WRONG_USAGE = 0, 1, 2
FAULT, INTERRUPTED, BROKEN_PIPE = 70, 130, 141  # as sysexits.h and the shells have them

# What the library says to those who call it from Python, and what that is on the command line.
_IN_COMMAND_WORDS = (
    (
        r"give sample_ids \(one id a row\) or a DataFrame with an index",
        "name the column that holds the ids with --id-column",
    ),
    (r"^sample_ids: ", "--id-column: "),
    (r'columns=\{"i": \.\.\., "j": \.\.\.\}', "--column i=NAME --column j=NAME"),
    (r"^columns: unknown role", "--column: unknown role"),
    (r'ids="text" \(on the command line: --ids text\)', "--ids text"),
    (r"^ids=", "--ids "),
    (r"\bn_clusters=(\d+)", r"-k \1"),
    (r"^n_constraints=(-?\d+)", r"--constraints \1"),
    (r"^y has several labels; say with `tag`", "--label-column: several labels; say with --tag"),
    (r"^y has", "--label-column has"),
    (r"raise max_iter or tol", "raise --max-iter"),
    (r"max_iter=", "--max-iter "),
    (r"assignment=\"auto\"", "--assignment auto"),
    (r"^features: ", "--features: "),
    (r"name the other columns as features", "name the other columns with --features"),
    (
        r"name the features to use, or name it as the column of ids or of texts",
        "name the features to use with --features, or name this one with --id-column if it holds "
        "ids, with --text-column if it holds texts",
    ),
    (r"impute=\"median\"", "--impute median"),
    (r"standardize=True", "--standardize"),
    (r"stop_words=None", "--stop-words none"),
    (r" \(see the error's `problems`\)", ""),
)

console = Console()
errors = Console(stderr=True)
_format = {"json": False}  # of the command that runs
_said: list[str] = []  # the command itself


def remember(arguments: list[str]) -> None:
    """Take note of what was typed, for reports."""
    _said[:] = arguments


def command() -> str:
    """What was typed; empty if a program called."""
    return shlex.join(["linkwise", *_said]) if _said else ""


def print_as_json(wanted: bool) -> bool:
    """Take note of --json, so that errors are JSON too."""
    _format["json"] = wanted
    return wanted


Json = Annotated[
    bool, typer.Option("--json", help="Print JSON for machines.", callback=print_as_json)
]


def print_json(value: Any) -> None:
    """One JSON document on standard output, with nothing else around it."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_note(text: str) -> None:
    """Something to know about the answer, on standard error."""
    text = f"note: {in_command_words(text)}"
    errors.print(text, markup=False, highlight=False, soft_wrap=True)


def print_error(text: str) -> None:
    """What is wrong, with options where the library names arguments of Python."""
    text = f"error: {in_command_words(text)}"
    errors.print(text, style="red", markup=False, highlight=False, soft_wrap=True)


def print_fault() -> None:
    """The traceback of what nobody foresaw, and what to do with it."""
    traceback.print_exc()
    errors.print(
        f"This is a fault in linkwise {__version__}, not in what you asked for. Please report it, "
        "with the lines above and the command you gave.",
        style="red",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def in_command_words(text: str) -> str:
    """A message of the library, with options where it names arguments of Python."""
    for pattern, words in _IN_COMMAND_WORDS:
        text = re.sub(pattern, words, text)
    return text


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn wrong input into a message, in JSON where that is wanted, and exit code 2."""
    try:
        yield
    # EOFError: a file that ends too early. typer would take it for the end of a prompt and exit
    # with 1, which means a contradiction here.
    except (ValueError, OSError, ImportError, TypeError, EOFError) as error:
        if _format["json"]:
            print_json({"error": in_command_words(str(error)), "exit_code": WRONG_USAGE})
        else:
            print_error(str(error))
        raise typer.Exit(WRONG_USAGE) from None
