"""HMRF-KMeans on text of the size of 20 Newsgroups, against KMeans on the same matrix."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import normalize

from linkwise import Constraints, HMRFKMeans

from ._harness import Row, in_turn, peak_megabytes

ROWS, WORDS, K = 18_846, 30_000, 20
ITERATIONS = 15


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y = documents()
    known = Constraints.from_labels(y, 2_000, random_state=0)
    centers = X[np.random.default_rng(1).choice(ROWS, K, replace=False)].toarray()
    kmeans = KMeans(K, init=centers, n_init=1, max_iter=ITERATIONS, tol=0)
    for distortion, bar in (("cosine", 3.0), ("divergence", None), ("euclidean", None)):
        model = HMRFKMeans(
            K, distortion=distortion, init=centers, max_iter=ITERATIONS, tol=0, random_state=0
        )
        mine, theirs = in_turn(lambda m=model: m.fit(X, constraints=known), lambda: kmeans.fit(X))
        ratio = (mine / model.n_iter_) / (theirs / kmeans.n_iter_)
        found, plain = (normalized_mutual_info_score(y, m.labels_) for m in (model, kmeans))
        yield Row(
            f"HMRFKMeans {distortion}, learnt, CSR {ROWS:,} x {WORDS:,} ({X.nnz / ROWS:.0f} words "
            f"a row), k = {K}, 2,000 constraints",
            f"{ratio:.2f}x KMeans per iteration ({mine / model.n_iter_ * 1e3:.0f} ms)",
            f"{bar}x" if bar else "-",
            ratio <= bar if bar else None,
            f"NMI {found:.3f} (KMeans {plain:.3f})",
        )
    data = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
    beyond = peak_megabytes(_fit) - data
    yield Row(
        "peak memory of the cosine fit beyond the data", f"{beyond:.0f} MB",
        "never dense", beyond < ROWS * WORDS * 8 / 2**20 / 4,
        f"the data is {data:.0f} MB; dense it would be {ROWS * WORDS * 8 / 2**20:,.0f} MB",
    )  # fmt: skip


def documents() -> tuple[sparse.csr_matrix, np.ndarray]:
    """Words by Zipf's law, a tenth of them from the topic of the document; TF-IDF, length one."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, K, ROWS)
    common = 1.0 / np.arange(1, WORDS + 1)
    common /= common.sum()
    topics = rng.permutation(WORDS)[: K * 500].reshape(K, 500)
    lengths = rng.geometric(1 / 180, ROWS) + 20
    rows = np.repeat(np.arange(ROWS), lengths)
    words = rng.choice(WORDS, len(rows), p=common)
    on_topic = rng.random(len(rows)) < 0.1
    words[on_topic] = topics[y[rows[on_topic]], rng.integers(0, 500, on_topic.sum())]
    counts = sparse.csr_matrix((np.ones(len(rows)), (rows, words)), shape=(ROWS, WORDS))
    counts.sum_duplicates()
    rarity = np.log(ROWS / np.maximum(np.bincount(counts.indices, minlength=WORDS), 1)) + 1
    return normalize(counts @ sparse.diags(rarity)).tocsr(), y


def _fit() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y = documents()
    known = Constraints.from_labels(y, 2_000, random_state=0)
    HMRFKMeans(K, distortion="cosine", max_iter=3, n_init=1, random_state=0).fit(
        X, constraints=known
    )
