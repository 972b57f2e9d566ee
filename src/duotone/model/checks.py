"""What may stand at each key of a dataset's declaration: each function returns its value as it is used from then on, or
refuses it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from numbers import Number
from pathlib import Path
from typing import Any, Literal, get_args

from duotone.model.bounds import Bounds
from duotone.model.mistakes import Mistakes, Wrong
from duotone.privacy.approx_dp import ApproxDP

Checked = Callable[[Any], Any]
Reduction = Literal["avg", "sum", "min", "max"]
"""How a person's values become one."""
Neighbours = Literal["add-remove", "replace"]
"""Neighbouring tables: one person joins or leaves, or one person's data changes."""
Type = Literal["number", "date", "time", "yes/no", "text"]
"""What a column of a file of text holds."""
MOST = 2**31
"""Rows or groups of one person, at most."""
MOST_CHARACTERS = 1_000_000
COHORT = "@"
"""Between a dataset and the label of its people, where that is given: a ledger's name of it."""
NAME = re.compile(r"[^\x00-\x1f\x7f/@*\\]{1,60}")
LIMITS = "must be [low, high] or [low, high, grid], in numbers"
"""Of bounds."""


def anything(value: Any) -> Any:
    """Whatever it is: it is checked where it is used."""
    return value


def text(value: Any) -> str:
    """A text that is not empty."""
    if not isinstance(value, str):
        raise Wrong("must be a text, in quotes")
    if not value:
        raise Wrong("is empty")
    return value


def name(value: Any) -> str:
    """A name, as a ledger wants it: no mark that turns the direction of text, for one."""
    if not (NAME.fullmatch(text(value)) and value.isprintable()):
        raise Wrong("has characters that a name cannot have, or more than 60")
    return str(value)


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Wrong("must be true or false")
    return value


def count(value: Any) -> int:
    """How many rows or groups of one person count."""
    if type(value) is not int or not 1 <= value < MOST:
        raise Wrong(f"must be a whole number from 1 to {MOST - 1}, got {value}")
    return value


def longest_text(value: Any) -> int:
    """How many characters are read."""
    if type(value) is not int or not 1 <= value <= MOST_CHARACTERS:
        raise Wrong(f"must be a whole number of characters, from 1 to {MOST_CHARACTERS:,}, got {value!r}")
    return value


def unit(value: Any) -> str:
    """The name of a column."""
    if not isinstance(value, str):
        raise Wrong(f"must be the name of one column, got {type(value).__name__}")
    return text(value)


def _one_of(words: Any) -> Checked:
    """A check for one of several words: a misspelt one must not be taken for another."""
    *others, last = known = get_args(words)

    def check(value: Any) -> str:
        if value not in known:
            raise Wrong(f"must be {', '.join(others)} or {last}, got {value}")
        return str(value)

    return check


neighbours, per_unit, kind = _one_of(Neighbours), _one_of(Reduction), _one_of(Type)


def columns(value: Any) -> tuple[str, ...]:
    """Names of columns."""
    if not (isinstance(value, list | tuple) and all(isinstance(one, str) and one for one in value)):
        raise Wrong("must be a list, in [ ], of names")
    return tuple(value)


def json_columns(value: Any) -> tuple[str, ...]:
    """Keys of JSON, which are columns."""
    keys = columns(value)
    if not keys or len(set(keys)) != len(keys) or any("\0" in key for key in keys):
        raise Wrong("must name at least one column, each once")
    return keys


def separator(value: Any) -> str:
    """One character; a tab, which is hard to type in a shell, also as \\t."""
    if value == "\\t":
        return "\t"
    if not isinstance(value, str) or len(value) != 1 or value in '"\r\n\0' or not value.isascii():
        raise Wrong(f"must be one ASCII character other than a double quote or a line end, got {value!r}")
    return value


def types(value: Any) -> Mapping[str, Type]:
    """What columns hold, by column."""
    mistakes = Mistakes()
    for column, one in _named(value, 'must be {column: type}, as {"amount": "number"}').items():
        with mistakes.at(column):
            kind(one)
    mistakes.refuse()
    return dict(value)


def formats(value: Any) -> Mapping[str, str]:
    """How dates are written, by column; whether a format makes a date is checked where it is read."""
    return dict(_named(value, 'must be {column: format}, as {"day": "%d/%m/%Y"}'))


def tables(value: Any) -> Mapping[str, Any]:
    """Tables by name."""
    return dict(_named(value, 'must be given by name, as {"labs": "labs.csv"}'))


def bounds(value: Any) -> Mapping[str, Bounds]:
    """What values are clipped to, by column."""
    mistakes, limits = Mistakes(), dict[str, Bounds]()
    for column, one in _named(value, "must be {column: (low, high)} or {column: (low, high, grid)}").items():
        if not isinstance(one, Bounds) and not (
            isinstance(one, list | tuple) and len(one) in (2, 3) and all(map(_numeric, one))
        ):
            mistakes.add((column,), LIMITS)
            continue
        with mistakes.at(column):
            limits[column] = one if isinstance(one, Bounds) else Bounds.of(*one)
    mistakes.refuse()
    return limits


def groups(value: Any) -> Any:
    """Public lists by the columns that groups are by, with commas between; or one list, or its file."""
    if not isinstance(value, Mapping):
        if isinstance(value, Path):
            return value
        if isinstance(value, str | bytes) or hasattr(value, "columns") or not isinstance(value, Iterable):  # letters, or names
            raise Wrong("must be a list of values, as list(frame.column), or the Path of a file with one in each line")
        return tuple(value)
    mistakes = Mistakes()
    for by, listed in value.items():
        if not isinstance(listed, list | tuple):
            mistakes.add((by,), "must be a list, in [ ]")
        elif not listed:
            mistakes.add((by,), "lists no group")
    mistakes.refuse()
    return {tuple(by.split(",")) if isinstance(by, str) else tuple(by): tuple(listed) for by, listed in value.items()}


def budget(value: Any) -> ApproxDP:
    """ε, or e^ε itself, and δ."""
    if isinstance(value, ApproxDP):
        return value
    if not isinstance(value, Mapping):
        raise Wrong('must be { epsilon = …, delta = … }, as { epsilon = 1, delta = "1e-6" }')
    mistakes = Mistakes()
    for key in value.keys() - {"epsilon", "exp_epsilon", "delta"}:
        mistakes.add((key,), "is not known; known are epsilon, exp_epsilon, delta")
    if ("epsilon" in value) == ("exp_epsilon" in value):
        mistakes.add(("epsilon",), "is missing: write epsilon = 1" if "epsilon" not in value else "or exp_epsilon: give one")
    mistakes.refuse()
    epsilon, delta, power = (value.get(key) for key in ("epsilon", "delta", "exp_epsilon"))
    every: list[Any] = [str(one) if isinstance(one, float) else one for one in (epsilon, 0 if delta is None else delta, power)]
    return ApproxDP(every[0], every[1], exp_epsilon=every[2])


def _numeric(value: Any) -> bool:
    return isinstance(value, Number | str | None) and not isinstance(value, bool)


def _named(value: Any, otherwise: str) -> Mapping[str, Any]:
    """Values by names."""
    if not (isinstance(value, Mapping) and all(isinstance(one, str) and one for one in value)):
        raise Wrong(otherwise)
    return value
