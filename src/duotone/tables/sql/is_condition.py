"""Which expressions of SQL are conditions, yes or no for each row."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from duotone.tables.sql.column_names import column_name
from duotone.tables.sql.condition import Columns, Pattern

SIGNS: dict[type[exp.Expression], str] = {exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
OF_TEXT: dict[type[exp.Expression], Pattern] = {
    exp.Like: "like", exp.ILike: "like", exp.StartsWith: "starts", exp.EndsWith: "ends", exp.Contains: "contains",
    exp.RegexpLike: "matches", exp.RegexpFullMatch: "matches",
}  # fmt: skip


def falls_back(node: exp.Coalesce, columns: Columns) -> bool:
    """Whether it is a condition that is true, or false, where it would be unknown."""
    one = len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Boolean)
    return one and is_condition(node.this, columns)


def is_written_condition(node: exp.Expression, columns: Columns) -> bool:
    """Whether an expression is a condition, and neither a column of Booleans nor a constant."""
    inner: Any = node.unnest()
    return not isinstance(inner, exp.Column | exp.Boolean) and is_condition(inner, columns)


def is_condition(node: exp.Expression, columns: Columns) -> bool:
    """Whether an expression is yes or no for each row, and not another value."""
    match node:
        case exp.Paren():
            return is_condition(node.this, columns)
        case exp.Column():
            return columns[column_name(node, columns)] == "boolean"
        case exp.Coalesce():
            return falls_back(node, columns)
        case exp.Is():
            return isinstance(node.expression, exp.Null | exp.Boolean)
        case exp.In():
            return bool(node.expressions) and not node.args.get("query")
        case exp.And() | exp.Or() | exp.Not() | exp.Boolean() | exp.Between():
            return True
    return type(node) in SIGNS or type(node) in OF_TEXT or isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ)
