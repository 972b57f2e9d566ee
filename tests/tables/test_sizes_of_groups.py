"""Private groups of real tables: one charge, noisy sizes for every limit, answers that are clipped, a floor, and all limits."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError, ask, balanced, open_ledger, partition_selection, prepare, prove, select_groups
from duotone.ledger.close_calls import most_close_calls
from duotone.line.noise import Margin
from duotone.line.table import line_table
from duotone.line.three_way import ThreeWay
from duotone.model.accuracy import Accuracy
from duotone.model.terms import DefiniteTerms
from duotone.release.certificate import Unproved
from duotone.tables.answers import Answers
from duotone.tables.check_question import prepare_all, prepare_groups
from duotone.tables.prepared import Prepared

CHECKER = Path(__file__).parents[2] / "tools" / "check_certificate.py"
USUAL = ApproxDP(1, "1e-6")
PEOPLE = {"Ely": 400, "Wells": 100, "Wye": 36, "Rye": 29, "Bath": 28, "Hay": 14, "Ash": 1}
TABLE = pa.table({
    "town": [town for town, many in PEOPLE.items() for _ in range(many)],
    "x": [float(i % 2) for many in PEOPLE.values() for i in range(many)],
})  # fmt: skip
CERTAIN = {"Bath", "Ely", "Rye", "Wells", "Wye"}
BY_TOWN = "select town, {} from t group by town"
HALF: dict[str, Any] = {"bounds": {"x": (0, 1)}}


def terms_of(asked: Prepared) -> DefiniteTerms:
    assert isinstance(asked.terms, DefiniteTerms)
    return asked.terms


@pytest.mark.slow
def test_groups_are_shown_for_certain_from_28_people_with_their_sizes() -> None:
    """Where the budget was halved between showing and answering, it took 54."""
    for question in (None, "count(*) >= 50", "avg(x) > 0.9"):
        for _ in range(40):
            if question is None:
                reply = select_groups(TABLE, "town", USUAL)
            else:
                reply = ask(TABLE, BY_TOWN.format(question), USUAL, **(HALF if "avg" in question else {}))
            assert {town for (town,) in reply.answers} >= CERTAIN
            assert list(reply.answers) == sorted(reply.answers)
            assert bool(reply.sizes) == (question != "avg(x) > 0.9")
            assert all(-14 <= size - PEOPLE[town] <= 13 for (town,), size in reply.sizes.items())


@pytest.mark.parametrize("sign", [">=", ">", "<=", "<"])
def test_both_mistakes_about_a_size_are_as_often_as_said(sign: str) -> None:
    """The size that is shown is the number of people and what makes a group shown, less its median: by φ^n(0) alone."""
    shown = [Fraction(partition_selection(USUAL).yes(people - 1)) for people in range(80)]
    median = next(people for people, chance in enumerate(shown) if chance >= Fraction(1, 2))
    with prepare(TABLE, BY_TOWN.format(f"count(*) {sign} 40"), USUAL) as asked:
        assert isinstance(asked.accuracy, Accuracy)
        for people in range(1, 12):
            short, long = float(1 - shown[median + people - 1]), float(shown[median - people])  # seems smaller, or larger
            assert asked.accuracy.errors(people) == pytest.approx((short, long) if ">" in sign else (long, short), abs=1e-15)


@pytest.mark.parametrize("delta", ["1e-6", "1e-100", "1e-400"])
def test_notes_on_sizes_with_whatever_delta(delta: str) -> None:
    """Also with one whose table has more bits than any float."""
    with prepare_groups(TABLE, "town", ApproxDP(1, delta)) as asked:
        assert "is seldom shown (less than once in 20)" in asked.notes[0]


@pytest.mark.parametrize("sign", [">=", ">", "<=", "<"])
def test_all_limits_follow_from_one_charge_of_sizes(tmp_path: Path, sign: str) -> None:
    with open_ledger(tmp_path / "budget.ledger") as ledger:
        ledger.register("t", ApproxDP(2, "1e-3"), unit="row", neighbours="add-remove", version="1")
        about: dict[str, Any] = {"ledger": ledger, "dataset": "t"}
        first = ask(TABLE, BY_TOWN.format("count(*) > 30"), USUAL, **about)
        assert first.receipt is not None
        assert str(first.receipt.left) == "epsilon 1, delta 0.000999"
        for limit in (5, 30, 100, 399, 420):
            again = ask(TABLE, BY_TOWN.format(f"count(*) {sign} {limit}"), USUAL, **about)
            assert again.receipt is not None
            assert again.receipt.free
            assert again.sizes == first.sizes == again.estimates
            compared = {">=": np.greater_equal, ">": np.greater, "<=": np.less_equal, "<": np.less}[sign]
            assert again.answers == {key: bool(compared(size, limit)) for key, size in first.sizes.items()}
            for key, margin in again.margins.items():
                if margin.certain:
                    assert again.answers[key] == compared(PEOPLE[key[0]], limit)
        (charge,) = ledger.statement("t").charges
        assert (charge.boundary, charge.answers) == ("selection", 1)
        assert ledger.verify().holds


@pytest.mark.parametrize(("count", "sized"), [
    ("count(*)", True), ("count(distinct who)", True), ("count(*) filter (where x > 0)", True),
    ("count(*) filter (where x > 1)", False), ("count(y)", False),
])  # fmt: skip
def test_a_count_of_all_people_of_the_groups_rows_is_their_size(count: str, sized: bool) -> None:
    """Groups are of the people with a row that satisfies `where`, and so is a count of everybody in them."""
    rows = [
        ("a", 1, 1, 1),
        ("a", 1, 0, 1),
        ("a", 2, 2, None),
        ("a", 3, None, 1),
        ("b", 4, 2, 1),
        ("b", 2, 0, 1),
        (None, 5, 1, 1),
    ]
    town, who, x, y = zip(*rows, strict=True)
    table = pa.table({"town": town, "who": who, "x": x, "y": y})
    options: dict[str, Any] = {"unit": "who", "max_groups": 2, **({} if "distinct" in count else {"max_rows": 1})}
    with prepare(table, f"select town, {count} >= 2 from t where x > 0 group by town", USUAL, **options) as asked:
        assert terms_of(asked).sized is sized
        keys, people, levels = asked._levels()
        assert dict(zip(keys, people.tolist(), strict=True)) == {("a",): 2, ("b",): 1}
        assert (levels.tolist() == (people - 2).tolist()) is sized


@pytest.mark.parametrize(
    ("question", "options", "sized"),
    [
        ("count(*) > 5", {}, True),
        ("not count(*) > 5", {}, True),
        ("count(*) < 5", {"unit": "who", "max_rows": 1, "max_groups": 2}, True),
        ("count(distinct who) >= 3", {"unit": "who", "max_groups": 1}, True),
        ("count(*) filter (where x > 0) > 5", {}, False),
        ("count(x) > 5", {}, False),
        ("count(*) > 5 and avg(x) > 0.5", HALF, False),
        ("count(*) = 5", {}, False),
        ("count(*) > 5", {"unit": "who", "max_rows": 2, "max_groups": 1}, False),
        ("count(*) > 5", {"costs": (10, 1)}, False),
    ],
)
def test_which_questions_are_about_sizes(question: str, options: dict[str, Any], sized: bool) -> None:
    """Those alone whose levels are how far the people of a group are from a limit, on every small table."""
    for rows in ([], ["a"], ["a", "a", "b"], ["b"] * 5, ["a"] * 3 + ["b"] * 4):
        table = pa.table({"town": pa.array(rows, pa.string()), "x": pa.array([1.0] * len(rows), pa.float64()),
                          "who": pa.array(range(len(rows)), pa.int64())})  # fmt: skip
        with prepare(table, BY_TOWN.format(question), USUAL, **options) as asked:
            terms = terms_of(asked)
            assert terms.sized is sized
            if terms.sized:
                assert terms.count is not None
                keys, people, levels = asked._levels()
                assert people.tolist() == [rows.count(town) for (town,) in keys]
                assert levels.tolist() == [terms.count.margin(n) for n in people.tolist()]


@pytest.mark.slow
def test_groups_that_are_answered_clip_their_levels_and_say_so() -> None:
    """At level 3 about 36 people, wrong or hidden with 0.013; at 28 or fewer a fair coin, and p at least a half where it is."""
    questions = BY_TOWN.format("avg(x) > 0.25")
    with prepare(TABLE, questions, USUAL, **HALF) as asked:
        note = asked.notes[1]
        assert note.startswith("about a group of 28 people or fewer an answer is the toss of a coin")
        assert "in groups of more than 28 people by as many; about a group of 28 people or fewer" in asked.quote()
        many, coin = 300, 0
        for _ in range(many):
            reply = asked.release()
            assert reply.answers[("Ely",)]
            assert reply.margins[("Ely",)].certain
            coin += bool(reply.answers[("Bath",)])
            assert all(m.noise.tossed for m in reply.margins.values())
        assert abs(coin - many / 2) < 60


test_groups_that_are_answered_clip_their_levels_and_say_so = pytest.mark.false_alarm(1e-11)(
    test_groups_that_are_answered_clip_their_levels_and_say_so
)


@pytest.mark.parametrize("question", [None, "count(*) >= 20", "avg(x) > 0.25"])
def test_no_group_under_the_floor_is_ever_shown(question: str | None) -> None:
    strong = ApproxDP(9, "0.9")  # all that may be shown, is, for all that one sees
    for _ in range(20):
        if question is None:
            reply = select_groups(TABLE, "town", strong, at_least=30)
        else:
            reply = ask(TABLE, BY_TOWN.format(question), strong, at_least=30, **(HALF if "avg" in question else {}))
        assert {town for (town,) in reply.answers} <= {"Ely", "Wells", "Wye"}
        assert {("Ely",), ("Wells",)} <= reply.answers.keys()
        assert "one of fewer than 30 people is never shown" in " ".join(reply.notes)
    with prepare_groups(TABLE, "town", USUAL, at_least=30) as asked:
        groups = terms_of(asked).groups
        assert groups is not None
        assert (groups.at_least, groups.always) == (30, 57)


def largest_chance_of_being_shown(people: int) -> float:
    """What (1, 10^-6)-privacy allows a group of so many people, from nobody on, by its definition alone."""
    shown, ratio, delta = 0.0, math.e, 1e-6
    for _ in range(people):
        shown = min(1.0, ratio * shown + delta, 1 - (1 - shown - delta) / ratio)
    return shown


@pytest.mark.parametrize("floor", [1, 2, 30, 200])
def test_the_accuracy_of_a_selection_counts_from_its_floor(floor: int) -> None:
    with prepare_groups(TABLE, "town", USUAL, at_least=floor) as asked:
        for people in range(1, 300):
            chance = largest_chance_of_being_shown(max(0, people - floor + 1))
            assert asked.error(people) == pytest.approx(1 - chance, abs=1e-9)
        always = next(people for people in range(1, 300) if largest_chance_of_being_shown(people - floor + 1) == 1)
        assert asked.accuracy.ending == f"always shown from {always} people on"
        assert asked.release().quote().endswith(f"; a group of {always} or more people is always shown.")


def test_a_floor_is_part_of_the_question_and_refused_where_nothing_is_selected(tmp_path: Path) -> None:
    assert '"at_least": 9' in prepare_groups(TABLE, "town", USUAL, at_least=9).normal
    assert prepare_groups(TABLE, "town", USUAL, at_least=1).normal == prepare_groups(TABLE, "town", USUAL).normal
    question = BY_TOWN.format("count(*) > 5")
    for asked, options in ((question, {"groups": ["Ely"]}), ("count(*) > 5", {})):
        with pytest.raises(DuotoneError, match="at_least is for groups that are selected privately"):
            prepare(TABLE, asked, USUAL, at_least=9, **options)  # type: ignore[arg-type]
    with pytest.raises(DuotoneError, match="at_least must be a whole number"):
        prepare(TABLE, question, USUAL, at_least=0)
    with prepare_all(TABLE, [question, "count(*) > 5"], USUAL, at_least=9) as (first, second):
        assert ("at_least" in first.normal, "at_least" in second.normal) == (True, False)


@pytest.mark.parametrize("options", [{}, {"groups": ["Nowhere"]}])
def test_columns_are_there_also_where_no_group_is_shown(options: dict[str, Any]) -> None:
    nobody = TABLE.slice(0, 0)
    means = ask(nobody, BY_TOWN.format("avg(x) > 0.5"), USUAL, **HALF, **options).to_arrow()
    assert means.column_names == ["town", "answer", "margin", "p_value", "certain"]
    assert [str(kind) for kind in means.schema.types[1:]] == ["bool", "int64", "double", "bool"]
    counts = ask(nobody, BY_TOWN.format("count(*) > 5"), USUAL, **options)
    sized = [] if options else ["size"]
    assert counts.to_pandas().columns.tolist() == ["town", "answer", "margin", "p_value", "certain", *sized]
    assert ("sizes" in counts.document(), "margins" in counts.document()) == (not options, True)
    if not options:
        assert select_groups(nobody, "town", USUAL).to_arrow().column_names == ["town", "answer", "size"]
    full = select_groups(TABLE, "town", USUAL)
    assert full.to_arrow()["size"].to_pylist() == [*full.sizes.values()]


def test_what_a_ledger_recorded_of_small_groups_says_no_more_than_it_should(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "budget.ledger") as ledger:
        ledger.register("t", ApproxDP(9, "1e-3"), unit="row", neighbours="add-remove", version="1")
        reply = ask(TABLE, BY_TOWN.format("avg(x) > 0.25"), USUAL, ledger=ledger, dataset="t", **HALF)
        ask(TABLE, BY_TOWN.format("count(*) > 25"), USUAL, ledger=ledger, dataset="t")
        means, counts = ledger.statement("t").charges
        assert means.boundary == "balanced+selection"
        by_key = {key[0]: numbers for key, _, numbers in means.recorded}
        assert by_key == {key[0]: margin.numbers() for key, margin in reply.margins.items()}
        assert all(numbers["give_or_take"] == 3 for _, _, numbers in counts.recorded)
        again = ask(TABLE, BY_TOWN.format("avg(x) > 0.25"), USUAL, ledger=ledger, dataset="t", **HALF)
        assert again.margins == reply.margins


def checked(document: Any) -> str:
    """What the checker that shares no code with Duotone says."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(document))
        file.flush()
        ran = subprocess.run([sys.executable, CHECKER, file.name], capture_output=True, text=True, check=False)
    return (ran.stdout + ran.stderr).strip()


