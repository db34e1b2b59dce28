"""Figures of the pages, read from result files: ``python -m tests.figures`` writes them.

A page marks a figure by ``<!-- figure NAME -->...<!-- end -->``. What stands between is what the
function of that name makes of papers/CLAIMS.md, papers/beyond, benchmarks/RESULTS.md or
docs/results, so that no page can contradict them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
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


def _ledger() -> str:
    return (ROOT / "papers" / "CLAIMS.md").read_text(encoding="utf-8")


def claims() -> str:
    """How many claims came out."""
    verdicts = re.findall(r"^### \w+: (.+)$", _ledger(), re.M)
    words = {"partly": "in part"}
    others = [
        f"{verdicts.count(name)} {words.get(name, name)}"
        for name in ("partly", "not reproduced", "cannot be decided", "not yet decided")
        if name in verdicts
    ]
    whole = f"{verdicts.count('reproduced')} of {len(verdicts)} are reproduced"
    return ", ".join([whole, *others])


def _verdicts(document: str) -> str:
    """The rows of a document in the overview, without the column of documents."""
    lines = ["| claim | statement | trials | verdict |", "|---|---|---|---|"]
    for line in _ledger().splitlines():
        if found := re.match(rf"(\| \w+ )\| \[{document}\]\([^)]*\) (\|.*)", line):
            lines.append(found[1] + found[2])
    return "\n".join(lines)


def _gains(part: str) -> dict[str, tuple[str, str]]:
    """Gains and p-values by data set, of the part of a claim that begins with these words."""
    found = re.search(rf"^- \*\*[\w ]+:\*\* {re.escape(part)}, on [^.]*\. (.*)$", _ledger(), re.M)
    assert found, part
    gains = re.findall(r"(\w+) ([+-]\d\.\d+) \((p [<=] [\d.]+)\)", found[1])
    return {data: (gain, p) for data, gain, p in gains}


def questions() -> str:
    """Chosen questions against random pairs (H5)."""
    lines = ["| data | model | all rows | rows not asked about |", "|---|---|---|---|"]
    where = ("on all rows", "on the half nobody was asked about")
    for data in ("iris", "wine", "digits389", "letters_ijl"):
        for model in ("PCK", "MPCK"):
            found = [_gains(f"They beat random pairs {place}, {model}")[data] for place in where]
            cells = [f"{gain}, {p}".replace("0.", ".") for gain, p in found]
            lines.append(f"| {data.replace('_', ' ')} | `{model}Means` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _on_news(rival: str) -> list[float]:
    """Gains of C-D-R on newsgroups (H3)."""
    parts = [_gains(f"{how}: C-D-R beats {rival}") for how in ("cosine", "divergence")]
    return [float(gain) for part in parts for gain, _ in part.values()]


def text_gain() -> str:
    """Constraints against k-means on newsgroups."""
    gains = _on_news("k-means")
    return f"{short(min(gains))} to +{short(max(gains))}"


def text_learning() -> str:
    """Learned weights against constraints alone on newsgroups."""
    return short(max(_on_news("C")), 3)


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


def one_call() -> str:
    """AutoCluster without k beside k-means given k, also where it gains least."""
    section = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    section = section.split("\n## AutoCluster\n", 1)[1].split("\n## ", 1)[0]
    lines = ["| data | pairs | k-means, k given | linkwise, k not given |", "|---|---|---|---|"]
    gains: list[tuple[float, str]] = []
    for found in re.finditer(
        r"^\| (50|100|200) (balanced|pairs) \| (\S+) \| (\S+) \|.*\| (\w.*) \|$", section, re.M
    ):
        n_links, kind, ari, plain, each = found.groups()
        sets = re.findall(r"([\w ]+?) (\d\.\d+)(?: \((-?\d\.\d+)\))?(?:, |$)", each)
        used = "not used" if "banknote" in each else "used"
        names = f"{len(sets)} sets {used} for development"
        if len(sets) < 5:
            names = ", ".join(name for name, *_ in sets)
        pairs = f"{n_links}, " + ("half must-links" if kind == "balanced" else "random")
        cells = [names, pairs, short(float(plain)), short(float(ari))]
        lines.append(f"| {' | '.join(cells)} |")
        gains += [
            (float(mine) - float(theirs), f"| {name} | {pairs} | {short(float(theirs))} | "
             f"{short(float(mine))} |")
            for name, mine, theirs in sets if theirs
        ]  # fmt: skip
    if gains:
        lines.append(min(gains)[1].replace("| ", "| least gain: ", 1))
    return "\n".join(lines)


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
    lines.append(
        f"| k-means, no constraints | {short(plain)} |" + " |" * (len(found["numbers"]) - 1)
    )
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
    "one-call": one_call,
    "peers": peers,
    "protocol": protocol,
    "protocol-table": protocol_table,
    "questions": questions,
    "speed": speed,
    "text-embedding": text_embedding,
    "text-gain": text_gain,
    "text-learning": text_learning,
    "verdicts-eaton": partial(_verdicts, "eaton2005_gpk_means"),
    "verdicts-basu": partial(_verdicts, "basu2006_hmrf_kmeans"),
    "verdicts-recon": partial(_verdicts, "liu2011_recon"),
    "verdicts-boost": partial(_verdicts, "liu2007_boostcluster"),
    "verdicts-teja": partial(_verdicts, "teja_slides"),
}

if __name__ == "__main__":
    for page in pages():
        old, new = renewed(page)
        if old != new:
            page.write_text(new, encoding="utf-8")
            print(page.relative_to(ROOT))
