"""What came of a claim: `Finding`, made of parts with a verdict each, and the ledger of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

Verdict = Literal["reproduced", "not reproduced", "cannot be decided", "not yet decided"]
# Pairs below which no test decides: five are the least that Wilcoxon's can be significant for,
# one-sided, and what the paper with the fewest has.
ENOUGH = 5
BAR = "\\|"  # ab|c in a cell of a table


@dataclass(frozen=True)
class Part:
    """A part of a claim.

    Attributes
    ----------
    what : str
        What the document says.
    verdict : {"reproduced", "not reproduced", "cannot be decided", "not yet decided"}
        Computed from the tables; the last where a test has fewer than five pairs so far.
    figures : str
        What was measured.
    why : str
        If not reproduced, the cause, or what was ruled out; if it cannot be decided, what the
        document leaves open.
    """

    what: str
    verdict: Verdict
    figures: str
    why: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in get_args(Verdict):
            raise ValueError(f"{self.what}: verdict={self.verdict!r}, not one of {Verdict}")
        if self.verdict != "reproduced" and not self.why:
            raise ValueError(f"{self.what!r} is {self.verdict}: state the cause in `why`")

    @classmethod
    def of(
        cls, what: str, holds: bool, figures: str, why: str = "", leaves: str = "",
        missing: str = "",
    ) -> Part:  # fmt: skip
        """Reproduced if it holds; if not, undecided where the document leaves something open.

        With `missing`, the trials that lack, it is not yet decided.
        """
        if missing:
            return cls(what, "not yet decided", figures, missing)
        if holds:
            return cls(what, "reproduced", figures)
        if leaves:
            return cls(what, "cannot be decided", figures, f"The document leaves open {leaves}.")
        return cls(what, "not reproduced", figures, why)


def too_few(trials: int, least: int = ENOUGH) -> str:
    """What is missing for a verdict, in words; empty if there are enough trials."""
    if trials >= least:
        return ""
    return f"{trials} trial{'s' * (trials > 1)} so far; `--full` adds the others."


def split(what: str, holds: Mapping[str, bool], figures: str, why: str) -> list[Part]:
    """A part for the data sets where it holds, and one for the others."""
    good = [name for name, true in holds.items() if true]
    bad = [name for name, true in holds.items() if not true]
    if not bad:
        return [Part(f"{what}, on all of {', '.join(good)}", "reproduced", figures)]
    if not good:
        return [Part(f"{what}, on any of {', '.join(bad)}", "not reproduced", figures, why)]
    return [
        Part(f"{what}, on {', '.join(good)}", "reproduced", figures),
        Part(f"{what}, on {', '.join(bad)}", "not reproduced", "Figures as above.", why),
    ]


@dataclass(frozen=True)
class Finding:
    """What came of one claim: its statement in our words, its parts, the test, the trials run."""

    claim: str
    statement: str
    parts: tuple[Part, ...]
    test: str
    trials: str

    @property
    def verdict(self) -> str:
        """That of all parts, or "partly"."""
        verdicts = {part.verdict for part in self.parts}
        return verdicts.pop() if len(verdicts) == 1 else "partly"


# Written by hand: what the findings come to. To be read again whenever a verdict changes.
CONCLUSIONS = """\
**What a reader can rely on.** The guarantees hold without exception: the objective of \
HMRF-KMeans never rises (H4), ReCon satisfies all consistent constraints and completes the \
hierarchy (R1, R2), the loss of BoostCluster stays below its bound (B4), GPK-Means without \
propagation is MPCK-Means run twice (E7). Right constraints improve a clustering, and learning a \
full matrix from them improves it further on six of six data sets once there are enough (H1); \
with few, a diagonal one is safer. Explore and Consolidate beat random pairs, also on rows that \
nobody asked about, where a metric is learnt from the answers (H5). ReCon beats k-means with a \
learnt metric (R3), and well chosen triplets beat random ones unless random ones already give \
nearly everything (R4). BoostCluster improves weak clusterers and hurt none of them, even with a \
fifth of the links wrong, whereas MPCK-Means, which believes every link, gets worse with more of \
those (B1 to B3). **What not to count on.** That propagated links gain over MPCK-Means: \
not on Iris, and on Protein and Digits389 much of the gain is that of running MPCK-Means again \
without them (E1 to E3). That learnt weights \
help on text: without a prior they lose a lot, with one they end where constraints alone do (H3, \
H7). That more constraints hurt Spectral Learning: it depends on an affinity that the paper does \
not give (B2, B3). And figures of a single run (S1). **Trials.** Each claim states how many were \
run and how many the document has. *Not yet decided* means that fewer than five were, or \
that a difference of the claimed sign may become significant with all of them: the machine was \
shared. `python -m papers.claims --full` adds the others and judges again."""


def ledger(chapters: dict[str, Sequence[Finding]], about: dict[str, dict[str, Any]]) -> str:
    """`CLAIMS.md`: an overview, then each claim with its parts."""
    lines = [
        "# Claims of the documents, and what came out", "",
        "Written by `python -m papers.claims --from-tables`. Not to be edited by hand.", "",
        CONCLUSIONS, "",
        "| claim | document | statement | trials | verdict |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for document, findings in chapters.items():
        lines += [
            f"| {f.claim} | [{document}]({document}/README.md) | {f.statement.replace('|', BAR)} "
            f"| {f.trials} | **{f.verdict}** |"
            for f in findings
        ]
    for document, findings in chapters.items():
        lines += ["", f"## {document}", "", _run_words(about[document])]
        for finding in findings:
            lines += _written(finding)
    return "\n".join(lines) + "\n"


def _run_words(about: dict[str, Any]) -> str:
    spent = sum(about["cpu_seconds"].values()) / 60
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    note = f" {about['note']}" if "note" in about else ""
    return (
        f"Tables of {about['date']}, commit {about['commit']}; {spent:.0f} min of computing; "
        f"{versions}.{note}"
    )


def _written(finding: Finding) -> Iterator[str]:
    yield f"\n### {finding.claim}: {finding.verdict}\n"
    yield f"- **Claim.** {finding.statement}"
    for part in finding.parts:
        why = f" *{part.why}*" if part.why else ""
        yield f"- **{part.verdict.capitalize()}:** {part.what}. {part.figures}{why}"
    yield f"- **Test.** {finding.test} Trials: {finding.trials}."
