"""What a release depends on: formulas, and versions that agree."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

from linkwise import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_versions_agree():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {__version__.partition('.dev')[0]}\n" in cited


def test_supported_pythons_are_tested():
    workflow = ROOT / ".github" / "workflows" / "ci.yml"
    if not workflow.exists():
        pytest.skip("an sdist has no workflow")
    text = workflow.read_text(encoding="utf-8")
    found = re.findall(r":: Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert found
    assert all(f'"{version}"' in text for version in found)


@pytest.mark.parametrize(
    ("formula", "wanted"), [(r"\sum_i w_i", "<mo"), (r"\lVert x_i - \mu \rVert^2", "μ")]
)
def test_formulas_become_mathml(formula, wanted):
    docutils = pytest.importorskip("docutils.nodes")
    pytest.importorskip("sphinx")
    converted = runpy.run_path(str(ROOT / "docs" / "mathml.py"))["_converted"]
    text = converted(docutils.math(text=formula), as_block=True)
    assert "<math" in text
    assert wanted in text
