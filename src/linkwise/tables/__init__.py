"""Files: formats by suffix, compression, tables in and out, atomic writes.

Entry points: `read_table` (a file as named columns), `write_table` (columns to a file),
`text_blocks` (lines of a text file in blocks), `open_parquet`, `atomic_write`, and `suffix_of`,
which tells the format of a file from its name. What a format means for constraints is decided in
`constraints/_files.py`.
"""

from ._atomic import atomic_write, drop_cut_line
from ._delimited import line_of_row
from ._excel import read_sheet
from ._formats import (
    DELIMITED,
    EXCEL,
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
from ._frames import AnnDataLike, DatasetLike
from ._json import to_json
from ._memory import half_of_memory
from ._parquet import is_number_type, open_parquet
from ._table import Table, as_table, is_number, load_array, read_table
from ._text import Progress, text_blocks
from ._text_column import TextColumn
from ._write import check_output_format, write_table

__all__ = [
    "DELIMITED",
    "EXCEL",
    "JSON_LINES",
    "MAX_LISTED",
    "NUMPY",
    "PARQUET",
    "AnnDataLike",
    "DatasetLike",
    "FileFormatError",
    "Progress",
    "Table",
    "TextColumn",
    "as_table",
    "atomic_write",
    "check_output_format",
    "drop_cut_line",
    "half_of_memory",
    "is_gzip",
    "is_number",
    "is_number_type",
    "line_of_row",
    "listed",
    "load_array",
    "open_parquet",
    "quoted",
    "read_sheet",
    "read_table",
    "repeated",
    "require_file",
    "suffix_of",
    "text_blocks",
    "to_json",
    "write_table",
]
