"""Certificates: a mechanism re-checked with integers only, by someone who trusts nothing in it.

A certificate proves that its table is private (every pair of neighbours, as integers), that it is optimal (every entry
is limited by a chain of tight steps that ends at a fixed boundary value, and lies within 2^−60 of an upper bound on the
real optimum) and that its ratio is e^ε rounded down. A certificate of one answer among k proves the same of its prefix
sums, and one of close calls that their number fits into a budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from duotone.release.certificate_close_calls import prove_close_calls
from duotone.release.certificate_numbers import (
    FEWEST_BITS,
    LOSS,
    MOST_BITS,
    Head,
    Phi,
    Step,
    Unproved,
    as_kind,
    brief,
    check_close,
    check_error,
    checked_boundary,
    read_definition,
    read_fraction,
    read_order,
    rounded_down,
)
from duotone.release.certificate_renyi import within_budget
from duotone.release.certificate_which import columns, prove_which

__all__ = ["Unproved", "prove"]

YES_NO, THREE_WAY = ["yes", "no"], ["yes", "too close to call", "no"]
"""The possible outcomes, in the order of a row's numbers."""
OPTIMAL = {"private": True, "optimal": True, "loss": f"2^-{LOSS}"}
"""Claims that a certificate of yes and no must make; one of levels also that margins are private."""
LONGEST_POWER = 2**22
"""Most bits of a price to the power of how many answers share a budget."""
LONG, MOST_WORK = 2**14, 2**31
"""A graph whose numbers have more than LONG bits in total may have at most MOST_WORK divided by these bits edges and
datasets."""


def prove(certificate: Any) -> str:
    """Check that a mechanism is private and as often right as can be, by the certificate that comes with its answers.

    Use it on a received certificate, trusting neither the sender nor the file. `certificate` is the JSON object: from
    `Answer.certificate()`, or a file read by `duotone.graphs.document.read`. The returned sentence says what was proved
    (its ratio is e^ε; for close calls, how many fit into a budget); a certificate that does not prove its claims raises
    `Unproved`, which says what fails. It does not prove that an answer was drawn from this mechanism: for that, one
    must trust whoever drew it.

    Guarantee: integer arithmetic only; nothing that the certificate says is taken for granted.

    >>> from duotone import ApproxDP, Coin, balanced
    >>> answer = Coin(balanced(ApproxDP(exp_epsilon=2, delta="1/10"))).answer(3)
    >>> prove(answer.certificate())
    'private and optimal: 8 levels, with their margins, under ratio 2, delta 1/10'
    """
    try:
        head = _read_head(certificate)
        if head.outcomes == THREE_WAY:
            return prove_close_calls(certificate, head)
        if "which" in certificate["claims"]:
            together = f"; {_prove_together(certificate['together'], head)}" if "together" in certificate else ""
            return prove_which(certificate, head) + together
        return (_prove_levels if type(certificate["rows"]) is list else _prove_datasets)(certificate, head)
    except Unproved:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError):
        raise Unproved("this is not a certificate: a part of it is missing or has the wrong type") from None


def _prove_selection(certificate: Mapping[str, Any]) -> str:
    """Prove the mechanism that selects private groups, a table of yes and no: it satisfies the definition, and so does
    selecting a group and answering about it."""
    chosen = certificate["selection"]
    same = chosen["privacy"] == certificate["privacy"] and chosen["outcomes"] == YES_NO
    if "selection" in chosen or chosen["boundary"] != "selection" or not same:
        raise Unproved("groups are not selected under the definition of their answers")
    return f"groups are selected by a mechanism that is {prove(chosen)}"


def _prove_together(whole: Mapping[str, Any], head: Head) -> str:
    """Answers under one Rényi order that share a budget are (ε, δ)-private together, by the power of their price."""
    if head.order is None:
        raise Unproved("only answers under one Rényi order share a budget by their prices")
    n, (ratio, _, room) = whole["answers"], read_definition(as_kind(dict, whole))
    if not (type(n) is int and n >= 1 and n * max(x.bit_length() for x in head.ratio.as_integer_ratio()) <= LONGEST_POWER):
        raise Unproved("the number of answers that share a budget is at least 1, and not too large to be checked")
    if not within_budget(head.order, head.ratio, head.delta, n, ratio, room):
        raise Unproved("so many answers at this price are not private together")
    known = "ratio" if whole["epsilon"] is None else "epsilon"
    return f"{n} such answers are private together under {known} {brief(whole[known])}, delta {brief(whole['delta'])}"


