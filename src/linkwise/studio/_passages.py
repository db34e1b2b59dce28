"""Which words of two texts to mark: those that both share, and those that tell one apart.

Common words are never marked: where nearly everything is marked, nothing stands out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

_WORD = re.compile(r"\w+|\W+")
_COMMON = 0.2  # share of the texts from which a word tells nothing
_FEW_TEXTS = 20  # below, shares mean nothing
_MOST_OWN = 5  # marked words that only one text has
_SHORTEST = 3

Mark = Literal["", "shared", "own"]
Part = tuple[str, Mark]  # a piece of text, and how it is marked


class Vocabulary:
    """How many texts of a column have each word.

    Parameters
    ----------
    texts : sequence of object
    """

    def __init__(self, texts: Sequence[object] | NDArray):
        self._n_texts = len(texts)
        self._count: Counter[str] = Counter()
        for text in texts:
            self._count.update(words_of(str(text)))

    def tells(self, word: str) -> bool:
        """Whether a word is rare enough to say something, and no slip of the pen."""
        if self._n_texts < _FEW_TEXTS:
            return True
        return self._count[word] <= _COMMON * self._n_texts

    def frequency(self, word: str) -> int:
        """The number of texts with a word."""
        return self._count[word]


def words_of(text: str) -> set[str]:
    """The different words of a text in lower case, without stop words."""
    return {
        word
        for piece in _WORD.findall(text)
        if _is_word(piece)
        and len(word := piece.lower()) >= _SHORTEST
        and word not in ENGLISH_STOP_WORDS
    }


def mark_words(one: str, two: str, known: Vocabulary) -> tuple[list[Part], list[Part]]:
    """Both texts in pieces, with the words that are shared and those that tell them apart.

    Parameters
    ----------
    one, two : str
    known : Vocabulary
        Of the column.

    Returns
    -------
    left, right : list of (str, {"", "shared", "own"})
    """
    a, b = words_of(one), words_of(two)
    shared = {word for word in a & b if known.tells(word)}
    left, right = (
        _parts(text, shared, _own(own - other, known))
        for text, own, other in ((one, a, b), (two, b, a))
    )
    return left, right


def _own(words: Iterable[str], known: Vocabulary) -> set[str]:
    """The few words of one text that most others of its kind would have.

    Of the telling words, the more frequent ones come first: a word that no other text has tells
    nothing about groups.
    """
    telling = [word for word in words if known.tells(word)]
    telling.sort(key=lambda word: (-known.frequency(word), word))
    return set(telling[:_MOST_OWN])


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
