"""Checking a question for parts of the people: any SQL with a yes/no value, or any function, becomes `Prepared`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from duotone.line.three_way import ThreeWay
from duotone.model.dataset import Dataset, Unused, at_once
from duotone.model.notice import Notice, Refusal
from duotone.model.wanted import Wanted
from duotone.options import options_of
from duotone.privacy.numbers import Given
from duotone.privacy.text import Definition
from duotone.tables.check_question import ToPrice, dataset_and_budget, pass_over, question_terms
from duotone.tables.declared import open_tables, redeclared, require_same_columns, unit_in
from duotone.tables.engines.engine import Source, closed_on_error
from duotone.tables.parts.question import ByParts, Function, by_parts, require_parts
from duotone.tables.prepared import Prepared

UNUSED: dict[str, Any] = {"max_rows": None, "per_unit": None, "max_groups": None, "at_least": None, "groups": None,
                          "bounds": {}}  # fmt: skip
"""Declarations that nothing of a question for parts depends on."""


def prepare_by_parts(
    source: Any,
    question: str | Function,
    privacy: Definition | ThreeWay | Wanted | ToPrice | None = None,
    *,
    parts: int = 51,
    part_seconds: int = 10,
    part_memory: int = 1024,
    epsilon: Given | None = None,
    delta: Given | None = None,
    wrong: Given | None = None,
    people: Any = None,
    one_of: int | None = None,
    price: Given | None = None,
    costs: tuple[Given, Given] | None = None,
    margins: bool | None = None,
    strict: bool = False,
    **declared: Any,
) -> Prepared:
    """Prepare any question, to be asked of each of several `parts` of the people by itself: does it hold in most of them?

    It is SQL as DuckDB understands it (an expression over aggregates, or statements whose last one has one value), or a
    function of a data frame (of pandas if that is installed, else an Arrow table), at the top of a Python file. A plain True
    is a yes. An error, another value, more than `part_seconds` of the processor or `part_memory` MiB are a no of that part.
    Bounds, row limits and groups have no part in it (`strict` refuses those of a `Dataset`, too); the budget is given as for
    `prepare`.

    Guarantee: one person more or less changes the answer of one part at most (`duotone.questions.by_parts`), whatever is asked.
    """
    require_parts(parts, part_seconds, part_memory)
    given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "wrong": wrong, "one_of": one_of, "price": price}
    known = options_of(prepare_by_parts)
    dataset, budget = dataset_and_budget(source, privacy, declared, known, people=people, **given)
    strict = strict or not isinstance(source, Dataset)
    if strict and (dataset.also or dataset.public):
        raise Refusal("tables beside parts")
    dataset = replace(dataset, also={}, public={})
    own, _ = open_tables(dataset)
    with closed_on_error(own.close):
        about = _used(unit_in(dataset, own), strict=strict)
        terms, most = question_terms(budget, None, about, None, costs, margins)
        asked = by_parts(question, own, parts, part_seconds, part_memory)

        def opened_anew(table: Any) -> tuple[Source, ByParts]:
            again, _ = open_tables(redeclared(dataset, table))
            with closed_on_error(again.close):
                require_same_columns([own.columns], [again])
            return again, asked

        prepared = Prepared(own, asked, (), about, most, None, terms, None, opened_anew).checked()
        asked = asked.tried(own)  # after what refuses a question before anything is done with its text
        return replace(prepared, asked=asked)


def _used(declared: Dataset, *, strict: bool) -> Dataset:
    """The declarations that matter; others are refused where they are made for this question alone."""
    note = at_once if strict else pass_over
    for key in UNUSED:
        if getattr(declared, key) not in (None, {}):
            note(Unused(key, Notice("unused by parts", key=key)))
    return replace(declared, **UNUSED)
