"""Tables in and out, and their columns as features: one set of rules for all of linkwise.

Entry points: `read_table` and `as_table` (a file or a frame as named columns), `table_features`
(columns as numbers), `column_kinds` (what columns hold), `TextEmbedder` (texts by meaning),
`write_table` and `atomic_write`. `_files` and `_text` have what readers and writers share.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._cells import is_number
from ._files import (
    DELIMITED,
    EXCEL,
    JSON_LINES,
    MAX_LISTED,
    NUMPY,
    PARQUET,
    FileFormatError,
    atomic_write,
    half_of_memory,
    is_gzip,
    listed,
    quoted,
    repeated,
    require_file,
    suffix_of,
    to_json,
)
from ._read import (
    AnnDataLike,
    DatasetLike,
    Table,
    as_table,
    is_number_type,
    load_array,
    open_parquet,
    read_sheet,
    read_table,
)
from ._text import Progress, text_blocks
from ._write import check_output_format, write_table

if TYPE_CHECKING:
    from ._embedding import TextEmbedder
    from ._features import IMAGES, Features, column_kinds, missing, table_features
    from ._preparation import Preparation

# Loaded on first use: scikit-learn takes a second, and constraints are read without it.
_MODULE_OF = {
    "Features": "_features",
    "IMAGES": "_features",
    "Preparation": "_preparation",
    "TextEmbedder": "_embedding",
    "column_kinds": "_features",
    "missing": "_features",
    "table_features": "_features",
}

__all__ = [
    "DELIMITED",
    "EXCEL",
    "IMAGES",
    "JSON_LINES",
    "MAX_LISTED",
    "NUMPY",
    "PARQUET",
    "AnnDataLike",
    "DatasetLike",
    "Features",
    "FileFormatError",
    "Preparation",
    "Progress",
    "Table",
    "TextEmbedder",
    "as_table",
    "atomic_write",
    "check_output_format",
    "column_kinds",
    "half_of_memory",
    "is_gzip",
    "is_number",
    "is_number_type",
    "listed",
    "load_array",
    "missing",
    "open_parquet",
    "quoted",
    "read_sheet",
    "read_table",
    "repeated",
    "require_file",
    "suffix_of",
    "table_features",
    "text_blocks",
    "to_json",
    "write_table",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
