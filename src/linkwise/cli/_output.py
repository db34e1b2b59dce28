"""What all commands share: how they print and fail."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from linkwise._errors import ClusterError, InputError, Worded
from linkwise._version import __version__

CONSISTENT, CONTRADICTION, WRONG_USAGE = 0, 1, 2
FAULT, INTERRUPTED, BROKEN_PIPE = 70, 130, 141  # as sysexits.h and the shells have them

_OPTIONS = {
    "n_clusters": "-k",
    "n_constraints": "--constraints",
    "sample_ids": "--id-column",
    "y": "--label-column",
    "columns": "--column",
    "constraints": "--constraints",
    "ids": "--id-column",
    "features": "--features",
    "missing": "--missing",
    "encoding": "--encoding",
    "sheet": "--sheet",
    "embedding": "--embedding",
}
_ADVICE = {
    "give_ids": "name the column that holds the ids with --id-column",
    "name_columns": "--column i=NAME --column j=NAME",
    "name_features": "name the other columns with --features",
    "name_special_columns": "name the features to use with --features, or name this one with "
    "--id-column if it holds ids, with --text-column if it holds texts",
    "carry_answers": "--data-changed carry",
    "all_problems": "",
    "ids_as_text": "--data and --id-column",
    "impute_median": "fill the gaps",
    "scale_columns": "leave out --no-scale",
    "assign_auto": "--set assignment=auto",
    "iterate_more": "raise --set max_iter=",
}
# Errors about what the user gave. Others are faults, see `_is_deliberate`.
_OUTER_ERRORS = (OSError, EOFError, MemoryError, ClusterError)
_USER_ERRORS = (ValueError, TypeError, ImportError)
_DELIBERATE = tuple(f"{os.sep}{package}{os.sep}" for package in ("linkwise", "sklearn"))
_REPORT_TO = "https://github.com/linkwise-dev/linkwise/issues"

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


def print_json(value: object) -> None:
    """One JSON document on standard output, with nothing else around it."""
    from linkwise.tables import to_json

    typer.echo(to_json(value, indent=2))


def in_options(name: str, value: object) -> str:
    """How a parameter of the library is worded on the command line."""
    if name in _ADVICE:
        return _ADVICE[name]
    if name not in _OPTIONS:  # a parameter of a method
        return f"--set {name}" if value is None else f"--set {name}={value}"
    if name == "features" and value is not None:
        value = shlex.quote(str(value))
    return _OPTIONS[name] if value is None else f"{_OPTIONS[name]} {value}"


def in_words(message: BaseException | str) -> str:
    """An error or a warning, with options where the library names parameters."""
    if isinstance(message, MemoryError):
        what = f" ({message})" if str(message) else ""
        return (
            f"not enough memory{what}: use fewer rows or columns, --memory-limit (Parquet and NPY "
            "files, by blocks), or a larger machine; see `linkwise help scale`"
        )
    if isinstance(message, OSError) and message.strerror and not message.filename:
        return message.strerror  # "[Errno 28]" tells people nothing
    return message.in_words(in_options) if isinstance(message, Worded) else str(message)


def print_note(message: BaseException | str) -> None:
    """Something to know about the result, on standard error."""
    text = f"note: {in_words(message)}"
    errors.print(text, markup=False, highlight=False, soft_wrap=True)


def print_error(message: BaseException | str) -> None:
    """What is wrong, on standard error."""
    text = f"error: {in_words(message)}"
    errors.print(text, style="red", markup=False, highlight=False, soft_wrap=True)


def print_fault(error: BaseException) -> None:
    """Print an unexpected error and how to report it; its traceback goes to a file."""
    lines = "".join(traceback.format_exception(error))
    with tempfile.NamedTemporaryFile(
        "w", prefix="linkwise-fault-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write(f"linkwise {__version__}, Python {sys.version}\n{command()}\n{lines}")
    what = traceback.format_exception_only(error)[-1].strip()
    errors.print(
        f"fault: {what}\nTraceback: {file.name}\nThis is a fault in linkwise {__version__}, not in "
        f"what you asked for. Please report it with that file: {_REPORT_TO}",
        style="red", markup=False, highlight=False, soft_wrap=True,
    )  # fmt: skip


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show warnings as notes, each once, when the work has ended."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(in_words(warning.message) for warning in caught):
        print_note(text)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn wrong input into a message, in JSON where that is wanted, and exit code 2."""
    try:
        yield
    # EOFError: a file that ends too early. typer would take it for the end of a prompt and exit
    # with 1, which means a contradiction here.
    except (*_OUTER_ERRORS, *_USER_ERRORS) as error:
        if isinstance(error, _USER_ERRORS) and not _is_deliberate(error):
            raise
        if _format["json"]:
            print_json({"error": in_words(error), "exit_code": WRONG_USAGE})
        else:
            print_error(error)
        raise typer.Exit(WRONG_USAGE) from None


def _is_deliberate(error: BaseException) -> bool:
    """Whether a `raise` statement of linkwise or scikit-learn raised this, as both do on bad input.

    The same types come out of an operation that fails (``None + 1``, shapes that do not fit): that
    is a fault of the program, not of the user.
    """
    if isinstance(error, InputError):
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    return any(part in last.filename for part in _DELIBERATE) and (last.line or "").startswith(
        "raise"
    )
