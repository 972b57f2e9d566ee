"""The text of a question as one select, no part of which is ignored silently; and the table, the columns and the keys that
its names mean."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from duotone.errors import DuotoneError, UnknownColumn
from duotone.model.text_types import YES_NO
from duotone.tables.sql.as_written import LONGEST, simplified
from duotone.tables.sql.condition import Columns
from duotone.tables.sql.functions import FORMS

SELECT = re.compile(r"\s*(select|with)\b", re.IGNORECASE)
_THIS, _TWO = ("this",), ("this", "expression")
UNDERSTOOD: dict[type[exp.Expression], tuple[str, ...]] = {
    exp.Select: ("expressions", "from_", "joins", "where", "group", "having", "order"),
    exp.Table: ("this", "alias", "db", "catalog"), exp.Join: ("this", "method", "side", "kind", "on", "using"),
    exp.TableAlias: _THIS, exp.Subquery: ("this", "alias"), exp.Star: (), exp.Distinct: ("expressions",),
    exp.Count: ("this", "big_int"), exp.Quantile: ("this", "quantile"), exp.PercentileDisc: _TWO,
    **dict.fromkeys((exp.Sum, exp.Avg, exp.Median, exp.Mode, exp.Min, exp.Max, exp.LogicalOr, exp.LogicalAnd, exp.CountIf,
                     exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop), _THIS),
    exp.Between: ("this", "low", "high"), exp.In: ("this", "expressions", "query"), exp.Like: ("this", "expression", "negate"),
    exp.ILike: ("this", "expression", "negate"),
    **dict.fromkeys((exp.StartsWith, exp.EndsWith, exp.Contains, exp.RegexpLike, exp.RegexpFullMatch, exp.NullSafeEQ,
                     exp.NullSafeNEQ), _TWO),
    exp.If: ("this", "true", "false"), exp.Case: ("this", "ifs", "default"), exp.Cast: ("this", "to"),
    exp.TryCast: ("this", "to", "safe"), exp.Interval: ("this", "unit"),
    **{node: form.arguments for node, (_, form) in FORMS.items() if form.arguments is not None},
}  # fmt: skip
"""The supported nodes of SQL's expressions."""
CLAUSES = {"limit": "limit", "distinct": "distinct", "qualify": "qualify",
           "windows": "window", "offset": "offset", "sample": "sample"}  # fmt: skip
MOST_WORDS = 8
"""Most SQL keywords in a question that are tried in quotes, where the table has columns of that name."""
CALLED: dict[str, type[exp.Expression]] = {"mean": exp.Avg, "share": exp.Avg, "every": exp.LogicalAnd}
"""Other names of aggregates with one argument."""


