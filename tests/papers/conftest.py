"""The data files are not part of the repository: tests that need them are skipped without them."""

import functools
import os
from pathlib import Path

import pytest

from papers.datasets import load


@pytest.fixture(scope="session")
def data_folder():
    beside = Path(__file__).parents[3] / "shared" / "datasets"
    folder = Path(os.environ.get("LINKWISE_DATA") or beside)
    if not folder.is_dir():
        pytest.skip(f"no data files in {folder}; set LINKWISE_DATA to the folder that holds them")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINKWISE_DATA", str(folder))
        yield folder


@pytest.fixture(scope="session")
def loaded(data_folder):
    """Load each data set once; mnist and the newsgroups take their time."""
    return functools.cache(load)
