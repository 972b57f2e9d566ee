"""Values at their edges: numbers, grids, dates, columns of CSV files, and what one row can add up to."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from duotone import DuotoneError
from duotone.tables.check_question import prepare
from support.running import thinned
from support.small_questions import P, level, levels, of


@pytest.mark.slow
def test_edges_of_numbers() -> None:
    big, least = 2**63 - 1, -(2**63)
    ints = pa.table({"x": pa.array([big] * 3 + [least] * 3 + [None, 0], pa.int64())})
    wide = {"x": (-(2**62) + 1, 2**62 - 1)}
    assert level(ints, "sum(x) >= 0", bounds=wide) == 0
    assert level(ints, "sum(x) > 0", bounds=wide) == -1
    assert level(ints, "avg(x) >= 0", bounds=wide) == 0
    assert level(ints, f"count(*) filter (where x = {big}) >= 3") == 0
    assert level(ints, f"count(*) filter (where x > -{big * 10}) >= 7") == 0
    assert level(ints, "count(*) filter (where x <> 1/2) >= 7") == 0
    assert level(ints, "count(*) filter (where x < 1/2) = 4") == 0
    grouped = pa.table({"x": pa.array([big] * 3 + [least] * 2, pa.int64()), "u": [1] * 5})
    assert level(grouped, "sum(x) > 0", bounds=wide, unit="u", max_rows=1) == 0
    floats = pa.table({"x": [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, None, 0.3]})
    assert level(floats, "count(x) = 7") == -1  # NaN counts as null
    assert level(floats, "count(x) = 6") == 0
    assert level(floats, "sum(x) > 0", bounds={"x": (-1, 1)}) == 0
    assert level(floats, "max(x) > 1e300") == 1
    assert level(floats, "min(x) < -1e300") == 1
    small = pa.table({"x": pa.array([100] * 9, pa.int8()), "d": pa.array([Decimal("9.99")] * 9, pa.decimal128(38, 2))})
    assert level(small, "sum(x) >= 900", bounds={"x": (-1000, 1000)}) == 0
    assert level(small, "sum(x) >= 90", bounds={"x": (0, 1000, 100)}) == 8
    assert level(small, "avg(d) >= 9.99", bounds={"d": (0, 100, "0.01")}) == 0
    assert level(small, "avg(d) > 9.99", bounds={"d": (0, 100, "0.01")}) == -1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "name"), thinned(itertools.product(["avg", "sum", "min", "max"], ["median", "min", "max", "avg"]), 3)
)
def test_limits_on_a_grid_are_as_written(how: str, name: str) -> None:
    """Tenths have no float, and limits in tenths are met by values in tenths all the same."""
    several = itertools.chain.from_iterable(itertools.combinations_with_replacement((2, 3, 4), n) for n in (1, 3))
    for tenths in thinned(several, 3, len(how + name) % 3):
        content = pa.table({"x": [t / 10 for t in tenths], "u": range(len(tenths))})
        exact = [Fraction(t, 10) for t in tenths]
        value = {"median": sorted(exact)[(len(exact) - 1) // 2], "min": min(exact), "max": max(exact), "avg": mean_of(exact)}[
            name
        ]
        for sign in (">", ">=", "<", "<="):
            options = {"unit": "u", "per_unit": how, "bounds": {"x": (0, 1, "0.1")}}
            assert (level(content, f"{name}(x) {sign} 0.3", **options) >= 0) == of(sign)(value, Fraction(3, 10)), (tenths, sign)


def mean_of(numbers: Sequence[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers)


@pytest.mark.slow
def test_csv_columns_are_read_by_stated_rules(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(
        'name,age,born,ok\n"Ann, B.",30,2000-01-02,true\nBob,x,never,false\nÇ\'é,,,\n# no remark,41.5,1980-12-31,true\nshort\n'
        'Dee,50,1970-01-01,false,too,many\n"qu""ote",inf,nan,maybe\n'
    )
    for sql, expected in [
        ("count(*) = 7", 0), ("count(age) = 4", 0), ("count(*) filter (where age > 35) = 3", 0), ("avg(age) > 40", 1),
        ("count(*) filter (where year(born) = 1980) = 1", 0), ("count(*) filter (where born < date '1990-01-01') = 2", 0),
        ("count(*) filter (where ok = true) = 2", 0), ("mode(name) = 'Bob'", -1),
        ("count(*) filter (where name like 'A%') = 1", 0),
        ("count(*) filter (where lower(name) = 'bob' or length(name) = 5) = 2", 0),
    ]:  # fmt: skip
        prepared = prepare(file, sql, P, bounds={"age": (0, 100)}, types={"age": "number", "born": "date", "ok": "yes/no"})
        assert levels(prepared, 1, by=None) == [expected], sql


@pytest.mark.slow
def test_dates_times_and_booleans() -> None:
    when = [datetime.datetime(2025, 1, 1, 12, 30), datetime.datetime(2024, 12, 31), None]
    content = pa.table({"ts": when, "d": [w and w.date() for w in when], "b": [True, False, None], "v": [" Ab", "ab", ""]})
    for sql in [
        "count(*) filter (where ts >= timestamp '2025-01-01 12:30:00') = 1",
        "count(*) filter (where ts > date '2025-01-01') = 1",
        "count(*) filter (where ts < '2025-01-01') = 1", "count(*) filter (where d = '2024-12-31') = 1",
        "max(d) > '2024-06-01'", "count(*) filter (where b) = 1", "count(*) filter (where not b) = 1", "avg(b) >= 1/2",
        "count(*) filter (where extract(month from ts) = 12 and day(d) = 31) = 1", "count(*) filter (where trim(v) = 'Ab') = 1",
        "count(*) filter (where upper(v) = 'AB') = 1", "count(*) filter (where v = '') = 1", "bool_or(b)",
        "min(ts) < '2025-01-01'",
        "count(*) filter (where b is null and ts is null) = 1", "count(*) filter (where v in ('ab', '')) = 2",
    ]:  # fmt: skip
        assert level(content, sql) >= 0, sql


LINES = ['"q', '"q\\nz",1', "q\\rz,1", '"q,1', 'q,"1', ' "q,1', "\\xff\\xfe,1", "\\x00,\\x01,5", "a" * 10**5, ""]


@pytest.mark.slow
@pytest.mark.parametrize(("place", "line"), thinned(itertools.product([0, 5, 40], LINES), 2))
def test_a_line_of_a_csv_file_changes_no_other(tmp_path: Path, line: str, place: int) -> None:
    """A line that is broken in any way is at most as many rows as it has line ends, wherever it stands."""
    lines = [f"p{i},{i}".encode() for i in range(40)]
    broken = line.encode().decode("unicode_escape").encode("latin-1")
    without, file = tmp_path / "a.csv", tmp_path / "b.csv"
    without.write_bytes(b"u,x\n" + b"\n".join(lines) + b"\n")
    file.write_bytes(b"u,x\n" + b"\n".join([*lines[:place], broken, *lines[place:]]) + b"\n")
    most = len(broken.splitlines()) or 1
    for sql in ("count(*) >= 30", "sum(x) >= 400", "count(*) filter (where u = 'p7') >= 1"):
        first, second = (
            levels(prepare(f, sql, P, bounds={"x": (0, 40, 1)}, types={"x": "number"}), 1, by=None)[0] for f in (without, file)
        )
        assert abs(first - second) <= most


@pytest.mark.slow
def test_values_never_leave_their_bounds() -> None:
    """What floats, narrow integers and averages of a person round to stays within what a newcomer could have."""
    edge = 2**51
    floats = pa.table({"x": [float(edge - 1), edge - 0.5, float(edge), 1e300]})
    assert level(floats, f"sum(x) > {4 * edge}", bounds={"x": (0, edge, 1)}) == -1
    assert level(floats, f"sum(x) > {4 * edge - 2}", bounds={"x": (0, edge, 1)}) == 0
    narrow = pa.table({"x": pa.array([100, -100, 4, 5], pa.int8())})
    assert level(narrow, "sum(x) >= 10", bounds={"x": (-100, 100, 10)}) == 0  # 5 is rounded up to 10
    many = pa.table({"x": pa.array([2**51] * 9, pa.int64()), "u": [1] * 9})
    assert level(many, f"avg(x) >= {2**51}", bounds={"x": (-(2**51), 2**51)}, unit="u", per_unit="avg") == 0
    far = pa.table({"t": pa.array([2**62, -(2**62), 0, None], pa.timestamp("ms")), "x": [1] * 4})
    assert level(far, "count(*) filter (where t < '2020-01-01 00:00:00') = 1") == 0  # those out of range are null
    assert level(far, "count(*) filter (where year(t) = 1970) = 1") == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "kind", "value"),
    [
        ("y = 0.1", "y = 0.10000000000000000001", pa.float64(), 0.1),
        ("y > 1e-300", "y < 2e-300", pa.float64(), 1.5e-300),
        ("y > '9999-12-31'", "y > '9999-12-30'", pa.date32(), 10**8),
        ("y > '2020-01-01 00:00:00'", "y < '2020-01-01 00:00:00.000001'", pa.timestamp("ns"), 1577836800000000500),
    ],
)
def test_a_row_never_scores_more_than_it_is_thought_to(first: str, second: str, kind: Any, value: Any) -> None:
    sql = f"1000 * count(*) filter (where {first}) + 1000 * count(*) filter (where {second}) + sum(x) >= 2000"
    empty, one = (pa.table({"y": pa.array(rows, kind), "x": np.zeros(len(rows))}) for rows in ([], [value]))
    assert abs(level(empty, sql, bounds={"x": (0, 100)}) - level(one, sql, bounds={"x": (0, 100)})) <= 1


@pytest.mark.slow
def test_what_stands_in_a_condition_too_is_a_safe_bound() -> None:
    content = pa.table({"x": [10, 10, 10, 10], "v": ["A"] * 4, "u": list("abcd")})
    for sql, basis in [
        ("avg(x) filter (where x > 5) > 6", "safe bound"), ("min(x) filter (where x > 5) > 3", "safe bound"),
        ("mode(v) filter (where v = 'A') = 'A'", "safe bound"),
        ("count(*) filter (where v = 'a' and v like 'b%') > 1", "safe bound"),
        ("avg(x) filter (where v = 'A') > 6", "exact distance"),
        ("count(*) filter (where x > 5 and x < 9) > 6", "exact distance"),
        ("avg(x) filter (where x is not null) > 6", "exact distance"),
    ]:  # fmt: skip
        assert prepare(content, sql, P, bounds={"x": (0, 10)}).facts.basis == basis, sql
    assert prepare(content, "count(*) filter (where u = 'bob') >= 2", P, unit="u", max_rows=1).facts.basis == "safe bound"


@pytest.mark.slow
def test_true_and_false_of_a_csv_file_are_numbers_where_text_is_cast_to_numbers(tmp_path: Path) -> None:
    """In upper and lower case, all ways of it; nothing else that looks like it. Every small table has the numbers' levels."""
    words = [*itertools.product("Tt", "Rr", "Uu", "Ee"), *itertools.product("Ff", "Aa", "Ll", "Ss", "Ee")]
    numbers = {"".join(word): float(len(word) == 4) for word in words}
    others = [
        "t",
        "f",
        "yes",
        "no",
        "Y",
        "on",
        " true",
        "true ",
        "tru",
        "truee",
        "truе",
        "ＴＲＵＥ",
        "falſe",
        "TRÜE",
        "$1,200.50",
        "n/a",
    ]
    texts = {**numbers, **dict.fromkeys(others), "1": 1.0, "0": 0.0, "1e0": 1.0}
    file = tmp_path / "t.csv"
    file.write_text("k;x\n" + "".join(f"{i};{text}\n" for i, text in enumerate(texts)))
    for value in (0.0, 1.0):
        question = f"select k, count(*) filter (where x::double = {value}) >= 1 from t group by k"
        with prepare(file, question, P, groups=[[str(i)] for i in range(len(texts))]) as asked:
            assert asked._levels()[2].tolist() == [0 if number == value else -1 for number in texts.values()]
    small = [rows for n in range(4) for rows in itertools.combinations_with_replacement(["True", "FALSE", "yes", "1"], n)]
    rows = [(str(i), text) for i, table in enumerate(small) for text in table]
    file.write_text("k;x\n" + "".join(f"{k};{text}\n" for k, text in rows))
    column = pa.array([texts[text.lower()] for _, text in rows], pa.float64())
    for question in ("avg(x::double) > 0.5", "sum(x::double) >= 2", "median(x::double) > 0.5"):
        found = []
        for table in (file, pa.table({"k": [k for k, _ in rows], "x": column})):
            options: Any = {"bounds": {"x": (0, 1, 1)}, "groups": [[str(i)] for i in range(len(small))]}
            with prepare(table, f"select k, {question} from t group by k", P, **options) as asked:
                found.append(asked._levels()[2].tolist())
        assert found[0] == found[1], question


