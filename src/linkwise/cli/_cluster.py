"""`linkwise cluster`: cluster a file with what is known about its rows."""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from . import _output as out
from ._algorithms import ALGORITHMS, Algorithm
from ._choose import Choice
from ._far import FarData, FarTask
from ._make import BASES, make_estimator
from ._write import CLUSTER, check_kind, check_target, write_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from linkwise.constraints import Constraints, Diagnosis
    from linkwise.datasets import Table
    from linkwise.report import Report

_CHOICES = {
    "metric": ("diagonal", "full"),
    "assignment": ("auto", "greedy", "exact"),
    "on_infeasible": ("raise", "relax"),
    "distortion": ("euclidean", "cosine", "divergence"),
    "affinity": ("nearest_neighbors", "rbf"),
    "kernel": ("rbf", "linear"),
    "linkage": ("centroid", "average", "complete", "single", "ward"),
    "on_conflict": ("raise", "drop"),
}
_LABELS = ("labels", "one tagged group")  # knowledge that names clusters
_MAX_ITER = 300  # of all methods, unless asked otherwise
_PATIENCE = 1.0  # seconds before a bar appears
_ID_NAMES = ("id", "row", "index", "rowid", "row_id")
_SHOWN_CLUSTERS, _SHOWN_ROWS, _SHOWN_WEIGHTS = 30, 4, 12
_SEARCHED = 1_000_000  # rows among which examples of clusters are looked for
_MOST_DENSE = 100_000_000  # cells
_UNEVEN = 10.0  # one column varies so many times as much as another


