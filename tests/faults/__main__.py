"""Faults on purpose: `make faults KILLS=200 SEED=0`.

Every part runs `linkwise` as a process of its own and looks at what is left of its files: nothing
lost, nothing twice, nothing half-written, and the same result as without the fault. A line per part
says how often it was tried; the first broken promise ends the run with an error. KILLS is for each
of cluster, predict, update and session.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from pathlib import Path

from .case import Case
from .cluster import workers
from .parts import (
    cut_files,
    full_checkpoint,
    kills,
    predictions,
    read_only,
    sessions,
    signals,
    small_disks,
    updates,
)

PARTS = (
    kills, predictions, updates, sessions, cut_files, small_disks, full_checkpoint, read_only,
    signals, workers,
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    names = [part.__name__ for part in PARTS]
    parser.add_argument("--only", choices=names, nargs="*", default=names)
    given = parser.parse_args()
    os.environ["COLUMNS"] = "500"  # messages in one line
    with tempfile.TemporaryDirectory() as folder:
        case = Case(Path(folder))
        print(f"a fit takes {case.seconds:.1f} s", flush=True)
        for part in PARTS:
            if part.__name__ in given.only:
                for line in part(case, given.kills, random.Random(given.seed)):
                    print(line, flush=True)


if __name__ == "__main__":
    main()
