"""Make the sample that `linkwise demo` ships: coffee beans, and what two tasters say of them.

The beans are invented. Three origins differ a little in acidity, while the roast, on a far wider
scale, says nothing about the origin: plain k-means sorts them by roast.
Run it again with: python benchmarks/make_sample.py
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from linkwise import Constraints

HERE = Path(__file__).parent.parent / "src" / "linkwise" / "datasets" / "sample"
ORIGINS = ("Huila", "Sidamo", "Toraja")
PER_ORIGIN = 60
N_TASTINGS = 40


def main() -> None:
    rng = np.random.default_rng(7)
    origin = rng.permutation(np.repeat(np.arange(3), PER_ORIGIN))
    acidity = 4.0 + 1.1 * origin + rng.normal(0, 0.27, len(origin))
    roast = rng.uniform(1.0, 9.0, len(origin))
    names = [f"bean-{number:03d}" for number in range(1, len(origin) + 1)]
    with (HERE / "beans.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["bean", "acidity", "roast", "origin"])
        for row in zip(names, acidity.round(2), roast.round(2), origin, strict=True):
            writer.writerow([*row[:3], ORIGINS[row[3]]])
    links = Constraints.from_labels(origin, N_TASTINGS, "balanced", ids=names, random_state=7)
    links.write(HERE / "tastings.csv")


if __name__ == "__main__":
    main()
