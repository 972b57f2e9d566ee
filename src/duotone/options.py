"""Options that are not known: the right name of a misspelt one."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any, ParamSpec, TypeVar

from duotone.errors import UnknownOption

MOST_NAMED = 30
"""Most keys that a sentence lists."""


def unknown(key: str, known: Collection[str]) -> str:
    """An unknown key: with the similar key that is probably meant, or with all keys.

    >>> unknown("bugdet", ["budget", "account"]), unknown("colour", ["budget", "account"])
    ('is not known: budget is', 'is not known; known are budget, account')
    """
    near = close(key, known)
    named = [*dict.fromkeys(known)][:MOST_NAMED]
    return f"is not known: {near} is" if near else f"is not known; known are {', '.join(named)}"


def close(key: str, known: Collection[str]) -> str | None:
    """The key that is probably meant: a similar one, or one with the same beginning."""
    near = difflib.get_close_matches(key.lower(), known, 1, 0.7)
    return next(iter([*near, *(name for name in known if len(key) > 2 and name.startswith(key.lower()))]), None)


P = ParamSpec("P")
R = TypeVar("R")


@functools.cache
def options_of(*functions: Callable[..., Any]) -> tuple[str, ...]:
    """The names of all parameters of functions."""
    every = (parameter for function in functions for parameter in inspect.signature(function).parameters.values())
    return tuple(dict.fromkeys(one.name for one in every if one.kind is not one.VAR_KEYWORD and one.name != "self"))


def require_known(given: Iterable[str], known: Collection[str]) -> None:
    """Refuse an option that is not known: by the name that is probably meant, or with all names."""
    for key in given:
        if key not in known:
            raise UnknownOption(f"{key} {unknown(key, known)}")


def known_options(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, which refuses a misspelt option by the right name.

    >>> known_options(lambda *, budget: budget)(bugdet=1)
    Traceback (most recent call last):
    duotone.errors.UnknownOption: bugdet is not known: budget is
    """

    @functools.wraps(function)
    def checked(*given: P.args, **named: P.kwargs) -> R:
        require_known(named, options_of(function))
        return function(*given, **named)

    return checked
