"""Files: formats by suffix, compression, tables in and out, atomic writes.

Entry points: `read_table` (a file as named columns), `write_table` (columns to a file),
`text_blocks` (lines of a text file in blocks), `open_parquet`, `atomic_write`, and `suffix_of`,
which tells the format of a file from its name. What a format means for constraints is decided in
`constraints/_files.py`.
"""

from ._atomic import atomic_write, drop_cut_line
from ._delimited import line_of_row
from ._formats import (
    DELIMITED,
    JSON_LINES,
    MAX_LISTED,
    NUMPY,
    PARQUET,
    FileFormatError,
    is_gzip,
    listed,
    quoted,
    repeated,
    require_file,
    suffix_of,
)
from ._parquet import is_number_type, open_parquet
from ._table import Table, is_number, read_table
from ._text import Progress, text_blocks
from ._write import check_output_format, write_table

__all__ = [
    "DELIMITED",
    "JSON_LINES",
    "MAX_LISTED",
    "NUMPY",
    "PARQUET",
    "FileFormatError",
    "Progress",
    "Table",
    "atomic_write",
    "check_output_format",
    "drop_cut_line",
    "is_gzip",
    "is_number",
    "is_number_type",
    "line_of_row",
    "listed",
    "open_parquet",
    "quoted",
    "read_table",
    "repeated",
    "require_file",
    "suffix_of",
    "text_blocks",
    "write_table",
]
