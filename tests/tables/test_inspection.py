"""What is clipped, against a count by hand."""

from __future__ import annotations

import math
import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError, prepare
from duotone.cli.app import main
from duotone.tables.inspection import as_document, inspect_clipping

CHANCE = random.Random(7)
ROWS = [(CHANCE.choice([None, *range(12)]), CHANCE.choice([None, -40.0, 0.0, 3.25, 10.0, 49.6, 1e6])) for _ in range(200)]
TABLE = pa.table({"who": [who for who, _ in ROWS], "x": [x for _, x in ROWS]})


def test_rows_per_person() -> None:
    many = sorted(Counter(who for who, _ in ROWS if who is not None).values())
    seen = inspect_clipping(TABLE, unit="who").rows
    assert seen is not None
    assert (seen.people, seen.rows) == (len(many), sum(many))
    assert seen.quantiles == {q: many[math.ceil(Fraction(q) * len(many)) - 1] for q in seen.quantiles}
    assert seen.above == {m: (sum(n > m for n in many), sum(max(n - m, 0) for n in many)) for m in seen.above}
    assert max(seen.above) < many[-1]
    assert seen.without == sum(who is None for who, _ in ROWS) > 0
    assert f"; {seen.without} rows without a unit do not count" in repr(inspect_clipping(TABLE, unit="who"))
    document = as_document(inspect_clipping(TABLE, unit="who"))
    assert document["rows"]["without"] == seen.without
    assert "without" not in as_document(inspect_clipping(pa.table({"who": [1, 2]}), unit="who"))["rows"]


@pytest.mark.parametrize("unit", [None, "who"])
def test_values(unit: str | None) -> None:
    (seen,) = inspect_clipping(TABLE, unit=unit, bounds={"x": (0, 20, 1)}, per_unit="sum" if unit else None).values
    own = [(who, x) for who, x in ROWS if x is not None and (unit is None or who is not None)]
    values = [x for _, x in own]
    clipped = [min(max(math.floor(x + 0.5), 0), 20) for x in values]
    assert (int(seen.low), int(seen.high), int(seen.step), seen.values) == (0, 20, 1, len(values))
    assert (seen.below, seen.above, seen.rounded) == (
        values.count(-40),
        values.count(49.6) + values.count(1e6),
        values.count(3.25),
    )
    assert seen.mean == pytest.approx(sum(values) / len(values))
    assert seen.mean_after == pytest.approx(sum(clipped) / len(values))
    people = [[c for (w, _), c in zip(own, clipped, strict=True) if w == who] for who in range(12)] if unit else []
    expected = sum(len(p) > 1 for p in people), sum(len(set(p)) > 1 for p in people), sum(sum(p) > 20 for p in people)
    assert (seen.several, seen.differing, seen.beyond) == expected


def test_values_far_out_and_none() -> None:
    far = pa.table({"x": [math.inf, -math.inf, math.nan, 1.7e308, 1.7e308, None]})
    (seen,) = inspect_clipping(far, bounds={"x": (0, 10, 1)}).values
    assert (seen.values, seen.below, seen.above, seen.rounded) == (4, 1, 3, 0)
    (seen,) = inspect_clipping(pa.table({"x": pa.array([], pa.float64())}), bounds={"x + 1": (0, 10, 1)}).values
    assert (seen.column, seen.values, seen.mean, seen.mean_after) == ("x + 1", 0, None, None)
    empty = inspect_clipping(pa.table({"u": pa.array([], pa.int64())}), unit="u").rows
    assert empty is not None
    assert (empty.people, empty.quantiles, empty.above) == (0, {}, {})


def test_refusals() -> None:
    with pytest.raises(DuotoneError, match="nothing to inspect"):
        inspect_clipping(TABLE)
    with pytest.raises(DuotoneError, match="t does not hold numbers: give bounds for a column that does"):
        inspect_clipping(pa.table({"t": ["a"]}), bounds={"t": (0, 1)})
    with pytest.raises(DuotoneError, match="without a unit each row is a person"):
        inspect_clipping(TABLE, bounds={"x": (0, 20)}, per_unit="avg")


