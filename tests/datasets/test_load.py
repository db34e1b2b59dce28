import re

import numpy as np
import pytest

from linkwise.datasets import load, names
from linkwise.datasets._load import _sample_size

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


@pytest.mark.parametrize(
    ("n_rows", "sample", "size"),
    [(3165, 0.1, 317), (2263, 0.1, 227), (100, 0.07, 7), (150, 1.0, 150), (150, 1, 1), (5, 1e-9, 1)]
    + [(100, share / 100, share) for share in range(1, 101)],
)
def test_shares_are_rounded_up(n_rows, sample, size):
    assert _sample_size(n_rows, sample) == size


def test_samples_are_seeded_distinct_and_in_order():
    whole = load("digits")
    X, y = load("digits", sample=200, random_state=3, return_X_y=True)
    again, _ = load("digits", sample=200, random_state=3, return_X_y=True)
    other, _ = load("digits", sample=200, random_state=4, return_X_y=True)
    assert np.array_equal(X, again)
    assert not np.array_equal(X, other)
    # Rows of digits are distinct, so each sampled row can be traced.
    row = {data.tobytes(): place for place, data in enumerate(whole.data)}
    places = [row[data.tobytes()] for data in X]
    assert places == sorted(set(places))
    assert np.array_equal(y, whole.target[places])


def test_a_random_state_that_moves_on():
    random = np.random.RandomState(0)
    first, second = (load("iris", sample=0.3, random_state=random).data for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("sample", [0, -1, 151, 0.0, -0.1, 1.5, True, "half", float("nan")])
def test_samples_that_are_none(sample):
    with pytest.raises(ValueError, match=f"sample={sample!r}"):
        load("iris", sample=sample)
