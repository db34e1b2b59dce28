"""`linkwise demo`: a first look, on a sample that comes with the package."""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from . import _output as out

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from linkwise._types import JsonDict
    from linkwise.constraints import Constraints, Diagnosis

_SAMPLE = ("beans.csv", "tastings.csv")
_FEATURES = ("acidity", "roast")


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", help="Where the sample and the picture go.")
    ] = Path("linkwise-demo"),
    as_json: out.Json = False,
) -> None:
    """Show what linkwise does, on a small sample.

    Coffee beans with their acidity and roast; tasters said of 40 pairs whether the two come from
    the same place.

    Examples:

        linkwise demo

        linkwise demo --folder .
    """
    with out.plain_errors():
        found = _run(folder)
        if not as_json:
            _show(found, folder)
    if as_json:
        out.print_json(found.to_dict())


@dataclass(frozen=True)
class _Result:
    """A clustering of the beans: how well it finds the origins, and what it satisfies."""

    labels: NDArray[np.int32]
    ari: float
    n_satisfied: int


@dataclass(frozen=True)
class _Findings:
    """What the demo found: the beans clustered without and with what is known about them."""

    n_rows: int
    known: Constraints
    diagnosis: Diagnosis
    without: _Result
    using: _Result
    weights: tuple[float, float]
    picture: Path | None

    def to_dict(self) -> JsonDict:
        """The same as plain values, ready for JSON."""
        total = self.known.n_constraints
        results = {"without_knowledge": self.without, "with_knowledge": self.using}
        return {
            "n_rows": self.n_rows,
            **{
                name: {"ari": result.ari, "satisfied": result.n_satisfied / total}
                for name, result in results.items()
            },
            "learnt_weights": dict(zip(_FEATURES, self.weights, strict=True)),
            "diagnosis": self.diagnosis.to_dict(),
            "picture": self.picture and str(self.picture),
        }


def _run(folder: Path) -> _Findings:
    from sklearn.cluster import KMeans

    from linkwise import MPCKMeans
    from linkwise.constraints import Constraints
    from linkwise.datasets import prepare_features, read_table
    from linkwise.evaluation import score

    _copy_sample(folder)
    table = read_table(folder / "beans.csv")
    known = Constraints.read(folder / "tastings.csv")
    by_row = known.to_rows(table.n_rows, table.text("bean").tolist())
    origin = table.text("origin")
    # Both methods get the same columns, scaled, and the best of ten runs.
    X = prepare_features(table, _FEATURES, standardize=True).X
    plain = KMeans(3, n_init=10, random_state=0).fit_predict(X)
    model = MPCKMeans(3, n_init=10, random_state=0).fit(X, constraints=by_row)

    def judged(labels: NDArray[np.int32]) -> _Result:
        ari = score(origin.tolist(), labels).ari
        return _Result(labels, ari, by_row.satisfied(labels).n_satisfied)

    without, using = judged(plain), judged(model.labels_)
    picture = None
    if find_spec("matplotlib") is not None:
        picture = folder / "demo.png"
        panels = {"without": without, "with": using}
        _draw(table.matrix(_FEATURES), origin, panels, by_row, picture)
    diagnosis = known.diagnose(3, n_rows=table.n_rows)
    acidity, roast = model.metrics_.tolist()
    return _Findings(table.n_rows, known, diagnosis, without, using, (acidity, roast), picture)


def _show(found: _Findings, folder: Path) -> None:
    say, total = out.console.print, found.known.n_constraints
    say(
        f"[bold]The data[/bold]: {found.n_rows} coffee beans, acidity and roast, both scaled to "
        "unit variance."
    )
    say(f"[bold]What is known[/bold]: {escape(str(found.diagnosis))}\n")
    say(
        "[bold]Without knowledge[/bold], plain k-means finds the origins with an ARI of "
        f"{found.without.ari:z.2f} and satisfies {found.without.n_satisfied} of the {total} things "
        "that the tasters said."
    )
    say(
        "[bold]With it[/bold], MPCKMeans reaches an ARI of "
        f"{found.using.ari:z.2f} and satisfies {found.using.n_satisfied} of {total}: it has learnt "
        f"to weigh acidity {found.weights[0] / found.weights[1]:.0f} times as much as roast."
    )
    _second_thoughts(found.known)
    if found.picture is None:
        say(escape("\nFor a picture: pip install 'linkwise[plot]'. Now try it yourself:"))
    else:
        picture = escape(str(found.picture))
        say(f"\nA picture is in [bold]{picture}[/bold]. Now try it yourself:", soft_wrap=True)
    beans, tastings = shlex.quote(str(folder / "beans.csv")), folder / "tastings.csv"
    tasted, ids = shlex.quote(str(tastings)), "--id-column bean"
    features = f"--features {','.join(_FEATURES)}"
    columns = f"{features} --standardize --n-init 10"
    labels, page = (shlex.quote(str(folder / name)) for name in ("labels.csv", "report.html"))
    # `make demo` runs the program inside .venv, where a person's shell does not look.
    program = "linkwise" if shutil.which("linkwise") else shlex.quote(sys.argv[0])
    for command in (
        f"check {tasted} --data {beans} {ids} {features} -k 3",
        f"cluster {beans} -k 3 --constraints {tasted} {ids} {columns} -o {labels} --report {page}",
        f"score {labels} {beans} --truth-column origin {ids}",
    ):
        say(escape(f"  {program} {command}"), soft_wrap=True, highlight=False)


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


def _draw(
    X: NDArray[np.float64],
    origin: NDArray[np.object_],
    panels: dict[str, _Result],
    known: Constraints,
    path: Path,
) -> None:
    """Both clusterings side by side, with the links and those of them that each breaks."""
    from matplotlib.figure import Figure

    from linkwise.report import plot_clusters

    figure = Figure(figsize=(11, 5.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    titles = {"without": "Plain k-means", "with": "MPCK-Means, told what the tasters said"}
    places = [f"from {place}" for place in origin]
    entries: JsonDict = {}
    for axes, (name, result) in zip((left, right), panels.items(), strict=True):
        look: JsonDict = {"classes": places, "like": panels["without"].labels}
        plot_clusters(X, result.labels, known, legend=False, ax=axes, **look)
        handles, words = axes.get_legend_handles_labels()
        entries |= dict(zip(words, handles, strict=True))
        satisfied = f"{result.n_satisfied} of {known.n_constraints} links satisfied"
        axes.set_title(titles[name], loc="left", weight="bold", size=13, pad=24)
        axes.text(
            0, 1.025, f"ARI {result.ari:z.2f},  {satisfied}", transform=axes.transAxes, c="0.35"
        )
        axes.set_xlabel("acidity")
    left.set_ylabel("roast")
    figure.legend(
        entries.values(), entries, loc="outside lower center", ncols=7, frameon=False,
        handletextpad=0.5, columnspacing=1.6, fontsize=9.5,
    )  # fmt: skip
    figure.savefig(path, dpi=120)
