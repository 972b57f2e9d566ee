"""Both checkers, on thousands of good certificates and on every kind of bad one."""

from __future__ import annotations

import copy
import importlib.util
import itertools
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import gmpy2
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import coloured_graphs, exact_budgets, float_budgets, probabilities

from duotone import ApproxDP, ColouredGraph, DuotoneError, Infeasible, balanced, partition_selection, prove, with_boundary
from duotone.graphs import document, families
from duotone.graphs.table import graph_table
from duotone.line.mechanism import on_line
from duotone.line.table import line_table
from duotone.release.certificate import Unproved, exp_bounds

TOOL = Path(__file__).parents[2] / "tools" / "check_certificate.py"
spec = importlib.util.spec_from_file_location("check_certificate", TOOL)
assert spec is not None
assert spec.loader is not None
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

usable = st.one_of(exact_budgets, float_budgets).filter(
    lambda p: p.epsilon >= 0.01 or p.delta >= 0.01 or p.epsilon == p.delta == 0
)


def accepted_by_the_package(certificate: Any) -> bool:
    try:
        prove(certificate)
    except Unproved:
        return False
    return True


def accepted_by_the_tool(certificate: Any) -> bool:
    try:
        tool.check(certificate)
    except (SystemExit, LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError):
        return False
    return True


CHECKERS: list[Callable[[Any], bool]] = [accepted_by_the_package, accepted_by_the_tool]


@pytest.mark.slow
@given(coloured_graphs(), usable, st.data())
@settings(max_examples=400)
def test_any_notion_any_graph_any_feasible_boundary(graph: ColouredGraph, privacy: ApproxDP, data: st.DataObject) -> None:
    values = {d: data.draw(st.one_of(probabilities, st.floats(0, 1))) for d in graph.boundary("blue")}
    boundary: Any = data.draw(st.one_of(st.just("balanced"), probabilities, st.floats(0, 1), st.just(values)))
    try:
        table = graph_table(graph, privacy, boundary)
    except Infeasible:
        return
    certificate = json.loads(json.dumps(table.certificate()))
    assert prove(certificate).startswith("private and optimal")
    assert tool.check(certificate) == f"{len(graph)} datasets"


