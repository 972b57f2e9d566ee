"""Two checkers, one verdict: thousands of spoilt certificates, judged by the package and by the tool that shares no code."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import gmpy2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duotone import ApproxDP, ColouredGraph, balanced, prove
from duotone.graphs import families
from duotone.graphs.table import graph_table
from duotone.line.table import line_table
from duotone.release.certificate import Unproved
from duotone.release.certificate_numbers import brief, exp_bounds
from support.certificates import good, package_accepts, spoilt, tool, tool_accepts
from support.running import thinned

SEEDS, EACH = 6, 5000


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
        {"rows": {}, "edges": [], "boundary": {}},
        {"rows": {}, "edges": [], "boundary": "balanced"},
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
    rows = {d: {"numbers": [half, half], "colour": colour, "error": "0.5", "from": None} for d, colour in names.items()}
    path = ["a", *["r", "a"] * times, "r", "b"]
    return {**good()[6], "privacy": {"epsilon": None, "ratio": long, "delta": "1/7" + "3" * 9800}, "bits": 16384,
            "boundary": {"a": "1/2", "b": "1/2"}, "rows": rows, "lowered": {"b": path},
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
    shown = tool.budget({"outcomes": ["yes", "no"], "privacy": {"epsilon": text, "delta": "0"}}).split(", ")[0].split()[-1]
    for printed in (brief(text), shown):
        assert x <= Fraction(printed) <= x * (1 + Fraction(1, 10**5))


def test_a_budget_just_above_a_short_number_is_printed_above_it() -> None:
    budget = ApproxDP("0.1" + "0" * 30 + "1", "0.01" + "0" * 40 + "9")
    words = prove(json.loads(json.dumps(line_table(balanced(budget)).certificate())))
    assert words.endswith("under epsilon 0.1000001, delta 0.01000001")
