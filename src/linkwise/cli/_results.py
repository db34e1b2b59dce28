"""What `linkwise cluster` writes and shows: clusters, report, the comparison."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table as RichTable

from . import _compare
from . import _output as out
from ._knowledge import TableInput
from ._write import write_appended, write_labels

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from linkwise._types import Floats, JsonDict, Matrix
    from linkwise.report import Report

    from ._cluster import Request
    from ._knowledge import Input

_MAX_SHOWN = 30  # clusters or candidates: a screen
_WRITTEN = {
    "output": "clusters of all rows",
    "report": "report",
    "save": "model",
    "suspects": "links that are probably wrong",
}


def write(
    request: Request, given: Input, model: BaseEstimator, report: Report,
    continued: dict[int, str],
) -> None:  # fmt: skip
    """Write all output files; `continued` are names of an earlier model."""
    names = given.names(model.labels_)
    if names is None and continued:
        names = [continued.get(number, "") for number in range(int(model.labels_.max()) + 1)]
    if request.output is not None:
        _write_clusters(request.output, request, given, model, names)
    if request.report is not None:
        report.to_html(request.report, about=_about(request), weights=_weights(model, given))
    if request.save is not None:
        from linkwise.persistence import save_model

        save_model(
            model, request.save,
            preparation=given.made.preparation if isinstance(given, TableInput) else None,
            sample_ids=given.ids, constraints=given.known,
            names={**dict(enumerate(names or [])), **continued},
            about={**_about(request), "id_column": given.id_column},
        )  # fmt: skip
    if request.suspects is not None:
        _write_suspects(request.suspects, report)


def _write_clusters(
    path: Path, request: Request, given: Input, model: BaseEstimator, names: list[str] | None
) -> None:
    if not isinstance(given, TableInput):
        from ._out_of_core import BlocksInput, write_parts

        assert isinstance(given, BlocksInput)
        write_parts(path, given, model.labels_)
        return
    probabilities = _probabilities(request, model, given.X)
    if request.append:
        write_appended(path, given.table.frame, model.labels_, names, probabilities)
    else:
        write_labels(path, model.labels_, given.ids, given.id_column, names, probabilities)


def _probabilities(request: Request, model: BaseEstimator, X: Matrix) -> Floats | None:
    """Probabilities of the clusters of the rows, where the method has them."""
    if not (request.probabilities or request.append):
        return None
    if hasattr(model, "probabilities_"):
        return model.probabilities_
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    if request.probabilities:
        raise ValueError(
            f"--probabilities: {request.method.short} has none; use mixture, hdbscan or a method "
            "of the k-means family"
        )
    return None


def _about(request: Request) -> dict[str, str]:
    """Where a report comes from."""
    about = {"data": str(request.data), "constraints": str(request.constraints or "")}
    about |= {"command": out.command(), "date": f"{datetime.now():%Y-%m-%d %H:%M}"}
    return {name: text for name, text in about.items() if text}


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


# -------------------------------------------------------------------- shown


def to_dict(
    request: Request, given: Input, model: BaseEstimator, report: Report,
    compared: _compare.Comparison | None,
) -> JsonDict:  # fmt: skip
    """The result for machines."""
    result = {**report.to_dict(), "features": given.features}
    result |= {"labels": list(given.classes)} if given.classes else {}
    result |= {name: str(path) for name, path in request.files.items()}
    result |= {"weights": weights} if (weights := _weights(model, given)) else {}
    if request.explain:
        result["candidates"] = list(model.results_)
    result["compared_with_kmeans"] = compared and compared._asdict()
    return result


def show(
    request: Request, given: Input, model: BaseEstimator, report: Report,
    compared: _compare.Comparison | None,
) -> None:  # fmt: skip
    """Print the clusters, the report, the files that were written and the comparison."""

    def say(text: str) -> None:
        out.console.print(text, soft_wrap=True, highlight=False)

    if request.explain:
        _show_results(model)
    out.console.print(_table(report, given))
    say(escape(str(report)))
    if weights := _weights(model, given):
        listed = sorted(weights.items(), key=lambda item: -item[1])
        words = ", ".join(f"{name} {weight:.3g}" for name, weight in listed[:_MAX_SHOWN])
        say(f"learned weights: {escape(words)}")
    if names := given.names(model.labels_) or given.classes:
        pairs = ", ".join(f"{number} = {name}" for number, name in enumerate(names) if name)
        say(f"clusters and labels: {escape(pairs)}")
    for name, path in request.files.items():
        say(f"{_WRITTEN[name]}: [bold]{escape(str(path))}[/bold]")
    if request.output is None:
        out.print_note("to keep the cluster of each row, give -o clusters.csv")
    _note_single_rows(report, model, given)
    if given.known is not None or given.labels is not None:
        _compare.show(compared)


def _note_single_rows(report: Report, model: BaseEstimator, given: Input) -> None:
    """Name the row of a cluster of one, which may be a total at the end of the table."""
    singles = [c for c, size in enumerate(report.cluster_sizes.tolist()) if size == 1]
    if not isinstance(given, TableInput) or given.n_rows < 10:
        return
    for number in singles if len(singles) <= 3 else []:
        row = int((model.labels_ == number).argmax())
        last = "; it is the last row: is it a total?" if row == given.n_rows - 1 else ""
        name = "" if given.ids is None else f" ({given.ids[row]})"
        out.print_note(f"cluster {number} has one row, {given.table.place_of(row)}{name}{last}")


def _weights(model: BaseEstimator, given: Input) -> dict[str, float]:
    """Learned weights of the features, if there is one for each column."""
    import numpy as np

    weights = np.asarray(getattr(model, "metrics_", ()))
    if weights.shape != (len(given.features),) or (weights == 1).all():
        return {}
    return dict(zip(given.features, weights.tolist(), strict=True))


def _show_results(model: BaseEstimator) -> None:
    """The table of what was compared."""
    rows = model.results_
    table = RichTable(title="Compared")
    for head in rows[0] if rows else ():
        table.add_column(head.replace("_", " "))
    for row in rows[:_MAX_SHOWN]:
        cells = [f"{own:.3f}" if isinstance(own, float) else str(own) for own in row.values()]
        table.add_row(*map(escape, cells), style="bold" if row.get("chosen") else "")
    out.console.print(table)
    if (more := len(rows) - _MAX_SHOWN) > 0:
        out.console.print(f"... and {more:,} more")


def _table(report: Report, given: Input) -> RichTable:
    """The clusters; with descriptions if there are any."""
    profiles = report.profiles[:_MAX_SHOWN]
    described = any(profile.traits for profile in profiles)
    table = RichTable(title="Clusters")
    for head in ("cluster", "rows", "share"):
        table.add_column(head, justify="right")
    if described:
        table.add_column("what sets it apart")
    table.add_column("typical" if given.ids else "typical rows")
    cells: dict[int, list[str]] = {}
    for profile in profiles:
        rows = [str(row) if given.ids is None else given.ids[row] for row in profile.typical]
        cells[profile.number] = [escape("\n".join(profile.descriptions))] * described
        cells[profile.number].append(escape(", ".join(rows)))
    sizes = report.cluster_sizes.tolist()
    for number, size in enumerate(sizes[:_MAX_SHOWN]):
        share = f"{size / given.n_rows:.1%}"
        table.add_row(str(number), f"{size:,}", share, *cells.get(number, []))
    if len(sizes) > _MAX_SHOWN:
        table.add_row("...", "", "", f"{len(sizes) - _MAX_SHOWN:,} more clusters")
    return table
