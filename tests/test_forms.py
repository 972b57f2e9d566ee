"""What docs/sql.md says of each question is what happens: how its level is known, or by what sentence it is refused. So is
what forms.md says, beside this file, of more questions of each kind."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP, prepare
from duotone.errors import DuotoneError
from duotone.tables.trial import plain_sql, trial

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
PAGES = [file.read_text() for file in (HERE.parent / "docs" / "sql.md", HERE / "forms.md")]
HEADER = "| question | declared with it | answer |"
BUDGET = ApproxDP(1, "1e-6")
DAYS = [datetime.date(2025, 1, 1), datetime.date(2025, 3, 2), None, datetime.date(2025, 12, 31)]
TABLE = pa.table(
    {
        "person": [1, 1, 2, 3],
        "visits": [1, 2, None, 40],
        "spare": [1, 2, 3, 4],
        "cost": [1.5, 2.0, None, 300.0],
        "salary": [10_000.0, 20_000.0, 30_000.0, None],
        "arm": ["A", "B", "A", None],
        "town": ["Rome", "Oslo", None, "Rome"],
        "code": ["1", "x", "3", None],
        "sick": [True, False, None, True],
        "day": pa.array(DAYS, pa.date32()),
        "seen": pa.array([day and datetime.datetime(day.year, day.month, day.day, 5) for day in DAYS], pa.timestamp("us")),
    }
)
TOWNS = pa.table({"town": ["Rome", "Oslo"], "country": ["Italy", "Norway"], "people": [2_800_000, 700_000]})
LABS = pa.table({"person": [1, 1, 5], "cost": [2.5, None, 3.0]})
NOTES = pa.table({"person": ["1", "2"]})
NAMES = {"dict": dict, "towns": TOWNS, "twice": pa.concat_tables([TOWNS, TOWNS]), "labs": LABS, "notes": NOTES}
Row = tuple[str, str, str]


def rows_of(page: str) -> list[Row]:
    """The lines of every table of questions, each as its three cells; a cell's `|` is written `\\|`."""
    rows = []
    for table in re.findall(rf"^{re.escape(HEADER)}\n\| --- \| --- \| --- \|\n((?:\|.*\n)+)", page, re.M):
        for line in table.splitlines():
            question, declared, answer = (cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1])
            rows.append((question.strip("`"), declared.strip("`"), answer))
    return rows


ROWS = [row for page in PAGES for row in rows_of(page)]


def options(declared: str) -> dict[str, Any]:
    """Options as they are written in Python."""
    return eval(f"dict({declared})", {"__builtins__": {}}, NAMES)  # type: ignore[no-any-return]


def test_every_line_of_the_pages_is_read() -> None:
    questions, forms = PAGES[0].split("## Question by question")[1], PAGES[1]
    assert len(ROWS) == len(re.findall(r"^\| `", questions + forms, re.M)) == len(set(ROWS)) >= 300
    assert questions.count(HEADER) == forms.count(HEADER) == 1


SPARE = {"spare": (0, 9)}
"""Bounds of a column that no question reads."""
UNJUDGED = (
    "arg_max(",
    "exp(visits)",
    "median(cost) filter",
    "median(a) > median(b)",
    "labs group by person) l using (person) where c > 2",
)
"""What is in the questions of which plain SQL knows the answer on few made-up tables: of several first or last rows it takes
any, and by rule the largest; most people's values are clipped, or are averages; or nobody has so many rows."""


def judged(known: list[plain_sql.Truths]) -> int:
    """On how many made-up tables plain SQL knows the answer."""
    return sum(answer is not None for one in known for answer in one.by_table.values())


@pytest.mark.parametrize(("question", "declared", "answer"), ROWS, ids=[f"{sql} {declared}" for sql, declared, _ in ROWS])
def test_a_question_is_answered_as_the_page_says(
    question: str, declared: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its trial holds it against plain SQL, also where bounds of other columns are declared."""
    refusal = answer.removeprefix("refused: ")
    if refusal != answer:
        with pytest.raises(DuotoneError, match=re.escape(refusal)):
            prepare(TABLE, question, BUDGET, **options(declared))
        return
    known: list[plain_sql.Truths] = []
    more = options(declared)

    def noted(*args: Any) -> plain_sql.Truths:
        known.append(plain_sql.truths(*args))
        return known[-1]

    monkeypatch.setattr(trial, "truths", noted)
    monkeypatch.setattr(trial, "_PASSED", {})
    if "from (select" not in question and not question.startswith("with"):
        more["bounds"] = {**more.get("bounds", {}), **SPARE}
    with prepare(TABLE, question, BUDGET, **more) as prepared:
        assert prepared.facts.basis == answer
    assert judged(known) > 30 or any(part in question for part in UNJUDGED)
