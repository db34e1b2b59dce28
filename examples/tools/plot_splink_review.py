"""
Clusters of splink, reviewed
============================

splink scores pairs of records and joins the pairs above a threshold. One wrong pair joins two
people. The answers of a clerical review are links; together with splink's clusters they show which
clusters must be split, with proof, and the corrected clusters go back into the table.
"""

# %%
# With splink, the two tables come from::
#
#     pairs = linker.inference.predict(threshold_match_probability=0.5)
#     found = linker.clustering.cluster_pairwise_predictions_at_threshold(pairs, 0.95)
#     clusters = found.as_pandas_dataframe()[["unique_id", "cluster_id"]]
#
# Here is a small table in their place. Carla and Carlo Mendes live together: splink joined them.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer

from linkwise import ConstrainedCompleteLink, Constraints

records = pd.DataFrame(
    {
        "r1": ("Anna Schmidt", "Berlin", "c1"),
        "r2": ("Ana Schmitt", "Berlin", "c2"),
        "r3": ("A. Schmidt", "Berlin", "c1"),
        "r4": ("Bo Larsen", "Oslo", "c3"),
        "r5": ("Boe Larsen", "Oslo", "c3"),
        "r6": ("Carla Mendes", "Porto", "c4"),
        "r7": ("Karla Mendes", "Porto", "c4"),
        "r8": ("Carlo Mendes", "Porto", "c4"),
    },
    index=["name", "city", "cluster_id"],
).T

# %%
# The review, with one line per pair, in the columns that splink writes. ``columns`` says what they
# are called.

review = pd.DataFrame(
    {
        "unique_id_l": ["r1", "r7", "r6"],
        "unique_id_r": ["r2", "r8", "r7"],
        "answer": ["yes", "no", "yes"],
    }
)
columns = {"i": "unique_id_l", "j": "unique_id_r", "link": "answer"}
answers = Constraints.from_frame(review, columns=columns)

# %%
# Do the clusters agree with the review? Clusters are groups of rows that are together. A
# contradiction is proved by the shortest chain of pairs.

found = Constraints(together=dict(records["cluster_id"]))
print((found + answers).diagnose())

# %%
# The cluster of the Mendes family is contradicted; the others are taken over as they are. Inside of
# contradicted clusters only the answers count, and distances of letters decide about the rest.

cluster = records["cluster_id"]
wrong = {cluster[i] for i, j in answers.cannot_link.tolist() if cluster[i] == cluster[j]}
kept = cluster[~cluster.isin(wrong)]
known = Constraints(together=dict(kept)) + answers
print(known.diagnose())

letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3))
X = letters.fit_transform(records["name"] + " " + records["city"]).toarray()
model = ConstrainedCompleteLink(n_clusters=4, metric="cosine")
records["reviewed"] = model.fit(X, constraints=known, sample_ids=list(records.index)).labels_
print(records)

# %%
# Before and after, one line per record: Ana Schmitt has joined, Carlo Mendes is somebody else.

fig, ax = plt.subplots(figsize=(7, 3.5))
before = pd.factorize(records["cluster_id"])[0]
for row, (left, right) in enumerate(zip(before, records["reviewed"], strict=True)):
    here = len(records) - row
    ax.plot([0, 1], [here, here], color="0.8", zorder=0)
    ax.scatter([0, 1], [here, here], c=[left, right], cmap="tab10", vmin=0, vmax=9, s=120)
ax.set_xticks([0, 1], ["splink", "reviewed"])
ax.set_yticks(np.arange(len(records), 0, -1), records["name"])
ax.set_xlim(-0.3, 1.3)
plt.tight_layout()
plt.show()
