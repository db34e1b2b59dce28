"""A session with 60 rows in three clusters, as the studio shows it."""

from __future__ import annotations

import pytest

from linkwise import Session
from linkwise.studio import Records
from linkwise.studio._controller import Controller

from .cases import blobs


@pytest.fixture
def work():
    X, y = blobs(60)
    with Session(X, n_clusters=3, sample_ids=[f"r{row}" for row in range(60)]) as session:
        session.fit_  # noqa: B018
        made = Controller(session, Records.of(None, session.X))
        made.truth = y
        yield made
