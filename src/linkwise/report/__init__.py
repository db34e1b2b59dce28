"""Reports: which constraints a clustering satisfies and violates, and at what cost."""

from ._map import plot_clusters
from ._profiles import N_TYPICAL, Columns, Profile, Trait, describe, word_columns
from ._report import Report

__all__ = [
    "N_TYPICAL",
    "Columns",
    "Profile",
    "Report",
    "Trait",
    "describe",
    "plot_clusters",
    "word_columns",
]
