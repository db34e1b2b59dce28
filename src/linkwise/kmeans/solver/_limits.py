"""Limits on cluster sizes and on the number of outliers: reading, and proofs that none fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from linkwise._errors import InputError
from linkwise._types import Floats

from ._problem import ROUNDING

Size = float | Sequence[float] | ArrayLike | None
Outliers = float | Literal["auto"] | None


@dataclass(frozen=True, eq=False)
class Limits:
    """How large clusters may be, and how many rows may be in none.

    Attributes
    ----------
    low, high : ndarray of shape (k,)
        Smallest and largest size of each cluster; 0 and infinity where there is no limit.
    n_outliers : int
        The most rows without a cluster.
    """

    low: Floats
    high: Floats
    n_outliers: int = 0

    @property
    def on_sizes(self) -> bool:
        """Whether any size is limited."""
        return bool(self.low.any() or np.isfinite(self.high).any())

    @property
    def differ(self) -> bool:
        """Whether clusters have different limits."""
        return bool(np.ptp(self.low) or len(np.unique(self.high)) > 1)


def check_limits(min_size: Size, max_size: Size, outliers: Outliers, k: int) -> None:
    """Refuse limits of wrong types or ranges."""
    check_size("min_size", min_size, k)
    check_size("max_size", max_size, k)
    check_outliers(outliers)


def check_size(name: str, value: Size, k: int) -> None:
    """Refuse a size that is no number, no share, and no list of k of them."""
    if value is None:
        return
    if isinstance(value, (str, bytes, bool)):
        raise TypeError(
            f"{name}={value!r} must be a number of rows, a share between 0 and 1, or one of these "
            "per cluster"
        )
    values = _values(value)
    if len(values) not in (1, k) or (len(values) == 1 and k > 1 and not isinstance(value, Real)):
        raise ValueError(
            f"{name} has {len(values)} values; give one number, or one per cluster, n_clusters={k}"
        )
    for number, one in enumerate(values):
        where = name if len(values) == 1 else f"{name}[{number}]"
        if isinstance(one, bool) or not isinstance(one, Real):
            raise TypeError(f"{where}={one!r} must be a number")
        if not 0 <= float(one) < np.inf:
            raise ValueError(f"{where}={one} must be at least 0, and finite")


def check_outliers(value: Outliers) -> None:
    """Refuse a number of outliers that is no share, no number and not "auto"."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return
    if isinstance(value, (bool, str)) or not isinstance(value, Real):
        raise ValueError(
            f"outliers={value!r}: expected None, a share of the rows below 1, a number of rows or "
            '"auto"'
        )
    if not value >= 0 or (not isinstance(value, Integral) and not value < 1):
        raise ValueError(
            f"outliers={value} must be at least 0 and below 1: a share of the rows (or a whole "
            "number of rows)"
        )


def sizes_of(min_size: Size, max_size: Size, n_outliers: int, k: int, total: int) -> Limits:
    """Limits as numbers of rows, for `total` rows; refused if they cannot all hold."""
    low = _bounds(min_size, k, total, 0.0, np.ceil)
    high = _bounds(max_size, k, total, np.inf, np.floor)
    for c in np.flatnonzero(low > high)[:1]:
        one = all(size is None or isinstance(size, Real) for size in (min_size, max_size))
        place = "" if one else f"[{c}]"
        raise InputError(
            f"{{min_size}}{place} ({low[c]:,g} rows) is above {{max_size}}{place} "
            f"({high[c]:,g}): no cluster has such a size", topic="groups",
        )  # fmt: skip
    if low.sum() > total * (1 + ROUNDING):
        raise InputError(
            f"{{min_size}}: {{n_clusters={k}}} clusters need {_sum(low)} = {low.sum():,g} rows "
            f"at least, and there are {total:,g}; lower it, or ask for fewer clusters",
            topic="groups",
        )
    rest = total - n_outliers
    if high.sum() < rest * (1 - ROUNDING):
        raise InputError(
            f"{{max_size}}: {{n_clusters={k}}} clusters hold {_sum(high)} = {high.sum():,g} rows "
            f"at most, and there are {rest:,g}; raise it, or ask for more clusters",
            topic="groups",
        )
    return Limits(low, high, n_outliers)


def count_outliers(value: Outliers, n: int, k: int) -> int:
    """A share or number of outliers (not "auto") as a number of rows."""
    if value is None:
        return 0
    assert not isinstance(value, str)
    number = int(value) if isinstance(value, Integral) else int(value * n * (1 + ROUNDING))
    if n - number < k:
        raise InputError(
            f"{{outliers}}: {number:,} of {n:,} rows leave {n - number:,} for "
            f"{{n_clusters={k}}} clusters; lower it", topic="groups",
        )  # fmt: skip
    return number


def _values(value: Size) -> list[object]:
    if isinstance(value, Real):
        return [value]
    return list(np.asarray(value).ravel() if isinstance(value, np.ndarray) else value)  # type: ignore[arg-type]


def _bounds(value: Size, k: int, total: float, default: float, rounded: np.ufunc) -> Floats:
    if value is None:
        return np.full(k, default)
    found = np.array([_number(one, total, rounded) for one in _values(value)])
    return np.broadcast_to(found, (k,)).astype(np.float64)


def _number(one: object, total: float, rounded: np.ufunc) -> float:
    """A whole number, or a number above 1, is a size; a fraction up to 1 is a share."""
    assert isinstance(one, Real)
    is_share = not isinstance(one, Integral) and float(one) <= 1
    size = float(one) * total if is_share else float(one)
    # Shares such as 0.1 are not exact: 0.1 * 30 is 3.
    near = round(size)
    return float(near if abs(size - near) <= ROUNDING * max(total, 1.0) else rounded(size))


def _sum(values: Floats) -> str:
    if not np.ptp(values):
        return f"{len(values)} x {values[0]:,g}"
    shown = " + ".join(f"{value:,g}" for value in values[:6])
    return shown + (" + ..." if len(values) > 6 else "")
