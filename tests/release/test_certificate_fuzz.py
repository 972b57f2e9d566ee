"""Two checkers, one verdict: thousands of spoilt certificates, judged by the package and by the tool that shares no code."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import gmpy2
import pytest
from checkers import REFUSED_BY_THE_TOOL, accepted_by_the_package, small_close_calls, tool
from hypothesis import given, settings
from hypothesis import strategies as st
from thinned import thinned

from duotone import ApproxDP, ColouredGraph, balanced, partition_selection, prove, with_boundary
from duotone.graphs import families
from duotone.graphs.document import parsed
from duotone.graphs.table import GraphTable, graph_table
from duotone.line.table import LineTable, line_table
from duotone.line.three_way import ThreeWay
from duotone.release.certificate import Unproved, exp_bounds
from duotone.release.certificate_numbers import brief

SEEDS, EACH = 6, 5000


def package_accepts(text: str) -> bool:
    try:
        certificate = parsed(text)
    except (ValueError, RecursionError):
        return False
    return accepted_by_the_package(certificate)


def tool_accepts(text: str) -> bool:
    try:
        certificate = tool.parsed(text)
        tool.check(certificate)
        tool.budget(certificate)
    except REFUSED_BY_THE_TOOL:
        return False
    return True


def good() -> list[dict[str, Any]]:
    path = ColouredGraph(
        [("1", "2"), ("2", "3"), ("3", "4"), ("4", "5")], dict(zip("12345", ["blue"] * 3 + ["red"] * 2, strict=True))
    )
    fork = ColouredGraph([("a", "r"), ("r", "b"), ("b", "c")], {"a": "blue", "b": "blue", "c": "blue", "r": "red"})
    alone = ColouredGraph([("a", "b")], {"a": "red", "b": "red"})
    exact, rounded, step = ApproxDP(exp_epsilon=2, delta="1/10"), ApproxDP("1/2", "1/5"), ApproxDP(exp_epsilon="1.1")
    tables: list[LineTable | GraphTable] = [
        line_table(balanced(exact)),
        line_table(balanced(rounded)),
        line_table(partition_selection(exact)),
        line_table(with_boundary(rounded, "1/3")),
        graph_table(path, exact),
        graph_table(path, rounded, "3/5"),
        graph_table(fork, exact, {"a": "3/10", "b": "7/10"}),
        graph_table(fork, step, {"a": "0.6", "b": step.iterate("0.6", 2)[0]}),
        graph_table(fork, ApproxDP(0, 0), "1/2"),
        graph_table(alone, exact),
    ]
    calls = [
        small_close_calls(ApproxDP(exp_epsilon=8, delta="2/5"), ThreeWay(ApproxDP(exp_epsilon=2), "1/8")),
        small_close_calls(ApproxDP(1, "1/3"), ThreeWay(ApproxDP("1/2"), "0.01"), jump=1),
    ]
    return [*(json.loads(json.dumps(table.certificate())) for table in tables), *calls]


JUNK: list[Any] = [
    None, True, False, 0, 1, 2, -1, 128, 64, 0.0, 1.0, 0.5, 1e300, "", "0", "1", "2", "1/2", "3/10", "0.5", "1.0", "nan", "inf",
    "-0", "1/0", "0/0", "1e5000", "1e5001", "1e-5000", "1e99999", "1E0", "balanced", "selection", "blue", "red", "line",
    "graph", "close-calls",
    "a", "b", "r", "1 ", " 1", "+1", "1_0", "\u0661", "\uff11", "\u00b2", "x" * 30_000, "1" * 20_001, "1" * 4_400, [], {}, [[]],
    ["a"], ["a", "b"], ["a", "b", "c"], ["a", "a"], {"a": "b"}, [None], ["0"], ["1", "2"], "ab", "2^-60", [0, 1], {"h": "1/2"},
]  # fmt: skip


def places(node: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value."""
    for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        yield (*way, key)
        yield from places(node[key], (*way, key))


