"""`linkwise compare`: which algorithm, and how many constraints are worth it, on one's own data."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from . import _output as out
from ._algorithms import find_algorithm
from ._build import make_estimator
from ._cluster_input import read_input
from ._input import (
    Data,
    FeatureNames,
    IdColumn,
    Impute,
    Standardize,
    clusters_option,
    column_names,
)

if TYPE_CHECKING:
    from linkwise._types import JsonDict, Matrix
    from linkwise.evaluation import LearningCurve

_BASELINE = "kmeans"  # scikit-learn's, without constraints
_KINDS = ("pairs", "balanced", "triplets", "informative")
_METRICS = ("ari", "nmi", "pair_f")
_FILES = {
    "points.csv": "every fit",
    "scores.csv": "means and tests",
    "curves.png": "picture",
    "summary.txt": "in words",
}


def compare(
    data: Data,
    truth: Annotated[str, typer.Option(help="Column with the true class of each row.")],
    algorithms: Annotated[
        str, typer.Option(help="Short names between commas; see `linkwise algorithms`.")
    ] = "pck,mpck,gpk",
    constraints: Annotated[
        str, typer.Option(help="Numbers of constraints to try, between commas.")
    ] = "0,10,50,100",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for results; a stopped run goes on there."),
    ] = None,
    clusters: Annotated[
        int | None,
        clusters_option("Number of clusters; that of the classes."),
    ] = None,
    features: FeatureNames = None,
    id_column: IdColumn = None,
    standardize: Standardize = False,
    impute: Impute = None,
    kind: Annotated[
        str,
        typer.Option(
            help="What is drawn: random pairs, half must-links and half cannot-links, triplets.",
            metavar="|".join(_KINDS),
        ),
    ] = "pairs",
    noise: Annotated[
        float, typer.Option(help="Share of constraints that are wrong.", min=0, max=1)
    ] = 0.0,
    trials: Annotated[int, typer.Option(help="Number of trials.", min=1)] = 10,
    folds: Annotated[
        int, typer.Option(help="Folds; 1 scores the rows that constraints speak of too.", min=1)
    ] = 5,
    metric: Annotated[
        str, typer.Option(help="The score that decides.", metavar="|".join(_METRICS))
    ] = "ari",
    jobs: Annotated[int, typer.Option(help="Processes; -1: one for each core.")] = -1,
    seed: Annotated[
        int, typer.Option(help="Seed of the random numbers.", min=0, max=2**32 - 1)
    ] = 0,
    as_json: out.Json = False,
) -> None:
    """Compare algorithms on your own data: which one, and how many constraints are worth it.

    In each trial the rows are dealt into folds. Constraints are drawn from the true classes of all
    folds but one, all rows are clustered, and that one fold is scored. All algorithms see the same
    folds and constraints; k-means without constraints is the baseline.

    With -o, every fit is written down at once; the same command goes on where it was stopped, and
    one with more algorithms, trials or numbers of constraints takes what is there.

    Examples:

        linkwise compare data.csv --truth class

        linkwise compare data.csv --truth class --algorithms pck,mpck,gpk,boost
        --constraints 0,10,50,100 --standardize -o out/

        linkwise compare data.csv --truth class --algorithms recon --kind triplets --folds 1

        linkwise compare data.csv --truth class --noise 0.2 --trials 20 --metric nmi
    """
    with out.plain_errors():
        task = _LabeledRows.read(data, truth, features, id_column, standardize, impute)
        k = clusters or len(set(task.classes))
        methods = _methods(algorithms, k, kind)
        numbers = _numbers(constraints)
        if metric not in _METRICS:
            raise ValueError(f"--metric {metric}: expected one of {', '.join(_METRICS)}")
        folder = _folder(output)
        curve = _measure(
            methods, task, numbers, (trials, folds, kind, noise), metric, folder, jobs, seed
        )
        summary = curve.summary(metric, baseline=_BASELINE)
        written = [] if folder is None else _write(curve, metric, summary, folder, data.name)
    if as_json:
        tests = _rows(curve, metric)
        files = [str(path) for path in written]
        out.print_json(
            {"best": curve.best(metric), "summary": summary, "scores": tests, "files": files}
        )
        return
    out.console.print(_table(curve, metric, data.name))
    out.console.print(escape(summary), soft_wrap=True, highlight=False)
    for path in written:
        out.console.print(f"{_FILES[path.name]}: [bold]{escape(str(path))}[/bold]", soft_wrap=True)
    if folder is None:
        out.print_note("to keep the results, and to go on later, give -o folder/")


# -------------------------------------------------------------------- what was asked for


@dataclass(frozen=True)
class _LabeledRows:
    """Rows whose class is known."""

    X: Matrix
    classes: list[str]

    @classmethod
    def read(
        cls, data: Path, truth: str, features: str | None, id_column: str | None,
        standardize: bool, impute: str | None,
    ) -> _LabeledRows:  # fmt: skip
        """The features and the classes; rows without a class are left out, and counted."""
        import numpy as np

        found = read_input(data, None, id_column, truth, features, impute, standardize)
        cells = [cell.strip() for cell in found.table.text(truth)]
        known = np.array([cell != "" for cell in cells])
        if not known.any():
            raise ValueError(f"--truth {truth}: no row has a class")
        if not known.all():
            out.print_note(f"{(~known).sum():,} rows have no {truth!r} and are left out")
        classes = [cell for cell in cells if cell]
        if len(set(classes)) > len(classes) / 2:
            raise ValueError(
                f"--truth {truth}: {len(set(classes)):,} different values in {len(classes):,} "
                "rows; is this the column of the classes?"
            )
        return cls(found.X[known], classes)


def _methods(text: str, k: int, kind: str) -> JsonDict:
    """The algorithms by their short names, k-means first."""
    from sklearn.cluster import KMeans

    if kind not in _KINDS:
        raise ValueError(f"--kind {kind}: expected one of {', '.join(_KINDS)}")
    found: JsonDict = {_BASELINE: KMeans(k, n_init=10)}
    for name in column_names(text, "--algorithms"):
        if name.lower() in (_BASELINE, "k-means"):
            continue
        method = find_algorithm(name)
        if method.starts_from_labels:
            raise ValueError(
                f"--algorithms {name}: {method.name} starts from labels, not from constraints; "
                "leave it out"
            )
        if kind in ("triplets", "informative") and "triplets" not in method.takes:
            raise ValueError(
                f"--algorithms {name} does not use triplets; with --kind {kind} give recon"
            )
        runs: JsonDict = {"n_init": None, "max_iter": None}
        found[method.short] = make_estimator(method, k, {"random_state": None}, None, runs)
    return found


def _numbers(text: str) -> list[int]:
    try:
        return [int(cell) for cell in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--constraints {text!r}: expected numbers between commas, such as 0,10,50,100"
        ) from None


def _folder(output: Path | None) -> Path | None:
    """The folder for the results, made if it is not there."""
    if output is None:
        return None
    if output.exists() and not output.is_dir():
        raise ValueError(f"-o {output} is a file; name a folder")
    output.mkdir(parents=True, exist_ok=True)
    if not os.access(output, os.W_OK):
        raise ValueError(f"-o {output}: no permission to write there")
    return output


# -------------------------------------------------------------------- the work


def _measure(
    methods: JsonDict,
    task: _LabeledRows,
    numbers: list[int],
    protocol: tuple[int, int, str, float],
    metric: str,
    folder: Path | None,
    jobs: int,
    seed: int,
) -> LearningCurve:
    """All fits that are not in the folder yet."""
    from linkwise.evaluation import Protocol, learning_curve

    n_trials, n_folds, kind, noise = protocol
    with out.warnings_as_notes():
        try:
            curve = learning_curve(
                methods, task.X, task.classes, numbers, Protocol(n_trials, n_folds, kind, noise),
                scoring=_METRICS, file=folder and folder / "points.csv", n_jobs=jobs,
                random_state=seed, verbose=int(out.errors.is_terminal),
            )  # fmt: skip
        except KeyboardInterrupt:
            if folder is not None:
                out.print_note("the same command goes on where this one was stopped")
            raise
    return curve


# -------------------------------------------------------------------- the answer


def _write(curve: LearningCurve, metric: str, summary: str, folder: Path, title: str) -> list[Path]:
    """Files in the folder; those that were written."""
    import csv
    import io

    from linkwise.io import atomic_write

    rows = [row for name in _METRICS for row in _rows(curve, name)]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    for name, content in (("scores.csv", text.getvalue()), ("summary.txt", summary + "\n")):
        with atomic_write(folder / name) as file:
            file.write(content.encode("utf-8"))
    drawn = importlib.util.find_spec("matplotlib") is not None
    if drawn:
        import matplotlib

        matplotlib.use("Agg")
        figure = curve.plot(metric, baseline=_BASELINE, title=title)
        figure.savefig(folder / "curves.png", dpi=150)
    else:
        out.print_note("no picture: pip install 'linkwise[plot]'")
    return [folder / name for name in _FILES if drawn or not name.endswith(".png")]


def _rows(curve: LearningCurve, metric: str) -> list[JsonDict]:
    """Mean, deviation over trials, and test against k-means, for each algorithm and number."""
    tests = {
        (row["method"], row["n_constraints"]): row
        for row in curve.compare(_BASELINE, metric).rows()
    }
    mean, seconds = curve.mean(metric), curve.mean("seconds")
    spread = curve.by_trial(metric).std(axis=2)
    return [
        {
            "metric": metric, "algorithm": method, "n_constraints": n,
            "mean": _number(mean[i, j]), "deviation": _number(spread[i, j]),
            "gain_over_kmeans": _number(tests.get((method, n), {}).get("difference")),
            "p": _number(tests.get((method, n), {}).get("p")), "seconds": _number(seconds[i, j]),
        }
        for i, method in enumerate(curve.methods)
        for j, n in enumerate(curve.n_constraints)
    ]  # fmt: skip


def _number(value: Any) -> float | None:
    """Six digits; None for what is not there, which JSON has no NaN for."""
    return None if value is None or value != value else float(f"{value:.6g}")


def _table(curve: LearningCurve, metric: str, title: str) -> RichTable:
    """Means by algorithm and number; stars where they differ from k-means."""
    rows = _rows(curve, metric)
    shown = RichTable(
        title=f"{metric} on {title}, {curve.n_trials} trials of {curve.n_folds} folds",
        caption="* differs from kmeans (95 %, corrected)",
    )
    shown.add_column("constraints")
    for n in curve.n_constraints:
        shown.add_column(f"{n:,}", justify="right")
    shown.add_column("seconds", justify="right")
    for method in curve.methods:
        own = [row for row in rows if row["algorithm"] == method]
        cells = [
            ("-" if row["mean"] is None else f"{row['mean']:.3f}")
            + ("*" if row["p"] is not None and row["p"] < 0.05 else " ")
            for row in own
        ]
        longest = max((row["seconds"] or 0.0 for row in own), default=0.0)
        shown.add_row(method, *cells, f"{longest:.2g}")
    return shown
