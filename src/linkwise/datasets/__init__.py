"""Data to try constrained clustering on.

Entry points: `load` and `names` (small data sets that come with scikit-learn), `make_slides`
and `make_blobs` (generated data).
"""

from ._generate import make_blobs, make_slides
from ._load import load, names

__all__ = ["load", "make_blobs", "make_slides", "names"]
