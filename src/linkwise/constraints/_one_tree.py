"""`one_tree`: the tree that relative constraints ask for, or why there is none."""

from __future__ import annotations

from ._builder import LinksLike
from ._closure import number_nodes
from ._constraints import Constraints
from ._errors import ConstraintError
from ._tree import Tree
from ._triplets import build_tree


def one_tree(relative: Constraints | LinksLike) -> Tree:
    """Build a tree that satisfies all relative constraints, or tell which cannot be met together.

    The tree is the least resolved one that OneTree finds [1]_: a node has more than two children
    where the constraints leave open what comes first.

    Parameters
    ----------
    relative : Constraints, or rows ``(a, b, c)``
        a and b are closer to each other than either is to c. Must- and cannot-links of a
        `Constraints` play no part.

    Returns
    -------
    tree : Tree
        Its leaves are the rows or ids that the constraints mention.

    Raises
    ------
    ConstraintError
        If no tree satisfies all. The error names a set of constraints that cannot be met
        together, and from which none can be left out.

    References
    ----------
    .. [1] E. Y. Liu, Z. Zhang, W. Wang. Clustering with relative constraints. KDD 2011, section
       4.1.1.

    Examples
    --------
    >>> from linkwise import one_tree
    >>> one_tree([("cat", "dog", "trout"), ("trout", "eel", "cat")]).to_newick()
    '((trout,eel),(cat,dog));'
    """
    given = relative if isinstance(relative, Constraints) else Constraints(relative=relative)
    given = given._like(relative=given._relative)
    if not given.n_relative:
        raise ConstraintError("no relative constraints: there is nothing to build a tree from")
    items, (triplets,) = number_nodes(given._relative.ends)
    built = build_tree(triplets, len(items))
    if built.parent is None:
        given.diagnose().raise_if_inconsistent()
    assert built.parent is not None
    return Tree(built.parent, given._names(items))