def test_certificates_prove_what_was_drawn_from() -> None:
    with prepare(TABLE, BY_TOWN.format("avg(x) > 0.5"), USUAL, **HALF) as asked:
        document = json.loads(json.dumps(asked.release().certificate()))
    ends = ", with their margins, under epsilon 1, delta 1/1000000"
    own, selects = f"private and optimal: 30 levels{ends}", f"private and optimal: 29 levels{ends}"
    assert prove(document) == f"{own}; groups are selected by a mechanism that is {selects}"
    assert (
        checked(document) == "PROVED: 30 levels, with their margins, and 29 levels, with their margins, that select groups are"
        " private and optimal under epsilon 1, delta 1/1000000"
    )
    usual = select_groups(TABLE, "town", ApproxDP(2, "1e-6")).certificate()
    spoilt = {**document["selection"], "rows": [*document["selection"]["rows"][:-1], document["selection"]["rows"][-2]]}
    chosen: Any
    for chosen in (usual, line_table(balanced(USUAL)).certificate(), document, spoilt, None, [], "selection"):
        with pytest.raises(Unproved):
            prove({**document, "selection": chosen})
        assert checked({**document, "selection": chosen}).startswith("NOT PROVED")
    close = most_close_calls(USUAL, ThreeWay(ApproxDP("1/20"), "1e-9")).certificate()  # a proof, of something else
    answers = {**line_table(balanced(ApproxDP("1/20"))).certificate(), "privacy": close["privacy"]}
    assert prove(close).startswith("private")
    assert prove(answers).startswith("private")
    forged = {**answers, "selection": {**close, "boundary": "selection"}}
    with pytest.raises(Unproved, match="groups are not selected"):
        prove(forged)
    assert checked(forged).startswith("NOT PROVED: groups are not selected")
    for reply in (select_groups(TABLE, "town", USUAL), ask(TABLE, BY_TOWN.format("count(*) > 50"), USUAL)):
        alone = reply.certificate()
        assert (alone["boundary"], alone["cap"]) == ("selection", None)
        assert [row["numbers"] for row in alone["rows"]] == [
            [str(number) for number in row] for row in line_table(partition_selection(USUAL)).entries
        ]