def _read_head(certificate: Mapping[str, Any]) -> Head:
    """The head of a certificate, if it has a known version and makes the claims that its outcomes need."""
    version, claims, outcomes = certificate["version"], certificate["claims"], certificate["outcomes"]
    if certificate["certificate"] != "duotone" or type(version) is not int or version != 1:
        raise Unproved("this is not a certificate of version 1")
    which = "which" in as_kind(dict, claims)
    if outcomes not in ([columns(claims)] if which else (YES_NO, THREE_WAY)):
        raise Unproved("the outcomes are neither yes and no, nor yes, too close to call and no, nor places")
    for name, claim in ({"private": True} if outcomes == THREE_WAY else OPTIMAL).items():
        if type(claims[name]) is not type(claim) or claims[name] != claim:
            raise Unproved(f"the certificate must claim {name}: {claim}")
    privacy, bits = as_kind(dict, certificate["privacy"]), certificate["bits"]
    by_order = "order" in privacy and outcomes != THREE_WAY
    definition = read_order(privacy) if by_order else read_definition(privacy)
    if not (type(bits) is int and FEWEST_BITS <= bits <= MOST_BITS):
        raise Unproved(f"bits must be between {FEWEST_BITS} and {MOST_BITS}")
    return Head(certificate["privacy"], *definition, bits, outcomes)


def _prove_levels(certificate: Mapping[str, Any], head: Head) -> str:
    """The margins of neighbouring levels are private, and so are their signs; no level could be more truthful."""
    (_, ceiling), step = head.steps(), head.shrunk_step()
    rows, below = head.levels(certificate)
    head.bound(len(rows))
    cap = _checked_cap(certificate, [row[0] for row in rows], below, head)
    truth = [row[level < below] for level, row in enumerate(rows)]
    for row, t in zip(certificate["rows"], truth, strict=True):
        check_error(row["error"], t, step)
    sides = truth[below:], truth[:below][::-1]
    tops = checked_boundary(certificate["boundary"], sides[0][0], sides[1][0], step, ceiling)
    for side, name, top in zip(sides, ("yes", "no"), tops, strict=True):
        if any(step(here, following) != following for here, following in pairwise(side)):
            raise Unproved(f"a level where the truth is {name} is not as truthful as possible")
        for people, (here, near) in enumerate(zip(side, [*side[1:], step.one], strict=True), start=1):
            check_close(top, here, step)
            last, top = top, ceiling(top, near)
            if people == min(cap, len(side)):  # further levels are answered as this one
                check_close(last if top == last else step.one, here, step)
    with_margins = "" if head.order is not None else ", with their margins,"
    selected = f"; {_prove_selection(certificate)}" if "selection" in certificate else ""
    shared = f"; {_prove_together(certificate['together'], head)}" if "together" in certificate else ""
    return f"private and optimal: {len(rows)} levels{with_margins} under {head.budget}{selected}{shared}"


