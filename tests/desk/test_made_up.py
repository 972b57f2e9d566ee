"""Made-up rows: whatever can be prepared on a dataset can be asked of them, and they are the same each time."""

from __future__ import annotations

import datetime
import inspect
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, prepare
from duotone.desk import made_up as module
from duotone.desk.made_up import Column, as_csv, made_up, opened
from duotone.desk.office_file import read_office
from duotone.tables.engines import open_source
from duotone.tables.sql.condition import Kind
from support import engine_cases
from support.offices import at_desk
from support.running import examples, thinned

P = ApproxDP(1, "1e-6")
KEYS = ("integer", "text", "boolean", "date", "untyped")
HELD: dict[str, type] = {
    "integer": int, "float": float, "decimal": Decimal, "text": str, "boolean": bool, "date": datetime.date,
    "time": datetime.datetime, "untyped": str,
}  # fmt: skip

names = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=8).filter(
    lambda name: name == name.strip() and '"' not in name
)
whole = st.tuples(st.integers(-(10**9), 10**9), st.integers(2, 10**9)).map(lambda two: (str(two[0]), str(two[0] + two[1])))
fine = whole.map(lambda two: (f"{two[0]}.25", f"{two[1]}.75")).filter(lambda two: Fraction(two[0]) < Fraction(two[1]))
LISTED = {
    "integer": st.integers(-9, 9), "text": names,
    "boolean": st.sampled_from([True, False]), "date": st.dates().map(str),
}  # fmt: skip


@st.composite
def columns(draw: st.DrawFn) -> dict[str, Column]:
    """Any columns: of a file of text, or with types."""
    kinds = draw(st.sampled_from([("untyped",), tuple(kind for kind in get_args(Kind) if kind not in ("untyped", "other"))]))
    chosen = draw(st.dictionaries(names, st.sampled_from(kinds), min_size=1, max_size=5))
    lower = [name.casefold() for name in chosen]
    made = {}
    for name, kind in chosen.items():
        if lower.count(name.casefold()) > 1:
            continue
        fitting = st.none() | whole if kind == "integer" else st.none() | whole | fine
        limits = draw(fitting) if kind in ("integer", "float", "decimal", "untyped") else None
        listed = draw(st.none() | st.lists(LISTED[kind], min_size=1, max_size=4)) if kind in LISTED and not limits else None
        made[name] = Column(kind, limits, tuple(listed) if listed else None)
    return made


def questions(facts: dict[str, Column]) -> list[tuple[str, dict[str, Any]]]:
    """A question or two about each column, with what is declared for it."""
    asked: list[tuple[str, dict[str, Any]]] = [("count(*) > 3", {})]
    for name, column in facts.items():
        quoted = f'"{name}"'
        asked.append((f"count({quoted}) > 3", {}))
        if column.bounds is not None:
            middle = sum(map(Fraction, column.bounds)) / 2
            value = f"{quoted}::double" if column.kind == "untyped" else quoted
            asked.append((f"avg({value}) > {middle}", {"bounds": {value: column.bounds}}))
            asked.append((f"median({value}) > {middle}", {}))
        if column.kind in KEYS and column.groups:
            asked.append((f"select count(*) > 3 group by {quoted}", {"groups": list(dict.fromkeys(column.groups))}))
        elif column.kind in KEYS:
            asked.append((f"select count(*) > 3 group by {quoted}", {}))
    return asked


