"""Check what ``make dist`` built: complete, free of papers/, and working once installed.

    python .ci/check_dist.py dist

The archives must hold every file of the package (assets, sample data, py.typed), the sdist neither
experiments nor benchmarks, and the wheel must install into a fresh environment outside this tree,
run the demo and fit a model.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BESIDE = ("README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "Makefile")
NOT_RELEASED = ("papers/", "benchmarks/", "tests/papers/")
TRIED = ROOT / ".ci" / "try_wheel.py"


def main(folder: Path) -> None:
    """Check the two archives in a folder, then install and run."""
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    wanted = package_files()
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    complain(wheel, wanted - inside)
    if (number := sum(map(is_core, inside))) != 1:
        sys.exit(f"{wheel.name} has {number} compiled cores, expected one")
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    complain(source, ({f"src/{name}" for name in wanted} | set(BESIDE)) - inside)
    if unwanted := [name for name in inside if name.startswith(NOT_RELEASED)]:
        sys.exit(f"{source.name} must not hold {', '.join(sorted(unwanted)[:5])}")
    print(f"{wheel.name} and {source.name} have all {len(wanted)} files of the package")
    with tempfile.TemporaryDirectory(prefix="linkwise-dist-") as place:
        install_and_run(wheel, Path(place))


def package_files() -> set[str]:
    """Every file of the package in this tree, as ``linkwise/...``."""
    files = (path for path in (ROOT / "src" / "linkwise").rglob("*") if path.is_file())
    names = {path.relative_to(ROOT / "src").as_posix() for path in files}
    return {name for name in names if "__pycache__" not in name and not is_core(name)}


def is_core(name: str) -> bool:
    """Whether a file is the compiled core: of `make core` in this tree, or in a wheel."""
    return name.startswith("linkwise/_core.") and name.endswith((".so", ".pyd"))


def complain(archive: Path, missing: set[str]) -> None:
    """Stop if an archive lacks files."""
    if missing:
        sys.exit(f"{archive.name} lacks {len(missing)} files: {', '.join(sorted(missing))}")


def install_and_run(wheel: Path, place: Path) -> None:
    """Install into a fresh environment and run the demo and a fit, far from the source tree."""
    venv.create(place / "venv", with_pip=True)
    bin_folder = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python = str(bin_folder / "python")
    steps = [
        [python, "-m", "pip", "install", "--quiet", str(wheel.resolve())],
        [python, str(TRIED)],
        [str(bin_folder / "linkwise"), "demo", "--folder", str(place / "demo")],
    ]
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LINKWISE_DATA")}
    for step in steps:
        subprocess.run(step, cwd=place, env=environment, check=True)
    if not (place / "demo" / "beans.csv").stat().st_size:
        sys.exit("the demo wrote no sample")
    print("the wheel installs, fits and runs the demo")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
