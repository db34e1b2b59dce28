"""Clusters as dense regions: their number is found, and rows may belong to none."""

from ._hdbscan import ConstrainedHDBSCAN

__all__ = ["ConstrainedHDBSCAN"]
