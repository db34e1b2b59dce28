"""`linkwise cluster`: parse the options, read the file, fit the method, write the result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwise import _methods
from linkwise._methods import Method

from . import _options as opt
from . import _output as out
from ._input import Measuring, column_names
from ._method import AUTO, Clusters, find_algorithm, make_estimator, parse_settings
from ._options import DATA, KNOWLEDGE, METHOD, OUTPUT, Counts, option
from ._write import CLUSTER, NAME, check_kind, check_target

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from linkwise.constraints import Diagnosis

    from ._knowledge import Input


def _algorithm_help() -> str:
    names = ", ".join(method.short for method in _methods.METHODS)
    return f"Run exactly this method: {names}; see `linkwise help methods`.  [default: auto]"


@dataclass(frozen=True, kw_only=True)
class Request(Measuring):
    """The options of the command."""

    data: opt.Data
    memory_limit: Annotated[
        str | None,
        option(
            DATA, about="Read a Parquet or NPY file by blocks, in this memory: 500MB, 2GB.",
            metavar="SIZE", rare=True,
        ),
    ] = None  # fmt: skip
    scheduler: Annotated[
        str | None,
        option(DATA, about="Work on this Dask cluster: tcp://host:8786.", metavar="URL", rare=True),
    ] = None
    constraints: opt.ConstraintsFile = None
    column: opt.ColumnRoles = None
    label_column: Annotated[
        str | None,
        option(KNOWLEDGE, about="Column with the labels of some rows; empty or -1 is unknown."),
    ] = None
    together_column: Annotated[
        str | None,
        option(KNOWLEDGE, about="Column whose equal values belong together: a household."),
    ] = None
    apart_column: Annotated[
        str | None,
        option(KNOWLEDGE, about="Column whose equal values are in different clusters: a photo."),
    ] = None
    taxonomy_columns: Annotated[
        str | None,
        option(KNOWLEDGE, about="Columns of ranks, coarse to fine: order,family,genus.", rare=True),
    ] = None
    clusters: Annotated[
        Counts | None,
        opt.count_option("Number of clusters, or a range; chosen if absent.", ranges=True),
    ] = None
    algorithm: Annotated[str | None, option(METHOD, about=_algorithm_help())] = None
    settings: Annotated[
        list[str] | None,
        option(
            METHOD, "--set", metavar="NAME=VALUE",
            about="A parameter of the method, as in Python: --set max_iter=50 (repeat).",
        ),
    ] = None  # fmt: skip
    seed: Annotated[
        int, option(METHOD, about="Seed of the random numbers.", min=0, max=2**32 - 1)
    ] = 0
    checkpoint: Annotated[
        Path | None,
        option(METHOD, about="File from which the same command resumes (k-means).", rare=True),
    ] = None
    output: opt.Output = None
    append: opt.Append = False
    probabilities: Annotated[
        bool,
        option(OUTPUT, "--probabilities", about="-o has the probabilities of clusters.", rare=True),
    ] = False
    report: Annotated[Path | None, option(OUTPUT, about="File for an HTML report.")] = None
    save: Annotated[
        Path | None, option(OUTPUT, about="File for the model, for linkwise predict: .linkwise.")
    ] = None
    continues: Annotated[
        Path | None,
        option(
            OUTPUT, "--continue", rare=True,
            about="A saved model whose numbers and names of clusters are taken over.",
        ),
    ] = None  # fmt: skip
    suspects: Annotated[
        Path | None,
        option(OUTPUT, about="CSV file for links that are probably wrong.", rare=True),
    ] = None
    explain: Annotated[
        bool, option(OUTPUT, "--explain", about="Show what was compared (auto).")
    ] = False
    as_json: opt.Json = False

    @cached_property
    def method(self) -> Method:
        """The method to use."""
        return find_algorithm(self.algorithm)

    @cached_property
    def parameters(self) -> dict[str, object]:
        """Parameters of the method."""
        return parse_settings(self.method, self.settings or [])

    @property
    def k(self) -> Clusters:
        """The number of clusters, or the least and the most."""
        if self.clusters is None:
            return None
        return self.clusters.one or (self.clusters.least, self.clusters.most)

    @property
    def by_blocks(self) -> bool:
        """Whether rows stay on disk, or on a Dask cluster."""
        return self.memory_limit is not None or self.scheduler is not None

    @property
    def no_features(self) -> list[str]:
        """Columns that hold labels, groups or ranks."""
        ranks = self.taxonomy_columns
        columns = [self.label_column, self.together_column, self.apart_column]
        columns += column_names(ranks, "--taxonomy-columns") if ranks else []
        return [name for name in columns if name is not None]

    @property
    def files(self) -> dict[str, Path]:
        """Files to write, by option."""
        names = ("output", "report", "save", "suspects")
        return {name: path for name in names if (path := getattr(self, name)) is not None}

    def check(self) -> None:
        """Refuse options that cannot be combined, before any file is read."""
        _ = self.parameters
        if self.id_column is not None and self.id_column == self.label_column:
            raise ValueError(f"--id-column and --label-column are both {self.label_column!r}")
        if self.column and self.constraints is None:
            raise ValueError("--column names columns of --constraints; give --constraints too")
        if self.explain and self.method.short != AUTO:
            raise ValueError("--explain shows what auto compared; leave out --algorithm")
        self._check_files()

    def _check_files(self) -> None:
        earlier = [self.data, self.constraints]
        for name, path in self.files.items():
            check_target(path, "-o" if name == "output" else f"--{name}", earlier)
            earlier.append(path)
        check_kind(self.output)
        for flag in ("probabilities", "append"):
            if getattr(self, flag) and (self.output is None or self.output.suffix == ".npy"):
                raise ValueError(f"--{flag} needs -o with a .csv, .tsv, .xlsx or .parquet file")
        if self.id_column in (CLUSTER, NAME) and self.output is not None:
            raise ValueError(
                f"--id-column {self.id_column}: a column of the result has this name; rename yours"
            )


def cluster(request: Request) -> None:
    """Cluster the rows of a table, with or without constraints.

    Columns are recognized: numbers are scaled, categories and texts become numbers, ids are left
    out; notes report what was done. Without --algorithm, AutoCluster chooses the number of clusters
    (unless -k is given) and the space by held-out links. The last lines compare the result with
    plain k-means.

    Exit code: 0 done, 1 the constraints contradict (cop, recon), 2 wrong usage, 70 a fault in
    linkwise.

    Examples:

        linkwise cluster data.csv --constraints pairs.csv -o clusters.csv

        linkwise cluster beans.csv -k 3 --constraints tastings.csv --features acidity,roast
        --report report.html

        linkwise cluster tickets.csv --text-column text --label-column topic -o clusters.xlsx

        linkwise cluster data.csv -k 3 --algorithm mpck --set metric=full

        linkwise cluster big.parquet -k 10 --algorithm pck --memory-limit 2GB -o clusters.parquet
    """
    from ._results import show, to_dict, write

    with out.plain_errors():
        request.check()
        given = _read(request)
        model, diagnosis = _fit(request, given)
    if diagnosis is not None:
        _refuse(request, diagnosis, given)
    with out.plain_errors():
        names = _continue(request, given, model)
        report = given.described(model.report_, model.labels_)
        write(request, given, model, report, names)
        compared = given.compared(model)
    if request.as_json:
        out.print_json(to_dict(request, given, model, report, compared))
    else:
        show(request, given, model, report, compared)
    given.close()


def _read(request: Request) -> Input:
    """Rows, with constraints and labels."""
    if request.by_blocks:
        from ._out_of_core import read_blocks

        return read_blocks(request)
    from ._knowledge import read

    return read(request)


def _fit(request: Request, given: Input) -> tuple[BaseEstimator, Diagnosis | None]:
    """The fitted estimator; with a diagnosis if the constraints cannot all be satisfied."""
    from threadpoolctl import threadpool_limits

    from linkwise.constraints import ConstraintError

    method = request.method
    settings = {name: value for name, value in request.parameters.items() if name != "tag"}
    model = make_estimator(method, request.k, request.seed, settings, request.checkpoint)
    # Threads of BLAS wait for each other by spinning; on matrices as small as those of a table,
    # this is most of their time.
    with (
        out.warnings_as_notes(), out.errors.status("clustering ..."),
        threadpool_limits(1, "blas"),
    ):  # fmt: skip
        try:
            model.fit(given.X, given.y, constraints=given.known, sample_ids=given.ids)
        except ConstraintError:
            k = request.k if isinstance(request.k, int) else None
            diagnosis = given.all_known().diagnose(k, n_rows=given.n_rows)
            if diagnosis.consistent:
                raise  # the method found no way, though there may be one
            return model, diagnosis
        except ValueError as error:
            if str(error).startswith(tuple(f"{name}=" for name in settings)):
                raise ValueError(f"--set {out.in_words(error)}") from None
            raise
    _note_contradictions(request, given)
    return model, None


def _note_contradictions(request: Request, given: Input) -> None:
    """Note that not all constraints can be satisfied, for methods that try all the same."""
    from linkwise.constraints import contradiction_lines

    known = given.all_known()
    k = request.k if isinstance(request.k, int) else None
    if known.closure().consistent:
        if k is not None and known.n_cannot_link:
            diagnosis = known.diagnose(k, n_rows=given.n_rows, time_limit=1.0)
            if not diagnosis.consistent:
                out.print_note(
                    f"-k {k} is too small for all cannot-links; some stay violated (`linkwise "
                    "check` with -k shows which rows)"
                )
        return
    first = contradiction_lines(known.diagnose(n_rows=given.n_rows, limit=1))[0]
    what = "constraints" if given.y is None else "constraints and labels"
    out.print_note(
        f"the {what} contradict each other: {given.in_lines(first)}; `linkwise check` shows all"
    )


def _refuse(request: Request, diagnosis: Diagnosis, given: Input) -> None:
    """Show the proof that the constraints cannot all be satisfied, and exit with 1."""
    from linkwise.constraints import ConstraintError

    if request.as_json:
        out.print_json({"file": str(request.data), **diagnosis.to_dict()})
    try:
        diagnosis.raise_if_inconsistent()
    except ConstraintError as error:
        out.print_error(given.in_lines(out.in_words(error)))
    if request.method.short == "recon":
        out.print_note("to give up triplets that contradict each other: --set on_conflict=drop")
    else:
        out.print_note("to cluster all the same: --set on_infeasible=relax, or --algorithm pck")
    raise typer.Exit(out.CONTRADICTION)


def _continue(request: Request, given: Input, model: BaseEstimator) -> dict[int, str]:
    """Names of clusters that are taken over from an earlier model, with their numbers."""
    if request.continues is None:
        return {}
    from linkwise.persistence import load_model

    if given.classes:
        raise ValueError("--continue: clusters have the numbers of the labels; leave it out")
    saved = load_model(request.continues)
    changes = saved.continue_numbers(model, given.ids)
    out.print_note(f"compared with {request.continues}: {changes}")
    there = set(model.labels_.tolist())
    return {number: name for number, name in saved.names.items() if number in there}