def cluster(
    data: Annotated[Path, typer.Argument(help="The data: CSV, TSV (also .gz), Parquet or NPY.")],
    clusters: Annotated[
        int | None,
        typer.Option(
            "--clusters",
            "-k",
            help="Number of clusters; chosen if not given (recon and complete-link do without).",
            min=1,
        ),
    ] = None,
    constraints: Annotated[
        Path | None, typer.Option(help="File of constraints: CSV, JSON lines or Parquet.")
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="pck, mpck, gpk, hmrf, cop, boost, spectral, kernel, seeded, constrained, "
            "preidentified, recon, complete-link or auto; see `linkwise algorithms`. mpck; auto "
            "without -k."
        ),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(help="Column with the ids; row numbers from 0 if absent.")
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(help="Column with the labels of some rows; empty or -1 is unknown."),
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="Columns to measure with, such as a,b,c; all if not given.")
    ] = None,
    text_column: Annotated[
        str | None,
        typer.Option(help="Column of texts; their words are the features (TF-IDF)."),
    ] = None,
    standardize: Annotated[
        bool, typer.Option("--standardize", help="Scale every column to unit variance.")
    ] = False,
    impute: Annotated[
        str | None,
        typer.Option(
            help="median: fill gaps with the median, or the most frequent category.",
            metavar="median",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where the labels go: .csv, .tsv, .parquet, .npy."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report for a browser there.")] = None,
    metric: Annotated[
        str | None, typer.Option(help="mpck, gpk: diagonal or full.", metavar="diagonal|full")
    ] = None,
    per_cluster: Annotated[
        bool, typer.Option("--per-cluster", help="mpck, gpk: a metric for every cluster.")
    ] = False,
    distortion: Annotated[
        str | None,
        typer.Option(
            help="hmrf, pck: how far apart; cosine and divergence are for text and counts.",
            metavar="euclidean|cosine|divergence",
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            help="The clusterer inside: "
            + ", ".join(f"{name}: {' | '.join(bases)}" for name, bases in BASES.items())
            + "."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="gpk: the least weight of a link that is inferred, above 0, at most 1."),
    ] = None,
    reduced: Annotated[
        bool, typer.Option("--reduced", help="gpk: only the heaviest link for a pair of rows.")
    ] = False,
    assignment: Annotated[
        str | None,
        typer.Option(help="cop: how rows find their clusters.", metavar="auto|greedy|exact"),
    ] = None,
    on_infeasible: Annotated[
        str | None,
        typer.Option(
            help="cop: if not all constraints can be kept, stop, or give up the lightest.",
            metavar="raise|relax",
        ),
    ] = None,
    tag: Annotated[
        str | None, typer.Option(help="preidentified: the label of the known cluster.")
    ] = None,
    n_rounds: Annotated[int | None, typer.Option(help="boost: the most rounds; 25.", min=1)] = None,
    affinity: Annotated[
        str | None,
        typer.Option(
            help="spectral: between which rows; nearest_neighbors.", metavar="nearest_neighbors|rbf"
        ),
    ] = None,
    n_neighbors: Annotated[
        int | None, typer.Option(help="spectral: neighbours of a row; 10.", min=1)
    ] = None,
    kernel: Annotated[
        str | None, typer.Option(help="kernel: rbf or linear; rbf.", metavar="rbf|linear")
    ] = None,
    gamma: Annotated[
        float | None,
        typer.Option(help="spectral, kernel: exp(-gamma * squared distance); from data.", min=0),
    ] = None,
    linkage: Annotated[
        str | None,
        typer.Option(
            help="recon: how far apart two clusters are.",
            metavar="centroid|average|complete|single|ward",
        ),
    ] = None,
    min_branch: Annotated[
        int | None,
        typer.Option(help="recon: smaller branches are outliers, which take no cluster.", min=1),
    ] = None,
    on_conflict: Annotated[
        str | None,
        typer.Option(
            help="recon: if triplets contradict each other, stop, or give up the lightest.",
            metavar="raise|drop",
        ),
    ] = None,
    newick: Annotated[
        Path | None,
        typer.Option(help="recon, complete-link: write the hierarchy there, in Newick format."),
    ] = None,
    dendrogram: Annotated[
        Path | None,
        typer.Option(help="recon, complete-link: draw the hierarchy there (.png, .svg, .pdf)."),
    ] = None,
    n_init: Annotated[
        int | None, typer.Option(help="Number of runs; the best is kept.", min=1)
    ] = None,
    max_iter: Annotated[
        int | None, typer.Option(help="The most iterations of a run; 300 if not given.", min=1)
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the random numbers.", min=0, max=2**32 - 1)
    ] = 0,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Own column names in --constraints: i=person_1 (repeat for j, ...)."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="auto: show the scores of what was tried.")
    ] = False,
    time_budget: Annotated[
        float | None, typer.Option(help="auto: seconds for the choice; all is tried if not given.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="File to note how far the work is; if it was cut off, the same command goes on "
            "there (auto and the k-means methods)."
        ),
    ] = None,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            help="Read a Parquet or NPY file block by block and stay below this: 500MB, 2GB.",
            metavar="SIZE",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Work on this Dask cluster, such as tcp://host:8786.", metavar="URL"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Cluster the rows of a file with what is known about them.

    Columns of numbers are used as they are, columns of text as categories. Constraints have
    columns i, j, link[, weight] (or a, b, c[, weight] for recon) and speak of rows by their
    number, or by id with --id-column.

    Without -k, the number of clusters is chosen by holding back some of the constraints, and so is
    the algorithm unless it is given.

    Exit code: 0 done, 1 the constraints contradict (cop, recon), 2 wrong usage, 70 a fault in
    linkwise.

    Examples:

        linkwise cluster data.csv --constraints links.csv --explain

        linkwise cluster data.csv -k 3 --constraints links.csv -o labels.csv

        linkwise cluster beans.csv -k 3 --constraints tastings.csv --id-column bean
        --features acidity,roast --standardize --report report.html

        linkwise cluster documents.csv -k 3 --text-column text --constraints links.csv
        --algorithm hmrf --distortion cosine

        linkwise cluster data.csv --algorithm recon --constraints triplets.csv -k 4
        --newick tree.nwk --dendrogram tree.png

        linkwise cluster big.parquet -k 10 --constraints links.csv --id-column key
        --memory-limit 2GB --checkpoint big.state -o labels.parquet
    """
    task: Any
    with out.plain_errors():
        choice = Choice.of(algorithm, clusters, explain, time_budget, checkpoint)
        method = choice.method
        k = 1 if choice.open and clusters is None else clusters
        given: dict[str, Any] = {
            "metric": metric,
            "per_cluster": per_cluster or None,
            "distortion": distortion,
            "base": base,
            "threshold": threshold,
            "reduced": reduced or None,
            "assignment": assignment,
            "on_infeasible": on_infeasible,
            "tag": tag,
            "n_rounds": n_rounds,
            "affinity": affinity,
            "n_neighbors": n_neighbors,
            "kernel": kernel,
            "gamma": gamma,
            "linkage": linkage,
            "min_branch": min_branch,
            "on_conflict": on_conflict,
            "newick": newick,
            "dendrogram": dendrogram,
        }
        own = _own_options(
            method, {name: value for name, value in given.items() if value is not None}
        )
        check_target(output, "-o", [data, constraints])
        check_target(report, "--report", [data, constraints, output])
        check_target(newick, "--newick", [data, constraints, output, report])
        check_target(dendrogram, "--dendrogram", [data, constraints, output, report, newick])
        check_kind(output)
        if id_column == CLUSTER and output is not None:
            raise ValueError(
                f"--id-column {CLUSTER}: the column of the result has this name too; rename yours"
            )
        if memory_limit is not None or scheduler is not None:
            unknown = {"--text-column": text_column, "--impute": impute}
            far = FarData(memory_limit, scheduler, method, choice.open, label_column, unknown)
            task = far.read(data, k, id_column, None if features is None else _names(features))
            task = task.standardized() if standardize else task
        elif text_column is None:
            task = _read(data, k, id_column, label_column, features, impute, standardize)
        elif features is not None or standardize or impute is not None:
            raise ValueError(
                "--text-column takes the words of one column; leave out --features, --standardize "
                "and --impute"
            )
        else:
            task = _read_text(data, k, id_column, label_column, text_column, method)
        task = task.with_knowledge(constraints, column or [], method, own.pop("tag", None))
        drawn = {name: own.pop(name, None) for name in ("newick", "dendrogram")}
        runs = {"n_init": n_init, "max_iter": max_iter}
        options, diagnosis = {**own, "random_state": seed}, None
        if checkpoint is not None and not choice.open:
            options["checkpoint"] = checkpoint
        if choice.open:
            model = choice.fit(task.X, task.y, task.by_row(), options, runs)
        else:
            model, diagnosis = _fit(method, task, options, runs)
    if diagnosis is not None:
        _refuse(method, diagnosis, data, as_json)
    with out.plain_errors():
        found = model.report_.named(task.names)
        if output is not None and isinstance(task, FarTask):
            task.write(output, model.labels_)
        elif output is not None:
            write_labels(output, model.labels_, task.ids, id_column)
        if report is not None:
            found.to_html(report)
        _write_hierarchy(model, task, **drawn)
    if as_json:
        written = {"output": output, "report": report, **drawn}
        paths = {name: path and str(path) for name, path in written.items()}
        weights = _weights(model, task)
        more = {**task.legend, **_propagated(model), **paths, **choice.to_dict(model)}
        more |= {"weights": weights} if weights else {}
        out.print_json({**found.to_dict(), "features": task.features, **more})
    else:
        choice.show(model)
        _show(found, model, task, {"output": output, "report": report, **drawn})
    if isinstance(task, FarTask):
        task.close()


# -------------------------------------------------------------------- what was asked for


def _own_options(method: Algorithm, given: dict[str, Any]) -> dict[str, Any]:
    """The options of this method alone; those of others are refused."""
    for name, value in given.items():
        option = _option(name)
        if name not in method.options:
            owner = ", ".join(other.short for other in ALGORITHMS if name in other.options)
            raise ValueError(f"{option} is an option of {owner}, not of {method.short}")
        choices = BASES[method.short] if name == "base" else _CHOICES.get(name)
        if choices is not None and value not in choices:
            raise ValueError(f"{option} {value}: expected one of {', '.join(choices)}")
    return given


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


@dataclass(frozen=True)
class _Task:
    """What is to be clustered, and what is known about it."""

    table: Table
    X: Any
    features: list[str]
    k: int | None
    ids: list[str] | None
    label_column: str | None
    known: Constraints | None = None  # in the words of the person: by id where rows have ids
    y: NDArray[np.int64] | None = None
    classes: tuple[str, ...] = ()

    def with_knowledge(
        self, path: Path | None, columns: list[str], method: Algorithm, tag: str | None
    ) -> _Task:
        """The same task with constraints and labels."""
        if path is None and columns:
            raise ValueError("--column names columns of --constraints; give --constraints too")
        known, y = None, None
        classes: tuple[str, ...] = ()
        if path is not None:
            known = out.read_constraints(path, "text" if self.ids else "auto", columns)
            known.to_rows(self.table.n_rows, self.ids)  # says which rows the data lacks
        if self.label_column is not None:
            y, names = _partial_labels(self.table, self.label_column, self.k, method, tag)
            classes = names if method.knows in _LABELS else ()
        elif tag is not None:
            raise ValueError("--tag names a label of --label-column; give --label-column too")
        _note_unused(method, known, y)
        return replace(self, known=known, y=y, classes=classes)

    def by_row(self) -> Constraints | None:
        """The constraints by row number."""
        return self.known and self.known.to_rows(self.table.n_rows, self.ids)

    def all_known(self) -> Constraints:
        """Constraints and labels together, as the hard methods take them."""
        from linkwise.constraints import Constraints

        known = self.known or Constraints()
        if self.y is None:
            return known
        names: Sequence[Any] = self.ids or range(len(self.y))
        return known + Constraints(labels=dict(zip(names, self.y.tolist(), strict=True)))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    @property
    def names(self) -> list[str] | None:
        """What rows are called in the report."""
        return self.ids

    @property
    def legend(self) -> dict[str, Any]:
        """The label that each cluster was seeded with, for methods that work so."""
        return {"labels": list(self.classes)} if self.classes else {}


def _read(
    data: Path,
    k: int | None,
    id_column: str | None,
    label_column: str | None,
    features: str | None,
    impute: str | None,
    standardize: bool,
) -> _Task:
    from linkwise.datasets import prepare_features

    if impute not in (None, "median"):
        raise ValueError(f"--impute {impute}: expected median")
    table, ids = _read_table(data, k, id_column, label_column)
    leave_out = [name for name in (id_column, label_column) if name is not None]
    chosen = None if features is None else _names(features)
    made = prepare_features(
        table, chosen, leave_out=leave_out, impute=impute, standardize=standardize
    )
    suspect = [name for name in made.names if chosen is None and name.lower() in _ID_NAMES]
    if suspect:
        out.print_note(
            f"the column {suspect[0]!r} is used as a feature; if it holds ids, give "
            f"--id-column {suspect[0]}"
        )
    if not standardize:
        _note_uneven(made.X, made.names)
    return _Task(table, made.X, made.names, k, ids, label_column)


def _note_uneven(X: NDArray[np.float64], names: list[str]) -> None:
    """Say so if one column decides all distances by its unit."""
    spread = X.std(axis=0)
    varying = spread > 0
    if varying.sum() < 2:
        return
    least = int(spread.argmin() if varying.all() else (spread + (~varying) * spread.max()).argmin())
    most = int(spread.argmax())
    if spread[most] > _UNEVEN * spread[least]:
        out.print_note(
            f"{names[most]!r} varies {spread[most] / spread[least]:,.0f} times as much as "
            f"{names[least]!r} and decides most distances; --standardize makes columns count alike"
        )


def _read_table(
    data: Path, k: int | None, id_column: str | None, label_column: str | None
) -> tuple[Table, list[str] | None]:
    from linkwise.datasets import read_table

    if id_column is not None and id_column == label_column:
        raise ValueError(f"--id-column and --label-column are both {id_column!r}")
    with out.busy(f"reading {data.name}", data):
        table = read_table(data)
    ids = out.read_ids(table, id_column)
    if k is not None and k > table.n_rows:
        raise ValueError(f"-k {k} is larger than the number of rows, {table.n_rows:,}")
    return table, ids


def _read_text(
    data: Path,
    k: int | None,
    id_column: str | None,
    label_column: str | None,
    text_column: str,
    method: Algorithm,
) -> _Task:
    from linkwise.datasets import prepare_text

    table, ids = _read_table(data, k, id_column, label_column)
    made = prepare_text(table, text_column)
    X = made.X
    if method.merges:
        if X.shape[0] * X.shape[1] > _MOST_DENSE:
            raise ValueError(
                f"{method.short} needs dense data; {X.shape[0]:,} texts of {X.shape[1]:,} words "
                "are too large for that: use hmrf, pck or mpck"
            )
        X = X.toarray()
    features = [f"{text_column} ({len(made.names):,} words)"]
    return _Task(table, X, features, k, ids, label_column)


def _names(text: str, option: str = "--features") -> list[str]:
    """Names between commas; one with a comma in it stands in quotes."""
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or "" in names:
        raise ValueError(f"{option} {text!r}: expected names of columns, such as a,b,c")
    return names


def _partial_labels(
    table: Table, column: str, k: int | None, method: Algorithm, tag: str | None
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Labels as 0, 1, 2, ..., -1 where unknown, and what they are called.

    Numbers 0 to k - 1 stay what they are, so that label 2 is cluster 2; others are numbered in
    their order.
    """
    import numpy as np

    cells = [cell.strip() for cell in table.text(column)]
    values = table.column(column)
    if values.dtype == object:
        known = np.array([cell is not None for cell in values]) & ~np.isin(cells, ("", "-1"))
        values = np.array(cells)
    else:
        known = np.isfinite(values) & (values != -1)
    y = np.full(len(values), -1, dtype=np.int64)
    if not known.any():
        out.print_note(f"no row has a label in {column!r}")
        return y, ()
    levels, first, codes = np.unique(values[known], return_index=True, return_inverse=True)
    names = [cells[row] for row in np.flatnonzero(known)[first]]
    if "tag" in method.options and tag is None and len(names) == 1:
        tag = names[0]
    if tag is not None:
        if tag not in names:
            raise ValueError(
                f"--tag {tag}: no row has this label in {column!r}; there are "
                f"{', '.join(names[:20])}"
            )
        y[known] = np.where(codes.reshape(-1) == names.index(tag), 0, -1)
        return y, (tag,)
    if k is not None and values.dtype.kind == "f" and np.isin(levels, np.arange(k)).all():
        y[known] = values[known].astype(np.int64)
        return y, tuple(str(label) for label in range(k))
    y[known] = codes.reshape(-1)
    return y, tuple(names)