def inside(certificate: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        certificate = certificate[key]
    return certificate


def replaced(certificate: Any, way: tuple[Any, ...], rng: random.Random) -> None:
    inside(certificate, way[:-1])[way[-1]] = copy.deepcopy(rng.choice(JUNK))


def removed(certificate: Any, way: tuple[Any, ...], rng: random.Random) -> None:
    del inside(certificate, way[:-1])[way[-1]]


def added(certificate: Any, way: tuple[Any, ...], rng: random.Random) -> None:
    holder, new = inside(certificate, way[:-1]), copy.deepcopy(rng.choice([*JUNK, inside(certificate, way)]))
    if isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), new)
    else:
        holder[rng.choice(["z", "extra", "basis", "a", "1", "", "\u0661", str(way[-1]) + " "])] = new


def respelled(certificate: Any, way: tuple[Any, ...], rng: random.Random) -> None:
    """The same number, or nearly, in other letters."""
    text = str(inside(certificate, way))
    at = rng.randrange(len(text) + 1)
    spellings = [
        " " + text, text + "\n", "+" + text, "-" + text, "0" + text, text + "/1", text + ".0", text + "e0", text + "E0",
        text[:at] + "_" + text[at:], text[:at] + rng.choice("0123456789/.e-\u0665") + text[at:], text[:at] + text[at + 1 :],
        text.translate({ord(c): 0x0660 + int(c) for c in "0123456789"}), text.replace("/", " / "), text.upper(),
        text + "e-00000", text + "e+00",
    ]  # fmt: skip
    inside(certificate, way[:-1])[way[-1]] = rng.choice(spellings)


def retyped(certificate: Any, way: tuple[Any, ...], rng: random.Random) -> None:
    """The same thing as another JSON type."""
    old = inside(certificate, way)
    forms: list[Callable[[], Any]] = [
        lambda: [old], lambda: {"a": old}, lambda: bool(old), lambda: float(old), lambda: int(old), lambda: str(old),
        lambda: None,
        lambda: "".join(old), lambda: dict(enumerate(old)), lambda: dict.fromkeys(old), lambda: [*old], lambda: [*old.items()],
        lambda: [*old, *old], lambda: old[::-1],
    ]  # fmt: skip
    try:
        inside(certificate, way[:-1])[way[-1]] = rng.choice(forms)()
    except (TypeError, ValueError, AttributeError, OverflowError):
        replaced(certificate, way, rng)


def swapped(certificate: Any, way: tuple[Any, ...], rng: random.Random) -> None:
    """Two values change places, in one object or list or across them."""
    other = rng.choice([*places(certificate)])
    if other[: len(way)] == way or way[: len(other)] == other:
        return
    one, two = inside(certificate, way), inside(certificate, other)
    inside(certificate, way[:-1])[way[-1]], inside(certificate, other[:-1])[other[-1]] = two, one


def shifted(certificate: Any, way: tuple[Any, ...], rng: random.Random) -> None:
    """A whole number becomes the next one."""
    text = inside(certificate, way)
    if isinstance(text, str) and text.isdecimal() and len(text) < 4000:
        inside(certificate, way[:-1])[way[-1]] = str(int(text) + rng.choice([-1, 1]))
    else:
        removed(certificate, way, rng)


CHANGES = [replaced, removed, added, respelled, retyped, swapped, shifted]


def spoilt(certificate: dict[str, Any], rng: random.Random) -> str:
    bad = copy.deepcopy(certificate)
    for _ in range(rng.choice([1, 1, 1, 2])):
        ways = [*places(bad)]
        if ways:
            top = rng.choice([way for way in ways if len(way) == 1])  # else most changes would fall on long lists
            rng.choice(CHANGES)(bad, rng.choice([way for way in ways if way[0] == top[0]]), rng)
    text = json.dumps(bad)
    if rng.random() < 0.1:  # the first or the last of two of a name would count
        keys = ["bits", "version", "boundary", "delta", "colour", "truth", "from", "lowered", "wrong", "fine", "close_calls"]
        key = rng.choice(keys)
        value = json.dumps(rng.choice(JUNK))
        text = text.replace(f'"{key}": ', f'"{key}": {value}, "{key}": ', 1)
    return text


