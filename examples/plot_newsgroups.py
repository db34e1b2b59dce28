"""
Text: three newsgroups and what a reader knows
==============================================

Documents are long and sparse rows of word weights, compared by the angle between them.
HMRF-KMeans clusters them so, learns which words count, and never makes the rows dense.
"""

# %%
# Three hundred messages from three newsgroups (News-Different-3 of the literature). The messages are
# not part of linkwise: without them, documents are made up out of three vocabularies.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from linkwise import Constraints, HMRFKMeans
from linkwise.datasets import load
from linkwise.evaluation import score


def made_up(rng):
    """Documents of sixty words, a few of them about their topic, and the topics."""
    topics = (
        "orbit moon launch shuttle rocket mars telescope lunar probe booster",
        "pitcher inning bat league season catcher home run glove stadium",
        "belief god moral atheist faith argument bible reason church doubt",
    )
    common = [f"word{number}" for number in range(400)]
    y = np.repeat(np.arange(3), 100)
    texts = [
        " ".join([*rng.choice(topics[topic].split(), 4), *rng.choice(common, 56)]) for topic in y
    ]
    return texts, y


try:
    news = load("news_different_3", sample=100, random_state=0)
    X, y, words = news.data, news.target, np.array(news.feature_names)
    names = [name.split(".")[-1] for name in news.target_names]
except FileNotFoundError as missing:
    print(f"A stand-in is used. {missing}")
    texts, y = made_up(np.random.default_rng(0))
    reader = TfidfVectorizer()
    X, words = reader.fit_transform(texts), reader.get_feature_names_out()
    names = ["space", "baseball", "atheism"]
print(f"{X.shape[0]} documents, {X.shape[1]} words, {X.nnz / X.shape[0]:.0f} of them in each")
