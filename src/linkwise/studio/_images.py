"""Images as numbers: small gray pictures and mean colors. Needs Pillow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from linkwise._errors import InputError
from linkwise._optional import optional
from linkwise.tables import Features

_SIDE = 24  # pixels of the small picture
_DIMENSIONS = 40
_GRAY = 0.01  # difference of the colors up to which pictures are gray
_MOST_PIXELS = 40_000_000  # of an image; more are refused as a decompression bomb


def pixel_features(paths: Sequence[Path], seed: int = 0) -> Features:
    """The main components of small gray pictures, with the mean color.

    Parameters
    ----------
    paths : sequence of Path
    seed : int, default=0

    Returns
    -------
    features : Features
        `units` and `names`: brightness and the three colors, which people can read.
    """
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
    n = max(1, min(_DIMENSIONS, *pixels.shape))
    with np.errstate(invalid="ignore"):  # pictures that are all equal have no variance
        components = PCA(n, random_state=seed).fit_transform(pixels)
    # As many pixels share one color, it counts as one row of them.
    X = np.hstack([components, mean * np.sqrt(_SIDE)])
    brightness = mean.mean(axis=1, keepdims=True)
    if np.abs(mean - brightness).max() < _GRAY:
        return Features(X, ["brightness"], brightness, None)
    units = np.hstack([brightness, mean])
    return Features(X, ["brightness", "red", "green", "blue"], units, None)
