"""A claim of a document and what came of it: `Finding`, the tests behind it, and the ledger.

A document's ``claims.py`` has ``findings(results: Path) -> list[Finding]``. It reads only the CSV
files of a run, so that `CLAIMS.md` can be rebuilt from committed results in seconds.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from scipy.stats import wilcoxon

from ._run import time_words

HERE = Path(__file__).parent
LEVEL = 0.05
Verdict = Literal["reproduced", "partly", "not reproduced"]

# Which claims each document's findings must answer.
DOCUMENTS: dict[str, tuple[str, ...]] = {
    "eaton2005_gpk_means": ("E1", "E2", "E3", "E4", "E5", "E6", "E7"),
    "basu2006_hmrf_kmeans": ("H1", "H2", "H3", "H4", "H5"),
    "liu2011_recon": ("R1", "R2", "R3", "R4"),
    "liu2007_boostcluster": ("B1", "B2", "B3", "B4"),
    "teja_slides": ("S1",),
}


class MissingResults(Exception):
    """Results that a finding needs are not there."""


@dataclass(frozen=True)
class Finding:
    """What came of one claim.

    Attributes
    ----------
    claim : str
        Its id, "E1".
    statement : str
        What the document says, in our words.
    figures : str
        What we measured, in words.
    test : str
        How it was decided: the test, its level, what was compared with what.
    verdict : {"reproduced", "partly", "not reproduced"}
        Outcome.
    tried : str
        For the last two: where it fails, and what was tried to find out why.
    """

    claim: str
    statement: str
    figures: str
    test: str
    verdict: Verdict
    tried: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in get_args(Verdict):
            raise ValueError(f"{self.claim}: verdict={self.verdict!r}, not one of {Verdict}")
        if self.verdict != "reproduced" and not self.tried:
            raise ValueError(f"{self.claim} is {self.verdict}: say in `tried` what was tried")


# -------------------------------------------------------------------- tests


@dataclass(frozen=True)
class Gain:
    """How far one method is above another on the same draws."""

    mean: float
    p: float
    n: int

    @property
    def sign(self) -> int:
        """1 if it is above, -1 if below, 0 if that may be chance."""
        return int(np.sign(self.mean)) if self.p < LEVEL else 0

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({p_words(self.p)})"


def gain(ours: Sequence[float], theirs: Sequence[float]) -> Gain:
    """Paired difference, two-sided Wilcoxon signed-rank test."""
    away = np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float)
    p = float(wilcoxon(away).pvalue) if np.any(away) and len(away) > 1 else 1.0
    return Gain(float(away.mean()), p, len(away))


def holm(gains: Sequence[Gain]) -> list[Gain]:
    """The same with p corrected for the number of comparisons (Holm)."""
    found, worst = list(gains), 0.0
    order = sorted(range(len(found)), key=lambda k: found[k].p)
    for rank, k in enumerate(order):
        worst = max(worst, min(1.0, found[k].p * (len(found) - rank)))
        found[k] = Gain(found[k].mean, worst, found[k].n)
    return found


def p_words(p: float) -> str:
    """For tables."""
    return f"p = {p:.2g}" if p >= 0.001 else "p < .001"


def judged(parts: Iterable[bool]) -> Verdict:
    """All parts of a claim hold, some, or none."""
    parts = list(parts)
    return "reproduced" if all(parts) else "partly" if any(parts) else "not reproduced"


# -------------------------------------------------------------------- the ledger


@dataclass(frozen=True)
class Chapter:
    """A document in the ledger: its findings, or why there are none."""

    document: str
    findings: tuple[Finding, ...] = ()
    about: tuple[tuple[str, Any], ...] = ()
    problem: str = ""

    @property
    def run_words(self) -> str:
        """Which run the findings come from."""
        about = dict(self.about)
        if not about:
            return ""
        cut = "" if about.get("finished") else ", not finished"
        numbers = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
        seeds = f" Seeds: {about['seeds']}." if "seeds" in about else ""
        trials = f" {about['trials']}." if "trials" in about else ""
        return (
            f"The {about['size']} run of {about['date']}{cut}, {time_words(about['seconds'])}."
            f"{trials}{seeds} {numbers}."
        )


def chapter(document: str, sizes: Sequence[str] = ("full", "quick")) -> Chapter:
    """Findings out of the results of the first of the sizes that was run."""
    folder = HERE / document / "results"
    size = next((size for size in sizes if (folder / size / "about.json").exists()), None)
    command = f"python -m papers.{document} --{sizes[0]}"
    if size is None:
        return Chapter(document, problem=f"No results: run `{command}`.")
    about = json.loads((folder / size / "about.json").read_text(encoding="utf-8"))
    try:
        found = importlib.import_module(f"papers.{document}.claims").findings(folder / size)
    except (MissingResults, FileNotFoundError, ModuleNotFoundError) as problem:
        words = f"Results are not complete ({problem}): run `{command}`."
        return Chapter(document, about=tuple(about.items()), problem=words)
    return Chapter(document, tuple(found), tuple(about.items()))


def ledger(chapters: Sequence[Chapter]) -> str:
    """`CLAIMS.md`."""
    return "\n".join(
        [
            "# Claims of the documents, and what came out",
            "",
            "Written by `python -m papers.claims`; rebuilt from the committed results by "
            "`python -m papers.claims --from-results`. Not to be edited by hand.",
            "",
            *_overview(chapters),
            *(line for one in chapters for line in _written(one)),
        ]
    )


def _overview(chapters: Sequence[Chapter]) -> Iterator[str]:
    yield "| claim | document | statement | verdict |"
    yield "|---|---|---|---|"
    for one in chapters:
        found = {finding.claim: finding for finding in one.findings}
        for claim in dict.fromkeys((*DOCUMENTS.get(one.document, ()), *found)):
            words = (
                f"{found[claim].statement} | **{found[claim].verdict}**"
                if claim in found
                else "| no results"
            )
            yield f"| {claim} | [{one.document}]({one.document}/README.md) | {words} |"


def _written(one: Chapter) -> Iterator[str]:
    yield f"\n## {one.document}\n"
    yield from filter(None, (one.run_words, one.problem))
    missing = set(DOCUMENTS.get(one.document, ())) - {f.claim for f in one.findings}
    if missing and not one.problem:
        yield f"\nNo finding for {', '.join(sorted(missing))}."
    for finding in one.findings:
        yield f"\n### {finding.claim}: {finding.verdict}\n"
        yield f"- **Claim.** {finding.statement}"
        yield f"- **Figures.** {finding.figures}"
        yield f"- **Test.** {finding.test}"
        if finding.tried:
            yield f"- **What was tried.** {finding.tried}"
