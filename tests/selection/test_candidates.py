"""What is tried, by the kind of data."""

import numpy as np
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from linkwise import AutoCluster, Constraints
from linkwise.selection._candidates import default_kinds


def words(n_rows=120, n_topics=4):
    """Counts of words of which each topic prefers ten, and two empty rows."""
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % n_topics
    rate = np.where(np.arange(10 * n_topics) // 10 == y[:, None], 0.6, 0.08)
    X = rng.poisson(rate).astype(float)
    X[:2] = 0
    return sparse.csr_matrix(X), y


def test_words_are_seen_by_direction_and_in_latent_space():
    X, y = words()
    known = Constraints.from_labels(y, 30, random_state=0)
    kinds = default_kinds(X, known, X.shape[0])
    assert {kind.preprocessing for kind in kinds} == {"as is", "LSA", "RCA"}
    assert {kind.preprocessing for kind in kinds if kind.is_scout} == {"LSA", "RCA"}
    assert {kind.preprocessing for kind in default_kinds(X[:, :2], known, 120)} == {"as is"}


def test_candidates_that_fail_leave_the_choice_to_the_others():
    """Empty rows have no direction, so that cosine distances fail in every fold."""
    X, y = words()
    known = Constraints.from_labels(y, 80, random_state=0)
    model = AutoCluster(n_clusters=(2, 8), random_state=0).fit(X, constraints=known)
    assert any("no direction" in row["note"] for row in model.results_)
    assert adjusted_rand_score(y, model.labels_) > 0.6
    assert len(model.predict(X)) == len(y)
