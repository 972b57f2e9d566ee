"""Functions of texts."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any

import ibis

LONGEST_TEXT = 1_000_000
"""The characters of texts that are joined, at most."""


@functools.cache
def _concat(many: int) -> Callable[..., Any]:
    """So many texts as one, by one function: of a chain of two each, which is what concat is written as, engines keep every
    beginning in memory."""

    def concat(*texts: Any) -> Any: ...

    names = (Parameter(f"text{i}", Parameter.POSITIONAL_ONLY) for i in range(many + 1))
    concat.__signature__ = Signature(list(names))  # type: ignore[attr-defined]
    made: Callable[..., Any] = ibis.udf.scalar.builtin(name="concat_ws", signature=(("string",) * (many + 1), "string"))(concat)
    return made


def _joined(*texts: Any) -> Any:
    """Null where one of them is, or all together are too long: their size is then no number that is small enough."""
    size = functools.reduce(operator.add, (text.length() for text in texts))
    return ibis.cases((size <= LONGEST_TEXT, _together(texts)))


def _together(texts: Sequence[Any]) -> Any:
    return texts[0] if len(texts) == 1 else _concat(len(texts))("", *texts)


def _separated(separator: Any, texts: Sequence[Any]) -> Any:
    """Texts with a separator between them, those that are null left out."""
    after = [ibis.coalesce(separator + text, "") for text in texts]
    return _together(after).substr(len(separator.op().value))


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
    "replace": lambda x, old, new: x.replace(old, new),
    "split": lambda x, separator, n: _split_part(x, separator, int(n)),
    "place": lambda x, part: x.find(part).cast("int64") + 1,
    "digits": lambda n: n.cast("int64").cast("string"),
    "padded": lambda n, width: (n.cast("int64") + 10 ** int(width)).cast("string").right(int(width)),
    "word": lambda words, n: _split_part(words, ",", n.cast("int32")),
    "pieces": lambda *texts: functools.reduce(operator.add, texts),
    "separated": lambda separator, *texts: _separated(separator, texts),
    "join": _joined,
    "concat": lambda *texts: _together([text.fill_null("") for text in texts]),
}
"""Functions of texts."""
