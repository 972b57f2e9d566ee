"""Which of several answers is true: small tables through the released path, and the forms that people use."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError, ask, open_ledger, prepare
from duotone.line.three_way import ThreeWay
from duotone.model.notice import Refusal
from duotone.model.terms import WhichTerms
from duotone.release.coin import Coin
from duotone.tables.ask import ask_all
from duotone.tables.prepared import Prepared
from hostile import which_questions

USUAL: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
COARSE = ApproxDP(exp_epsilon=2, delta="1/10")
"""A budget with few levels, so that small tables reach the last one."""
Row = tuple[Any, ...]
Table = tuple[tuple[Row, ...], ...]
"""People, each with rows."""
SCHEMA = pa.schema([("u", pa.int64()), ("g", pa.string()), ("x", pa.int64())])


def arrow(table: Table, *, unit: bool) -> pa.Table:
    rows = [(person if unit else None, *row) for person, own in enumerate(table) for row in own]
    return pa.table([list(column) for column in zip(*rows, strict=True)] if rows else [[], [], []], schema=SCHEMA)


def tables(people: Sequence[tuple[Row, ...]], most: int) -> Iterator[Table]:
    for n in range(most + 1):
        yield from itertools.combinations_with_replacement(people, n)


def neighbours(table: Table, people: Sequence[tuple[Row, ...]], *, replaced: bool) -> Iterator[Table]:
    order = {person: i for i, person in enumerate(people)}
    for i in range(len(table)):
        fewer = (*table[:i], *table[i + 1 :])
        if not replaced:
            yield fewer
        for person in people if replaced else ():
            yield tuple(sorted((*fewer, person), key=order.__getitem__))


def distribution(asked: Prepared, patch: pytest.MonkeyPatch) -> dict[str, Fraction]:
    """The chances of each answer on this table, through the released path: for every place that a coin may draw, the answer
    that is recorded, weighted by the number in the row that it is drawn from."""
    terms, drawn, said = asked.terms, list[Fraction](), list[str]()
    assert isinstance(terms, WhichTerms)
    recorded = WhichTerms.recorded

    def places(coin: Coin, levels: Any) -> Any:
        (level,) = levels.tolist()
        drawn.extend(coin.table.chances(level))
        return np.arange(len(drawn))

    def kept(self: WhichTerms, numbers: Iterable[int]) -> list[str]:
        said.extend(recorded(self, numbers))
        return said

    with patch.context() as patched:
        patched.setattr(Coin, "places", places)
        patched.setattr(WhichTerms, "recorded", kept)
        asked.release()
    assert sorted(said) == sorted(terms.answers)
    assert sum(drawn) == 1
    return dict(zip(said, drawn, strict=True))


def loss(first: Mapping[str, Fraction], second: Mapping[str, Fraction], ratio: Fraction) -> Fraction:
    """The least δ for this ratio, over all events."""
    return sum((max(Fraction(0), first[word] - ratio * second[word]) for word in first), Fraction(0))


ONE = [((g, x),) for g in "AB" for x in (0, 3)] + [(("C", 1),)]
OTHERS = [*ONE, (("D", 3),), ((None, 2),), (("A", None),)]
MANY = [(("A", 3), ("B", 0)), (("A", 0), ("A", 3)), (("B", 3),), (("C", 1), ("A", 1))]
BOUNDS = {"bounds": {"x": (0, 3)}}
LISTED = {"groups": {"g": ["A", "B", "C"]}}
OF_ROWS: list[tuple[str, dict[str, Any], bool]] = [
    ("case when avg(x) < 1 then 'low' when avg(x) < 2 then 'middle' else 'high' end", BOUNDS, True),
    ("bracket(avg(x), 1, 2)", BOUNDS, True),
    ("bracket(count(*), 1, 3)", {}, True),
    ("bracket(median(x), 1, 2)", BOUNDS, True),
    ("case when count(*) filter (where g = 'A') > 1 then 'A' when sum(x) > 5 then 'x' else 'A' end", BOUNDS, False),
    (
        "case when count(*) filter (where g = 'A') > count(*) filter (where g = 'B') then 'A' "
        "when count(*) filter (where g = 'B') > count(*) filter (where g = 'A') then 'B' else 'neither' end",
        {},
        True,
    ),
    ("mode(g)", LISTED, True),
    ("mode(g) filter (where g in ('B', 'A'))", {}, True),
    ("select g from t group by g order by count(*) limit 1", LISTED, True),
    ("select g from t where x > 0 group by g order by count(*) desc limit 1", LISTED, True),
    ("select g from t group by g order by sum(x) desc limit 1", LISTED | BOUNDS, True),
    ("select g from t group by g order by sum(x) limit 1", LISTED | BOUNDS, True),
    ("select g from t group by g order by avg(x) desc limit 1", LISTED | BOUNDS, True),
    ("select g from t group by g order by avg(x) limit 1", LISTED | BOUNDS, True),
    ("select g from t group by g order by avg(x > 1) desc limit 1", LISTED, True),
    ("select g from t group by g order by median(x) desc limit 1", LISTED | BOUNDS, True),
    ("select g from t group by g order by max(x) limit 1", LISTED | BOUNDS, True),
]
OF_PEOPLE: list[tuple[str, dict[str, Any]]] = [
    ("case when avg(x) < 1 then 'low' when avg(x) < 2 then 'middle' else 'high' end", {"per_unit": "avg"} | BOUNDS),
    ("bracket(count(distinct u), 1, 3)", {}),
    ("mode(g)", {"per_unit": "max"} | LISTED),
    ("select g from t group by g order by count(*) desc limit 1", {"max_rows": 2} | LISTED),
    ("select g from t group by g order by count(distinct u) limit 1", LISTED),
    ("select g from t group by g order by sum(x) desc limit 1", {"max_rows": 2} | LISTED | BOUNDS),
    ("select g from t group by g order by avg(x) desc limit 1", {"per_unit": "avg"} | LISTED | BOUNDS),
    ("select g from t group by g order by median(x) limit 1", {"per_unit": "max"} | LISTED | BOUNDS),
    ("select g from (select u, max(g) as g, sum(x) as s from t group by u) group by g order by count(*) desc limit 1", LISTED),
]


def judge(
    question: str, people: Sequence[tuple[Row, ...]], most: int, patch: pytest.MonkeyPatch, options: Mapping[str, Any]
) -> tuple[bool, Mapping[Table, dict[str, Fraction]]]:
    """Every small table and its neighbours, by exact fractions."""
    unit, replaced = "unit" in options, options.get("neighbours") == "replace"
    known: dict[Table, dict[str, Fraction]] = {}
    with prepare(arrow((), unit=unit), question, COARSE, **options) as first:
        exact = first.facts.basis == "exact distance"
        for table in tables(people, most):
            with first.on(arrow(table, unit=unit)) as asked:
                known[table] = distribution(asked, patch)
    ratio, delta = Fraction(2), Fraction(1, 10)
    for table, chances in known.items():
        for other in neighbours(table, people, replaced=replaced):
            assert loss(chances, known[other], ratio) <= delta, (table, other)
            assert loss(known[other], chances, ratio) <= delta, (table, other)
    return exact, known


@pytest.mark.parametrize("neighbours_", ["add-remove", "replace"])
@pytest.mark.parametrize(("question", "options", "exact"), OF_ROWS, ids=[question[:70] for question, *_ in OF_ROWS])
def test_every_small_table_is_private(
    question: str, options: dict[str, Any], exact: bool, neighbours_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = neighbours_ == "replace"
    said, known = judge(question, OTHERS if replaced else ONE, 2, monkeypatch, {**options, "neighbours": neighbours_})
    assert said == exact or replaced
    assert len({max(chances, key=chances.__getitem__) for chances in known.values()}) > 1


@pytest.mark.parametrize("neighbours_", ["add-remove", "replace"])
@pytest.mark.parametrize(("question", "options"), OF_PEOPLE, ids=[question[:70] for question, *_ in OF_PEOPLE])
def test_every_small_table_of_people_with_several_rows_is_private(
    question: str, options: dict[str, Any], neighbours_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(question, MANY, 2, monkeypatch, {**options, "unit": "u", "neighbours": neighbours_})


STAYS = pa.table(
    {
        "patient": range(600),
        "ward": [*["A"] * 300, *["B"] * 200, *["C"] * 100],
        "days": [*[2] * 300, *[4] * 200, *[9] * 100],
        "room": [*[1] * 300, *[2] * 300],
    }
)
WARDS: dict[str, Any] = {"groups": ["A", "B", "C"]}
DAYS: dict[str, Any] = {"bounds": {"days": (0, 10)}}
CLEAR: list[tuple[str, dict[str, Any], str]] = [
    ("mode(ward)", WARDS, "A"),
    ("mode(ward)", {"groups": {"ward": ["C", "A"]}}, "A"),
    ("mode(room) filter (where room in (1, 2, 3))", {"epsilon": 40}, "1"),
    ("select mode(ward) from stays where ward in ('B', 'C')", {}, "B"),
    ("select ward from stays group by ward order by count(*) desc limit 1", WARDS, "A"),
    ("select ward from stays group by ward order by count(*) limit 1", WARDS, "C"),
    ("select ward from stays group by 1 order by avg(days) desc limit 1", WARDS | DAYS, "C"),
    ("select ward as w from stays group by w order by sum(days) desc limit 1", WARDS | DAYS, "C"),
    ("select ward from stays where days < 9 group by ward order by sum(days) desc limit 1", {"groups": ["A", "B"]} | DAYS, "B"),
    ("select ward from stays group by ward order by median(days) limit 1", WARDS | DAYS, "A"),
    ("bracket(avg(days), 3, 5, 8)", DAYS, "3 to below 5"),
    ("bracket(count(*), 100, 10000)", {}, "100 to below 10000"),
    ("case when avg(days) < 3 then 'short' when avg(days) < 6 then 'medium' else 'long' end", DAYS, "medium"),
    ("if(count(*) > 1000, 'many', 'few')", {}, "few"),
    (
        "case when avg(days) filter (where ward = 'A') > 1 + avg(days) filter (where ward = 'B') then 'A' "
        "when avg(days) filter (where ward = 'B') > 1 + avg(days) filter (where ward = 'A') then 'B' else 'neither' end",
        DAYS,
        "B",
    ),
]


@pytest.mark.parametrize(("question", "options", "answer"), CLEAR, ids=[question[:60] for question, *_ in CLEAR])
def test_clear_answers(question: str, options: dict[str, Any], answer: str) -> None:
    assert ask(STAYS, question, **USUAL | options) == answer


def test_an_answer_is_a_word_in_every_form() -> None:
    given = ask(STAYS, "mode(ward)", **USUAL, **WARDS)
    assert (given.answer, str(given), given == "A", given == "B", given == 1) == ("A", "A", True, False, False)
    assert (dict(given.answers), given.margins, given.estimates, given.how_sure) == ({(): "A"}, {}, {}, "")
    assert repr(given).startswith("<Answers: A; ApproxDP(epsilon=1.0, delta=1/1000000); exact distance; wrong with probability")
    assert "was answered A with differential privacy, ε = 1, δ = 1e-06 per row" in given.quote()
    assert given.to_arrow().to_pydict() == {"answer": ["A"]}
    assert ">A<" in given._repr_html_()
    document = json.loads(json.dumps(given.document()))
    assert (document["answer"], document["among"], document["ordered"]) == ("A", ["A", "B", "C"], False)
    assert document["certain_from"] == 15
    with pytest.raises(DuotoneError, match="one of several, and neither yes nor no: compare it with one, as == 'A'"):
        bool(given)
    with pytest.raises(DuotoneError, match="no margin"):
        _ = given.certain
    certificate = given.certificate()
    assert certificate["claims"]["which"] == {"answers": 3, "ordered": False}
    bracketed = prepare(STAYS, "bracket(avg(days), 3, 5)", **USUAL, **DAYS)
    assert bracketed.terms.table.outcomes == (0, 1, 2)
    assert bracketed.facts.document()["ordered"]
    assert bracketed.accuracy.rows[0][1] == f"{bracketed.error(1):.3g}"


def test_eight_people_decide_among_ten_instead_of_77() -> None:
    """By one answer, and by a yes or no about each of nine others that share the same budget."""
    table = pa.table({"ward": list("ABCDEFGHIJ")})
    with prepare(table, "mode(ward)", **USUAL, groups=list("ABCDEFGHIJ")) as asked:
        assert next(people for people in itertools.count(1) if asked.error(people) <= 1e-3) == 8
    each = ApproxDP(1, "1e-6").split(10)
    with prepare(table, "mode(ward) = 'A'", each) as one:
        assert next(people for people in itertools.count(1) if one.error(people) <= 1e-3) == 63
    with prepare(table, "mode(ward)", wrong="1e-3", people=8, delta="1e-6", groups=list("ABCDEFGHIJ")) as wanted:
        assert wanted.error(8) <= 1e-3
        assert wanted.terms.privacy.epsilon <= 1


def test_by_group() -> None:
    question = "select ward, bracket(avg(days), 3, 5) as stay from stays group by ward"
    given = ask(STAYS, question, **USUAL, **WARDS, **DAYS)
    assert given.words == {("A",): "below 3", ("B",): "3 to below 5", ("C",): "5 or more"}
    assert given.to_arrow().to_pydict()["answer"] == ["below 3", "3 to below 5", "5 or more"]
    assert str(given) == "A: below 3\nB: 3 to below 5\nC: 5 or more"
    assert "1 below 3, 1 3 to below 5, 1 5 or more by ward" in repr(given)
    with pytest.raises(Refusal, match="which of several answers is true is asked of listed groups"):
        prepare(STAYS, question, **USUAL, **DAYS)
    shared = prepare(STAYS, question, **USUAL, **WARDS, **DAYS, unit="patient", per_unit="avg", max_groups=3)
    assert (shared.terms.share, shared.cost.answers) == (ApproxDP(1, "1e-6").split(3), 3)


def test_several_questions_share_a_budget() -> None:
    listed: dict[str, Any] = {"groups": {"ward": ["A", "B", "C"]}}
    both = ask_all(STAYS, ["mode(ward)", "count(*) > 100"], **USUAL, **listed)
    assert [str(one) for one in both] == ["A", "yes"]
    many = ask_all(STAYS, ["mode(ward)", "avg(days) > 2"] * 10, **USUAL, **listed, **DAYS)
    assert {getattr(one.facts.terms, "shared", None) is not None for one in many} == {True}
    assert [str(one) for one in many] == ["A", "yes"] * 10
    assert many[0].certificate()["together"]["answers"] == 20


@pytest.mark.parametrize("account", ["sum", "renyi"])
def test_a_ledger_charges_once_and_answers_from_its_record(tmp_path: Path, account: Any) -> None:
    place, asked = tmp_path / "budget.ledger", {"dataset": "stays", **WARDS}
    with open_ledger(place) as ledger:
        ledger.register("stays", ApproxDP(4, "1e-5"), unit="row", neighbours="add-remove", version="1", account=account)
        price = {"epsilon": "0.5"} if account == "sum" else {"wrong": "1e-3", "people": 90}
        first = ask(STAYS, "mode(ward)", ledger=ledger, **price, **asked)
        again = ask(STAYS, "MODE(ward)", ledger=ledger, **price, **asked)
        assert (str(first), str(again)) == ("A", "A")
        assert first.receipt is not None
        assert again.receipt is not None
        assert (first.receipt.free, again.receipt.free, again.receipt.charge) == (False, True, first.receipt.charge)
        other = ask(STAYS, "mode(ward)", ledger=ledger, dataset="stays", **price, groups=["A", "C"])
        assert other.receipt is not None  # of other groups it is another question
        assert not other.receipt.free
        charge, second = ledger.statement("stays").charges
        assert (charge.cost.boundary, second.cost.boundary) == ("which of 3", "which of 2")
        assert [said for _, said in charge.in_words] == ["A"]


def test_a_record_of_another_question_is_refused() -> None:
    terms = WhichTerms(ApproxDP(1), answers=("A", "B"))
    assert terms.from_record("B") == ("B", None)
    with pytest.raises(DuotoneError, match="none of this question's"):
        terms.from_record("C")


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "mode(ward)",
        {},
        r"asked of a public list of groups: give it \(groups\), or in the question, as in where ward in \('A', 'B'\)",
    ),
    ("mode(ward)", {"groups": {"room": [1, 2]}}, "asked of a public list of groups"),
    ("mode(days)", {}, r"as in where days in \(1, 2\)"),
    ("mode(ward)", {"groups": ["A"]}, "at least two groups"),
    ("mode(ward)", {"groups": ["A", "A"]}, "has a line twice"),
    ("mode(ward)", {"groups": ["A", "\n"]}, "an answer is a word"),
    ("mode(ward) filter (where ward in ('A', 'B'))", WARDS, "a list of groups is for a question with group by"),
    ("mode(ward)", WARDS | {"unit": "patient"}, "a mode needs one value per person"),
    ("mode(ward)", WARDS | {"costs": (10, 1)}, "has no margin, no costs of mistakes"),
    ("mode(ward)", WARDS | {"margins": True}, "has no margin, no costs of mistakes"),
    ("select ward from t group by ward order by sum(days) limit 1", WARDS, "needs bounds"),
    ("select ward from t group by ward order by sum(days) limit 1", WARDS | DAYS | {"unit": "patient"}, "max_rows"),
    (
        "select ward from t group by ward order by sum(days) limit 1",
        WARDS | {"unit": "patient", "max_rows": 2**31 - 1, "bounds": {"days": (0, 2**40)}},
        "lower max_rows",
    ),
    ("select ward from t group by ward order by count(*) limit 1", WARDS | {"unit": "patient"}, "max_rows"),
    (
        "select ward from t group by ward order by avg(days) limit 1",
        WARDS | DAYS | {"unit": "patient"},
        "needs one value per person",
    ),
    (
        "select ward from t where days is null group by ward order by sum(days) limit 1",
        WARDS | DAYS,
        "no row can have such a value",
    ),
    ("case when avg(days) > 20 then 'a' else 'b' end", DAYS, "the condition of a never holds, since the limit lies outside"),
    ("case when count(*) >= 0 then 'a' else 'b' end", {}, "the condition of a always holds, since the sum can never fall"),
    ("select room from t group by room order by avg(days) limit 1", {"groups": [*range(101)]} | DAYS, "at most 100 groups"),
    ("mode(room)", {"groups": [*range(1001)]}, "at most 1000 groups are compared, and 1001 are listed"),
]


@pytest.mark.parametrize(("question", "options", "says"), REFUSED)
def test_what_is_refused(question: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        prepare(STAYS, question, **USUAL | options)


def test_close_calls_and_previews_have_no_place_for_it() -> None:
    with pytest.raises(Refusal, match="is never too close to call"):
        prepare(STAYS, "mode(ward)", ThreeWay(ApproxDP("0.05")), **WARDS)
    with (
        prepare(STAYS, "mode(ward)", **USUAL, **WARDS) as asked,
        pytest.raises(DuotoneError, match="has no limit in its own units"),
    ):
        asked.preview(100)
    with prepare(STAYS, "bracket(avg(days), 3, 5)", **USUAL, **DAYS) as asked:
        assert [row[0] for row in asked.preview(100).table] == [f"avg(days) >= {n}: the average" for n in (5, 5, 3, 3)]


def test_a_thousand_groups() -> None:
    table = pa.table({"g": [*range(1000), *[437] * 40]})
    assert ask(table, "mode(g)", **USUAL, groups=[*range(1000)]) == "437"


def test_whole_numbers_that_are_made_of_others_lead(tmp_path: Path) -> None:
    """Of numbers that a data frame holds as floats, or a text file as text; a list of numbers for texts names the way."""
    (places := tmp_path / "t.csv").write_text("room\n" + "2\n" * 60 + "1\n")
    for table in (pa.table({"room": [*[2.0] * 60, 1.0]}), places):
        assert ask(table, "mode(room::int)", **USUAL, groups=[1, 2]) == "2"
    with pytest.raises(DuotoneError, match=r"that is not text: 1; list '1', or group by \(room\)::int"):
        prepare(places, "mode(room)", **USUAL, groups=[1, 2])


def test_of_equal_ones_the_first_that_is_listed_leads() -> None:
    """As plain DuckDB has it where the list's order breaks ties: at a budget at which nothing is left to chance."""
    rows = [(g, x) for g in "ABC" for x in (1, 2)]
    for order in itertools.permutations("ABCD", 3):
        for question, sql in (
            ("mode(g)", "count(*) desc"),
            ("select g from t group by g order by avg(x) desc limit 1", "avg(x) desc"),
            ("select g from t group by g order by sum(x) limit 1", "sum(x)"),
        ):
            table = pa.table({"g": [g for g, _ in rows], "x": [x for _, x in rows]})
            with duckdb.connect() as connection:
                connection.register("t", table)
                listed = ", ".join(f"('{g}', {i})" for i, g in enumerate(order))
                ((first,),) = connection.execute(
                    f"select g from t join (values {listed}) l(g, place) using (g) "
                    f"group by g, place order by {sql}, place limit 1"
                ).fetchall()
            options: dict[str, Any] = {"groups": list(order)} | ({} if question == "mode(g)" else {"bounds": {"x": (0, 3)}})
            with prepare(table, question, epsilon=1, **options) as asked:
                (standing,) = asked._levels()[2].tolist()
                assert order[standing[0]] == first, (order, question)


def test_hostile_pairs_are_private() -> None:
    assert which_questions.run(1000, 1)["pairs"] >= 1000
