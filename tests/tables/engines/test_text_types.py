"""Declared types of numbers: every text is a value or null, as an independent reader in plain Python says."""

from __future__ import annotations

import datetime
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, DuotoneError, prepare
from duotone.model.text_types import Numerals, text_type
from duotone.questions import Neighbours, verify
from duotone.tables.engines.open import open_source
from duotone.tables.engines.text_types import of_text
from hostile.numerals import by_hand, decimal_by_hand, time_by_hand
from support.oracles import plain_duckdb
from support.running import examples

FORMATS = ("money", "percent", "1,234.50", "1.234,50", "1 234,50", "1'234.50", "$1,234.50", "1.234,50 €", "12,5 %", "1234,5",
           "CHF 1'234.50")  # fmt: skip
PIECES = ["1", "23", "456", "000", "1,234", "1.234", "12.5", "7,5", ".5", ",5", "0", "007", ",", ".", "'", "’", " ", "\u00a0",
          "\u202f", "-", "−", "+", "(", ")", "%", "$", "€", "£", "CHF", "e5", "x", "٣", "nan", "\t", "1'234", "1 234",
          "9" * 40]  # fmt: skip


@examples(400)
@given(st.sampled_from(FORMATS), st.lists(st.sampled_from(PIECES), max_size=7).map("".join))
def test_each_text_is_what_it_is_by_hand(written: str, text: str) -> None:
    with plain_duckdb() as database:
        sql = of_text(written, "$1::varchar", 10_000).sql
        (value,) = database.execute(f"select {sql}", [text]).fetchone()
    expected = by_hand(written, text)
    assert value == expected, (written, text)
    assert value is None or not math.copysign(1, value) < 0 or value < 0  # −0.0 is 0.0


@pytest.mark.parametrize(
    ("written", "text", "value"),
    [
        ("money", "$1,234.50", 1234.5), ("money", "(€1,234.50)", -1234.5), ("money", "-$5", -5), ("money", "$-5", -5),
        ("money", "1,23", None), ("money", "1234.50", 1234.5), ("money", "$5€", None), ("money", "12,34,567", None),
        ("percent", "25 %", 0.25), ("percent", "25", 0.25), ("percent", "0.1%", 0.001), ("percent", "%", None),
        ("12,5 %", "12,5%", 0.125), ("1.234,50", "1.234", 1234), ("1.234,50", "1.23", None),
        ("1 234,50", "1\u202f234,5", 1234.5),
        ("1'234.50", "1’234", 1234), ("1.234,50 €", "1.234,50 €", 1234.5), ("1.234,50 €", "$5", None),
        ("CHF 1'234.50", "CHF 5", 5), ("money", "", None), ("money", "-", None), ("money", "−7", -7), ("money", "$ 7", 7),
    ],
)  # fmt: skip
def test_examples(written: str, text: str, value: float | None) -> None:
    with plain_duckdb() as database:
        assert database.execute(f"select {of_text(written, '$1::varchar', 100).sql}", [text]).fetchone() == (value,)
    assert by_hand(written, text) == value


PIECES_OF_BOTH = [
    "1", "2024", "02", "-", "+", ".", ":", " ", "T", "Z", "e", "E", "_", "0" * 16, "inf", "INFINITY", "nan", "2025-12-31",
    "18:30:00.5", "23:59", "+02:00", "-05", "24", "60", "PM", "/", "0001-01-01", "9999-12-31", "00:30", "epoch", "\t", "\u00a0",
    "٣", "(BC)", "99", "x",
]  # fmt: skip


@examples(400)
@given(st.lists(st.sampled_from(PIECES_OF_BOTH), max_size=7).map("".join))
def test_numbers_and_times_without_a_format_are_what_they_are_by_hand(text: str) -> None:
    _by_hand(text)


@pytest.mark.parametrize(
    "text",
    [
        "1_000", "0." + "0" * 99 + "_1", "+-5", "\t5", "25-12-31", "31-12-25", "2025/12/31", "epoch", "2025-12-31 10:00:00 PM",
        "2025-12-31 10:00:00 Europe/Rome", "2025-12-31 24:00:00", "-2025-12-31", "2025-12-31 10:00:00.", "2025-12-31 Z",
        "2025-12-31 10:00-99:99", "0001-01-01 00:00:00+14",
    ],
)  # fmt: skip
def test_what_duckdb_alone_would_read(text: str) -> None:
    assert _by_hand(text) == [None] * 3


def test_a_time_with_a_zone_is_in_utc() -> None:
    at = datetime.datetime(2025, 12, 31, 23)
    for text in ("2025-12-31T23:00Z", "2026-01-01 01:00:00+02", "2026-01-01 04:30+0530", "2025-12-31 18:00:00.0-05:00"):
        assert _by_hand(text) == [None, at, at.date()]


