"""How much memory this machine has."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def half_of_memory() -> int:
    """Half of the memory of this machine (or container)."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError):  # not every system reports it
        total = 8 * 2**30
    with suppress(OSError, ValueError):  # no container, or one without a limit
        total = min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return total // 2
