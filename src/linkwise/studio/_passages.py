"""Words of two texts to mark: words that both share, and words that only one of them has.

Common words are never marked, so that the informative ones stand out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

_WORD = re.compile(r"\w+|\W+")
_COMMON = 0.2  # share of the texts above which a word separates no groups of common size
_MOST_SINGLE = 5  # marked words that only one text has; more than a line of them is not read

Mark = Literal["", "shared", "own"]
Part = tuple[str, Mark]  # a piece of text, and how it is marked


class Vocabulary:
    """How many texts of a column have each word."""

    def __init__(self, texts: Sequence[object] | NDArray):
        self._n_texts = len(texts)
        self._count: Counter[str] = Counter()
        for text in texts:
            self._count.update(words_of(str(text)))

    def is_rare(self, word: str) -> bool:
        """Whether a word is rare; one that only the two compared texts have always is."""
        return self._count[word] <= max(2, _COMMON * self._n_texts)

    def frequency(self, word: str) -> int:
        """The number of texts with a word."""
        return self._count[word]


def words_of(text: str) -> set[str]:
    """The different words of a text in lower case, without stop words."""
    return {
        word
        for piece in _WORD.findall(text)
        if _is_word(piece) and (word := piece.lower()) and word not in ENGLISH_STOP_WORDS
    }


def mark_words(one: str, two: str, known: Vocabulary) -> tuple[list[Part], list[Part]]:
    """Both texts in pieces, with shared words and words of one text marked.

    Returns
    -------
    left, right : list of (str, {"", "shared", "own"})
    """
    a, b = words_of(one), words_of(two)
    shared = {word for word in a & b if known.is_rare(word)}
    left, right = (
        _parts(text, shared, _own(own - other, known))
        for text, own, other in ((one, a, b), (two, b, a))
    )
    return left, right


def _own(words: Iterable[str], known: Vocabulary) -> set[str]:
    """The most frequent of the rare words of one text: one that no other text has is noise."""
    rare = [word for word in words if known.is_rare(word)]
    rare.sort(key=lambda word: (-known.frequency(word), word))
    return set(rare[:_MOST_SINGLE])


def _parts(text: str, shared: set[str], own: set[str]) -> list[Part]:
    """A text in pieces; a word is marked the first time only, or long texts are all marks."""
    found: list[Part] = []
    seen: set[str] = set()
    for piece in _WORD.findall(text):
        word = piece.lower()
        mark: Mark = "shared" if word in shared else "own" if word in own else ""
        mark = "" if word in seen else mark
        seen.add(word)
        if found and found[-1][1] == mark == "":
            found[-1] = (found[-1][0] + piece, mark)
        else:
            found.append((piece, mark))
    return found


def _is_word(piece: str) -> bool:
    return piece[0].isalnum() or piece[0] == "_"