DIFFERENCES = ["date '2020-01-05' - b::date", "a::double - b::double", "a::date - b::date", "b::date - a::date"]


@pytest.mark.slow
@pytest.mark.parametrize("difference", DIFFERENCES)
def test_no_line_of_a_text_file_makes_a_difference_fail(difference: str, tmp_path: Path) -> None:
    """Of a date and a column that is cast to one, of numbers, of dates: what is none is null."""
    file, lines = tmp_path / "t.csv", ["5,3", "2020-01-05,2020-01-01", "x,y", ",", "2020-01-05,"]
    wanted = "2020-01-05,2020-01-01" if "date" in difference else "5,3"
    for chosen in [[line] for line in lines] + [lines]:
        file.write_text("a,b\n" + "".join(f"{line}\n" for line in chosen))
        with prepare(file, f"count(*) filter (where abs({difference}) in (2, 4)) > 0", P) as asked:
            assert asked._levels()[2][0] == chosen.count(wanted) - 1
    file.write_text("a,b\n5,3\n")
    for question in ("avg(a - b) > 1", "count(*) filter (where a - b = 2) > 0"):
        with pytest.raises(DuotoneError, match="a is text, and is used as a number; b is text, and is used as a number"):
            prepare(file, question, P, bounds={"a - b": (0, 9)})
    for half in ("a::date - b", "b - a::date"):
        with pytest.raises(DuotoneError, match="b is text, and is used as a date"):
            prepare(file, f"count(*) filter (where abs({half}) in (2, 4)) > 0", P)


