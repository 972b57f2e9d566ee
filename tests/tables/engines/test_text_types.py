"""Declared types of numbers: every text is a value or null, as an independent reader in plain Python says."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import DuotoneError
from duotone.model.text_types import Numerals, text_type
from duotone.tables.engines.open import open_source
from duotone.tables.engines.text_types import of_text
from hostile.numerals import by_hand
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


def test_a_long_text_is_null(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"x,y\n{'1' * 40},{'1' * 20}\n")
    with open_source(tmp_path / "t.csv", types={"x": "money", "y": "money"}, longest_text=30) as source:
        assert source.run(source.rows).to_pylist() == [{"x": None, "y": float("1" * 20)}]


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
