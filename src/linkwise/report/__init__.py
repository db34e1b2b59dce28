"""What a clustering kept of the knowledge, what it did not, and what that cost."""

from ._map import plot_clusters
from ._report import Report

__all__ = ["Report", "plot_clusters"]
