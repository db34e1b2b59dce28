"""Where compiled loops are kept when neither the installation nor HOME can be written."""

import subprocess
import sys
from pathlib import Path

import pytest

from linkwise import _compiled

_MODULE = "from linkwise._compiled import kernel\n\n\n@kernel\ndef double(x):\n    return 2 * x\n"
_RUN = """
import warnings
import numba.core.caching as caching
places = caching.CacheImpl._locator_classes  # all but that of NUMBA_CACHE_DIR fail
caching.CacheImpl._locator_classes = [p for p in places if "UserProvided" in p.__name__]
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import loops, loops_too
assert loops.double(4) == 8 and loops_too.double(4) == 8
print(len(told), sum(loops.double.stats.cache_hits.values()), told[0].message)
"""


def test_a_temporary_folder_takes_the_place_of_the_cache_and_is_named_once(tmp_path):
    for name in ("loops.py", "loops_too.py"):
        (tmp_path / name).write_text(_MODULE)
    source = Path(_compiled.__file__).parents[1]
    environment = {"PYTHONPATH": f"{tmp_path}:{source}", "TMPDIR": str(tmp_path), "PATH": ""}
    said = [
        subprocess.run(
            [sys.executable, "-c", _RUN], env=environment, capture_output=True, text=True
        )
        for _ in range(2)
    ]
    assert not said[0].returncode, said[0].stderr
    assert said[0].stdout.startswith("1 0 neither the installation")
    assert str(tmp_path) in said[0].stdout
    assert said[1].stdout.startswith("1 1 ")  # the second run compiles nothing


@pytest.mark.skipif(sys.platform == "win32", reason="a temporary folder per user")
def test_a_folder_that_others_may_write_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(_compiled.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = tmp_path / f"linkwise-compiled-{_compiled.os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(UserWarning, match="set NUMBA_CACHE_DIR"):
        used = _compiled._temporary_cache.__wrapped__()
    assert used != str(folder)
