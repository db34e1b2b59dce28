"""Errors about input that name parameters, so that each caller words them its own way.

A template names parameters in braces: ``"{n_clusters} is too small"``. In Python that reads
``n_clusters=2 is too small``, on the command line ``-k 2 is too small``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from ._help import see

# From the name of a parameter and its value (None: no value) to words.
Wording: TypeAlias = Callable[[str, object], str]

# Advice that the command line words differently; templates contain the keys.
ADVICE = {
    "give_ids": "give sample_ids (one id per row) or a DataFrame with an index",
    "name_columns": 'columns={"i": ..., "j": ...}',
    "name_features": "name the other columns as features",
    "name_special_columns": "name the features to use, or name it as the column of ids or of texts",
    "ids_as_text": 'ids="text" (on the command line: --ids text)',
    "impute_median": "impute=True",
    "scale_columns": "scale=True",
    "assign_auto": 'assignment="auto"',
    "carry_answers": 'data_changed="carry"',
    "iterate_more": "raise max_iter or tol",
    "all_problems": " (see the error's `problems`)",
}
# Parameters that a template may name together with the value: ``{n_clusters=3}``.
_PARAMETERS = (
    "n_clusters", "n_constraints", "max_iter", "y", "tag", "ids", "sample_ids", "columns",
    "features", "impute", "min_size", "max_size", "outliers", "encoding", "missing", "sheet",
    "embedding", "texts",
)  # fmt: skip
_FIELD = re.compile(rf"\{{({'|'.join((*_PARAMETERS, *ADVICE))})(?:=([^{{}}]*))?\}}")


def in_python(name: str, value: object) -> str:
    """Name of a parameter for callers from Python."""
    if name in ADVICE:
        return ADVICE[name]
    return name if value is None else f"{name}={value}"


def as_field(name: str, value: object) -> str:
    """A field of a template, to be worded later."""
    return f"{{{name}}}" if value is None else f"{{{name}={value}}}"


def fill(template: str, wording: Wording) -> str:
    """Replace the fields ``{name}`` and ``{name=value}`` of a template by words.

    Other braces stay as they are: they come from the user's own data.
    """
    return _FIELD.sub(lambda found: wording(found[1], found[2]), template)


class Worded:
    """What errors and warnings about parameters share."""

    template: str = ""
    limit: object = None  # what it has to keep to
    where: str | None = None  # file and line, if it came from one
    topic: str | None = None  # the page of the guide that helps, as ``linkwise help`` takes it

    @property
    def parameter(self) -> str | None:
        """The parameter that is wrong."""
        found = _FIELD.search(self.template)
        return None if found is None else found[1]

    @property
    def value(self) -> str | None:
        """Its value."""
        found = _FIELD.search(self.template)
        return None if found is None else found[2]

    def in_words(self, wording: Wording) -> str:
        """The message, with parameters worded by the caller.

        Parameters
        ----------
        wording : callable
            Called as ``wording(name, value)`` for each parameter in the message; returns its words.
        """
        text = fill(self.template, wording)
        return text if self.topic is None else text + see(self.topic)

    def __str__(self) -> str:
        return self.in_words(in_python)


class ClusterError(RuntimeError):
    """A Dask cluster that is gone, or has no workers left: no fault of linkwise."""


class InputError(Worded, ValueError):
    """A parameter or a file that cannot be used."""

    def __init__(
        self, template: str, *, topic: str | None = None, limit: object = None,
        where: str | None = None,
    ):  # fmt: skip
        super().__init__(template)
        self.template, self.topic, self.limit, self.where = template, topic, limit, where
