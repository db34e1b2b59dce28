"""Texts as rows of numbers by what they mean: `TextEmbedder`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from linkwise._errors import InputError
from linkwise._optional import optional

Embed: TypeAlias = Callable[[list[str]], ArrayLike]
Rows: TypeAlias = NDArray[np.float32]

WORDLLAMA, SENTENCES = "wordllama", "sentence-transformers"
_DIMENSIONS = 256  # of the weights that are in the wheel of wordllama
_BATCH = 1024


class TextEmbedder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts as dense rows of unit length: close in angle means close in meaning.

    Parameters
    ----------
    model : str, callable or object with ``encode``, default="wordllama"
        ``"wordllama"`` (256 dimensions, no torch, works offline: its weights are in the wheel; pip
        install 'linkwise[text]'); ``"sentence-transformers/NAME"`` for a model of that package,
        which must be installed, by its name or by the path of its folder; an object with
        ``encode``, such as a loaded ``SentenceTransformer``; or a function that takes a list of
        texts and returns an array of shape (n_texts, n_dimensions).
    normalize : bool, default=True
        Scale rows to unit length. Texts without a known word are rows of zeros.

    Attributes
    ----------
    n_features_out_ : int
        Dimensions of the rows.

    References
    ----------
    .. [1] N. Reimers, I. Gurevych. Sentence-BERT: sentence embeddings using Siamese BERT-networks.
       EMNLP 2019.

    Examples
    --------
    >>> from linkwise import TextEmbedder
    >>> def embed(texts):
    ...     return [[len(text), text.count(" ")] for text in texts]
    >>> TextEmbedder(embed, normalize=False).fit_transform(["a bc", "d"])
    array([[4., 1.],
           [1., 0.]], dtype=float32)
    """

    def __init__(self, model: str | Embed = WORDLLAMA, *, normalize: bool = True):
        self.model = model
        self.normalize = normalize

    def fit(self, X: Iterable[str], y: object = None) -> Self:
        """Find out how many dimensions the model has; nothing is learned.

        Parameters
        ----------
        X : iterable of str
            Texts.
        y : Ignored

        Returns
        -------
        self : object
        """
        texts = _texts(X)
        self.n_features_out_ = self._embed(texts[:1]).shape[1]
        return self

    def transform(self, X: Iterable[str]) -> Rows:
        """Embed texts.

        Parameters
        ----------
        X : iterable of str
            Texts; None counts as "".

        Returns
        -------
        rows : ndarray of shape (n_texts, n_outputs)
        """
        check_is_fitted(self, "n_features_out_")
        rows = self._embed(_texts(X))
        if rows.shape[1] != self.n_features_out_:
            raise ValueError(
                f"the model gives {rows.shape[1]} numbers per text, but {self.n_features_out_} "
                "when it was fitted"
            )
        return rows

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names of the dimensions.

        Parameters
        ----------
        input_features : Ignored

        Returns
        -------
        names : ndarray of shape (n_outputs,)
        """
        check_is_fitted(self, "n_features_out_")
        return np.array([f"textembedder{k}" for k in range(self.n_features_out_)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = True
        return tags

    def _embed(self, texts: list[str]) -> Rows:
        different = list(dict.fromkeys(texts))
        found = _batches(_find(self.model), different)
        if self.normalize:
            length = np.linalg.norm(found, axis=1, keepdims=True)
            found = (found / np.where(length > 0, length, 1.0)).astype(np.float32)
        place = {text: row for row, text in enumerate(different)}
        return found[[place[text] for text in texts]]


def _texts(X: Iterable[str]) -> list[str]:
    if isinstance(X, str):
        raise TypeError("expected a list of texts, not one text")
    values = np.asarray(X, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:  # a frame of one column
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"expected a list of texts; the input has shape {values.shape}")
    if not len(values):
        raise ValueError("expected at least one text")
    texts = ["" if text is None or text != text else text for text in values.tolist()]
    wrong = next((text for text in texts if not isinstance(text, str)), None)
    if wrong is not None:
        raise TypeError(f"expected texts, found {wrong!r} of type {type(wrong).__name__}")
    return texts


# -------------------------------------------------------------------- models


def _find(model: str | Embed) -> Embed:
    if not isinstance(model, str):
        if hasattr(model, "encode"):  # before callable: torch's modules are called with tensors
            return model.encode
        if not callable(model):
            raise TypeError(f"model={model!r}: expected a name or a function of a list of texts")
        return model
    if model == WORDLLAMA:
        return _wordllama()
    kind, slash, name = model.partition("/")
    if kind == SENTENCES and slash and name:
        return _sentence_transformer(name)
    raise InputError(
        f"model={model!r}: expected 'wordllama', 'sentence-transformers/NAME' or a function"
    )


@lru_cache(maxsize=1)
def _wordllama() -> Embed:
    package = optional("wordllama", extra="text", need="Embedding texts")
    # Its own look-up misses the tokenizer in the wheel ("tokenizer" for "tokenizers") and would
    # download it; as a cache, the folder of the package has both files where they are expected.
    folder = Path(str(package.__file__)).parent
    loaded = package.WordLlama.load(dim=_DIMENSIONS, cache_dir=folder, disable_download=True)
    return loaded.embed


@lru_cache(maxsize=1)
def _sentence_transformer(name: str) -> Embed:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise ImportError(
            f"the model {name!r} needs sentence-transformers: pip install sentence-transformers; "
            "without torch there is model='wordllama'"
        ) from None
    try:
        loaded = SentenceTransformer(name)
    except (OSError, ValueError) as error:
        raise InputError(
            f"the model {name!r} of sentence-transformers cannot be loaded "
            f"({str(error).splitlines()[0]}); without a connection, name the folder that it is in, "
            "or use 'wordllama', which downloads nothing"
        ) from error

    def embed(texts: list[str]) -> ArrayLike:
        return loaded.encode(texts, show_progress_bar=False)

    return embed


def _batches(embed: Embed, texts: Sequence[str]) -> Rows:
    # Models fill up the texts of a batch to the longest one: texts of like length go together.
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    parts = []
    for start in range(0, len(order), _BATCH):
        part = [texts[place] for place in order[start : start + _BATCH]]
        parts.append(_checked(embed(part), len(part)))
    if len({part.shape[1] for part in parts}) != 1:
        raise ValueError("the model gives rows of different length for different texts")
    found = np.empty((len(texts), parts[0].shape[1]), dtype=np.float32)
    found[order] = np.concatenate(parts)
    return found


def _checked(found: ArrayLike, n_texts: int) -> Rows:
    rows = np.asarray(found, dtype=np.float32)
    if rows.ndim != 2 or len(rows) != n_texts:
        raise ValueError(
            f"the model returns an array of shape {rows.shape} for {n_texts} texts; expected one "
            "row per text"
        )
    if not np.isfinite(rows).all():
        raise ValueError("the model returns NaN or infinite numbers")
    return rows
