"""A scorer of scikit-learn for constraints on rows that a model was not fitted on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

# The public module has no base class for custom scorers; `make_scorer` passes predictions only,
# without the ids that tell which rows they are on.
from sklearn.utils._metadata_requests import _MetadataRequester
from sklearn.utils.metadata_routing import UNUSED

from linkwise._types import Labels, MatrixLike, SampleIds
from linkwise.constraints import Constraints, as_constraints

if TYPE_CHECKING:
    from linkwise._validation import Knowable


class Predictor(Protocol):
    """A fitted clusterer."""

    def predict(self, X: Any) -> Labels:
        """Clusters of rows."""


class LinksScorer(_MetadataRequester):  # type: ignore[misc]
    """Share of the held-out constraints that the predicted clusters satisfy.

    For `scoring=` of `cross_validate` and `GridSearchCV`. Only constraints whose rows are all among
    those scored count: constraints inside the held-out fold. Must-links and cannot-links weigh the
    same, however many there are of each.

    Parameters
    ----------
    constraints : Constraints, DataFrame or path
        By id; folds bring their ids as the index of a DataFrame, or as routed `sample_ids`
        (``scorer.set_score_request(sample_ids=True)``).

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.model_selection import cross_val_score
    >>> from linkwise import Constraints, PCKMeans
    >>> from linkwise.datasets import load
    >>> from linkwise.evaluation import LinksScorer
    >>> iris = load("iris")
    >>> known = Constraints.from_labels(iris.target, 500, random_state=0)
    >>> frame = pd.DataFrame(iris.data)
    >>> scores = cross_val_score(PCKMeans(3, random_state=0), frame, scoring=LinksScorer(known))
    >>> bool(scores.mean() > 0.6)
    True
    """

    __metadata_request__score = {"estimator": UNUSED}  # noqa: RUF012, not a piece of metadata

    def __init__(self, constraints: Knowable):
        self.constraints: Constraints = as_constraints(constraints)

    def __call__(
        self, estimator: Predictor, X: MatrixLike, y: object = None, *,
        sample_ids: SampleIds = None,
    ) -> float:  # fmt: skip
        """The score of a fitted estimator on rows; NaN if no constraint is on them alone."""
        return self.score(estimator, X, y, sample_ids=sample_ids)

    def score(
        self, estimator: Predictor, X: MatrixLike, y: object = None, *,
        sample_ids: SampleIds = None,
    ) -> float:  # fmt: skip
        """The score of a fitted estimator on rows.

        Parameters
        ----------
        estimator : object with `predict`
        X : array-like of shape (n_samples, n_features)
        y : Ignored
        sample_ids : array-like of shape (n_samples,), default=None
            Ids of the rows; the index of a DataFrame if not given.

        Returns
        -------
        score : float
            Mean of the shares of must-links, cannot-links and relative constraints that hold; NaN
            if there are none.
        """
        # Unlike elsewhere, an index 0, 1, 2, ... counts: the first fold of a frame has it.
        index = getattr(X, "index", None) if hasattr(X, "iloc") else None
        ids = index if sample_ids is None else sample_ids
        if ids is None:
            raise ValueError(
                "held-out constraints need the ids of the rows: give X as a DataFrame with an "
                "index, or route sample_ids (LinksScorer(...).set_score_request(sample_ids=True))"
            )
        labels = np.asarray(estimator.predict(X))
        known = self.constraints.to_rows(len(labels), ids, missing="drop").as_pairs()
        kept = known.satisfied(labels)
        shares = [
            float(np.mean(own))
            for own in (kept.must_link, kept.cannot_link, kept.relative)
            if own is not None and len(own)
        ]
        return float(np.mean(shares)) if shares else float("nan")

    def __repr__(self) -> str:
        return f"LinksScorer({self.constraints!r})"
