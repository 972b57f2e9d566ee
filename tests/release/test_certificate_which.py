"""Certificates of one answer among k: both checkers accept what is written, and nothing that differs by one part of 2^bits."""

from __future__ import annotations

import copy
import json
import random
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, prove
from duotone.line.which import Which, which_table
from duotone.privacy.renyi import RenyiDP, Shared
from duotone.privacy.rounded import Rounded, shrunk
from duotone.release.certificate import Unproved
from support.certificates import both_reject, good_which, package_accepts, spoilt, tool, tool_accepts
from support.running import examples, run
from support.strategies import exact_budgets

CERTIFICATES = good_which()


@pytest.mark.parametrize("certificate", CERTIFICATES)
def test_both_checkers_prove_what_is_written(certificate: dict[str, Any]) -> None:
    answers = certificate["claims"]["which"]["answers"]
    assert prove(certificate).startswith(
        f"private and optimal: one answer among {answers}, {len(certificate['rows'])} distances"
    )
    assert tool.check(certificate) == f"answers, one among {answers}, at {len(certificate['rows'])} distances"


@examples(30)
@given(exact_budgets.filter(lambda p: p.epsilon >= 0.05 or p.delta >= 0.02), st.integers(2, 20), st.booleans())
def test_of_any_budget_and_any_number_of_answers(privacy: ApproxDP, answers: int, ordered: bool) -> None:
    text = json.dumps(Which(privacy, answers, ordered).certificate())
    assert package_accepts(text)
    assert tool_accepts(text)


@pytest.mark.parametrize(
    "privacy", [ApproxDP("0.1", "1e-6"), ApproxDP(1), RenyiDP(20, "1.1"), RenyiDP(9, "1.01", "1e-3")], ids=str
)
def test_of_a_thousand_answers(privacy: Any) -> None:
    text = json.dumps(Which(privacy, 1000).certificate())
    assert len(text) < 40_000
    assert package_accepts(text)
    assert tool_accepts(text)


def moved(certificate: dict[str, Any], row: int, by: dict[int, int]) -> dict[str, Any]:
    """The same with other numbers in a row."""
    bad = copy.deepcopy(certificate)
    for column, step in by.items():
        numbers = bad["rows"][row]["numbers"]
        numbers[column] = str(int(numbers[column]) + step)
    return bad