@pytest.mark.slow
def test_texts_that_do_not_fit_their_type_are_counted(tmp_path: Path) -> None:
    rows = [("a", "31/12/2025", "10:30", "$5"), ("a", "2025-12-31", "1:5", "5"), ("b", "31/02/2025", "24:00", "1,23"),
            ("b", "", "NA", ""), ("", "1/1/2024", "", "7"), ("c", " 1/1/2024 ", "9:00", "x"),
            ("", "never", "", "x")]  # fmt: skip
    file = tmp_path / "t.csv"
    file.write_text("who;day;seen;paid\n" + "".join(f"{who};{day};{day} {clock};{paid}\n" for who, day, clock, paid in rows))
    types = {"day": "%d/%m/%Y", "seen": "%d/%m/%Y %H:%M", "paid": "money"}
    counted = {unit: inspect_clipping(file, unit=unit, types=types).types for unit in (None, "who", "day")}
    assert [(d.column, d.type) for d in counted[None]] == list(types.items())
    assert {unit: [(d.values, d.unread) for d in dates] for unit, dates in counted.items()} == {
        None: [(3, 3), (1, 6), (3, 3)],
        "who": [(2, 2), (1, 4), (2, 2)],
        "day": [(3, 0), (1, 2), (2, 1)],
    }
    assert as_document(inspect_clipping(file, types={"day": "%d/%m/%Y"})) == {
        "private": False,
        "values": [],
        "types": [{"column": "day", "type": "%d/%m/%Y", "values": 3, "unread": 3}],
    }
    with pytest.raises(DuotoneError, match="paid is text, and is used as a number"):
        inspect_clipping(file, bounds={"paid": (0, 10)})


READ: dict[str, tuple[float, ...]] = {
    "n": (0, 30),
    "f": (0, 30),
    "n * 2": (0, 30),
    "length(s)": (0, 30),
    "i": (0, 30),
    "i8": (0, 2**51),
    "d": (0, 30),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "per_unit"), [*((value, "avg") for value in READ), *(("n", how) for how in ("sum", "min", "max", None))]
)
def test_the_grid_is_the_one_that_is_asked_on(value: str, per_unit: Any) -> None:
    """A person's average of whole numbers is on a finer grid than 1, unless one is chosen, and other values as they are."""
    table = pa.table({"who": [1, 1, 2], "n": [3, 4, 40], "f": [0.5, 1.0, 2.0], "s": ["", "a", "b"], "i8": [1, 2, 3],
                      "i": pa.array([1, 2, 3], "int8"), "d": [Decimal("1.5"), Decimal(2), Decimal(3)]})  # fmt: skip
    for grid in ((), (1,)):
        declared: Any = {"bounds": {value: READ[value] + grid}, "per_unit": per_unit, "unit": "who" if per_unit else None}
        (seen,) = inspect_clipping(table, **declared).values
        with prepare(table, f"avg({value}) > 3", ApproxDP(1, "1e-6"), **declared) as asked:
            (shown,) = (grid for compared in asked.comparisons for grid in compared.grids.values())
        assert (seen.low, seen.high, seen.step) == (shown.low * shown.step, shown.high * shown.step, shown.step)
        if value == "n":
            assert (seen.values, seen.above, seen.rounded) == (3, 1, 0)
            assert [seen.mean, seen.mean_after] == pytest.approx([47 / 3, 37 / 3])


TEXTS = {
    "n": ["5", "-1e3", "1.5", "7", "", "0", "5 "],
    "iso": ["2025-12-31", "2024-01-02", "2025-02-31", "2025-02-03", "", "", ""],
    "day": ["31/12/2025", "1/1/2025", "31/1/2025", "3/1/2025", "", "", ""],
    "flag": ["yes", "TRUE", "No", "f", "n", "", ""],
    "paid": ["$5", "5", "$1234.50", "($7)", "-$7", "", ""],
}


@pytest.mark.slow
def test_what_texts_can_be_read_as_is_counted_where_nothing_else_is_asked(tmp_path: Path) -> None:
    """By hand: of 2025-02-31 there is no date, and a quarter of the values is too much to lose."""
    file = tmp_path / "t.csv"
    file.write_text("\n".join(",".join(line) for line in [list(TEXTS), *zip(*TEXTS.values(), strict=True)]) + "\n")
    seen = inspect_clipping(file)
    found = {t.column: (t.type, t.values, t.lost, t.as_numbers) for t in seen.texts}
    assert found == {
        "n": ("number", 6, 0, 0), "iso": ("text", 4, 0, 0), "day": ("%d/%m/%Y", 4, 0, 0), "flag": ("yes/no", 5, 0, 0),
        "paid": ("money", 5, 0, 4),
    }  # fmt: skip
    assert "paid: money, all 5 values fit; as number 4 would not" in repr(seen)
    assert "can be read as</th>" in seen._repr_html_()
    assert {"column": "day", "type": "%d/%m/%Y", "values": 4, "lost": 0} in as_document(seen)["texts"]
    assert not inspect_clipping(file, unit="n").texts
    wide = tmp_path / "wide.csv"
    wide.write_text(",".join(f"c{i}" for i in range(60)) + "\n" + ",".join("x" if i % 2 else "1" for i in range(60)) + "\n")
    assert [one.type for one in inspect_clipping(wide).texts] == ["number", "text"] * 30
    (tmp_path / "none.csv").write_text("a\n")
    assert inspect_clipping(tmp_path / "none.csv").texts[0].values == 0


