"""The text of a question as one select, nothing of which is passed over in silence."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence

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