def _checked_cap(certificate: Mapping[str, Any], yes: list[int], below: int, head: Head) -> int:
    """The number of people from which answers are alike, if margins are private: a level plus noise. `yes` is how often
    that is at least 0, by level.

    Bounded noise is private over all events, together with that of a neighbouring level. For other noise, the table has
    what `cap` needs: margins are clamped to it, which is private if every single value is, without δ.
    """
    step, cap, ends = head.steps()[0], certificate["cap"], max(below, len(yes) - below)
    if head.order is not None:
        if not (cap is None and "margin" not in certificate["claims"]):
            raise Unproved("under one Rényi order levels have no margin and no cap")
        if not all(step.private((t, step.one - t), (s, step.one - s)) for t, s in pairwise(yes)):
            raise Unproved("two neighbouring levels differ by more than the budget allows")
        return ends
    if certificate["claims"]["margin"] is not True:
        raise Unproved("the certificate must claim margin: true")
    if not (cap is None or (type(cap) is int and cap >= 1)):
        raise Unproved("the cap of a margin is a whole number, at least 1, or null where levels are not clipped")
    weights = [after - before for before, after in pairwise(yes)]
    if yes[0] == 0 and yes[-1] == step.one:
        private = (cap is None or cap >= ends) and step.private([*weights, 0], [0, *weights])
    else:
        pure, rows = Step(head.ratio, Fraction(0), head.bits), [(t, step.one - t) for t in yes]
        private = cap is not None and below == len(yes) - below == 2 * cap - 1 and pure.private(weights[1:], weights[:-1])
        private = private and all(pure.private(row, other) for row, other in pairwise(rows))
    if min(weights, default=0) < 0 or not private:
        raise Unproved("the margins of two neighbouring levels differ by more than the budget allows")
    return ends if cap is None else cap


@dataclass(frozen=True)
class _Graph:
    """A graph's certificate: its contents, and per dataset its entry, its colour and its neighbours; which are
    fixed."""

    datasets: Mapping[str, Any]
    edges: Any
    boundary: Any
    lowered: Any
    rows: Mapping[str, list[int]]
    truth: Mapping[str, int]
    blue: Mapping[str, bool]
    near: Mapping[str, set[str]]
    fixed: set[str]

    def witness(self, d: str) -> Any:
        """The neighbour that is claimed to limit a dataset."""
        return self.datasets[d]["from"]

    def boundary_value(self, d: str) -> Any:
        """The requested value of a fixed dataset."""
        return self.boundary[d] if isinstance(self.boundary, dict) else self.boundary


def _prove_datasets(certificate: Mapping[str, Any], head: Head) -> str:
    """Every pair of neighbours is private, and no dataset could be more truthful."""
    step, ceiling = head.steps()
    graph = _read_graph(certificate, head)
    head.bound(_work(graph))
    _check_boundary(graph, step, ceiling)
    _check_private(graph, step)
    _check_optimal(graph, step, ceiling)
    return f"private and optimal: {len(graph.truth)} datasets under {head.budget}"


def _read_graph(certificate: Mapping[str, Any], head: Head) -> _Graph:
    datasets, boundary, lowered = as_kind(dict, certificate["rows"]), certificate["boundary"], certificate["lowered"]
    if not datasets:
        raise Unproved("a graph without datasets proves nothing")
    rows = {d: head.row(entry) for d, entry in datasets.items()}
    if not all(entry["colour"] in ("blue", "red") for entry in datasets.values()):
        raise Unproved("a colour is blue or red")
    blue = {d: entry["colour"] == "blue" for d, entry in datasets.items()}
    edges = certificate["edges"]
    near = _neighbours(datasets, edges)
    rim = {d for d in datasets if any(blue[d] != blue[e] for e in near[d])}
    fixed = rim if boundary == "balanced" else {d for d in rim if blue[d]}
    truth = {d: row[not blue[d]] for d, row in rows.items()}
    return _Graph(datasets, edges, boundary, lowered, rows, truth, blue, near, fixed)


def _check_boundary(graph: _Graph, step: Phi, ceiling: Phi) -> None:
    """What is asked for stands at the blue boundary, all of it, and nothing else is said to be lowered."""
    by_dataset = isinstance(graph.boundary, dict)
    if by_dataset and set(graph.boundary) != graph.fixed:
        raise Unproved("the boundary values are not those of the blue boundary")
    if not by_dataset and graph.boundary != "balanced":
        rounded_down(graph.boundary, step)
    _bounded(graph, step, ceiling)
    if not set(as_kind(dict, graph.lowered)) <= (graph.fixed if by_dataset else set()):
        raise Unproved("a value is lowered that was not given")


def _check_private(graph: _Graph, step: Phi) -> None:
    """Definition 1, for every pair of neighbours; and the errors that stand beside the entries."""
    checked: set[str] = set()
    for d, entry in graph.datasets.items():
        check_error(entry["error"], graph.truth[d], step)
        if not all(step.private(graph.rows[d], graph.rows[e]) for e in graph.near[d] - checked):
            raise Unproved(f"dataset {d} differs from a neighbour by more than the budget allows")
        checked.add(d)


