"""`linkwise cluster`: parse the options, read the file, fit the method, write the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import typer

from . import _output as out
from ._auto import AUTO
from ._build import make_estimator
from ._cluster_input import ClusterInput, note_uneven, read_input, read_text_input
from ._cluster_options import Request, Value
from ._cluster_output import show, to_dict, write
from ._input import check_text_options, find_stop_words
from ._out_of_core import OutOfCoreData, OutOfCoreInput

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from linkwise._methods import Method
    from linkwise.constraints import Diagnosis

Input: TypeAlias = ClusterInput | OutOfCoreInput
_MAX_ITER = 300  # of all methods, unless asked otherwise
_SECONDS_BEFORE_BAR = 1.0


def cluster(request: Request) -> None:
    """Cluster the rows of a file with constraints.

    Columns of numbers are used as they are, columns of text as categories. Constraints have
    columns i, j, link[, weight] (or a, b, c[, weight] for recon) and name rows by
    number, or by id with --id-column.

    Without -k, or with a range such as -k 5-40, the number of clusters and the method are chosen
    by holding out some of the constraints. With -k alone, the method is chosen so if there are
    enough links; otherwise, or with --n-init, --max-iter, --checkpoint or an option of a method,
    it is mpck (on texts pck, cosine).

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
    with out.plain_errors():
        request.check()
        given = _read(request)
        request = _settled(request, given)
        _note_scales(request, given)
    with _checkpoint_kept(request):
        with out.plain_errors():
            model, diagnosis = _fit(request, given)
        if diagnosis is not None:
            _refuse(request.method, diagnosis, given, request)
        with out.plain_errors():
            names = _continue(request, given, model)
            report = given.described(model.report_, model.labels_)
            write(request, given, model, report, names)
    if request.as_json:
        out.print_json(to_dict(request, given, model, report))
    else:
        show(request, given, model, report)
    given.close()


def _continue(request: Request, given: Input, model: BaseEstimator) -> dict[int, str]:
    """Names of clusters that go on from an earlier model, whose numbers are taken over."""
    if request.continues is None:
        return {}
    from linkwise.persistence import load_model

    if getattr(given, "classes", None):
        raise ValueError("--continue: clusters have the numbers of the labels; leave it out")
    saved = load_model(request.continues)
    changes = saved.continue_numbers(model, given.ids)
    out.print_note(f"compared with {request.continues}: {changes}")
    there = set(model.labels_.tolist())
    return {number: name for number, name in saved.names.items() if number in there}


@contextmanager
def _checkpoint_kept(request: Request) -> Iterator[None]:
    """Keep the checkpoint until every file is written, and say how to go on after Ctrl-C."""
    if request.checkpoint is None:
        yield
        return
    from linkwise.kmeans.solver._checkpoint import kept_until_end

    try:
        with kept_until_end():
            yield
    except BaseException as end:
        path = request.checkpoint
        if path.exists() and (isinstance(end, KeyboardInterrupt) or _is_usage_exit(end)):
            out.print_note(f"the fit so far is kept in {path}; the same command goes on from there")
        raise


def _is_usage_exit(end: BaseException) -> bool:
    return isinstance(end, typer.Exit) and end.exit_code == out.WRONG_USAGE


# -------------------------------------------------------------------- read


def _read(request: Request) -> Input:
    """The rows, and what is known about them."""
    given = _read_rows(request)
    return given.with_knowledge(
        request.constraints, request.column or [], request.method, request.tag,
        request.group_columns, request.encoding, request.ignore_unknown,
    )  # fmt: skip


def _read_rows(request: Request) -> Input:
    if request.memory_limit is not None or request.scheduler is not None:
        return OutOfCoreData.of(request).read(request)
    if request.text_column is not None:
        check_text_options(request.features, request.standardize, request.impute)
        words = find_stop_words(request.stop_words, request.text_column)
        return read_text_input(
            request.data, request.k, request.id_column, request.label_column,
            request.text_column, words, request.method, request.reading,
            request.text_embedding or "tfidf",
        )  # fmt: skip
    return read_input(
        request.data, request.k, request.id_column, request.label_column, request.features,
        request.impute, request.standardize, request.no_features,
        request.reading,
    )  # fmt: skip


