"""The trial: before it is charged, a question answers for itself on made-up small tables.

Its compiled form is run on all of them in one statement, one group per table. Neighbours' levels may differ by 1 at most; the
sign must be the truth by plain SQL; and where levels are called distances, they must be the distances that a search finds.
Whatever fails is refused. This is a second line of defence: what a trial finds is a mistake in Duotone all the same.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import Lock

from duotone.errors import FailedTrial
from duotone.line.table import Reach
from duotone.model.dataset import Bounds
from duotone.tables.compile_question import Compiled, compile_question
from duotone.tables.declared import at_once, one_row_each
from duotone.tables.engines.derived_tables import shaped
from duotone.tables.engines.duckdb import connected
from duotone.tables.engines.engine import closed_on_error
from duotone.tables.engines.open import Others
from duotone.tables.engines.public_tables import PublicTable, typed
from duotone.tables.engines.query import People
from duotone.tables.engines.stored_values import quoted
from duotone.tables.levels import levels_of
from duotone.tables.sql.comparison import (
    CountsComparison,
    DistinctThreshold,
    LinearThreshold,
    MeanDifference,
    ModeIs,
    PeopleTable,
    PersonAggregate,
    QuantileThreshold,
    VarianceThreshold,
)
from duotone.tables.sql.condition import ALWAYS, Compare, OneOf, Operand, columns_read, parts_of
from duotone.tables.trial.checks import REACH, Checks, Levels
from duotone.tables.trial.made_up_sources import Asked, of_one_table, plain_rows, private_source, public_source
from duotone.tables.trial.made_up_tables import (
    PERSON,
    TABLE,
    Constants,
    Layout,
    MadeUp,
    Values,
    made_up_tables,
    rows_of,
    values_of,
)
from duotone.tables.trial.plain_sql import Unknown, clipped, columns_named, on_grid, selected, truths, within, written

CROWDS, CROWD = range(2, 101), 6
"""Constants of this size are taken for numbers of people, and some made-up tables have about so many; else CROWD."""
NEAR, WHOLE = 10**6, ("integer", "float", "text", "boolean")
"""Constants and kinds whose neighbours are all among the critical values, so that distances can be searched for."""
CLIPPED = LinearThreshold, MeanDifference, VarianceThreshold
AS_THEY_ARE = Compare, OneOf, QuantileThreshold, ModeIs, DistinctThreshold
"""Parts of a question that look at values within their bounds, and at those beyond, too."""
KEPT = 10_000
"""Questions whose trials are remembered."""
_PASSED: dict[str, None] = {}
_LOCK = Lock()


def require_trial(asked: Asked) -> None:
    """Refuse a question that fails its trial.

    Guarantee: what happens here depends on the question, on what is declared and on the tables' columns, and on no row.
    """
    key = asked.key
    if key in _PASSED:
        return
    seed = int(key[:16], 16)
    failed = None
    try:
        _tried(asked, seed)
    except FailedTrial:
        raise
    except Exception as error:
        failed = type(error).__name__
    if failed is not None:
        raise FailedTrial(failed, f"{seed:x}")
    with _LOCK:
        while len(_PASSED) >= KEPT:
            _PASSED.pop(next(iter(_PASSED)))
        _PASSED[key] = None


def _tried(asked: Asked, seed: int) -> None:
    draw = random.Random(seed)
    constants = Constants.of(asked.question)
    clips = _clips(asked)
    layout = _layout(asked, constants, clips)
    sizes = [int(n) for n in (*constants.limits, *constants.numbers) if n in CROWDS][:2] or [CROWD]
    tables = made_up_tables(layout, sizes, draw, share=_share(asked))
    engine, close = connected()
    with closed_on_error(close):
        made = rows_of(layout, tables)
        private = {name: private_source(engine, layout.columns[name], made[name]) for name in layout.columns}
        public = {name: public_source(engine, name, columns, asked, layout, draw) for name, columns in asked.public.items()}
        compiled, levels = _levels(asked, private, public)
        checks = Checks(asked, compiled, tables, levels, seed)
        checks.neighbours()
        if compiled.exact and not asked.question.by:
            checks.distances()
        for number in _some(tables, draw):
            checks.alone(number, _levels(asked, private, public, number)[1])
        with suppress(Unknown):  # what plain SQL cannot say is left to the others
            registered = {name: plain_rows(source, asked, tables) for name, source in private.items()}
            registered |= {name: table.source.name for name, table in public.items()}
            fit = _unclipped(asked, compiled, layout, clips)
            checks.plain(truths(engine.connection.con, asked.question.text, registered, fit, clips))
    close()


def _clips(asked: Asked) -> Mapping[str, Bounds]:
    """The bounds to which plain SQL clips by itself, where a name alone tells a column: of no joined table."""
    if asked.question.joins or asked.question.beside:
        return {}
    return clipped(asked.question.text, {_as_sql(asked, value): bounds for value, bounds in asked.declared.bounds.items()})


def _as_sql(asked: Asked, value: str) -> str:
    """What is bounded as SQL: a column may be called as no SQL is."""
    people, (first, *_) = asked.question.people, asked.private.values()
    return quoted(value) if value.lower() in {c.lower() for c in (first if people is None else people.kinds)} else value


def _unclipped(asked: Asked, compiled: Compiled, layout: Layout, clips: Collection[str]) -> list[str]:
    """Conditions under which bounds and grids change no value, but for bounds to which plain SQL clips, also of a comparison
    that these settle, which is left out. Of columns that the question does not read, which no made-up table has, there are
    none. Where a name alone does not tell which of two columns is bounded, plain SQL cannot judge."""
    many = Counter(c.lower() for c in _outer_columns(asked, layout))
    grids = {c: grid for comparison in compiled.comparisons for c, grid in comparison.grids.items()}
    own = {c for c in {**asked.declared.bounds, **grids} if _as_sql(asked, c) in clips}
    checks = {c: partial(within, bounds=bounds) for c, bounds in asked.declared.bounds.items() if c not in own}
    checks |= {c: partial(on_grid, grid=grid, clipped=c in own) for c, grid in grids.items()}
    conditions = []
    for value, check in checks.items():
        if many[value.lower()] == 1:
            conditions.append(check(quoted(value)))
            continue
        columns = columns_named(value)
        if columns and all(many[name] for _, name in columns):
            if any(many[name] > 1 and not table for table, name in columns):
                raise Unknown
            conditions.append(check(value))
    return conditions


def _outer_columns(asked: Asked, layout: Layout) -> list[str]:
    """The names of the columns that the question's outermost select can use, some more than once where tables are joined."""
    question = asked.question
    if question.people is not None:
        return [c for people in (question.people, *(o.people for o in question.beside)) for c in people.kinds]
    joined = (c for join in question.joins for c, kind in asked.public[join.table].items() if kind != "other")
    return [*next(iter(layout.columns.values())), *joined]


