"""
A labelling session: ask, answer, undo, go on tomorrow
======================================================

No knowledge yet? A session asks for it, one question at a time, and keeps every answer in a file
before it asks the next. This is what ``linkwise label`` and ``linkwise studio`` do on a terminal and
in a browser.
"""

# %%
# The irises, and somebody who can tell the species of two of them apart.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from linkwise import Session, plot_clusters
from linkwise.evaluation import score

iris = load_iris()
X, y = iris.data, iris.target
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "irises.db"

# %%
# A question is a pair of rows. The answer is "same", "different" or "unsure"; any number of answers
# can be undone.

with Session(X, n_clusters=3, path=path, random_state=0) as session:
    i, j = session.ask()
    print(f"Do irises {i} and {j} belong together?")
    session.tell("same" if y[i] == y[j] else "different")
    i, j = session.ask()
    session.tell("unsure")
    print(f"taken back: {session.undo()}")
    for _ in range(7):
        i, j = session.ask()
        session.tell("same" if y[i] == y[j] else "different")
    early = session.refit().labels, session.constraints

# %%
# The next day. The file knows where we were.

with Session(X, n_clusters=3, path=path, random_state=0) as session:
    print(f"{len(session.answers)} answers so far")
    for _ in range(42):
        i, j = session.ask()
        session.tell("same" if y[i] == y[j] else "different")
    print(session.progress.hint)
    late = session.refit().labels, session.constraints
folder.cleanup()

# %%
# The answers as lines, on the map of the irises. The first ones look for one iris of every species;
# later ones ask about the irises that are hardest to place.

species = iris.target_names[y]
figure, panels = plt.subplots(1, 2, figsize=(10, 4.8), sharey=True, layout="constrained")
entries = {}
for ax, (labels, answers) in zip(panels, (early, late), strict=True):
    plot_clusters(X, labels, answers, classes=species, like=y, legend=False, ax=ax)
    ax.set_title(f"After {answers.n_constraints} answers", loc="left", weight="bold", pad=22)
    ax.text(0, 1.02, f"ARI {score(y, labels).ari:.2f}", color="0.35", transform=ax.transAxes)
    handles, words = ax.get_legend_handles_labels()
    entries |= dict(zip(words, handles, strict=True))
figure.legend(entries.values(), entries, loc="outside lower center", ncols=7, frameon=False)
plt.show()
