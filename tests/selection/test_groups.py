"""The choice of a method with groups."""

import numpy as np

from linkwise import AutoCluster, Constraints, COPKMeans, PCKMeans


def test_auto_takes_groups():
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.permutation(3)[:2] for _ in range(30)])
    X = rng.normal(size=(3, 2))[y] * 5 + rng.normal(size=(60, 2))
    known = Constraints(apart=np.repeat(np.arange(30), 2))
    known = known + Constraints.from_labels(y, 20, random_state=0)
    candidates = [COPKMeans(n_init=2), PCKMeans(n_init=2)]
    model = AutoCluster(candidates, n_clusters=[2, 3], random_state=0).fit(X, constraints=known)
    assert model.report_.constraints.n_apart == 30 or model.report_.constraints.n_cannot_link >= 30
    assert len(model.labels_) == 60
