"""`linkwise demo`: a first look, on a sample that comes with the package."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from . import _output as out

if TYPE_CHECKING:
    from linkwise.constraints import Constraints, Diagnosis

_SAMPLE = ("beans.csv", "tastings.csv")


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", help="Where the sample and the picture go.")
    ] = Path("linkwise-demo"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Show what linkwise does, on a small sample.

    Coffee beans with their acidity and roast; tasters said of 40 pairs whether the two come from
    the same place.
    """
    with out.plain_errors():
        found = _run(folder)
        if not as_json:
            _show(found, folder)
    if as_json:
        out.print_json(found.to_dict())


@dataclass(frozen=True)
class _Findings:
    """What the demo found: plain k-means on the beans, and what is known about them."""

    n_rows: int
    known: Constraints
    diagnosis: Diagnosis
    ari: float
    kept: float
    picture: Path

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, ready for JSON."""
        return {
            "n_rows": self.n_rows,
            "ari": self.ari,
            "kept": self.kept,
            "diagnosis": self.diagnosis.to_dict(),
            "picture": str(self.picture),
        }


def _run(folder: Path) -> _Findings:
    from sklearn.cluster import KMeans

    from linkwise.constraints import Constraints
    from linkwise.datasets import read_table
    from linkwise.evaluation import score

    _copy_sample(folder)
    table = read_table(folder / "beans.csv")
    X = table.matrix(["acidity", "roast"])
    known = Constraints.read(folder / "tastings.csv")
    by_row = known.to_rows(len(X), table.text("bean").tolist())
    labels = KMeans(3, n_init=10, random_state=0).fit_predict(X)
    scores = score(table.text("origin").tolist(), labels, constraints=by_row)
    assert scores.kept is not None  # the sample has constraints
    picture = folder / "demo.png"
    _draw(X, labels, by_row, picture)
    diagnosis = known.diagnose(3, n_rows=len(X))
    return _Findings(len(X), known, diagnosis, scores.ari, scores.kept, picture)


def _show(found: _Findings, folder: Path) -> None:
    say = out.console.print
    say(f"[bold]The data[/bold]: {found.n_rows} coffee beans, acidity and roast.")
    say(f"[bold]What is known[/bold]: {escape(str(found.diagnosis))}\n")
    say(
        "[bold]Without knowledge[/bold], plain k-means finds the origins with an ARI of "
        f"{found.ari:z.2f} and keeps {found.kept:.0%} of what the tasters said."
    )
    _second_thoughts(found.known)
    picture = escape(str(found.picture))
    say(f"\nA picture is in [bold]{picture}[/bold]. Now try it yourself:")
    data = f"--data {folder / 'beans.csv'} --id-column bean"
    # `make demo` runs the program inside .venv, where a person's shell does not look.
    program = "linkwise" if shutil.which("linkwise") else sys.argv[0]
    say(escape(f"  {program} check {folder / 'tastings.csv'} {data} -k 3"), soft_wrap=True)


def _copy_sample(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    source = resources.files("linkwise.datasets") / "sample"
    for name in _SAMPLE:
        with resources.as_file(source / name) as path:
            shutil.copyfile(path, folder / name)


def _second_thoughts(known: Constraints) -> None:
    """What happens when somebody errs: a wrong answer is found, with the chain that proves it."""
    from linkwise.constraints import Constraints

    closure = known.closure()
    group = max(closure.components, key=len)
    given = {frozenset(pair) for pair in known.must_link.tolist()}
    wrong = next((a, b) for a in group for b in group if a < b and frozenset((a, b)) not in given)
    diagnosis = (known + Constraints(cannot_link=[wrong])).diagnose()
    out.console.print(
        f"[bold]Somebody errs[/bold] and says that {wrong[0]} and {wrong[1]} differ; linkwise "
        f"answers:\n  {escape(str(diagnosis.contradictions[0]))}",
        soft_wrap=True,
    )


def _draw(X: Any, labels: Any, known: Constraints, path: Path) -> None:
    """The clusters, the links, and those of them that the clusters break."""
    from linkwise._optional import optional

    optional("matplotlib", extra="plot", need="The picture")
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.add_subplot(title="plain k-means, and what the tasters said")
    axes.set(xlabel="acidity", ylabel="roast")
    colours = ("#0072b2", "#e69f00", "#009e73")  # distinguishable for the colour-blind
    axes.scatter(X[:, 0], X[:, 1], s=22, c=[colours[label] for label in labels], zorder=2)
    kept = known.satisfied(labels)
    for links, good, style, name in (
        (known.must_link, kept.must_link, "solid", "same"),
        (known.cannot_link, kept.cannot_link, "dotted", "different"),
    ):
        for chosen, colour, word in ((good, "0.65", "kept"), (~good, "#cc3311", "broken")):
            lines = LineCollection(
                X[links[chosen]], linestyles=style, colors=colour, linewidths=1.2, zorder=1
            )
            lines.set_label(f"{name}, {word} ({chosen.sum()})")
            axes.add_collection(lines)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path, dpi=120)
