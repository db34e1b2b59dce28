"""`linkwise algorithms`: which methods there are and what each is good for."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from rich.table import Table as RichTable

from . import _output as out


@dataclass(frozen=True)
class Algorithm:
    """One method: what it takes, where it comes from, and how `linkwise cluster` calls it.

    `short` is its name there, `options` are the options that only it has; a method with
    `merges` builds a hierarchy instead of iterating.
    """

    name: str
    knows: str
    keeps: str
    metric: str
    source: str
    short: str = ""
    options: tuple[str, ...] = ()
    merges: bool = False

    @property
    def ready(self) -> bool:
        """Whether this version of linkwise has it."""
        import linkwise

        return self.name in linkwise.__all__


ALGORITHMS = (
    Algorithm("SeededKMeans", "labels", "as a start", "Euclidean", "Basu et al. 2002", "seeded"),
    Algorithm(
        "ConstrainedKMeans", "labels", "always", "Euclidean", "Basu et al. 2002", "constrained"
    ),
    Algorithm(
        "PreIdentifiedKMeans",
        "one tagged group",
        "always",
        "Euclidean",
        "Teja",
        "preidentified",
        ("tag",),
    ),
    Algorithm(
        "COPKMeans",
        "pairs",
        "always",
        "Euclidean",
        "Wagstaff et al. 2001",
        "cop",
        ("assignment", "on_infeasible"),
    ),
    Algorithm(
        "PCKMeans",
        "weighted pairs",
        "at a cost",
        "Euclidean, cosine",
        "Basu et al. 2004",
        "pck",
        ("distortion",),
    ),
    Algorithm(
        "MPCKMeans",
        "weighted pairs",
        "at a cost",
        "learnt",
        "Bilenko et al. 2004",
        "mpck",
        ("metric", "per_cluster"),
    ),
    Algorithm(
        "HMRFKMeans",
        "weighted pairs",
        "at a cost",
        "learnt, also for text",
        "Basu et al. 2006",
        "hmrf",
        ("metric", "distortion"),
    ),
    Algorithm(
        "GPKMeans",
        "few pairs, spread",
        "at a cost",
        "learnt",
        "Eaton 2005",
        "gpk",
        ("base", "metric", "per_cluster", "distortion", "threshold", "reduced"),
    ),
    Algorithm(
        "ReCon",
        "triplets, trees, pairs",
        "always",
        "any (hierarchy)",
        "Liu et al. 2011",
        "recon",
        ("linkage", "min_branch", "on_conflict", "newick", "dendrogram"),
        merges=True,
    ),
    Algorithm(
        "ConstrainedCompleteLink",
        "pairs",
        "mostly",
        "any (hierarchy)",
        "Klein et al. 2002",
        "complete-link",
        ("newick", "dendrogram"),
        merges=True,
    ),
    Algorithm(
        "BoostCluster",
        "weighted pairs",
        "mostly",
        "any clusterer",
        "Liu et al. 2007",
        "boost",
        ("base", "n_rounds"),
    ),
    Algorithm(
        "SpectralLearning",
        "pairs",
        "mostly",
        "affinity",
        "Kamvar et al. 2003",
        "spectral",
        ("affinity", "n_neighbors", "gamma"),
    ),
    Algorithm(
        "ConstrainedKernelKMeans",
        "weighted pairs",
        "at a cost",
        "kernel",
        "Kulis et al. 2005",
        "kernel",
        ("kernel", "gamma"),
    ),
    Algorithm(
        "AutoCluster",
        "pairs, labels",
        "as chosen",
        "chosen",
        "Pourrajabi et al. 2014",
        "auto",
    ),
)


def find_algorithm(name: str) -> Algorithm:
    """The method of this short or full name; ValueError if this version has none."""
    for method in ALGORITHMS:
        if name.lower() not in (method.short, method.name.lower()):
            continue
        if method.short and method.ready:
            return method
        raise ValueError(f"--algorithm {name}: {method.name} is still to come")
    listed = ", ".join(method.short for method in ALGORITHMS if method.short)
    raise ValueError(f"--algorithm {name}: expected one of {listed}")


def algorithms(
    as_json: out.Json = False,
) -> None:
    """List the algorithms: what knowledge each takes, and how it treats it.

    The short name is what `linkwise cluster --algorithm` takes.

    Examples:

        linkwise algorithms

        linkwise algorithms --json
    """
    if as_json:
        out.print_json([{**asdict(method), "ready": method.ready} for method in ALGORITHMS])
        return
    table = RichTable(title="Algorithms")
    for head in ("name, and in short", "knowledge", "keeps it", "distance", "from"):
        table.add_column(head, no_wrap=head.startswith("name"))
    for m in ALGORITHMS:
        short = f"[green]{m.short}[/green]" if m.ready else "[dim]to come[/dim]"
        table.add_row(f"{m.name}\n{short}", m.knows, m.keeps, m.metric, m.source)
    out.console.print(table)
