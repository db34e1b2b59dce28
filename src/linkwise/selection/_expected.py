"""How good the choice can be expected to be, by held-out links, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwise._types import JsonDict

from ._scores import Floats, joined_shares, rand_index

_DRAWS = 2000
_INTERVAL = 0.9  # probability
_ROUNDING = 0.01  # added at both ends: a clustering may be right altogether
_HALF = 0.5  # counts added to each cell: the prior of a share (Jeffreys)
_MOST_WRONG = 0.4  # share of wrong links; near a half, links say nothing
_LEAST_TELLING = 0.1  # of a true difference of shares that wrong links leave visible


@dataclass(frozen=True)
class Expected:
    """The quality that held-out links let one expect; NaN if none could be held out.

    Attributes
    ----------
    ari : float
        Expected adjusted Rand index of the clustering against the truth.
    ari_interval : tuple of two floats
        Where it is with 90 % probability.
    pairs_right : float
        Expected share of all pairs of rows that are rightly together or rightly apart.
    pairs_right_interval : tuple of two floats
        Where it is with 90 % probability.
    base_rate : float
        Estimated share of all pairs of rows that belong together.

    Examples
    --------
    >>> from linkwise.selection import Expected
    >>> Expected(ari=0.8, ari_interval=(0.7, 0.9)).ari_interval
    (0.7, 0.9)
    """

    ari: float = float("nan")
    ari_interval: tuple[float, float] = (float("nan"), float("nan"))
    pairs_right: float = float("nan")
    pairs_right_interval: tuple[float, float] = (float("nan"), float("nan"))
    base_rate: float = float("nan")

    @classmethod
    def of(
        cls, counts: Floats, n_links: int, base_rate: float, error: float, decided: float,
        kept: float, together: float = float("nan"), wrong: tuple[float, float] = (0.0, 0.0),
    ) -> Expected:  # fmt: skip
        """Estimate from the answers about held-out links.

        The shares of must-links kept and of cannot-links broken have beta posteriors, the base
        rate a normal one. Entailed links add no weight: counts are scaled to the given ones.

        Parameters
        ----------
        counts : ndarray of shape (4,)
            As in `link_counts`, pooled over the folds.
        n_links : int
            Number of given links.
        base_rate, error : float
            Share of pairs that belong together, and its standard error.
        decided, kept : float
            Share of all pairs that the constraints decide, and of these that the clustering keeps.
        together : float
            Share of all pairs that the clustering puts together; NaN if unknown.
        wrong : pair of float, default=(0, 0)
            Limits between which the share of wrong links is, all values as likely; below 0 is 0.
        """
        if not counts.sum() or np.isnan(base_rate):
            return cls()
        counts = counts * min(1.0, n_links / counts.sum())
        must, broken, joined, apart = counts
        rng = np.random.RandomState(0)
        true = rng.beta(must + _HALF, broken + _HALF, _DRAWS)
        false = rng.beta(joined + _HALF, apart + _HALF, _DRAWS)
        pi = np.clip(rng.normal(base_rate, error, _DRAWS), base_rate / 4, 1 - (1 - base_rate) / 4)
        here = np.asarray(must / max(must + broken, 1e-300))
        own, implied, trust = joined_shares(counts, here, base_rate, together)
        if not np.isnan(together):
            _, drawn_implied, _ = joined_shares(counts, true, pi, together)
            false = trust * false + (1 - trust) * drawn_implied
            own = trust * own + (1 - trust) * implied
        must_share = (must + broken) / counts.sum()
        # A wrong link of either kind is one that a right clustering breaks.
        most = min((joined + 1) / (joined + must + 1), (broken + 1) / (broken + apart + 1))
        wrong = min(wrong[0], most), min(wrong[1], most)
        drawn_wrong = np.clip(rng.uniform(*wrong, _DRAWS), 0.0, _MOST_WRONG)
        middle = np.clip(np.mean(wrong), 0.0, _MOST_WRONG)
        drawn = _quality(*_corrected(true, false, pi, drawn_wrong, must_share), decided, kept)
        rates = _corrected(here, own, np.asarray(base_rate), middle, must_share)
        ari, right = _quality(*rates, decided, kept)
        of_ari, of_right = (
            _interval(values, float(here)) for values, here in zip(drawn, (ari, right), strict=True)
        )
        return cls(float(ari), of_ari, float(right), of_right, float(rates[2]))

    @property
    def is_known(self) -> bool:
        """Whether links could be held out."""
        return not np.isnan(self.ari)

    @property
    def width(self) -> float:
        """Length of the interval of the adjusted Rand index."""
        return self.ari_interval[1] - self.ari_interval[0]

    def to_dict(self) -> JsonDict:
        """Plain values, None where nothing is known."""
        if not self.is_known:
            return {"ari": None, "ari_interval": None, "pairs_right": None}
        return {
            "ari": self.ari,
            "ari_interval": list(self.ari_interval),
            "pairs_right": self.pairs_right,
            "pairs_right_interval": list(self.pairs_right_interval),
            "base_rate": self.base_rate,
        }

    def __str__(self) -> str:
        if not self.is_known:
            return "How good it is cannot be told: no links could be held back."
        (low, high), (least, most) = self.ari_interval, self.pairs_right_interval
        return (
            f"Expected adjusted Rand index {self.ari:.2f} (90 % interval {low:.2f} to {high:.2f}); "
            f"{self.pairs_right:.1%} of all pairs right ({least:.1%} to {most:.1%})."
        )


def _interval(drawn: Floats, here: float) -> tuple[float, float]:
    """The shortest interval with most of the draws, and the point, in it.

    Where no held-out link is wrong, the posterior is highest at its upper end, which quantiles
    would leave out.
    """
    values = np.sort(drawn)
    n_inside = int(np.ceil(_INTERVAL * len(values)))
    widths = values[n_inside - 1 :] - values[: len(values) - n_inside + 1]
    first = int(widths.argmin())
    low, high = values[first] - _ROUNDING, values[first + n_inside - 1] + _ROUNDING
    return float(min(low, here)), float(min(max(high, here), 1.0))


def _corrected(
    true: Floats, false: Floats, pi: Floats, wrong: Floats, must_share: float
) -> tuple[Floats, Floats, Floats]:
    """Shares of pairs together, and the base rate, as they would be without wrong links.

    Of the links that say "together", a share a is about pairs that do belong together, of the
    others a share b. Links show a t + (1 - a) f in place of t, and b t + (1 - b) f in place of f.
    """
    must = np.clip((must_share - wrong) / (1 - 2 * wrong), 0.0, 1.0)  # of right answers
    a, b = must * (1 - wrong) / max(must_share, 1e-300), must * wrong / max(1 - must_share, 1e-300)
    lift = (true - false) / np.maximum(a - b, _LEAST_TELLING)
    f = np.clip(false - b * lift, 0.0, 1.0)
    return np.clip(f + lift, 0.0, 1.0), f, np.clip(b + pi * (a - b), 1e-5, 1.0)


def _quality(
    true: Floats, false: Floats, pi: Floats, decided: float, kept: float
) -> tuple[Floats, Floats]:
    """Adjusted Rand index and share of pairs right; decided pairs are right as far as kept."""
    true = (1 - decided) * true + decided * kept
    false = (1 - decided) * false + decided * (1 - kept)
    return rand_index(true, false, pi), pi * true + (1 - pi) * (1 - false)
