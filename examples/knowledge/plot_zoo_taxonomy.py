"""
A taxonomy as knowledge: ReCon on the zoo
=========================================

The features of the animals are what one can see: hair, feathers, legs, whether they lay eggs. By
these features alone, some animals end up in the wrong group. A taxonomy corrects this: ReCon builds
a hierarchy that agrees with the taxonomy on all animals that it names.
"""

# %%
# Twenty animals, what one sees of them, and their taxonomy.

import matplotlib.pyplot as plt
import numpy as np

from linkwise import Constraints, ReCon, Tree
from linkwise.evaluation import score

TRAITS = """\
hair feathers eggs milk airborne aquatic backbone fins legs
dog      1 0 0 1 0 0 1 0 4
cat      1 0 0 1 0 0 1 0 4
horse    1 0 0 1 0 0 1 0 4
bat      1 0 0 1 1 0 1 0 2
dolphin  0 0 0 1 0 1 1 1 0
seal     1 0 0 1 0 1 1 1 0
platypus 1 0 1 1 0 1 1 0 4
sparrow  0 1 1 0 1 0 1 0 2
eagle    0 1 1 0 1 0 1 0 2
duck     0 1 1 0 1 1 1 0 2
penguin  0 1 1 0 0 1 1 0 2
ostrich  0 1 1 0 0 0 1 0 2
carp     0 0 1 0 0 1 1 1 0
pike     0 0 1 0 0 1 1 1 0
tuna     0 0 1 0 0 1 1 1 0
stingray 0 0 1 0 0 1 1 1 0
bee      1 0 1 0 1 0 0 0 6
fly      1 0 1 0 1 0 0 0 6
beetle   0 0 1 0 1 0 0 0 6
ant      0 0 1 0 0 0 0 0 6
"""
NEWICK = (
    "((((dog,cat,seal),horse,bat,dolphin,platypus)mammal,((sparrow,eagle),duck,penguin,ostrich)"
    "bird,((carp,pike),tuna,stingray)fish)vertebrate,((bee,ant),fly,beetle)insect);"
)

table = [line.split() for line in TRAITS.splitlines()[1:]]
names = [row[0] for row in table]
X = np.array([row[1:] for row in table], dtype=float)
classes = np.repeat(["mammal", "bird", "fish", "insect"], [7, 5, 4, 4])
tree = Tree.from_newick(NEWICK)
X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)  # legs count as much as hair
k = len(set(classes))

# %%
# Suppose that the taxonomy names only every second animal. A tree becomes constraints of the kind
# "a and b are closer to each other than to c".

known = Constraints.from_tree(tree.restrict(names[::2]))
print(known.diagnose())

# %%
# The hierarchy of ReCon satisfies all of them, and animals that the taxonomy does not name go to
# the closest group.

alone = ReCon(k, linkage="average").fit(X)
model = ReCon(k, linkage="average").fit(X, constraints=known, sample_ids=names)
rest = np.arange(len(X)) % 2 == 1
for what, labels in (("by looks alone", alone.labels_), ("with the taxonomy", model.labels_)):
    everyone, others = score(classes, labels).ari, score(classes[rest], labels[rest]).ari
    print(f"{what:18} ARI {everyone:.2f}; {others:.2f} of the animals that nobody spoke of")

# %%
# Branches in the colors of the clusters; dots are merges of branches that the taxonomy says are
# apart.

figure, panels = plt.subplots(2, 1, figsize=(10, 9), layout="constrained")
for ax, hierarchy, title in zip(
    panels, (alone, model), ("By looks alone", "With a taxonomy of every other animal"), strict=True
):
    hierarchy.plot(ax, ids=names, most=0)
    ax.set_title(title, loc="left", weight="bold")
    ax.set_ylabel("distance")
    ax.tick_params(axis="x", labelsize=9)
plt.show()
