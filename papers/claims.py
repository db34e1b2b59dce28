"""Rebuild claims of the documents: measure what their tables lack, judge, write the ledger.

``python -m papers.claims`` runs two trials of everything and prints the verdicts; with names of
claims or documents (``python -m papers.claims E6 liu2011_recon``) only those. ``--full`` completes
the committed tables (all trials: hours) and writes ``papers/CLAIMS.md``; ``--from-tables`` only
writes it.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._findings import Finding, ledger
from ._run import HERE, MissingResults, run

DOCUMENTS = {
    "eaton2005_gpk_means": "E",
    "basu2006_hmrf_kmeans": "H",
    "liu2011_recon": "R",
    "liu2007_boostcluster": "B",
    "teja_slides": "S",
}
QUICK_TRIALS = 2


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m papers.claims", description=__doc__)
    parser.add_argument("names", nargs="*", help="claims (E6) or documents; all by default")
    parser.add_argument("--full", action="store_true", help="as many trials as the documents")
    parser.add_argument("--trials", type=int, help="at most so many, in place of 2 or all")
    parser.add_argument("--from-tables", action="store_true", help="only write the ledger")
    parser.add_argument("--jobs", type=int, default=1, help="processes; -1: one for each core")
    given = parser.parse_args(arguments)
    for name in given.names:
        if name not in DOCUMENTS and name[0] not in DOCUMENTS.values():
            parser.error(f"{name!r}: expected a claim (E6) or one of {', '.join(DOCUMENTS)}")
    full = given.full or given.from_tables
    n_trials = given.trials or (None if full else QUICK_TRIALS)
    for document, letter in DOCUMENTS.items():
        claims = [name for name in given.names if name[0] == letter and name not in DOCUMENTS]
        if given.names and not claims and document not in given.names:
            continue
        folder = folder_of(document, full)
        if not given.from_tables:
            measure(document, folder, n_trials, claims, given.jobs)
        for finding in judge(document, folder, claims):
            show(finding)
    if full:
        (HERE / "CLAIMS.md").write_text(committed_ledger(), encoding="utf-8")


def folder_of(document: str, full: bool) -> Path:
    """The committed tables, or those of a quick run."""
    return HERE / document / ("tables" if full else "results")


def measure(
    document: str, folder: Path, n_trials: int | None, claims: Sequence[str] = (), jobs: int = 1
) -> None:
    """Complete the tables that some claims of a document need, or all."""
    experiments = importlib.import_module(f"papers.{document}.experiments").EXPERIMENTS
    run(experiments, folder, n_trials, claims, jobs)


def judge(document: str, folder: Path, claims: Sequence[str] = ()) -> list[Finding]:
    """The findings for some claims, or all that there are tables for."""
    findings = importlib.import_module(f"papers.{document}.claims").FINDINGS
    found = []
    for claim in claims or findings:
        try:
            found.append(findings[claim](folder))
        except MissingResults as problem:
            print(f"{claim}: no verdict, {problem}")
    return found


def show(finding: Finding) -> None:
    """Print a finding."""
    print(f"\n{finding.claim} {finding.statement}: {finding.verdict.upper()} ({finding.trials})")
    for part in finding.parts:
        print(f"  {part.verdict}: {part.what}. {part.figures}")


def committed_ledger() -> str:
    """`CLAIMS.md`, from the committed tables."""
    folders = {document: folder_of(document, full=True) for document in DOCUMENTS}
    about: dict[str, Any] = {
        document: json.loads((folder / "about.json").read_text(encoding="utf-8"))
        for document, folder in folders.items()
    }
    chapters = {document: judge(document, folder) for document, folder in folders.items()}
    return ledger(chapters, about)


if __name__ == "__main__":
    main()
