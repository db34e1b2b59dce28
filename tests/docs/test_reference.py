"""Every public name is in the reference, with shapes, an example, and the paper it comes from."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

import linkwise

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "index.rst").read_text(encoding="utf-8")
SHARED = PAGE.index("For those who extend linkwise")  # from here on, examples are not asked for
PAPERS = {  # names with a paper behind them, and what its reference must point at
    "RCA": r"\(2\.10\)",
    "BoostCluster": r"\(13\)",
    "ComparisonMetric": r"equation|section|\(\d",
    "GPKMeans": r"\(3\.\d+\)",
    "HMRFKMeans": r"\(3\.\d+\)",
    "MPCKMeans": r"\(2\.\d+\)",
    "PCKMeans": r"equation|section|\(\d",
    "ReCon": r"section|equation|\(\d",
    "propagate": r"\(3\.\d+\)",
}
METHODS = [
    name
    for name in linkwise.__all__
    if inspect.isclass(getattr(linkwise, name)) and hasattr(getattr(linkwise, name), "fit")
]


def public_names() -> dict[str, object]:
    """Every public object once, by the shortest name it can be imported under."""
    found: dict[int, tuple[str, object]] = {}
    for place in ("", *linkwise._MODULES, "report", "engines"):
        module = importlib.import_module(f"linkwise.{place}" if place else "linkwise")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found.setdefault(id(value), (f"{place}.{name}".lstrip("."), value))
    return dict(found.values())


NAMES = public_names()


def listed(name: str) -> int:
    found = re.search(rf"^   {re.escape(name)}$", PAGE, re.M)
    assert found, f"docs/reference/index.rst lacks {name}"
    return found.start()


def section(doc: str, name: str) -> str:
    found = re.search(rf"^{name}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", doc, re.M | re.S)
    return found[1] if found else ""


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_in_the_reference(name):
    value, place = NAMES[name], listed(name)
    doc = inspect.getdoc(value) or ""
    assert doc, f"{name} has no docstring"
    if place > SHARED:
        return
    assert ">>>" in section(doc, "Examples"), f"{name} has no example"
    told = section(doc, "Parameters") + section(doc, "Attributes")
    for parameter in inspect.signature(value).parameters.values():
        optional = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if not optional and not parameter.name.startswith("_"):
            assert re.search(rf"^[\w, ]*\b{parameter.name}\b", told, re.M), parameter.name


def test_nothing_else_is_in_the_reference():
    inside = re.findall(r"^   ([\w.]+)$", PAGE, re.M)
    assert len(inside) == len(set(inside))
    assert set(inside) == set(NAMES)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_says_where_it_comes_from(name):
    value = getattr(linkwise, name)
    doc = inspect.getdoc(value)
    assert "References\n" in doc, name
    assert "shape (" in doc, name
    assert "Attributes\n" in doc, name


@pytest.mark.parametrize("name", PAPERS)
def test_equations_are_named(name):
    doc = inspect.getdoc(getattr(linkwise, name))
    assert re.search(PAPERS[name], doc), f"{name} names no equation"