def lines(count: int, seed: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(seed)
    for _ in range(count):
        delta: Any = rng.choice([0, "1/10", "1e-3", 1e-6, Fraction(1, 3)])
        ratio = str(Fraction(rng.randrange(150, 900), 100))
        privacy = ApproxDP(exp_epsilon=ratio, delta=delta) if rng.random() < 0.5 else ApproxDP(rng.uniform(0.5, 6), delta)
        value = Fraction(rng.randrange(101), 100)
        line = rng.choice([balanced(privacy), partition_selection(privacy), with_boundary(privacy, value)])
        yield json.loads(json.dumps(line_table(line).certificate()))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_thousands_of_good_lines(seed: int) -> None:
    for certificate in lines(1000, seed):
        assert all(check(certificate) for check in CHECKERS)


@pytest.mark.slow
def test_every_single_entry_mutation_of_a_line_is_caught() -> None:
    rng = random.Random(5)
    tried = 0
    for certificate in lines(20, 9):
        one = 2 ** certificate["bits"]
        for side in ("blue", "red"):
            for i, text in enumerate(certificate[side]):
                old = int(text)
                for new in {old - 1, old + 1, 0, one, one + 1, rng.randrange(one), old ^ (1 << rng.randrange(60))} - {old}:
                    bad = copy.deepcopy(certificate)
                    bad[side][i] = str(new)
                    bad["error"][side][i] = repr(float(1 - Fraction(new, one)))
                    tried += 1
                    assert not any(check(bad) for check in CHECKERS), (side, i, old, new)
            for i in range(len(certificate[side])):
                shorter = copy.deepcopy(certificate)
                del shorter[side][i]
                del shorter["error"][side][i]
                if shorter[side] != certificate[side]:
                    assert not any(check(shorter) for check in CHECKERS)
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
        for d in good["datasets"]:
            old = int(good["datasets"][d]["truth"])
            for new in {old - 1, old - 1000, old + 1, 0, one, rng.randrange(one)} - {old}:
                bad = copy.deepcopy(good)
                bad["datasets"][d] |= {"truth": str(new), "error": repr(float(1 - Fraction(new, one)))}
                assert not any(check(bad) for check in CHECKERS), (d, old, new)
        for d, entry in good["datasets"].items():
            if entry["from"] is not None:
                for other in (None, d, "a", "r", "no such dataset"):
                    bad = copy.deepcopy(good)
                    bad["datasets"][d]["from"] = other
                    verdicts = {check(bad) for check in CHECKERS}
                    assert len(verdicts) == 1
                    assert verdicts == {other == entry["from"] or _also_tight(good, d, other)}


def _also_tight(certificate: dict[str, Any], d: str, other: str | None) -> bool:
    """Another neighbour may hold the same dataset down just as tightly."""
    edges = {frozenset(edge) for edge in certificate["edges"]}
    datasets = certificate["datasets"]
    return (
        other in datasets
        and frozenset((d, other)) in edges
        and other != d
        and datasets[other]["colour"] == datasets[d]["colour"]
        and datasets[other]["truth"] == datasets[datasets[d]["from"]]["truth"]
    )


def test_tight_steps_that_only_hold_each_other_are_not_a_proof() -> None:
    """With epsilon = delta = 0 every equal pair is tight: two datasets could witness each other at any value."""
    graph = ColouredGraph([(1, 2), (2, 3), (3, 4)], {1: "blue", 2: "blue", 3: "blue", 4: "red"})
    certificate = json.loads(json.dumps(graph_table(graph, ApproxDP(0, 0), "3/4").certificate()))
    assert all(check(certificate) for check in CHECKERS)
    circular = copy.deepcopy(certificate)
    circular["edges"] = [["1", "2"], ["3", "4"]]
    for d, w in (("1", "2"), ("2", "1")):
        circular["datasets"][d] |= {"from": w, "truth": str(2 ** certificate["bits"] // 2)}
    assert not any(check(circular) for check in CHECKERS)


def both_reject(certificate: dict[str, Any]) -> bool:
    return not any(check(json.loads(json.dumps(certificate))) for check in CHECKERS)


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
        forged["datasets"][d] |= {"truth": str(truth), "error": "0.0" if truth else "1.0"}
    forged["datasets"]["b2"]["from"] = "b1"
    assert both_reject(forged)


def test_a_table_too_narrow_for_its_budget_is_not_optimal() -> None:
    certificate = line_table(partition_selection(ApproxDP(50, 1e-200))).certificate()
    narrow = {"bits": 64, "blue": ["0"], "red": [str(2**64)], "error": {"blue": ["1.0"], "red": ["0.0"]}}
    assert both_reject({**certificate, **narrow})
    assert both_reject({**certificate, "claims": {**certificate["claims"], "loss": "0"}})


@pytest.mark.parametrize(
    "lie",
    [
        {"privacy": {"epsilon": "8191." + "1" * 90_000, "ratio": "2", "delta": "0"}},
        {"privacy": {"epsilon": "1e999999999", "ratio": "2", "delta": "0"}},
        {"privacy": {"epsilon": "1", "ratio": "2" * 10**6, "delta": "0"}},
        {"blue": ["1" * 2_000_000]},
        {"blue": ["abc"]},
    ],
)
def test_hostile_files_are_refused_at_once(lie: dict[str, Any]) -> None:
    assert both_reject({**line_table(balanced(ApproxDP(1, "1/100"))).certificate(), **lie})


@pytest.mark.slow
def test_large_good_certificates_take_no_time() -> None:
    for table in (
        graph_table(families.line(2000, 1).graph(), ApproxDP(0.01)),
        line_table(partition_selection(ApproxDP(1, "1e-1000"))),
        line_table(balanced(ApproxDP(exp_epsilon=10**400))),
    ):
        certificate = json.loads(json.dumps(table.certificate()))
        assert all(check(certificate) for check in CHECKERS)


exponents = st.integers(-1200, -2)
tiny = st.one_of(
    st.builds(lambda m, e: f"{m}e{e}", st.integers(1, 99), exponents),
    st.builds(
        lambda a, b, e: Fraction(a, b) * Fraction(10) ** (e + 30), *[st.integers(1, 10**30)] * 2, st.integers(-1190, -61)
    ),
    st.floats(0, 0.5, allow_subnormal=True),
    st.sampled_from([0, 5e-324, 2.5e-320, "1e-6", "1/10", "0." + "3" * 1200]),
)
epsilons = st.one_of(tiny, st.floats(0, 9000), st.fractions(0, 9000, max_denominator=10**9), st.integers(0, 8193))


@pytest.mark.slow
@given(
    epsilons,
    tiny,
    tiny,
    st.sampled_from(["balanced", "selection", "value"]),
    st.booleans(),
    st.sampled_from([1, 1, 3, 2**62 + 1]),
)
@example("1e-2999", "1/10", 0, "balanced", False, 1)
@example("1e-3000", "1/10", 0, "selection", True, 1)
@settings(max_examples=250)
def test_what_can_be_written_can_be_proved(
    size: Any, delta: Any, value: Any, boundary: str, as_ratio: bool, parts: int
) -> None:
    """Any budget: a table is refused in a sentence, or both checkers prove its certificate."""
    try:
        whole = ApproxDP(exp_epsilon=1 + Fraction(size), delta=delta) if as_ratio else ApproxDP(size, delta)
        with mock.patch("duotone.line.table.LONGEST", 2**10):  # longer ones differ in nothing but time
            table = line_table(on_line(whole.split(parts), value if boundary == "value" else boundary))
    except DuotoneError as error:
        assert any(said in str(error) for said in ("too many digits", "levels: raise epsilon", "too small to toss"))  # noqa: PT017
        return
    certificate = json.loads(json.dumps(table.certificate()))
    assert prove(certificate).startswith("private and optimal")
    assert tool.check(certificate) == f"{len(table.blue) + len(table.red)} levels"
    assert "epsilon" in tool.budget(certificate) or table.privacy.epsilon_exact is None


def test_a_value_that_no_certificate_could_write_is_refused() -> None:
    long = "0." + "3" * 30_000
    graph = ColouredGraph([("a", "b")], {"a": "blue", "b": "red"})
    for refused in (
        lambda: line_table(with_boundary(ApproxDP(1), long)),
        lambda: graph_table(graph, ApproxDP(1), long),
        lambda: graph_table(graph, ApproxDP(1), {"a": long}),
    ):
        with pytest.raises(DuotoneError, match="a boundary value has too many digits"):
            refused()


def change(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def apply(certificate: dict[str, Any]) -> None:
        *way, last = path.split(".")
        for key in way:
            certificate = certificate[key]
        certificate[last] = value

    return apply


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
        ("line", change("blue", [])),
        ("line", change("blue", 3)),
        ("line", change("error.blue", ["0"])),
        ("line", lambda c: c["error"]["red"].__setitem__(0, "0.2")),
        ("line", lambda c: c.pop("red")),
        ("graph", change("boundary", "1/2")),
        ("graph", change("boundary", {"h": "1/2"})),
        ("graph", change("edges", [["a", "a"]])),
        ("graph", change("edges", [["a", "z"]])),
        ("graph", change("edges", None)),
        ("graph", change("datasets.a.colour", "green")),
        ("graph", change("datasets.a.colour", "red")),
        ("graph", change("datasets.a.truth", "-1")),
        ("graph", change("datasets.a.truth", 1)),
        ("graph", change("datasets.a.truth", "1/2")),
    ],
)
def test_other_lies_are_caught(kind: str, mutate: Callable[[dict[str, Any]], None]) -> None:
    privacy = ApproxDP(1, "1/100")
    table = line_table(balanced(privacy)) if kind == "line" else graph_table(families.figure_2(), privacy)
    certificate = json.loads(json.dumps(table.certificate()))
    assert all(check(certificate) for check in CHECKERS)
    mutate(certificate)
    assert not any(check(certificate) for check in CHECKERS)


@pytest.mark.parametrize("data", [None, [], {}, "x", {"certificate": "line"}, {"certificate": "line", "version": 1}])
def test_what_is_no_certificate(data: Any) -> None:
    assert not any(check(data) for check in CHECKERS)


@pytest.mark.parametrize("x", ["0", "1e-9", "1/3", "1", "50", "700"])
def test_exponential_bounds(x: str) -> None:
    low, high = exp_bounds(Fraction(x))
    with gmpy2.context(precision=2000):
        exact = gmpy2.exp(gmpy2.mpfr(gmpy2.mpq(x)))
        assert gmpy2.mpq(low) <= exact <= gmpy2.mpq(high)
    assert high - low <= high / 2**200


def test_the_tool_stands_alone(tmp_path: Path) -> None:
    source = TOOL.read_text()
    prose = source.split('"""')[1]
    assert len([line for line in source.replace(prose, "").splitlines() if line.strip()]) < 180
    assert "duotone" not in source.split('"""')[2].lower()
    file = tmp_path / "c.json"
    certificate = line_table(balanced(ApproxDP(1, "1e-6"))).certificate()
    for told, code in ((certificate, 0), ({**certificate, "boundary": "1/2"}, 1), ([], 1)):
        file.write_text(json.dumps(told))
        done = subprocess.run([sys.executable, "-I", "-S", TOOL, file], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert done.stdout == (
            "PROVED: 30 levels are private and optimal under epsilon 1, delta 1/1000000\n" if not code else ""
        )
    assert "NOT PROVED" in done.stderr


def test_the_tool_says_what_it_proved(tmp_path: Path) -> None:
    graph = ColouredGraph([("a", "b")], {"a": "blue", "b": "red"})
    long = Fraction(2**90 + 1, 3**55)
    for table, says in (
        (line_table(balanced(ApproxDP(exp_epsilon="3/2"))), "ratio 3/2, delta 0"),
        (graph_table(graph, ApproxDP("0.25", "1/10")), "epsilon 1/4, delta 1/10"),
        (graph_table(graph, ApproxDP(long)), "epsilon at most 7.09"),
    ):
        file = tmp_path / "c.json"
        file.write_text(json.dumps(table.certificate()))
        done = subprocess.run([sys.executable, "-I", "-S", TOOL, file], capture_output=True, text=True, check=True)
        assert f"are private and optimal under {says}" in done.stdout
    shown = Fraction(done.stdout.split("at most ")[1].split(",")[0])
    assert long <= shown <= long * (1 + Fraction(1, 10**11))


@pytest.mark.parametrize("number", ["1" * 5_000_000, "1e" + "9" * 5_000_000, "0." + "3" * 5_000_000])
def test_a_number_of_millions_of_digits_is_refused_at_once(number: str, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    text = json.dumps(line_table(balanced(ApproxDP(1, "1/10"))).certificate())
    for place, bad in ((file, text.replace('"bits": 128', f'"bits": {number}')), (file, f'{{"extra": {number}, {text[1:]}')):
        place.write_text(bad)
        done = subprocess.run([sys.executable, "-I", "-S", TOOL, place], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "NOT PROVED: a number is not finite, or too long\n"
        with pytest.raises(DuotoneError, match="is not JSON"):
            document.read(place)
