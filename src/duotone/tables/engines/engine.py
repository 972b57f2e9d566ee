"""The engine interface: plans whose text has brackets, and quiet errors, since an engine's messages may quote rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import ibis
from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.interrupts import held, uninterrupted
from duotone.model.notice import Notice, why

UNREADABLE = Notice("engine failed")
ON_FAILURE: ContextVar[Callable[[str], None] | None] = ContextVar("ON_FAILURE", default=None)
"""Receives the kind of an engine's error, for the table's owner only."""
NO_OPERATORS = ("Paren", "Dot", "Kwarg", "PropertyEQ", "Escape")
"""Nodes that sqlglot calls unary or binary, but that are not operators between values."""


@dataclass(frozen=True)
class Abilities:
    """Optional abilities of an engine."""

    embedded: bool = False
    """Whether it is DuckDB inside the process: it has regular expressions, and keeps the extremes while it adds up."""
    proven: bool = True
    """Whether Duotone's tests run on it; any other is tested on made-up rows before the first question."""
    no_casts: str = ""
    """Why text cannot be read as a number or a date there; empty if it can."""
    same_functions: bool = True
    """Whether every function agrees with DuckDB's to the last digit."""
    public_rows: int = 10**4
    """Most rows of a joined public table: beyond DuckDB they are sent with every query."""
    bytes_of: str | None = "octet_length"
    """The function that returns the bytes of a text, if they are stored with it."""


class Engine(Protocol):
    """Executes plans (Ibis expressions), and returns Arrow tables."""

    @property
    def name(self) -> str:
        """Its name in errors."""
        ...

    @property
    def connection(self) -> Any:
        """Ibis's connection."""
        ...

    @property
    def can(self) -> Abilities:
        """Its abilities."""
        ...

    def run(self, plan: Any) -> Any:
        """The result of a plan. Call it through `quietly`."""
        ...

    def alive(self) -> bool:
        """Whether it responds; reads no row."""
        ...

    def interrupt(self) -> None:
        """Interrupt the running query, if possible."""
        ...

    def public_table(self, rows: Any, types: Mapping[str, str], /) -> tuple[Any, Callable[[], None]]:
        """A public Arrow table as one to join, and a function that drops it."""
        ...


Draw = Callable[[Any], tuple[Any, Any]]
"""A function of the people of each group: the places of the shown groups, and a noisy size of each
(`release.groups`)."""


@runtime_checkable
class Draws(Protocol):
    """An engine that can draw Duotone's coins where it counts."""

    def kept(self, plan: Any, keys: Sequence[str], draw: Draw) -> Any:
        """The keys of the shown groups, each with a noisy `size`, for a plan that counts the `people` of each."""
        ...


def answers(engine: Engine) -> bool:
    """Whether a remote engine responds; reads no row."""
    try:
        quietly(lambda: engine.run(ibis.literal(1).name("one").as_table()), UNREADABLE)
    except DuotoneError:
        return False
    return True


@contextmanager
def closed_on_error(close: Callable[[], Any]) -> Iterator[None]:
    """Close what was opened if the block fails."""
    try:
        yield
    except BaseException:
        close()
        raise


@uninterrupted
def quietly(work: Callable[[], Any], failure: Notice | str) -> Any:
    """Call the engine; if it fails, raise an error without details.

    Guarantee: the error contains nothing of the engine's, which might quote rows; an interrupt stays one, but a new
    one, without the frames that hold rows.
    """
    done = refused = leaving = None
    failed, kind = True, ""
    with held() as interrupts:
        try:
            with warnings.catch_warnings(action="ignore"), interrupts.heard():
                done = work()
                failed = False
        except DuotoneError as error:
            refused = why(error)
        except KeyboardInterrupt:
            interrupts.noted = True
        except SystemExit as error:
            leaving = (error.code,)
        except BaseException as error:  # an engine's panic may not be an Exception
            kind = type(error).__name__
        if interrupts.noted:
            done = None
    if interrupts.noted:  # raised here, so that it has no context
        raise interrupts.error or KeyboardInterrupt()
    if leaving:
        raise SystemExit(*leaving)
    if failed:
        if kind and (owner := ON_FAILURE.get()) is not None:
            owner(kind)
        raise DuotoneError(refused or failure)
    return done


def sqlglot_of(backend: Any, plan: Any) -> Any:
    """A plan as a sqlglot tree for this backend of Ibis, with brackets."""
    return bracketed(backend.compiler.to_sqlglot(plan))


def bracketed(tree: Any) -> Any:
    """The same tree with brackets around each nested operator. Ibis and sqlglot omit some: `(not a) is null` becomes
    `not a is null`, which engines read as `not (a is null)`.

    Guarantee: the tree's text parses to the tree, whatever precedence an engine gives its operators.
    """
    own = tree.copy()  # Ibis shares nodes
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
    return isinstance(node, exp.Unary | exp.Binary | exp.Between | exp.In) and type(node).__name__ not in NO_OPERATORS
