"""Objects as JSON and arrays, and back; only classes of known packages, and no code.

An object is its class and its attributes. Loading makes the object without calling its
`__init__` and sets the attributes, so that opening a file runs nothing that the file brings along.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from linkwise._types import JsonDict

_PACKAGES = ("linkwise", "sklearn")
_MOST_DEPTH = 200
_ATOMS = (str, bool, int, type(None))


class Encoder:
    """Objects to JSON values; arrays are handed to `keep`, which names them.

    Parameters
    ----------
    keep : callable
        Stores an array and returns its name.
    """

    def __init__(self, keep: Callable[[np.ndarray], str]):
        self._keep, self._known = keep, dict[int, int]()
        self._alive: list[object] = []  # an id must not be used again while this is at work

    def __call__(self, value: Any, where: str = "model", depth: int = 0) -> Any:
        """The value as JSON; TypeError names the attribute that cannot be kept."""
        if depth > _MOST_DEPTH:
            raise TypeError(f"{where}: nested too deeply")
        if type(value) in _ATOMS:
            return value
        if isinstance(value, float | np.generic):
            return self._number(value)
        if isinstance(value, np.ndarray):
            return self._array(value, where, depth)
        if sparse.issparse(value):
            parts = [self(getattr(value, name)) for name in ("data", "indices", "indptr")]
            return {"csr": parts, "shape": list(map(int, value.shape))}
        if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
            return {"name": _checked_name(value, where)}
        return self._container(value, where, depth)

    def _number(self, value: float | np.generic) -> JsonDict:
        if isinstance(value, np.generic):
            return {"scalar": self._keep(np.asarray(value))}
        return {"float": float(value).hex()}

    def _array(self, value: np.ndarray, where: str, depth: int) -> JsonDict:
        if value.dtype != object:
            return {"array": self._keep(value)}
        cells = [self(cell, where, depth + 1) for cell in value.ravel().tolist()]
        return {"objects": cells, "shape": list(value.shape)}

    def _container(self, value: Any, where: str, depth: int) -> JsonDict:
        if id(value) in self._known:
            return {"same": self._known[id(value)]}
        if isinstance(value, np.random.RandomState):
            return {"generator": self(value.get_state(legacy=True), where, depth + 1)}
        if type(value) in (list, tuple, set, frozenset):
            return {type(value).__name__: [self(one, where, depth + 1) for one in value]}
        if type(value) is dict:
            pairs = value.items()
            found = [[self(k, where, depth + 1), self(v, where, depth + 1)] for k, v in pairs]
            return {"dict": found}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            found = [self(one, where, depth + 1) for one in value]
            return {"named": _checked_name(type(value), where), "values": found}
        return self._object(value, where, depth)

    def _object(self, value: Any, where: str, depth: int) -> JsonDict:
        name = _checked_name(type(value), where)
        number = self._known[id(value)] = len(self._known)
        self._alive.append(value)
        state = value.__getstate__()
        if isinstance(value, NearestNeighbors):
            state = {attribute: one for attribute, one in state.items() if attribute != "_tree"}
        if state is None:
            state = {}
        if not isinstance(state, dict):
            raise TypeError(f"{where}: the state of {type(value).__name__} cannot be kept")
        kept = {
            attribute: self(one, f"{where}.{attribute}", depth + 1)
            for attribute, one in state.items()
        }
        return {"object": name, "number": number, "state": kept}


class Decoder:
    """JSON values back to objects.

    Parameters
    ----------
    load : callable
        The array with a given name.
    """

    def __init__(self, load: Callable[[str], np.ndarray]):
        self._load, self._known = load, dict[int, Any]()

    def __call__(self, kept: Any) -> Any:
        """The object."""
        if not isinstance(kept, dict):
            return kept
        kind = next(iter(kept))
        if kind in ("list", "tuple", "set", "frozenset"):
            makers = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
            return makers[kind](self(one) for one in kept[kind])
        return getattr(self, f"_{kind}")(kept)

    def _float(self, kept: JsonDict) -> float:
        return float.fromhex(kept["float"])

    def _scalar(self, kept: JsonDict) -> Any:
        return self._load(kept["scalar"])[()]

    def _array(self, kept: JsonDict) -> np.ndarray:
        return self._load(kept["array"])

    def _objects(self, kept: JsonDict) -> np.ndarray:
        found = np.empty(len(kept["objects"]), dtype=object)
        found[:] = [self(cell) for cell in kept["objects"]]
        return found.reshape(kept["shape"])

    def _csr(self, kept: JsonDict) -> Any:
        parts = tuple(self(part) for part in kept["csr"])
        return sparse.csr_matrix(parts, shape=tuple(kept["shape"]))

    def _dict(self, kept: JsonDict) -> dict[Any, Any]:
        return {self(key): self(value) for key, value in kept["dict"]}

    def _name(self, kept: JsonDict) -> Any:
        return _find(kept["name"])

    def _named(self, kept: JsonDict) -> Any:
        return _find_class(kept["named"])(*(self(one) for one in kept["values"]))

    def _same(self, kept: JsonDict) -> Any:
        return self._known[kept["same"]]

    def _object(self, kept: JsonDict) -> Any:
        kind: Any = _find_class(kept["object"])
        made = kind.__new__(kind)
        self._known[kept["number"]] = made
        state = {name: self(value) for name, value in kept["state"].items()}
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
        else:
            vars(made).update(state)
        if isinstance(made, NearestNeighbors) and hasattr(made, "_fit_X"):
            made.fit(made._fit_X)  # its tree is compiled and not kept
        return made

    def _generator(self, kept: JsonDict) -> np.random.RandomState:
        made = np.random.RandomState()
        made.set_state(self(kept["generator"]))
        return made


def _checked_name(value: Any, where: str) -> str:
    """Module and name of a class or function of known packages."""
    module, name = value.__module__ or "", value.__qualname__
    if module.partition(".")[0] not in _PACKAGES or "<" in name:
        raise TypeError(
            f"{where}: {module}.{name} cannot be kept in a model file, which holds numbers, texts "
            "and linkwise's own classes only; leave it out, or use joblib.dump"
        )
    return f"{module}:{name}"


def _find(name: str) -> Any:
    """The class or function of that name, if it is where it says and of a known package."""
    module, _, path = name.partition(":")
    if module.partition(".")[0] not in _PACKAGES:
        raise ValueError(f"the model file names {name!r}, which is not of linkwise or scikit-learn")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    # A module also holds what it imports (os, subprocess): that is not its own.
    if getattr(found, "__module__", None) != module:
        raise ValueError(f"the model file names {name!r}, which is not there")
    return found


def _find_class(name: str) -> type:
    found = _find(name)
    if not isinstance(found, type):
        raise ValueError(f"the model file names {name!r}, which is no class")
    return found
