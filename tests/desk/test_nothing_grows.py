"""What a service keeps does not grow with its questions: no view, no table, no object of ours or of Ibis for each."""

from __future__ import annotations

import gc
from collections import Counter
from pathlib import Path

import pytest

from duotone.tables.engines.engine import Source
from duotone.tables.trial import trial
from support.offices import CALLS, STAYS, VOTES, AtDesk, at_desk, make_office

MANY = 12
OURS = ("duotone.", "ibis.", "sqlglot.", "duckdb", "_duckdb", "pyarrow.")
LARGE = VOTES.replace("epsilon = 2", "epsilon = 1000")
QUESTIONS = (
    "count(*) filter (where vote = 'Y') > {}",
    "avg(age) > {}",
    "select town, count(*) > {} from votes group by town",
)


def objects() -> Counter[str]:
    """Objects by type, of the libraries that a question uses."""
    gc.collect()
    kinds = (type(each) for each in gc.get_objects())
    return Counter(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds if str(kind.__module__).startswith(OURS))


def kept(desk: AtDesk) -> list[int]:
    """How many connections are idle, and how many views and tables there are in each, and in that of trials."""
    idle = desk.desk.tables["votes"].idle
    engines = [source.engine for source in idle if isinstance(source, Source)] + [engine for engine, _ in trial._IDLE]
    query = "select count(*) from {}() where not internal"
    made = [e.connection.con.execute(query.format(of)).fetchall() for e in engines for of in ("duckdb_views", "duckdb_tables")]
    return [len(idle), *(many for ((many,),) in made)]


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_nothing_grows_with_the_questions(tmp_path: Path, question: str) -> None:
    with at_desk(make_office(tmp_path, LARGE, STAYS, CALLS)) as desk:
        price = {"epsilon": "0.1", "delta": "0"}

        def ask(*numbers: int) -> None:
            for number in numbers:
                status, document = desk.ask("ana", "votes", question=question.format(number), **price)
                assert status == 200, document

        ask(1, 2)
        before = objects()
        assert not any(kept(desk)[1:])
        ask(*range(3, 3 + MANY))
        assert kept(desk)[0] == 1
        assert not any(kept(desk)[1:])
        after = objects()
        grown = {name: after[name] - before[name] for name in after if after[name] - before[name] >= MANY}
        assert grown == {}
