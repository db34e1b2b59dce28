"""A plugin of pytest for `make sanitize`: the core of build/sanitize, not the installed one."""

import importlib.util
import sys
from pathlib import Path

[path] = Path("build/sanitize").glob("_core*.so")
spec = importlib.util.spec_from_file_location("linkwise._core", path)
assert spec is not None
assert spec.loader is not None
core = importlib.util.module_from_spec(spec)
sys.modules["linkwise._core"] = core
spec.loader.exec_module(core)
