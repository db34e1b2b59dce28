"""`linkwise demo`: a first look, on a sample that comes with the package."""

from __future__ import annotations

import shlex
import shutil
import sys
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


def demo(
    folder: Annotated[Path, option(OUTPUT, "--folder", about="Where the sample goes.")] = Path(
        "linkwise-demo"
    ),
    as_json: opt.Json = False,
) -> None:
    """Show what linkwise does, on a small sample.

    Coffee beans with their acidity and roast; tasters said of 40 pairs whether the two come from
    the same place.

    Examples:

        linkwise demo

        linkwise demo --folder .
    """
    with out.plain_errors():
        found, known = _run(folder)
        if as_json:
            out.print_json(found)
        else:
            _show(found, known, folder)


def _run(folder: Path) -> tuple[JsonDict, Constraints]:
    from sklearn.cluster import KMeans

    from linkwise import AutoCluster
    from linkwise.constraints import Constraints
    from linkwise.evaluation import score
    from linkwise.tables import read_table, table_features

    folder.mkdir(parents=True, exist_ok=True)
    source = resources.files("linkwise.datasets") / "sample"
    for name in _SAMPLE:
        with resources.as_file(source / name) as path:
            shutil.copyfile(path, folder / name)
    table = read_table(folder / "beans.csv")
    known = Constraints.read(folder / "tastings.csv")
    by_row = known.to_rows(table.n_rows, table.text("bean").tolist())
    X = table_features(table, ["acidity", "roast"]).X
    results = {
        "without_constraints": KMeans(3, n_init=10, random_state=0).fit_predict(X),
        "with_constraints": AutoCluster(n_clusters=3, random_state=0)
        .fit(X, constraints=by_row)
        .labels_,
    }
    origin = table.text("origin").tolist()
    found: JsonDict = {"n_rows": table.n_rows, "diagnosis": known.diagnose(3).to_dict()}
    for name, labels in results.items():
        n_satisfied = by_row.satisfied(labels).n_satisfied
        found[name] = {"ari": score(origin, labels).ari, "n_satisfied": n_satisfied}
    return found, known


def _show(found: JsonDict, known: Constraints, folder: Path) -> None:
    def say(text: str) -> None:
        out.console.print(text, soft_wrap=True, highlight=False)

    total = known.n_constraints
    without, using = found["without_constraints"], found["with_constraints"]
    say(f"[bold]The data[/bold]: {found['n_rows']} coffee beans, acidity and roast.")
    say(f"[bold]The constraints[/bold]: {escape(str(known.diagnose(3)))}\n")
    say(
        f"[bold]Plain k-means[/bold] finds the origins with an ARI of {without['ari']:z.2f} and "
        f"satisfies {without['n_satisfied']} of the {total} constraints."
    )
    say(
        f"[bold]With constraints[/bold], AutoCluster reaches an ARI of {using['ari']:z.2f} and "
        f"satisfies {using['n_satisfied']} of {total}."
    )
    _show_contradiction(known)
    say("\nNow try it yourself:")
    beans, tastings, clusters, page = (
        shlex.quote(str(folder / name)) for name in (*_SAMPLE, "clusters.csv", "report.html")
    )
    # `make demo` runs the program inside .venv, where a person's shell does not look.
    program = "linkwise" if shutil.which("linkwise") else shlex.quote(sys.argv[0])
    features = "--features acidity,roast"
    for command in (
        f"check {tastings} --data {beans} {features} -k 3",
        f"cluster {beans} --constraints {tastings} {features} -o {clusters} --report {page}",
        f"score {clusters} {beans} --truth-column origin --id-column bean",
    ):
        say(escape(f"  {program} {command}"))


def _show_contradiction(known: Constraints) -> None:
    """A wrong answer is found, with the chain that proves it."""
    from linkwise.constraints import Constraints

    group = max(known.closure().components, key=len)
    given = {frozenset(pair) for pair in known.must_link.tolist()}
    wrong = next((a, b) for a in group for b in group if a < b and frozenset((a, b)) not in given)
    diagnosis = (known + Constraints(cannot_link=[wrong])).diagnose()
    out.console.print(
        f"[bold]A wrong answer[/bold], that {wrong[0]} and {wrong[1]} differ, is detected:\n  "
        f"{escape(str(diagnosis.contradictions[0]))}",
        soft_wrap=True,
    )
