"""The text of a question as one select, nothing of which is passed over in silence; and its normal form, as ledgers know it."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from duotone.errors import DuotoneError
from duotone.tables.sql.functions import FORMS

LONGEST = 10_000
"""Characters of a question, at most."""
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
"""The parts of SQL's expressions that are read."""
CLAUSES = {"limit": "limit", "distinct": "distinct", "with_": "with", "qualify": "qualify",
           "windows": "window", "offset": "offset", "sample": "sample"}  # fmt: skip
INSTEAD = {"with": "to make one row of each person first, put that select after from, as in from (select … group by u)"}
MOST_WORDS = 8
"""Words of SQL in a question that are tried in quotes, where the table has columns so called."""
CALLED: dict[str, type[exp.Expression]] = {"mean": exp.Avg, "every": exp.LogicalAnd}
"""Other names of aggregates, of one argument each."""


def one_line(text: str) -> str:
    """A question as it was written, for people to read: in one line, without comments; ends of lines within a text are
    written out.

    >>> print(one_line("avg(days) > 5  -- of all\\n and mode(ward) = 'A  B';"))
    avg(days) > 5 and mode(ward) = 'A  B'
    """
    try:
        plain = without_comments(text).strip(" ;")
    except DuotoneError:  # it is no question, and shown to who wrote it
        plain = " ".join(text.split())
    return re.sub(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", lambda end: end[0].encode("unicode_escape").decode(), plain)


def without_comments(text: str) -> str:
    """A question word by word as it was written, with one space for all that stands between two words: no comment, which
    changes nothing and could tell others anything.

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
    """One select over one table, or a yes/no expression made into one. `columns` are those that it may be about: an error says
    which of them is a word of SQL."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise DuotoneError(f"a question is text of at most {LONGEST} characters")
    logger = logging.getLogger("sqlglot")
    level = logger.level
    try:
        text.encode()
        logger.setLevel(logging.CRITICAL)  # what it warns about is refused below
        return _select(text)
    except (SqlglotError, UnicodeEncodeError) as error:
        names = list(columns)
        advice = (_with_blanks(text, names) or _in_quotes(text, names)) if isinstance(error, SqlglotError) else None
        usual = "check its brackets and quotes; a question is, say, avg(days) > 5"
        raise DuotoneError(f"the question is not SQL that can be read: {advice or usual}") from None
    finally:
        logger.setLevel(level)


def _select(text: str) -> exp.Select:
    statements = _statements(text if SELECT.match(text) else f"select {text}")
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise DuotoneError("a question is one select, or one yes/no expression")
    select = statements[0]
    for node in list(select.find_all(exp.Anonymous)):
        if node.name.lower() in CALLED and len(node.expressions) == 1:
            node.replace(CALLED[node.name.lower()](this=node.expressions[0]))
    _strict(select, bare=not SELECT.match(text))
    return select


def _in_quotes(text: str, columns: Iterable[str]) -> str | None:
    """What to write where a column is called as a word of SQL, and the text can be read with that in quotes; else None."""
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
    """What to write where a column's name is no word, and the text can be read with that in quotes; else None."""
    for name in columns:
        if not name.replace("_", "").isalnum():
            bare = re.compile(rf'(?<![\w"]){re.escape(name)}(?![\w"])', re.IGNORECASE)
            quoted = f'"{name}"'.join(bare.split(text))
            if quoted != text and _can_be_read(quoted):
                return f'write "{name}", in double quotes, for the column'
    return None


def _written(text: str, token: Token) -> str:
    """A token as it stands in the text, in lower case: of what is in quotes, with them."""
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
    """What the parser makes of a text. On some that are no SQL it fails with errors that are not its own."""
    try:
        return [statement for statement in sqlglot.parse(text, dialect="duckdb") if statement]
    except (AttributeError, TypeError, ValueError, LookupError):
        raise SqlglotError from None


def split_questions(text: str) -> list[str]:
    """The questions of a text, which a semicolon ends or divides; one in quotes or in a remark does neither.

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


def _strict(select: exp.Select, bare: bool) -> None:
    """Refuse whatever would be passed over in silence."""
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
        if select.args.get(name):
            instead = INSTEAD.get(clause, "it is one select with where, group by and having, over one table")
            raise DuotoneError(f"a question has no {clause}: {instead}")
    for join in select.args.get("joins") or []:
        if isinstance(join.this, exp.Subquery) and isinstance(join.this.this, exp.Select):
            _strict(join.this.this, bare=False)
    source = select.args.get("from_")
    if source is not None and isinstance(source.this, exp.Subquery) and isinstance(source.this.this, exp.Select):
        _strict(source.this.this, bare=False)
    elif source is not None and not (isinstance(source.this, exp.Table) and isinstance(source.this.this, exp.Identifier)):
        raise DuotoneError("a question is about one table: leave out the query after from")


MIRRORS: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ,
}  # fmt: skip
SIDES = (
    exp.Column, exp.Literal, exp.Boolean, exp.Neg, exp.Paren, exp.Cast, exp.AggFunc, exp.Filter, exp.WithinGroup,
    exp.Add, exp.Sub, exp.Mul, exp.Div,
)  # fmt: skip
"""What binds more closely than a comparison, on either side of it. Of others the mirrored text could be read as something else:
`1 = not x` would become `not x = 1`."""

LONGEST_NUMBER = 40
"""The characters of a number that is written out; one that is longer stays as it is."""


def count_alone(normal: str) -> str | None:
    """The normal form of a question in which one count is compared with a number, without the comparison; None of any other.

    >>> count_alone("SELECT region, NOT COUNT(*) FILTER(WHERE x > 2) >= 5 GROUP BY region")
    'SELECT region, COUNT(*) FILTER(WHERE x > 2) GROUP BY region'
    >>> count_alone("SELECT COUNT(*) BETWEEN 5 AND 9"), count_alone("SELECT COUNT(*) > COUNT(x)")
    (None, None)
    """
    select: Any = sqlglot.parse_one(normal, dialect="duckdb")
    asked = [part for part in select.expressions if part.find(exp.Count)]
    if len(asked) != 1:
        return None
    compared = asked[0].unalias()
    while isinstance(compared, exp.Not | exp.Paren):
        compared = compared.this
    if not (isinstance(compared, exp.GT | exp.GTE | exp.LT | exp.LTE) and isinstance(compared.expression, exp.Literal)):
        return None
    count = compared.this.this if isinstance(compared.this, exp.Filter) else compared.this
    if not isinstance(count, exp.Count) or compared.expression.is_string:
        return None
    asked[0].replace(compared.this)
    return _text(select)


def normal_text(select: exp.Select, *, of_people: bool = False) -> str:
    """A select as text, with what a value is compared with after the value, numbers that are limits or weights in one way, what
    is joined by and, or by or, in the order of its text and without idle brackets, and a `where` as the filter of the only
    aggregate. `of_people` is an inner select, whose `where` also says who is in it.

    Guarantee: two questions with one normal form are the same question. A comparison is mirrored only as a whole, sign and
    both sides, so that it means the same; and, or are the same in any order, also of what is unknown. Of one aggregate, its
    filter and a `where` leave the same rows of each person, before any are added up, clipped or reduced; with several, or
    with groups, which have to be chosen, a `where` says more.

    >>> import sqlglot
    >>> normal_text(sqlglot.parse_one("select 1e3 < 2.0 * count(*) where y and not x", dialect="duckdb"))
    'SELECT 2 * COUNT(*) FILTER(WHERE NOT x AND y) > 1000'
    """
    plain = select.copy()
    for node in list(plain.find_all(*MIRRORS)):
        if _begins_with_a_constant(node.this, node.expression):
            node.replace(MIRRORS[type(node)](this=node.expression, expression=node.this))
    for condition in _conditions(plain):
        for literal in list(_compared_numbers(condition)):
            literal.set("this", _plain(literal.this))
    if not of_people:
        _where_as_filter(plain)
    for condition in _conditions(plain):
        condition.replace(_in_order(condition))
    return _text(plain)


def _text(node: exp.Expression) -> str:
    return node.sql(dialect="duckdb", normalize=True)


def _where_as_filter(select: exp.Select) -> None:
    """Put a `where` to the only aggregate, if that has no filter of its own and there are no groups."""
    where, aggregates = select.args.get("where"), [*select.find_all(exp.AggFunc)]
    if where is None or len(aggregates) != 1 or select.args.get("group"):
        return
    only = aggregates[0].parent if isinstance(aggregates[0].parent, exp.WithinGroup) else aggregates[0]
    if not isinstance(only.parent, exp.Filter):
        where.pop()
        only.replace(exp.Filter(this=only.copy(), expression=where))


def _in_order(node: exp.Expression, within: type[exp.Expression] | None = None) -> exp.Expression:
    """The same condition with what is joined by and, or by or, in the order of its text, and no brackets that do not matter
    where it stands: by itself, or within a not, an and or an or."""
    inside = node.unnest()
    if isinstance(inside, exp.And | exp.Or):
        rule = type(inside)
        parts = (part for part in inside.flatten(unnest=False) if isinstance(part, exp.Expression))  # as every part is
        texts = sorted((_in_order(part, rule) for part in parts), key=_text)
        joined = functools.reduce(lambda left, right: rule(this=left, expression=right), texts)
        return joined if within is None or (within, rule) == (exp.Or, exp.And) else exp.Paren(this=joined)
    if isinstance(inside, exp.Not):
        return exp.Not(this=_in_order(inside.this, exp.Not))
    return inside.copy() if isinstance(inside, exp.Expression) else node.copy()


def _conditions(select: exp.Select) -> list[exp.Expression]:
    """Those of rows and of groups, and what is answered; inner ones first."""
    clauses = [select.args.get(name) for name in ("where", "having")]
    filters = [filtered.expression.this for filtered in select.find_all(exp.Filter)]
    answers = [answer.unalias() for answer in select.expressions if answer.find(exp.AggFunc)]
    return [*filters, *(clause.this for clause in clauses if clause is not None), *answers]


def _compared_numbers(condition: exp.Expression) -> Iterator[exp.Literal]:
    """Numbers of which only the value counts: limits, and weights of aggregates. Not those within a computed value, whose text
    is the name that bounds are declared for."""
    for side in _sides(condition):
        yield from _numbers(side, weights=side.find(exp.AggFunc) is not None)


def _sides(node: exp.Expression) -> Iterator[exp.Expression]:
    """What is compared, in comparisons that are joined by and, or and not."""
    if isinstance(node, exp.And | exp.Or | exp.Not | exp.Paren):
        for part in node.iter_expressions():
            yield from _sides(part)
    elif type(node) in MIRRORS or isinstance(node, exp.Between | exp.In):
        yield from node.iter_expressions()


def _numbers(side: exp.Expression, *, weights: bool) -> Iterator[exp.Literal]:
    if isinstance(side, exp.Literal) and not side.is_string:
        yield side
    elif isinstance(side, exp.Paren | exp.Neg) or (weights and isinstance(side, exp.Add | exp.Sub | exp.Mul | exp.Div)):
        for part in side.iter_expressions():
            yield from _numbers(part, weights=weights)


def _plain(written: str) -> str:
    """A number as 10 or 0.5, which is exactly its value."""
    try:
        digits = format(Decimal(written), "f")
    except InvalidOperation:
        return written
    units, _, decimals = digits.partition(".")
    plain = ".".join(filter(None, (units.lstrip("0") or "0", decimals.rstrip("0"))))
    return plain if len(plain) <= LONGEST_NUMBER else written


def _begins_with_a_constant(left: exp.Expression, right: exp.Expression) -> bool:
    return isinstance(left, SIDES) and isinstance(right, SIDES) and _is_constant(left) and not _is_constant(right)


def _is_constant(node: exp.Expression) -> bool:
    return node.find(exp.Column, exp.Star, exp.AggFunc, exp.Query) is None
