"""Merging upwards: hierarchies that keep relative constraints and pairs."""

from ._complete_link import ConstrainedCompleteLink
from ._recon import ReCon

__all__ = ["ConstrainedCompleteLink", "ReCon"]
