"""What the engine reads from a table, row by row; that it does not read; and that a query is read only if vouched
for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError, ask, prepare
from duotone.tables.engines import open_source
from duotone.tables.engines.engine import Source

P = ApproxDP(1, "1e-6")
ALL = ApproxDP(50, "0.99")
"""At this budget a group of three people is shown except once in 10^6."""


def values(table: Any, *columns: str, of: str | None = None) -> list[tuple[Any, ...]]:
    """The plan's values, row by row, without a question of Duotone's."""
    with open_source(table, table=of) as source:
        read = source.only(columns)
        rows = read.run(read.table.select(*columns)).to_pylist()
    return [tuple(row[column] for column in columns) for row in rows]


def column(table: Any, name: str = "x", **where: Any) -> list[Any]:
    return [value for (value,) in values(table, name, **where)]


def answers(table: Any, questions: Sequence[str], **options: Any) -> list[bool]:
    """True answers of questions whose levels are far from the boundary: each is wrong less than once in 10^20."""
    return [bool(ask(table, question, ApproxDP(1, "1e-6"), **options)) for question in questions]


def read_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on a test fails if a table is read."""
    run = Source.run

    def refused(self: Source, plan: Any) -> Any:
        if not self.name.startswith("duotone_"):  # the names of made-up tables only
            pytest.fail("the table was read")
        return run(self, plan)

    monkeypatch.setattr(Source, "run", refused)


WIDE = ApproxDP(9, "0.1")
SAID = "vouched for, not checked: each row of {} belongs to one person, a p, and no row depends on other people's rows"
DATA = pa.table({"x": range(60), "p": [i % 7 for i in range(60)]})


def only_vouched(source: Any, what: str, **options: Any) -> None:
    """Refused by a sentence that names the option; with the option it is answered, and noted."""
    with pytest.raises(DuotoneError, match=rf"^{what} is not a stored table.*\(vouched\)"):
        prepare(source, "count(*) > 40", WIDE, **options)
    with pytest.raises(DuotoneError, match="vouched must be true or false"):
        prepare(source, "count(*) > 40", WIDE, vouched="no", **options)
    asked = "count(*) filter (where x > 3) > 40"
    with prepare(source, asked, WIDE, unit="p", max_rows=20, vouched=True, **options) as prepared:
        assert str(prepared.facts.remarks[0]) == SAID.format(what)
        keys, people, levels = prepared._levels()
        with prepare(DATA, asked, WIDE, unit="p", max_rows=20) as stored:
            assert stored._levels() == (keys, people, levels)
            assert stored.facts.remarks == prepared.facts.remarks[1:]  # rows beyond the twenty
