"""Numbers of clusters that are scouted."""

import numpy as np

from linkwise.selection._plan import Limits, _scouted


class Search:
    """Scores that rise up to k = 64, times a base rate that falls with every trial."""

    n_telling, out_of_time, X = 1000, False, np.zeros((4000, 2))

    def __init__(self):
        self.tried = []

    def explore(self, candidates, n_folds):
        self.tried += candidates

    def interim_score(self, k):
        return -abs(np.log2(k / 64)) / 10 + 3.0 / len(self.tried)


def test_scores_of_earlier_trials_are_computed_again():
    """Else those of the first trials, whose base rate was higher, would end the search."""
    work = Search()
    counts = _scouted(work, lambda kind, k: k, ["scout"], Limits(2, 2000))
    assert max(work.tried) >= 128
    assert 64 in counts
