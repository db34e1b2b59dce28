"""The map as a picture (SVG), with a legend."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from linkwise._types import JsonDict

_WIDTH, _HEIGHT, _MARGIN, _LINE = 900, 640, 20, 20
_NONE = "#8b93a1"  # rows without a cluster


def map_svg(points: JsonDict, picture: JsonDict) -> str:
    """Draw the points of a map in the colors and shapes of their clusters.

    Parameters
    ----------
    points, picture : dict
        As `Controller.points` and `Controller.picture` return them.
    """
    clusters = picture["clusters"]
    top = _MARGIN + _LINE * len(clusters)
    place = _Frame(points["x"], points["y"], top)
    marks = {cluster["number"]: cluster for cluster in clusters}
    body = [_entry(cluster, row) for row, cluster in enumerate(clusters)]
    body += [_link(place, link) for link in picture["links"]]
    for x, y, number in zip(points["x"], points["y"], picture["labels"], strict=True):
        px, py = place(x, y)
        mark = marks.get(number)
        shape, color = (mark["shape"], mark["color"]) if mark else (clusters[0]["shape"], _NONE)
        body.append(
            f'<path d="{shape}" transform="translate({px:.1f} {py:.1f}) scale(.7)" fill="{color}"/>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top + _HEIGHT}" '
        f'font-family="sans-serif" font-size="14"><title>Map of the clusters</title>'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(body)}</svg>\n'
    )


class _Frame:
    """From coordinates of the map to pixels, one scale for both axes."""

    def __init__(self, x: Sequence[float], y: Sequence[float], top: int):
        wide, high = (max(max(v) - min(v), 1e-9) for v in (x, y))
        self._scale = min((_WIDTH - 2 * _MARGIN) / wide, (_HEIGHT - 2 * _MARGIN) / high)
        self._x, self._y = (min(x) + max(x)) / 2, (min(y) + max(y)) / 2
        self._middle = top + _HEIGHT / 2

    def __call__(self, x: float, y: float) -> tuple[float, float]:
        """Pixels of a point."""
        return (
            _WIDTH / 2 + self._scale * (x - self._x),
            self._middle - self._scale * (y - self._y),
        )


def _entry(cluster: JsonDict, row: int) -> str:
    y = _MARGIN + _LINE * row
    return (
        f'<path d="{cluster["shape"]}" transform="translate({_MARGIN} {y})" '
        f'fill="{cluster["color"]}"/>'
        f'<text x="{_MARGIN + 14}" y="{y + 5}">{escape(cluster["name"])}</text>'
    )


def _link(place: _Frame, link: JsonDict) -> str:
    (a, b), (c, d) = place(*link["ends"][:2]), place(*link["ends"][2:])
    color = "#b42318" if link["violated"] else "#1b2330"
    dashes = "" if link["same"] else ' stroke-dasharray="5 4"'
    return (
        f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}" stroke="{color}" '
        f'stroke-opacity=".55"{dashes}/>'
    )
