"""Lists of methods for the tests, derived from the registry.

A method that is added to the registry is checked here without another line: by scikit-learn's
checks, on blocks and on Dask workers. `VARIANTS` are further geometries worth the same checks.
"""

from __future__ import annotations

from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans

from linkwise import _methods
from linkwise._methods import Method

# Parameters that scikit-learn's checks need, or that make them short.
_DEFAULTS = {
    "boost": {"base": KMeans(3, n_init=2), "n_rounds": 5},
    "spectral": {"n_clusters": 3},
    "kernel": {"n_clusters": 3},
    "complete-link": {"n_clusters": None},
}
VARIANTS = {  # one for each geometry
    "mpck": [{"metric": "full", "per_cluster": True}],
    "hmrf": [{"distortion": "cosine"}, {"distortion": "divergence"}],
}
# Short runs on blocks of 1,500 rows in four clusters; 'name-variant' by parameters.
_ON_BLOCKS = {
    "pck": {"": {"n_init": 2}},
    "mpck": {
        "": {"n_init": 2},
        "-full": {"metric": "full", "n_init": 1},
        "-own": {"metric": "full", "per_cluster": True, "n_init": 1},
    },
    "hmrf": {
        "": {"n_init": 1},
        "-cosine": {"distortion": "cosine", "eta": 1.0, "n_init": 1},
        "-cosine-own": {
            "distortion": "cosine",
            "per_cluster": True,
            "eta": 1.0,
            "n_init": 1,
            "max_iter": 20,
        },  # later steps hang on rounding
        "-divergence": {"distortion": "divergence", "eta": 0.01, "n_init": 1, "max_iter": 30},
    },
    "cop": {"": {"n_init": 2}},
    "preidentified": {"": {"n_init": 2}},
}


def instances(methods: list[Method] | None = None) -> list[BaseEstimator]:
    """Every method with its defaults, and its variants; all but the search."""
    found = []
    for method in _methods.METHODS if methods is None else methods:
        if method.family == "search":
            continue
        for given in [_DEFAULTS.get(method.short, {}), *VARIANTS.get(method.short, [])]:
            found.append(method.estimator(**given))
    return found


def on_blocks(n_clusters: int = 4) -> dict[str, BaseEstimator]:
    """Every method that accepts rows on disk or on workers, by short name and variant."""
    return {
        f"{method.short}{variant}": method.estimator(n_clusters, **given)
        for method in _methods.on_blocks()
        for variant, given in _ON_BLOCKS.get(method.short, {"": {}}).items()
    }
