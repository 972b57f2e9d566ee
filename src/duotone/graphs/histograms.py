"""Counts of people in k categories: levels over a box of counts, or of one histogram with counts in the millions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from duotone.errors import DuotoneError, MissingExtra
from duotone.line.mechanism import NEVER
from duotone.privacy.definition import Array
from duotone.resources import must_fit, progress

Neighbours = Literal["add-remove", "replace"]
Question = Callable[..., Any]
"""A yes/no function of k arrays of counts, one per category."""
CHUNK = 2**18


def levels(question: Question, most: Sequence[int], *, neighbours: Neighbours = "add-remove") -> Array:
    """The level of every histogram with at most `most[i]` people in category i, as a k-dimensional array.

    The datasets are exactly those of the box. Under add-remove one person joins or leaves; under replace one moves to
    another category, so histograms with different totals are not connected. `line.NEVER` stands for infinity.

    Guarantee: exact distances in the box, so neighbours' levels differ by at most 1.

    >>> levels(lambda a, b: a > b, [3, 3]).tolist()[3]
    [2, 1, 0, -1]
    >>> levels(lambda a, b: a > b, [3, 3], neighbours="replace").tolist()[3][:3]
    [1, 0, 0]
    """
    _known(neighbours)
    shape = tuple(int(m) + 1 for m in _checked_counts(most))
    size = math.prod(shape)
    must_fit(size * 30, f"the levels of {size} histograms")
    distances_of = _by_joining() if neighbours == "add-remove" else _by_moving
    yes = _asked(question, shape).reshape(shape)
    distance = distances_of(yes)
    distances = np.where(distance < 0, NEVER, distance.astype(np.int64))
    return np.where(yes, distances, -1 - distances)


def level(question: Question, counts: Sequence[int], *, last: int, neighbours: Neighbours = "add-remove") -> int:
    """The level of one histogram, however large its counts, by testing all histograms 1, 2, … people away.

    The search stops at `last`, the distance from which the mechanism's error is constant (`max(mechanism.certain)` for
    a line's mechanism): a level beyond it is returned as `last`, or −1 − `last`.

    Guarantee: exact up to `last` and cut there, so neighbours' levels differ by at most 1.

    >>> level(lambda a, b: a > b, [3_000_005, 3_000_000], last=14)
    4
    >>> level(lambda a, b: a > b, [3_000_005, 3_000_000], last=14, neighbours="replace")
    2
    """
    _known(neighbours)
    here = _checked_counts(counts)
    if not (type(last) is int and 0 <= last < 2**20):
        raise DuotoneError(f"the last level must be from 0 to {2**20 - 1}, got {last}: give delta above 0, or a larger epsilon")
    answer = bool(_answers(question, here[:, None])[0])
    with progress(last, "people away") as advance:
        for away in range(1, last + 1):
            for offsets in _shells(len(here), away, neighbours):
                near = here[:, None] + offsets
                near = near[:, (near >= 0).all(axis=0)]
                if near.size and (_answers(question, near) != answer).any():
                    return away - 1 if answer else -away
            advance(1)
    return last if answer else -1 - last


def _shells(categories: int, away: int, neighbours: Neighbours) -> Iterator[Array]:
    """The differences between histograms this many people apart, in parts."""
    if neighbours == "replace":
        yield _differences(categories, away, away)
    else:
        yield from (_differences(categories, joined, away - joined) for joined in range(away + 1))


@lru_cache(maxsize=256)
def _differences(categories: int, joined: int, left: int) -> Array:
    """Every way in which `joined` people join and `left` leave, no category having both: one column each."""
    if categories == 1:
        alone = [[joined - left]] if not (joined and left) else np.zeros((1, 0))
        return np.array(alone, dtype=np.int64)
    must_fit(
        8 * categories * math.comb(joined + categories, categories) * math.comb(left + categories, categories), "the search"
    )
    parts = []
    for here in range(-left, joined + 1):
        rest = _differences(categories - 1, joined - max(here, 0), left - max(-here, 0))
        parts.append(np.concatenate([np.full((1, rest.shape[1]), here), rest]))
    return np.concatenate(parts, axis=1)


def _asked(question: Question, shape: tuple[int, ...]) -> Array:
    """The answers of a box, computed in pieces."""
    yes = np.empty(math.prod(shape), dtype=bool)
    with progress(len(yes), "answers") as advance:
        for start in range(0, len(yes), CHUNK):
            stop = min(start + CHUNK, len(yes))
            yes[start:stop] = _answers(question, np.array(np.unravel_index(np.arange(start, stop), shape)))
            advance(stop - start)
    return yes


def _by_joining() -> Callable[[Array], Array]:
    """A function for distances to the boundary (taxicab) in a box where one person joins or leaves; −1 if there is no
    boundary."""
    try:
        from scipy.ndimage import distance_transform_cdt
    except ImportError:
        raise MissingExtra("a box of counts", "fast") from None
    return lambda yes: np.asarray(distance_transform_cdt(~_on_boundary(yes), metric="taxicab"))


def _by_moving(yes: Array) -> Array:
    """The distance to the boundary in a box where one person moves to another category; −1 if there is no boundary."""
    from duotone.graphs import _transform

    strides = [math.prod(yes.shape[axis + 1 :]) for axis in range(yes.ndim)]
    distance = np.empty(yes.size, dtype=np.int32)
    _transform.moves(yes.ravel(), np.array(yes.shape), np.array(strides), distance)
    return distance.reshape(yes.shape)


def _answers(question: Question, counts: Array) -> Array:
    answers = np.asarray(question(*counts))
    if answers.dtype != bool or answers.shape != counts.shape[1:]:
        raise DuotoneError("the question must give one Boolean for each of the histograms it is asked about")
    return answers


def _on_boundary(yes: Array) -> Array:
    boundary = np.zeros(yes.shape, dtype=bool)
    for axis in range(yes.ndim):
        here, edge = np.moveaxis(yes, axis, 0), np.moveaxis(boundary, axis, 0)
        differ = here[1:] != here[:-1]
        edge[1:] |= differ
        edge[:-1] |= differ
    return boundary


def _checked_counts(counts: Sequence[int]) -> Array:
    if not (len(counts) and all(int(c) == c and 0 <= c < 2**62 for c in counts)):
        raise DuotoneError("counts must be at least one whole number, none below 0, all below 2^62")
    return np.array([int(c) for c in counts], dtype=np.int64)


def _known(neighbours: str) -> None:
    if neighbours not in ("add-remove", "replace"):
        raise DuotoneError(f"neighbours must be add-remove or replace, got {neighbours}")
