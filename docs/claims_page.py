"""The page of claims: the ledger ``papers/CLAIMS.md``, written again for readers of the pages.

The ledger stands beside the scripts that write it and links to their folders. On the page claims
have their statement in the heading, links lead to pages, and abbreviations are explained.
"""

from __future__ import annotations

import re

# Folder of the repository, title, page.
DOCUMENTS = {
    "eaton2005_gpk_means": ("Eaton 2005", "eaton2005.md"),
    "basu2006_hmrf_kmeans": ("Basu et al. 2006", "basu2006.md"),
    "liu2011_recon": ("Liu et al. 2011", "liu2011.md"),
    "liu2007_boostcluster": ("Liu et al. 2007", "liu2007.md"),
    "teja_slides": ("Teja", "teja.md"),
}
# Headings are whole sentences: a list of them beside the text would be longer than the table.
ALONE = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"
LEGEND = """\
What five documents claim, and what came out when we measured it again. (`papers/CLAIMS.md` of \
the repository is the same; the scripts are beside it.)

| in the figures | means |
|---|---|
| PCK, MPCK, GPK | [`PCKMeans`](#linkwise.PCKMeans), [`MPCKMeans`](#linkwise.MPCKMeans), \
[`GPKMeans`](#linkwise.GPKMeans); *low* and *high* are its two thresholds with the formula as \
printed, *squared* is its default; the *control* runs MPCK as often as GPK may, without any \
propagation |
| g | `threshold` of GPK: how far links are spread; 1 is not at all |
| one, many | one metric for all clusters, or one for each |
| C, C-D, C-D-R | [`HMRFKMeans`](#linkwise.HMRFKMeans) with constraints alone; with a learnt \
distortion too; with its Rayleigh prior too |
| J | the objective, which a method minimizes |
| SSKK, SpectralLearn | [`ConstrainedKernelKMeans`](#linkwise.ConstrainedKernelKMeans), \
[`SpectralLearning`](#linkwise.SpectralLearning) |
| SVM metric | [`ComparisonMetric`](#linkwise.ComparisonMetric) |
| F, NMI | agreement with the classes, 1 at best: F over pairs of rows, normalized mutual \
information |
| p | how often chance alone would give a difference as large; below .05 counts as one |
"""


_CLASSES = {
    "reproduced": "reproduced", "partly": "partly", "not reproduced": "not",
    "cannot be decided": "open", "not yet decided": "open",
}  # fmt: skip


def verdict_bar(ledger: str) -> str:
    """How many claims came out, as a bar in HTML and as a sentence."""
    verdicts = re.findall(r"^### \w+: (.+)$", ledger, re.M)
    counts = {name: verdicts.count(name) for name in _CLASSES if name in verdicts}
    parts = "".join(
        f'<span class="{_CLASSES[name]}" style="flex-grow: {count}">{count} {name}</span>'
        for name, count in counts.items()
    )
    return f'<div class="verdicts">{parts}</div>\n\n'


def page_of(ledger: str) -> str:
    """The page, in Markdown."""
    legend = verdict_bar(ledger) + LEGEND
    text = re.sub(r"^Written by `python.*?\n", lambda _: legend, ledger, count=1, flags=re.M)
    text = re.sub(r"^\| ([A-Z]\d+) \|", r"| [\1](#claim-\1) |", text, flags=re.M)
    text = re.sub(
        r"^### ([A-Z]\d+): ([\w ]+)\n\n- \*\*Claim\.\*\* (.*)\n",
        r"(claim-\1)=\n### \1, \2: \3\n\n",
        text,
        flags=re.M,
    )
    for folder, (title, page) in DOCUMENTS.items():
        text = text.replace(f"[{folder}]({folder}/README.md)", f"[{title}]({page})")
        text = text.replace(f"\n## {folder}\n", f"\n## {title}\n")
    text = re.sub(r"\[([^\]]+)\]\([^)]*README\.md\)", r"\1", text)
    text = ALONE + text
    return re.sub(r"\(#claim-(\w+)\)|\(claim-(\w+)\)=", lambda found: found[0].lower(), text)
