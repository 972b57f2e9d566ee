"""Questions from SQL: one Boolean expression over aggregates, or a select with one.

Notes about text say what a question's casts read as numbers, dates or Booleans (other values are null). They depend on the
question alone: only the table's owner can see how many are null (`duotone.tables.inspection`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.model.notice import Notice, Refusal, why
from duotone.model.text_types import Type
from duotone.tables.sql.as_written import as_sql
from duotone.tables.sql.comparison import (
    PRESENT,
    Choice,
    ParsedQuestion,
    PeopleTable,
    PublicJoin,
    Tree,
)
from duotone.tables.sql.condition import (
    ALWAYS,
    NUMERIC,
    Columns,
    Compare,
    Condition,
    IsNull,
    Kind,
    Not,
    Operand,
    both,
    parts_of,
)
from duotone.tables.sql.functions import from_text
from duotone.tables.sql.functions.function import ASSUMED, as_kind, types_needed, undeclared
from duotone.tables.sql.functions.numbers import as_whole
from duotone.tables.sql.normal_form import count_alone, normal_text
from duotone.tables.sql.read_choice import CHOOSING, read_choice, read_top_group
from duotone.tables.sql.read_comparison import Comparisons
from duotone.tables.sql.read_condition import constant, read_condition, read_operand
from duotone.tables.sql.read_groups import Over, makes_groups, read_over_groups
from duotone.tables.sql.read_joins import TOGETHER, Tables, join_tables, refuse_bare
from duotone.tables.sql.read_people import join_people, read_people, selects_unit
from duotone.tables.sql.syntax import (
    among,
    column_name,
    group_keys,
    names_of,
    parse,
    unknown_in,
    without_comments,
    written,
    yes_or_no_constants,
)

NO_TABLES: Mapping[str, Columns] = {}
DEEPEST = 100
"""Most nested operations: a question takes time that grows with them."""
TOO_DEEP = f"the question is nested too deeply: at most {DEEPEST} operations may be inside one another (a || b || c has two)"


def read_question(
    text: str,
    columns: Columns,
    unit: str | None = None,
    name: str | None = None,
    public: Mapping[str, Columns] = NO_TABLES,
    also: Mapping[str, Columns] = NO_TABLES,
    percents: Collection[str] = (),
) -> ParsedQuestion:
    """Parse a question, or refuse it with a reason; `name` is the table's, None without one. `public` are the columns
    of the public tables that it may join, `also` those of further private tables, `percents` the table's columns of per
    cent.

    >>> read_question("count(*) > 5", {"x": "integer"}).tree
    LinearThreshold(terms=(Term(weight=Fraction(1, 1), value=None, where=Joined(rule='and', parts=())),), \
limit=Fraction(5, 1), strict=True, present=None, people=False, averaged=False)
    """
    if name is not None and any(among([exp.to_identifier(other)], names_of(name)) for other in also):
        raise DuotoneError(
            f"a further private table has the name of the table that is asked about, {name}: give it another name"
        )
    try:
        return _typed(*as_sql(text), Tables(columns, unit, name, public, also), percents)
    except RecursionError:
        raise DuotoneError("the question is nested too deeply") from None


def _typed(text: str, written_otherwise: Sequence[Notice], tables: Tables, percents: Collection[str]) -> ParsedQuestion:
    """The question; or a refusal that names every column without a declared type that it uses as more than text. Each is
    assumed to hold what fits its first use, and the question is read again."""
    needed: dict[str, Type] = {}
    while True:
        try:
            parsed = parse(text, [column for table in tables.every for column in table])
            _refuse_deep(parsed)
            asked = _read(parsed, tables)
            _refuse_nobody(asked, tables.unit)
        except DuotoneError as error:
            more = {tables.declared_as(column): one for column, one in types_needed(error).items()}
            if more.keys() <= needed.keys():  # there is nothing else to declare
                if not needed:
                    raise
                raise undeclared(needed) from None
            needed |= {column: one for column, one in more.items() if column not in needed}
            tables = tables.assuming({column: ASSUMED[one] for column, one in more.items()})
            continue
        if needed:
            raise undeclared(needed)
        notes = (*written_otherwise, *_percent_notes(parsed, percents, written_otherwise), *asked.notes, *_text_notes(asked))
        return replace(asked, text=without_comments(text), notes=notes)


def _refuse_deep(select: exp.Expression) -> None:
    """Refuse what would take long to parse; any number of conditions may be connected by and, or and not."""
    waiting: list[tuple[exp.Expression, int]] = [(select, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > DEEPEST:
            raise DuotoneError(TOO_DEEP)
        inside = depth + (not isinstance(node, exp.Connector | exp.Paren | exp.Not))
        if isinstance(node, exp.Func) and not isinstance(node, exp.Connector):  # an engine takes its arguments two by two
            inside += len(node.expressions)
        waiting.extend((part, inside) for part in node.iter_expressions())


def _read(select: exp.Select, tables: Tables, there: Condition = ALWAYS, over: Over | None = None) -> ParsedQuestion:
    """A question about the rows that satisfy `there`; or, with `over`, how many of the select's groups satisfy that."""
    inner, clauses = _inner(select), select.args.get("joins") or []
    refuse_bare(inner or select, tables)
    if inner is None:
        columns, joined, joins = join_tables(select, tables)
        outer = _about_rows(select, columns, tables.unit, [joined] * bool(joins) + [there] * (there != ALWAYS), over)
        return replace(outer, joins=joins, notes=(*_public_notes(joins), *outer.notes))
    if any(isinstance(clause.this, exp.Subquery) for clause in clauses):
        return _together(select, inner, tables, over)
    if clauses:
        raise DuotoneError("a public table is joined inside the inner select, where rows are still the table's")
    called = _called(select)
    if makes_groups(inner, tables.unit):
        if over is not None:
            raise DuotoneError("groups of groups: make one row per group in one inner select, over the table itself")
        try:
            return _read(inner, tables, there, Over.of(select, called[0] if called else None))
        except DuotoneError as error:
            if tables.unit is not None or type(error) is not DuotoneError:
                raise
            raise Refusal("groups, or unit missing", why=why(error)) from None
    people = read_people(inner, tables)
    about = " ".join(["the inner select", *called])
    with unknown_in(about):
        outer = _read(select, Tables(people.kinds), HERE, over)
    notes = (*_public_notes(people.joins), *outer.notes)
    return replace(outer, normal=_from(outer, people), people=people, joins=people.joins, about=about, notes=notes)


