"""Questions from SQL: one Boolean expression over aggregates, or a select with one."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.questions.threshold import CROWD
from duotone.tables.sql.build_comparison import compared, ranked
from duotone.tables.sql.comparison import BoolOp, LinearThreshold, ModeIs, Negation, ParsedQuestion, Term, Tree
from duotone.tables.sql.condition import ALWAYS, Compare, Condition, IsNull, Kind, Not, Operand, both
from duotone.tables.sql.formula import as_whole
from duotone.tables.sql.group_keys import group_keys
from duotone.tables.sql.normal_form import normal_text
from duotone.tables.sql.read_aggregate import RANKED, Aggregates, bare
from duotone.tables.sql.read_condition import (
    MIRRORED,
    NUMERIC,
    SIGNS,
    column_name,
    compare,
    constant,
    joined_parts,
    read_condition,
    read_operand,
    written,
)
from duotone.tables.sql.read_joins import PublicJoin, join_tables
from duotone.tables.sql.read_people import PRESENT, read_people
from duotone.tables.sql.read_together import TOGETHER, join_people, refuse_bare, selects_unit
from duotone.tables.sql.syntax import parse
from duotone.tables.sql.table_names import among, names_of
from duotone.tables.sql.text_notes import text_notes

Columns = Mapping[str, Kind]
NO_TABLES: Mapping[str, Columns] = {}


def read_question(
    text: str,
    columns: Columns,
    unit: str | None = None,
    name: str | None = None,
    public: Mapping[str, Columns] = NO_TABLES,
    also: Mapping[str, Columns] = NO_TABLES,
) -> ParsedQuestion:
    """Parse a question, or say what is wrong with it; `name` is the table's, None where it has none. `public` are the columns
    of the public tables that it may join, `also` those of further private tables.

    >>> read_question("count(*) > 5", {"x": "integer"}).tree
    LinearThreshold(terms=(Term(weight=Fraction(1, 1), value=None, where=Joined(rule='and', parts=())),), \
limit=Fraction(5, 1), strict=True, present=None, people=False)
    """
    if name is not None and any(among([exp.to_identifier(other)], names_of(name)) for other in also):
        raise DuotoneError(f"a further private table has the name of the table that is asked about, {name}: call it otherwise")
    try:
        asked = _read(parse(text), columns, unit, name, public, also)
        return replace(asked, notes=(*asked.notes, *text_notes(asked)))
    except RecursionError:
        raise DuotoneError("the question is nested too deeply") from None


def _read(
    select: exp.Select,
    columns: Columns,
    unit: str | None,
    name: str | None,
    public: Mapping[str, Columns],
    also: Mapping[str, Columns],
    there: Condition = ALWAYS,
) -> ParsedQuestion:
    """A question about the rows that are `there`."""
    inner, clauses = _inner(select), select.args.get("joins") or []
    refuse_bare(inner or select, also, public if name is None else NO_TABLES)
    if inner is None:
        columns, joined, joins = join_tables(select, columns, name, public)
        outer = _about_rows(select, columns, unit, [joined] * bool(joins) + [there] * (there != ALWAYS))
        return replace(outer, joins=joins, notes=(*_public_notes(joins), *outer.notes))
    if any(isinstance(clause.this, exp.Subquery) for clause in clauses):
        return _together(select, inner, columns, unit, name, public, also)
    if clauses:
        raise DuotoneError("a public table is joined inside the inner select, where rows are still the table's")
    people = read_people(inner, columns, unit, name, public)
    outer = _read(select, people.kinds, None, None, NO_TABLES, NO_TABLES, HERE)
    notes = (*_public_notes(people.joins), *outer.notes)
    return replace(outer, normal=f"{outer.normal} FROM ({people.normal})", people=people, joins=people.joins, notes=notes)


def _together(
    select: exp.Select,
    inner: exp.Select,
    columns: Columns,
    unit: str | None,
    name: str | None,
    public: Mapping[str, Columns],
    also: Mapping[str, Columns],
) -> ParsedQuestion:
    """A question about the people of several private tables."""
    if unit is None:
        raise DuotoneError(f"{TOGETHER}: name the unit")
    people = read_people(inner, columns, unit, name, public)
    selects_unit(inner, unit, columns)
    kinds, joined, beside = join_people(select, people, {unit: columns[unit]}, public, also)
    outer = _about_rows(select, kinds, None, [joined, HERE])
    normal, joins = f"{outer.normal} FROM ({people.normal})", [*people.joins]
    for other in beside:
        table, label = (exp.to_identifier(called, quoted=True).sql() for called in (other.table, other.join.label))
        normal += f" {'LEFT ' * other.join.left}JOIN ({other.people.normal} FROM {table}) AS {label}"
        joins += other.people.joins
    tables = list(dict.fromkeys(other.table for other in beside))
    said = f"{' and '.join(tables)} {'is' if len(tables) == 1 else 'are'} private, too"
    notes = (f"{said}: neighbours differ in all rows of one person, in all tables", *_public_notes(joins), *outer.notes)
    return replace(outer, normal=normal, people=people, joins=people.joins, beside=beside, notes=notes)


def _about_rows(select: exp.Select, columns: Columns, unit: str | None, there: Sequence[Condition]) -> ParsedQuestion:
    """A question about a table with these columns, of which the rows for which all of `there` holds are asked about."""
    where = select.args.get("where")
    rows = read_condition(where.this, columns) if where is not None else ALWAYS
    for condition in there:
        rows = both(condition, rows)
    keys = _keys(select, columns)
    notes = (*_without_order(select), *_without_having(select, keys, columns))
    answers = _answers(select, keys, columns)
    labels = _labels(select, keys, columns)
    if len(answers) != 1:
        raise DuotoneError("a question has exactly one yes/no expression, besides the columns that it is grouped by")
    reader = _Reader(columns, rows, unit)
    tree = reader.tree(answers[0])
    for node in select.find_all(exp.Expression):
        node.comments = None
    normal = normal_text(select)
    by, made = tuple(key.column for key in keys), tuple(key for key in keys if key.made is not None)
    return ParsedQuestion(tree, by, rows, normal, keys=made, equalities=tuple(reader.equalities), notes=notes, labels=labels)


def _public_notes(joins: Iterable[PublicJoin]) -> tuple[str, ...]:
    return tuple(f"{table} is public: its rows are not protected" for table in dict.fromkeys(join.table for join in joins))


Keys = tuple[Operand, ...]


def _answers(select: exp.Select, keys: Keys, columns: Columns) -> list[exp.Expression]:
    """What is selected besides that which the question is grouped by."""
    by = {key.column for key in keys}
    selected = [e.unalias().unnest() for e in select.expressions]
    return [e for e in selected if e.find(exp.AggFunc) is not None or _name(e, columns) not in by]


def _labels(select: exp.Select, keys: Keys, columns: Columns) -> tuple[str, ...]:
    """What the question calls that which it is grouped by."""
    aliases = [e for e in select.expressions if isinstance(e, exp.Alias) and e.find(exp.AggFunc) is None]
    called = {_name(e.this.unnest(), columns): e.alias for e in aliases}
    return tuple(called.get(key.column, key.column) for key in keys)


def _name(node: exp.Expression, columns: Columns) -> str:
    """What a column is called, or how a computed value is written."""
    return column_name(node, columns) if isinstance(node, exp.Column) else written(node, columns)


def _without_order(select: exp.Select) -> tuple[str, ...]:
    """Leave out order by, so that the question is the same with it and without, and say so."""
    if select.args.get("order") is None:
        return ()
    select.set("order", None)
    return ("order by does not matter in a set of answers: it is left out",)


def _without_having(select: exp.Select, keys: Keys, columns: Columns) -> tuple[str, ...]:
    """`select k … group by k having E` as the question E by group, `select k, E … group by k`."""
    having = select.args.get("having")
    if having is None:
        return ()
    if not keys:
        raise DuotoneError("having is about groups: add group by, or put the yes/no expression after select")
    if _answers(select, keys, columns):
        raise DuotoneError("a question has one yes/no expression: put it after select or after having, not both")
    select.set("having", None)
    select.append("expressions", having.this)
    return ("having does not leave groups out: each group that is shown has its answer, yes or no",)


HERE = Compare(Operand(PRESENT, "integer"), ">", Fraction(0))
"""Of one row per person: a person without a row in the inner select's where is not there."""


