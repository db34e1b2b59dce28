"""A claim of a document and what came of it: `Finding`, the tests behind it, and the ledger.

A document's ``claims.py`` has ``findings(results: Path) -> list[Finding]``. It reads only the CSV
files of a run, so that `CLAIMS.md` can be rebuilt from the committed archives in seconds.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from papers.experiment import adjusted, paired_p

from ._run import MissingResults, time_words

HERE = Path(__file__).parent
LEVEL = 0.05
BAR = "\\|"  # ab|c in a cell of a table
Verdict = Literal["reproduced", "partly", "not reproduced"]

# Which claims each document's findings must answer.
DOCUMENTS: dict[str, tuple[str, ...]] = {
    "eaton2005_gpk_means": ("E1", "E2", "E3", "E4", "E5", "E6", "E7"),
    "basu2006_hmrf_kmeans": ("H1", "H2", "H3", "H4", "H5"),
    "liu2011_recon": ("R1", "R2", "R3", "R4"),
    "liu2007_boostcluster": ("B1", "B2", "B3", "B4"),
    "teja_slides": ("S1",),
}
# Written by hand: what the findings come to. To be read again whenever a verdict changes.
CONCLUSIONS = """\
**What a reader can rely on.** The guarantees hold without exception: the objective of \
HMRF-KMeans never rises (H4), ReCon satisfies all consistent constraints and completes the \
hierarchy (R1, R2), the loss of BoostCluster stays below its bound (B4), GPK-Means without \
propagation is MPCK-Means run twice (E7). Right constraints improve a clustering, and learning \
the distances from them improves it further where features are of unequal use: better than \
k-means on six of six data sets, and than constraints alone on five of six (H1); standardized \
features leave less to learn. BoostCluster lifts weak clusterers and hurt none of them, even with \
a fifth of the links wrong, whereas MPCK-Means, which believes every link, gets worse with more \
of those (B1 to B3). Well chosen constraints are worth more than random ones unless random ones \
already give nearly everything (R4, H5); of chosen pairs, most of the gain is on the rows that \
were asked about. **What not to count on.** That propagated links gain over MPCK-Means: next to \
nothing with one metric; with one per cluster they do on Crabs-Gender, Digits389 and Protein, \
where half of it is what a second run alone gives (E1 to E3). That learnt weights help on text: \
without a prior they lose a lot, with one they end where constraints alone do (H3). That spectral \
methods get worse with constraints (B2, B3). And figures of a single run (S1). Much of what came \
out "partly" hangs on what the documents leave open: scaling (H1, H2, R3), how a tree is cut \
(R3), how a formula is read (E1 to E6), how rivals were run (H5, B2)."""


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
    """A mean difference and its p-value."""

    mean: float
    p: float

    @classmethod
    def of(cls, differences: Any, test: str = "t") -> Gain:
        """Of the differences of trials; see `linkwise.evaluation.paired_p` for the tests."""
        away = np.asarray(differences, dtype=float)
        return cls(float(np.nanmean(away)), paired_p(away, test))

    @property
    def above(self) -> bool:
        """Surely better."""
        return self.mean > 0 and self.p < LEVEL

    @property
    def below(self) -> bool:
        """Surely worse."""
        return self.mean < 0 and self.p < LEVEL

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({p_words(self.p)})"


def gain(ours: Any, theirs: Any) -> Gain:
    """Of one method over another on the same draws, Wilcoxon's signed-rank test."""
    return Gain.of(np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float), "wilcoxon")


def holm(gains: Sequence[Gain]) -> list[Gain]:
    """The same with p corrected for the number of comparisons (Holm)."""
    corrected = adjusted(np.array([one.p for one in gains]))
    return [Gain(one.mean, float(p)) for one, p in zip(gains, corrected, strict=True)]


def p_words(p: float) -> str:
    """For tables."""
    return f"p = {p:.2g}" if p >= 0.001 else "p < .001"


def judged(parts: Iterable[bool], *, complete: bool = True) -> Verdict:
    """All parts of a claim hold, some, or none; not all if some were not measured."""
    parts = list(parts)
    if not any(parts):
        return "not reproduced"
    return "reproduced" if all(parts) and complete else "partly"


def lacking(found: Iterable[str], wanted: Iterable[str]) -> str:
    """Words about data sets that a claim speaks of and a run has not got to; "" if none."""
    there = set(found)
    missing = [name for name in wanted if name not in there]
    return f" No results yet: {', '.join(missing)}." if missing else ""


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
        took = f"{time_words(about['seconds'])} on the clock"
        if about.get("jobs") == 1 and "cpu_seconds" in about:
            took += f", {time_words(about['cpu_seconds'])} of computing"
        return f"The {about['size']} run of {about['date']}{cut}; {took}.{trials}{seeds} {numbers}."


def chapter(document: str, sizes: Sequence[str] = ("full", "quick")) -> Chapter:
    """Findings out of the results of the first of the sizes whose results are complete."""
    found = [_chapter(document, size) for size in sizes]
    return next((one for one in found if not one.problem), found[0])


def _chapter(document: str, size: str) -> Chapter:
    folder = HERE / document / "results" / size
    command = f"python -m papers.{document} --{size}"
    if not (folder / "about.json").exists():
        return Chapter(document, problem=f"No results: run `{command}`.")
    about = tuple(json.loads((folder / "about.json").read_text(encoding="utf-8")).items())
    try:
        found = importlib.import_module(f"papers.{document}.claims").findings(folder)
    except (MissingResults, FileNotFoundError, KeyError) as problem:
        lacks = f"no column {problem}" if isinstance(problem, KeyError) else problem
        words = f"Results are not complete ({lacks}): run `{command}`."
        return Chapter(document, about=about, problem=words)
    return Chapter(document, tuple(found), about)


def ledger(chapters: Sequence[Chapter]) -> str:
    """`CLAIMS.md`."""
    return "\n".join(
        [
            "# Claims of the documents, and what came out",
            "",
            "Written by `python -m papers.claims`; rebuilt from the committed results by "
            "`python -m papers.claims --from-results`. Not to be edited by hand.",
            "",
            CONCLUSIONS,
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
                f"{found[claim].statement.replace('|', BAR)} | **{found[claim].verdict}**"
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
