"""Other ways of writing a question, as the one that the rest understands.

In its text: 1,000 and $1,000, 25%, the curly quotes of a word processor, and other dialects' `backticks`, [brackets] and
`top 1` (`as_sql`). In its parsed form: `3 < x < 5`,
`with`, and a select that only filters rows (`simplified`). Only what has no other meaning in a question is rewritten; anything
else is refused, with the question as it should read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from duotone.errors import DuotoneError
from duotone.model.notice import Notice

LONGEST = 10_000
"""Most characters of a question."""
CURLY = str.maketrans({"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "`": '"'})
"""Quotes of word processors, and those of names in MySQL and BigQuery."""
CURRENCY = "$€£¥"
UNUSUAL = re.compile(rf"[{''.join(map(chr, CURLY))}{CURRENCY}%\[]|\d[ ,]\d|\.\d+\.|\btop\b", re.IGNORECASE)
"""What a text without has nothing to rewrite in it."""
BEFORE_A_NUMBER = (
    TokenType.GT, TokenType.GTE, TokenType.LT, TokenType.LTE, TokenType.EQ, TokenType.NEQ, TokenType.BETWEEN, TokenType.AND,
    TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH,
)  # fmt: skip
"""A number after one of these is compared or computed with, and is no member of a list."""
BEFORE_A_BRACKET = (
    *BEFORE_A_NUMBER, TokenType.OR, TokenType.NOT, TokenType.SELECT, TokenType.WHERE, TokenType.HAVING, TokenType.FILTER,
    TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.L_PAREN, TokenType.COMMA, TokenType.FROM, TokenType.ON,
)  # fmt: skip
"""A bracket after one of these groups; after anything else it holds arguments, or a list, where commas separate."""
OPERANDS = (
    TokenType.NUMBER, TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.L_PAREN, TokenType.DASH, TokenType.PLUS,
    TokenType.CASE, TokenType.PARAMETER,
)  # fmt: skip
"""What % is followed by where it is a remainder."""
AFTER_A_PERCENT = (TokenType.AND, TokenType.OR, TokenType.R_PAREN, TokenType.SEMICOLON, TokenType.FROM, TokenType.THEN)
"""What % is followed by, if by anything, where a blank before it leaves no doubt that it is no remainder."""
BEFORE_A_LIST = (TokenType.IN, TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.R_PAREN, TokenType.R_BRACKET)
"""A square bracket after one of these holds a list, or a place in one, and not a name."""


def as_sql(text: str) -> tuple[str, tuple[Notice, ...]]:
    """A question in SQL, and notes on how it was read.

    Guarantee: what is in straight quotes, and every text without such numbers and quotes, is unchanged.

    >>> question, notes = as_sql("avg(churned) > 25% and count(*) >= $1,000 and mode(ward) = ‘A,B’")
    >>> question, *map(str, notes)
    ("avg(churned) > 0.25 and count(*) >= 1000 and mode(ward) = 'A,B'", '25% is read as 0.25')
    >>> as_sql("avg(days) > 4,5")
    Traceback (most recent call last):
    duotone.errors.DuotoneError: 4,5 is two numbers in SQL, where a point stands before decimals: write avg(days) > 4.5
    """
    if not isinstance(text, str) or len(text) > LONGEST or not UNUSUAL.search(text):
        return text, ()  # the parser refuses what is no question
    try:
        text = _straight(text)
        text = _without_brackets(text)
        text = _with_limit(text)
        text = _without_currency(text)
        text = _without_separators(text)
        return _percents(text)
    except SqlglotError:
        return text, ()  # the parser says what is wrong


def _tokens(text: str) -> Sequence[Token]:
    return sqlglot.tokenize(text, read="duckdb")


def _replaced(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """The text with some of its parts, from one place to before another, replaced."""
    for start, end, instead in reversed(changes):
        text = text[:start] + instead + text[end:]
    return text


def _straight(text: str) -> str:
    """Curly quotes become straight ones, except within straight quotes."""
    if text.translate(CURLY) == text:
        return text
    quoted = (TokenType.STRING, TokenType.IDENTIFIER)
    bare = [token for token in _tokens(text) if token.token_type not in quoted]
    spans = [(token.start, token.end + 1) for token in bare]
    return _replaced(text, [(start, end, text[start:end].translate(CURLY)) for start, end in spans])


def _without_brackets(text: str) -> str:
    """Names in square brackets, as SQL Server writes them, in double quotes."""
    tokens, changes, last = _tokens(text), list[tuple[int, int, str]](), None
    for token in tokens:
        name = re.match(r"\[([^\W\d][^\[\]\"',()]*)\]", text[token.start :])
        if token.token_type is TokenType.L_BRACKET and name is not None and last not in BEFORE_A_LIST:
            changes.append((token.start, token.start + name.end(), f'"{name[1]}"'))
        last = token.token_type
    return _replaced(text, changes)


def _with_limit(text: str) -> str:
    """`select top 1 x …`, as SQL Server writes it, with a limit at its end."""
    tokens = _tokens(text)
    written = re.match(r"select\s+top\s+(\(\s*)?(\d+)(?(1)\s*\))\s", text[tokens[0].start :], re.IGNORECASE) if tokens else None
    if written is None:
        return text
    end = tokens[-1].start if tokens[-1].token_type is TokenType.SEMICOLON else tokens[-1].end + 1
    first = tokens[0].start
    return f"select {text[first + written.end() : end]} limit {written[2]}"


def _without_currency(text: str) -> str:
    """Without the sign of a currency before a number."""
    tokens = _tokens(text)
    before = [None, *tokens]
    signs = [
        (token.start, token.start + 1, "")
        for last, token in zip(before, tokens, strict=False)
        if last is not None
        and last.token_type in BEFORE_A_NUMBER
        and re.match(rf"[{CURRENCY}]\d", text[token.start : token.end + 2])
    ]
    return _replaced(text, signs)


def _without_separators(text: str) -> str:
    """Without commas between thousands; other numbers in parts are refused."""
    changes = []
    for first, last in _numbers_in_parts(_tokens(text)):
        written = text[first : last + 1]
        if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", written):
            changes.append((first, last + 1, written.replace(",", "")))
            continue
        if re.fullmatch(r"\d{1,3}([ .]\d{3})+(,\d+)?|\d{1,3}( \d{3})+(\.\d+)?", written):
            plain = re.sub(r"[ .](?=\d{3}(\D|$))", "", written).replace(",", ".")
            why = "is not one number in SQL, where nothing separates thousands"
        else:
            plain, why = written.replace(",", "."), "is two numbers in SQL, where a point stands before decimals"
        if not re.fullmatch(r"\d+(\.\d+)?", plain):
            raise DuotoneError(f"{written} is not one number in SQL: write it as 1000 or 4.5")
        raise DuotoneError(f"{written} {why}: write {_replaced(text, [(first, last + 1, plain)])}")
    return _replaced(text, changes)


def _numbers_in_parts(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """The first and last place of each number that a comma, a point or a blank divides, where it can be only one."""
    joints = (TokenType.COMMA, TokenType.DOT)
    lists: list[bool] = []
    last, end = None, -1
    for i, token in enumerate(tokens):
        kind = token.token_type
        if kind is TokenType.L_PAREN:
            lists.append(last not in BEFORE_A_BRACKET and last is not None)
        elif kind is TokenType.R_PAREN and lists:
            lists.pop()
        elif kind is TokenType.NUMBER and i > end and last in BEFORE_A_NUMBER and not (lists and lists[-1]):
            end = i
            while end + 1 < len(tokens):
                one, two = tokens[end + 1], tokens[end + 2] if end + 2 < len(tokens) else None
                if one.token_type is TokenType.NUMBER and one.start <= tokens[end].end + 2:
                    end += 1
                elif (
                    two is not None
                    and one.token_type in joints
                    and two.token_type is TokenType.NUMBER
                    and one.start == tokens[end].end + 1
                    and two.start == one.end + 1
                ):
                    end += 2
                else:
                    break
            if end > i:
                yield token.start, tokens[end].end
        last = kind


def _percents(text: str) -> tuple[str, tuple[Notice, ...]]:
    """Percentages as shares."""
    tokens, changes, notes = _tokens(text), list[tuple[int, int, str]](), dict[Notice, None]()
    for number, sign, after in zip(tokens, tokens[1:], [*tokens[2:], None], strict=False):
        if number.token_type is not TokenType.NUMBER or sign.token_type is not TokenType.MOD:
            continue
        adjacent = sign.start == number.end + 1
        if after is None or (after.token_type not in OPERANDS if adjacent else after.token_type in AFTER_A_PERCENT):
            start = number.start - (text[: number.start].endswith("."))  # .5 is a point and a number
            written = text[start : number.end + 1]
            share = format(Decimal(written.replace("_", "")).scaleb(-2).normalize(), "f")
            changes.append((start, sign.end + 1, share))
            notes[Notice("percent", written=f"{written}%", share=share)] = None
    return _replaced(text, changes), tuple(notes)


SIGNS_OF_ORDER = (exp.GT, exp.GTE, exp.LT, exp.LTE)
FILTERS = ("expressions", "from_", "where")
"""The clauses of a select that leaves rows out, and changes none."""


def simplified(select: exp.Select, columns: Collection[str] = ()) -> exp.Select:
    """The same question without `with`, without selects that only filter, and with every comparison of two. `columns` are
    those that it may be about: a computed column of the same name would have two meanings.

    >>> import sqlglot
    >>> text = "with s as (select *, age * 2 as twice from stays where age > 3) select 5 < avg(twice) < 9 from s where x"
    >>> simplified(sqlglot.parse_one(text, dialect="duckdb")).sql()
    'SELECT 5 < AVG((age * 2)) AND AVG((age * 2)) < 9 FROM stays WHERE age > 3 AND x'
    """
    _without_with(select)
    _flattened(select, {column.lower() for column in columns})
    for node in list(select.find_all(*SIGNS_OF_ORDER)):
        _two_by_two(node)
    return select


def _two_by_two(node: exp.Binary) -> None:
    """`a < b < c` as `a < b and b < c`: SQL would compare a truth with c. The innermost comparison comes last."""
    first = node.this
    if isinstance(first, SIGNS_OF_ORDER):
        again = type(node)(this=first.expression.copy(), expression=node.expression)
        both = exp.And(this=first, expression=again)
        node.replace(both)
        _two_by_two(first)


def _without_with(select: exp.Select) -> None:
    """Each named select in the place of its name."""
    clause = select.args.get("with_")
    if clause is None:
        return
    if clause.args.get("recursive"):
        raise DuotoneError("a question has no recursive with: it is one select with where, group by and having")
    select.set("with_", None)
    named: dict[str, exp.Expression] = {}
    for one in clause.expressions:
        inner = one.this
        if not isinstance(inner, exp.Select) or one.args["alias"].args.get("columns"):
            raise DuotoneError(f"with {one.alias}: name one select, as in with s as (select * from stays where age > 64)")
        _without_with(inner)
        _put_in(inner, named)
        named[one.alias.lower()] = inner
    _put_in(select, named)


def _put_in(select: exp.Select, named: dict[str, exp.Expression]) -> None:
    """Selects in the place of their names, wherever a table is named."""
    for table in list(select.find_all(exp.Table)):
        if len(table.parts) == 1 and table.name.lower() in named:
            alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name))
            table.replace(exp.Subquery(this=named[table.name.lower()].copy(), alias=alias.copy()))


def _flattened(select: exp.Select, columns: Collection[str]) -> None:
    """A select from one that only filters its rows, as one select with both conditions."""
    clause = select.args.get("from_")
    if clause is None or not isinstance(clause.this, exp.Subquery) or select.args.get("joins"):
        return
    inner = clause.this.this
    if not isinstance(inner, exp.Select):
        return
    _flattened(inner, columns)
    if any(value for name, value in inner.args.items() if name not in FILTERS) or inner.find(exp.AggFunc, exp.Window):
        return
    source = inner.args.get("from_")
    if source is None or not isinstance(source.this, exp.Table):
        return
    _in_its_columns(select, inner, clause.this.alias, columns)
    conditions = [each.args["where"].this for each in (inner, select) if each.args.get("where") is not None]
    select.set("from_", source)
    if conditions:
        select.set("where", exp.Where(this=exp.and_(*conditions)))


def _in_its_columns(select: exp.Select, inner: exp.Select, alias: str, columns: Collection[str]) -> None:
    """The columns of an inner select, where its name stood before them, as what they are made of."""
    everything = any(isinstance(one, exp.Star) for one in inner.expressions)
    named = [(one.alias_or_name.lower(), one.unalias()) for one in inner.expressions if not isinstance(one, exp.Star)]
    made = dict(named)
    if len(made) < len(named):
        name = next(name for i, (name, _) in enumerate(named) if name in dict(named[:i]))
        raise DuotoneError(f"the inner select has two columns called {name}")
    if everything and (twice := made.keys() & columns):
        raise DuotoneError(f"the inner select has {min(twice)} twice, in * and as a value of its own: give it another name")
    source = inner.args["from_"].this.alias_or_name.lower()
    for column in list(select.find_all(exp.Column)):
        if isinstance(column.this, exp.Star) or column.find_ancestor(exp.Select) is not select:
            continue
        if column.table and column.table.lower() not in (alias.lower(), source):
            continue
        column.set("table", None)
        value = made.get(column.name.lower())
        if value is None and not everything:
            listed = ", ".join(one.alias_or_name for one in inner.expressions)
            raise DuotoneError(f"the inner select has no column {column.name}; it has {listed}")
        if value is not None:
            column.replace(_in_place_of(column, value.copy()))


def _in_place_of(column: exp.Column, value: exp.Expr) -> exp.Expr:
    """What a column is made of; where it is selected, by the same name."""
    if column.parent_select is column.parent:
        return exp.alias_(value, column.name, quoted=column.this.args.get("quoted"), copy=False)
    return value if isinstance(value, exp.Column) else exp.paren(value, copy=False)
