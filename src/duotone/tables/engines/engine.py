"""What an engine is asked, and how: by plans whose text has brackets, and quietly, since its messages may quote rows."""

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
"""Who hears of the kind of error that an engine failed with: whoever holds the table, and nobody else."""
NO_OPERATORS = ("Paren", "Dot", "Kwarg", "PropertyEQ", "Escape")
"""What sqlglot calls unary or binary, and is no operator between values."""


@dataclass(frozen=True)
class Abilities:
    """What an engine can do beside what every one can."""

    embedded: bool = False
    """Whether it is DuckDB inside the process: it knows regular expressions, and keeps the far ends while it adds up."""
    proven: bool = True
    """Whether Duotone's tests run on it; any other is tried on made-up rows before the first question."""
    no_casts: str = ""
    """Why no text can be read as a number or a date there; empty where it can."""
    same_functions: bool = True
    """Whether every function gives what DuckDB's gives, to the last digit."""
    public_rows: int = 10**4
    """Rows of a public table that are joined, at most: beyond DuckDB they travel with every query."""
    bytes_of: str | None = "octet_length"
    """The function that gives the bytes of a text, which are stored with it."""


class Engine(Protocol):
    """What runs plans, which are Ibis expressions, and gives their results as Arrow tables."""

    @property
    def name(self) -> str:
        """As errors say it."""
        ...

    @property
    def connection(self) -> Any:
        """Ibis's connection."""
        ...

    @property
    def can(self) -> Abilities:
        """What it can do."""
        ...

    def run(self, plan: Any) -> Any:
        """The result of a plan. Whoever calls it does so by `quietly`."""
        ...

    def alive(self) -> bool:
        """Whether it is still there; no row is read."""
        ...

    def interrupt(self) -> None:
        """Stop what it does now, where it can be stopped."""
        ...

    def public_table(self, rows: Any, types: Mapping[str, str], /) -> tuple[Any, Callable[[], None]]:
        """An Arrow table that everybody may know, as one to join, and what forgets it."""
        ...


Draw = Callable[[Any], tuple[Any, Any]]
"""From the people of each group: the places of those that are shown, and a noisy size of each (`release.groups`)."""


@runtime_checkable
class Draws(Protocol):
    """An engine that can toss Duotone's coins where it counts."""

    def kept(self, plan: Any, keys: Sequence[str], draw: Draw) -> Any:
        """The keys of the groups that are shown, each with a noisy `size`, of a plan that counts the `people` of each."""
        ...


def answers(engine: Engine) -> bool:
    """Whether an engine elsewhere still answers; no row is read."""
    try:
        quietly(lambda: engine.run(ibis.literal(1).name("one").as_table()), UNREADABLE)
    except DuotoneError:
        return False
    return True


@contextmanager
def closed_on_error(close: Callable[[], Any]) -> Iterator[None]:
    """Close what was opened if what follows fails."""
    try:
        yield
    except BaseException:
        close()
        raise


@uninterrupted
def quietly(work: Callable[[], Any], failure: Notice | str) -> Any:
    """Do some work of the engine; if it fails, say only that it did.

    Guarantee: the error that is raised has no trace of the engine's, which might quote rows; and an interrupt stays one, but a
    new one, without the frames in which rows stand.
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
        except BaseException as error:  # an engine's panic may be no Exception
            kind = type(error).__name__
        if interrupts.noted:
            done = None
    if interrupts.noted:  # out here, so that nothing is remembered as the context
        raise interrupts.error or KeyboardInterrupt()
    if leaving:
        raise SystemExit(*leaving)
    if failed:
        if kind and (owner := ON_FAILURE.get()) is not None:
            owner(kind)
        raise DuotoneError(refused or failure)
    return done


def sqlglot_of(backend: Any, plan: Any) -> Any:
    """A plan as a tree of sqlglot for this backend of Ibis, with brackets."""
    return bracketed(backend.compiler.to_sqlglot(plan))


def bracketed(tree: Any) -> Any:
    """The same tree with brackets around each operator that stands within another one. Ibis and sqlglot leave some out:
    `(not a) is null` becomes `not a is null`, which engines read as `not (a is null)`.

    Guarantee: the text of the tree is read as the tree, whatever precedence an engine gives its operators.
    """
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
    return isinstance(node, exp.Unary | exp.Binary | exp.Between | exp.In) and type(node).__name__ not in NO_OPERATORS
