"""
A labeling session: ask, answer, undo, continue tomorrow
========================================================

No knowledge yet? A session asks one question at a time and saves every answer before it asks the
next one. This is what ``linkwise label`` and ``linkwise studio`` do on a terminal and in a browser.
"""

# %%
# Coffee beans of three origins, which differ in acidity, whatever their roast. Somebody can taste
# whether two of them come from the same place.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from linkwise import Session, plot_clusters
from linkwise.evaluation import score

rng = np.random.default_rng(0)
y = np.repeat([0, 1, 2], 60)
X = np.column_stack([4 + y + rng.normal(0, 0.28, 180), rng.uniform(1, 9, 180)])
X = (X - X.mean(axis=0)) / X.std(axis=0)
plain = KMeans(3, n_init=10, random_state=0).fit_predict(X)
print(f"k-means, told nothing: ARI {score(y, plain).ari:.2f}")
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "beans.db"


def taste(i, j):
    """What the person says; any way to get an answer will do."""
    return "same" if y[i] == y[j] else "different"


# %%
# A question is a pair of rows. The answer is "same", "different" or "unsure"; any number of answers
# can be undone.

with Session(X, n_clusters=3, path=path, random_state=0) as session:
    i, j = session.ask()
    print(f"Do beans {i} and {j} come from the same place?")
    session.tell(taste(i, j))
    i, j = session.ask()
    session.tell("unsure")
    session.undo()  # let us look at these two again
    session.run(taste, 9)  # asks and tells nine times
    early = session.refit().labels, session.constraints

# %%
# The next day, the session continues from its file.

with Session(X, n_clusters=3, path=path, random_state=0) as session:
    print(f"{session.snapshot().progress.n_answers} answers so far")
    session.run(taste, 40)
    print(session.snapshot().progress.hint)
    late = session.refit().labels, session.constraints
folder.cleanup()

# %%
# The lines are answers. The first ten teach the model that acidity matters and the roast does not;
# the next forty are about beans at the borders of the clusters.

origins = np.array(["from Huila", "from Sidamo", "from Toraja"])[y]
figure, panels = plt.subplots(1, 2, figsize=(10, 4.8), sharey=True, layout="constrained")
entries = {}
for ax, (labels, answers) in zip(panels, (early, late), strict=True):
    plot_clusters(X, labels, answers, classes=origins, like=y, legend=False, ax=ax)
    ax.set_title(f"After {answers.n_constraints} answers", loc="left", weight="bold", pad=22)
    ax.text(0, 1.02, f"ARI {score(y, labels).ari:z.2f}", color="0.35", transform=ax.transAxes)
    ax.set(xlabel="acidity")
    handles, words = ax.get_legend_handles_labels()
    entries |= dict(zip(words, handles, strict=True))
panels[0].set(ylabel="roast")
figure.legend(entries.values(), entries, loc="outside lower center", ncols=7, frameon=False)
plt.show()
