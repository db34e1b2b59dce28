"""Settings that all tests share."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SLOW = tuple(
    line
    for line in (Path(__file__).parent / "slow_tests.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)

# No deadline: machines are noisy, and the first example pays for imports.
settings.register_profile(
    "linkwise",
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
    # CI looks at the same examples every time; people find new ones.
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "linkwise"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the list as slow; `make quick` leaves them out."""
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Skip a test whose data files are not here: they are not part of the repository."""
    try:
        return (yield)
    except FileNotFoundError as error:
        if "linkwise does not ship this data" in str(error):
            pytest.skip(str(error))
        raise
