"""
A contradiction, found and fixed
================================

Two people noted which beans come from the same farm, and some of their statements contradict each
other. linkwise shows which, with the shortest chain of statements that proves it.
"""

# %%
# The statements are in a CSV file, one line per pair.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from linkwise import ConstraintError, Constraints, PCKMeans, plot_clusters

lines = """\
i,j,link
ana,bo,same
bo,cy,same
cy,di,same
eve,flo,same
flo,gus,same
di,eve,different
ana,cy,same
bo,di,different
"""
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "farms.csv"
    path.write_text(lines)
    known = Constraints.read(path)

# %%
# The diagnosis names the contradiction; a hard method raises the same error.

names = ["ana", "bo", "cy", "di", "eve", "flo", "gus"]
X = np.array([[0, 0], [1, 1.6], [2.2, 1.4], [3, -0.2], [6, 0.2], [7, 1.5], [8, 0]], dtype=float)
diagnosis = known.diagnose(n_clusters=2)
print(diagnosis)
try:
    diagnosis.raise_if_inconsistent()
except ConstraintError as error:
    print("\nConstraintError:", error)

# %%
# The proof is a chain of given statements, so we know which ones to check again. The check shows
# that bo and di do come from one farm, and that line 9 was wrong.

proof = diagnosis.contradictions[0]
fixed = known - Constraints(cannot_link=[("bo", "di")])
print(fixed.diagnose(n_clusters=2))
labels = PCKMeans(2, random_state=0).fit(X, constraints=fixed, sample_ids=names).labels_

# %%
# Solid lines say "same", dotted ones "different". The contradiction is red: two steps along the
# solid lines make bo and di the same, the dotted line makes them differ.

figure, panels = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
for ax, links in zip(panels, (known - proof.proof, fixed), strict=True):
    plot_clusters(X, labels, links, sample_ids=names, legend=False, ax=ax)
    for name, (x, y) in zip(names, X, strict=True):
        below = -16 if y < 1 else 8
        ax.annotate(name, (x, y), (0, below), textcoords="offset points", ha="center")
    ax.set(xlim=(-0.7, 8.7), ylim=(-0.9, 2.2), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
panels[0].collections[-1].set_facecolor("#98a2b3")  # nothing can be said of farms yet
for link in proof.links:
    ends = X[[names.index(row) for row in link.rows]]
    panels[0].plot(*ends.T, color="#cc3311", ls="-" if link.kind == "must" else ":", lw=2.2)
panels[0].set_title("As written: lines 3, 4 and 9 cannot all be true", loc="left", size=11)
panels[1].set_title("Line 9 taken out: two farms", loc="left", size=11)
plt.show()
