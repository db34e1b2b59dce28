"""Fit a model with the installed wheel: for `make dist` and cibuildwheel."""

import linkwise
from linkwise import Constraints, MPCKMeans, _core
from linkwise.datasets import make_blobs

home = linkwise.__file__
assert "site-packages" in home, home
X, y = make_blobs(120, centers=3, stretch=6, random_state=0)
known = Constraints.from_labels(y, 40, random_state=0)
model = MPCKMeans(3, random_state=0).fit(X, constraints=known)
print(f"linkwise {linkwise.__version__} ({_core.engine()}) at {home}:", repr(model.report_))
