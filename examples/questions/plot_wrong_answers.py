"""
Wrong answers coming in
=======================

Links arrive in the order people answer, and one answer in five is wrong. The published objective
gets worse with every batch; with a noise model more answers help, and the report names the wrong
ones.
"""

# %%
# Wine, and 400 answers of which 20 % are wrong.
import matplotlib.pyplot as plt
import numpy as np

from linkwise import Constraints, PCKMeans
from linkwise.datasets import load
from linkwise.evaluation import score

wine = load("wine")
X = (wine.data - wine.data.mean(axis=0)) / wine.data.std(axis=0)
answers = Constraints.from_labels(wine.target, 400, random_state=0).flip(0.2, random_state=0)
order = np.random.default_rng(0).permutation(400)

# %%
# Fit after 25, 50, 100, 200 and 400 answers, without and with the noise model.
numbers = (25, 50, 100, 200, 400)
curves: dict[str, list[float]] = {"published objective": [], 'noise="auto"': []}
for number in numbers:
    known = answers.take(np.sort(order[:number]))
    for name, noise in zip(curves, (None, "auto"), strict=True):
        model = PCKMeans(3, noise=noise, random_state=0)
        labels = model.fit(X, constraints=known).labels_
        curves[name].append(score(wine.target, labels).ari)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for name, values in curves.items():
    axes[0].plot(numbers, values, marker="o", label=name)
axes[0].set(xscale="log", xlabel="answers", ylabel="adjusted Rand index", ylim=(0, 1.02))
axes[0].legend()

# %%
# The probability of each answer that it is wrong, for those that are and those that are not.
kept = answers.satisfied(wine.target)
wrong = ~np.concatenate([kept.must_link, kept.cannot_link])
model = PCKMeans(3, noise="auto", random_state=0).fit(X, constraints=answers)
chance = model.report_.wrong
bins = np.linspace(0, 1, 21)
axes[1].hist([chance[~wrong], chance[wrong]], bins, label=["right", "wrong"])
axes[1].set(xlabel="probability that the answer is wrong", ylabel="answers")
axes[1].legend()
print(f"estimated share of wrong answers: {model.noise_:.0%}")
plt.show()
