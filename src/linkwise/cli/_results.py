"""What `linkwise cluster` writes and shows: clusters, report, hierarchy, the comparison."""

from __future__ import annotations

import csv
import io
import math
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table as RichTable

from . import _compare
from . import _output as out
from ._write import write_appended, write_labels

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from linkwise._types import Floats, JsonDict, Matrix
    from linkwise.report import Report

    from ._cluster import Request
    from ._knowledge import Given
    from ._out_of_core import GivenBlocks

_MAX_SHOWN_CLUSTERS, _MAX_SHOWN_WEIGHTS, _MAX_SHOWN_RESULTS = 30, 12, 15
_WRITTEN = {
    "output": "clusters of all rows",
    "report": "report",
    "save": "model",
    "suspects": "links that are probably wrong",
    "newick": "hierarchy",
    "dendrogram": "dendrogram",
}


def write(
    request: Request, given: Given | GivenBlocks, model: BaseEstimator, report: Report,
    continued: dict[int, str],
) -> None:  # fmt: skip
    """Write every file that was asked for; `continued` are names of an earlier model."""
    last = int(model.labels_.max())
    names = given.names(model.labels_)
    if names is None and continued:
        names = [continued.get(number, "") for number in range(last + 1)]
    if request.output is not None and request.by_blocks:
        given.write(request.output, model.labels_)  # type: ignore[union-attr]
    elif request.output is not None:
        sure = _probabilities(request, model, given.X)
        if request.append:
            frame = given.table.frame  # type: ignore[union-attr]
            write_appended(request.output, frame, model.labels_, names, sure)
        else:
            write_labels(request.output, model.labels_, given.ids, given.id_column, names, sure)
    if request.report is not None:
        report.to_html(request.report, about=_about(request), weights=_weights(model, given))
    if request.save is not None:
        from linkwise.persistence import save_model

        made = getattr(given, "made", None)
        save_model(
            model, request.save,
            preparation=made and made.preparation,
            sample_ids=given.ids, constraints=given.known,
            names={**dict(enumerate(names or [])), **continued},
            about={**_about(request), "id_column": given.id_column},
        )  # fmt: skip
    if request.suspects is not None:
        _write_suspects(request.suspects, report)
    if request.newick is not None:
        _write_bytes(request.newick, model.to_newick(given.ids) + "\n")
    if request.dendrogram is not None:
        from linkwise._optional import optional

        optional("matplotlib", extra="plot", need="--dendrogram").use("Agg")
        model.plot(ids=given.ids).figure.savefig(request.dendrogram, dpi=150)


def _probabilities(request: Request, model: BaseEstimator, X: Matrix) -> Floats | None:
    """How probable the clusters of the rows are, where the method says so."""
    if not (request.probabilities or request.append):
        return None
    found = getattr(model, "probabilities_", None)
    if found is None and hasattr(model, "predict_proba"):
        found = model.predict_proba(X)
    if found is None and request.probabilities:
        raise ValueError(
            f"--probabilities: {request.method.short} has none; use mixture, hdbscan or a method "
            "of the k-means family"
        )
    return found


def _about(request: Request) -> dict[str, str]:
    """Where a report comes from."""
    about = {"data": str(request.data), "constraints": str(request.constraints or "")}
    about |= {"command": out.command(), "date": f"{datetime.now():%Y-%m-%d %H:%M}"}
    return {name: text for name, text in about.items() if text}