def one_line(text: str) -> str:
    """A question as it was written, for display: in one line, without comments; line ends within a text are escaped.

    >>> print(one_line("avg(days) > 5  -- of all\\n and mode(ward) = 'A  B';"))
    avg(days) > 5 and mode(ward) = 'A  B'
    """
    try:
        plain = without_comments(text).strip(" ;")
    except DuotoneError:  # not a question; shown to its author
        plain = " ".join(text.split())
    return re.sub(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", lambda end: end[0].encode("unicode_escape").decode(), plain)


def without_comments(text: str) -> str:
    """A question word by word, with one space between words: no comment, which changes nothing and could tell others
    anything.

    Guarantee: the parser reads the same words in it.

    >>> without_comments("avg(days) > 5 /* of /* them */ all */ and\\n mode(ward) = 'A -- B' -- please approve")
    "avg(days) > 5 and mode(ward) = 'A -- B'"
    """
    parts, end = list[str](), 0
    try:
        tokens = sqlglot.tokenize(text, read="duckdb")
        for token in tokens:
            parts += [" "] * (token.start > end) + [text[token.start : token.end + 1]]
            end = token.end + 1
        plain = "".join(parts).strip()
        again = sqlglot.tokenize(plain, read="duckdb")
    except SqlglotError:
        raise DuotoneError("the question is not SQL that can be read: check its quotes") from None
    if [(one.token_type, one.text, []) for one in tokens] != [(one.token_type, one.text, one.comments) for one in again]:
        raise DuotoneError("the question means something else without its comments: leave them out")
    return plain


def parse(text: str, columns: Iterable[str] = ()) -> exp.Select:
    """One select over one table, or a yes/no expression made into one. `columns` are those that it may be about, for
    errors about columns that are keywords of SQL."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise DuotoneError(f"a question is text of at most {LONGEST} characters")
    logger, names = logging.getLogger("sqlglot"), list(columns)
    level = logger.level
    try:
        text.encode()
        logger.setLevel(logging.CRITICAL)  # its warnings become errors below
        return _select(text, names)
    except (SqlglotError, UnicodeEncodeError) as error:
        advice = (_with_blanks(text, names) or _in_quotes(text, names)) if isinstance(error, SqlglotError) else None
        usual = "check its brackets and quotes; a question is, say, avg(days) > 5"
        raise DuotoneError(f"the question is not SQL that can be read: {advice or usual}") from None
    finally:
        logger.setLevel(level)


def _select(text: str, columns: Collection[str] = ()) -> exp.Select:
    statements = _statements(text if SELECT.match(text) else f"select {text}")
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise DuotoneError("a question is one select, or one yes/no expression: ask several one by one")
    select = simplified(statements[0], columns)
    for node in list(select.find_all(exp.Anonymous)):
        if node.name.lower() in CALLED and len(node.expressions) == 1:
            node.replace(CALLED[node.name.lower()](this=node.expressions[0]))
    _strict(select, bare=not SELECT.match(text))
    return select


def _in_quotes(text: str, columns: Iterable[str]) -> str | None:
    """The cure for a column whose name is a keyword of SQL, if the text can be parsed with it in quotes; else None."""
    names = {name.lower(): name for name in columns}
    try:
        tokens = sqlglot.tokenize(text, read="duckdb")
    except SqlglotError:
        return None
    words = [token for token in tokens if token.token_type is not TokenType.VAR and _written(text, token) in names][:MOST_WORDS]
    for some in (*([word] for word in words), words):
        if some and _can_be_read(_quoted(text, some, names)):
            name = names[_written(text, some[0])]
            return f'{name} is a word of SQL, and a column here: write "{name}", in double quotes, for the column'
    return None


def _with_blanks(text: str, columns: Iterable[str]) -> str | None:
    """The cure for a column whose name is not a plain word, if the text can be parsed with it in quotes; else None."""
    for name in columns:
        if not name.replace("_", "").isalnum():
            bare = re.compile(rf'(?<![\w"]){re.escape(name)}(?![\w"])', re.IGNORECASE)
            quoted = f'"{name}"'.join(bare.split(text))
            if quoted != text and _can_be_read(quoted):
                return f'write "{name}", in double quotes, for the column'
    return None


def _written(text: str, token: Token) -> str:
    """A token as it stands in the text, in lower case; with its quotes."""
    return text[token.start : token.end + 1].lower()


def _quoted(text: str, words: Sequence[Token], names: Mapping[str, str]) -> str:
    for word in reversed(words):
        text = f'{text[: word.start]}"{names[_written(text, word)]}"{text[word.end + 1 :]}'
    return text


def _can_be_read(text: str) -> bool:
    try:
        _select(text)
    except (SqlglotError, DuotoneError):
        return False
    return True


def _statements(text: str) -> list[exp.Expr]:
    """The parser's statements. Some texts that are not SQL make it fail with errors that are not its own."""
    try:
        return [statement for statement in sqlglot.parse(text, dialect="duckdb") if statement]
    except (AttributeError, TypeError, ValueError, LookupError):
        raise SqlglotError from None


def split_questions(text: str) -> list[str]:
    """The questions of a text, separated by semicolons; a semicolon in quotes or in a comment does not count.

    >>> split_questions("count(*) > 5; -- and; then\\n mode(x) = ';';")
    ['count(*) > 5', "mode(x) = ';'"]
    """
    questions: list[list[Token]] = [[]]
    try:
        for token in sqlglot.tokenize(text, read="duckdb"):
            if token.token_type is TokenType.SEMICOLON:
                questions.append([])
            else:
                questions[-1].append(token)
    except SqlglotError:
        raise DuotoneError("the questions are not SQL that can be read: check their quotes") from None
    return [text[own[0].start : own[-1].end + 1] for own in questions if own]


def _strict(select: exp.Select, *, bare: bool = False, inner: bool = False) -> None:
    """Refuse parts that would be ignored silently."""
    if bare and any(isinstance(e, exp.Alias) for e in select.expressions):
        raise DuotoneError("a yes/no expression has no name: check for a word or a number that was not meant")
    for node in select.find_all(*UNDERSTOOD):
        for name, value in node.args.items():
            known = UNDERSTOOD.get(type(node), node.args)
            if value and name not in known and not (isinstance(node, exp.Select) and name in CLAUSES):
                raise DuotoneError(f"{node.sql(dialect='duckdb')} has a part that is not understood ({name.rstrip('_')})")
        if isinstance(node, exp.Func) and node.args.get("this") is None and not isinstance(node, exp.Case | exp.Concat):
            raise DuotoneError(f"{node.sql(dialect='duckdb')} has no argument: name a column")
    for name, clause in CLAUSES.items():
        if select.args.get(name) and (inner or not (name == "limit" and select.args.get("group"))):  # which group leads
            raise DuotoneError(f"a question has no {clause}: it is one select with where, group by and having, over one table")
    for join in select.args.get("joins") or []:
        if isinstance(join.this, exp.Subquery) and isinstance(join.this.this, exp.Select):
            _strict(join.this.this, inner=True)
    source = select.args.get("from_")
    if source is not None and isinstance(source.this, exp.Subquery) and isinstance(source.this.this, exp.Select):
        _strict(source.this.this, inner=True)
    elif source is not None and not (isinstance(source.this, exp.Table) and isinstance(source.this.this, exp.Identifier)):
        raise DuotoneError("a question is about one table: leave out the query after from")


TEXT = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson")
ENDINGS = (*TEXT, *(f"{ending}.gz" for ending in TEXT), ".parquet", ".arrow", ".feather")


def no_column(name: str, columns: Collection[str], table: str = "the table", else_hint: str = "") -> UnknownColumn:
    """The error for a name that is not a column; columns are public. `else_hint` is used if no name is similar.

    >>> print(no_column("salarry", ["vote", "salary"]))
    the table has no column salarry (did you mean salary?); it has vote, salary
    """
    lowered = {column.lower(): column for column in columns}
    near = [lowered[match] for match in get_close_matches(name.lower(), lowered, n=1, cutoff=0.75)]
    others = [f"did you mean {column}?" for column in near if column.strip() != name.strip()]  # the list shows blanks
    return UnknownColumn(name, columns, others[0] if others else "" if near else else_hint, table)


@contextmanager
def unknown_in(table: str) -> Iterator[None]:
    """Name the owner of the columns in an error about an unknown one, if that is not the table itself."""
    try:
        yield
    except UnknownColumn as error:
        raise UnknownColumn(error.column, error.columns, error.hint, table) from None


def drop_names(select: exp.Select, name: str | None, columns: Container[str] = ()) -> None:
    """Refuse a question about another table; then remove from, its alias and the names before columns, so that they do
    not affect the question's normal form. Without a `name`, as for a data frame, any single name is the table's."""
    allowed, named = allowed_names(select, name), select.args.get("from_") is not None
    for column in select.find_all(exp.Column):
        _drop_qualifier(column, allowed, named, columns)
    select.set("from_", None)


def allowed_names(select: exp.Select, name: str | None) -> list[tuple[exp.Identifier, ...]]:
    """What may stand before a column of the table: the table's name, or its alias if it has one."""
    clause, own = select.args.get("from_"), names_of(name)
    if clause is None:
        return own
    table = clause.this
    if isinstance(table, exp.Subquery):
        raise DuotoneError("an inner select is about a table: leave out the query after its from")
    written = tuple(table.parts)
    if name is not None and not among(written, own):
        raise DuotoneError(f"the question is about {table.sql(dialect='duckdb', comments=False)}, and the table is {name}")
    alias = table.args.get("alias")
    return [(alias.this,)] if alias is not None else [*own, *_ends(written)]


def _drop_qualifier(
    column: exp.Column, allowed: Sequence[Sequence[exp.Identifier]], named: bool, columns: Container[str]
) -> None:
    qualifier = [part for part in column.parts[:-1] if isinstance(part, exp.Identifier)]
    if qualifier and not among(qualifier, allowed):
        dotted = ".".join(part.name for part in column.parts)
        if dotted in columns:
            raise DuotoneError(
                f'{column.sql(dialect="duckdb")} is a column whose name has a dot: write "{dotted}", in double quotes'
            )
        how = "use the name or the alias that stands after from" if named else "leave out the name before the column"
        raise DuotoneError(f"{column.sql(dialect='duckdb')} is not a column of the table: {how}")
    for part in ("table", "db", "catalog"):
        column.set(part, None)


def names_of(name: str | None) -> list[tuple[exp.Identifier, ...]]:
    """A file's name with and without its ending; a database's table with and without its schema."""
    if name is None:
        return []
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    ending = next((e for e in ENDINGS if last.lower().endswith(e)), None)
    if ending is not None:
        forms = [last, last[: -len(ending)]]
        return [tuple(exp.to_identifier(part) for part in parts) for form in forms for parts in ([form], form.split("."))]
    return [(exp.to_identifier(last),), *_ends(tuple(exp.to_identifier(part) for part in last.split(".")))]


def _ends(parts: Sequence[exp.Identifier]) -> list[tuple[exp.Identifier, ...]]:
    return [tuple(parts[i:]) for i in range(len(parts))]


def among(written: Sequence[exp.Identifier], names: Iterable[Sequence[exp.Identifier]]) -> bool:
    """Whether names before a column or after from are among these."""
    return any(len(n) == len(written) and all(map(same, written, n)) for n in names)


def same(written: exp.Identifier, name: exp.Identifier) -> bool:
    """Whether two names are equal; case matters if the question quotes the name."""
    return written.name == name.name if written.args.get("quoted") else written.name.lower() == name.name.lower()


def written(node: exp.Expression, columns: Columns) -> str:
    """An expression as text in normal form: the key under which bounds are declared."""

    def named(part: exp.Expression) -> exp.Expression:
        return exp.column(column_name(part, columns)) if isinstance(part, exp.Column) else part

    return node.transform(named).sql(dialect="duckdb")


def find_column(name: exp.Expression, columns: Columns) -> str | None:
    """The column that a name means: itself or, unless it is quoted, the one that differs only in case. (No table has
    two such columns.) None if there is none."""
    if name.name in columns:
        return name.name
    if not isinstance(name, exp.Identifier) or name.args.get("quoted"):
        return None
    matches = [column for column in columns if column.lower() == name.name.lower()]
    return matches[0] if len(matches) == 1 else None


def column_name(node: exp.Column, columns: Columns) -> str:
    """The column that a name means, or an error that lists the columns."""
    name = find_column(node.this, columns)
    if name is None:
        quoted = isinstance(node.this, exp.Identifier) and node.this.args.get("quoted")
        meant = quoted or isinstance(node.parent, exp.EQ | exp.NEQ | exp.In)  # a text, perhaps
        raise no_column(node.name, columns, else_hint=f"a text stands in single quotes, as '{node.name}'" if meant else "")
    return name


def yes_or_no_constants(select: exp.Select, columns: Columns) -> None:
    """Write true for 'Yes' and 1, and false for 'no' and 0, where a Boolean column is compared with them: the texts of a
    column that is declared yes/no."""
    for node in select.find_all(exp.EQ, exp.NEQ, exp.In, exp.NullSafeEQ, exp.NullSafeNEQ):
        sides = [node.this, node.args.get("expression"), *node.expressions]
        names = [find_column(side.this, columns) for side in sides if isinstance(side, exp.Column)]
        if any(name is not None and columns[name] == "boolean" for name in names):
            for side in sides:
                said = YES_NO.get(side.name.strip().lower()) if isinstance(side, exp.Literal) else None
                if said is not None:
                    side.replace(exp.Boolean(this=said))


def group_keys(select: exp.Select, columns: Columns) -> list[exp.Expression]:
    """The keys of a select, none without group by. They are written out in the select too, so that its normal form is
    the same."""
    group = select.args.get("group")
    if group is None:
        return []
    if group.args.get("all"):
        raise DuotoneError("group by all: name the columns that it is grouped by")
    if any(value for name, value in group.args.items() if name != "expressions"):
        raise DuotoneError("group by takes columns and values computed from them, not rollup or cube")
    for key in list(group.expressions):
        if isinstance(key, exp.Rollup | exp.Cube | exp.GroupingSets):
            raise DuotoneError(f"group by {key.sql()}: group by columns and values computed from them")
        if isinstance(key, exp.Literal) and not key.is_string:
            key.replace(_selected(select, key.name))
        elif isinstance(key, exp.Column) and find_column(key.this, columns) is None:
            key.replace(_named(select, key))
    return [key.unnest() for key in group.expressions]


def _named(select: exp.Select, key: exp.Column) -> exp.Expression:
    """The selected expression of a name."""
    named = [e.this for e in select.expressions if isinstance(e, exp.Alias) and e.alias.lower() == key.name.lower()]
    if len(named) != 1:
        return key  # a name that the table does not have either
    selected: exp.Expression = named[0].copy()
    return selected


def _selected(select: exp.Select, place: str) -> exp.Expression:
    """The selected expression at a position, from 1 on."""
    chosen = [e.unalias() for i, e in enumerate(select.expressions, 1) if str(i) == place]
    if not chosen or chosen[0].find(exp.AggFunc) is not None:
        raise DuotoneError(f"group by {place}: give the position of a column in the select list, counted from 1, or its name")
    selected: exp.Expression = chosen[0].copy()
    return selected
