"""`linkwise cluster`: cluster a file with what is known about its rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from . import _output as out
from ._algorithms import ALGORITHMS, Algorithm
from ._auto import AUTO, Choice
from ._build import BASES, make_estimator
from ._cluster_input import Task, note_uneven, read_task, read_text_task
from ._input import (
    Data,
    FeatureNames,
    IdColumn,
    Impute,
    Standardize,
    StopWords,
    TextColumn,
    check_text_options,
    clusters_option,
    find_stop_words,
)
from ._out_of_core import OutOfCoreData, OutOfCoreInput
from ._write import CLUSTER, NAME, check_kind, check_target, write_labels

if TYPE_CHECKING:
    from linkwise.constraints import Diagnosis
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
_MAX_ITER = 300  # of all methods, unless asked otherwise
_PATIENCE = 1.0  # seconds before a bar appears
_SHOWN_CLUSTERS, _SHOWN_WEIGHTS = 30, 12


def cluster(
    data: Data,
    clusters: Annotated[
        int | None,
        clusters_option(
            "Number of clusters; chosen if not given (recon and complete-link do without)."
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
    id_column: IdColumn = None,
    label_column: Annotated[
        str | None,
        typer.Option(help="Column with the labels of some rows; empty or -1 is unknown."),
    ] = None,
    features: FeatureNames = None,
    text_column: TextColumn = None,
    stop_words: StopWords = None,
    standardize: Standardize = False,
    impute: Impute = None,
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
        int | None, typer.Option(help="spectral: neighbors of a row; 10.", min=1)
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
    as_json: out.Json = False,
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
        --algorithm pck --distortion cosine

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
        words = find_stop_words(stop_words, text_column)
        if id_column in (CLUSTER, NAME) and output is not None:
            raise ValueError(
                f"--id-column {id_column}: a column of the result has this name too; rename yours"
            )
        if memory_limit is not None or scheduler is not None:
            unknown = {"--text-column": text_column, "--impute": impute}
            far = OutOfCoreData(memory_limit, scheduler, method, choice.open, label_column, unknown)
            task = far.read(data, k, id_column, features)
            task = task.standardized() if standardize else task
        elif text_column is None:
            task = read_task(data, k, id_column, label_column, features, impute, standardize)
            if not standardize and method.short != AUTO:  # which tries columns scaled as well
                note_uneven(task.X, task.features)
        else:
            check_text_options(features, standardize, impute)
            task = read_text_task(data, k, id_column, label_column, text_column, words, method)
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
        _refuse(method, diagnosis, task, data, as_json)
    with out.plain_errors():
        found = task.described(model.report_.named(task.ids), model.labels_)
        if output is not None and isinstance(task, OutOfCoreInput):
            task.write(output, model.labels_)
        elif output is not None:
            called = task.names(model.labels_)
            write_labels(output, model.labels_, task.ids, id_column, called)
        if report is not None:
            found.to_html(report, about=_about(data, constraints), weights=_weights(model, task))
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
    if isinstance(task, OutOfCoreInput):
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


# -------------------------------------------------------------------- the work


def _fit(
    method: Algorithm, task: Task, options: dict[str, Any], runs: dict[str, Any]
) -> tuple[Any, Diagnosis | None]:
    """The fitted estimator; with a diagnosis if the constraints cannot all be kept."""
    from linkwise.constraints import ConstraintError

    from ._compile_notice import word_on_compiling

    with (
        word_on_compiling(),
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
    _note_contradictions(method, task)
    return estimator, None


def _note_contradictions(method: Algorithm, task: Task) -> None:
    """Say so if constraints and labels cannot all be kept, for methods that try all the same."""
    from linkwise.constraints import contradiction_lines

    known = task.all_known()
    if known.closure().consistent:
        return
    if task.known is not None and not task.known.closure().consistent:
        where = "`linkwise check` shows where"
    else:  # which `linkwise check` does not know of
        first = contradiction_lines(known.diagnose(n_rows=task.n_rows, limit=1))[0]
        where = task.in_lines(first)
    what = "constraints" if task.y is None else "constraints and labels"
    out.print_note(f"the {what} contradict each other; {where}; {method.short} keeps what it can")


def _weights(model: Any, task: Task) -> dict[str, float]:
    """Learnt weights of the features, if there is one for each column."""
    import numpy as np

    found = np.asarray(getattr(model, "metrics_", ()))
    if found.shape != (len(task.features),) or (found == 1).all():
        return {}
    return dict(zip(task.features, found.tolist(), strict=True))


def _about(data: Path, constraints: Path | None) -> dict[str, str]:
    """What a report was made of, for those who find it later."""
    about = {"data": str(data), "constraints": "" if constraints is None else str(constraints)}
    about |= {"command": out.command(), "date": f"{datetime.now():%Y-%m-%d %H:%M}"}
    return {name: text for name, text in about.items() if text}


def _propagated(model: Any) -> dict[str, int]:
    """How many links a method has inferred, if it does so."""
    found = getattr(model, "n_propagated_", None)
    return {} if found is None else {"propagated": int(found)}


def _refuse(method: Algorithm, diagnosis: Diagnosis, task: Task, data: Path, as_json: bool) -> None:
    """Show the proof that the constraints cannot all be kept, and exit with 1."""
    from linkwise.constraints import ConstraintError

    if as_json:
        out.print_json({"file": str(data), **diagnosis.to_dict()})
    try:
        diagnosis.raise_if_inconsistent()
    except ConstraintError as error:
        out.print_error(task.in_lines(str(error)))
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


def _write_hierarchy(model: Any, task: Task, newick: Path | None, dendrogram: Path | None) -> None:
    if newick is not None:
        from linkwise._atomic import atomic_write

        with atomic_write(newick) as file:
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


def _show(report: Report, model: Any, task: Task, written: dict[str, Path | None]) -> None:
    out.console.print(_table(report, model.labels_, task))
    out.console.print(escape(str(report)), soft_wrap=True, highlight=False)
    weights = sorted(_weights(model, task).items(), key=lambda item: -item[1])
    if weights:
        shown = ", ".join(f"{name} {weight:.3g}" for name, weight in weights[:_SHOWN_WEIGHTS])
        more = ", ..." if len(weights) > _SHOWN_WEIGHTS else ""
        out.console.print(f"learnt weights: {escape(shown)}{more}", soft_wrap=True, highlight=False)
    for word, number in _propagated(model).items():
        out.console.print(f"{word} in the last round: {number:,} links", highlight=False)
    called = task.names(model.labels_) or task.classes
    if called:
        pairs = ", ".join(f"{number} = {name}" for number, name in enumerate(called) if name)
        out.console.print(f"clusters and labels: {escape(pairs)}", soft_wrap=True, highlight=False)
    for name, path in written.items():
        if path is not None:
            what = f"{_WRITTEN[name]}: [bold]{escape(str(path))}[/bold]"
            out.console.print(what, soft_wrap=True)
    if written["output"] is None:
        out.print_note("to keep the cluster of each row, give -o labels.csv")


def _table(report: Report, labels: Any, task: Task) -> RichTable:
    table = RichTable(title="Clusters")
    table.add_column("cluster", justify="right")
    table.add_column("rows", justify="right")
    table.add_column("share", justify="right")
    table.add_column("what sets it apart")
    table.add_column("typical" if task.ids else "typical rows")
    for profile in report.profiles[:_SHOWN_CLUSTERS]:
        names = [str(row) if task.ids is None else task.ids[row] for row in profile.typical]
        table.add_row(
            str(profile.number),
            f"{profile.size:,}",
            f"{profile.size / len(labels):.1%}",
            escape("\n".join(profile.told)),
            escape(", ".join(names)),
        )
    if not report.profiles:  # rows that are elsewhere are not looked at again
        for number, size in enumerate(report.cluster_sizes[:_SHOWN_CLUSTERS].tolist()):
            table.add_row(str(number), f"{size:,}", f"{size / report.n_rows:.1%}", "", "")
    if len(report.profiles) > _SHOWN_CLUSTERS:
        more = f"{len(report.profiles) - _SHOWN_CLUSTERS:,} more clusters"
        table.add_row("...", "", "", more, "")
    return table