def test_a_document_says_what_its_margins_are_drawn_with() -> None:
    """So that whoever has it can work out p-values: `duotone.client` does."""
    from duotone.client.answers import RemoteAnswers, read_reply

    def remote(reply: Answers) -> RemoteAnswers:
        document = {**json.loads(json.dumps(reply.document("analyst"))), "charge": 1}
        read = read_reply(document, "t", lambda *_: {})
        assert isinstance(read, RemoteAnswers)
        return read

    for question in ("count(*) > 30", "count(*) <= 30", "avg(x) > 0.25"):
        here = ask(TABLE, BY_TOWN.format(question), USUAL, **(HALF if "avg" in question else {}))
        there = remote(here)
        assert (there.answers, there.sizes, there.estimates) == (here.answers, here.sizes, here.estimates)
        assert there.margins == here.margins
        assert there.to_arrow().equals(here.to_arrow())
    none = remote(ask(TABLE.slice(0, 0), BY_TOWN.format("count(*) > 30"), USUAL))
    assert none.to_arrow().column_names == ["town", "answer", "margin", "p_value", "certain", "size"]


def test_a_wanted_error_is_kept_by_sizes_too() -> None:
    from duotone.model.wanted import WantedError

    for people in (1, 4, 20):
        with prepare(TABLE, BY_TOWN.format("count(*) > 30"), WantedError("0.1", people, Fraction(1, 10**6))) as asked:
            assert terms_of(asked).sized
            assert asked.error(people) <= 0.1


