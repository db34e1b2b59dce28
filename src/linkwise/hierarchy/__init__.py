"""Merging upwards: hierarchies that keep relative constraints and pairs."""

from ._recon import ReCon

__all__ = ["ReCon"]
