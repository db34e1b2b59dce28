"""Texts as numbers for a session: latent semantic analysis of their words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from linkwise._errors import InputError
from linkwise.datasets import Features
from linkwise.datasets._features import weigh_words

_DIMENSIONS = 50


def text_features(texts: Sequence[str], seed: int = 0) -> Features:
    """Texts as vectors of length one; a text without words is all zeros.

    Parameters
    ----------
    texts : sequence of str
    seed : int, default=0

    Returns
    -------
    features : Features
        `X`: at most 50 latent dimensions. `units` and `names`: the words themselves (TF-IDF).

    References
    ----------
    Deerwester, Dumais, Furnas, Landauer, Harshman (1990). Indexing by latent semantic analysis.
    """
    try:
        vectorizer, words = weigh_words(texts)
    except ValueError:
        raise InputError("the text has no words to compare by; choose another role") from None
    n = min(_DIMENSIONS, min(words.shape) - 1)
    X = words.toarray() if n < 1 else TruncatedSVD(n, random_state=seed).fit_transform(words)
    X = np.ascontiguousarray(normalize(X))
    return Features(X, vectorizer.get_feature_names_out().tolist(), words, None)
