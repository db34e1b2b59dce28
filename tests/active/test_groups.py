"""Sessions that begin with groups."""

import numpy as np
import pytest

from linkwise import Constraints
from linkwise.active import Session


@pytest.mark.parametrize("strategy", ["ExploreConsolidate", "MinMax", "RandomPairs"])
def test_a_session_never_asks_what_a_group_answers(strategy):
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.permutation(4)[:3] for _ in range(20)])
    photo, house = np.repeat(np.arange(20), 3), y * 10 + rng.integers(0, 3, 60)
    X = rng.normal(size=(4, 2))[y] * 4 + rng.normal(size=(60, 2))
    known = Constraints(apart=photo, together=house)
    with Session(
        X, strategy, n_clusters=4, constraints=known, background=False, random_state=0
    ) as session:
        for _ in range(15):
            question = session.ask()
            if question is None:
                break
            i, j = question.i, question.j
            assert photo[i] != photo[j]
            assert house[i] != house[j]
            session.tell("same" if y[i] == y[j] else "different", question)
        assert not session.snapshot().disputes
