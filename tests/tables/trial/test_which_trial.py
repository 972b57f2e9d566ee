"""The trial of a question which of several answers is true: every planted fault in its standings is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from duotone import prepare
from duotone.errors import FailedTrial
from duotone.questions import which
from duotone.questions.which import Changes, Standing
from duotone.tables import compile_question
from duotone.tables.comparisons import top_group
from duotone.tables.trial import trial

TABLE = pa.table({"g": ["A"], "h": ["p"], "x": [1], "u": [1]})
LISTED: dict[str, Any] = {"groups": {"g": ["A", "B", "C"]}}
BOUNDS: dict[str, Any] = {"bounds": {"x": (0, 3)}}


def changed(standing: Callable[..., Standing], by: Callable[[Standing], Standing]) -> Callable[..., Standing]:
    return lambda *given, **named: by(standing(*given, **named))


def last_of_equal(counts: Sequence[int], step: int) -> Standing:
    """Of equal counts the last one."""
    first = len(counts) - 1 - which.leading_count(counts[::-1], step).answer
    return Standing(first, which.leading_count(counts[::-1], step).distance)


def without_those_before(levels: Sequence[Any]) -> Any:
    """The distance of a condition, whatever those before it do."""
    standings = which.first_that_holds(levels)
    own = np.stack([*(np.asarray(each, dtype=float) for each in levels), np.full(len(levels[0]), 9.0)])
    return np.stack([standings[:, 0], own[standings[:, 0], np.arange(len(own[0]))].astype(np.int64)], axis=1)


def emptied_at_once(people: Sequence[int], first: int, other: int, replaced: bool) -> int:
    """A group never loses everybody."""
    return 99


FAULTS: list[tuple[Any, str, Any, str, dict[str, Any]]] = [
    (top_group, "leading_count", last_of_equal, "mode(g)", LISTED),
    (top_group, "leading_count", changed(which.leading_count, lambda s: Standing(s.answer, s.distance + 1)), "mode(g)", LISTED),
    (top_group, "leading_count", changed(which.leading_count, lambda s: Standing(s.answer, 2 * s.distance)), "mode(g)", LISTED),
    (top_group, "leading_count", changed(which.leading_count, lambda _: Standing(0, 0)), "mode(g)", LISTED),
    (
        top_group,
        "leading_count",
        lambda counts, _: which.leading_count(counts, 1),
        "select g from t group by g order by count(*) desc limit 1",
        LISTED | {"unit": "u", "max_rows": 3},
    ),
    (
        top_group,
        "leading_sum",
        lambda totals, people, _, every: which.leading_sum(totals, people, Changes(0, 1, False, False), every),
        "select g from t group by g order by sum(x) desc limit 1",
        LISTED | BOUNDS,
    ),
    (which, "_emptied", emptied_at_once, "select g from t group by g order by avg(x) desc limit 1", LISTED | BOUNDS),
    (
        compile_question,
        "first_that_holds",
        without_those_before,
        "case when count(*) > 3 then 'many' when avg(x) > 1 then 'much' else 'neither' end",
        BOUNDS,
    ),
    (
        compile_question,
        "first_that_holds",
        lambda levels: which.first_that_holds(levels[::-1]),
        "bracket(count(*), 1, 3)",
        {},
    ),
]


@pytest.mark.parametrize(("place", "name", "fault", "question", "options"), FAULTS)
def test_every_planted_fault_is_found(
    place: Any, name: str, fault: Any, question: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_PASSED", {})
    prepare(TABLE, question, epsilon=1, **options).close()
    monkeypatch.setattr(trial, "_PASSED", {})
    monkeypatch.setattr(place, name, fault)
    with pytest.raises(FailedTrial):
        prepare(TABLE, question, epsilon=1, **options)
