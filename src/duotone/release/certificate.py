"""Certificates: a mechanism re-checked with integers only, by someone who trusts nothing in it.

A certificate proves that its table is private (every pair of neighbours, as integers), that it is optimal (every entry
is held down by a chain of tight steps that ends at a fixed boundary value, and lies within 2^−60 of a bound from above
on the real optimum) and that its ratio is e^ε rounded down. One of close calls proves that so many fit into a budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from duotone.release.certificate_close_calls import prove_close_calls
from duotone.release.certificate_graph import prove_graph
from duotone.release.certificate_numbers import (
    Unproved,
    as_kind,
    brief,
    exp_bounds,
    read_bits,
    read_definition,
    read_entry,
)
from duotone.release.certificate_steps import LOSS, Step, check_close, check_error, checked_boundary

__all__ = ["Unproved", "exp_bounds", "prove"]


def prove(certificate: Any) -> str:
    """Check that a mechanism is private and as often right as can be, by the certificate that comes with its answers.

    Use it on what you received, trusting neither the sender nor the file. `certificate` is the JSON object: what
    `Answer.certificate()` gave, or a file read by `duotone.graphs.document.read`. The sentence that comes back says what was
    proved (its ratio is e^ε; one of close calls says how many fit into a budget); a certificate that does not prove its
    claims raises `Unproved`, which says what fails. That an answer was drawn from this mechanism is not in it: for that, one
    trusts whoever drew.

    Guarantee: integer arithmetic only; nothing that the certificate says is taken for granted.

    >>> from duotone import ApproxDP, Coin, balanced
    >>> answer = Coin(balanced(ApproxDP(exp_epsilon=2, delta="1/10"))).answer(3)
    >>> prove(answer.certificate())
    'private and optimal: 8 levels under ratio 2, delta 1/10'
    """
    try:
        kind, version = certificate["certificate"], certificate["version"]
        if kind not in ("line", "graph", "close-calls") or type(version) is not int or version != 1:
            raise Unproved("this is not a certificate of version 1")
        if kind == "close-calls":
            return prove_close_calls(certificate)
        _claims(certificate["claims"])
        ratio, above, delta = read_definition(certificate["privacy"])
        bits = read_bits(certificate["bits"])
        step, ceiling = Step(ratio, delta, bits), Step(above, delta, bits, up=True)
        count = (_prove_line if kind == "line" else prove_graph)(certificate, step, ceiling)
    except Unproved:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError):
        raise Unproved("this is not a certificate: something in it is missing or of another kind") from None
    known = "ratio" if certificate["privacy"]["epsilon"] is None else "epsilon"
    budget = ", ".join(f"{name} {brief(certificate['privacy'][name])}" for name in (known, "delta"))
    return f"private and optimal: {count} {'levels' if kind == 'line' else 'datasets'} under {budget}"


def _claims(claims: Mapping[str, Any]) -> None:
    if claims["private"] is not True or claims["optimal"] is not True:
        raise Unproved("the certificate does not claim to be private and optimal")
    if claims["loss"] != f"2^-{LOSS}":
        raise Unproved(f"the certificate must claim a loss of 2^-{LOSS}")


def _prove_line(certificate: Mapping[str, Any], step: Step, ceiling: Step) -> int:
    blue, red = ([read_entry(t, step.one) for t in as_kind(list, certificate[side])] for side in ("blue", "red"))
    tops = checked_boundary(certificate["boundary"], blue[0], red[0], step, ceiling)
    for p, q in pairwise([step.one - t for t in reversed(red)] + blue):
        if not step.private(p, q):
            raise Unproved("two neighbouring levels differ by more than the budget allows")
    for side, name, top in zip((blue, red), ("blue", "red"), tops, strict=True):
        errors = as_kind(list, certificate["error"][name])
        if len(errors) != len(side):
            raise Unproved(f"the {name} errors do not match the table")
        for here, following, error in zip(side, [*side[1:], side[-1]], errors, strict=True):
            if step(here) != following:
                raise Unproved(f"a {name} entry is not the most truth possible there")
            check_error(error, here, step)
            check_close(top, here, step)
            last, top = top, ceiling(top)
        check_close(last if top == last else step.one, side[-1], step)
    return len(blue) + len(red)
