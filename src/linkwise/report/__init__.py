"""What a clustering kept of the knowledge, what it did not, and what that cost."""

from ._report import Report

__all__ = ["Report"]
