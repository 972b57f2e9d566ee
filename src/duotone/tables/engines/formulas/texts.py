"""Functions of texts."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import ibis

LONGEST_TEXT = 1_000_000
"""The characters of texts that are joined, at most."""


def _joined(*texts: Any) -> Any:
    size = functools.reduce(operator.add, (text.length() for text in texts))
    return ibis.cases((size <= LONGEST_TEXT, functools.reduce(operator.add, texts)))


def _separated(separator: Any, texts: Sequence[Any]) -> Any:
    """Texts with a separator between them, those that are null left out."""
    after = [ibis.coalesce(separator + text, "") for text in texts]
    return _joined(*after).substr(len(separator.op().value))


def _replaced(column: Any, old: Any, new: Any) -> Any:
    grows = max(1, len(new.op().value))
    return ibis.cases((column.length() <= LONGEST_TEXT // grows, column.replace(old, new)))


@ibis.udf.scalar.builtin(name="split_part", signature=(("string", "string", "int32"), "string"))
def _split_part(text, separator, n): ...  # type: ignore[no-untyped-def]


TEXTS: dict[str, Callable[..., Any]] = {
    "lower": lambda x: x.lower(),
    "upper": lambda x: x.upper(),
    "trim": lambda x: x.strip(),
    "length": lambda x: x.length().cast("int64"),
    "substring": lambda x, start, length=None: x.substr(int(start) - 1, *(() if length is None else (int(length),))),
    "right": lambda x, n: x.right(int(n)),
    "ltrim": lambda x: x.lstrip(),
    "rtrim": lambda x: x.rstrip(),
    "replace": lambda x, old, new: _replaced(x, old, new),
    "split": lambda x, separator, n: _split_part(x, separator, int(n)),
    "place": lambda x, part: x.find(part).cast("int64") + 1,
    "digits": lambda n: n.cast("int64").cast("string"),
    "padded": lambda n, width: (n.cast("int64") + 10 ** int(width)).cast("string").right(int(width)),
    "word": lambda words, n: _split_part(words, ",", n.cast("int32")),
    "pieces": lambda *texts: functools.reduce(operator.add, texts),
    "separated": lambda separator, *texts: _separated(separator, texts),
    "join": _joined,
    "concat": lambda *texts: _joined(*(text.fill_null("") for text in texts)),
}
"""Functions of texts."""
