"""Data to look at the studio with: customers, short and long texts, images of digits, wide rows."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

KINDS = {
    # plan, mean age, spending per month, visits per week
    "student": ("basic", 22, 18, 4.5),
    "family": ("family", 41, 74, 2.0),
    "office": ("business", 37, 140, 5.5),
    "retired": ("basic", 69, 31, 1.2),
}
FIRST = ("Ada", "Bo", "Carla", "Dmitri", "Elif", "Femi", "Grace", "Hiro", "Ines", "Jonas")
LAST = ("Okafor", "Lindqvist", "Marchetti", "Nguyen", "Peters", "Quintero", "Rossi", "Sato")
TOPICS = {
    "delivery": (
        "My parcel has not arrived",
        "the courier left the box at the wrong address",
        "tracking has shown no change for six days",
    ),
    "refund": (
        "I want my money back",
        "the refund was promised for last week",
        "please return the amount to my card",
    ),
    "login": (
        "I cannot sign in",
        "the password reset mail never comes",
        "my account is locked after three attempts",
    ),
    "quality": (
        "The item came broken",
        "one of the legs is cracked",
        "the color differs from the picture in the shop",
    ),
    "praise": (
        "Everything went well",
        "thanks for the quick help on the phone",
        "I will certainly order again",
    ),
}
OPENINGS = ("Hello,", "Good morning,", "Hi,", "Dear team,", "")


def customers(path: Path, n_rows: int = 200, seed: int = 0) -> np.ndarray:
    """A CSV of customers with a column of names; the kind of each, in the order of the rows."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(len(KINDS), size=n_rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["name", "plan", "age", "spending_per_month", "visits_per_week", "since", "city"]
        )
        for row, kind in enumerate(kinds):
            plan, age, spending, visits = list(KINDS.values())[kind]
            writer.writerow(
                [
                    f"{FIRST[row % 10]} {LAST[row // 10 % 8]} {row // 80 + 1}",
                    plan if rng.random() < 0.85 else "basic",
                    max(18, round(rng.normal(age, 4))),
                    max(5, round(rng.normal(spending, 12), 2)),
                    "" if rng.random() < 0.03 else round(max(0, rng.normal(visits, 0.7)), 1),
                    f"20{rng.integers(15, 26)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}",
                    rng.choice(["Lagos", "Uppsala", "Torino", "Huế"]),
                ]
            )
    return kinds


def texts(path: Path, n_rows: int = 500, seed: int = 0, repeats: int = 1) -> np.ndarray:
    """A CSV of messages of customers, longer with `repeats`; the topic of each."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(len(TOPICS), size=n_rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["ticket", "message"])
        for row, topic in enumerate(topics):
            told = list(TOPICS.values())[topic]
            parts = [rng.permutation(told)[: rng.integers(2, 4)] for _ in range(repeats)]
            said = [str(sentence) for some in parts for sentence in some]
            writer.writerow([f"T-{row + 1:04d}", f"{rng.choice(OPENINGS)} {'. '.join(said)}."])
    return topics


def digits(folder: Path, n_images: int = 300, seed: int = 0) -> np.ndarray:
    """A folder of images of handwritten digits; the digit of each, in the order of the names."""
    from PIL import Image
    from sklearn.datasets import load_digits

    found = load_digits()
    rows = np.random.default_rng(seed).choice(len(found.images), n_images, replace=False)
    folder.mkdir(parents=True, exist_ok=True)
    for place, row in enumerate(rows):
        gray = (255 - found.images[row] * 255 / 16).astype(np.uint8)
        Image.fromarray(gray).resize((64, 64)).save(folder / f"digit-{place:03d}.png")
    return found.target[rows]


def wide(path: Path, n_rows: int = 120, n_columns: int = 1000, seed: int = 0) -> np.ndarray:
    """A CSV of many columns, a tenth of which tell; the group of each row."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(3, size=n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, ::10] += 2 * groups[:, None]
    header = ",".join(["sample", *(f"expression_of_gene_{c:04d}" for c in range(n_columns))])
    lines = [f"s{row:03d}," + ",".join(f"{x:.3f}" for x in X[row]) for row in range(n_rows)]
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return groups


def many(path: Path, n_clusters: int = 150, seed: int = 0) -> np.ndarray:
    """A CSV with very many clusters, of some six rows each."""
    rng = np.random.default_rng(seed)
    kinds = rng.permutation(np.repeat(np.arange(n_clusters), 6))
    rows = rng.normal(size=(n_clusters, 5))[kinds] * 10 + rng.normal(size=(len(kinds), 5))
    names = ",".join(["part", "length", "width", "weight", "hardness", "price"])
    lines = [",".join([f"P{n}", *(f"{x:.2f}" for x in row)]) for n, row in enumerate(rows)]
    path.write_text("\n".join([names, *lines]) + "\n")
    return kinds
