"""What came of a claim: `Finding`, made of parts with a verdict each, and the ledger of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

Verdict = Literal["reproduced", "not reproduced", "cannot be decided"]
BAR = "\\|"  # ab|c in a cell of a table


@dataclass(frozen=True)
class Part:
    """A part of a claim.

    Attributes
    ----------
    what : str
        What the document says.
    verdict : {"reproduced", "not reproduced", "cannot be decided"}
        Computed from the tables.
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
    def of(cls, what: str, holds: bool, figures: str, why: str = "", leaves: str = "") -> Part:
        """Reproduced if it holds; if not, undecided where the document leaves something open."""
        if holds:
            return cls(what, "reproduced", figures)
        if leaves:
            return cls(what, "cannot be decided", figures, f"The document leaves open {leaves}.")
        return cls(what, "not reproduced", figures, why)


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
CONCLUSIONS = "TODO"


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
    return (
        f"Tables of {about['date']}, commit {about['commit']}; {spent:.0f} min of computing; "
        f"{versions}."
    )


def _written(finding: Finding) -> Iterator[str]:
    yield f"\n### {finding.claim}: {finding.verdict}\n"
    yield f"- **Claim.** {finding.statement}"
    for part in finding.parts:
        why = f" *{part.why}*" if part.why else ""
        yield f"- **{part.verdict.capitalize()}:** {part.what}. {part.figures}{why}"
    yield f"- **Test.** {finding.test} Trials: {finding.trials}."
