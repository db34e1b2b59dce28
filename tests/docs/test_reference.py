"""Every public name is in the reference, with shapes, an example, and the paper it comes from."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import linkwise

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "index.rst").read_text(encoding="utf-8")
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
    """The names of the reference, and what they are."""
    found: dict[str, object] = {}
    for name in re.findall(r"^   ([\w.]+)$", PAGE, re.M):
        place, _, last = name.rpartition(".")
        assert name not in found, f"docs/reference/index.rst lists {name} twice"
        found[name] = getattr(importlib.import_module(f"linkwise.{place}".rstrip(".")), last)
    return found


NAMES = public_names()


def section(doc: str, name: str) -> str:
    found = re.search(rf"^{name}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", doc, re.M | re.S)
    return found[1] if found else ""


def undocumented(value: object, doc: str) -> list[str]:
    """Parameters that neither Parameters nor Attributes of a docstring name."""
    described = section(doc, "Parameters") + section(doc, "Attributes")
    return [
        parameter.name
        for parameter in inspect.signature(value).parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and not parameter.name.startswith("_")
        and parameter.name not in ("self", "cls")
        and not re.search(rf"^[\w, ]*\b{parameter.name}\b", described, re.M)
    ]


def test_public_names_have_an_example():
    problems = []
    for name, value in NAMES.items():
        doc = inspect.getdoc(value) or ""
        if ">>>" not in section(doc, "Examples"):
            problems.append(f"{name} has no example")
        problems += [f"{name}: {missing}" for missing in undocumented(value, doc)]
    assert not problems, "\n".join(problems)


def test_a_guide_page_shows_each_name():
    pages = [*(DOCS / "guide").glob("*.md"), *(DOCS / "tutorials").glob("*.md"), DOCS / "scale.md"]
    words = set(re.findall(r"\w+", " ".join(page.read_text(encoding="utf-8") for page in pages)))
    assert [name for name in NAMES if name.rpartition(".")[2] not in words] == []
    assert len(NAMES) <= 90


def test_names_of_the_package_are_in_the_reference():
    assert {*linkwise.__all__} - {"__version__"} <= {*NAMES}


def test_methods_name_their_source():
    for name in METHODS:
        doc = inspect.getdoc(getattr(linkwise, name))
        for part in ("References\n", "shape (", "Attributes\n"):
            assert part in doc, (name, part)
        assert not re.search(r"^ +As in `\w+`", doc, re.M), name
    for name, equation in PAPERS.items():
        assert re.search(equation, inspect.getdoc(getattr(linkwise, name))), name


_INHERITED = {
    "get_params", "set_params", "get_metadata_routing", "set_output", "with_traceback", "add_note",
}  # fmt: skip


def public_methods() -> dict[str, object]:
    """Public methods of classes of the reference; an override is documented by a listed base."""
    found: dict[str, object] = {}
    for value in NAMES.values():
        if not inspect.isclass(value):
            continue
        for method, function in inspect.getmembers(value, inspect.isroutine):
            routed = method.startswith("set_") and method.endswith("_request")
            own = "linkwise" in (getattr(function, "__module__", "") or "")
            listed = [base for base in value.__mro__[1:] if base in NAMES.values()]
            own = own and not any(method in vars(base) for base in listed)
            if own and not method.startswith("_") and not routed and method not in _INHERITED:
                found[function.__qualname__] = function
    return found


def test_public_methods_document_their_parameters():
    problems = [
        f"{name}: {missing}"
        for name, function in public_methods().items()
        if not name.startswith("Geometry.")  # its class says what arguments mean in all methods
        for missing in undocumented(function, inspect.getdoc(function) or "")
    ]
    assert not problems, "\n".join(problems)


def test_fit_predict_shows_constraints():
    for name in METHODS:
        method = getattr(getattr(linkwise, name), "fit_predict", None)
        assert method is None or "constraints" in inspect.signature(method).parameters, name
