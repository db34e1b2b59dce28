"""
Active questions against random ones
====================================

Answers cost somebody's time. Most random pairs are easy to guess, so the answers teach little.
linkwise asks the most informative questions.
"""

# %%
# Handwritten threes, eights and nines; the true labels answer in place of a person.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from linkwise import MPCKMeans, Session
from linkwise.active import LabelOracle
from linkwise.evaluation import score

digits = load_digits()
rows = np.flatnonzero(np.isin(digits.target, (3, 8, 9)))[:240]
X, y = PCA(8, random_state=0).fit_transform(digits.data[rows]), digits.target[rows]

# %%
# One session per strategy and seed. After every fifteen answers the model is refitted with the
# answers and what follows from them.

steps = np.arange(10, 101, 15)
strategies = ("RandomPairs", "ExploreConsolidate", "MinMax")
found = {name: np.empty((4, len(steps))) for name in strategies}
for name in strategies:
    for seed in range(4):
        model = MPCKMeans(3, n_init=2, random_state=0)
        with Session(
            X, name, model, 3, refit_every=None, random_state=seed, background=False
        ) as session:
            for place, step in enumerate(steps):
                session.run(LabelOracle(y), step - len(session.snapshot().answers))
                found[name][seed, place] = score(y, session.refit().labels).nmi

# %%
# Explore and Consolidate and MinMax first find one row of every class, then find the cluster of one
# row after the other. At first that is about as good as random pairs; then each row takes at most
# two answers.

figure, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
looks = {"RandomPairs": "0.45", "ExploreConsolidate": "#0072b2", "MinMax": "#e69f00"}
marks = {"RandomPairs": "o", "ExploreConsolidate": "s", "MinMax": "^"}
for name, values in found.items():
    mean, low, high = values.mean(axis=0), values.min(axis=0), values.max(axis=0)
    ax.plot(steps, mean, color=looks[name], marker=marks[name], label=name)
    ax.fill_between(steps, low, high, color=looks[name], alpha=0.12, lw=0)
ax.set(xlabel="answers", ylabel="NMI, all rows", xticks=steps)
ax.set_title("Mean of four sessions; shaded from the worst to the best", loc="left", size=10)
ax.legend(frameon=False, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
