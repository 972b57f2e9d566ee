"""When an answer leaves: how long a question takes at most, from its text and the declarations alone.

Somebody could write a question that is slow only for some rows, or whose search ends early only if the answer is near.
So the declared time covers the worst rows, by construction: the engine's work for the greatest number of rows with the
longest texts (`tables.work`), and the longest search. A question that could take longer is refused. See docs/serve.md.
"""

from __future__ import annotations

import time
from functools import cache

from duotone.desk.callers import Refused
from duotone.desk.office import Limits, Listed
from duotone.resources import EngineLimits, cores
from duotone.tables.engines.results import Tally
from duotone.tables.parts.question import ByParts
from duotone.tables.prepared import Prepared
from duotone.tables.sql.comparison import (
    Aggregate,
    Arithmetic,
    CountsComparison,
    MeanDifference,
    TopGroup,
    VarianceThreshold,
    atoms,
)
from duotone.tables.sql.condition import parts_of
from duotone.tables.work import require_room

FIRST = {"DuckDB": 0.8, "Postgres": 1.0, "Spark": 10.0}
"""Seconds that an engine needs for an empty table."""
OTHER = 2.0
SLOWER = {"DuckDB": 1.0, "Postgres": 5.0, "Spark": 5.0}
"""How many times DuckDB's time an engine may take per row; engines not listed may take ten times as long."""
BY_GROUP, BY_LEVEL = 2e-5, 5e-6
"""Seconds per returned group, and per level of an answer: a small ε has many levels, and their table takes longer than
the engine."""
BY_PAIR = {False: 1e-5, True: 5e-5}
"""Seconds per pair of levels of a difference or a variance; the second where people change. Twice the measured time."""
BY_TABLE = {False: 4e-8, True: 8e-8}
"""Seconds per step of counting arithmetic, for each table that its search looks at."""
NURSERY, BY_ROW = 5.0, 2e-5
"""Seconds until parts can be asked, and per row that is handed to them."""
REFERENCE = 0.008
"""Seconds that `machine` takes on the machine where the nanoseconds of `tables.work` were measured (two slow cores)."""


def seconds_of(question: Prepared, dataset: Listed, engine: str, limits: Limits) -> float:
    """Seconds until an answer leaves, from public facts. The owner's `seconds` cover the engine's fixed part, which no
    row changes; the most that rows can cost is always added.

    Guarantee: it depends on the question, the office and the machine, and covers the work for every table with at most
    the declared number of rows.
    """
    start = FIRST.get(engine, OTHER) if dataset.seconds is None else dataset.seconds
    worked = question.work(dataset.rows).nanoseconds * 1e-9 * SLOWER.get(engine, 10.0)
    if isinstance(question.asked, ByParts):
        worked += BY_ROW * dataset.rows
        start += NURSERY + question.asked.longest
    levels = question.terms.reach * BY_LEVEL + (dataset.rows * BY_GROUP if question.by and question.listed is None else 0.0)
    return start + machine() * max(1.0, limits.workers / cores()) * (worked + levels + search_seconds(question, dataset.rows))


@cache
def machine() -> float:
    """How much slower this machine is than the one where constants were measured, at least 1: from made-up rows, at the
    first question. Processor time is measured, because other work at that moment would lengthen all later times."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("set threads = 1")
        taken = []
        for _ in range(3):
            since = time.thread_time()  # with one thread, DuckDB works in the calling thread
            connection.execute(MADE_UP).fetchall()
            taken.append(time.thread_time() - since)
    return max(1.0, min(taken) / REFERENCE)


MADE_UP = """select count(*) from range(1000) r(i) where regexp_matches(repeat('e', 100) || i, 'e[a-z ]{990}q')
    or contains(replace(repeat('ab', 500) || i, 'a', 'ccc'), 'q')"""


def require_little(question: Prepared, dataset: Listed, engine: str, limits: Limits, engine_limits: EngineLimits) -> None:
    """Refuse a question that could take longer than the office allows, or more memory than an engine has."""
    require_room(question.work(dataset.rows), engine_limits)
    seconds = seconds_of(question, dataset, engine, limits)
    if not seconds <= limits.longest:
        raise Refused(
            "bad question",
            f"this question could take {seconds:,.0f} s, and here an answer leaves after "
            f"{limits.longest:g} s at most: shorten its patterns and their repetitions, make fewer and shorter texts, list its "
            "groups, raise epsilon, or ask about fewer counts; the owner may read less of stored texts (longest_text), "
            "keep numbers as numbers (a Parquet file), or let answers take longer (longest)",
        )


def search_seconds(question: Prepared, rows: int) -> float:
    """The longest search for the level of an answer, in seconds; with groups, for all of them."""
    if question.compiled is None:
        return 0.0
    groups = 1 if not question.by else rows if question.listed is None else len(question.listed)
    replaced, seconds = question.declared.replaced, 0.0
    for (atom, _), compared in zip(atoms(question.compiled.tree), question.compiled.comparisons, strict=True):
        match atom:
            case MeanDifference() | VarianceThreshold():
                seconds += BY_PAIR[replaced] * compared.searched**2
            case TopGroup():
                seconds += BY_PAIR[replaced] * compared.searched**2 * len(atom.values)
            case CountsComparison():
                cells = sum(len(asked.values) for asked in compared.requests.values() if isinstance(asked, Tally))
                steps = sum(isinstance(part, Aggregate | Arithmetic) for part in parts_of(atom.expression))
                seconds += BY_TABLE[replaced] * steps * float(2 * compared.searched + 1) ** cells
    return groups * seconds
