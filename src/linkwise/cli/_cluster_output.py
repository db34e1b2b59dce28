"""What `linkwise cluster` writes and shows: labels, report, hierarchy, tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table as RichTable

from . import _output as out
from ._cluster_options import Request
from ._out_of_core import OutOfCoreInput
from ._write import write_appended, write_labels

if TYPE_CHECKING:
    from pathlib import Path

    from sklearn.base import BaseEstimator

    from linkwise._types import Floats, Matrix
    from linkwise.report import Report

    from ._cluster_input import ClusterInput

_MAX_SHOWN_CLUSTERS, _MAX_SHOWN_WEIGHTS = 30, 12
_DWARFED = 50.0  # how much more one column counts than the next
_WRITTEN = {
    "output": "clusters of all rows",
    "report": "report",
    "save": "model",
    "suspects": "links that are probably wrong",
    "newick": "hierarchy",
    "dendrogram": "dendrogram",
}


def write(
    request: Request,
    given: ClusterInput | OutOfCoreInput,
    model: BaseEstimator,
    report: Report,
    continued: dict[int, str],
) -> None:
    """Write every file that was asked for; `continued` are names of an earlier model."""
    if request.output is not None and isinstance(given, OutOfCoreInput):
        given.write(request.output, model.labels_)
    elif request.output is not None and not isinstance(given, OutOfCoreInput):
        names = given.names(model.labels_) or _padded(continued, int(model.labels_.max()))
        sure = probabilities(model, given.X) if request.probabilities or request.append else None
        if request.append:
            write_appended(request.output, given.table.original, model.labels_, names, sure)
        else:
            write_labels(request.output, model.labels_, given.ids, request.id_column, names, sure)
    if request.report is not None:
        report.to_html(request.report, about=_about(request), weights=_weights(model, given))
    if request.save is not None:
        from linkwise.persistence import save_model

        called = given.names(model.labels_) or []
        save_model(
            model, request.save,
            preparation=getattr(given, "preparation", None),
            sample_ids=given.ids, constraints=given.known,
            names={**dict(enumerate(called)), **continued},
            about={**_about(request), "id_column": request.id_column},
        )  # fmt: skip
    if request.suspects is not None:
        _write_suspects(request.suspects, report)
    _write_hierarchy(model, given.ids, *request.tree_files.values())


def _padded(names: dict[int, str], last: int) -> list[str] | None:
    """Names of the clusters up to the last, as far as there are any."""
    return [names.get(number, "") for number in range(last + 1)] if names else None


def probabilities(model: BaseEstimator, X: Matrix) -> Floats | None:
    """How probable the clusters of the rows are, where the method says so."""
    found = getattr(model, "probabilities_", None)
    if found is None and hasattr(model, "predict_proba"):
        found = model.predict_proba(X)
    return found


def to_dict(
    request: Request, given: ClusterInput | OutOfCoreInput, model: BaseEstimator, report: Report
) -> dict[str, object]:
    """The result for machines."""
    weights = _weights(model, given)
    found = {**report.to_dict(), "features": given.features, **given.legend, **_propagated(model)}
    found |= {name: path and str(path) for name, path in _files(request).items()}
    return {**found, **request.choice.to_dict(model), **({"weights": weights} if weights else {})}


def _files(request: Request) -> dict[str, Path | None]:
    tree = {flag.removeprefix("--"): path for flag, path in request.tree_files.items()}
    own = {"output": request.output, "report": request.report, "suspects": request.suspects}
    own["save"] = request.save
    return {**own, **tree}


def _weights(model: BaseEstimator, given: ClusterInput | OutOfCoreInput) -> dict[str, float]:
    """Learnt weights of the features, if there is one for each column."""
    import numpy as np

    found = np.asarray(getattr(model, "metrics_", ()))
    if found.shape != (len(given.features),) or (found == 1).all():
        return {}
    varies = np.ones(len(found), dtype=bool)
    if isinstance(X := getattr(given, "X", None), np.ndarray):
        varies = np.ptp(X, axis=0) > 0  # of a constant column nothing is learnt
    pairs = zip(given.features, found.tolist(), varies, strict=True)
    return {name: weight for name, weight, counts in pairs if counts}


def note_dwarfing(weights: dict[str, float], given: ClusterInput | OutOfCoreInput) -> None:
    """Say so if the clusters rest on one column alone."""
    import numpy as np

    X = getattr(given, "X", None)
    if len(weights) < 2 or not isinstance(X, np.ndarray):
        return
    spread = dict(zip(given.features, X.var(axis=0).tolist(), strict=True))
    counts = {name: weight * spread[name] for name, weight in weights.items()}
    first, second = sorted(counts, key=lambda name: -counts[name])[:2]
    if counts[first] > _DWARFED * counts[second]:
        ratio = counts[first] / max(counts[second], 1e-300)
        out.print_note(
            f"{first!r} counts {min(ratio, 1e6):,.0f} times as much as the next column; few links "
            "can mislead the metric: compare --algorithm pck, or leave the column out by --features"
        )


def _about(request: Request) -> dict[str, str]:
    """Where a report comes from."""
    about = {"data": str(request.data), "constraints": str(request.constraints or "")}
    about |= {"command": out.command(), "date": f"{datetime.now():%Y-%m-%d %H:%M}"}
    return {name: text for name, text in about.items() if text}


def _propagated(model: BaseEstimator) -> dict[str, int]:
    """How many links a method has inferred, if it does so."""
    found = getattr(model, "n_propagated_", None)
    return {} if found is None else {"propagated": int(found)}


def _write_suspects(path: Path, report: Report) -> None:
    """One line per link that is probably wrong, the likeliest first, with file and line."""
    from linkwise.tables import atomic_write

    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("i", "j", "link", "probability_wrong", "file", "line"))
    for link, probability in report.likely_wrong():
        place = (link.source.name, link.line)
        table.writerow((*link.rows, link.kind, f"{probability:.4f}", *place))
    with atomic_write(path) as file:
        file.write(text.getvalue().encode("utf-8"))


def _write_hierarchy(
    model: BaseEstimator, ids: Sequence[str] | None, newick: Path | None, dendrogram: Path | None
) -> None:
    if newick is not None:
        from linkwise.tables import atomic_write

        with atomic_write(newick) as file:
            file.write((model.to_newick(ids) + "\n").encode("utf-8"))
    if dendrogram is not None:
        from linkwise._optional import optional

        optional("matplotlib", extra="plot", need="--dendrogram").use("Agg")
        model.plot(ids=ids).figure.savefig(dendrogram, dpi=150)


def show(
    request: Request, given: ClusterInput | OutOfCoreInput, model: BaseEstimator, report: Report
) -> None:
    """Print the clusters, the report and the files that were written."""
    request.choice.show(model)
    out.console.print(_table(report, len(model.labels_), given))
    out.console.print(escape(str(report)), soft_wrap=True, highlight=False)
    weights = sorted(_weights(model, given).items(), key=lambda item: -item[1])
    if weights:
        shown = ", ".join(f"{name} {weight:.3g}" for name, weight in weights[:_MAX_SHOWN_WEIGHTS])
        more = ", ..." if len(weights) > _MAX_SHOWN_WEIGHTS else ""
        out.console.print(f"learnt weights: {escape(shown)}{more}", soft_wrap=True, highlight=False)
        note_dwarfing(dict(weights), given)
    for word, number in _propagated(model).items():
        out.console.print(f"{word} in the last round: {number:,} links", highlight=False)
    called = given.names(model.labels_) or given.classes
    if called:
        pairs = ", ".join(f"{number} = {name}" for number, name in enumerate(called) if name)
        out.console.print(f"clusters and labels: {escape(pairs)}", soft_wrap=True, highlight=False)
    for name, path in _files(request).items():
        if path is not None:
            what = f"{_WRITTEN[name]}: [bold]{escape(str(path))}[/bold]"
            out.console.print(what, soft_wrap=True)
    if request.output is None:
        out.print_note("to keep the cluster of each row, give -o labels.csv")


def _table(report: Report, n_rows: int, given: ClusterInput | OutOfCoreInput) -> RichTable:
    """The clusters; without the column of what sets them apart where nothing does."""
    profiles = report.profiles[:_MAX_SHOWN_CLUSTERS]
    sizes = report.cluster_sizes.tolist()
    told = any(profile.traits for profile in profiles)
    table = RichTable(title="Clusters")
    for head in ("cluster", "rows", "share"):
        table.add_column(head, justify="right")
    for head in ["what sets it apart"] * told + ["typical" if given.ids else "typical rows"]:
        table.add_column(head)
    for profile in profiles:
        names = [str(row) if given.ids is None else given.ids[row] for row in profile.typical]
        described = [escape("\n".join(profile.descriptions))] * told
        share = f"{profile.size / n_rows:.1%}"
        row = [str(profile.number), f"{profile.size:,}", share, *described]
        table.add_row(*row, escape(", ".join(names)))
    if not profiles:  # rows that are elsewhere are not looked at again
        for number, size in enumerate(sizes[:_MAX_SHOWN_CLUSTERS]):
            table.add_row(str(number), f"{size:,}", f"{size / report.n_rows:.1%}", "")
    if len(sizes) > _MAX_SHOWN_CLUSTERS:
        more = f"{len(sizes) - _MAX_SHOWN_CLUSTERS:,} more clusters"
        table.add_row("...", "", "", more)
    return table
