"""The text of a question as one select, nothing of which is passed over in silence."""

from __future__ import annotations

import logging
import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from duotone.errors import DuotoneError

LONGEST = 10_000
"""Characters of a question, at most."""
SELECT = re.compile(r"\s*(select|with)\b", re.IGNORECASE)
_THIS = ("this",)
UNDERSTOOD: dict[type[exp.Expression], tuple[str, ...]] = {
    exp.Select: ("expressions", "from_", "where", "group"), exp.Table: ("this", "alias", "db", "catalog"),
    exp.TableAlias: _THIS,
    exp.Count: ("this", "big_int"), exp.Sum: _THIS, exp.Avg: _THIS, exp.Median: _THIS, exp.Mode: _THIS, exp.Min: _THIS,
    exp.Max: _THIS, exp.Quantile: ("this", "quantile"), exp.PercentileDisc: ("this", "expression"), exp.LogicalOr: _THIS,
    exp.LogicalAnd: _THIS, exp.Trim: _THIS, exp.Lower: _THIS, exp.Upper: _THIS, exp.Length: _THIS, exp.Year: _THIS,
    exp.Month: _THIS, exp.Day: _THIS, exp.Between: ("this", "low", "high"), exp.In: ("this", "expressions", "query"),
    exp.Like: ("this", "expression", "negate"), exp.Star: (), exp.Distinct: ("expressions",),
}  # fmt: skip
"""The parts of SQL's expressions that are read."""
CLAUSES = {"joins": "join", "having": "having", "order": "order by", "limit": "limit", "distinct": "distinct", "with_": "with",
           "qualify": "qualify", "windows": "window", "offset": "offset", "sample": "sample"}  # fmt: skip


def parse(text: str) -> exp.Select:
    """One select over one table, or a yes/no expression made into one."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise DuotoneError(f"a question is text of at most {LONGEST} characters")
    logger = logging.getLogger("sqlglot")
    level = logger.level
    try:
        text.encode()
        logger.setLevel(logging.CRITICAL)  # what it warns about is refused below
        statements = [s for s in sqlglot.parse(text if SELECT.match(text) else f"select {text}", dialect="duckdb") if s]
        if len(statements) != 1 or not isinstance(statements[0], exp.Select):
            raise DuotoneError("a question is one select, or one yes/no expression")
        _strict(statements[0], bare=not SELECT.match(text))
        return statements[0]
    except (SqlglotError, UnicodeEncodeError):
        raise DuotoneError("the question is not SQL that can be read: check its brackets and quotes") from None
    finally:
        logger.setLevel(level)


def _strict(select: exp.Select, bare: bool) -> None:
    """Refuse whatever would be passed over in silence."""
    if bare and any(isinstance(e, exp.Alias) for e in select.expressions):
        raise DuotoneError("a yes/no expression has no name: check for a word or a number that was not meant")
    for node in select.find_all(*UNDERSTOOD):
        for name, value in node.args.items():
            known = UNDERSTOOD.get(type(node), node.args)
            if value and name not in known and not (isinstance(node, exp.Select) and name in CLAUSES):
                raise DuotoneError(f"{node.sql(dialect='duckdb')} has a part that is not understood ({name.rstrip('_')})")
        if isinstance(node, exp.Func) and node.args.get("this") is None and not isinstance(node, exp.Case):
            raise DuotoneError(f"{node.sql(dialect='duckdb')} has no argument: name a column")
    for name, clause in CLAUSES.items():
        if select.args.get(name):
            raise DuotoneError(f"a question has no {clause}: it is one select with where and group by, over one table")
    source = select.args.get("from_")
    if source is not None and not (isinstance(source.this, exp.Table) and isinstance(source.this.this, exp.Identifier)):
        raise DuotoneError("a question is about one table: leave out the query after from")
