"""`linkwise cluster` without -k or --algorithm: the constraints choose, and --explain shows how."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table as RichTable

from . import _output as out
from ._algorithms import find_algorithm
from ._build import make_estimator

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from linkwise._methods import Method
    from linkwise._types import JsonDict
    from linkwise.selection import AutoCluster

    from ._cluster import Input
    from ._cluster_options import Value
    from ._input import Counts

AUTO = "auto"
_DEFAULTS = ("mpck", "pck")  # when only the number of clusters is given
_MAX_SHOWN_CANDIDATES = 15
_SECONDS = 20.0  # for the choice, unless asked otherwise


@dataclass(frozen=True)
class Choice:
    """What is left to be chosen, and how.

    Attributes
    ----------
    method : Method
        The one to use, or "auto".
    clusters : Counts or None
        A number, a range to choose from, or None to choose it.
    explain : bool
        Whether to show the table.
    time_budget : float or None
        Seconds.
    checkpoint : Path or None
        File in which the search is noted.
    criterion : str or None
        What candidates are scored by.
    """

    method: Method
    clusters: Counts | None
    explain: bool
    time_budget: float | None
    checkpoint: Path | None
    criterion: str | None = None

    @classmethod
    def of(
        cls, algorithm: str | None, clusters: Counts | None, explain: bool,
        time_budget: float | None, checkpoint: Path | None, criterion: str | None = None,
        options: Iterable[str] = (),
    ) -> Choice:  # fmt: skip
        """What the options leave open; refuses options of the choice when nothing is.

        Without an algorithm, `options` of some methods decide between the defaults.
        """
        is_open = clusters is None or clusters.one is None
        asks = explain or time_budget is not None or criterion is not None
        name = algorithm or (AUTO if is_open or asks else _default_for(options))
        choice = cls(find_algorithm(name), clusters, explain, time_budget, checkpoint, criterion)
        asked = {"--explain": explain, "--time-budget": time_budget, "--criterion": criterion}
        for option, value in asked.items():
            if value and not choice.open:
                raise ValueError(
                    f"{option} is about choosing, but -k and the algorithm ({choice.method.short}) "
                    "are given; leave out -k, or say --algorithm auto"
                )
        if is_open and choice.method.starts_from_labels:
            raise ValueError(
                f"-k is missing: {choice.method.short} starts from labels, and k is chosen by "
                "links; give -k, or leave out --algorithm too"
            )
        return choice

    @property
    def open(self) -> bool:
        """Whether there is anything to choose; a hierarchy needs no number of clusters."""
        if self.method.short == AUTO:
            return True
        if self.clusters is not None:
            return self.clusters.one is None
        return not (self.method.merges or self.method.finds_clusters)

    @property
    def n_clusters(self) -> int | tuple[int, int] | None:
        """The number or range of clusters, as `AutoCluster` takes it."""
        if self.clusters is None:
            return None
        return self.clusters.one or (self.clusters.least, self.clusters.most)

    @property
    def budget(self) -> float:
        """Seconds for the choice."""
        return _SECONDS if self.time_budget is None else self.time_budget

    def fit(
        self, given: Input, options: Mapping[str, Value | None], runs: Mapping[str, int | None]
    ) -> AutoCluster:
        """The fitted `AutoCluster`; `options` and `runs` are as for `make_estimator`."""
        from linkwise import AutoCluster
        from linkwise.selection._splits import FEW_LINKS

        from ._compile_notice import word_on_compiling

        with (
            word_on_compiling(),
            _bar() as callback,
            out.warnings_as_notes(),
        ):
            seed = options["random_state"]
            assert isinstance(seed, int)
            model = AutoCluster(
                self._candidates(options, runs), self.n_clusters, time_budget=self.budget,
                checkpoint=self.checkpoint, n_jobs=-1, callback=callback,
                criterion=self.criterion or "held_out",
                random_state=seed,
            )  # fmt: skip
            model.fit(given.X, given.y, constraints=given.known, sample_ids=given.ids)
        n_links = model.report_.constraints.n_constraints
        if 0 < n_links < FEW_LINKS:
            given_k = isinstance(self.n_clusters, int)
            out.print_note(
                f"{n_links} link{'s' * (n_links != 1)} tell little about such a choice; "
                + ("" if given_k else "if you know the number of clusters, -k and ")
                + f"--algorithm {_DEFAULTS[0]} may do better"
            )
        return model

    def _candidates(
        self, options: Mapping[str, Value | None], runs: Mapping[str, int | None]
    ) -> str | list[tuple[str, BaseEstimator]]:
        if self.method.short != AUTO:
            method = make_estimator(self.method, 2, options, None, runs)
            return [(self.method.name, method)]
        for name, value in runs.items():
            if value is not None:
                raise ValueError(
                    f"--{name.replace('_', '-')} is no option of {AUTO}; name an --algorithm"
                )
        return "default"

    @staticmethod
    def has_evidence(given: Input) -> bool:
        """Whether enough is known to choose the method by constraints that are held back."""
        from linkwise.selection._splits import FEW_LINKS, can_hold_out

        known = given.all_known()
        if known.n_relative or known.n_must_link + known.n_cannot_link < FEW_LINKS:
            return False
        return can_hold_out(known.to_rows(given.n_rows, given.ids, missing="drop"))

    def show(self, model: BaseEstimator) -> None:
        """The table of candidates, if it is wanted."""
        if not self.explain:
            return
        table = RichTable(title=f"Candidates, scored by {model.criterion_}")
        for head in ("algorithm", "preprocessing"):
            table.add_column(head)
        for head in ("k", "score", "error", "seconds"):
            table.add_column(head, justify="right")
        table.add_column("")
        for row in model.results_[:_MAX_SHOWN_CANDIDATES]:
            table.add_row(*_cells(row), style="bold" if row["chosen"] else "")
        if (more := len(model.results_) - _MAX_SHOWN_CANDIDATES) > 0:
            table.add_row(f"... and {more:,} more", "", "", "", "", "", "")
        chosen = next(place for place, row in enumerate(model.results_) if row["chosen"])
        if chosen >= _MAX_SHOWN_CANDIDATES:
            table.add_row(*_cells(model.results_[chosen]), style="bold")
        out.console.print(table)

    def to_dict(self, model: BaseEstimator) -> dict[str, object]:
        """The table for machines, if it is wanted."""
        if not self.explain:
            return {}
        rows = [{name: _plain(value) for name, value in row.items()} for row in model.results_]
        return {"criterion": model.criterion_, "candidates": rows}


def _cells(row: JsonDict) -> list[str]:
    k = "" if row["n_clusters"] is None else str(row["n_clusters"])
    state = "chosen" if row["chosen"] else "as good" if row["tied"] else row["note"][:40]
    numbers = [_number(row["score"]), _number(row["standard_error"]), _number(row["seconds"])]
    return [escape(row["algorithm"]), escape(row["preprocessing"]), k, *numbers, escape(state)]


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _plain(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


@contextmanager
def _bar() -> Iterator[Callable[[int, int, str], None]]:
    """A callback that draws how far the search is, on standard error."""
    from rich.progress import Progress

    bar = Progress(console=out.errors, transient=True, disable=not out.errors.is_terminal)
    work = bar.add_task("choosing", total=None)

    def show(n_done: int, n_total: int, candidate: str) -> None:
        bar.update(work, completed=n_done, total=n_total, description=escape(candidate))

    with bar:
        yield show


def _default_for(options: Iterable[str]) -> str:
    """The first default that has all of these options."""
    given = set(options)
    fits = (
        name for name in _DEFAULTS if all(find_algorithm(name).option(option) for option in given)
    )
    return next(fits, _DEFAULTS[0])
