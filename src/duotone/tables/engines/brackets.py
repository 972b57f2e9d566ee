"""The text of a plan, in which brackets say what belongs together.

Ibis and sqlglot leave some out: `(not a) is null` becomes `not a is null`, which engines read as `not (a is null)`.
"""

from __future__ import annotations

from typing import Any

NO_OPERATORS = ("Paren", "Dot", "Kwarg", "PropertyEQ", "Escape")
"""What sqlglot calls unary or binary, and is no operator between values."""


def sqlglot_of(backend: Any, plan: Any) -> Any:
    """A plan as a tree of sqlglot for this backend, with brackets."""
    return bracketed(backend.compiler.to_sqlglot(plan))


def bracketed(tree: Any) -> Any:
    """The same tree with brackets around each operator that stands within another one.

    Guarantee: the text of the tree is read as the tree, whatever precedence an engine gives its operators.
    """
    from sqlglot import exp

    own = tree.copy()  # Ibis puts one node in several places
    for node in [node for node in own.walk() if is_operator(node) and is_operator(node.parent)]:
        same = isinstance(node, exp.And | exp.Or) and type(node) is type(node.parent)
        sign = isinstance(node.parent, exp.Is) and node.arg_key == "expression"  # is not null
        if not (same or sign):
            brackets = exp.Paren()
            node.replace(brackets)
            brackets.set("this", node)
    return own


def is_operator(node: Any) -> bool:
    """Whether its text is its operands with words or signs before, between or after them."""
    from sqlglot import exp

    return isinstance(node, exp.Unary | exp.Binary | exp.Between | exp.In) and type(node).__name__ not in NO_OPERATORS


def bracketing(backend: Any) -> Any:
    """A connection of Ibis that writes brackets, beside one that was handed over, which is left as it is."""
    twin = object.__new__(type(backend))
    twin.__dict__.update(backend.__dict__)
    twin.compiler = _Compiler(backend.compiler)
    return twin


class _Compiler:
    """Ibis' compiler of a backend, with brackets in what it compiles."""

    def __init__(self, compiler: Any) -> None:
        self._compiler = compiler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiler, name)

    def to_sqlglot(self, *plan: Any, **options: Any) -> Any:
        return bracketed(self._compiler.to_sqlglot(*plan, **options))
