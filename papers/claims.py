"""Run every claim of the documents and write the ledger.

``python -m papers.claims --full`` runs all documents and writes ``papers/CLAIMS.md``; ``--quick``
(the default) writes ``papers/CLAIMS.quick.md``; ``--from-results`` runs nothing and rebuilds
``CLAIMS.md`` from the results that are there, the full ones where there are any.
"""

from __future__ import annotations

import argparse
import importlib

from ._claims import DOCUMENTS, HERE, chapter, ledger

BEYOND = ("beyond.baumann_hochbaum",)  # measured the same way; no claim of a document


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m papers.claims", description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--quick", action="store_true", help="minutes for all (the default)")
    what.add_argument("--full", action="store_true", help="hours")
    what.add_argument("--from-results", action="store_true", help="seconds: only the ledger")
    parser.add_argument("--jobs", type=int, default=1, help="processes; -1: one for each core")
    given = parser.parse_args(arguments)
    if not given.from_results:
        run_all("--full" if given.full else "--quick", given.jobs)
    quick = not (given.full or given.from_results)
    path = HERE / ("CLAIMS.quick.md" if quick else "CLAIMS.md")
    chapters = [chapter(name, ("quick",) if quick else ("full", "quick")) for name in DOCUMENTS]
    path.write_text(ledger(chapters) + "\n", encoding="utf-8")
    for one in chapters:
        if one.problem:
            print(f"{one.document}: {one.problem}")
        for finding in one.findings:
            print(f"{finding.claim}: {finding.verdict}")
    print(f"ledger: {path}")


def run_all(size: str, jobs: int) -> None:
    """The scripts of all documents, one after the other."""
    for name in (*DOCUMENTS, *BEYOND):
        print(f"\n=== papers.{name} {size}", flush=True)
        package = f"papers.{name}"
        module = package if name in BEYOND else f"{package}.__main__"
        importlib.import_module(module).main([size, "--jobs", str(jobs)])


if __name__ == "__main__":
    main()
