"""Questions from SQL: what is refused, with which sentence, and what conditions can hold together."""

from __future__ import annotations

import ast
import datetime
import itertools
import os
import subprocess
import sys
from dataclasses import FrozenInstanceError
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import duotone
from duotone import ApproxDP, DuotoneError, prepare
from duotone.model.dataset import Bounds, Grid
from duotone.tables.sql.comparison import LinearThreshold, Term
from duotone.tables.sql.condition import ALWAYS, Compare, Condition, IsNull, Joined, Like, Not, Operand, combinations
from duotone.tables.sql.read_question import read_question
from duotone.tables.sql.scoring import score
from duotone.tables.sql.syntax import split_questions
from support import TESTS, optimised
from support.refusals import COLUMNS, DECLARED, REFUSED, TABLE


@pytest.mark.parametrize(("text", "says"), REFUSED.items(), ids=[text[:60] for text in REFUSED])
def test_unsafe_and_malformed_questions_are_refused_with_a_sentence(text: str, says: str) -> None:
    with pytest.raises(DuotoneError, match=says) as caught:
        read_question(text, COLUMNS, "u", "clinic.visits")
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "options", "says"), DECLARED, ids=[f"{t} {o}"[:90] for t, o, _ in DECLARED])
def test_wrong_declarations_are_refused_before_anything_is_read(text: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        prepare(TABLE, text, ApproxDP(1), **options)


def test_two_ways_to_write_a_question_have_one_normal_form() -> None:
    first = read_question("COUNT(*)   filter (where vote='Y') > 3 -- a remark", COLUMNS)
    second = read_question("select count(*) FILTER (WHERE vote = 'Y') > 3", COLUMNS)
    assert first == second
    assert first.normal == "SELECT COUNT(*) FILTER(WHERE vote = 'Y') > 3"
    assert read_question("count(Mixed) > 1", COLUMNS).tree == read_question("count(MIXED) > 1", COLUMNS).tree


def test_exact_combinations_against_every_row() -> None:
    """Conditions on one column with constants: what can hold together is what holds together for some value."""
    x = Operand("x", "integer")
    leaves = [Compare(x, sign, Fraction(v)) for sign in ("<", ">=", "=", "<>") for v in (1, 2)] + [IsNull(x)]
    truths = {None: None} | {v: v for v in range(-1, 5)}
    for pair in itertools.product(leaves, repeat=2):
        for conditions in (pair, (Not(pair[0]), pair[1]), (Joined("or", pair), Joined("and", pair))):
            possible, exact = combinations(conditions)
            assert exact
            assert possible == {tuple(holds(c, v) is True for c in conditions) for v in truths}


def holds(condition: Any, value: int | None) -> bool | None:
    match condition:
        case IsNull():
            return value is None
        case Not():
            inner = holds(condition.part, value)
            return None if inner is None else not inner
        case Joined():
            parts = [holds(part, value) for part in condition.parts]
            if condition.rule == "and":
                return False if False in parts else None if None in parts else True
            return True if True in parts else None if None in parts else False
    if value is None:
        return None
    limit: Fraction = condition.value
    return {"<": value < limit, ">=": value >= limit, "=": value == limit, "<>": value != limit}[condition.sign]


def test_what_cannot_be_told_apart_is_thought_possible() -> None:
    text, number = Operand("v", "text"), Operand("x", "float")
    possible, exact = combinations([Like(text, "a%"), Compare(text, "=", "b")])
    assert possible == set(itertools.product((False, True), repeat=2))
    assert not exact
    assert combinations([Like(text, "a%")])[1]
    both = combinations([Compare(number, ">", Operand("y", "float")), Compare(number, ">", Fraction(1))])
    assert both == (set(itertools.product((False, True), repeat=2)), False)
    days = Operand("d", "date")
    edge = combinations([Compare(days, ">", datetime.date.max), Compare(days, "<", datetime.date.min)])
    assert edge == ({(False, False), (True, False), (False, True)}, True)  # engines have days beyond Python's
    many = [Compare(Operand(f"c{i}", "integer"), "=", Fraction(v)) for i in range(8) for v in range(3)]
    assert combinations([Joined("or", tuple(many)), many[0]]) == (set(itertools.product((False, True), repeat=2)), False)


def test_grids_are_stated() -> None:
    assert Bounds.of(0, 500_000).on("x", "float").step == Fraction(1, 10)
    assert Bounds.of("0.25", 2).on("x", "float").step == Fraction(1, 10**6)
    grid = Bounds.of(-50, 100, 10).on("x", "integer")
    assert (grid.low, grid.high, grid.step) == (-5, 10, Fraction(10))


@pytest.mark.slow
def test_nothing_is_accepted_without_assertions(tmp_path: Path) -> None:
    """Every refusal under python -O, and a ledger that is not charged by any."""
    command = [sys.executable, "-O", optimised.__file__, str(tmp_path)]
    path = os.pathsep.join(filter(None, [str(TESTS), str(Path(__file__).parent), *sys.path]))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_check_stands_in_an_assertion() -> None:
    for file in Path(duotone.__file__).parent.rglob("*.py"):
        if file.parent.name in ("sql", "questions") or file.stem in OWN:
            assert not [n for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Assert)], file


