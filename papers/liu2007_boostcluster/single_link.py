"""Single link over groups, in place of CLUTO's "partitional SingleLink"."""

from linkwise.ensemble import PartitionalSingleLink as GroupedSingleLink

__all__ = ["GroupedSingleLink"]
