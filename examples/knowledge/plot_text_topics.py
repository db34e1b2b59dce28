"""
Text: by topic or by tone?
==========================

The same messages can be grouped in more than one way. k-means finds the grouping that most words
speak for. A reader who says of a few pairs whether they belong together chooses the grouping that
is wanted.
"""

# %%
# Three hundred made-up messages of 36 words. Each has a topic (space, baseball or religion) and a
# tone (polite, angry or asking): six words of its topic, six of its tone, and 24 words that say
# nothing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from linkwise import Constraints, COPKMeans, HMRFKMeans, PCKMeans
from linkwise.evaluation import score

topics = (
    "orbit moon launch shuttle rocket mars telescope lunar probe booster",
    "pitcher inning bat league season catcher home run glove stadium",
    "belief god moral atheist faith argument bible reason church doubt",
)
tones = (
    "please thanks kindly grateful appreciate sincerely regards welcome",
    "wrong stupid nonsense never ridiculous angry awful disagree",
    "how what why which anyone somebody know wonder",
)
rng = np.random.default_rng(0)
common = [f"word{number}" for number in range(200)]
topic, tone = np.repeat(np.arange(3), 100), rng.integers(0, 3, 300)
texts = [
    " ".join(
        [
            *rng.choice(topics[a].split(), 6),
            *rng.choice(tones[b].split(), 6),
            *rng.choice(common, 24),
        ]
    )
    for a, b in zip(topic, tone, strict=True)
]
reader = TfidfVectorizer(sublinear_tf=True)
X, words = reader.fit_transform(texts), reader.get_feature_names_out()

# %%
# Without knowledge, the clusters are the tones: there are fewer words for a tone than for a topic,
# so each of them is repeated more often.

plain = PCKMeans(3, distortion="cosine", n_init=10, random_state=0).fit(X)
print(f"agreement with the tones  NMI {score(tone, plain.labels_).nmi:.2f}")
print(f"agreement with the topics NMI {score(topic, plain.labels_).nmi:.2f}")

# %%
# The reader wants topics and says of some random pairs whether they have the same one. TF-IDF rows
# have length one, so that Euclidean distances (``COPKMeans``) order them as cosine distances do.

methods = {
    "COPKMeans": COPKMeans(3, n_init=10, random_state=0),
    "PCKMeans, cosine": PCKMeans(3, distortion="cosine", n_init=10, random_state=0),
    "HMRFKMeans, cosine": HMRFKMeans(3, distortion="cosine", n_init=5, random_state=0),
}
counts = (0, 25, 50, 100, 200)
found = {name: np.empty((4, len(counts))) for name in methods}
for draw in range(4):
    for place, count in enumerate(counts):
        known = Constraints.from_labels(topic, count, random_state=draw)
        for name, model in methods.items():
            labels = model.fit_predict(X, constraints=known)
            found[name][draw, place] = score(topic, labels).nmi

# %%
# Twenty-five to fifty pairs are enough to turn the clusters from tones to topics. More right pairs
# do not always help the soft methods: with 200 pairs some of their runs end in a poorer local
# optimum, while the hard method, which satisfies every pair, finds the topics each time.

figure, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
looks = (("#0072b2", "o"), ("#e69f00", "s"), ("#009e73", "^"))
for (name, values), (color, mark) in zip(found.items(), looks, strict=True):
    ax.plot(counts, values.mean(axis=0), color=color, marker=mark, label=name)
    ax.fill_between(counts, values.min(axis=0), values.max(axis=0), color=color, alpha=0.12, lw=0)
ax.set(xlabel="pairs that a reader judged", ylabel="NMI with the topics", ylim=(0, 1.02))
ax.set_xticks(counts)
ax.set_title("Mean of four draws of pairs; shaded from the worst to the best", loc="left", size=10)
ax.legend(frameon=False, loc="lower right")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# What the clusters are about, with 50 pairs: the words whose weight in a center is the highest.

known = Constraints.from_labels(topic, 50, random_state=0)
model = methods["PCKMeans, cosine"].fit(X, constraints=known)
for center in model.cluster_centers_:
    print(", ".join(words[np.argsort(-center)[:8]]))