def _note_unused(method: Algorithm, known: Constraints | None, y: Any) -> None:
    if known is None and y is None:
        out.print_note("nothing is known: neither --constraints nor --label-column is given")
    if known is not None and known.n_relative and method.short != "recon":
        out.print_note(
            f"{method.short} does not use relative constraints; the report only tells which of "
            f"the {known.n_relative:,} hold"
        )


# -------------------------------------------------------------------- the work


def _fit(
    method: Algorithm, task: _Task, options: dict[str, Any], runs: dict[str, Any]
) -> tuple[Any, Diagnosis | None]:
    """The fitted estimator; with a diagnosis if the constraints cannot all be kept."""
    from linkwise.constraints import ConstraintError

    with (
        _progress(runs["n_init"], runs["max_iter"] or _MAX_ITER) as callback,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        estimator = make_estimator(method, task.k, options, callback, runs)
        try:
            estimator.fit(task.X, task.y, constraints=task.by_row())
        except ConstraintError:
            diagnosis = task.all_known().diagnose(task.k, n_rows=task.n_rows)
            if diagnosis.consistent:
                raise  # the method found no way, though there may be one
            return estimator, diagnosis
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        out.print_note(text)
    if task.known is not None and not task.known.closure().consistent:
        out.print_note(
            "the constraints contradict each other; `linkwise check` shows where, and "
            f"{method.short} keeps what it can"
        )
    return estimator, None


def _weights(model: Any, task: _Task) -> dict[str, float]:
    """Learnt weights of the features, if there is one for each column."""
    import numpy as np

    found = np.asarray(getattr(model, "metrics_", ()))
    if found.shape != (len(task.features),) or (found == 1).all():
        return {}
    return dict(zip(task.features, found.tolist(), strict=True))


def _propagated(model: Any) -> dict[str, int]:
    """How many links a method has inferred, if it does so."""
    found = getattr(model, "n_propagated_", None)
    return {} if found is None else {"propagated": int(found)}


def _refuse(method: Algorithm, diagnosis: Diagnosis, data: Path, as_json: bool) -> None:
    """Show the proof that the constraints cannot all be kept, and exit with 1."""
    from linkwise.constraints import ConstraintError

    if as_json:
        out.print_json({"file": str(data), **diagnosis.to_dict()})
    try:
        diagnosis.raise_if_inconsistent()
    except ConstraintError as error:
        out.print_error(str(error))
    if "on_conflict" in method.options:
        out.print_note("to give up triplets that contradict each other: --on-conflict drop")
    else:
        out.print_note("to cluster all the same: --on-infeasible relax, or --algorithm pck or mpck")
    raise typer.Exit(out.CONTRADICTION)


@contextmanager
def _progress(n_init: int | None, max_iter: int) -> Iterator[Any]:
    """A callback that draws a bar on standard error once the work has gone on for a while."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=out.errors,
        transient=True,
        disable=not out.errors.is_terminal,
    )
    total = n_init
    work = bar.add_task("clustering", total=total)
    started = time.monotonic()

    def show(run: int, iteration: int, objective: float) -> None:
        if not bar.live.is_started:
            if time.monotonic() - started < _PATIENCE:
                return
            bar.start()
        of = "" if total is None else f" of {total}"
        bar.update(
            work,
            description=f"run {run + 1}{of}, iteration {iteration}, objective {objective:.6g}",
            completed=run + min(iteration / max_iter, 1),
        )

    try:
        yield show
    finally:
        bar.stop()


# -------------------------------------------------------------------- the answer


def _write_hierarchy(model: Any, task: _Task, newick: Path | None, dendrogram: Path | None) -> None:
    if newick is not None:
        from linkwise._whole import whole_file

        with whole_file(newick) as file:
            file.write((model.to_newick(task.ids) + "\n").encode("utf-8"))
    if dendrogram is not None:
        from linkwise._optional import optional

        optional("matplotlib", extra="plot", need="--dendrogram").use("Agg")
        model.plot(ids=task.ids).figure.savefig(dendrogram, dpi=150)


_WRITTEN = {
    "output": "clusters of all rows",
    "report": "report",
    "newick": "hierarchy",
    "dendrogram": "dendrogram",
}


def _show(report: Report, model: Any, task: _Task, written: dict[str, Path | None]) -> None:
    output = written["output"]
    if output is None:
        out.console.print(_table(report, model.labels_, task))
    out.console.print(escape(str(report)), soft_wrap=True, highlight=False)
    weights = sorted(_weights(model, task).items(), key=lambda item: -item[1])
    if weights:
        shown = ", ".join(f"{name} {weight:.3g}" for name, weight in weights[:_SHOWN_WEIGHTS])
        more = ", ..." if len(weights) > _SHOWN_WEIGHTS else ""
        out.console.print(f"learnt weights: {escape(shown)}{more}", soft_wrap=True, highlight=False)
    for word, number in _propagated(model).items():
        out.console.print(f"{word} in the last round: {number:,} links", highlight=False)
    if task.classes:
        pairs = ", ".join(f"{number} = {name}" for number, name in enumerate(task.classes))
        out.console.print(f"clusters and labels: {escape(pairs)}", soft_wrap=True, highlight=False)
    for name, path in written.items():
        if path is not None:
            what = f"{_WRITTEN[name]}: [bold]{escape(str(path))}[/bold]"
            out.console.print(what, soft_wrap=True)
    if output is None:
        out.print_note("to keep the cluster of each row, give -o labels.csv")


def _table(report: Report, labels: Any, task: _Task) -> RichTable:
    import numpy as np

    table = RichTable(title="Clusters")
    table.add_column("cluster", justify="right")
    table.add_column("rows", justify="right")
    table.add_column("share", justify="right")
    table.add_column("such as" if task.ids else "row numbers")
    sizes, first = report.cluster_sizes.tolist(), np.asarray(labels[:_SEARCHED])
    for number, size in enumerate(sizes[:_SHOWN_CLUSTERS]):
        rows = np.flatnonzero(first == number)[:_SHOWN_ROWS].tolist()
        names = [str(row) if task.ids is None else task.ids[row] for row in rows]
        shown = ", ".join(names) + (", ..." if size > len(names) else "")
        table.add_row(str(number), f"{size:,}", f"{size / len(labels):.1%}", escape(shown))
    if len(sizes) > _SHOWN_CLUSTERS:
        table.add_row("...", "", "", f"{len(sizes) - _SHOWN_CLUSTERS:,} more clusters")
    return table