def test_where_groups_have_no_answer_p_values_are_those_of_the_worse_level() -> None:
    noise = line_table(balanced(USUAL)).noise
    tossed = replace(noise, tossed=True)
    for k in range(-20, 20):
        beside = noise.p_value(k - 1 if k > 0 else k + 1 if k < -1 else k)
        if k not in (0, -1):
            assert tossed.p_value(k) == (noise.p_value(k) + beside) / 2
    assert (tossed.p_value(0), tossed.p_value(-1)) == (Fraction(1, 2),) * 2
    assert (Margin(14, noise).certain, Margin(14, tossed).certain, Margin(15, tossed).certain) == (True, False, True)


def test_of_a_real_survey_more_groups_are_shown() -> None:
    """The Chilean survey at (1, 10^-6): 43 of its 53 ages are shown for certain, where halves of the budget showed 24; of 249
    groups by region and age 77 are shown on average, in place of 12."""
    chile = pd.read_csv(CHECKER.parents[1] / "examples" / "chile" / "chile.csv").dropna(subset=["age"])
    chile = chile.assign(age=chile.age.astype("int64"))
    whole, half = (partition_selection(ApproxDP(e, d)) for e, d in ((1, "1e-6"), ("1/2", "5e-7")))
    for by, certain, before, shown, shown_before in ((["age"], 43, 24, 53, 45), (["region", "age"], 10, 0, 77, 12)):
        with prepare_groups(chile, by, USUAL) as asked:
            _, people, _ = asked._levels()
            sizes = asked.release().sizes
        expected = sum(float(whole.yes(int(n) - 1)) for n in people)
        assert sum(people >= 28) == certain
        assert sum(whole.yes(int(n) - 1) == 1 for n in people) == certain
        assert sum(half.yes(int(n) - 1) == 1 for n in people) == before
        assert (round(expected), round(sum(float(half.yes(int(n) - 1)) for n in people))) == (shown, shown_before)
        assert certain <= len(sizes) <= len(people)
        assert abs(len(sizes) - expected) < 60
        true = chile.groupby(by).size()
        assert all(abs(size - true[key if len(by) > 1 else key[0]]) <= 14 for key, size in sizes.items())


test_of_a_real_survey_more_groups_are_shown = pytest.mark.false_alarm(1e-12)(test_of_a_real_survey_more_groups_are_shown)