def test_rows_after_the_first_ones_decide_too(tmp_path: Path) -> None:
    """All types are tried at the first rows alone, and again where what these look like does not fit the rest."""
    (tmp_path / "t.csv").write_text("x,y\n" + "1,\n" * 10_000 + "$2,1/2/2025\n" * 30_000)
    assert [(one.type, one.values) for one in inspect_clipping(tmp_path / "t.csv").texts] == [
        ("money", 40_000), ("%d/%m/%Y", 30_000)
    ]  # fmt: skip


def test_marks_of_missing_values_do_not_make_text(tmp_path: Path) -> None:
    """Numbers of which a third is NA are numbers, and how many are lost is said; marks alone, and words, are text."""
    rows = ["a,b,c,d", "1,5/31/2024,NA,n/a", "2.5,N/A,NA,1", "NA,-,-,word", "nan,6/1/2024,,other"]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    texts = inspect_clipping(tmp_path / "t.csv").texts
    assert [(one.type, one.values, one.lost) for one in texts] == [
        ("number", 4, 2), ("%m/%d/%Y", 4, 2), ("text", 3, 0), ("text", 4, 0)
    ]  # fmt: skip
    assert texts[1].remark.startswith("2 of 4 values fit, and 2 (50.00%) would count as missing")


def test_what_a_notebook_shows() -> None:
    table = pa.table({"who": [1, 1, 2], "x<": [5.0, 250.0, None]})
    seen = inspect_clipping(table, unit="who", bounds={'"x<"': (0, 100, 10)})
    assert repr(seen) == "<Inspection, NOT private: 2 people have 3 rows; x<: 1 of 2 values clipped>"
    page = seen._repr_html_()
    assert "NOT private" in page
    assert "x&lt;</td>" in page
    assert "<td style=text-align:left>127.5</td><td style=text-align:left>55</td>" in page
    nothing = inspect_clipping(table.slice(0, 0), bounds={'"x<"': (0, 100, 10)})
    assert "<td style=text-align:left>–</td>" in nothing._repr_html_()


def test_groups_per_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        (CHANCE.choice([None, *range(9)]), CHANCE.choice([None, "a", "b", "c", "d"]), CHANCE.choice([1, 2])) for _ in range(60)
    ]
    path = tmp_path / "stays.csv"
    path.write_text("who,ward,part\n" + "".join(f"{'' if w is None else w},{k or ''},{p}\n" for w, k, p in rows))
    keys = {(w, k, p) for w, k, p in rows if w is not None and k is not None}
    many = list(Counter(w for w, _, _ in keys).values())
    seen = inspect_clipping(path, unit="who", by=["Ward", "part"]).groups
    assert seen is not None
    assert (seen.by, seen.people, seen.most) == (("ward", "part"), len(many), max(many))
    assert seen.above == {
        k: (sum(n > k for n in many), sum(max(n - k, 0) for n in many)) for k in (1, 2, 3, 5) if k < max(many)
    }
    with pytest.raises(SystemExit, match="0"):
        main(["inspect", str(path), "--unit", "who", "--by", "ward,part"])
    shown = capsys.readouterr().out
    assert f"{len(many)} people are in at most {max(many)} groups each, by ward, part" in shown
    assert "max_groups" in shown
    document = as_document(inspect_clipping(path, unit="who", by="ward"))["groups"]
    assert (document["by"], document["people"]) == (["ward"], len({w for w, _, _ in keys}))
    assert "groups each, by ward" in repr(inspect_clipping(path, unit="who", by="ward"))
    with pytest.raises(DuotoneError, match="name the unit"):
        inspect_clipping(path, by="ward")
    with pytest.raises(DuotoneError, match="the unit cannot be a key"):
        inspect_clipping(path, unit="who", by="who")
