"""
Text: three newsgroups and what a reader knows
==============================================

Documents are long and sparse rows of word weights, compared by the angle between them. HMRF-KMeans
clusters them by this angle, learns which words matter, and keeps the rows sparse.
"""

# %%
# Three hundred messages from three newsgroups (News-Different-3 of the literature), if
# `fetch_20newsgroups` of scikit-learn has downloaded them before. Otherwise documents are made up
# out of three vocabularies.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import TfidfVectorizer

from linkwise import Constraints, HMRFKMeans
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


names = ["space", "baseball", "atheism"]
try:
    groups = ["sci.space", "rec.sport.baseball", "alt.atheism"]
    news = fetch_20newsgroups(subset="all", categories=groups, download_if_missing=False)
except OSError:
    print("The messages are not on this machine; made-up documents are used.")
    texts, y = made_up(np.random.default_rng(0))
    reader = TfidfVectorizer()
else:
    names = [name.split(".")[-1] for name in news.target_names]
    rows = np.concatenate([np.flatnonzero(news.target == group)[:100] for group in range(3)])
    texts, y = [news.data[row] for row in rows], news.target[rows]
    reader = TfidfVectorizer(stop_words="english", min_df=3, max_df=0.5)
X, words = reader.fit_transform(texts), reader.get_feature_names_out()
print(f"{X.shape[0]} documents, {X.shape[1]} words, {X.nnz / X.shape[0]:.0f} of them in each")

# %%
# A reader says for some pairs of documents whether they have the same topic. There are three draws
# of pairs; with 0 pairs, the figure is that of k-means with cosine distances.

counts = (0, 50, 100, 200, 400)
found = np.empty((3, len(counts)))
for draw in range(3):
    for place, count in enumerate(counts):
        known = Constraints.from_labels(y, count, random_state=draw)
        model = HMRFKMeans(3, distortion="cosine", learn=count > 0, random_state=0)
        found[draw, place] = score(y, model.fit_predict(X, constraints=known)).nmi

# %%
# What a cluster is about: the words whose weight in its center is the highest.

for center in model.cluster_centers_:
    print(", ".join(words[np.argsort(-center)[:8]]))

# %%
# The more pairs a reader judges, the better the groups are separated.

figure, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
ax.plot(counts, found.T, "o", color="#0072b2", alpha=0.35, ms=5, mew=0)
ax.plot(counts, found.mean(axis=0), color="#0072b2", lw=2)
ax.set(xlabel="pairs that a reader judged", ylabel="NMI, all documents", ylim=(0, 1.02))
ax.set_xticks(counts)
ax.set_title(f"{', '.join(names)}: three draws of pairs, and their mean", loc="left", size=10)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