def _inner(select: exp.Select) -> exp.Select | None:
    """The inner select, which is taken out: the outer one is then about a table of that name, or of none."""
    clause = select.args.get("from_")
    if clause is None or not isinstance(clause.this, exp.Subquery):
        return None
    inner, alias = clause.this.this, clause.this.args.get("alias")
    select.set("from_", exp.From(this=exp.Table(this=alias.this)) if alias is not None else None)
    return inner if isinstance(inner, exp.Select) else None


def value_name(text: str, columns: Columns) -> str:
    """How a question writes a column, or a value computed from columns: what its bounds are declared for.

    >>> value_name("Price*amount", {"price": "float", "amount": "integer"})
    'price * amount'
    """
    return text if text in columns else _computed(text, columns).column


def read_value(text: str, columns: Columns) -> Operand:
    """What `value_name` names, as numbers."""
    value = Operand(text, columns[text]) if text in columns else _computed(text, columns)
    if value.kind not in NUMERIC:
        raise DuotoneError(f"{value.column} does not hold numbers: give bounds for a column that does")
    return replace(value, kind="float", reading="try") if value.kind == "untyped" else value


def _computed(text: str, columns: Columns) -> Operand:
    select = parse(text)
    if len(select.expressions) != 1 or any(value for name, value in select.args.items() if name != "expressions"):
        raise DuotoneError(f"bounds are for a column or for a value computed from columns, got {text}")
    for column in select.find_all(exp.Column):
        if (name := f"{column.table}.{column.name}") in columns:  # a public table's column that has the name of another
            column.replace(exp.column(name, quoted=True))
    return read_operand(select.expressions[0], columns)


def _keys(select: exp.Select, columns: Columns) -> Keys:
    """What a question is grouped by: columns, and values computed from a row."""
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
            f"group by {key.column}: group by text, whole numbers, Booleans or dates; of other numbers "
            "make such, as in floor(x / 10)"
        )
    return key


