"""Certificates of close calls: what both checkers prove, and what neither believes."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, prove
from duotone.ledger.close_calls import most_close_calls
from duotone.line.three_way import ThreeWay
from duotone.release.certificate import Unproved
from duotone.release.certificate_close_calls import ONE, Nodes, _logarithm, gains
from support.certificates import CHECKERS, change, clear_of, sides_of, small_close_calls, tool
from support.running import EXHAUSTIVE, run

BUDGET, QUESTION = ApproxDP(2, "1/8"), ThreeWay(ApproxDP("1/2"), "0.001")


def verdict(certificate: Any) -> bool:
    """Of both checkers, which agree."""
    verdicts = {check(json.loads(json.dumps(certificate))) for check in CHECKERS}
    assert len(verdicts) == 1, certificate
    return verdicts.pop()


@pytest.fixture(scope="module")
def certificate() -> dict[str, Any]:
    return small_close_calls(BUDGET, QUESTION, levels=10)


def test_both_checkers_say_what_they_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = json.loads(json.dumps(most_close_calls(ApproxDP(1, "1e-6"), ThreeWay(ApproxDP("0.05"))).certificate()))
    sentence = (
        "private: 9 close calls, and any number of clear answers, under epsilon 1, delta 0.000001; "
        "each question at epsilon 0.05, wrong with 1e-9"
    )
    assert prove(proof) == sentence
    assert f"{tool.check(proof)} under {tool.budget(proof)}" == (
        "9 close calls and any number of clear answers under epsilon 1, delta 1/1000000; "
        "each question at epsilon 1/20, delta 0, wrong with 1/1000000000"
    )
    file = tmp_path / "close-calls.json"
    file.write_text(json.dumps(proof))
    assert run(capsys, "check", str(file)) == (0, sentence + "\n", "")
    file.write_text(json.dumps(proof | {"close_calls": 11}))
    code, out, _ = run(capsys, "check", str(file))
    assert (code, out) == (1, "NOT proved: the certificate does not show that this many close calls fit into the budget\n")


def test_a_ratio_in_place_of_epsilon_and_a_single_close_call() -> None:
    budget = ApproxDP(exp_epsilon=8, delta="1/7")
    proof = small_close_calls(budget, ThreeWay(ApproxDP(exp_epsilon=2), "1/8"))
    assert verdict(proof)
    assert prove(proof) == (
        "private: 1 close call, and any number of clear answers, under ratio 8, delta 0.1428572; each question at ratio 2, "
        "wrong with 0.125"
    )


def test_a_bound_holds_to_the_last_part(certificate: dict[str, Any]) -> None:
    """δ may be what the functions show, and no part of 2^96 less."""
    nodes, ratio = Nodes(**certificate["nodes"]), Fraction(certificate["budget"]["ratio"])
    for count, gain in enumerate(islice(gains(nodes, ratio), 6), 1):
        for missing in (0, 1):
            delta = str(Fraction(gain - missing, ONE))
            budget = certificate["budget"] | {"delta": delta}
            assert verdict(certificate | {"close_calls": count, "budget": budget}) is (missing == 0)


def honest(certificate: dict[str, Any]) -> bool:
    """Whether a table's clocks differ by at most the ratio, in long decimals."""
    digits, one, y = Context(prec=200), 2 ** certificate["bits"], Fraction(certificate["privacy"]["ratio"])
    clear = [int(entry) for entry in clear_of(certificate)]
    wrong = Fraction(certificate["wrong"]) * one // 1
    if not (clear[0] == wrong and clear == sorted(clear) and clear[-1] <= one - wrong):
        return False
    rates = [Fraction(digits.ln(Decimal(one - wrong))) - Fraction(digits.ln(Decimal(entry))) for entry in clear]
    return all(near <= y * far for near, far in pairwise(rates))


@pytest.mark.slow
def test_every_single_entry_mutation_is_judged_by_the_clocks(certificate: dict[str, Any]) -> None:
    """Every entry that grows is caught; one that falls may still be private, and then both checkers say so."""
    rng, one = random.Random(4), 2 ** certificate["bits"]
    accepted = tried = 0
    texts = clear_of(certificate)
    for i, text in enumerate(texts):
        old = int(text)
        flips = [old ^ 1 << rng.randrange(128) for _ in range(200 if EXHAUSTIVE else 12)]
        for new in {old - 1, old - 2, old + 1, old + 1000, 0, 1, one, one - 1, one + 1, rng.randrange(one), *flips} - {old}:
            bad = certificate | sides_of(certificate, [*texts[:i], str(new), *texts[i + 1 :]])
            holds = verdict(bad)
            one_side = copy.deepcopy(certificate)
            one_side["rows"][i - certificate["lowest"]] = bad["rows"][i - certificate["lowest"]]
            assert not verdict(one_side)
            assert holds is (0 < new <= one and honest(bad)), (i, old, new)
            assert not (holds and new > old)
            accepted, tried = accepted + holds, tried + 1
    assert tried > 150
    assert 0 < accepted < tried / 2
    for i, j in ((0, 1), (3, 4), (8, 9)):
        swapped = texts.copy()
        swapped[i], swapped[j] = texts[j], texts[i]
        assert not verdict(certificate | sides_of(certificate, swapped))
        assert not verdict(certificate | sides_of(certificate, texts[:i] + texts[i + 1 :]))
    assert verdict(certificate | sides_of(certificate, texts[:1]))


