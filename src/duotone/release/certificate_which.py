"""Certificates of one answer among k: a row for each distance to any other answer, numbers by place in an order of preference.

Either each place has a number, and then wrong answers are near the truth; or the truth has one and all others together, which
are alike, have another. In the first row the others are alike in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import Any

from duotone.release.certificate_numbers import Head, Phi, Unproved, as_kind, check_close

MOST_ANSWERS = 2**16


def columns(claims: Mapping[str, Any]) -> list[str]:
    """The outcomes that a certificate with these claims has numbers for."""
    which = as_kind(dict, claims["which"])
    answers, ordered = which["answers"], which["ordered"]
    if not (which.keys() == {"answers", "ordered"} and type(answers) is int and 2 <= answers <= MOST_ANSWERS):
        raise Unproved(f"one answer is chosen among 2 to {MOST_ANSWERS}")
    if type(ordered) is not bool:
        raise Unproved("answers are in order, or they are not: true or false")
    return [str(place) for place in range(answers)] if ordered or answers == 2 else ["0", "others"]


def prove_which(certificate: Mapping[str, Any], head: Head) -> str:
    """Neighbours' rows are private over all events, as are those of two answers at distance 0; and the truth of the first row,
    and each prefix sum after it, are as large as privacy allows."""
    which, step, (private, ceiling) = certificate["claims"]["which"], head.shrunk_step(), head.steps()
    answers, rows = which["answers"], [head.row(row) for row in as_kind(list, certificate["rows"])]
    if not (rows and type(certificate["lowest"]) is int and certificate["lowest"] == 0):
        raise Unproved("the first row is not that of distance 0")
    if head.order is not None and which["ordered"]:
        raise Unproved("under one Rényi order all wrong answers are alike")
    if "selection" in certificate:
        raise Unproved("groups are selected for yes and no alone")
    head.bound(len(rows) + 2 * head.bits)
    if rows[0] != _first(answers, len(head.outcomes), step):
        raise Unproved("the first row is not the most truthful one of which the other answers are alike")
    if not all(private.private(row, following) for row, following in pairwise(rows)):
        raise Unproved("two neighbouring distances differ by more than the budget allows")
    sums = [list(accumulate(row[:-1])) for row in rows]
    for here, following in pairwise(sums):
        if any(step(s, t) != t for s, t in zip(here, following, strict=True)):
            raise Unproved("a prefix sum is not as large as possible beside that of the row before")
    least = ceiling.other(answers)
    tops = [step.one - (answers - 1 - place) * least for place in range(len(sums[0]))]
    for here, near in zip(sums, [*sums[1:], sums[-1]], strict=True):
        for top, s in zip(tops, here, strict=True):
            check_close(top, s, step)
        before, tops = tops, [ceiling(top, s) for top, s in zip(tops, near, strict=True)]
    for last, top, s in zip(before, tops, sums[-1], strict=True):  # further rows are as the last one
        check_close(last if top == last else step.one, s, step)
    return f"private and optimal: one answer among {answers}, {len(rows)} distances, under {head.budget}"


def _first(answers: int, columns: int, step: Phi) -> list[int]:
    """The most truthful first row of which the others are alike: two answers may then change places."""
    other = step.other(answers)
    truth = step.one - (answers - 1) * other
    if not truth >= other:
        raise Unproved("an answer that is wrong is more likely than the truth")
    return [truth, step.one - truth] if columns == 2 else [truth, *[other] * (answers - 1)]