def _check_optimal(graph: _Graph, step: Phi, ceiling: Phi) -> None:
    """No dataset could be more truthful: each is held down along a chain that ends where the truth is fixed."""
    above: dict[str, int] = {}  # bounds from above on the real optimum
    for d in graph.fixed:
        held = _lowered(d, graph, step) if d in graph.lowered else None
        above[d], _ = checked_boundary(graph.boundary_value(d), graph.truth[d], None, step, ceiling, held=held)
        check_close(above[d], graph.truth[d], step)
    for start in graph.truth:
        for d in reversed(_chain(start, graph, above, step)):
            witness = graph.witness(d)
            alike = graph.blue[witness] == graph.blue[d]
            beside = above[witness] if alike else step.one - rounded_down(graph.boundary_value(witness), step)
            above[d] = ceiling(beside, graph.truth[d])
            check_close(above[d], graph.truth[d], step)


def _chain(start: str, graph: _Graph, ends: Mapping[str, int], step: Phi) -> list[str]:
    """The datasets from one to the last before `ends`, each held down by the next; none where the truth is certain."""
    chain: dict[str, None] = {}
    d = start
    while d not in ends and graph.truth[d] < step.one:
        witness = graph.witness(d)
        if d in chain or witness not in graph.near[d]:
            raise Unproved(f"dataset {d} has no chain of tight steps to a fixed boundary dataset")
        alike = graph.blue[witness] == graph.blue[d]
        if not alike and witness not in graph.fixed:
            raise Unproved(f"the witness of dataset {d} has the other colour and is not fixed")
        beside = graph.truth[witness] if alike else step.one - graph.truth[witness]
        if graph.truth[d] != step(beside, graph.truth[d]):
            raise Unproved(f"dataset {d} is not held down by its witness")
        chain[d] = None
        d = witness
    return list(chain)


def _bounded(graph: _Graph, step: Phi, ceiling: Phi) -> None:
    """Refuse a small file that would take minutes: very long numbers, used again and again."""
    values = graph.boundary.values() if isinstance(graph.boundary, dict) else [graph.boundary]
    longest = max((_bit_length(read_fraction(value)) for value in values if value != "balanced"), default=0)
    lengths = map(_bit_length, (step.ratio, ceiling.ratio, step.delta))
    size = step.one.bit_length() + longest + sum(lengths)
    if size > LONG and size * _work(graph) > MOST_WORK:
        raise Unproved("the certificate has too many edges, datasets or paths to be checked with numbers as long as these")


def _work(graph: _Graph) -> int:
    """How many rows are compared, about."""
    paths = sum(len(as_kind(list, path)) for path in as_kind(dict, graph.lowered).values())
    return len(graph.edges) + len(graph.datasets) + paths


def _bit_length(x: Fraction) -> int:
    return x.numerator.bit_length() + x.denominator.bit_length()


def _lowered(d: str, graph: _Graph, step: Phi) -> int:
    """What a path from a boundary dataset with its full value leaves room for at d."""
    path = as_kind(list, graph.lowered[d])
    if not (len(path) > 1 and path[-1] == d and path[0] not in graph.lowered):
        raise Unproved(f"the path that lowers dataset {d} does not start at a full boundary value")
    if len(set(path)) < len(path) or not all(b in graph.near[a] for a, b in pairwise(path)):
        raise Unproved(f"the path that lowers dataset {d} leaves the graph, or comes to a dataset twice")
    value = rounded_down(graph.boundary[path[0]], step)
    for _ in path[1:]:
        value = step(value)
    return value


def _neighbours(datasets: Mapping[str, Any], edges: Any) -> dict[str, set[str]]:
    near: dict[str, set[str]] = {d: set() for d in datasets}
    for edge in as_kind(list, edges):
        a, b = as_kind(list, edge)
        if a == b or a not in near or b not in near:
            raise Unproved("an edge does not join two datasets of the certificate")
        near[a].add(b)
        near[b].add(a)
    return near
