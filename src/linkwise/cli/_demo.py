"""`linkwise demo`: a first look, on a sample that comes with the package."""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.markup import escape

from . import _options as opt
from . import _output as out
from ._options import OUTPUT, option

if TYPE_CHECKING:
    from linkwise._types import JsonDict
    from linkwise.constraints import Constraints

_SAMPLE = ("beans.csv", "tastings.csv")


@dataclass(frozen=True, kw_only=True)
class Demo:
    """The options of the command."""

    folder: Annotated[Path, option(OUTPUT, about="Folder for the sample.")] = Path("linkwise-demo")
    as_json: opt.Json = False


def demo(request: Demo) -> None:
    """Show what linkwise does, on a small sample.

    Synthetic data, made so that k-means fails: coffee beans with acidity and roast, and 40 pairs
    with the decision whether both come from the same place.

    Examples:

        linkwise demo

        linkwise demo --folder .
    """
    with out.plain_errors():
        result, known = _run(request.folder)
        if request.as_json:
            out.print_json(result)
        else:
            _show(result, known, request.folder)


def _run(folder: Path) -> tuple[JsonDict, Constraints]:
    from sklearn.cluster import KMeans

    from linkwise import AutoCluster
    from linkwise.constraints import Constraints
    from linkwise.evaluation import score
    from linkwise.tables import read_table, table_features

    folder.mkdir(parents=True, exist_ok=True)
    for name in _SAMPLE:
        with resources.as_file(resources.files("linkwise.datasets") / "sample" / name) as path:
            shutil.copyfile(path, folder / name)
    table = read_table(folder / "beans.csv")
    known = Constraints.read(folder / "tastings.csv")
    by_row = known.to_rows(table.n_rows, table.text("bean").tolist())
    X = table_features(table, ["acidity", "roast"]).X
    learned = AutoCluster(3, random_state=0).fit(X, constraints=by_row)
    result: JsonDict = {"n_rows": table.n_rows, "diagnosis": known.diagnose(3).to_dict()}
    for name, labels in (
        ("without_constraints", KMeans(3, n_init=10, random_state=0).fit_predict(X)),
        ("with_constraints", learned.labels_),
    ):
        ari = score(table.text("origin").tolist(), labels).ari
        result[name] = {"ari": ari, "n_satisfied": by_row.satisfied(labels).n_satisfied}
    return result, known


def _show(result: JsonDict, known: Constraints, folder: Path) -> None:
    total, diagnosis = known.n_constraints, known.diagnose(3)
    without, using = result["without_constraints"], result["with_constraints"]
    beans, tastings, clusters, page = (
        shlex.quote(str(folder / name)) for name in (*_SAMPLE, "clusters.csv", "report.html")
    )
    # `make demo` runs the program inside .venv, where a person's shell does not look.
    program = "linkwise" if shutil.which("linkwise") else shlex.quote(sys.argv[0])
    features = "--features acidity,roast"
    lines = [
        f"[bold]The data[/bold]: {result['n_rows']} coffee beans, acidity and roast.",
        f"[bold]The constraints[/bold]: {escape(str(diagnosis))}\n",
        f"[bold]Plain k-means[/bold] finds the origins with an ARI of {without['ari']:z.2f} and "
        f"satisfies {without['n_satisfied']} of the {total} constraints.",
        f"[bold]With constraints[/bold], AutoCluster reaches an ARI of {using['ari']:z.2f} and "
        f"satisfies {using['n_satisfied']} of {total}.",
        _contradiction(known),
        "\nNow try it yourself:",
        *(
            escape(f"  {program} {command}")
            for command in (
                f"check {tastings} --data {beans} {features} -k 3",
                f"cluster {beans} --constraints {tastings} {features} -k 3 -o {clusters} "
                f"--report {page}",
                f"score {clusters} {beans} --truth-column origin --id-column bean",
            )
        ),
    ]
    out.console.print("\n".join(lines), soft_wrap=True, highlight=False)


def _contradiction(known: Constraints) -> str:
    """A wrong answer, with the links that prove it."""
    from linkwise.constraints import Constraints

    group = max(known.closure().components, key=len)
    linked = {frozenset(pair) for pair in known.must_link.tolist()}
    wrong = next((a, b) for a in group for b in group if a < b and frozenset((a, b)) not in linked)
    diagnosis = (known + Constraints(cannot_link=[wrong])).diagnose()
    return (
        f"[bold]A wrong answer[/bold], that {wrong[0]} and {wrong[1]} differ, is detected:\n  "
        f"{escape(str(diagnosis.contradictions[0]))}"
    )