OWN = ("measures", "compiled", "prepared", "asking", "trial", "table_commands", "recipes", "expressions")
NAMES: list[tuple[str | None, list[str], list[str]]] = [
    ("chile.csv", ["chile", "CHILE", '"chile.csv"', "chile.csv", '"chile"'], ["csv", '"Chile"', "peru", "x.chile"]),
    ("/lake/my.visits.parquet/", ['"my.visits"', "my.visits", '"my.visits.parquet"'], ["visits", "parquet", "my"]),
    (
        "clinic.visits",
        ["visits", "Visits", "clinic.visits", "CLINIC.VISITS", '"clinic"."visits"'],
        ["clinic", '"VISITS"'],
    ),
    ("Visits", ["visits", '"Visits"'], ['"visits"', "visit"]),
    (None, ["anything", "clinic.thing"], []),
]


@pytest.mark.parametrize(("name", "right", "wrong"), NAMES)
def test_the_name_after_from_is_the_tables(name: str | None, right: list[str], wrong: list[str]) -> None:
    plain = read_question("select vote, count(x) > 1 where b group by vote", COLUMNS)
    for written in right:
        for text in (
            f"select vote, count(x) > 1 from {written} where b group by vote",
            f"select z.vote, count(z.x) > 1 from {written} as z where Z.b group by z.vote",
            f"select {written}.vote, count(x) > 1 from {written} where {written}.b group by {written}.vote",
        ):
            assert read_question(text, COLUMNS, name=name) == plain  # and one normal form
    for written in wrong:
        with pytest.raises(DuotoneError, match="the question is about"):
            read_question(f"select count(*) > 1 from {written}", COLUMNS, name=name)


def test_a_question_about_another_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "chile.csv").write_text("vote\nY\n")
    for text in ("select count(*) > 1 from chile", 'select count(c.vote) > 1 from "chile.csv" c', "count(chile.vote) > 1"):
        with prepare(tmp_path / "chile.csv", text, ApproxDP(1)) as prepared:
            assert "chile" not in prepared.normal
            assert prepared.normal in ("SELECT COUNT(*) > 1", "SELECT COUNT(vote) > 1")
    with pytest.raises(DuotoneError, match=r"the question is about peru, and the table is chile\.csv"):
        prepare(tmp_path / "chile.csv", "select count(*) > 1 from peru", ApproxDP(1))


@pytest.mark.parametrize("sql", ["v not like 'Y%'", "not v like 'Y%'", "v !~~ 'Y%'", "not (v ~~ 'Y%')"])
def test_not_like(sql: str) -> None:
    """Every way to write it, by three-valued logic: a null is neither."""
    rows = pa.table({"v": ["Yes", "no", None, "Y", ""]})
    with prepare(rows, f"count(*) filter (where {sql}) > 1", ApproxDP(1, "1e-6")) as asked:
        assert asked._levels()[2].tolist() == [0]  # two of five