@pytest.mark.parametrize("certificate", CERTIFICATES)
def test_nothing_that_differs_by_one_part_is_proved(certificate: dict[str, Any]) -> None:
    """In any row, from any number to any other one; a whole q from or to the truth of the first row."""
    columns, one = len(certificate["outcomes"]), 2 ** certificate["bits"]
    for row in {0, 1, len(certificate["rows"]) // 2, len(certificate["rows"]) - 1}:
        for source in range(columns):
            for target in range(columns):
                bad = moved(certificate, row, {source: -1, target: 1})
                if source != target and all(0 <= int(n) <= one for n in bad["rows"][row]["numbers"]):
                    assert both_reject(bad), (row, source, target)
    others = certificate["claims"]["which"]["answers"] - 1
    for sign in (-1, 1):
        each = dict.fromkeys(range(1, columns), -sign * (1 if columns > 2 else others))
        assert both_reject(moved(certificate, 0, {0: sign * others, **each}))


@pytest.mark.parametrize("certificate", CERTIFICATES)
def test_other_claims_are_refused(certificate: dict[str, Any]) -> None:
    told = certificate["claims"]["which"]
    for change in (
        {"answers": told["answers"] + 1}, {"answers": told["answers"] - 1}, {"answers": 1}, {"answers": True}, {"answers": "3"},
        {"answers": 3.0}, {"answers": 2**16 + 1}, {"ordered": 1}, {"ordered": None}, {"z": 1},
    ):  # fmt: skip
        assert both_reject({**certificate, "claims": {**certificate["claims"], "which": {**told, **change}}}), change
    if told["answers"] > 2:
        turned = {**told, "ordered": not told["ordered"]}
        assert both_reject({**certificate, "claims": {**certificate["claims"], "which": turned}})
    for name, value in (("private", False), ("optimal", 1), ("loss", "2^-61"), ("loss", None)):
        assert both_reject({**certificate, "claims": {**certificate["claims"], name: value}})
    rows = certificate["rows"]
    for change in (
        {"lowest": -1}, {"lowest": False}, {"rows": rows[1:]}, {"rows": []},
        {"rows": rows[: len(rows) // 2]}, {"rows": {"0": rows[0]}},
        {"outcomes": ["yes", "no"]}, {"outcomes": ["0", *certificate["outcomes"]]}, {"selection": certificate},
        {"bits": certificate["bits"] + 1}, {"version": 2},
    ):  # fmt: skip
        assert both_reject({**certificate, **change}), change


@pytest.mark.parametrize("kind", [{"ordered": False}, {"ordered": True}])
def test_rows_that_are_private_and_worse_are_refused(kind: dict[str, bool]) -> None:
    """A table of a smaller budget, under this one's name; and one whose first truth is smaller."""
    small, large = (Which(ApproxDP(exp_epsilon=y, delta="1/10"), 4, **kind).certificate() for y in ("2", "3"))
    assert both_reject({**small, "privacy": large["privacy"]})
    assert both_reject({**large, "privacy": small["privacy"]})


def test_answers_in_order_need_an_epsilon() -> None:
    """Rows whose prefix sums move by φ of one Rényi order are not private by it, over more than two answers."""
    table = which_table(RenyiDP(3, 40, "1/10"), 3)
    certificate = json.loads(json.dumps(Which(RenyiDP(3, 40, "1/10"), 3).certificate()))
    truth, others = table.entries[0]
    certificate["claims"]["which"]["ordered"], certificate["outcomes"] = True, ["0", "1", "2"]
    certificate["rows"][0]["numbers"] = [str(truth), str(others // 2), str(others // 2)]
    for row in certificate["rows"][1:]:
        row["numbers"] = [row["numbers"][0], row["numbers"][1], "0"]
    with pytest.raises(Unproved, match="all wrong answers are alike"):
        prove(certificate)
    with pytest.raises(SystemExit, match="in order under one Renyi order"):
        tool.check(certificate)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_both_checkers_give_the_same_verdict_on_spoilt_ones(seed: int) -> None:
    rng, accepted = random.Random(seed), 0
    for _ in range(3000):
        text = spoilt(rng.choice(CERTIFICATES), rng)
        verdict = package_accepts(text)
        assert verdict == tool_accepts(text), text
        accepted += verdict
    assert 30 < accepted < 1500  # what nobody reads may change; what is read may not


@pytest.mark.parametrize(("ratio", "answers"), [("64", 3), ("17/3", 4), ("2", 30)])
def test_prefix_sums_alone_are_not_enough(ratio: str, answers: int) -> None:
    """With few bits they are as large as possible, and close to the optimum; but rounding moves chances by more than e^ε."""
    privacy, bits = ApproxDP(exp_epsilon=ratio), 72
    floor, one = Rounded(shrunk(privacy, bits), bits), 1 << bits
    step, other = floor.on_integers(), int(floor.each_other(answers) * one)
    sums = [[one - (answers - 1 - place) * other for place in range(answers)]]
    while (following := [int(step(s)) for s in sums[-1]]) != sums[-1] and one - sums[-1][0] > one >> 62:
        sums.append(following)
    rows = [{"numbers": [str(after - before) for before, after in pairwise((0, *row))]} for row in sums]
    forged = {**Which(privacy, answers, ordered=True).certificate(), "bits": bits, "rows": rows}
    with pytest.raises(Unproved, match="two neighbouring distances differ by more"):
        prove(forged)
    with pytest.raises(SystemExit, match="two distances are not private"):
        tool.check(forged)


def test_answers_that_share_a_budget_say_so() -> None:
    shared = Shared.of(ApproxDP(1, "1e-6"), 50)
    together = {"epsilon": "1", "ratio": None, "delta": "1/1000000", "answers": 50}
    certificate = Which(shared.each, 4).certificate()
    together["ratio"] = Which(ApproxDP(1, "1e-6"), 2).certificate()["privacy"]["ratio"]
    assert "50 such answers are private together under epsilon 1" in prove({**certificate, "together": together})
    assert tool_accepts(json.dumps({**certificate, "together": together}))
    assert both_reject({**certificate, "together": {**together, "answers": 51}})


def test_the_command_checks_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(CERTIFICATES[1]))
    code, out, _ = run(capsys, "check", file)
    assert code == 0
    assert "one answer among 4" in out


def test_the_rows_are_those_of_the_table() -> None:
    which = Which(ApproxDP(1, "1e-6"), 5, ordered=True)
    certificate = which.certificate()
    assert [[int(n) for n in row["numbers"]] for row in certificate["rows"]] == [[*row] for row in which.table.entries]
    assert [*accumulate(which.table.entries[0])][-1] == 2 ** certificate["bits"]
