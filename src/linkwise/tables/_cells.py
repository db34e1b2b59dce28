"""Cells of text that are numbers to people: dates, percentages, currency, decimal commas.

Entry point: `numbers_of_text`. A column is read as numbers only if every cell that has a value is
written in the same way; a note reports the assumed format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

# What pandas takes for missing, and "?".
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NAN", "NULL", "NaN", "None", "n/a", "nan", "null", "?",
)  # fmt: skip
EPOCH = date(1970, 1, 1)
CODES_NOTE = "digits with leading zeros are codes, not numbers"
DAYS_NOTE = "dates are read as days since 1970-01-01"

_CODES = "EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|BRL"
_CURRENCY = re.compile(rf"[$€£¥₹]|(?<![A-Za-z])(?:{_CODES}|kr|zł|Fr\.)(?![A-Za-z])")
_PERCENT = re.compile(r"\s*%$")
_UNIT = re.compile(r"(?<=\d)\s+[^\W\d]\S{0,7}$")  # 12.5 kg, but not 12a, which is a code
_DIGITS = re.compile(r"[-+]?(?:\d[\d.,' \u00a0\u202f]*|[.,]\d+)(?:[eE][-+]?\d+)?")
_PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
# 1,234.5 and 1 234.5 (groups of three digits, then a point); 1.234,5 and 12,5 (a comma).
_POINT = re.compile(r"[-+]?\d{1,3}(?:[,' \u00a0\u202f]\d{3})+(?:\.\d*)?")
_COMMA = re.compile(r"[-+]?(?:\d{1,3}(?:[.' \u00a0\u202f]\d{3})+|\d+)?(?:,\d*)?")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+")
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


def numbers_of_text(
    cells: Sequence[str | None], *, plain: bool = True, comma: bool = False
) -> tuple[NDArray, str] | None:
    """Numbers of a column of text and how they were read; None if its cells are anything else.

    Parameters
    ----------
    cells : sequence of str or None
        None is a missing cell.
    plain : bool, default=True
        Whether plain numbers count, which are ids where a file stores them as text.
    comma : bool, default=False
        Whether 1,234 has a decimal comma.
    """
    given = [cell.strip() for cell in cells if cell is not None]
    if not given or not any(char.isdigit() or char in "fFyY" for char in given[0]):  # inf, infinity
        return None
    if _are_codes(given):
        return np.array(cells, dtype=object), CODES_NOTE
    read = _plain(given) if plain else None
    read = read or _dates(given) or _amounts(given, comma)
    if read is None or not (read[1] or plain):
        return None
    found = np.full(len(cells), np.nan)
    found[[cell is not None for cell in cells]] = read[0]
    return found, read[1]


def _are_codes(cells: list[str]) -> bool:
    return any(len(cell) > 1 and cell[0] == "0" for cell in cells) and all(map(str.isdigit, cells))


def _plain(cells: list[str]) -> tuple[list[float], str] | None:
    if any("_" in cell for cell in cells):  # Python reads 1_0 as ten, but in a table it is a name
        return None
    try:
        return [float(cell) for cell in cells], ""
    except ValueError:
        return None


def thousands(frame: pd.DataFrame, columns: dict[str, NDArray], notes: dict[str, str]) -> None:
    """Read 1.234 as 1234 if other columns of the file have decimal commas; else note the doubt."""
    has_commas = any("decimal commas" in note for note in notes.values())
    for name in [name for name in columns if name in frame and name not in notes]:
        if columns[name].dtype == object:
            continue
        given = [cell.strip() for cell in frame[name] if "." in cell]
        if len(given) < 3 or not all(map(_GROUPED.fullmatch, given)):
            continue
        if has_commas:
            plain = frame[name].str.replace(".", "").where(~np.isnan(columns[name]))
            columns[name] = plain.to_numpy(dtype=np.float64)
            notes[name] = "read as numbers: groups of three digits, 1.234 as 1234"
        else:
            notes[name] = "1.234 is read as 1.234; write 1234 if groups of three digits are meant"


def is_gap(value: Any, marks: Collection[str]) -> bool:
    """Whether a cell stands for a missing value."""
    if isinstance(value, str):
        return value.strip() in marks
    return value is None or value is _na() or value != value


def _na() -> Any:
    import pandas as pd

    return pd.NA


def is_number(cell: str) -> bool:
    """Whether a cell of text is a number; 1_0, which Python reads as ten, is not."""
    return _plain([cell]) is not None


def cell_text(cell: Any) -> str:
    """What a cell shows: whole numbers without ``.0``, midnight without the time."""
    if isinstance(cell, str):
        return cell
    if cell is None or cell is _na() or cell != cell:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    return cell.isoformat(sep=" ") if isinstance(cell, datetime) else str(cell)


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


def _amounts(cells: list[str], comma: bool) -> tuple[list[float], str] | None:
    percent = [_PERCENT.search(cell) is not None for cell in cells]
    if any(percent) and not all(percent):
        return None
    unit, note = (_PERCENT, "percentages, 12 % as 12") if all(percent) else _unit(cells)
    bare = [unit.sub("", cell, count=1).strip() for cell in cells]
    bare = ["-" + cell[1:].strip() if cell.startswith("-") else cell for cell in bare]
    if not all(map(_DIGITS.fullmatch, bare)) or (read := _separated(bare, comma)) is None:
        return None
    values, separators = read
    notes = "; ".join(own for own in (note, separators) if own)
    return values, f"read as numbers: {notes}" if notes else ""


def _unit(cells: list[str]) -> tuple[re.Pattern[str], str]:
    """The unit of a column: a currency, which may differ, or the same word in all cells."""
    if any(map(_CURRENCY.search, cells)):
        return _CURRENCY, "amounts of money, without the currency"
    units = {found[0].strip() if (found := _UNIT.search(cell)) else "" for cell in cells}
    is_unit = len(units) == 1 and "" not in units and len(cells) > 2
    return (_UNIT, f"in {units.pop()}") if is_unit else (_CURRENCY, "")


def _separated(cells: list[str], comma: bool) -> tuple[list[float], str] | None:
    """Numbers with a decimal point or comma, perhaps with groups of three digits."""
    if all(map(_PLAIN.fullmatch, cells)):
        return [float(cell) for cell in cells], ""
    orders = (_with_comma, _with_point) if comma else (_with_point, _with_comma)
    return orders[0](cells) or orders[1](cells)


def _with_point(cells: list[str]) -> tuple[list[float], str] | None:
    if not all(_PLAIN.fullmatch(cell) or _POINT.fullmatch(cell) for cell in cells):
        return None
    bare = [cell.translate(_SEPARATORS).replace(",", "") for cell in cells]
    return [float(cell) for cell in bare], "groups of three digits, 1,234 as 1234"


def _with_comma(cells: list[str]) -> tuple[list[float], str] | None:
    if not all(map(_COMMA.fullmatch, cells)):
        return None
    bare = [cell.translate(_SEPARATORS).replace(".", "").replace(",", ".") for cell in cells]
    return [float(cell) for cell in bare], "decimal commas, 1,5 as 1.5"