@pytest.mark.parametrize("option", ["units", "neighbors", "ledgers"])
def test_a_misspelt_option_is_not_left_out(option: str) -> None:
    asking: list[Any] = [prepare, duotone.ask]
    for one in asking:
        with pytest.raises(TypeError, match=f"^{option} is not known: [a-z]+ is$"):
            one(TABLE, "count(*) > 1", ApproxDP(1, "1e-6"), **{option: "u"})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"unit": ["u"]}, "the name of one column, got list"),
        ({"bounds": (0, 100)}, "bounds must be {column: "),
        ({"epsilon": 1}, "there are two budgets"),
        ({"delta": "1e-6"}, "there are two budgets"),
        ({"privacy": None}, "say how private the answer must be: epsilon=1"),
        ({"privacy": 1}, "write epsilon=1"),
        ({"privacy": "0.5"}, "write epsilon=0.5"),
        ({"privacy": None, "epsilon": float("nan")}, "epsilon must be a decimal"),
        ({"privacy": None, "epsilon": 1, "delta": 1.5}, "delta must be in"),
        ({"groups": "a.csv"}, "groups must be a list of values, as list"),
    ],
)
def test_what_is_wrong_is_told(options: Any, says: str) -> None:
    asking: list[Any] = [prepare, duotone.ask]
    for one in asking:
        with pytest.raises(DuotoneError, match=says):
            one(TABLE, "count(*) > 1", **{"privacy": ApproxDP(1, "1e-6"), **options})


def test_plain_values_are_understood() -> None:
    """ε and δ as they are written, one column to group by and its values by themselves."""
    with prepare(TABLE, "count(*) > 1", epsilon=0.1, delta=1e-6) as asked:
        assert asked.terms.privacy == ApproxDP("0.1", "1e-6")
    with prepare(TABLE, "select v, count(*) > 1 group by v", epsilon=1, groups=["Y", "N"]) as asked:
        assert asked.listed == (("Y",), ("N",))
    assert duotone.select_groups(TABLE, "v", epsilon=1, delta=0.1).facts.by == ("v",)
    with pytest.raises(DuotoneError, match="each entry of a list of groups must be a list or tuple of values"):
        prepare(TABLE, "select v, i, count(*) > 1 group by v, i", epsilon=1, groups=["Y", "N"])


def test_what_is_no_budget_ledger_margin_or_list_of_columns_is_refused() -> None:
    with pytest.raises(DuotoneError, match=r"a budget is epsilon=1, .* got list"):
        prepare(TABLE, "count(*) > 1", [1])  # type: ignore[arg-type]
    with pytest.raises(DuotoneError, match="write epsilon=1"):
        duotone.select_groups(TABLE, ["u"], "1")  # type: ignore[arg-type]
    with pytest.raises(DuotoneError, match="name at least one column"):
        duotone.select_groups(TABLE, [1], ApproxDP(1, "1e-6"))  # type: ignore[list-item]
    with prepare(TABLE, "count(*) > 1", ApproxDP(1, "1e-6")) as asked:
        for margin in (0, -1, 2.5, "3", None, True):
            with pytest.raises(DuotoneError, match="a margin is a whole number of people, at least 1"):
                asked.error(margin)  # type: ignore[arg-type]
        with pytest.raises(DuotoneError, match=r'ledger must be the place of one, as "budget\.ledger", or an open one'):
            asked.charge(1, "t")  # type: ignore[arg-type]


def test_floats_in_bounds_are_meant_as_they_are_written() -> None:
    assert Bounds.of(0, 0.15, 0.01) == Bounds.of(0, "0.15", "0.01")
    for bad in (float("nan"), float("inf")):
        with pytest.raises(DuotoneError, match="a bound must be a"):
            Bounds.of(0, bad)


LONG = {
    "an in list": f"count(*) filter (where u in ({','.join(map(str, range(2000)))})) > 1",
    "like": " + ".join(f"count(*) filter (where v like '{i}%')" for i in range(40)) + " > 39",
    "people": " + ".join(f"count(distinct u) filter (where i = {i})" for i in range(40)) + " > 39",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LONG)