@pytest.mark.slow
@examples(100, 10)
@given(facts=columns(), rows=st.integers(4, 40))
def test_any_columns_can_be_asked_about(facts: dict[str, Column], rows: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    table = made_up(facts, rows=rows)
    assert table.num_rows == rows
    assert table.column_names == list(facts)
    with opened(table, facts, tmp_path_factory.mktemp("made-up")) as source:
        assert source.columns == {name: column.kind for name, column in facts.items()}
        for question, options in questions(facts):
            with prepare(source, question, P, **options) as prepared:
                prepared.release()


@examples(100)
@given(facts=columns(), rows=st.integers(30, 60))
def test_values_are_of_the_list_or_between_bounds_and_at_them(facts: dict[str, Column], rows: int) -> None:
    table = made_up(facts, rows=rows)
    for name, column in facts.items():
        values = table[name].to_pylist()
        assert None in values
        present = [value for value in values if value is not None]
        assert all(type(value) is HELD[column.kind] for value in present)
        if column.groups:
            assert {str(value).lower() for value in present} == {str(value).lower() for value in column.groups}
        if column.bounds:
            low, high = map(Fraction, column.bounds)
            least, most = (end(map(Fraction, present)) for end in (min, max))
            near = 1 if column.kind == "integer" else Fraction(high - low, 10**5) + Fraction(1, 10**5)
            assert low - Fraction(1, 10**5) <= least < low + near
            assert high - near < most <= high + Fraction(1, 10**5)


@pytest.mark.slow
def test_what_can_be_prepared_on_a_table_of_every_kind_can_be_asked_of_its_made_up_rows(tmp_path: Path) -> None:
    real = open_source(engine_cases.table(5))
    held = {name: tuple(map(str, engine_cases.BOUNDS[name][:2])) for name in engine_cases.BOUNDS}
    facts = {name: Column(kind, held.get(name)) for name, kind in real.columns.items()}  # type: ignore[arg-type]
    kinds = engine_cases
    every = [*kinds.COUNTS, *kinds.CONDITIONAL, *kinds.SUMS, *kinds.RANKS, *kinds.VOTES, *kinds.DUELS, *kinds.NEWER]
    more = {**engine_cases.BOUNDS, "x + f": (0, 20), "2 * m": (0, 2000)}
    asked: list[tuple[str, Any, str | None]] = [(question, more, None) for question in thinned(every, 4)]
    asked += [(question, limits, "u") for question, limits in kinds.IN_PERSON]
    with real, opened(made_up(facts, "u", 60), facts, tmp_path) as source:
        assert source.columns == real.columns
        for question, limits, unit in asked:
            options: dict[str, Any] = {"bounds": limits, "unit": unit}
            with prepare(real, question, P, **options), prepare(source, question, P, **options) as tried:
                tried.release()


@pytest.mark.parametrize("kind", KEYS)
def test_some_people_have_several_rows_and_one_more_than_count(kind: Kind) -> None:
    people = made_up({"id": Column(kind), "x": Column("integer")}, "id", 200, max_rows=2)["id"].to_pylist()
    many = {person: people.count(person) for person in people if person is not None}
    assert None in people
    assert kind == "boolean" or sorted(set(many.values())) == [1, 2, 3]


def test_the_same_facts_make_the_same_table_and_other_names_another_one() -> None:
    facts = {"a": Column("integer"), "b": Column("integer")}
    assert made_up(facts).equals(made_up(facts))
    assert made_up(facts)["a"].to_pylist() != made_up(facts)["b"].to_pylist()


def test_nothing_can_be_made_of_rows() -> None:
    given = inspect.signature(module.made_up).parameters
    assert list(given) == ["columns", "unit", "rows", "max_rows"]
    assert list(inspect.signature(Column).parameters) == ["kind", "bounds", "groups"]


def test_what_no_rule_reads_is_there_and_empty(tmp_path: Path) -> None:
    facts = {"x": Column("integer"), "blob": Column("other")}
    with opened(made_up(facts), facts, tmp_path) as source:
        assert source.columns == {"x": "integer", "blob": "other"}


def test_dates_of_a_text_file_are_read_by_their_format(tmp_path: Path) -> None:
    facts = {"x": Column("untyped"), "day": Column("date"), "at": Column("time")}
    table = made_up(facts)
    with opened(table, facts, tmp_path) as source:
        assert source.columns == {"x": "untyped", "day": "date", "at": "time"}
        for name in ("day", "at"):
            with prepare(source, f"count({name}) > 900", ApproxDP(30)) as prepared:
                assert bool(prepared.release()) is (table[name].null_count < 100)


def test_as_csv() -> None:
    rows = pa.table({"a,b": ['x"y', None], "c": [True, False], "d": [datetime.date(2025, 1, 2), None]})
    assert as_csv(rows) == '"a,b",c,d\n"x""y",true,2025-01-02\n,false,\n'


def test_made_up_rows_of_a_text_file_hold_what_is_declared(tmp_path: Path) -> None:
    """A question that was checked of the table is asked of them, which have the same columns."""
    (tmp_path / "stays.csv").write_text("patient,days,late,day,at,note\n" + "p1,3,yes,2025-01-02,2025-01-02 10:30,x\n" * 9)
    (tmp_path / "office.toml").write_text(
        'ledger = "b.ledger"\n[clock]\ntick = 0.02\n[people.olga]\nrole = "owner"\n[people.ana]\nrole = "analyst"\n'
        'datasets = ["stays"]\n[datasets.stays]\nsource = "stays.csv"\nversion = "1"\nrows = 1000\nseconds = 0.05\n'
        'unit = "patient"\nmax_rows = 2\nbounds = { days = [0, 30] }\nbudget = { epsilon = 9, delta = "1e-4" }\n'
        'types = { days = "number", late = "yes/no", day = "date", at = "time", note = "text" }\n'
    )
    with at_desk(read_office(tmp_path / "office.toml")) as desk:
        for condition in ("days > 2.5", "late", "day > '2025-01-01'", "hour(at) > 9", "note = 'a'", "patient = 'p1'"):
            question = f"count(*) filter (where {condition}) > 30"
            status, told = desk.ask("ana", "stays", question=question, made_up=True, epsilon="1", delta="1e-6")
            assert (status, told.get("made_up")) == (200, True), told
