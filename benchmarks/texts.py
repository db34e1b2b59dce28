"""Words, latent semantic analysis of words, or meanings: ARI of texts without links.

Run with ``python -m benchmarks.texts``; needs the texts in ``LINKWISE_DATA`` and wordllama.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from linkwise.studio._texts import text_features

from linkwise import PCKMeans, TextEmbedder
from linkwise.evaluation import score
from linkwise.tables._features import weigh_words

_ROWS = 4000
_DRAWS = 3


def _samples():
    folder = Path(os.environ["LINKWISE_DATA"], "many")
    for name in ("massive_scenario", "clinc150"):
        file = np.load(folder / f"{name}.npz")
        texts, y = file["text"], np.unique(file["y"], return_inverse=True)[1]
        rows = np.random.default_rng(0).permutation(len(y))[:_ROWS]
        texts, y = texts[rows], y[rows]
        _, words = weigh_words(texts)
        kept = np.diff(words.indptr) > 0
        yield name, texts[kept], y[kept]


def _features(texts, embedding):
    yield "TF-IDF", weigh_words(texts)[1]
    yield "LSA of TF-IDF, 50 dimensions", text_features(texts).X
    yield embedding, TextEmbedder(embedding, cache=False).fit_transform(texts)


def main(embedding: str = "wordllama") -> None:
    for name, texts, y in _samples():
        for features, X in _features(texts, embedding):
            found = []
            for seed in range(_DRAWS):
                model = PCKMeans(int(y.max()) + 1, distortion="cosine", random_state=seed)
                found.append(score(y, model.fit(X).labels_).ari)
            error = np.std(found, ddof=1) / np.sqrt(_DRAWS)
            print(f"{name}, {len(y):,} texts, {features}: {np.mean(found):.3f} +- {error:.3f}",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
