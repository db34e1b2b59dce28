"""Saved models as a state machine: any sequence of new rows, links, saving and loading."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from linkwise import ConstraintError, Constraints, MPCKMeans, PCKMeans
from linkwise.persistence import SavedModel, load_model

GROUPS = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0], [20.0, 20.0]])


class Saved(RuleBasedStateMachine):
    """Earlier rows keep their clusters, the file is what is in memory, links are judged right."""

    @initialize(own=st.booleans(), seed=st.integers(0, 5))
    def begin(self, own, seed):
        self.rng = np.random.default_rng(seed)
        rows = self.draw(30, 3)
        model = (MPCKMeans if own else PCKMeans)(3, random_state=0).fit(rows)
        ids = [f"r{i}" for i in range(30)]
        self.saved = SavedModel(model, ids=ids)
        self.path = Path(tempfile.mkdtemp()) / "m.linkwise"
        self.saved.save(self.path)

    def draw(self, n, n_groups):
        return GROUPS[self.rng.integers(0, n_groups, n)] + self.rng.normal(size=(n, 2))

    def labels(self):
        return self.saved.model.labels_

    @rule(n=st.integers(1, 8), n_groups=st.integers(1, 4), same=st.booleans())
    def add_rows(self, n, n_groups, same):
        before, first = self.labels().copy(), len(self.saved.ids)
        ids = [f"r{first + i}" for i in range(n)]
        other = f"r{int(self.rng.integers(first))}"
        known = Constraints(**{"must_link" if same else "cannot_link": [(ids[0], other)]})
        try:
            self.saved = self.saved.update(
                self.draw(n, n_groups), sample_ids=ids, constraints=known
            )
        except ConstraintError:
            np.testing.assert_array_equal(self.labels(), before)
            return
        assert len(self.labels()) == len(self.saved.ids) == first + n
        np.testing.assert_array_equal(self.labels()[:first], before)

    @rule()
    def add_known_row(self):
        before = self.labels().copy()
        with pytest.raises(ValueError, match="r0"):
            self.saved.update(self.draw(1, 3), sample_ids=["r0"])
        np.testing.assert_array_equal(self.labels(), before)

    @rule()
    def save(self):
        self.saved.save(self.path)
        again = load_model(self.path)
        np.testing.assert_array_equal(again.model.labels_, self.labels())
        rows = self.draw(5, 4)
        np.testing.assert_array_equal(again.model.predict(rows), self.saved.model.predict(rows))

    @rule()
    def load(self):
        self.saved = load_model(self.path)

    @invariant()
    def clusters_are_numbered(self):
        if hasattr(self, "saved"):
            assert self.labels().min() >= -1
            assert self.labels().max() < len(self.saved.model.cluster_centers_)


TestSaved = Saved.TestCase
TestSaved.settings = settings(max_examples=10, stateful_step_count=10, deadline=None)
