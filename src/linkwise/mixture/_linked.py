"""scikit-learn's EM with an E-step that sums over the labels of linked rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.metrics import pairwise_distances_argmin
from sklearn.mixture import GaussianMixture

from linkwise._validation import progress_reporter
from linkwise.constraints import Constraints
from linkwise.kmeans import PCKMeans

from ._field import Field

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEAST = 1e-300  # keeps the logarithm of an empty component's weight finite


class LinkedGaussians(GaussianMixture):
    """A Gaussian mixture in which chunklets share a label and cannot-links keep them apart.

    Without links, every step is scikit-learn's.
    """

    weights_: Floats

    @classmethod
    def of(cls, estimator: Any, field: Field, pairs: Constraints) -> LinkedGaussians:
        """The mixture that a `ConstrainedMixture` describes."""
        mixture = cls(
            estimator.n_clusters, covariance_type=estimator.covariance_type,
            reg_covar=estimator.reg_covar, n_init=estimator.n_init, max_iter=estimator.max_iter,
            tol=estimator.tol, random_state=estimator.random_state,
        )  # fmt: skip
        mixture.estimator, mixture.field, mixture.pairs = estimator, field, pairs
        mixture.n_runs = 0
        return mixture

    # -------------------------------------------------------------------- initialization

    def _initialize_parameters(self, X: Floats, random_state: Any, **options: Any) -> None:
        self._report = progress_reporter(self.estimator, self.n_runs)
        self.n_runs += 1
        self.path: list[float] = []  # mean log likelihood after each E-step of this run
        init, k = self.estimator.init, self.n_components
        if not isinstance(init, str):
            means = np.asarray(init, dtype=np.float64)
            if means.shape != (k, X.shape[1]):
                raise ValueError(
                    f"init has shape {means.shape}; expected (n_clusters, n_features) = "
                    f"{(k, X.shape[1])}"
                )
            labels = pairwise_distances_argmin(X, means)
        elif init == "auto" and self.pairs:
            labels = PCKMeans(k, random_state=random_state).fit(X, constraints=self.pairs).labels_
        else:
            super()._initialize_parameters(X, random_state, **options)
            return
        self._initialize(X, np.eye(k)[labels])

    def _initialize(self, X: Floats, resp: Floats, **options: Any) -> None:
        super()._initialize(X, resp, **options)
        # The mean field starts from the initial clusters. It multiplies probabilities, so none of
        # them may be 0.
        field = self.field
        share = field.sum_rows(resp[field.rows])[field.loose]
        share /= np.maximum(share.sum(axis=1, keepdims=True), 1)
        self.loose = 0.9 * share + 0.1 / resp.shape[1]

    # -------------------------------------------------------------------- EM

    def _log_weights(self) -> Floats:
        return np.log(np.maximum(self.weights_, _LEAST))

    def _e_step(self, X: Floats, **options: Any) -> tuple[float, Floats]:
        """Mean log likelihood given that the links hold, and the log memberships."""
        field = self.field
        if not field.n_chunklets:
            return super()._e_step(X, **options)
        density, log_weight = self._estimate_log_prob(X), self._log_weights()
        joint = density + log_weight
        each = logsumexp(joint, axis=1)
        log_resp = joint - each[:, None]
        each[field.rows] = 0.0  # rows in chunklets are summed below
        total, marginal = field.sum_labels(
            field.sum_rows(density[field.rows]), log_weight, self.loose
        )
        total += float(each.sum()) - field.log_normalizer(log_weight)[0]
        with np.errstate(divide="ignore"):
            log_resp[field.rows] = np.log(marginal)[field.chunklet]
        return total / len(X), log_resp

    def _m_step(self, X: Floats, log_resp: Floats, **options: Any) -> None:
        before = self.weights_
        super()._m_step(X, log_resp, **options)
        field = self.field
        if field.n_chunklets:
            resp = np.exp(log_resp)
            marginal = resp[field.rows[field.first]]  # all rows of a chunklet have the same
            counts = resp.sum(axis=0) - resp[field.rows].sum(axis=0) + field.exponent @ marginal
            self.weights_ = field.best_weights(counts, before)

    def _compute_lower_bound(self, log_resp: Floats, log_prob_norm: float) -> float:
        self.path.append(log_prob_norm)
        if self._report is not None:
            self._report(len(self.path), -log_prob_norm * len(log_resp))
        return log_prob_norm

    def _get_parameters(self) -> Any:
        """Called by scikit-learn after a run that is the best so far."""
        self.best_path, self.best_loose = self.path, self.loose.copy()
        return super()._get_parameters()

    # -------------------------------------------------------------------- result

    def memberships(self, X: Floats) -> tuple[Floats, Ints]:
        """Memberships of the rows of the fit, and the most probable labels, given the links."""
        field, self.loose = self.field, self.best_loose
        share = np.exp(self._e_step(X)[1])
        labels = share.argmax(axis=1)
        if field.n_chunklets:
            density = field.sum_rows(self._estimate_log_prob(X[field.rows]))
            best = field.best_labels(density, self._log_weights(), self.loose)
            labels[field.rows] = best[field.chunklet]
        return share, labels
