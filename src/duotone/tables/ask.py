"""Asking: a question about a table, checked without reading any row, then answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from duotone.errors import DuotoneError
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given
from duotone.questions.protocol import Neighbours
from duotone.tables.declared import Declared, column_bounds, groups_in, public_groups
from duotone.tables.engine_conformance import open_conforming
from duotone.tables.engines.computed_keys import with_keys
from duotone.tables.engines.file_layout import FileOptions
from duotone.tables.engines.people_table import per_person
from duotone.tables.engines.person_columns import Reduction
from duotone.tables.engines.public_tables import join_public, opened_public
from duotone.tables.engines.source import closed_on_error
from duotone.tables.prepared import Answers, Prepared, prepared_question, prepared_selection
from duotone.tables.sql.read_question import read_question
from duotone.tables.sql.scoring import Bounds


class Options(TypedDict, total=False):
    """What may be declared with a question.

    `unit` names the column that tells persons apart: all rows of a person count as one, as at most `max_rows` rows, or by
    one value, reduced by `per_unit`. Without it each row is a person. Values that are added up need `bounds`: {column: (low,
    high)} or (low, high, grid). `groups` is a public list of keys, or the path of a CSV file with one in each line; without
    it groups are selected privately. A person counts in at most `max_groups` of them. `name` is the table of a database,
    `separator` what stands between the fields of a CSV file whose first line has several candidates, `columns` the keys of
    JSON lines that are columns, `formats` how dates are written in such files: {column: "%d/%m/%Y"}. `costs` is how bad a
    false no and a false yes are, as (10, 1): the worst expected cost is then the least that is possible. `vouched` says, of a
    view or another query, that each of its rows belongs to one person and depends on nobody else's. `public` are tables by
    name, files or data frames, whose rows all may know: the question may join them.
    """

    unit: str | None
    bounds: Mapping[str, Sequence[Given] | Bounds] | None
    neighbours: Neighbours
    max_rows: int | None
    per_unit: Reduction | None
    groups: Sequence[Sequence[Any]] | Path | None
    max_groups: int
    name: str | None
    costs: tuple[Given, Given] | None
    separator: str | None
    columns: Sequence[str] | None
    formats: Mapping[str, str] | None
    vouched: bool
    public: Mapping[str, Any] | None


def ask(table: Any, question: str, privacy: ApproxDP, **options: Unpack[Options]) -> Answers:
    """A private answer to a yes/no question about a table: a file, a data frame, or an open `Source`.

    The question is SQL: one Boolean expression over aggregates, or a select with one, with where and group by. What may be
    declared with it stands in `Options`.

    Guarantee: the answers together satisfy `privacy` between tables that differ in one person, as `neighbours` says.

    >>> import pyarrow as pa
    >>> votes = pa.table({"vote": ["Y"] * 868 + ["N"] * 700})
    >>> question = "count(*) filter (where vote = 'Y') > count(*) filter (where vote = 'N')"
    >>> print(ask(votes, question, ApproxDP(1, "1e-6")))
    yes
    """
    with prepare(table, question, privacy, **options) as prepared:
        return prepared.release()


def prepare(table: Any, question: str, privacy: ApproxDP, **options: Unpack[Options]) -> Prepared:
    """Check a question without reading any row: everything that can be wrong with it is reported now.

    What was opened for it stays open until it is closed; `with prepare(…) as asked` does that.
    """
    unknown = options.keys() - Options.__annotations__.keys()
    if unknown:  # a misspelt one would be left out, and with it what it protects
        raise DuotoneError(f"there is no option {min(unknown)}: there are {', '.join(Options.__annotations__)}")
    _require_privacy(privacy)
    max_groups = options.get("max_groups", 1)
    vouched, file = options.get("vouched", False), _file_options(options)
    source = open_conforming(table, options.get("name"), prepare, vouched, **file)
    with closed_on_error(lambda: source.close()):  # also what is joined to it by then
        people = options.get("max_rows"), options.get("per_unit"), options.get("neighbours", "add-remove")
        declared = Declared(options.get("unit"), {}, *people).of(source)
        tables = options.get("public")
        with ExitStack() as opened:
            public = {} if tables is None else opened.enter_context(opened_public(tables))
            joinable = {called: table.columns for called, table in public.items()}
            asked = read_question(question, source.columns, declared.unit, source.name if source.named else None, joinable)
            if asked.joins:
                source, digest = join_public(source, asked, public)
                asked = replace(asked, normal=f"{asked.normal} JOIN {digest}")
        if asked.people is not None:
            source, declared = per_person(source, asked.people, everybody=declared.replaced), declared.one_row_each()
        source = with_keys(source, asked.keys) if asked.keys else source
        columns = source.columns if asked.people is None else asked.people.kinds
        declared = replace(declared, bounds=column_bounds(options.get("bounds") or {}, columns))
        groups = options.get("groups")
        if isinstance(groups, Path):
            groups, said = groups_in(groups, asked.by, asked.labels)
            asked = replace(asked, notes=(*asked.notes, *said))
        listed = public_groups(source, asked.by, declared.unit, max_groups, groups)
        if asked.by and declared.replaced:
            raise DuotoneError("with group by, someone who changes may leave one group for another: use add-remove")
        if asked.by and listed is None and not privacy.delta > 0:
            raise DuotoneError("with delta 0 no group may ever be shown: give a delta above 0, or the list of groups")
        costs = options.get("costs")
        if costs is not None and not (isinstance(costs, list | tuple) and len(costs) == 2):
            raise DuotoneError("costs are how bad a false no and a false yes are, as (10, 1)")
        return prepared_question(source, asked, declared, privacy, max_groups if asked.by else 1, listed, costs)


def ask_all(
    table: Any, questions: Sequence[str], privacy: ApproxDP, *, each: bool = False, **options: Unpack[Options]
) -> list[Answers]:
    """Private answers to several questions about a table, which share a budget evenly; `each` gives all of it to each.

    Guarantee: the answers together satisfy `privacy`; with `each`, each by itself does. Every question has been checked before
    the first is answered.

    >>> import pyarrow as pa
    >>> votes = pa.table({"vote": ["Y"] * 868 + ["N"] * 700})
    >>> [str(answer) for answer in ask_all(votes, ["count(*) > 500", "mode(vote) = 'N'"], ApproxDP(1, "1e-6"))]
    ['yes', 'no']
    """
    with prepare_all(table, questions, privacy, each=each, **options) as prepared:
        return [question.release() for question in prepared]


@contextmanager
def prepare_all(
    table: Any, questions: Sequence[str], privacy: ApproxDP, *, each: bool = False, **options: Unpack[Options]
) -> Iterator[list[Prepared]]:
    """Check several questions that share a budget, or have it each, without reading any row; closed where the block ends."""
    _require_privacy(privacy)
    if isinstance(questions, str) or not questions:
        raise DuotoneError("questions are a list of at least one: ask a single one by itself")
    share = privacy if each else privacy.split(len(questions))
    with ExitStack() as opened:
        yield [opened.enter_context(prepare(table, question, share, **options)) for question in questions]


def prepare_groups(
    table: Any,
    by: Sequence[str],
    privacy: ApproxDP,
    *,
    unit: str | None = None,
    max_groups: int = 1,
    name: str | None = None,
    vouched: bool = False,
    **file: Unpack[FileOptions],
) -> Prepared:
    """Prepare the question which groups there are."""
    _require_privacy(privacy)
    if isinstance(by, str) or not all(isinstance(column, str) for column in by):
        raise DuotoneError("the columns to group by are a list of names")
    source = open_conforming(table, name, prepare, vouched, **file)
    with closed_on_error(source.close):
        keys = tuple(map(source.named_column, by))
        if not (keys and len(set(keys)) == len(keys)):
            raise DuotoneError("name at least one column to group by, each once")
        declared = Declared(unit).of(source)
        public_groups(source, keys, declared.unit, max_groups)
        if not privacy.delta > 0:
            raise DuotoneError("with delta 0 no group may ever be shown: give a delta above 0")
        return prepared_selection(source, keys, declared, privacy, max_groups)


def select_groups(
    table: Any,
    by: Sequence[str],
    privacy: ApproxDP,
    *,
    unit: str | None = None,
    max_groups: int = 1,
    name: str | None = None,
    vouched: bool = False,
    **file: Unpack[FileOptions],
) -> Answers:
    """Release which keys occur, each with the largest probability that privacy allows for its number of people.

    With `unit`, all rows of a person count as one, and a person counts in at most `max_groups` groups: of more, those with
    the smallest MD5 of person and key, which looks at nobody else. Rows whose key or unit is null are nobody's.

    Guarantee: one person joining or leaving changes the number of people of at most `max_groups` keys, each by 1, and a key
    that nobody has is never shown. Keys come in their own order, not the engine's.

    >>> import pyarrow as pa
    >>> visits = pa.table({"town": ["Ely"] * 90 + ["Wells"], "person": range(91)})
    >>> list(select_groups(visits, ["town"], ApproxDP(1, "1e-13"), unit="person").answers)
    [('Ely',)]
    """
    options: dict[str, Any] = {"unit": unit, "max_groups": max_groups, "name": name, "vouched": vouched, **file}
    with prepare_groups(table, by, privacy, **options) as prepared:
        return prepared.release()


def _file_options(options: Options) -> FileOptions:
    return {"separator": options.get("separator"), "columns": options.get("columns"), "formats": options.get("formats")}


def _require_privacy(privacy: object) -> None:
    if not isinstance(privacy, ApproxDP):
        raise DuotoneError(f'a budget is an ApproxDP, as ApproxDP(1, "1e-6"), got {type(privacy).__name__}')
