"""Why an expression cannot stand in a condition."""

from __future__ import annotations

from sqlglot import exp


def refusal(node: exp.Expression) -> str:
    """What an error says about an expression that is not understood."""
    text = node.sql(dialect="duckdb")
    for kinds, why in (
        ((exp.Window,), "looks at other rows: a condition is about one row"),
        ((exp.Subquery, exp.Select, exp.Exists), "asks a query of its own: a condition is about one row"),
        ((exp.In,), "asks a query of its own, or no constants: a condition is about one row"),
        ((exp.Rand, exp.Randn), "is random: a condition must say the same each time"),
        ((exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime), "depends on the clock: write the date itself"),
        ((exp.AggFunc,), "is an aggregate, and stands inside a condition: compare it outside"),
    ):
        if isinstance(node, kinds):
            return f"{text} {why}"
    if isinstance(node, exp.Anonymous) and node.name.lower() in (
        "now",
        "today",
        "current_timestamp",
        "uuid",
        "gen_random_uuid",
    ):
        return f"{text} changes from call to call: write the value itself"
    return (
        f"{text} is not understood here: use columns, constants, =, <>, <, <=, >, >=, in, between, like, is null, and, or, "
        "not, and the functions of docs/forms.md"
    )
