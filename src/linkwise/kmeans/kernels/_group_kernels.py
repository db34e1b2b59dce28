"""ICM of must-link components, which take a cluster as a whole (src/core/kmeans_groups.cpp)."""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import NDArray

from linkwise._core import icm_groups

__all__ = ["Groups", "icm_groups"]


class Groups(NamedTuple):
    """Must-link components: members of group g are members[starts[g]:starts[g + 1]]."""

    starts: NDArray
    members: NDArray
    group: NDArray  # (n,): group of each row
