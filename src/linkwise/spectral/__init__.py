"""Clustering by affinities and kernels: Spectral Learning, semi-supervised kernel k-means."""

from ._kernel_kmeans import ConstrainedKernelKMeans
from ._learning import SpectralLearning

__all__ = ["ConstrainedKernelKMeans", "SpectralLearning"]