def test_decimals_of_whole_numbers_are_exact() -> None:
    rows = pa.table({"n": [2**53 + 1, -(2**62) - 1, 12]})
    assert level(rows, "count(*) filter (where n::decimal(38, 0) = 9007199254740993) > 0") == 0
    assert level(rows, "count(*) filter (where n::decimal(38, 0) = 9007199254740992) > 0") == -1
    assert level(rows, "count(*) filter (where n::decimal(3, 1) = 12) > 0") == 0
    for cast, said in [("decimal(2, 5)", "at most 38 digits"), ("decimal(17, 0)", "exactly rounded")]:
        with pytest.raises(DuotoneError, match=said):
            level(rows, f"count(*) filter (where n::{cast} = 12) > 0")


@pytest.mark.slow
def test_what_is_computed_from_whole_numbers_is_one() -> None:
    rows = pa.table({"n": [-7, 3, 8], "x": [1.5, -2.5, 9.9]})
    for computed, expected in [("(n + 1) % 2", [0, 0, 1]), ("(n + 1) // 2", [-3, 2, 4]), ("abs(n) // 7", [1, 0, 1]),
                               ("floor(x) % 2", [1, -1, 1]), ("x::int // 2", [1, -1, 5])]:  # fmt: skip
        for value in {*expected, 99}:
            found = level(rows, f"count(*) filter (where {computed} = {value}) > 0")
            assert found == expected.count(value) - 1, (computed, value)
    with pytest.raises(DuotoneError, match=r"x // 2 needs whole numbers, and column x need not be one"):
        level(rows, "count(*) filter (where x // 2 = 1) > 0")
