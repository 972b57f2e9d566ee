"""Questions by parts: whether most of several parts of the people say yes to any question, each asked by itself."""

from __future__ import annotations

from duotone.model.checks import Neighbours


def parts_level(yes: int, parts: int, neighbours: Neighbours = "add-remove") -> int:
    """The level, if `yes` of an odd number of parts say yes: how many more than half, less one; −1 minus that for a no.

    **Guarantee.** Let each person be in one part, whoever else there is. Then neighbours' levels differ by at most 1,
    whatever is asked of the parts. With one person more or less, the people of one part change and no other's, so that
    at most one answer does. Under replace, somebody else may be in another part, and two answers may change: so two
    parts count as one. Nothing is used of the question itself, not even that it gives the same answer twice: where it
    draws at random, all this holds for each outcome of the draws of the other parts, which one part's people do not
    move, and for mixtures of them.

    >>> [parts_level(yes, 5) for yes in range(6)], [parts_level(yes, 5, "replace") for yes in range(6)]
    ([-3, -2, -1, 0, 1, 2], [-2, -1, -1, 0, 0, 1])
    """
    most = yes - (parts + 1) // 2
    return most // 2 if neighbours == "replace" else most
