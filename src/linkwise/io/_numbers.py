"""Cells of text that are numbers to people: dates, percentages, currency, decimal commas.

Entry point: `written_numbers`. A column is read as numbers only if every cell that has a value is
written in the same way; what was assumed is told in a note.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

EPOCH = date(1970, 1, 1)
DAYS_NOTE = "dates are read as days since 1970-01-01"

_CODES = "EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|BRL"
_CURRENCY = re.compile(rf"[$€£¥₹]|(?<![A-Za-z])(?:{_CODES}|kr|zł|Fr\.)(?![A-Za-z])")
_PERCENT = re.compile(r"\s*%$")
_DIGITS = re.compile(r"[-+]?(?:\d[\d.,' \u00a0\u202f]*|[.,]\d+)(?:[eE][-+]?\d+)?")
_PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
# 1,234.5 and 1 234.5 (groups of three digits, then a point); 1.234,5 and 12,5 (a comma).
_POINT = re.compile(r"[-+]?\d{1,3}(?:[,' \u00a0\u202f]\d{3})+(?:\.\d*)?")
_COMMA = re.compile(r"[-+]?(?:\d{1,3}(?:[.' \u00a0\u202f]\d{3})+|\d+)?(?:,\d*)?")
_SEPARATORS = str.maketrans("", "", "' \u00a0\u202f")

_DATE_START = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[-+]\d{2}:?\d{2})?)?")
_DATE_ORDERS = (
    ("%d.%m.%Y", "day.month.year"),
    ("%d/%m/%Y", "day/month/year"),
    ("%m/%d/%Y", "month/day/year"),
    ("%Y/%m/%d", "year/month/day"),
    ("%d-%m-%Y", "day-month-year"),
)


class WrittenNumbers(NamedTuple):
    """Numbers of a column, NaN where missing, and how its cells were read."""

    values: NDArray[np.float64]
    note: str


def written_numbers(cells: Sequence[str | None], *, plain: bool = False) -> WrittenNumbers | None:
    """Numbers of a column of text, None if its cells are anything else.

    Parameters
    ----------
    cells : sequence of str or None
        None is a missing cell.
    plain : bool, default=False
        Whether plain numbers count, which are ids where a file stores them as text.

    Returns
    -------
    found : WrittenNumbers or None
    """
    given = [cell.strip() for cell in cells if cell is not None and cell.strip()]
    if not given or not any(char.isdigit() for char in given[0]):
        return None
    read = _dates(given) or _amounts(given)
    if read is None or not (read[1] or plain):
        return None
    values, note = read
    found = np.full(len(cells), np.nan)
    found[[cell is not None and bool(cell.strip()) for cell in cells]] = values
    return WrittenNumbers(found, note)


def days_since_epoch(moment: date | datetime) -> float:
    """A date, or date and time, as days since 1970-01-01; a time zone is taken into account."""
    if not isinstance(moment, datetime):
        return float((moment - EPOCH).days)
    if moment.tzinfo is not None:
        moment = (moment - (moment.utcoffset() or timedelta())).replace(tzinfo=None)
    return (moment - datetime(1970, 1, 1)) / timedelta(days=1)


# -------------------------------------------------------------------- dates


def _dates(cells: list[str]) -> tuple[list[float], str] | None:
    if not _DATE_START.match(cells[0]):
        return None
    if all(map(_ISO.fullmatch, cells)):
        found = _parsed(cells, datetime.fromisoformat)
        return None if found is None else (found, DAYS_NOTE)
    fits = {
        order: found
        for form, order in _DATE_ORDERS
        if (found := _parsed(cells, _parser(form))) is not None
    }
    if not fits:
        return None
    order = next(iter(fits))
    doubt = "" if len(fits) == 1 else " (month/day/year would fit too; write year-month-day)"
    return fits[order], f"{DAYS_NOTE}, written {order}{doubt}"


def _parser(form: str) -> Callable[[str], datetime]:
    return lambda cell: datetime.strptime(cell, form)


def _parsed(cells: list[str], parse: Callable[[str], datetime]) -> list[float] | None:
    try:
        return [days_since_epoch(parse(cell)) for cell in cells]
    except (ValueError, OverflowError):
        return None


# -------------------------------------------------------------------- amounts


def _amounts(cells: list[str]) -> tuple[list[float], str] | None:
    percent = [_PERCENT.search(cell) is not None for cell in cells]
    money = [_CURRENCY.search(cell) is not None for cell in cells]
    if any(percent) and not all(percent):
        return None
    units = _PERCENT if all(percent) else _CURRENCY
    bare = [units.sub("", cell, count=1).strip() for cell in cells]
    bare = ["-" + cell[1:].strip() if cell.startswith("-") else cell for cell in bare]
    if not all(map(_DIGITS.fullmatch, bare)):
        return None
    read = _separated(bare)
    if read is None:
        return None
    values, separators = read
    notes = ["percentages, 12 % as 12"] if all(percent) else []
    notes += ["amounts of money, without the currency"] if any(money) else []
    notes += [separators] if separators else []
    return values, "read as numbers: " + "; ".join(notes) if notes else ""


def _separated(cells: list[str]) -> tuple[list[float], str] | None:
    """Numbers with a decimal point or comma, perhaps with groups of three digits."""
    if all(map(_PLAIN.fullmatch, cells)):
        return [float(cell) for cell in cells], ""
    if all(_PLAIN.fullmatch(cell) or _POINT.fullmatch(cell) for cell in cells):
        bare = [cell.translate(_SEPARATORS).replace(",", "") for cell in cells]
        return [float(cell) for cell in bare], "groups of three digits, 1,234 as 1234"
    if all(map(_COMMA.fullmatch, cells)):
        bare = [cell.translate(_SEPARATORS).replace(".", "").replace(",", ".") for cell in cells]
        return [float(cell) for cell in bare], "decimal commas, 1,5 as 1.5"
    return None