def _together(select: exp.Select, inner: exp.Select, tables: Tables, over: Over | None) -> ParsedQuestion:
    """A question about the people of several private tables."""
    if tables.unit is None:
        raise DuotoneError(f"{TOGETHER}: name the unit")
    people = read_people(inner, tables)
    selects_unit(inner, tables.unit, tables.columns)
    labels = [*_called(select), *(clause.this.alias for clause in select.args["joins"])]
    kinds, joined, beside = join_people(select, people, tables)
    about = f"the join of {' and '.join(labels)}"
    with unknown_in(about):
        outer = _about_rows(select, kinds, None, [joined, HERE], over)
    normal, joins = _from(outer, people), [*people.joins]
    for other in beside:
        table, label = (exp.to_identifier(called, quoted=True).sql() for called in (other.table, other.join.label))
        normal += f" {'LEFT ' * other.join.left}JOIN ({other.people.normal} FROM {table}) AS {label}"
        joins += other.people.joins
    private = tuple(dict.fromkeys(other.table for other in beside))
    notes = (Notice("private tables", tables=private), *_public_notes(joins), *outer.notes)
    return replace(outer, normal=normal, people=people, joins=people.joins, beside=beside, about=about, notes=notes)


def _from(outer: ParsedQuestion, people: PeopleTable) -> str:
    """The normal form of a question about the result of an inner select."""
    return f"{outer.normal} FROM ({people.normal})"


def _about_rows(
    select: exp.Select, columns: Columns, unit: str | None, there: Sequence[Condition], over: Over | None = None
) -> ParsedQuestion:
    """A question about a table with these columns, over the rows that satisfy all of `there`."""
    yes_or_no_constants(select, columns)
    where = select.args.get("where")
    rows = read_condition(where.this, columns) if where is not None else ALWAYS
    for condition in there:
        rows = both(condition, rows)
    keys, reader = _read_keys(select, columns), Comparisons(columns, rows, unit)
    if over is not None:
        return _about_groups(over, select, keys, reader)
    tree: Tree | Choice
    if select.args.get("limit") is not None:
        others = _answers_of(select, keys, columns)
        tree, keys, notes = read_top_group(select, keys, others, reader), (), tuple[Notice, ...]()
    else:
        notes = (*_without_order(select), *_without_having(select, keys, columns))
        answers = _answers_of(select, keys, columns)
        if len(answers) != 1:
            raise DuotoneError("a question has exactly one yes/no expression, besides the columns that it is grouped by")
        asked = answers[0]
        chosen = read_choice(asked, reader) if isinstance(asked.unnest(), CHOOSING) else None
        tree = chosen or reader.tree(asked)
    labels = _labels_of(select, keys, columns)
    for node in select.find_all(exp.Expression):
        node.comments = None
    normal = normal_text(select)
    by, made = tuple(key.column for key in keys), tuple(key for key in keys if key.made is not None)
    equalities, count = tuple(reader.equalities), count_alone(normal)
    return ParsedQuestion(
        tree,
        by,
        rows,
        normal,
        keys=made,
        equalities=equalities,
        notes=notes,
        labels=labels,
        count=None if count is None else (normal, count),
    )


