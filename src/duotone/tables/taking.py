"""A function that takes what another one takes: written once, known to editors, type checkers and `help`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


def taking(other: Callable[Given, Any]) -> Callable[[Callable[..., Result]], Callable[Given, Result]]:
    """Give a function that passes everything on the parameters of the one that it passes them to."""

    def named(function: Callable[..., Result]) -> Callable[Given, Result]:
        own = inspect.signature(function)
        taken = inspect.signature(other)
        function.__signature__ = taken.replace(return_annotation=own.return_annotation)  # type: ignore[attr-defined]
        return function

    return named
