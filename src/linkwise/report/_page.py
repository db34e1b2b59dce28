"""The report as one HTML page: no scripts, nothing loaded from elsewhere, every word escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

from linkwise._version import __version__

_MOST_BARS = 100  # rows of a table on the page; the rest is counted

_STYLE = """
:root { color-scheme: light dark; --line: #d5d9e0; --soft: #667085; --bar: #0072b2;
  --good: #009e73; --bad: #cc3311; --card: #f5f7fa; }
@media (prefers-color-scheme: dark) { :root { --line: #3a404a; --soft: #a0a8b5; --bar: #56b4e9;
  --good: #35c79c; --bad: #ff7657; --card: #1d2127; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .25rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.soft { color: var(--soft); }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(12rem, 1fr)); gap: .6rem; }
dl div { background: var(--card); border-radius: .5rem; padding: .5rem .75rem; }
dt { color: var(--soft); font-size: .85rem; } dd { margin: 0; font-weight: 600; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 500; font-size: .85rem; white-space: nowrap; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.wide { width: 60%; }
.track { background: var(--card); border-radius: .25rem; height: .8rem; margin-top: .3rem; }
.bar { background: var(--bar); border-radius: .25rem; height: 100%; }
.bar.good { background: var(--good); } .track.bad { background: var(--bad); }
.scroll { overflow-x: auto; }
.profile ul { margin: .4rem 0 0; padding-left: 1.1rem; } .profile p { margin: .1rem 0 .4rem; }
"""


class Violation(NamedTuple):
    """A violated constraint as text."""

    what: str
    weight: str
    cost: str
    where: str


@dataclass(frozen=True)
class Page:
    """What the page shows."""

    algorithm: str
    totals: dict[str, str]
    sizes: Sequence[int]  # rows in each cluster
    satisfied: dict[str, tuple[int, int]]
    violations: Sequence[Violation]  # the dearest ones first
    n_violated: int  # how many there are in all
    profiles: dict[int, tuple[list[str], list[str]]] = field(default_factory=dict)
    priced: bool = True  # whether violations have a cost
    about: dict[str, str] = field(default_factory=dict)  # what it was made of: files, command, date
    reasons: Sequence[str] = ()  # why this clustering was chosen, in sentences
    weights: dict[str, float] = field(default_factory=dict)  # learned weights of the columns
    names: Sequence[str] = ()  # of the clusters; their numbers if empty


def page_html(page: Page) -> str:
    """The whole page."""
    title = escape(f"{page.algorithm}: {len(page.sizes):,} clusters")
    about = "What became of the constraints."
    if page.profiles:
        about = "What the clusters are like, and what became of the constraints."
    sections = (_made_of, _totals, _reasons, _sizes, _weights, _satisfied, _violations)
    body = "\n".join(filter(None, (section(page) for section in sections)))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{title}</h1>
<p class="soft">{about} Made by linkwise {escape(__version__)}.</p>
{body}
</body>
</html>
"""


def _made_of(page: Page) -> str:
    parts = [f"{escape(name)}: <code>{escape(text)}</code>" for name, text in page.about.items()]
    return f'<p class="soft" id="about">{" · ".join(parts)}</p>' if parts else ""


def _reasons(page: Page) -> str:
    if not page.reasons:
        return ""
    items = "".join(f"<li>{escape(reason)}</li>" for reason in page.reasons)
    return f'<section id="reasons"><h2>Why this choice</h2><ul>{items}</ul></section>'


def _weights(page: Page) -> str:
    if not page.weights:
        return ""
    largest = max(page.weights.values())
    order = sorted(page.weights.items(), key=lambda item: -item[1])
    rows = [
        f'<tr><td>{escape(name)}</td><td class="number">{weight:.3g}</td>'
        f'<td class="wide">{_bar(_share(weight, largest))}</td></tr>'
        for name, weight in order[:_MOST_BARS]
    ]
    rest = len(order) - len(rows)
    more = f"<p>... and {rest:,} more</p>" if rest else ""
    return (
        '<section id="weights"><h2>Learned weights</h2><table><thead><tr><th>column</th>'
        f'<th class="number">weight</th><th></th></tr></thead><tbody>{"".join(rows)}</tbody>'
        f"</table>{more}</section>"
    )


def _totals(page: Page) -> str:
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in page.totals.items()
    )
    return f'<section id="totals"><dl>{cells}</dl></section>'


def _sizes(page: Page) -> str:
    total = sum(page.sizes)
    rows = [
        f'<tr><td>{_name(page, cluster)}</td><td class="number">{size:,}</td>'
        f'<td class="number">{_share(size, total):.1f} %</td>'
        f"<td>{_bar(_share(size, total))}{_profile(page, cluster)}</td></tr>"
        for cluster, size in enumerate(page.sizes[:_MOST_BARS])
    ]
    rest = page.sizes[_MOST_BARS:]
    more = f"<p>... and {len(rest):,} more with {sum(rest):,} rows</p>" if rest else ""
    what = "what sets it apart, and typical rows" if page.profiles else ""
    return (
        '<section id="clusters"><h2>Clusters</h2><table><thead><tr><th>cluster</th>'
        '<th class="number">rows</th><th class="number">share</th>'
        f'<th class="wide">{what}</th></tr></thead><tbody>{"".join(rows)}</tbody></table>{more}'
        "</section>"
    )


def _name(page: Page, cluster: int) -> str:
    return escape(page.names[cluster]) if page.names else str(cluster)


def _profile(page: Page, cluster: int) -> str:
    if cluster not in page.profiles:
        return ""
    traits, typical = page.profiles[cluster]
    items = "".join(f"<li>{escape(trait)}</li>" for trait in traits)
    listed = f"<ul>{items}</ul>" if items else ""
    rows = f'<p class="soft">such as {escape(", ".join(typical))}</p>' if typical else ""
    return f'<div class="profile">{listed}{rows}</div>'


def _satisfied(page: Page) -> str:
    if not page.satisfied:
        return ""
    rows = [
        f'<tr><td>{escape(kind)}</td><td class="number">{satisfied:,}</td>'
        f'<td class="number">{total - satisfied:,}</td>'
        f'<td class="wide">{_bar(_share(satisfied, total), judged=True)}</td></tr>'
        for kind, (satisfied, total) in page.satisfied.items()
    ]
    return (
        '<section id="satisfied"><h2>Constraints</h2><table><thead><tr><th>kind</th>'
        '<th class="number">satisfied</th><th class="number">violated</th><th></th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></section>"
    )


def _violations(page: Page) -> str:
    if not page.satisfied:
        return ""
    if not page.n_violated:
        return '<section id="violated"><p>Every constraint is satisfied.</p></section>'
    rows = [
        f'<tr><td>{escape(link.what)}</td><td class="number">{escape(link.weight)}</td>'
        f'<td class="number">{escape(link.cost)}</td><td>{escape(link.where)}</td></tr>'
        for link in page.violations
    ]
    rest = page.n_violated - len(page.violations)
    more = f"<p>... and {rest:,} more</p>" if rest else ""
    order = ", costliest first" if page.priced else ""
    return (
        f'<section id="violated"><h2>Violated{order}</h2><div class="scroll"><table>'
        '<thead><tr><th>constraint</th><th class="number">weight</th><th class="number">cost</th>'
        f"<th>where given</th></tr></thead><tbody>{''.join(rows)}</tbody></table></div>{more}"
        "</section>"
    )


def _share(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def _bar(percent: float, *, judged: bool = False) -> str:
    track, bar = ("track bad", "bar good") if judged else ("track", "bar")
    return f'<div class="{track}"><div class="{bar}" style="width:{percent:.2f}%"></div></div>'
