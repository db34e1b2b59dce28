"""Settings that all tests share."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# No deadline: machines are noisy, and the first example pays for imports.
settings.register_profile(
    "linkwise",
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow],
    # CI looks at the same examples every time; people find new ones.
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "linkwise"))
