"""The one error of this package: what is known contradicts itself, or cannot be read."""

from __future__ import annotations

from collections.abc import Sequence

from linkwise._help import see

SHOWN = 20


class ConstraintError(ValueError):
    """Constraints that cannot be used: wrong input, or knowledge that contradicts itself.

    Parameters
    ----------
    message : str
        What is wrong, and what to do.
    problems : sequence of str
        As the attribute; the message alone if not given.
    topic : str, default=None
        As the attribute.

    Attributes
    ----------
    problems : tuple of str
        Every single thing that is wrong; the message shows the first few of them.
    topic : str or None
        The page of the guide that helps, as ``linkwise help`` takes it.

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
        super().__init__(message if topic is None else message + see(topic))
        self.problems = tuple(problems) or (message,)
        self.topic = topic

    def __reduce__(self) -> tuple:
        return type(self), (str(self), self.problems), {"topic": self.topic}


def complain(what: str, problems: Sequence[str], topic: str) -> None:
    """Raise one error that names all `problems`; do nothing when there are none."""
    if not problems:
        return
    if len(problems) == 1:
        raise ConstraintError(f"{what}: {problems[0]}", problems, topic=topic)
    shown = [f"  {problem}" for problem in problems[:SHOWN]]
    if len(problems) > SHOWN:
        shown.append(f"  ... and {len(problems) - SHOWN:,} more (see the error's `problems`)")
    listed = "\n".join(shown)
    raise ConstraintError(f"{what}: {len(problems):,} problems\n{listed}", problems, topic=topic)