def _settled(request: Request, given: Input) -> Request:
    """The request with an algorithm that fits what is there, if none was named."""
    if not request.names_no_method or not isinstance(given, ClusterInput):
        return request
    if request.options_of_some:
        _note_no_choice(request, given)
        return request
    if request.choice.has_evidence(given):
        return replace(request, algorithm=AUTO)
    if request.text_column is not None:
        return replace(request, algorithm="pck", method_options={"distortion": "cosine"})
    return request


def _note_no_choice(request: Request, given: Input) -> None:
    """Say so if links would choose the method but for an option that not all methods have."""
    if request.choice.has_evidence(given):
        flags = " and ".join(request.options_of_some)
        out.print_note(
            f"the method is {request.method.short}, since {flags} cannot be used with all of them; "
            "without, the links choose the method (--algorithm names it)"
        )


def _note_scales(request: Request, given: Input) -> None:
    """Say so if one column decides most distances; the choice tries scaled columns by itself."""
    if request.standardize or request.text_column is not None or request.method.short == AUTO:
        return
    if isinstance(given, ClusterInput):
        note_uneven(given.X, given.features)


# -------------------------------------------------------------------- fit


def _fit(request: Request, given: Input) -> tuple[BaseEstimator, Diagnosis | None]:
    """The fitted estimator; with a diagnosis if the constraints cannot all be satisfied."""
    if request.choice.open:
        return request.choice.fit(given, request.seed, request.runs), None
    from linkwise.constraints import ConstraintError

    from ._compile_notice import word_on_compiling

    runs = request.runs
    with (
        word_on_compiling(),
        _progress(runs["n_init"], runs["max_iter"] or _MAX_ITER) as callback,
        out.warnings_as_notes(),
    ):
        parameters = {**_doubts(request, given), **request.parameters}
        model = make_estimator(request.method, given.k, parameters, callback, runs)
        try:
            model.fit(given.X, given.y, constraints=given.known, sample_ids=given.ids)
        except ConstraintError:
            diagnosis = given.all_known().diagnose(given.k, n_rows=given.n_rows)
            if diagnosis.consistent:
                raise  # the method found no way, though there may be one
            return model, diagnosis
    _note_contradictions(request, given, getattr(model, "noise", None) is not None)
    return model, None


def _doubts(request: Request, given: Input) -> dict[str, Value]:
    """The noise model, if constraints contradict each other and no other one was asked for.

    Some of them are wrong then, and the published objective treats all of them as right.
    """
    method = request.method
    if method.option("noise") is None or request.own_options.get("noise", "auto") != "auto":
        return {}
    if given.all_known().closure().consistent:
        return {}
    return {"noise": "auto"}


def _note_contradictions(request: Request, given: Input, doubted: bool) -> None:
    """Note that not all constraints can be satisfied, for methods that try all the same."""
    from linkwise.constraints import contradiction_lines

    known = given.all_known()
    if known.closure().consistent:
        return
    if given.known is not None and not given.known.closure().consistent:
        where = "`linkwise check` shows where"
    else:  # which `linkwise check` does not know of
        first = contradiction_lines(known.diagnose(n_rows=given.n_rows, limit=1))[0]
        where = given.in_lines(first)
    what = "constraints" if given.y is None else "constraints and labels"
    outcome = f"{request.method.short} satisfies what it can"
    if request.method.option("noise") is None:
        outcome += "; --algorithm pck --noise auto estimates which links are wrong"
    if doubted:
        outcome = (
            "the most probable reading is used (--noise auto), and --suspects FILE names the links "
            "against it"
        )
    out.print_note(f"the {what} contradict each other; {where}; {outcome}")


def _refuse(method: Method, diagnosis: Diagnosis, given: Input, request: Request) -> None:
    """Show the proof that the constraints cannot all be satisfied, and exit with 1."""
    from linkwise.constraints import ConstraintError

    if request.as_json:
        out.print_json({"file": str(request.data), **diagnosis.to_dict()})
    try:
        diagnosis.raise_if_inconsistent()
    except ConstraintError as error:
        out.print_error(given.in_lines(out.in_words(error)))
    if method.option("on_conflict") is not None:
        out.print_note("to give up triplets that contradict each other: --on-conflict drop")
    else:
        out.print_note("to cluster all the same: --on-infeasible relax, or --algorithm pck or mpck")
    raise typer.Exit(out.CONTRADICTION)


@contextmanager
def _progress(n_init: int | None, max_iter: int) -> Iterator[Callable[[int, int, float], None]]:
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
            if time.monotonic() - started < _SECONDS_BEFORE_BAR:
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