def test_long_questions_are_prepared_without_looking_through_everything(kind: str) -> None:
    """In a process of its own, since what is not bounded takes the memory of the machine."""
    script = (
        "import resource, test_sql\nresource.setrlimit(resource.RLIMIT_CPU, (60, 60))\n"
        f"question = test_sql.LONG[{kind!r}]\n"
        "asked = test_sql.prepare(test_sql.TABLE, question, test_sql.ApproxDP(1, '1e-6'), unit='u', max_rows=1)\n"
        "assert asked._levels()[2].tolist()[0] < 0"
    )
    path = os.pathsep.join(filter(None, [str(TESTS), str(Path(__file__).parent), *sys.path]))
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_of_more_conditions_than_can_be_looked_through_any_may_hold() -> None:
    """The bounds of a row's score are sums over the terms, and the level is called a safe bound."""
    terms = tuple(Term(Fraction((-1) ** i * (i + 1)), None, Like(Operand("v", "text"), f"{i}%")) for i in range(30))
    rule = score(LinearThreshold(terms, Fraction(1), strict=True), {})
    assert (rule.lowest, rule.highest, rule.exact, rule.nobody) == (-sum(range(2, 31, 2)), sum(range(1, 30, 2)), False, False)


C, X, Y = Operand("c", "integer"), Operand("x", "float"), Operand("y", "integer")
GRIDS = {"x": Grid(-4, 6, Fraction(1, 2)), "y": Grid(1, 2, Fraction(10))}
ROWS = [
    dict(zip("cxy", row, strict=True))
    for row in itertools.product((None, 0, 1, 2), (None, -2, Fraction(1, 2), 3), (None, 10, 20))
]
LOW, HIGH = Compare(C, "<", Fraction(1)), Compare(C, ">=", Fraction(1))
TERMS = [
    Term(Fraction(weight), value, where)
    for weight in ("1", "-2/3", "5/4")
    for value in (None, X, Y)
    for where in (ALWAYS, LOW, HIGH, IsNull(C))
]


def true_of(condition: Any, row: dict[str, Any]) -> bool:
    return condition == ALWAYS or holds(condition, row["c"]) is True


def worth(terms: Any, row: dict[str, Any]) -> Fraction:
    """What a row adds to the sum of the question, in the numbers of the question: no grid, no scale."""
    return sum(
        (t.weight * (row[t.value.column] if t.value else 1) for t in terms
         if true_of(t.where, row) and (t.value is None or row[t.value.column] is not None)), Fraction(0)
    )  # fmt: skip


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("present", [None, LOW, HIGH], ids=["of all", "of low", "of high"])
def test_scores_against_every_row(strict: bool, present: Any) -> None:
    """The least, the greatest and every possible score, and the least sum that is a yes, from all rows in exact fractions."""
    for terms in [*((t,) for t in TERMS), *itertools.combinations(TERMS, 2)][::3]:
        limit = Fraction(7, 3) * (-1) ** len(terms)
        rule = score(LinearThreshold(terms, limit, strict, present), GRIDS)
        rows = [row for row in ROWS if present is None or true_of(present, row)]
        worths = [worth(terms, row) for row in rows]
        scale = rule.terms[0][0] / (terms[0].weight * (GRIDS[terms[0].value.column].step if terms[0].value else 1))
        steps = [t.weight * (GRIDS[t.value.column].step if t.value else 1) for t in terms]
        assert [(int(step * scale), t) for step, t in zip(steps, terms, strict=True)] == [*rule.terms]
        columns = [t.value for t in terms if t.value]
        assert rule.exact == (len(columns) == len({*columns}))
        if rule.exact:
            assert [rule.lowest, rule.highest] == [int(min(worths) * scale), int(max(worths) * scale)], (terms, present)
        assert rule.lowest <= min(worths) * scale <= max(worths) * scale <= rule.highest
        ranges = any(t.value and true_of(t.where, row) for t in terms for row in rows)
        assert rule.possible == (None if ranges else tuple(sorted({int(w * scale) for w in worths})))
        assert (rule.absent, rule.nobody) == (present is not None, False)
        yes = [n / scale > limit if strict else n / scale >= limit for n in (rule.at_least - 1, rule.at_least)]
        assert yes == [False, True]


def test_bounds_never_change() -> None:
    bounds, rule = Bounds.of(0, 1), score(LinearThreshold((Term(Fraction(1), X, ALWAYS),), Fraction(0), True), GRIDS)
    for made, name in ((bounds, "high"), (bounds.on("x", "float"), "high"), (rule, "highest")):
        with pytest.raises(FrozenInstanceError):
            setattr(made, name, 10**6)


def test_what_no_row_can_be_among_scores_nothing() -> None:
    nobody = Joined("and", (LOW, HIGH))
    rule = score(
        LinearThreshold((Term(Fraction(3), None, ALWAYS), Term(Fraction(1), X, ALWAYS)), Fraction(0), False, nobody), GRIDS
    )
    assert (rule.lowest, rule.highest, rule.possible, rule.absent, rule.nobody) == (0, 0, (0,), True, True)


