"""Gaussian mixtures with links: soft memberships, likelihoods, samples."""

from ._mixture import ConstrainedMixture

__all__ = ["ConstrainedMixture"]
