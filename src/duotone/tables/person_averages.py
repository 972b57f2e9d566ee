"""A person's average of whole numbers need not be one: where rows are averaged, such columns are put on a finer grid."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace
from typing import TypeVar, cast

from duotone.tables.declared import Declared
from duotone.tables.sql.comparison import Atom, LinearThreshold, MeanDifference, QuantileThreshold, VarianceThreshold
from duotone.tables.sql.condition import Condition, IsNull, Joined, Known, Not, Operand, parts_of

Part = TypeVar("Part")


def averaged_columns(atoms: Iterable[Atom], declared: Declared) -> dict[str, Operand]:
    """The columns of whole numbers whose averages a finer grid tells apart, and for which no grid is declared."""
    return averaged_values((part for atom in atoms for part in parts_of(_values(atom)) if isinstance(part, Operand)), declared)


def averaged_values(values: Iterable[Operand], declared: Declared) -> dict[str, Operand]:
    """Those of some values that are such columns, if a person's values are averaged."""
    if declared.per_unit != "avg":
        return {}
    whole = {value.column: value for value in values if value.kind == "integer" and value.made is None}
    return {name: part for name, part in whole.items() if name in declared.bounds and declared.bounds[name].finer is not None}


def on_finer_grids(declared: Declared, columns: Iterable[str]) -> Declared:
    """What is declared, with the grids that these columns are then on: a ledger writes them down, since they are part of what
    is asked."""
    finer = {name: bounds for name in columns if (bounds := declared.bounds[name].finer) is not None}
    return replace(declared, bounds={**declared.bounds, **finer})


def as_numbers(atom: Atom, columns: Set[str]) -> Atom:
    """A comparison in which values of these columns are read as numbers that need not be whole. Conditions stay as they are,
    but for whether there is a value, which is the same of both readings."""

    def read(value: Part) -> Part:
        if isinstance(value, Operand) and value.column in columns and value.made is None:
            return replace(value, kind="float")
        return value

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
