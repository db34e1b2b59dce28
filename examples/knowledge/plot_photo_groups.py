"""
Faces in photos: groups that are apart
======================================

Two faces in one photo belong to two people. Nobody has to label anything for that: every photo of
a library says it. Here are generated photos, the people in them found with and without that
knowledge.
"""

# %%
# Twelve people, 150 photos with two to five of them. What a face looks like is a point with much
# noise: lighting, angle, age. A few faces are no faces at all but posters and reflections.

import matplotlib.pyplot as plt
import numpy as np

from linkwise import Constraints, COPKMeans, PCKMeans
from linkwise.evaluation import score

rng = np.random.default_rng(7)
n_people, n_photos = 12, 150
photo, person = [], []
for number in range(n_photos):
    for who in rng.choice(n_people, rng.integers(2, 6), replace=False):
        photo.append(number)
        person.append(who)
photo, person = np.array(photo), np.array(person)
looks = rng.normal(size=(n_people, 8))
faces = looks[person] + rng.normal(size=(len(person), 8)) * 0.5
n_posters = 8
posters = rng.normal(size=(n_posters, 8)) * 12
faces = np.vstack([faces, posters])
photo = np.append(photo, rng.choice(n_photos, n_posters))
person = np.append(person, np.full(n_posters, -1))

# %%
# A photo is a group of rows that are apart. It is held as a group: not as pairs.

known = Constraints(apart=photo)
print(known)

# %%
# Three ways to find the people: without the photos, with them, and with rows that fit nowhere left
# out (about as many as there are posters; ``outliers="auto"`` finds the number).

options = {"n_init": 5, "random_state": 0}
models = {
    "no knowledge": PCKMeans(n_people, **options).fit(faces),
    "apart in photos": COPKMeans(n_people, **options).fit(faces, constraints=known),
    "apart, and outliers": COPKMeans(n_people, outliers="auto", **options).fit(
        faces, constraints=known
    ),
}
real = person >= 0
for name, model in models.items():
    shared = known.satisfied(model.labels_).n_violated
    ari = score(person[real], model.labels_[real]).ari
    print(f"{name}: ARI {ari:.2f}; photos with one person twice: {shared}")

# %%
# Each bar is the share of faces that are with the right person. Posters take clusters from people
# unless they may stay out.

figure, ax = plt.subplots(figsize=(7.5, 2.6), layout="constrained")
values = [score(person[real], model.labels_[real]).ari for model in models.values()]
bars = ax.barh(list(models), values, color=["0.7", "#0072b2", "#e69f00"])
ax.bar_label(bars, fmt="%.2f", padding=4)
ax.invert_yaxis()
ax.set(xlim=(0, 1.08), xlabel="ARI of the faces")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
