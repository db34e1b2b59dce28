"""Figures of the pages, read from result files: ``python -m tests.figures`` writes them.

A page marks a figure by ``<!-- figure NAME -->...<!-- end -->``. What stands between is what the
function of that name makes of papers/CLAIMS.md, papers/beyond, benchmarks/RESULTS.md or
docs/results, so that no page can contradict them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
_MARK = re.compile(r"(<!-- figure ([\w-]+) -->)(.*?)(<!-- end -->)", re.S)
_BLOCKS = ("| ", "```")


def pages() -> list[Path]:
    """All pages that may have figures."""
    built = ("_build", "auto_examples", "generated")
    found = (ROOT / "docs").rglob("*.md")
    return [ROOT / "README.md", *sorted(p for p in found if not set(built) & set(p.parts))]


def renewed(path: Path) -> tuple[str, str]:
    """A page as it is, and as the result files have it."""
    text = path.read_text(encoding="utf-8")
    return text, _MARK.sub(lambda m: m[1] + _set(FIGURES[m[2]]()) + m[4], text)


def _set(made: str) -> str:
    """Tables stand on lines of their own."""
    return f"\n\n{made.strip()}\n\n" if made.startswith(_BLOCKS) else made


def short(value: float, digits: int = 2) -> str:
    """A number between -1 and 1 without its zero: .84."""
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


# -------------------------------------------------------------------- the ledger of claims


def _claim(name: str) -> str:
    """The line of figures of a claim."""
    text = (ROOT / "papers" / "CLAIMS.md").read_text(encoding="utf-8")
    found = re.search(rf"^### {name}: .*?\*\*Figures\.\*\* (.*?)$", text, re.M | re.S)
    assert found, name
    return found[1]


def _verdicts() -> dict[str, list[str]]:
    """Claims by verdict."""
    text = (ROOT / "papers" / "CLAIMS.md").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for claim, verdict in re.findall(r"^### (\w+): (.+)$", text, re.M):
        found.setdefault(verdict, []).append(claim)
    return found


def claims() -> str:
    """How many claims came out."""
    found = _verdicts()
    n_all, not_at_all = sum(map(len, found.values())), len(found.get("not reproduced", []))
    failed = f", {not_at_all} not" if not_at_all else ""
    return (
        f"{len(found.get('reproduced', []))} of {n_all} are reproduced, "
        f"{len(found.get('partly', []))} in part{failed}"
    )


_GAIN = r"([+-]\d\.\d+) \((p [<=] [\d.]+)\)"


def questions() -> str:
    """Chosen questions against random pairs (H5)."""
    everyone, _, others = _claim("H5").partition("on the half nobody was asked about")
    lines = ["| data | model | all rows | rows not asked about |", "|---|---|---|---|"]
    for data in ("iris", "wine", "digits389", "letters_ijl"):
        for model in ("PCK", "MPCK"):
            cells = [
                re.search(rf"{data} {model} {_GAIN}", part).expand(r"\1, \2").replace("0.", ".")
                for part in (everyone, others)
            ]
            lines.append(f"| {data.replace('_', ' ')} | `{model}Means` | {' | '.join(cells)} |")
    return "\n".join(lines).replace("`PCKMeans`", "`PCKMeans`")


def _gains(claim: str, what: str) -> list[float]:
    return [
        float(found) for found in re.findall(rf"{re.escape(what)} ([+-]\d\.\d+)", _claim(claim))
    ]


def text_gain() -> str:
    """Constraints against k-means on newsgroups (H3)."""
    gains = _gains("H3", "C-D-R - k-means")
    return f"{short(min(gains))} to +{short(max(gains))}"


def text_learning() -> str:
    """Learnt weights against constraints alone on newsgroups (H3)."""
    return short(max(_gains("H3", "C-D-R - C")), 3)


# -------------------------------------------------------------------- benchmarks


def _rows(section: str, start: str = "") -> list[list[str]]:
    """Cells of the first table of a section of benchmarks/RESULTS.md that begins with `start`."""
    text = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    part = text.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    table = re.search(rf"^\|{re.escape(start)}.*?(?=^(?!\|))", part + "\n", re.M | re.S)
    assert table, section
    lines = table[0].strip().splitlines()
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]


def _row(section: str, start: str) -> list[str]:
    return next(row for row in _rows(section) if row[0].startswith(start))


def text_embedding() -> str:
    """Words and meanings by number of links."""
    lines = ["| data | rows, k | features | 0 links | 100 | 1,000 |", "|---" * 6 + "|"]
    for row in _rows("Texts: words or meanings")[2:]:
        means = (short(float(cell.split(" +- ")[0])) for cell in row[3:])
        lines.append(f"| {' | '.join([*row[:3], *means])} |")
    return "\n".join(lines)


def speed() -> str:
    """Time of PCKMeans per iteration."""
    measured = _row("k-means methods: speed", "PCKMeans, 10^6 x 16")[1]
    return f"`PCKMeans` {measured.split('x KMeans')[0]} x scikit-learn's `KMeans`"


def memory() -> str:
    """Memory of the fit of 20 GB."""
    return _rows("Past memory: 20 GB on the command line")[2][1].split(" resident")[0]


def peers() -> str:
    """Quality and time beside the package active-semi-supervised-clustering."""
    lines = ["| data, constraints | method | ours | peer | time of a fit, ours | peer |"]
    lines.append("|---|---|---|---|---|---|")
    for row in _rows("k-means methods: peers"):
        found = re.match(r"(\w+), (\w+), (\d+) constraints, 10 draws", row[0])
        scores = re.match(r"mean ARI (\S+), peer (\S+)", row[1])
        times = re.match(r"ours (\S+) s a fit, peer (\S+) s", row[-1])
        if found and scores and times and scores[2] != "none":
            mine, theirs = short(float(scores[1]), 3), short(float(scores[2]), 3)
            better = (f"**{mine}**", theirs) if scores[1] >= scores[2] else (mine, f"**{theirs}**")
            if scores[1] == scores[2]:
                better = (mine, theirs)
            lines.append(
                f"| {found[2]}, {found[3]} | `{found[1]}` | {better[0]} | {better[1]} "
                f"| {float(times[1]):.2f} s | {times[2]} s |"
            )
    return "\n".join(lines)


def density() -> str:
    """ConstrainedHDBSCAN beside fast_hdbscan."""
    lines = ["| data, random pairs | `ConstrainedHDBSCAN` | fast_hdbscan | no links |"]
    lines.append("|---|---|---|---|")
    for row in _rows("ConstrainedHDBSCAN: speed and links"):
        found = re.match(r"ARI (\S+) \+- (\S+) \(fast_hdbscan (\S+), no links (\S+)\)", row[-1])
        if found and "random pairs" in row[0]:
            mine, error, theirs, none = (float(value) for value in found.groups())
            cells = [f"{short(mine)} ± {short(error)}", short(theirs)]
            best = 0 if mine >= theirs else 1
            cells[best] = f"**{cells[best]}**"
            what = row[0].replace(" random pairs, 5 draws", "")
            lines.append(f"| {what} | {' | '.join(cells)} | {short(none)} |")
    return "\n".join(lines)


# -------------------------------------------------------------------- beyond the documents


def _protocol() -> dict[str, list[str]]:
    path = ROOT / "papers" / "beyond" / "baumann_hochbaum.md"
    found = {}
    for line in path.read_text(encoding="utf-8").split("\n\n")[0].splitlines()[2:]:
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        found[name] = cells
    return found


def _scores(name: str, digits: int = 2) -> str:
    return " / ".join(short(float(re.split("[,;]", c)[0]), digits) for c in _protocol()[name])


def protocol() -> str:
    """COPKMeans and k-means by the protocol of Baumann & Hochbaum."""
    kmeans = short(float(_protocol()["KMeans (scikit-learn)"][0].split(",")[0]))
    return f"`COPKMeans` {_scores('COPKMeans')}; k-means {kmeans}"


def protocol_table() -> str:
    """All methods by the protocol of Baumann & Hochbaum."""
    lines = ["| mean ARI, 25 data sets | 5 % | 10 % | 15 % | 20 % |", "|---|---|---|---|---|"]
    for name, cells in _protocol().items():
        shown = []
        for cell in cells:
            value, _, rest = cell.partition(",")
            missing = re.search(r"(\d+) of 25 without", rest)
            shown.append(short(float(value), 3) + (f" ({missing[1]} failed)" if missing else ""))
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(lines)


# -------------------------------------------------------------------- docs/results


def _measured(name: str) -> dict:
    return json.loads((ROOT / "docs" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def curves() -> str:
    """Scores on rows that no constraint names."""
    found = _measured("curves")
    head = " | ".join(str(number) for number in found["numbers"])
    lines = [f"| data | method | {head} |", "|---" * (2 + len(found["numbers"])) + "|"]
    for data, methods in found["ari"].items():
        for place, (method, line) in enumerate(methods.items()):
            if method == "k-means":
                cells = [short(line[0])] + [""] * (len(line) - 1)
            else:
                method, cells = f"`{method}`", [short(value) for value in line]
            lines.append(f"| {'' if place else data} | {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def answers() -> str:
    """ARI by number of answers: chosen, random, partly wrong."""
    found = _measured("answers")
    head = " | ".join(str(number) for number in found["numbers"])
    lines = [f"| mean ARI by answers | {head} |", "|---" * (1 + len(found["numbers"])) + "|"]
    sets = found["ari"].values()
    plain = np.mean([one["k-means"] for one in sets])
    lines.append(f"| k-means, told nothing | {short(plain)} |" + " |" * (len(found["numbers"]) - 1))
    ways = {
        "chosen": "chosen questions",
        "random": "random pairs",
        "wrong, noise": 'random pairs, 20 % wrong, `noise="auto"`',
        "wrong": "random pairs, 20 % wrong",
    }
    for way, shown in ways.items():
        means = np.mean([np.mean(one[way], axis=0) for one in sets], axis=0)
        lines.append(f"| {shown} | {' | '.join(short(value) for value in means)} |")
    return "\n".join(lines)


FIGURES: dict[str, Callable[[], str]] = {
    "answers": answers,
    "claims": claims,
    "curves": curves,
    "density": density,
    "memory": memory,
    "peers": peers,
    "protocol": protocol,
    "protocol-table": protocol_table,
    "questions": questions,
    "speed": speed,
    "text-embedding": text_embedding,
    "text-gain": text_gain,
    "text-learning": text_learning,
}

if __name__ == "__main__":
    for page in pages():
        old, new = renewed(page)
        if old != new:
            page.write_text(new, encoding="utf-8")
            print(page.relative_to(ROOT))
