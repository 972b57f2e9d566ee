"""Whether the text of a statement parses to the tree that it was made from."""

from __future__ import annotations

import re
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

OPERATORS = (exp.Unary, exp.Binary, exp.Between, exp.In)


def shape(node: Any) -> Any:
    """The operators of a tree, each with its operands; brackets left out."""
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Not):  # x is not null, as Ibis writes it
        return shape(exp.Not(this=exp.Is(this=node.this.copy(), expression=node.expression.this.copy())))
    children = node.flatten() if isinstance(node, exp.Connector) else node.iter_expressions()
    inner = [part for child in children for part in _parts(child)]
    return (type(node).__name__, *inner) if isinstance(node, OPERATORS) else inner


def _parts(node: Any) -> list[Any]:
    own = shape(node.unnest())
    return [own] if isinstance(own, tuple) else own


def misread(meant: Any, text: str) -> str | None:
    """What is wrong with a text in DuckDB's dialect; None if sqlglot and DuckDB both parse it as meant."""
    if shape(sqlglot.parse_one(text, dialect="duckdb")) != shape(meant):
        return f"sqlglot reads another tree: {text}"
    everywhere = meant.copy()
    for node in list(everywhere.walk()):
        within = isinstance(node, OPERATORS) and isinstance(node.parent, OPERATORS) and not isinstance(node, exp.Paren)
        joined = isinstance(node, exp.Connector) and type(node) is type(node.parent)
        if within and not joined and not (isinstance(node.parent, exp.Is) and node.arg_key == "expression"):
            brackets = exp.Paren()
            node.replace(brackets)
            brackets.set("this", node)
    with duckdb.connect() as connection:
        trees = [
            connection.execute("select json_serialize_sql(?)", [sql]).fetchone() for sql in (text, everywhere.sql("duckdb"))
        ]
    plain = [_placeless(str(tree)) for tree in trees]
    return None if plain[0] == plain[1] and '"error":false' in plain[0] else f"DuckDB reads another tree: {text}"


def _placeless(tree: str) -> str:
    """The tree without positions in the text."""
    return re.sub(r'"query_location(_length)?":\d+', "", tree)