def _about_groups(over: Over, inner: exp.Select, keys: Keys, reader: Comparisons) -> ParsedQuestion:
    """How many of the groups of an inner select satisfy the outer one."""
    outer, notes = over.select, _without_order(over.select)
    tree = read_over_groups(over, inner, reader)
    labels = _labels_of(inner, keys, reader.columns)
    for node in (*outer.find_all(exp.Expression), *inner.find_all(exp.Expression)):
        node.comments = None
    inner.set("order", None)
    outer.set("from_", None)
    normal = f"{normal_text(outer)} FROM ({normal_text(inner, of_people=True)})"
    by, made = tuple(key.column for key in keys), tuple(key for key in keys if key.made is not None)
    return ParsedQuestion(tree, by, reader.rows, normal, keys=made, notes=notes, labels=labels)


def _refuse_nobody(asked: ParsedQuestion, unit: str | None) -> None:
    """Refuse to ask for rows without a unit, which never count; the opposite is allowed."""
    rows = [asked.people or (asked.where, asked.tree, asked.keys), *(other.people for other in asked.beside)]
    parts = list(parts_of(tuple(rows)))
    without = [part for part in parts if isinstance(part, IsNull) and part.operand.column == unit]
    if len(without) > sum(isinstance(part, Not) and part.part in without for part in parts):
        raise DuotoneError(f"rows without {unit} never count, since it identifies the person: leave that condition out")


def _public_notes(joins: Iterable[PublicJoin]) -> tuple[Notice, ...]:
    return tuple(Notice("public table", table=table) for table in dict.fromkeys(join.table for join in joins))


HERE = Compare(Operand(PRESENT, "integer"), ">", Fraction(0))
"""For one row per person: a person without a row in the inner select's where is left out."""


def _called(select: exp.Select) -> list[str]:
    """The name of the removed inner select, if it has one."""
    clause = select.args.get("from_")
    return [] if clause is None else [clause.this.name]


def _inner(select: exp.Select) -> exp.Select | None:
    """Remove and return the inner select: the outer one is then about a table of that name, or of none."""
    clause = select.args.get("from_")
    if clause is None or not isinstance(clause.this, exp.Subquery):
        return None
    inner, alias = clause.this.this, clause.this.args.get("alias")
    select.set("from_", exp.From(this=exp.Table(this=alias.this)) if alias is not None else None)
    return inner if isinstance(inner, exp.Select) else None


def value_name(text: str, columns: Columns) -> str:
    """The text of a column, or of a value computed from columns: the key under which bounds are declared.

    >>> value_name("Price*amount", {"price": "float", "amount": "integer"})
    'price * amount'
    """
    return _value(text, columns).column


def read_value(text: str, columns: Columns) -> Operand:
    """The value that `value_name` names, as numbers."""
    value = _value(text, columns)
    if value.kind == "untyped":
        as_kind(value, "float")
    if value.kind not in NUMERIC:
        raise DuotoneError(f"{value.column} does not hold numbers: give bounds for a column that does")
    return value


def _value(text: str, columns: Columns) -> Operand:
    if text in columns:
        return Operand(text, columns[text])
    select = parse(text, columns)
    if len(select.expressions) != 1 or any(value for name, value in select.args.items() if name != "expressions"):
        raise DuotoneError(f"bounds are for a column or for a value computed from columns, got {text}")
    for column in select.find_all(exp.Column):
        if (name := f"{column.table}.{column.name}") in columns:  # a public table's column with the same name as another
            column.replace(exp.column(name, quoted=True))
    return read_operand(select.expressions[0], columns)


def _percent_notes(select: exp.Select, percents: Collection[str], written: Sequence[Notice]) -> Iterator[Notice]:
    """Notices: one for each limit above 1 of a column of per cent, whose values are shares, unless it was written with %."""
    columns = {column.lower(): column for column in percents}
    shares = {Fraction(note.fields["share"]) for note in written if note.code == "percent"}
    for node in select.find_all(exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ, exp.Between, exp.In) if columns else ():
        named = [side for name in ("this", "expression", "low", "high") if (side := node.args.get(name)) is not None]
        sides = [*named, *node.expressions]
        limits = [value for side in sides if isinstance(value := constant(side), Fraction) and abs(value) > 1]
        for column in {columns[name] for side in sides if (name := _measured(side)) in columns}:
            for limit in limits:
                if limit not in shares:
                    yield Notice("percent beyond", column=column, limit=f"{float(limit):g}", whole=f"{float(100 * limit):,g}")


