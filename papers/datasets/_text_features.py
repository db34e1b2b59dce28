"""Texts to word counts or TF-IDF weights, as the papers on newsgroups do it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

WEIGHTINGS = ("tfidf", "counts")

# Chosen so that the three news sets have about as many words as in Basu et al. (2006). A lower
# limit than half of the messages (15 % is common) would cost a group its own words, such as
# "god" or "windows": each group is a third of the messages.
MIN_MESSAGES = 3
MAX_SHARE = 0.5
WORD = r"(?u)\b[a-zA-Z]{2,}\b"


def word_matrix(texts: NDArray[np.object_], weighting: str) -> tuple[Any, list[str]]:
    """Count the words of texts, or weigh them by TF-IDF.

    Parameters
    ----------
    texts : ndarray of shape (n,)
    weighting : {"tfidf", "counts"}

    Returns
    -------
    data : CSR matrix of shape (n, n_words), float64
        With "tfidf" each row has length 1.
    words : list of str
    """
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

    counter = CountVectorizer(
        stop_words="english",
        token_pattern=WORD,
        min_df=MIN_MESSAGES,
        max_df=MAX_SHARE,
        dtype=np.float64,
    )
    counts = counter.fit_transform(texts)
    words = [str(word) for word in counter.get_feature_names_out()]
    return (TfidfTransformer().fit_transform(counts) if weighting == "tfidf" else counts), words
