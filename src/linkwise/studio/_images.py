"""Images as numbers: small gray pictures and mean colors; example images. Needs Pillow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from linkwise._errors import InputError
from linkwise._optional import optional
from linkwise.tables import Features

_SIDE = 24  # pixels of the small picture; shapes, not details, are compared
_MOST_PIXELS = 40_000_000  # of an image: 120 MB decoded; more is a decompression bomb


def pixel_features(paths: Sequence[Path], seed: int = 0) -> Features:
    """Main components of small gray pictures with the mean color; units: brightness and colors."""
    image = optional("PIL.Image", extra="studio", need="Clustering images")
    small, colors = [], []
    for path in paths:
        try:
            with image.open(path) as opened:
                if opened.width * opened.height > _MOST_PIXELS:
                    raise InputError(f"{opened.width} x {opened.height} pixels are too many")
                opened.draft("RGB", (4 * _SIDE, 4 * _SIDE))  # JPEG: decode at a lower size
                rgb = opened.convert("RGB").resize((_SIDE, _SIDE))
        except Exception as error:  # Pillow raises whatever a damaged file leads to
            raise InputError(f"{path.name}: not an image that can be read: {error}") from None
        cells = np.asarray(rgb, dtype=np.float64) / 255
        small.append(cells.mean(axis=2).ravel())
        colors.append(cells.mean(axis=(0, 1)))
    pixels, mean = np.array(small), np.array(colors)
    n = max(1, min(40, *pixels.shape))
    with np.errstate(invalid="ignore"):  # pictures that are all equal have no variance
        components = PCA(n, random_state=seed).fit_transform(pixels)
    # As many pixels share one color, it counts as one row of them.
    X = np.hstack([components, mean * np.sqrt(_SIDE)])
    brightness = mean.mean(axis=1, keepdims=True)
    if np.abs(mean - brightness).max() < 0.01:  # less than three of 255 levels: gray
        return Features(X, ["brightness"], brightness, None)
    units = np.hstack([brightness, mean])
    return Features(X, ["brightness", "red", "green", "blue"], units, None)


def write_digits(folder: Path) -> None:
    """Write 300 of scikit-learn's handwritten digits, 64 pixels wide, into a folder."""
    from sklearn.datasets import load_digits

    image = optional("PIL.Image", extra="studio", need="The example")
    digits = load_digits().images
    rows = np.random.default_rng(0).choice(len(digits), 300, replace=False)
    for place, row in enumerate(rows.tolist()):
        gray = (255 - digits[row] * 255 / 16).astype(np.uint8)
        image.fromarray(gray).resize((64, 64)).save(folder / f"digit-{place + 1:03d}.png")
