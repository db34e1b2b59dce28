"""Fingerprint of the data that a session was started with."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from linkwise._errors import InputError
from linkwise._fingerprint import data_arrays, digest
from linkwise._types import JsonDict, Matrix, PathLike


def fingerprint(X: Matrix, ids: Sequence[Hashable] | None, source: str = "") -> JsonDict:
    """Shape and digests of data and ids; equal for equal data in equal order."""
    return {
        "n_rows": int(X.shape[0]),
        "n_features": int(X.shape[1]),
        "values": digest(*data_arrays(X)),
        "ids": None if ids is None else digest(repr(list(ids))),
        "source": source,
    }


def check_same_data(kept: JsonDict, given: JsonDict, path: PathLike | None) -> None:
    """Refuse data that differs from what the session was started with, and say how."""
    shapes = [(data["n_rows"], data["n_features"]) for data in (kept, given)]
    if shapes[0] != shapes[1]:
        how = "it has {:,} rows and {:,} features, the data given {:,} and {:,}".format(
            *shapes[0], *shapes[1]
        )
    elif kept["values"] != given["values"]:
        how = "the data given is of the same shape, but some values, or their order, differ"
    elif kept["ids"] != given["ids"]:
        how = "the values are the same, but the ids of the rows differ"
    else:
        return
    begun = f" ({kept['source']})" if kept["source"] else ""
    if kept["ids"] is not None and given["ids"] is not None:
        way_out = "Rows have ids: {carry_answers} carries the answers over by id"
    else:
        way_out = (
            "Its answers speak of rows by number and would mean something else here; give the data "
            "it was begun with, prepared the same way, or begin a new session, with ids for the "
            "rows ({sample_ids}), so that answers can follow the data"
        )
    raise InputError(f"session {path} was begun with other data{begun}: {how}. {way_out}")
