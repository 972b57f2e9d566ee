"""A person's average of whole numbers need not be one: where rows are averaged, such columns are put on a finer grid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from typing import TypeVar, cast

from duotone.model.bounds import FLOAT_STEPS, SQUARED_STEPS, Bounds
from duotone.model.dataset import Dataset
from duotone.tables.sql.comparison import Atom, LinearThreshold, MeanDifference, QuantileThreshold, VarianceThreshold
from duotone.tables.sql.condition import Condition, IsNull, Joined, Known, Not, Operand, parts_of

Part = TypeVar("Part")


def finer_bounds(atoms: Sequence[Atom], declared: Dataset) -> dict[str, Bounds]:
    """The bounds of columns of whole numbers whose averages a finer grid tells apart, on that grid: those for which none is
    declared. A ledger writes them down, since they are part of what is asked."""
    squared = frozenset(value.column for atom in atoms if isinstance(atom, VarianceThreshold) for value in values_of([atom]))
    return finer_bounds_of(values_of(atoms), declared, squared)


def finer_bounds_of(values: Iterable[Operand], declared: Dataset, squared: Set[str] = frozenset()) -> dict[str, Bounds]:
    """The same of some values, if a person's are averaged; `squared` are the columns of which squares are added up."""
    if declared.per_unit != "avg":
        return {}
    names = dict.fromkeys(v.column for v in values if v.kind == "integer" and v.made is None and v.column in declared.bounds)
    limits = {name: SQUARED_STEPS if name in squared else FLOAT_STEPS for name in names}
    return {name: finer for name, most in limits.items() if (finer := declared.bounds[name].finer(most)) is not None}


def values_of(atoms: Iterable[Atom]) -> list[Operand]:
    """What comparisons add up, compare or order."""
    return [part for atom in atoms for part in parts_of(_values(atom)) if isinstance(part, Operand)]


def as_number(value: Part, columns: Set[str]) -> Part:
    """A value as a number that need not be whole, if it is of these columns."""
    if isinstance(value, Operand) and value.column in columns and value.made is None:
        return replace(value, kind="float")
    return value


def as_numbers(atom: Atom, columns: Set[str]) -> Atom:
    """A comparison in which values of these columns are read as numbers that need not be whole. Conditions stay as they are,
    but for whether there is a value, which is the same of both readings."""

    def read(value: Part) -> Part:
        return as_number(value, columns)

    def where(condition: Condition) -> Condition:
        match condition:
            case IsNull():
                return IsNull(read(condition.operand))
            case Not() | Known():
                return replace(condition, part=where(condition.part))
            case Joined():
                return replace(condition, parts=tuple(map(where, condition.parts)))
        return condition

    match atom:
        case LinearThreshold():
            terms = tuple(replace(term, value=read(term.value), where=where(term.where)) for term in atom.terms)
            return replace(atom, terms=terms, present=None if atom.present is None else where(atom.present))
        case MeanDifference():
            measures = (atom.first, atom.second)
            sides = [replace(side, value=cast(Operand, read(side.value)), where=where(side.where)) for side in measures]
            return replace(atom, first=sides[0], second=sides[1])
        case QuantileThreshold() | VarianceThreshold():
            return replace(atom, value=read(atom.value), where=where(atom.where))
    return atom


def _values(atom: Atom) -> tuple[object, ...]:
    match atom:
        case LinearThreshold():
            return tuple(term.value for term in atom.terms)
        case MeanDifference():
            return atom.first.value, atom.second.value
        case QuantileThreshold() | VarianceThreshold():
            return (atom.value,)
    return ()