class _Reader:
    """Reads yes/no expressions over aggregates, all within the same rows."""

    def __init__(self, columns: Columns, rows: Condition, unit: str | None) -> None:
        self.columns, self.read = columns, Aggregates(columns, rows, unit)
        self.equalities: list[str] = []

    def tree(self, node: exp.Expression) -> Tree:
        match node:
            case exp.Paren():
                return self.tree(node.this)
            case exp.And() | exp.Or():
                rule: Literal["and", "or"] = "and" if isinstance(node, exp.And) else "or"
                return BoolOp(rule, tuple(self.tree(part) for part in joined_parts(node)))
            case exp.Not():
                return Negation(self.tree(node.this))
            case exp.LogicalOr() | exp.LogicalAnd() | exp.Filter() if isinstance(bare(node), exp.LogicalOr | exp.LogicalAnd):
                return self.any_or_all(node)
            case exp.Between():
                low, high = (
                    exp.GTE(this=node.this, expression=node.args["low"]),
                    exp.LTE(this=node.this, expression=node.args["high"]),
                )
                return BoolOp("and", (self.tree(low), self.tree(high)))
            case exp.In() if isinstance(bare(node.this), exp.Mode) and node.expressions:
                return BoolOp("or", tuple(self.tree(exp.EQ(this=node.this, expression=e)) for e in node.expressions))
        if type(node) not in SIGNS:
            raise DuotoneError(f"{node.sql(dialect='duckdb')} is not a yes/no question: compare an aggregate with something")
        return self.comparison(node)

    def any_or_all(self, node: exp.Expression) -> Tree:
        """Whether somebody has such a row; and nobody one that is otherwise."""
        inner, where = self.read.filtered(node)
        condition = read_condition(inner.this, self.columns)
        terms = [Term(Fraction(1), None, both(where, condition))]
        if isinstance(inner, exp.LogicalAnd):
            terms.append(Term(Fraction(-CROWD), None, both(where, Not(condition))))
        return LinearThreshold(tuple(terms), Fraction(0), strict=True, people=self.read.unit is not None)

    def comparison(self, node: exp.Expression) -> Tree:
        sign, text = SIGNS[type(node)], node.sql(dialect="duckdb")
        if isinstance(bare(node.expression), exp.Mode):
            node, sign = type(node)(this=node.expression, expression=node.this), MIRRORED[sign]
        if isinstance(bare(node.this), exp.Mode):
            return self.winner(node, sign, text)
        if isinstance(constant(node.this), str | datetime.date):
            node, sign = type(node)(this=node.expression, expression=node.this), MIRRORED[sign]
        fixed = constant(node.expression)
        if isinstance(fixed, str | datetime.date) and isinstance(bare(node.this), RANKED) and sign not in ("=", "<>"):
            return ranked(self.read.aggregate(node.this), sign, fixed, text)
        for absolute, other, way in ((node.this, node.expression, sign), (node.expression, node.this, MIRRORED[sign])):
            if isinstance(absolute, exp.Abs):
                return self.apart(absolute, way, other, text)
        left, right = self.read.expression(node.this), self.read.expression(node.expression)
        tree = compared(left, sign, right, text, alone=self.read.unit is None)
        equal = tree.part if isinstance(tree, Negation) else tree
        if sign in ("=", "<>") and isinstance(equal, BoolOp) and isinstance(equal.parts[0], LinearThreshold):
            end = "no" if sign == "=" else "yes"
            self.equalities.append(f"{node.sql(dialect='duckdb', comments=False)} is never more than one person from {end}")
        return tree

    def apart(self, node: exp.Abs, sign: str, other: exp.Expression, text: str) -> Tree:
        """|x| > t is x > t or x < -t; |x| < t is both x < t and x > -t."""
        limit = constant(other)
        if not isinstance(limit, Fraction) or sign in ("=", "<>"):
            raise DuotoneError(f"{text}: compare an absolute value with a number, by <, <=, > or >=")
        inside = self.read.expression(node.this)
        alone = self.read.unit is None
        parts = tuple(compared(inside, s, t, text, alone=alone) for s, t in ((sign, limit), (MIRRORED[sign], -limit)))
        return BoolOp("or" if sign in (">", ">=") else "and", parts)

    def winner(self, node: exp.Expression, sign: str, text: str) -> Tree:
        fixed = constant(node.expression)
        if sign not in ("=", "<>") or fixed is None:
            raise DuotoneError(f"{text}: write mode(x) = 'a' or mode(x) <> 'a', with the value that may win")
        inner, where = self.read.filtered(node.this)
        test = compare(read_operand(inner.this, self.columns), "=", fixed, text)
        chosen = ModeIs(test.operand, where, test.constant)
        if sign == "=":
            return chosen
        somebody = LinearThreshold((Term(Fraction(1), None, both(where, Not(IsNull(test.operand)))),), Fraction(0), strict=True)
        return BoolOp("and", (Negation(chosen), somebody))  # of nobody there is no mode to differ
