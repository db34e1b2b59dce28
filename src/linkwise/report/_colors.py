"""The colors of every picture: distinct for people with any kind of color vision."""

from __future__ import annotations

# Okabe and Ito's, without the vermilion, which is too near the red of what is broken.
CLUSTERS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442", "#8c6d46")
NONE = "#98a2b3"  # no cluster, or several
SATISFIED, VIOLATED = "#344054", "#cc3311"


def cluster_color(cluster: int) -> str:
    """The color of a cluster; grey for -1. They repeat after seven."""
    return NONE if cluster < 0 else CLUSTERS[cluster % len(CLUSTERS)]