def _write_suspects(path: Path, report: Report) -> None:
    """One line per link that is probably wrong, the likeliest first, with file and line."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("i", "j", "link", "probability_wrong", "file", "line"))
    for link, probability in report.likely_wrong():
        place = (link.source.name, link.line)
        table.writerow((*link.rows, link.kind, f"{probability:.4f}", *place))
    _write_bytes(path, text.getvalue())


def _write_bytes(path: Path, text: str) -> None:
    from linkwise.tables import atomic_write

    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))


# -------------------------------------------------------------------- shown


def to_dict(
    request: Request, given: Given | GivenBlocks, model: BaseEstimator, report: Report,
    compared: _compare.Comparison | None,
) -> JsonDict:  # fmt: skip
    """The result for machines."""
    found = {**report.to_dict(), "features": given.features, **given.legend}
    found |= {name: path and str(path) for name, path in request.files.items()}
    found |= {"weights": weights} if (weights := _weights(model, given)) else {}
    if request.explain:
        rows = [dict(row) for row in model.results_]
        found["candidates"] = [{name: _plain(own) for name, own in row.items()} for row in rows]
    found["compared_with_kmeans"] = compared and compared._asdict()
    return found


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def show(
    request: Request, given: Given | GivenBlocks, model: BaseEstimator, report: Report,
    compared: _compare.Comparison | None,
) -> None:  # fmt: skip
    """Print the clusters, the report, the files that were written and the comparison."""

    def say(text: str) -> None:
        out.console.print(text, soft_wrap=True, highlight=False)

    if request.explain:
        _show_results(model)
    out.console.print(_table(report, len(model.labels_), given))
    say(escape(str(report)))
    weights = sorted(_weights(model, given).items(), key=lambda item: -item[1])
    if weights:
        shown = ", ".join(f"{name} {weight:.3g}" for name, weight in weights[:_MAX_SHOWN_WEIGHTS])
        more = ", ..." if len(weights) > _MAX_SHOWN_WEIGHTS else ""
        say(f"learned weights: {escape(shown)}{more}")
    called = given.names(model.labels_) or given.classes
    if called:
        pairs = ", ".join(f"{number} = {name}" for number, name in enumerate(called) if name)
        say(f"clusters and labels: {escape(pairs)}")
    for name, path in request.files.items():
        if path is not None:
            say(f"{_WRITTEN[name]}: [bold]{escape(str(path))}[/bold]")
    if request.output is None:
        out.print_note("to keep the cluster of each row, give -o clusters.csv")
    _note_single_rows(report, model, given)
    if given.known is not None or given.y is not None:
        _compare.show(compared)


def _note_single_rows(report: Report, model: BaseEstimator, given: Given | GivenBlocks) -> None:
    """Name the row of a cluster of one, which may be a total at the end of the table."""
    singles = [c for c, size in enumerate(report.cluster_sizes.tolist()) if size == 1]
    if not singles or len(singles) > 3 or report.n_rows < 10 or not hasattr(given, "table"):
        return
    for number in singles:
        row = int((model.labels_ == number).argmax())
        last = "; it is the last row: is it a total?" if row == len(model.labels_) - 1 else ""
        name = "" if given.ids is None else f" ({given.ids[row]})"
        out.print_note(f"cluster {number} has one row, {given.table.place_of(row)}{name}{last}")


def _weights(model: BaseEstimator, given: Given | GivenBlocks) -> dict[str, float]:
    """Learned weights of the features, if there is one for each column."""
    import numpy as np

    found = np.asarray(getattr(model, "metrics_", ()))
    if found.shape != (len(given.features),) or (found == 1).all():
        return {}
    return dict(zip(given.features, found.tolist(), strict=True))


def _show_results(model: BaseEstimator) -> None:
    """The table of what was compared."""
    rows = [dict(row) for row in model.results_]
    table = RichTable(title="Compared")
    for head in rows[0]:
        table.add_column(head.replace("_", " "))
    for row in rows[:_MAX_SHOWN_RESULTS]:
        cells = [f"{own:.3f}" if isinstance(own, float) else str(own) for own in row.values()]
        table.add_row(*map(escape, cells), style="bold" if row.get("chosen") else "")
    out.console.print(table)
    if (more := len(rows) - _MAX_SHOWN_RESULTS) > 0:
        out.console.print(f"... and {more:,} more")


def _table(report: Report, n_rows: int, given: Given | GivenBlocks) -> RichTable:
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
        table.add_row("...", "", "", f"{len(sizes) - _MAX_SHOWN_CLUSTERS:,} more clusters")
    return table
