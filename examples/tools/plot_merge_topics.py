"""
Topics of BERTopic, merged by answers
=====================================

A topic model splits what people see as one topic, because they write about it in different words.
Somebody answers a few questions on pairs of topics; the topics that belong together become groups,
and the clusterer keeps them together, also for new documents.
"""

# %%
# Three topics, each written about in three ways that share no word. In place of sentence
# embeddings stands latent semantic analysis, so that the page needs no model.

import itertools

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from linkwise import Constraints, PCKMeans
from linkwise.evaluation import score
from linkwise.integrations import BoundConstraints

ways = {
    "money": ["invoice amount bill total", "refund charged twice card", "tax receipt number"],
    "app": ["crash freeze screen restart", "login password code email", "update slow battery"],
    "parcel": ["late courier tracking delay", "box broken glass wet", "return label pickup"],
}
rng = np.random.default_rng(0)
texts, topic = [], []
for name, vocabularies in ways.items():
    for words in vocabularies:
        for _ in range(30):
            texts.append(" ".join(rng.choice(words.split(), 4)))
            topic.append(name)
embed = make_pipeline(TfidfVectorizer(), TruncatedSVD(12, random_state=0), Normalizer())
X = embed.fit_transform(texts)

# %%
# The topics as the model finds them: ways of writing. With BERTopic and real embeddings, these are
# the lines, and ``topics`` is its list of topics::
#
#     from bertopic import BERTopic
#     from linkwise import ConstrainedHDBSCAN
#
#     clusterer = BoundConstraints(ConstrainedHDBSCAN(15))
#     model = BERTopic(hdbscan_model=clusterer)
#     topics, _ = model.fit_transform(texts, embeddings=X)

found = PCKMeans(9, n_init=5, random_state=0).fit(X)
topics = found.labels_
print(f"{len(set(topics))} topics, ARI {score(topic, topics).ari:.2f}")

# %%
# One question per pair of topics, on a typical text of each, the nearest pairs first. What follows
# from earlier answers is not asked: topics that are one already, and topics that are apart.

centers = found.cluster_centers_
typical = [int(np.argmin(((X - center) ** 2).sum(axis=1))) for center in centers]
distance = ((centers[:, None] - centers) ** 2).sum(axis=2)
pairs = sorted(itertools.combinations(range(9), 2), key=lambda pair: distance[pair])


def same(i, j):
    """You, or a language model: do these two texts belong together?"""
    return topic[i] == topic[j]


group = list(range(len(centers)))
apart, n_questions = set(), 0
for a, b in pairs:
    a, b = group[a], group[b]
    if a == b or (a, b) in apart or (b, a) in apart:
        continue
    n_questions += 1
    if same(typical[a], typical[b]):
        group = [a if one == b else one for one in group]
        apart = {(a if x == b else x, a if y == b else y) for x, y in apart}
    else:
        apart.add((a, b))
print(f"{n_questions} questions for {len(pairs)} pairs of topics")

# %%
# A must-link between two texts moves these two; a group moves a whole topic. So the answers become
# groups of rows that are together, bound to the clusterer, since a topic model calls ``fit(X)``::
#
#     BERTopic(hdbscan_model=clusterer).fit_transform(texts, embeddings=X)
#
# (BERTopic's own ``merge_topics`` joins the topics too, but a later fit does not know of it.)

known = Constraints(together={row: group[part] for row, part in enumerate(topics.tolist())})
n_topics = len(set(group))
clusterer = BoundConstraints(PCKMeans(n_topics, n_init=5, random_state=0), known)
merged = clusterer.fit(X).labels_
print(f"{n_topics} topics, ARI {score(topic, merged).ari:.2f}")

# %%
# The map has the same places twice: before the answers, and after them.

places = TruncatedSVD(2, random_state=0).fit_transform(X - X.mean(axis=0))
fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True)
shown = {"as found": topics, "merged by answers": merged}
for ax, (title, labels) in zip(axes, shown.items(), strict=True):
    ax.scatter(*places.T, c=labels, cmap="tab10", s=14)
    ax.set_title(f"{title}: {len(set(labels))} topics")
    ax.set_xticks([])
    ax.set_yticks([])
plt.tight_layout()
plt.show()
