"""The error of this package: constraints that contradict each other or cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from linkwise._errors import InputError, fill, in_python
from linkwise.tables import MAX_LISTED


class ConstraintError(InputError):
    """Constraints that cannot be used: wrong input, or constraints that contradict each other.

    Parameters
    ----------
    message : str
        What is wrong, and what to do; names of parameters in braces, see `Worded`.
    problems : sequence of str
        As the attribute; the message alone if not given.
    topic : str, default=None
        As the attribute.

    Attributes
    ----------
    problems : tuple of str
        Every problem; the message shows the first few.
    topic : str or None
        The page of the guide that helps, as ``linkwise help`` takes it.

    See Also
    --------
    Constraints.diagnose : Finds contradictions without raising.

    Examples
    --------
    >>> from linkwise import ConstraintError, Constraints
    >>> try:
    ...     Constraints(must_link=[(0, 0), (1, -2)])
    ... except ConstraintError as error:
    ...     print(len(error.problems))
    2
    """

    __module__ = "linkwise"  # the name that people import, and see in a traceback

    def __init__(self, message: str, problems: Sequence[str] = (), *, topic: str | None = None):
        super().__init__(message, topic=topic)
        self.problems = tuple(fill(problem, in_python) for problem in problems or (message,))

    def __reduce__(self) -> tuple:
        return type(self), (self.template, self.problems), {"topic": self.topic}


def complain(what: str, problems: Sequence[str], topic: str) -> None:
    """Raise one error that names all `problems`; do nothing when there are none."""
    if not problems:
        return
    if len(problems) == 1:
        only = problems[0].replace(f" of {PurePath(what).name}: ", ": ", 1)  # `what` names it
        raise ConstraintError(f"{what}: {only}", problems, topic=topic)
    shown = [f"  {problem}" for problem in problems[:MAX_LISTED]]
    if len(problems) > MAX_LISTED:
        shown.append(f"  ... and {len(problems) - MAX_LISTED:,} more{{all_problems}}")
    listed = "\n".join(shown)
    raise ConstraintError(f"{what}: {len(problems):,} problems\n{listed}", problems, topic=topic)
