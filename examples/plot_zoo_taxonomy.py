"""
A taxonomy as knowledge: ReCon on the zoo
=========================================

Animals are described by what one sees: hair, feathers, legs, whether they lay eggs. Clustered by
that alone, some of them end up in odd company. A taxonomy knows better, and ReCon builds a
hierarchy that keeps everything which the taxonomy says about the animals that it names.
"""

# %%
# Thirty animals of the zoo data, and their tree after WordNet. Neither is part of linkwise: without
# them a smaller zoo does.

import matplotlib.pyplot as plt
import numpy as np

from linkwise import Constraints, ReCon, Tree
from linkwise.datasets import load_tree
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


def small_zoo():
    """Twenty animals, what one sees of them, their tree, and their classes."""
    table = [line.split() for line in TRAITS.splitlines()[1:]]
    names = [row[0] for row in table]
    X = np.array([row[1:] for row in table], dtype=float)
    classes = np.repeat(["mammal", "bird", "fish", "insect"], [7, 5, 4, 4])
    return X, names, Tree.from_newick(NEWICK), classes


try:
    tree, zoo = load_tree("zoo")
except FileNotFoundError as missing:
    print(f"A stand-in is used. {missing}")
    X, names, tree, classes = small_zoo()
else:
    names = [name.split("_", 1)[1] for name in zoo.ids]
    classes = zoo.target_names[zoo.target]
    # The first five of every class, each name once.
    chosen = [
        row
        for row, (name, kind) in enumerate(zip(names, classes, strict=True))
        if name not in names[:row] and list(classes[:row]).count(kind) < 5
    ]
    tree = tree.restrict(zoo.ids[chosen])
    X, classes = zoo.data[chosen], classes[chosen]
    names = [names[row] for row in chosen]
    tree = Tree(tree.parent, [leaf.split("_", 1)[1] for leaf in tree.leaves])
X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)  # legs count as much as hair
k = len(set(classes))

# %%
# Suppose that the taxonomy names every other animal only. A tree becomes constraints of the kind
# "a and b are closer to each other than to c".

known = Constraints.from_tree(tree.restrict(names[::2]))
print(known.diagnose())

# %%
# ReCon keeps every one of them in its hierarchy, and the animals that nobody spoke of go where they
# are closest.

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
