import re

import numpy as np
import pytest

from linkwise.datasets import load, names

SIZES = {"iris": (150, 4, 3), "wine": (178, 13, 3), "wdbc": (569, 30, 2), "digits": (1797, 64, 10)}


@pytest.mark.parametrize("name", names())
def test_sizes(name):
    bunch = load(name)
    n, d, k = SIZES[name]
    assert (bunch.data.shape, bunch.target.shape) == ((n, d), (n,))
    assert len(bunch.feature_names) == d
    assert len(bunch.target_names) == k
    assert np.array_equal(np.unique(bunch.target), np.arange(k))
    assert bunch.name == name
    assert f"{n:,} rows" in bunch.DESCR
    assert "Source: " in bunch.DESCR


@pytest.mark.parametrize(
    ("typed", "name"), [("Breast Cancer", "wdbc"), ("Iris", "iris"), ("digits-1797", "digits")]
)
def test_names_as_people_type_them(typed, name):
    assert load(typed).name == name


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("irsi", "called 'irsi'; did you mean 'iris'? All names: digits, iris, wdbc, wine"),
        ("pendigits", "The data sets of the papers are loaded by papers.datasets in a clone"),
    ],
)
def test_unknown_names(typed, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        load(typed)
