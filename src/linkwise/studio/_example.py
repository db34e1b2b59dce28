"""Data to try the studio with: images of handwritten digits, which everybody can tell apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from linkwise._optional import optional

_N_IMAGES = 300
_SIDE = 64  # pixels; the digits of scikit-learn have 8


def write_digits(folder: Path) -> None:
    """Write images of scikit-learn's digits into a folder."""
    from sklearn.datasets import load_digits

    image = optional("PIL.Image", extra="studio", need="The example")
    found = load_digits().images
    rows = np.random.default_rng(0).choice(len(found), _N_IMAGES, replace=False)
    for place, row in enumerate(rows.tolist()):
        gray = (255 - found[row] * 255 / 16).astype(np.uint8)
        picture = image.fromarray(gray).resize((_SIDE, _SIDE))
        picture.save(folder / f"digit-{place + 1:03d}.png")
