"""Run the benchmarks: ``python -m benchmarks [name ...]``; if no name is given, all but "disk".

Each section of RESULTS.md is replaced by what was just measured; the others stay.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

from ._harness import markdown

SECTIONS = {
    "foundation": "Foundation: constraints and their diagnosis",
    "kmeans": "k-means methods: speed",
    "quality": "k-means methods: quality",
    "peers": "k-means methods: peers",
    "embeddings": "Wide rows, many clusters, many links: whole fits against KMeans",
    "propagation": "Propagation and GPK-Means",
    "hmrf": "HMRF-KMeans on text: speed",
    "ensemble": "BoostCluster and SpectralLearning: speed",
    "active": "Active questions: from an answer to the next question",
    "hierarchy": "Hierarchies and the metric from comparisons",
    "density": "ConstrainedHDBSCAN: speed and links",
    "mixture": "ConstrainedMixture: speed and links",
    "scale": "Past one machine: Dask, blocks on disk, growth",
    "disk": "Past memory: 20 GB on the command line",
    "studio": "Studio: from a key press to the next question",
}
ASKED_FOR = ("disk",)  # needs 30 GB of disk
RESULTS = Path(__file__).parent / "RESULTS.md"
HEAD = """# Results

Measured by `make bench` (or `python -m benchmarks NAME`). Times are ratios against a reference in
the same run wherever there is one; seconds alone say little, machines differ.

"""


def main(names: list[str]) -> None:
    sections = _read()
    for name in names or [name for name in SECTIONS if name not in ASKED_FOR]:
        if name not in SECTIONS:
            sys.exit(f"no benchmark {name!r}; there are {', '.join(SECTIONS)}")
        module = importlib.import_module(f"benchmarks.{name}")
        rows = []
        for row in module.run():
            print(f"{row.work}: {row.measured} (bar: {row.bar}) {row.quality}", flush=True)
            rows.append(row)
        sections[SECTIONS[name]] = "\n".join(markdown(SECTIONS[name], rows))
        RESULTS.write_text(HEAD + "\n".join(sections.values()), encoding="utf-8")


def _read() -> dict[str, str]:
    if not RESULTS.exists():
        return {}
    parts = re.split(r"^(?=## )", RESULTS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {part.splitlines()[0][3:]: part.rstrip() + "\n" for part in parts}


if __name__ == "__main__":
    main(sys.argv[1:])