@pytest.mark.parametrize(
    "lie",
    [
        change("claims", {"private": True, "optimal": True}), change("claims", {"private": 1}), change("claims", {}),
        change("claims", ["private"]), change("version", 2), change("version", True), change("bits", 32), change("bits", 2048),
        change("bits", "128"), change("bits", 127), change("privacy.delta", "1e-9"), change("privacy.epsilon", "0.49"),
        change("privacy.ratio", "1.7"), change("privacy.ratio", "1.6"), change("privacy", {"epsilon": None, "ratio": "1.5",
        "delta": "0"}), change("privacy", {"epsilon": None, "ratio": "1.8", "delta": "0"}), change("privacy", None),
        change("budget.delta", "1/200"), change("budget.delta", "0"), change("budget.delta", "1"),
        change("budget.epsilon", "1"), change("budget.epsilon", "1.9"), change("budget", None),
        change("wrong", "0.002"), change("wrong", "0"),
        change("wrong", "0.6"), change("wrong", 0.001), change("wrong", "1e-300"), change("rows", []), change("rows", {}),
        change("rows", None), change("rows", "1"), change("lowest", -1), change("lowest", 0), change("lowest", -10.0),
        change("lowest", None), change("outcomes", ["yes", "no"]), change("outcomes", ["yes", "no", "too close to call"]),
        change("close_calls", 0), change("close_calls", -1),
        change("close_calls", True), change("close_calls", 1.0), change("close_calls", "1"), change("close_calls", 2**40),
        change("nodes.fine", 0), change("nodes.fine", 2**41), change("nodes.fine", 5), change("nodes.fine", 10**6),
        change("nodes.fine", 4.0), change("nodes.jump", 0), change("nodes.jump", 1), change("nodes.jump", 2**11),
        change("nodes.jump", True), change("nodes.low", 1), change("nodes.low", -(2**30)), change("nodes.low", None),
        change("nodes.high", 0), change("nodes.high", 1), change("nodes.high", 3), change("nodes.high", 2**30),
        change("nodes", [4, 2, -20, 20]), change("nodes", {"fine": 1, "jump": 65, "low": -60, "high": 60}),
        lambda c: c.pop("nodes"), lambda c: c["nodes"].pop("low"), lambda c: c.pop("budget"), lambda c: c.pop("wrong"),
        lambda c: c.update(sides_of(c, ["0", *clear_of(c)])), lambda c: c.update(sides_of(c, [*clear_of(c), str(2**128)])),
        lambda c: c["rows"].append(c["rows"][-1]), lambda c: c["rows"].pop(), lambda c: c["rows"].reverse(),
        lambda c: c["rows"][-1]["numbers"].reverse(), lambda c: c["rows"][-1]["numbers"].append("0"),
        lambda c: c["rows"][12]["numbers"].__setitem__(0, " " + c["rows"][12]["numbers"][0]),
        lambda c: c["rows"][12]["numbers"].__setitem__(0, int(c["rows"][12]["numbers"][0])),
        lambda c: c.update(sides_of(c, clear_of(c) + clear_of(c)[-1:] * 2**17)),
    ],
)  # fmt: skip
def test_other_lies_are_caught(certificate: dict[str, Any], lie: Callable[[dict[str, Any]], None]) -> None:
    assert verdict(certificate)
    bad = copy.deepcopy(certificate)
    lie(bad)
    assert not verdict(bad)


def test_what_nobody_can_learn_from_may_change(certificate: dict[str, Any]) -> None:
    """Fewer close calls, a larger budget, a table that ends earlier or stays as it is: all that is still private."""
    texts = clear_of(certificate)
    for harmless in (
        {"close_calls": 1},
        {"budget": certificate["budget"] | {"delta": "0.9"}},
        sides_of(certificate, [*texts, texts[-1], texts[-1]]),
        sides_of(certificate, texts[:3]),
        {"nodes": certificate["nodes"] | {"low": certificate["nodes"]["low"] - 5}},
        {"note": "nobody reads this"},
    ):
        assert verdict(certificate | harmless)


@pytest.mark.slow
def test_a_file_of_too_much_work_is_refused_at_once(certificate: dict[str, Any]) -> None:
    nodes = certificate["nodes"]
    for bad, says in (
        ({"nodes": nodes | {"high": 2**20}}, "too many nodes"),
        ({"close_calls": 2**27}, "too many nodes"),
        ({"nodes": {"fine": 1, "jump": 65, "low": -60, "high": 60}}, "differ by too much"),
        ({"rows": certificate["rows"] + [certificate["rows"][-1]] * 2**18}, "too many entries"),
        ({"bits": 2**11}, "too many entries"),
    ):
        with pytest.raises(Unproved, match=says):
            prove(certificate | bad)
        assert not verdict(certificate | bad)


def test_both_take_the_same_logarithms() -> None:
    rng = random.Random(1)
    for bits in (64, 128, 128, 300):
        for _ in range(20):
            top = rng.getrandbits(bits) | 1 << bits - 1
            for bottom in (top, top - 1, top >> 1, (top >> 1) + 1, 1, 3, rng.randrange(1, top), top - rng.getrandbits(20)):
                places = bits + 65
                log = _logarithm(top, bottom, places)
                assert log == tool.logarithm(top, bottom, places)
                with_digits = Context(prec=300)
                ratio = with_digits.ln(with_digits.divide(Decimal(top), Decimal(bottom)))
                assert Fraction(log, 2**places) <= Fraction(ratio) + Fraction(1, 10**200)
                assert Fraction(ratio) < Fraction(log + 1, 2**places)
