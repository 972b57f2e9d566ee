"""Declared formats of dates: every day and clock written by hand, and what is no date."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from duotone import DuotoneError, prepare
from duotone.tables.engines import open_source
from support.reading import P
from support.running import EXHAUSTIVE

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
DATES: dict[str, Callable[[int, int, int], str]] = {
    "%d/%m/%Y": lambda y, m, d: f"{d}/{m}/{y:04}",
    "%m/%d/%Y": lambda y, m, d: f"{m:02}/{d:02}/{y:04}",
    "%Y%m%d": lambda y, m, d: f"{y:04}{m:02}{d:02}",
    "%d.%m.%y": lambda y, m, d: f" {d}.{m}.{y % 100:02} " if 1969 <= y <= 2068 else "",
    "%d %b %Y": lambda y, m, d: f"{d} {MONTHS[m - 1][:3].upper()} {y:04}" if 1 <= m <= 12 else "",
    "%B %d, %Y": lambda y, m, d: f"{MONTHS[m - 1]} {d}, {y:04}" if 1 <= m <= 12 else "",
    "%%%dde%mde%Y": lambda y, m, d: f"%{d}de{m}de{y:04}",
    "%Y-%m-%d 00:00:00": lambda y, m, d: f"{y:04}-{m}-{d} 00:00:00",
    "week'%d'%m\\%Y": lambda y, m, d: f"week'{d}'{m}\\{y:04}",
    "le %d/%m·%Y": lambda y, m, d: f"le {d}/{m}·{y:04}",
}
YEARS = [0, 1, 1582, 1900, 1968, 1969, 2000, 2023, 2024, 2068, 2069, 9999]
NO_DATES = [
    "", "epoch", "infinity", "-infinity", "now", "today", "31/12/25x", "2025-12-31", "2025-12-31 BC", "1/1/20255", "1/1/202",
    "1//2025",
    "-1/1/2025", "+1/1/2025", "001/1/2025", "1/1/-2025", "１/1/2025", "1 /1/2025", "1/1/2025\t", "2025011", "202501011",
    "2025 101",
    "1 Janu 2025", "1 ſep 2025", "\x00", "Null", "🎉",
]  # fmt: skip


def when(y: int, m: int, d: int) -> datetime.date | None:
    try:
        return datetime.date(y, m, d)
    except ValueError:
        return None


def column(path: Path, texts: list[str], written: str) -> pa.ChunkedArray:
    path.write_text("at|x\n" + "".join(f'{i}|"{text}"\n' for i, text in enumerate(texts)))
    with open_source(path, types={"x": written}) as source:
        read = source.only(["at", "x"])
        table = read.run(read.table)
    at = {int(i): x for i, x in zip(table["at"].to_pylist(), table["x"].to_pylist(), strict=True)}
    return [at[i] for i in range(len(texts))]


@pytest.mark.slow
@pytest.mark.parametrize("written", DATES)
def test_every_day_is_read_by_its_format(written: str, tmp_path: Path) -> None:
    years = range(0, 10_000, 37) if EXHAUSTIVE else YEARS
    days = [(y, m, d, DATES[written](y, m, d)) for y, m, d in itertools.product(years, range(14), range(33))]
    days = [day for day in days if day[3]]
    assert column(tmp_path / "t.csv", [text for *_, text in days], written) == [when(y, m, d) for y, m, d, _ in days]
    assert column(tmp_path / "t.csv", NO_DATES, written) == [None] * len(NO_DATES)


CLOCKS = [
    (h, m, s, f) for h in range(26) for m in (0, 1, 9, 59, 60) for s in (0, 7, 59, 60, 61) for f in (0, 1, 500_000, 999_999)
]
TIMES: dict[str, Callable[[int, int, int, int], str]] = {
    "%Y-%m-%dT%H:%M:%SZ": lambda h, m, s, f: f"2024-02-29T{h:02}:{m:02}:{s:02}Z" * (f == 0),
    "%Y%m%d%H%M%S": lambda h, m, s, f: f"20240229{h:02}{m:02}{s:02}" * (f == 0),
    "%d/%m/%Y %H:%M:%S.%f": lambda h, m, s, f: f"29/2/2024 {h}:{m}:{s}.{f:06}",
    "%d/%m/%Y %H.%M": lambda h, m, s, f: f"29/2/2024 {h}.{m}" * (s == f == 0),
    "%d/%m/%Y %Hh": lambda h, m, s, f: f"29/2/2024 {h}h" * (m == s == f == 0),
    "%I:%M%p %d/%m/%Y": lambda h, m, s, f: (
        f"{(h - 1) % 12 + 1}:{m}{'AP'[h // 12]}m 29/2/2024" * (s == f == 0) if h < 24 else ""
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("written", TIMES)
def test_every_clock_is_read_by_its_format(written: str, tmp_path: Path) -> None:
    clocks = [(clock, text) for clock in CLOCKS if (text := TIMES[written](*clock))]
    expected = [datetime.datetime(2024, 2, 29, *c) if c[0] < 24 and c[1] < 60 and c[2] < 60 else None for c, _ in clocks]
    assert column(tmp_path / "t.csv", [text for _, text in clocks], written) == expected
    halves = column(
        tmp_path / "t.csv", ["29/2/2024 1:2:3.5", "29/2/2024 1:2:3.0000001", "29/2/2024 1:2:3."], "%d/%m/%Y %H:%M:%S.%f"
    )
    assert halves == [datetime.datetime(2024, 2, 29, 1, 2, 3, 500_000), None, None]
    assert column(tmp_path / "t.csv", ["0:5am 29/2/2024", "13:5pm 29/2/2024"], "%I:%M%p %d/%m/%Y") == [None, None]


@pytest.mark.parametrize(
    "written",
    ["", "%d/%m", "%d/%m/%Y/%Y", "%d/%m/%Y %d", "%Y%y-%m-%d", "%m %b %d %Y", "%d/%m/%Y %M", "%d/%m/%Y %H %S",
     "%d/%m/%Y %H:%M:%f", "%d/%m/%Y %I", "%d/%m/%Y %H %p", "%d/%m/%Y %z", "%-d/%m/%Y", "%d/%m/%Y%", "%x", "%s", "%j %Y",
     "%d/%m/%Y %q", "%%d/%m/%Y", 5],
)  # fmt: skip
def test_a_format_that_tells_no_date_is_refused(written: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n")
    with pytest.raises(DuotoneError, match=r"types\.x (.* is not a date format: a date format has|must be number)"):
        open_source(tmp_path / "t.csv", types={"x": written})


@pytest.mark.slow
def test_a_column_with_a_format_is_a_date_in_the_question(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("day,seen\n" + "31/12/2025,1/1/2026 10:30\n" * 5 + "1/2/2026,\n" * 3 + "2026-02-01,soon\n")
    formats = {"day": "%d/%m/%Y", "seen": "%d/%m/%Y %H:%M"}
    for question, level in (
        ("count(*) filter (where day < '2026-01-01') > 2", 2),
        ("count(*) filter (where year(day) = 2026) > 2", 0),
        ("max(day) >= '2026-02-01'", 2),
        ("count(day) > 5", 2),
        ("count(*) filter (where seen >= '2026-01-01 10:00:00') > 1", 3),
        ("count(*) filter (where date_diff('day', day, seen) = 1) > 1", 3),
    ):
        with prepare(file, question, P, types=formats) as asked:
            assert asked._levels()[2].item() == level, question
    with prepare(file, "select day, count(*) > 2 from t group by day", P, types=formats, groups=[["2025-12-31"]]) as asked:
        assert asked._levels()[2].tolist() == [2]
    for wrong, says in (
        ({"dy": "%d/%m/%Y"}, r"no column dy \(did you mean day\?\); it has day, seen"),
        ("%d", "types must be {column: type}"),
    ):
        with pytest.raises(DuotoneError, match=says):
            open_source(file, types=wrong)
    with pytest.raises(DuotoneError, match="only CSV files and JSON lines have types"):
        prepare(pa.table({"day": ["31/12/2025"]}), "count(*) > 1", P, types=formats)
