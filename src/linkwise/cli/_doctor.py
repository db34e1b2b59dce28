"""`linkwise doctor`: what is installed and where, for people who ask for help."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table as RichTable

from linkwise._version import __version__

from . import _output as out

if TYPE_CHECKING:
    from linkwise._types import JsonDict

_NEEDED = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "numba", "typer", "rich")
# What each extra installs; pyproject.toml has the same.
EXTRAS = {
    "plot": ("matplotlib",),
    "parquet": ("pyarrow", "pandas"),
    "excel": ("openpyxl",),
    "frames": ("narwhals",),
    "text": ("wordllama",),
    "studio": ("nicegui",),
    "dask": ("dask", "distributed"),
}
_VARIABLES = ("LINKWISE_CACHE", "LINKWISE_DATA", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS",
              "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT")  # fmt: skip


def doctor(as_json: out.Json = False) -> None:
    """Tell versions, threads, caches and missing extras, for bug reports.

    Examples:

        linkwise doctor

        linkwise doctor --json
    """
    with out.plain_errors():
        found = _examine()
    if as_json:
        out.print_json(found)
        return
    table = RichTable("what", "found")
    for name, value in found.items():
        lines = [f"{k}: {v}" for k, v in value.items()] if isinstance(value, dict) else [str(value)]
        table.add_row(escape(name), escape("\n".join(lines)))
    out.console.print(table)
    for problem in _problems(found):
        out.print_note(problem)


def _examine() -> JsonDict:
    return {
        "linkwise": f"{__version__} in {Path(__file__).parents[1]}",
        "Python": f"{platform.python_version()} in {sys.executable}",
        "system": platform.platform(),
        "packages": {name: _version(name) or "missing" for name in _NEEDED},
        "extras": {extra: _extra(packages) for extra, packages in EXTRAS.items()},
        "threads": _threads(),
        "caches": _caches(),
        "variables": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        "text on standard output": str(getattr(sys.stdout, "encoding", "unknown")),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _extra(packages: tuple[str, ...]) -> str:
    versions = {name: _version(name) for name in packages}
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        return f"missing: {', '.join(missing)}"
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _threads() -> JsonDict:
    import numba
    from threadpoolctl import threadpool_info

    import scipy.linalg  # noqa: F401, isort: skip, loads the BLAS whose threads are counted

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    pools = [f"{own['internal_api']} {own['num_threads']}" for own in threadpool_info()]
    return {"cores": usable, "numba": numba.get_num_threads(), "BLAS": ", ".join(pools) or "none"}


def _caches() -> JsonDict:
    from linkwise.datasets._embedding import cache_file

    kept = cache_file()
    size = f"{kept.stat().st_size / 1e6:,.1f} MB" if kept.is_file() else "not there yet"
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parents[1])
    able = "can be written" if os.access(folder, os.W_OK) else "cannot be written"
    return {"embeddings": f"{kept} ({size})", "compiled code": f"{folder} ({able})"}


def _problems(found: JsonDict) -> list[str]:
    problems = []
    if "cannot be written" in found["caches"]["compiled code"]:
        problems.append(
            "compiled code cannot be kept, so that every command compiles again; set "
            "NUMBA_CACHE_DIR to a folder of your own"
        )
    missing = [extra for extra, told in found["extras"].items() if told.startswith("missing")]
    if missing:
        problems.append(f"missing extras: pip install 'linkwise[{','.join(missing)}]'")
    return problems