def _by_hand(text: str) -> list[object]:
    """The text as a number, a time and a date: the same as in plain Python."""
    with plain_duckdb() as database:
        asked = ", ".join(of_text(held, "$1::varchar", 10_000).sql for held in ("number", "time", "date"))
        values: list[object] = list(database.execute(f"select {asked}", [text]).fetchone())
    moment = time_by_hand(text)
    assert values == [decimal_by_hand(text), moment, moment and moment.date()], text
    return values


def test_a_long_text_is_null(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"x,y\n{'1' * 40},{'1' * 20}\n")
    with open_source(tmp_path / "t.csv", types={"x": "money", "y": "money"}, longest_text=30) as source:
        assert source.run(source.rows).to_pylist() == [{"x": None, "y": float("1" * 20)}]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("question", ["avg(late) > 0.25", "avg(late) <= 1/2", "sum(late) > 2", "avg(late::int) > 0.25"])
def test_an_average_of_yes_and_no_is_a_share(question: str, neighbours: Neighbours, tmp_path: Path) -> None:
    """The distances that answers are released from, against a search over all small tables; without bounds."""
    domain = ("Yes", "no", "NA", "TRUE")
    datasets = [d for n in range(6) for d in itertools.combinations_with_replacement(domain, n)]
    rows = [f"{i},{late}" for i, d in enumerate(datasets) for late in d]
    (tmp_path / "t.csv").write_text("d,late\n" + "\n".join(rows) + "\n")
    of, sign, limit = question.replace("::int", "").split(" ")

    def truth(people: Sequence[str]) -> bool:
        known = [late.lower() in ("yes", "true") for late in people if late != "NA"]
        value = Fraction(sum(known), 1 if of.startswith("sum") else len(known) or 1)
        return bool(known) and SIGNS[sign](value, Fraction(limit))

    with prepare(tmp_path / "t.csv", question, ApproxDP(1), types={"late": "yes/no"}, neighbours=neighbours) as asked:
        of_each = replace(asked, by=("d",), most=2**31 - 1, listed=tuple((str(d),) for d in range(len(datasets))))
        levels: dict[tuple[str, ...], float] = dict(zip(datasets, map(int, of_each._levels()[2]), strict=True))
        exact = asked.facts.basis == "exact distance"
    found = verify(Known(truth, levels, neighbours), domain, people=3, reach=2)
    assert found.private, found.counterexample
    assert found.exact or not exact, found.counterexample


SIGNS = {">": operator.gt, "<=": operator.le}


@dataclass(frozen=True)
class Known:
    """Levels that were computed, and the truth."""

    reference: Callable[[Sequence[str]], bool]
    known: dict[tuple[str, ...], float]
    neighbours: Neighbours

    def truth(self, people: Sequence[str]) -> bool:
        return self.reference(people)

    def level(self, people: Sequence[str]) -> float:
        return self.known[tuple(people)]


YES_OR_NO = ("no", "yes")


def test_an_inner_select_adds_up_yes_and_no(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "who,late,cost\n" + "".join(f"{i % 40},{'yes' if i % 3 else 'no'},$5\n" for i in range(120))
    )
    types = {"late": "yes/no", "cost": "money"}
    for question, truth in (
        ("select avg(s) > 1.5 from (select who, sum(late) as s from t group by who)", True),
        ("select avg(s) > 0.9 from (select who, avg(late) as s from t group by who)", False),
        ("select avg(s) > 14.5 from (select who, sum(cost) as s from t group by who)", True),
        ("select avg(s) > 5.5 from (select who, max(cost) as s from t group by who)", False),
    ):
        options: Any = {"unit": "who", "types": types, "bounds": {"s": (0, 20)}}
        with prepare(tmp_path / "t.csv", question, ApproxDP(20, "1e-6"), **options) as asked:
            assert bool(asked._levels()[2][0] >= 0) is truth, question


def test_what_an_example_shows() -> None:
    assert text_type(" 1,234.50 ") == Numerals(".", ",")
    assert text_type("12,5 %") == Numerals(",", percent=True)
    assert text_type("money") == Numerals(".", ",", "any")
    for wrong in ("1,234", "1.234", "1,234,5"):
        with pytest.raises(DuotoneError, match=r"write both marks, as 1,234.50|must be number, money"):
            text_type(wrong)
    for unknown in ("integer", "$1,234.50 $", "12", "1 234", "", 7, None, "Number", "2025-12-31"):
        with pytest.raises(DuotoneError, match="must be number, money, percent, date, time, yes/no or text, a date format"):
            text_type(unknown)
