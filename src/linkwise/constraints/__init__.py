"""What is known: constraints, what follows from them, and whether they can hold.

`Constraints` is the way in; `Tree` holds hierarchies; everything else is reached from these two.
"""

from ._arguments import label_codes, row_names
from ._cliques import Cliques, clique_pairs
from ._closure import Closure, adjacency
from ._coloring import color, color_closure
from ._constraints import Constraints, as_constraints, one_tree
from ._diagnosis import ClusterCount, Contradiction, Diagnosis, Given
from ._display import contradiction_lines, diagnosis_lines, table_html, verdict
from ._errors import ConstraintError
from ._links import confidence_weight, number_nodes
from ._proofs import bound_groups
from ._satisfaction import Satisfaction
from ._tree import Tree, as_tree
from ._triplets import consistent, consistent_subset, irreducible

__all__ = [
    "Cliques",
    "Closure",
    "ClusterCount",
    "ConstraintError",
    "Constraints",
    "Contradiction",
    "Diagnosis",
    "Given",
    "Satisfaction",
    "Tree",
    "adjacency",
    "as_constraints",
    "as_tree",
    "bound_groups",
    "clique_pairs",
    "color",
    "color_closure",
    "confidence_weight",
    "consistent",
    "consistent_subset",
    "contradiction_lines",
    "diagnosis_lines",
    "irreducible",
    "label_codes",
    "number_nodes",
    "one_tree",
    "row_names",
    "table_html",
    "verdict",
]
