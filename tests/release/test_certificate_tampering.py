"""Certificates that somebody has changed: neither checker believes one."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from duotone import ApproxDP, ColouredGraph, balanced, partition_selection
from duotone.graphs import families
from duotone.graphs.table import graph_table
from duotone.line.table import line_table
from support.certificates import CHECKERS, both_reject, change, random_lines, row_of, truths
from support.running import EXHAUSTIVE


@pytest.mark.slow
def test_every_single_entry_mutation_of_a_line_is_caught() -> None:
    rng = random.Random(5)
    tried = 0
    for certificate in random_lines(20 if EXHAUSTIVE else 10, 9):
        one, lowest = 2 ** certificate["bits"], certificate["lowest"]
        for i, row in enumerate(certificate["rows"]):
            yes = i >= -lowest
            old = int(row["numbers"][not yes])
            for new in {old - 1, old + 1, 0, one, one + 1, rng.randrange(one), old ^ (1 << rng.randrange(60))} - {old}:
                bad = copy.deepcopy(certificate)
                bad["rows"][i] = row_of(new, one, yes=yes)
                alone = copy.deepcopy(certificate)
                alone["rows"][i]["numbers"][not yes] = str(new)
                tried += 1
                assert not any(check(each) for each in (bad, alone) for check in CHECKERS), (i, old, new)
            shorter = copy.deepcopy(certificate)
            del shorter["rows"][i]
            shorter["lowest"] += not yes
            if truths(shorter) != truths(certificate):
                assert not any(check(shorter) for check in CHECKERS)
        for other in {lowest - 1, lowest + 1, 0, 1, -len(certificate["rows"]), -(10**9), str(lowest), float(lowest)}:
            assert both_reject({**certificate, "lowest": other})
    assert tried > 1000


@pytest.mark.slow
def test_every_single_entry_mutation_of_a_graph_is_caught() -> None:
    rng = random.Random(6)
    budgets = [ApproxDP(exp_epsilon=2, delta="1/10"), ApproxDP(1, 1e-3), ApproxDP(exp_epsilon="1.3")]
    boundaries: list[Any] = ["balanced", "3/5", {"h": "0.6", "l": "0.62"}, {"h": "1/2", "l": "3/5"}]
    for privacy, boundary in itertools.product(budgets, boundaries):
        good = json.loads(json.dumps(graph_table(families.figure_2(), privacy, boundary).certificate()))
        assert all(check(good) for check in CHECKERS)
        one = 2 ** good["bits"]
        for d in good["rows"]:
            yes = good["rows"][d]["colour"] == "blue"
            old = int(good["rows"][d]["numbers"][not yes])
            for new in {old - 1, old - 1000, old + 1, 0, one, rng.randrange(one)} - {old}:
                bad = copy.deepcopy(good)
                bad["rows"][d] |= row_of(new, one, yes=yes)
                assert not any(check(bad) for check in CHECKERS), (d, old, new)
        for d, entry in good["rows"].items():
            if entry["from"] is not None:
                for other in (None, d, "a", "r", "no such dataset"):
                    bad = copy.deepcopy(good)
                    bad["rows"][d]["from"] = other
                    verdicts = {check(bad) for check in CHECKERS}
                    assert len(verdicts) == 1
                    assert verdicts == {other == entry["from"] or _also_tight(good, d, other)}


def _also_tight(certificate: dict[str, Any], d: str, other: str | None) -> bool:
    """Another neighbour may hold the same dataset down just as tightly."""
    edges = {frozenset(edge) for edge in certificate["edges"]}
    datasets = certificate["rows"]
    return (
        other in datasets
        and frozenset((d, other)) in edges
        and other != d
        and datasets[other]["colour"] == datasets[d]["colour"]
        and datasets[other]["numbers"] == datasets[datasets[d]["from"]]["numbers"]
    )


def test_tight_steps_that_only_hold_each_other_are_not_a_proof() -> None:
    """With epsilon = delta = 0 every equal pair is tight: two datasets could witness each other at any value."""
    graph = ColouredGraph([(1, 2), (2, 3), (3, 4)], {1: "blue", 2: "blue", 3: "blue", 4: "red"})
    certificate = json.loads(json.dumps(graph_table(graph, ApproxDP(0, 0), "3/4").certificate()))
    assert all(check(certificate) for check in CHECKERS)
    circular = copy.deepcopy(certificate)
    circular["edges"] = [["1", "2"], ["3", "4"]]
    for d, w in (("1", "2"), ("2", "1")):
        circular["rows"][d] |= {"from": w, **row_of(2 ** certificate["bits"] // 2, 2 ** certificate["bits"], yes=True)}
    assert not any(check(circular) for check in CHECKERS)


def test_a_value_lowered_to_fit_proves_why() -> None:
    privacy = ApproxDP(exp_epsilon="1.1")
    table = graph_table(families.figure_2(), privacy, {"h": "0.6", "l": privacy.iterate("0.6", 3)[0]})
    good = json.loads(json.dumps(table.certificate()))
    assert len(good["lowered"]["l"]) == 4
    assert all(check(good) for check in CHECKERS)
    for path in (["h", "l"], ["l"], ["h", "n", "q", "k"], [], ["a", "b", "g", "l"]):
        assert both_reject({**good, "lowered": {"l": path}})
    assert both_reject({**good, "lowered": {}})
    assert both_reject({**good, "lowered": {"l": good["lowered"]["l"], "h": good["lowered"]["l"][::-1]}})


def test_a_boundary_value_cannot_be_lowered_for_no_reason() -> None:
    """An amplifying budget: 10^-19 at the boundary is certainty one step further, and 0 stays 0."""
    graph = ColouredGraph([("b2", "b1"), ("b1", "r1")], {"b2": "blue", "b1": "blue", "r1": "red"})
    forged = graph_table(graph, ApproxDP(exp_epsilon=10**22), {"b1": "1e-19"}).certificate()
    for d, truth in (("b1", 0), ("b2", 0), ("r1", 2 ** forged["bits"])):
        forged["rows"][d] |= row_of(truth, 2 ** forged["bits"], yes=d != "r1")
    forged["rows"]["b2"]["from"] = "b1"
    assert both_reject(forged)


def test_a_table_too_narrow_for_its_budget_is_not_optimal() -> None:
    certificate = line_table(partition_selection(ApproxDP(50, 1e-200))).certificate()
    narrow = {"bits": 64, "lowest": -1, "rows": [row_of(2**64, 2**64, yes=False), row_of(0, 2**64, yes=True)]}
    assert both_reject({**certificate, **narrow})
    assert both_reject({**certificate, "claims": {**certificate["claims"], "loss": "0"}})


@pytest.mark.parametrize(
    "lie",
    [
        {"privacy": {"epsilon": "8191." + "1" * 90_000, "ratio": "2", "delta": "0"}},
        {"privacy": {"epsilon": "1e999999999", "ratio": "2", "delta": "0"}},
        {"privacy": {"epsilon": "1", "ratio": "2" * 10**6, "delta": "0"}},
        {"rows": [{"numbers": ["1" * 2_000_000, "0"], "error": "0"}] * 2, "lowest": -1},
        {"rows": [{"numbers": ["abc", "0"], "error": "0"}] * 2, "lowest": -1},
        {"lowest": -(10**39)},
    ],
)
def test_hostile_files_are_refused_at_once(lie: dict[str, Any]) -> None:
    assert both_reject({**line_table(balanced(ApproxDP(1, "1/100"))).certificate(), **lie})


@pytest.mark.parametrize(
    ("kind", "mutate"),
    [
        ("line", change("certificate", "circle")),
        ("line", change("version", 2)),
        ("line", change("bits", 8)),
        ("line", change("bits", 10**9)),
        ("line", change("bits", "128")),
        ("line", change("claims", {"private": True, "optimal": False})),
        ("line", change("privacy.ratio", "3")),
        ("line", change("privacy.ratio", "27/10")),
        ("line", change("privacy.ratio", "1/2")),
        ("line", change("privacy.epsilon", "11/10")),
        ("line", change("privacy.epsilon", "9/10")),
        ("line", change("privacy.epsilon", "1e9")),
        ("line", change("privacy.epsilon", -1)),
        ("line", change("privacy.delta", "1/2")),
        ("line", change("privacy.delta", "1")),
        ("line", change("privacy.delta", 0.1)),
        ("line", change("boundary", "3/4")),
        ("line", change("boundary", "selection")),
        ("line", change("boundary", None)),
        ("line", change("outcomes", ["no", "yes"])),
        ("line", change("outcomes", ["yes"])),
        ("line", change("outcomes", ["yes", "too close to call", "no"])),
        ("line", change("outcomes", "yes")),
        ("line", change("rows", [])),
        ("line", change("rows", 3)),
        ("line", change("lowest", 0)),
        ("line", change("lowest", None)),
        ("line", lambda c: c["rows"][0].__setitem__("error", "0.2")),
        ("line", lambda c: c["rows"][0]["numbers"].reverse()),
        ("line", lambda c: c["rows"][0]["numbers"].append("0")),
        ("line", lambda c: c.pop("lowest")),
        ("graph", change("boundary", "1/2")),
        ("graph", change("boundary", {"h": "1/2"})),
        ("graph", change("edges", [["a", "a"]])),
        ("graph", change("edges", [["a", "z"]])),
        ("graph", change("edges", None)),
        ("graph", change("rows.a.colour", "green")),
        ("graph", change("rows.a.colour", "red")),
        ("graph", change("rows.a.numbers", ["-1", "1"])),
        ("graph", change("rows.a.numbers", [0, 2**128])),
        ("graph", change("rows.a.numbers", ["1/2", "1/2"])),
        ("graph", change("rows.a.numbers", ["0"])),
        ("graph", lambda c: c["rows"]["a"]["numbers"].reverse()),
    ],
)
def test_other_lies_are_caught(kind: str, mutate: Callable[[dict[str, Any]], None]) -> None:
    privacy = ApproxDP(1, "1/100")
    table = line_table(balanced(privacy)) if kind == "line" else graph_table(families.figure_2(), privacy)
    certificate = json.loads(json.dumps(table.certificate()))
    assert all(check(certificate) for check in CHECKERS)
    mutate(certificate)
    assert not any(check(certificate) for check in CHECKERS)


@pytest.mark.parametrize("data", [None, [], {}, "x", {"certificate": "duotone"}, {"certificate": "duotone", "version": 1}])
def test_what_is_no_certificate(data: Any) -> None:
    assert not any(check(data) for check in CHECKERS)
