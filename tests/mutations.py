"""Twelve wrong versions of the package; the tests must fail on each: ``python -m tests.mutations``.

Every mutation changes what a formula or a rule says, not whether the code runs. A survivor means
that no test looks at the result. The files are restored afterwards.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "linkwise"


class Mutation(NamedTuple):
    """A change of one file, and the folders or files of tests that should notice."""

    file: str
    old: str
    new: str
    tests: str


CLOSURE = "tests/constraints tests/property/test_closure.py"
METRICS = "tests/geometry tests/kmeans/test_objectives.py tests/kmeans/test_hmrf.py"
LINKS = "tests/kmeans/test_objectives.py tests/kmeans/test_hmrf.py tests/kmeans/test_monotone.py"
TREES = "tests/hierarchy tests/property/test_hierarchy.py tests/property/test_trees.py"
MUTATIONS = [
    Mutation(
        "constraints/_closure.py",
        "between = np.minimum(weight, np.minimum(least[a], least[b]))",
        "between = np.maximum(weight, np.minimum(least[a], least[b]))",
        CLOSURE,
    ),
    Mutation(
        "constraints/_closure.py",
        "upper = must[:, 0] < must[:, 1]",
        "upper = must[:, 0] <= must[:, 1]",
        CLOSURE,
    ),
    Mutation("constraints/_closure.py", "np.minimum.at(least,", "np.maximum.at(least,", CLOSURE),
    Mutation(
        "kmeans/solver/_penalties.py",
        "self._add_links(scatter, violated, group, 0.5 * weight * must)",
        "self._add_links(scatter, violated, group, weight * must)",
        LINKS,
    ),
    Mutation(
        "kmeans/solver/_penalties.py",
        "np.subtract(self._farthest(geometry), cannot, out=cannot)",
        "cannot += 0",
        LINKS,
    ),
    Mutation(
        "kmeans/solver/_penalties.py",
        "share = weight * np.where(must, half, -1.0 * (first == g))",
        "share = weight * np.where(must, half, 1.0 * (first == g))",
        LINKS,
    ),
    Mutation(
        "geometry/_mahalanobis.py",
        "np.maximum(covariance, self.regularization * self.scale)",
        "(covariance + self.regularization * self.scale)",
        METRICS,
    ),
    Mutation(
        "geometry/_mahalanobis.py",
        "about = mu * (counts[:, None] * mu - 2 * sums)",
        "about = mu * (counts[:, None] * mu - sums)",
        METRICS,
    ),
    Mutation(
        "geometry/_cosine.py",
        "slope = 0.5 * cosines * self.centers**2 - self.centers * moments.sums",
        "slope = cosines * self.centers**2 - self.centers * moments.sums",
        METRICS,
    ),
    Mutation(
        "geometry/_bregman.py",
        "self._each(a) + self._each(b) - 2 * self._each((a + b) / 2)",
        "self._each(a) + self._each(b) - self._each((a + b) / 2)",
        METRICS,
    ),
    Mutation("hierarchy/_cut.py", "parts.smaller() >= size", "parts.smaller() <= size", TREES),
    Mutation(
        "constraints/_tree.py",
        "self.depth[low] < self.depth[high]",
        "self.depth[low] > self.depth[high]",
        TREES + " tests/constraints",
    ),
]


def killed(mutation: Mutation) -> bool:
    """Whether the tests fail on the mutation."""
    path = PACKAGE / mutation.file
    text = path.read_text(encoding="utf-8")
    assert text.count(mutation.old) == 1, f"{mutation.file} has changed: {mutation.old}"
    path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
    try:
        options = ("-q", "-x", "-p", "no:cacheprovider", "-o", "addopts=")
        command = [sys.executable, "-m", "pytest", *options, *mutation.tests.split()]
        return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 1
    finally:
        path.write_text(text, encoding="utf-8")


def main() -> int:
    """Try all mutations; return the number of survivors."""
    survivors = 0
    for mutation in MUTATIONS:
        began = time.monotonic()
        dead = killed(mutation)
        survivors += not dead
        state = "killed" if dead else "SURVIVED"
        print(f"{state} {time.monotonic() - began:.0f} s  {mutation.file}: {mutation.new}")
    return survivors


if __name__ == "__main__":
    sys.exit(main())