def _share(asked: Asked) -> float:
    """Fewer tables where levels are searched for."""
    slow = MeanDifference | VarianceThreshold | CountsComparison
    return 0.5 if any(isinstance(part, slow) for part in parts_of(asked.question.tree)) else 1.0


def _layout(asked: Asked, constants: Constants, clips: Collection[str]) -> Layout:
    """The columns that the question reads, with their critical values."""
    declared, question = asked.declared, asked.question
    joins = (*question.joins, *(join for other in question.beside for join in other.people.joins))
    named = columns_read(question) | {*question.by, declared.unit} | {own for join in joins for own, _ in join.keys}
    in_text = {name for _, name in columns_named(selected(question.text))}  # also in what is settled: plain SQL reads it
    private = list(asked.private)[:1] + [other.table for other in question.beside]
    columns = {
        table: {c: kind for c, kind in asked.private[table].items() if (c in named or c.lower() in in_text) and kind != "other"}
        for table in private
    }
    compared, clipped = (
        {c for part in parts_of(question) if isinstance(part, kinds) for c in columns_read(part)}
        for kinds in (AS_THEY_ARE, CLIPPED)
    )
    every = question.people is not None or declared.per_unit in ("avg", "sum")
    bounds = {c: ends for c, ends in declared.bounds.items() if every or c in clipped}
    values = {
        table: {
            c: values_of(kind, constants, bounds.get(c), compared=c in compared, clipped=_as_sql(asked, c) in clips)
            for c, kind in own.items()
        }
        for table, own in columns.items()
    }
    for i, column in enumerate(question.by):
        for table, own in values.items():
            if asked.listed and column in own:
                kind = columns[table][column]  # what it cannot hold, nobody has
                held = (key[i] if kind in ("text", "untyped") else typed(written(key[i]), kind) for key in asked.listed[:3])
                keys = dict.fromkeys(key for key in held if key is not None)
                own[column] = Values((None, *keys), own[column].odd)
    rows = 1 if declared.max_rows is None else declared.max_rows
    stored = all(o.made is None and o.reading is None for o in parts_of(question) if isinstance(o, Operand))
    ends = [end for bounds in declared.bounds.values() for end in (bounds.low, bounds.high)]
    near = all(abs(number) <= NEAR and number.denominator <= NEAR for number in (*constants.numbers, *constants.limits, *ends))
    near &= all(kind in WHOLE for own in columns.values() for kind in own.values())
    return Layout(columns, values, declared.unit, rows, stored and near)


def _levels(
    asked: Asked, private: Others, public: Mapping[str, PublicTable], number: int | None = None
) -> tuple[Compiled, Levels]:
    """The question compiled as it will be, and its levels in all made-up tables, from one statement; or in one, by its
    `number`, by the very statement that the question will be asked by."""
    question, declared = asked.question, asked.declared
    if number is not None:
        private = {name: of_one_table(source, number) for name, source in private.items()}
    elif question.people is not None:
        question = replace(question, people=_kept(question.people))
        question = replace(question, beside=tuple(replace(o, people=replace(o.people, unit=PERSON)) for o in question.beside))
    first, *_ = private.values()
    source, question = shaped(first, private, public, question, everybody=declared.replaced)
    if question.people is not None:
        declared = one_row_each(declared, at_once)
    compiled = compile_question(asked.question, declared, Reach(REACH, REACH), source)
    by = question.by if number is not None else (TABLE, *question.by)
    population = People(source, compiled.rows, declared.unit, by, asked.most, asked.listed, trial=number is None)
    keys, people, (levels,) = levels_of(population, [(question, compiled)])
    numbered = keys if number is None else ((number, *key) for key in keys)
    both = zip(people.tolist(), levels.clip(-REACH - 1, REACH).astype(int).tolist(), strict=True)
    return compiled, {(n, *map(written, key)): each for (n, *key), each in zip(numbered, both, strict=True)}


def _some(tables: Sequence[MadeUp], draw: random.Random) -> list[int]:
    """Two made-up tables: one of the largest, and any other."""
    largest = max(range(len(tables)), key=lambda n: tables[n].people)
    return [largest, draw.randrange(len(tables))]


def _kept(people: PeopleTable) -> PeopleTable:
    """The same inner select, of made-up people, with the number of the made-up table as one more column."""
    number = PersonAggregate("max", ALWAYS, Operand(TABLE, "integer"))
    column = (TABLE, Operand(str(len(people.aggregates)), "integer"))
    return replace(people, unit=PERSON, aggregates=(*people.aggregates, number), columns=(*people.columns, column))
