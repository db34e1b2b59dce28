"""`linkwise cluster` without -k or --algorithm: the constraints choose, and --explain shows how."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table as RichTable

from . import _output as out
from ._algorithms import find_algorithm

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from linkwise._methods import Method
    from linkwise._types import JsonDict
    from linkwise.selection import AutoCluster

    from ._cluster import Input
    from ._input import Counts

AUTO = "auto"
_DEFAULT = "mpck"  # when only the number of clusters is given
_MAX_SHOWN = 15


@dataclass(frozen=True)
class Choice:
    """What is left to be chosen.

    Attributes
    ----------
    method : Method
        The one to use, or "auto".
    clusters : Counts or None
        A number, a range to choose from, or None to choose it.
    explain : bool
        Whether to show the table.
    """

    method: Method
    clusters: Counts | None
    explain: bool

    @classmethod
    def of(cls, algorithm: str | None, clusters: Counts | None, explain: bool) -> Choice:
        """What the options leave open; refuses --explain when nothing is."""
        is_open = clusters is None or clusters.one is None
        name = algorithm or (AUTO if is_open or explain else _DEFAULT)
        choice = cls(find_algorithm(name), clusters, explain)
        method = choice.method
        if explain and not choice.open:
            raise ValueError(
                f"--explain shows what was compared, but -k and the algorithm ({method.short}) "
                "are given; leave out -k, or use --algorithm auto"
            )
        if is_open and not choice.open and not (method.merges or method.finds_clusters):
            raise ValueError(
                f"-k is missing: {method.short} needs one number of clusters; leave out "
                "--algorithm to have it chosen"
            )
        return choice

    @property
    def open(self) -> bool:
        """Whether there is anything to choose."""
        return self.method.short == AUTO

    @property
    def n_clusters(self) -> int | tuple[int, int] | None:
        """The number or range of clusters, as `AutoCluster` takes it."""
        if self.clusters is None:
            return None
        return self.clusters.one or (self.clusters.least, self.clusters.most)

    def fit(self, given: Input, seed: int, runs: Mapping[str, int | None]) -> AutoCluster:
        """The fitted `AutoCluster`; `runs` are options that it does not have."""
        from linkwise import AutoCluster

        from ._compile_notice import word_on_compiling

        for name, value in runs.items():
            if value is not None:
                raise ValueError(
                    f"--{name.replace('_', '-')} is no option of {AUTO}; name an --algorithm"
                )
        with word_on_compiling(), out.warnings_as_notes():
            model = AutoCluster(self.n_clusters, random_state=seed)
            return model.fit(given.X, given.y, constraints=given.known, sample_ids=given.ids)

    @staticmethod
    def has_evidence(given: Input) -> bool:
        """Whether enough is known to choose the method by held-out constraints."""
        from linkwise.selection._folds import can_hold_out

        known = given.all_known()
        if known.n_relative:
            return False
        return can_hold_out(known.to_rows(given.n_rows, given.ids, missing="drop"))

    def show(self, model: BaseEstimator) -> None:
        """The table of clusterings, if it is wanted."""
        if not self.explain:
            return
        table = RichTable(title="Clusterings compared, best first")
        for head in ("space", "method"):
            table.add_column(head)
        for head in ("k", "expected ARI", "score"):
            table.add_column(head, justify="right")
        for row in model.results_[:_MAX_SHOWN]:
            table.add_row(*_cells(row), style="bold" if row["chosen"] else "")
        if (more := len(model.results_) - _MAX_SHOWN) > 0:
            table.add_row(f"... and {more:,} more", "", "", "", "")
        out.console.print(table)

    def to_dict(self, model: BaseEstimator) -> dict[str, object]:
        """The table for machines, if it is wanted."""
        if not self.explain:
            return {}
        rows = [{name: _plain(value) for name, value in row.items()} for row in model.results_]
        return {"candidates": rows}


def _cells(row: JsonDict) -> list[str]:
    numbers = [_number(row["expected_ari"]), _number(row["score"])]
    return [escape(row["space"]), escape(row["method"]), str(row["n_clusters"]), *numbers]


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _plain(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value
