"""`linkwise algorithms`: which methods there are and what each is good for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.table import Table as RichTable

from . import _output as out


@dataclass(frozen=True)
class Algorithm:
    """One method: what it takes and where it comes from."""

    name: str
    knows: str
    keeps: str
    metric: str
    source: str

    @property
    def ready(self) -> bool:
        """Whether this version of linkwise has it."""
        import linkwise

        return self.name in linkwise.__all__


ALGORITHMS = (
    Algorithm("SeededKMeans", "labels", "as a start", "Euclidean", "Basu et al. 2002"),
    Algorithm("ConstrainedKMeans", "labels", "always", "Euclidean", "Basu et al. 2002"),
    Algorithm("PreIdentifiedKMeans", "one tagged group", "always", "Euclidean", "Teja"),
    Algorithm("COPKMeans", "pairs", "always", "Euclidean", "Wagstaff et al. 2001"),
    Algorithm("PCKMeans", "weighted pairs", "at a cost", "Euclidean", "Basu et al. 2004"),
    Algorithm("MPCKMeans", "weighted pairs", "at a cost", "learnt", "Bilenko et al. 2004"),
    Algorithm(
        "HMRFKMeans", "weighted pairs", "at a cost", "learnt, also for text", "Basu et al. 2006"
    ),
    Algorithm("GPKMeans", "few pairs, spread", "at a cost", "learnt", "Eaton 2005"),
    Algorithm("ReCon", "triplets, trees, pairs", "always", "any (hierarchy)", "Liu et al. 2011"),
    Algorithm("ConstrainedCompleteLink", "pairs", "mostly", "any (hierarchy)", "Klein et al. 2002"),
    Algorithm("BoostCluster", "weighted pairs", "mostly", "any clusterer", "Liu et al. 2007"),
    Algorithm("SpectralLearning", "pairs", "mostly", "affinity", "Kamvar et al. 2003"),
    Algorithm(
        "ConstrainedKernelKMeans", "weighted pairs", "at a cost", "kernel", "Kulis et al. 2005"
    ),
)


def algorithms(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """List the algorithms: what knowledge each takes, and how it treats it."""
    if as_json:
        out.print_json([{**asdict(method), "ready": method.ready} for method in ALGORITHMS])
        return
    table = RichTable(title="Algorithms")
    for head in ("name", "knowledge", "keeps it", "distance", "from", "here"):
        table.add_column(head, no_wrap=head == "name")
    for m in ALGORITHMS:
        ready = "[green]yes[/green]" if m.ready else "to come"
        table.add_row(m.name, m.knows, m.keeps, m.metric, m.source, ready)
    out.console.print(table)