@pytest.mark.slow
@pytest.mark.parametrize("seed", thinned(range(SEEDS), 2))
def test_both_checkers_give_the_same_verdict(seed: int) -> None:
    rng = random.Random(seed)
    originals = good()
    accepted = 0
    for certificate in originals:
        assert package_accepts(json.dumps(certificate))
        assert tool_accepts(json.dumps(certificate))
    for _ in range(EACH):
        text = spoilt(rng.choice(originals), rng)
        verdict = package_accepts(text)
        assert verdict == tool_accepts(text), text
        accepted += verdict
    assert EACH / 100 < accepted < EACH / 2  # what nobody reads may change; what is read may not


@pytest.mark.parametrize(
    "change",
    [
        {"lowered": {"a": None}}, {"lowered": []}, {"lowered": "a"}, {"lowered": {"z": ["a"]}}, {"edges": ["ar", "rb", "bc"]},
        {"edges": [{"a": 1, "r": 2}, ["r", "b"], ["b", "c"]]}, {"version": True}, {"version": 1.0},
        {"datasets": {}, "edges": [], "boundary": {}},
        {"datasets": {}, "edges": [], "boundary": "balanced"},
    ],
)  # fmt: skip
def test_what_once_divided_them_is_refused(change: dict[str, Any]) -> None:
    fork = ColouredGraph([("a", "r"), ("r", "b"), ("b", "c")], {"a": "blue", "b": "blue", "c": "blue", "r": "red"})
    certificate = graph_table(fork, ApproxDP(exp_epsilon=2, delta="1/10"), {"a": "3/10", "b": "7/10"}).certificate()
    for kind in (package_accepts, tool_accepts):
        assert kind(json.dumps(certificate))
        assert not kind(json.dumps({**certificate, **change}))


def at_ratio(ratio: Fraction, epsilon: str) -> dict[str, Any]:
    """A certificate that is right but for its ratio, which is this close to e^ε."""
    return line_table(balanced(ApproxDP._computed(ratio, Fraction(1, 100), Fraction(epsilon)))).certificate()


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1", "1/1000", "7.25"])
def test_a_ratio_next_to_a_threshold_is_judged_alike(epsilon: str) -> None:
    """Around e^ε itself, and around the furthest that a ratio may be below it, relative to e^ε - 1, from 2^-90 to 2^-700."""
    with gmpy2.context(precision=3000):
        exact = Fraction(*gmpy2.exp(gmpy2.mpfr(gmpy2.mpq(epsilon))).as_integer_ratio())
    verdicts = []
    for threshold in (exact, exact - (exact - 1) / 2**100):
        for distance in (*range(90, 700, 30), 254, 255, 256, 257, 298, 299, 300, 301, 318, 319, 320, 321, 322):
            for sign in (-1, 1):
                text = json.dumps(at_ratio(threshold + sign * (exact - 1) / 2**distance, epsilon))
                verdict = package_accepts(text)
                assert verdict == tool_accepts(text), (threshold == exact, distance, sign)
                verdicts.append(verdict)
                if threshold == exact and (sign > 0 or distance < 100):
                    assert not verdict
                if 110 <= distance <= 290:
                    assert verdict == ((sign < 0) == (threshold == exact)), (distance, sign)
    assert 10 < sum(verdicts) < len(verdicts) - 10


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.one_of(st.fractions(0, 9), st.fractions(0, 8192), st.builds(lambda m, e: Fraction(m, 10**e), st.integers(0, 99),
       st.integers(0, 2000))))  # fmt: skip
