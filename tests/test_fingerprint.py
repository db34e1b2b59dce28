"""Equal data has equal digests, however it lies in memory; other data has others."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from linkwise._fingerprint import another_run, data_arrays, digest, parameter_text

X = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("same", [X.copy(), np.asfortranarray(X), np.tile(X, 2)[:, :3]])
def test_memory_layout_does_not_matter(same):
    assert digest(*data_arrays(same)) == digest(*data_arrays(X))


@pytest.mark.parametrize("other", [X[::-1], X.astype(np.float32), X.reshape(3, 4), X + 1e-12])
def test_values_type_and_shape_do(other):
    assert digest(*data_arrays(other)) != digest(*data_arrays(X))


def test_sparse_matrices_in_another_order():
    rows, columns, values = [0, 0, 1, 1], [2, 0, 1, 1], [1.0, 2.0, 3.0, 4.0]
    coo = sparse.coo_matrix((values, (rows, columns)), shape=(2, 3))
    messy = sparse.csr_matrix((values, columns, [0, 2, 4]), shape=(2, 3))
    assert digest(*data_arrays(messy)) == digest(*data_arrays(coo.tocsr()))
    assert digest(*data_arrays(messy)) != digest(*data_arrays(sparse.csr_matrix((3, 2))))


def test_parameters_as_text():
    assert parameter_text(KMeans(3)) == "KMeans"
    assert parameter_text(np.ones(2)) == parameter_text(np.ones(2)) != parameter_text(np.ones(3))
    assert parameter_text(len) == "len"
    assert parameter_text(0.5) == "0.5"


def test_the_error():
    with pytest.raises(ValueError, match="a.csv is of another run: the data differ; name another"):
        raise another_run("a.csv", "the data differ")
