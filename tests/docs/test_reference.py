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


_INHERITED = {
    "get_params", "set_params", "get_metadata_routing", "set_output", "with_traceback", "add_note",
}  # fmt: skip


def public_methods() -> dict[str, object]:
    """Every public method of a class of the reference, by the name it is defined under."""
    found: dict[str, object] = {}
    for name, value in NAMES.items():
        if not inspect.isclass(value) or listed(name) > SHARED:
            continue
        for method, function in inspect.getmembers(value, inspect.isroutine):
            routed = method.startswith("set_") and method.endswith("_request")
            own = "linkwise" in (getattr(function, "__module__", "") or "")
            if own and not method.startswith("_") and not routed and method not in _INHERITED:
                found[function.__qualname__] = function
    return found


METHODS_OF_CLASSES = public_methods()


@pytest.mark.parametrize("name", METHODS_OF_CLASSES)
def test_a_method_says_what_its_parameters_are(name):
    function = METHODS_OF_CLASSES[name]
    doc = inspect.getdoc(function)
    assert doc, f"{name} has no docstring"
    told = section(doc, "Parameters")
    for parameter in inspect.signature(function).parameters.values():
        optional = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if not optional and parameter.name not in ("self", "cls"):
            assert re.search(rf"^[\w, ]*\b{parameter.name}\b", told, re.M), parameter.name


@pytest.mark.parametrize("name", METHODS)
def test_no_docstring_sends_readers_to_another_class(name):
    doc = inspect.getdoc(getattr(linkwise, name)) or ""
    assert not re.search(r"^ +As in `\w+`", doc, re.M)


@pytest.mark.parametrize("name", METHODS)
def test_fit_predict_shows_constraints(name):
    method = getattr(getattr(linkwise, name), "fit_predict", None)
    if method is not None:
        assert "constraints" in inspect.signature(method).parameters
