"""A property that is computed once for each object, without a lock."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

Value = TypeVar("Value", covariant=True)


class cached_property(functools.cached_property[Value]):  # noqa: N801, TID251 (a decorator; this is what it is for)
    """`functools.cached_property` as of Python 3.12.

    Before, it held a lock for all objects of a class: a process forked while a thread was inside would wait forever in
    the child. Here two threads may both compute a value, which is the same.

    >>> class Square:
    ...     side = 3
    ...     @cached_property
    ...     def area(self) -> int:
    ...         return self.side**2
    >>> square = Square()
    >>> square.area, vars(square)
    (9, {'area': 9})
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        super().__init__(compute)
        self.lock = nullcontext()