def _measured(side: exp.Expression) -> str:
    """The column of which a side is the value, or an average, a quantile, the least or the largest one; else nothing."""
    while isinstance(side, exp.Paren | exp.Filter | exp.WithinGroup | exp.Ordered | exp.Order | exp.AggFunc):
        if isinstance(side, exp.Count | exp.CountIf | exp.Sum):
            return ""
        if isinstance(side, exp.WithinGroup):
            side = side.expression
        side = side.expressions[0] if isinstance(side, exp.Order) else side.this
    return side.name.lower() if isinstance(side, exp.Column) else ""


def _text_notes(asked: ParsedQuestion) -> list[Notice]:
    """Notices: one for each kind that the question's casts read from text."""
    rows = [asked.people or (asked.where, asked.tree, asked.keys), *(other.people for other in asked.beside)]
    operands = [part for part in parts_of((tuple(rows), asked.tree)) if isinstance(part, Operand)]
    tried = [o for o in operands if o.reading == "try" or (o.made is not None and from_text(o.made))]
    read = {kind: tuple(dict.fromkeys(o.column for o in tried if o.kind == kind)) for kind in READ_AS}
    numbers, dates, flags = read.values()
    notes = [
        Notice("numbers from text", columns=numbers),
        Notice("dates from text", columns=dates),
        Notice("Booleans from text", columns=flags),
    ]
    return [note for note in notes if note.fields["columns"]]


READ_AS: tuple[Kind, ...] = ("float", "date", "boolean")


Keys = tuple[Operand, ...]


def _answers_of(select: exp.Select, keys: Keys, columns: Columns) -> list[exp.Expression]:
    """The selected expressions besides the keys."""
    by = {key.column for key in keys}
    selected = [e.unalias().unnest() for e in select.expressions]
    return [e for e in selected if e.find(exp.AggFunc) is not None or _name(e, columns) not in by]


def _labels_of(select: exp.Select, keys: Keys, columns: Columns) -> tuple[str, ...]:
    """The question's names for its keys."""
    aliases = [e for e in select.expressions if isinstance(e, exp.Alias) and e.find(exp.AggFunc) is None]
    called = {_name(e.this.unnest(), columns): e.alias for e in aliases}
    return tuple(called.get(key.column, key.column) for key in keys)


def _name(node: exp.Expression, columns: Columns) -> str:
    """A column's name, or a computed value's text."""
    return column_name(node, columns) if isinstance(node, exp.Column) else written(node, columns)


def _without_order(select: exp.Select) -> tuple[Notice, ...]:
    """Leave out order by, so that the question is the same with and without it, and note that."""
    if select.args.get("order") is None:
        return ()
    select.set("order", None)
    return (Notice("order by left out"),)


def _without_having(select: exp.Select, keys: Keys, columns: Columns) -> tuple[Notice, ...]:
    """`select k … group by k having E` as the question E by group, `select k, E … group by k`."""
    having = select.args.get("having")
    if having is None:
        return ()
    if not keys:
        raise DuotoneError("having is about groups: add group by, or put the yes/no expression after select")
    if _answers_of(select, keys, columns):
        raise DuotoneError("a question has one yes/no expression: put it after select or after having, not both")
    select.set("having", None)
    select.append("expressions", having.this)
    return (Notice("having is an answer"),)


def _read_keys(select: exp.Select, columns: Columns) -> Keys:
    """The keys: columns, and values computed from a row."""
    keys = (_key(key, columns) for key in group_keys(select, columns))
    return tuple({key.column: key for key in keys}.values())


def _key(node: exp.Expression, columns: Columns) -> Operand:
    """Values that are equal exactly when they look so."""
    if isinstance(node, exp.Column):
        name = column_name(node, columns)
        return Operand(name, columns[name])
    key = as_whole(replace(read_operand(node, columns), column=written(node, columns)))
    if key.made is None:
        raise DuotoneError(f"group by {key.column}: it may be another value than the column's own; group by the column itself")
    if key.kind == "time":
        raise DuotoneError(f"group by {key.column}: it is a time; make it a date, as in ({key.column})::date")
    if key.kind not in ("integer", "text", "boolean", "date"):
        raise DuotoneError(
            f"group by {key.column}: group by text, whole numbers, Booleans or dates; make "
            "whole numbers of others, as in floor(x / 10)"
        )
    return key