def test_people_score_what_any_of_their_rows_does() -> None:
    """Up to three rows each: a person is counted once by each condition that one of its rows satisfies."""
    wheres: list[Condition] = [LOW, HIGH, IsNull(C), Compare(C, "=", Fraction(2))]
    for weights in itertools.product((1, -2, 5), repeat=4):
        terms = tuple(Term(Fraction(w), None, where) for w, where in zip(weights, wheres, strict=True))
        people = itertools.combinations_with_replacement([{"c": c} for c in (None, 0, 1, 2)], 3)
        scores = {sum(t.weight for t in terms if any(true_of(t.where, row) for row in rows)) for rows in people}
        rule = score(LinearThreshold(terms, Fraction(1), True, people=True), {})
        assert (rule.possible, rule.lowest, rule.highest, rule.exact) == (tuple(sorted(scores)), min(scores), max(scores), True)


def test_the_largest_numbers_of_a_question() -> None:
    def rule(weight: Any, limit: Any, value: Operand | None = None) -> Any:
        return score(LinearThreshold((Term(Fraction(weight), value, ALWAYS),), Fraction(limit), True), GRIDS)

    assert rule(1, 2**100).at_least == 2**100 + 1
    assert rule(1, -(2**100)).at_least == 1 - 2**100
    assert rule(Fraction(1, 2**100), 0).terms[0][0] == 1
    assert rule(2**62 - 1, 0).highest == 2**62 - 1
    most = (2**62 - 1) // 20  # y is at most 20
    assert rule(-most, 0, Y).lowest == -20 * most
    for large in ((1, 2**100 + 1), (1, -(2**100) - 1), (Fraction(1, 2**100 + 1), 0), (Fraction(1, 4), Fraction(2**99))):
        with pytest.raises(DuotoneError, match="too large or too fine"):
            rule(*large)
    for weight, value in ((2**62, None), (-(2**62), None), (most + 1, Y)):
        with pytest.raises(DuotoneError, match="too fine for these bounds"):
            rule(weight, 0, value)


COARSE, FINE, NO_FLOAT = 2**53, Fraction(1, 10**22), Fraction(1, 2**53 + 1)
GRIDS_OF_FLOATS: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = [
    ((-3, 7), (-300_000, 700_000, Fraction(1, 10**5))),
    ((0, "1.23456789"), (0, 123456789, Fraction(1, 10**8))),
    ((0, "1.00000000000001e-4"), (0, 10**14 + 1, Fraction(1, 10**18))),
    ((0, 6 * 10**26), (0, 6 * 10**6, 10**20)),
    ((0, 10**27), (0, 10**6, 10**21)),
    ((0, 10**28), (0, 10**6, 10**22)),
    ((0, 10**29), (0, 10**7, 10**22)),  # no coarser grid is a float
    (("-2e-17", "8e-17"), (-200_000, 800_000, FINE)),
    ((0, "1e-19"), (0, 1000, FINE)),
    ((0, 2**51, 1), (0, 2**51, 1)),
    ((-(2**51), 0, 1), (-(2**51), 0, 1)),
    ((0, COARSE, COARSE), (0, 1, COARSE)),
    ((0, 2**100, COARSE), (0, 2**47, COARSE)),
    ((-(2**100), 0, COARSE), (-(2**47), 0, COARSE)),
]
GRIDS_OF_INTEGERS: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = [
    ((0, 2**62 - 1), (0, 2**62 - 1, 1)),
    ((1 - 2**62, 0), (1 - 2**62, 0, 1)),
    ((0, 2**51, 2), (0, 2**50, 2)),
    ((0, 3 * (2**40 + 1), 2**40 + 1), (0, 3, 2**40 + 1)),
]
NO_GRIDS: list[tuple[tuple[Any, ...], Any, str]] = [
    *(((low, high, 1), "float", "too far apart") for low, high in ((0, 2**51 + 1), (-(2**51) - 1, 0))),
    *((bounds, "integer", "too far apart") for bounds in ((0, 2**62), (-(2**62), 0), (0, 2**51 + 2, 2), (-(2**51) - 2, 0, 2))),
    *(((0, step, step), "float", "is not a float") for step in (COARSE + 1, NO_FLOAT)),
    *((bounds, "float", "multiples of its grid") for bounds in ((0, "1e-23"), (0, "1.23", "0.1"), ("0.05", 1, "0.1"))),
    ((0, "1.000000000000001e-4"), "float", "multiples of its grid"),  # no step below 10^-18 is looked for
    *(((-1, 3, step), "float", "a grid is a whole number or one over") for step in (0, -1, "-1/2", "3/2")),
    *((bounds, "float", "must be below the upper one") for bounds in ((1, 1), (2, 1))),
    *((bounds, "float", "thirty digits") for bounds in ((0, 2**100 + 1), (-(2**100) - 1, 0))),
    ((0, 10, "1/2"), "integer", "its grid must be a whole number, too"),
    ((0, "1/2"), "integer", "multiples of its grid"),
]