def test_both_bound_the_exponential_by_the_same_numbers(x: Fraction) -> None:
    low, high = exp_bounds(x)
    assert (low, high) == tool.exponential(x)
    with gmpy2.context(precision=40_000):
        exact = Fraction(*gmpy2.exp(gmpy2.mpfr(gmpy2.mpq(x))).as_integer_ratio())
    assert low <= exact <= high
    assert high - low <= (exact - 1) / 2**310


def test_a_long_epsilon_is_judged_alike() -> None:
    """3000 characters near the largest ε."""
    epsilon = f"{8191 * 10**1494 + 7}/{10**1494 + 1}"
    text = json.dumps({**good()[1], "privacy": {"epsilon": epsilon, "ratio": "2", "delta": "1/5"}})
    assert len(epsilon) <= 3000
    assert not package_accepts(text)
    assert not tool_accepts(text)


def to_and_fro(times: int, copies: int = 1) -> dict[str, Any]:
    """Very long numbers, and a lowered value whose path goes to and fro."""
    half, long = str(gmpy2.mpz(2) ** 16383), "1" + "0" * 9990 + "7/7" + "3" * 9980
    names = {"a": "blue", "b": "blue", "r": "red"}
    datasets = {d: {"colour": colour, "truth": half, "error": "0.5", "from": None} for d, colour in names.items()}
    path = ["a", *["r", "a"] * times, "r", "b"]
    return {**good()[6], "privacy": {"epsilon": None, "ratio": long, "delta": "1/7" + "3" * 9800}, "bits": 16384,
            "boundary": {"a": "1/2", "b": "1/2"}, "datasets": datasets, "lowered": {"b": path},
            "edges": [["a", "r"], ["b", "r"]] * copies}  # fmt: skip


@pytest.mark.parametrize("certificate", [to_and_fro(1), to_and_fro(30_000), to_and_fro(0, 30_000)])
def test_a_small_file_of_much_work_is_refused(certificate: dict[str, Any]) -> None:
    with pytest.raises(Unproved, match=r"comes to a dataset twice|too many edges"):
        prove(certificate)
    with pytest.raises(SystemExit, match=r"comes to a dataset twice|too much work"):
        tool.check(certificate)


def test_a_path_that_lowers_and_comes_back_is_refused() -> None:
    privacy = ApproxDP(exp_epsilon="1.1")
    table = graph_table(families.figure_2(), privacy, {"h": "0.6", "l": privacy.iterate("0.6", 3)[0]})
    certificate = json.loads(json.dumps(table.certificate()))
    path = certificate["lowered"]["l"]
    longer = {**certificate, "lowered": {"l": [path[0], path[1], *path]}}
    for accepts in (package_accepts, tool_accepts):
        assert accepts(json.dumps(certificate))
        assert not accepts(json.dumps(longer))


@given(st.one_of(st.fractions(0, 1), st.builds(lambda m, z, e: Fraction(m * 10**z + 1, 10 ** (z + e)), st.integers(1, 10**9),
       st.integers(1, 200), st.integers(9, 300))))  # fmt: skip
def test_what_is_printed_is_never_less_than_what_is_proved(x: Fraction) -> None:
    text = str(x)
    shown = tool.budget({"privacy": {"epsilon": text, "delta": "0"}}).split(", ")[0].split()[-1]
    for printed in (brief(text), shown):
        assert x <= Fraction(printed) <= x * (1 + Fraction(1, 10**5))


def test_a_budget_just_above_a_short_number_is_printed_above_it() -> None:
    budget = ApproxDP("0.1" + "0" * 30 + "1", "0.01" + "0" * 40 + "9")
    words = prove(json.loads(json.dumps(line_table(balanced(budget)).certificate())))
    assert words.endswith("under epsilon 0.1000001, delta 0.01000001")
