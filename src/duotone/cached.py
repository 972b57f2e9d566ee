"""A property that is computed once for each object, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")


class cached_property(Generic[Value]):  # noqa: N801 (a decorator)
    """As `functools.cached_property` has been since Python 3.12.

    Before, it held a lock for all objects of a class: a process forked while a thread was inside would wait forever in the
    child. Here two threads may both compute a value, which is the same.

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
        self._compute, self.__doc__ = compute, compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        if instance is None:
            return self
        value = self._compute(instance)
        vars(instance)[self._compute.__name__] = value  # found before this descriptor from now on
        return value