@pytest.mark.parametrize(
    ("kind", "bounds", "grid"),
    [*(("float", *g) for g in GRIDS_OF_FLOATS), *(("integer", *g) for g in GRIDS_OF_INTEGERS)],
    ids=str,
)
def test_the_grid_of_bounds_by_hand(kind: Any, bounds: Any, grid: Any) -> None:
    """Where none is stated: the coarsest power of ten with 10^6 steps on which the bounds lie."""
    assert Bounds.of(*bounds).on("x", kind) == Grid(*grid)


@pytest.mark.parametrize(("bounds", "kind", "says"), NO_GRIDS, ids=str)
def test_bounds_that_no_grid_fits(bounds: Any, kind: Any, says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        Bounds.of(*bounds).on("x", kind)


def test_other_shapes_of_a_select_are_the_same_question() -> None:
    plain = read_question("select vote, count(*) > 3 from t group by vote", COLUMNS)
    for text in (
        "select vote, count(*) > 3 from t group by 1",
        "select vote, count(*) > 3 from t group by vote order by 2 desc, vote",
        "select vote from t group by vote having count(*) > 3",
        "select vote from t group by 1 having count(*) > 3 order by 1",
    ):
        assert read_question(text, COLUMNS) == plain, text  # and one normal form, so that a ledger charges once
    assert plain.notes == ()
    ordered = read_question("select vote from t group by 1 having count(*) > 3 order by 1", COLUMNS)
    assert [note.code for note in ordered.notes] == ["order by left out", "having is an answer"]


@pytest.mark.parametrize(
    ("text", "says"),
    {
        "count(*) = 5": ["COUNT(*) = 5: one person is always enough for a no"],
        "5 <> count(*) -- a remark": ["5 <> COUNT(*): one person is always enough for a yes"],
        "count(*) >= 5": [],
        "mode(v) = 'Y'": [],
        "count(distinct v) = 2": [],  # whose last two values many people may have
        "count(*) filter (where v = 'Y') > 5": [],
    }.items(),
)
def test_equalities_are_said(text: str, says: list[str]) -> None:
    asked = read_question(text, {"v": "text"})
    end = ", so the other answer is never sure; ask for a range, if it may be one"
    assert [str(note) for note in asked.equalities] == [f"{said}{end}" for said in says]
    assert sum("ask for a range" in note for note in prepare(TABLE, text, ApproxDP(1)).notes) == len(says)
    assert prepare(TABLE, "count(*) filter (where v = 'Y') = 5", ApproxDP(1), neighbours="replace").notes == ()


def test_questions_between_semicolons() -> None:
    assert split_questions("") == split_questions(" ;; -- nothing\n") == []
    assert split_questions("a > 'x;y' ;\n/* ; */ \"b;\" < 3;") == ["a > 'x;y'", '"b;" < 3']
    with pytest.raises(DuotoneError, match="check their quotes"):
        split_questions("a = 'b")


def test_a_name_with_a_dot_is_written_in_quotes() -> None:
    with pytest.raises(DuotoneError, match=r'write "hos\.cat", in double quotes'):
        read_question("select hos.cat, count(*) > 3 from t group by hos.cat", {"hos.cat": "text"}, name="t")
    assert read_question('select "hos.cat", count(*) > 3 from t group by "hos.cat"', {"hos.cat": "text"}, name="t").by == (
        "hos.cat",
    )
