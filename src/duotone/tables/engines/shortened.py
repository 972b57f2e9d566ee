"""Stored texts as they are read: cut to their first characters, as many as are declared.

Guarantee: what a text is cut to depends on itself and the declared number alone, so that a bound of sizes, and so of time and
memory, holds for every row (`tables.work`).
"""

from __future__ import annotations

from typing import Any

import ibis


@ibis.udf.scalar.builtin(name="strlen", signature=(("string",), "int64"))
def _strlen(text): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="octet_length", signature=(("string",), "int64"))
def _octet_length(text): ...  # type: ignore[no-untyped-def]


BYTES_OF = {"DuckDB": _strlen, "Postgres": _octet_length, "Spark": _octet_length}
"""What gives the bytes of a text, by engine."""


def shortened(table: Any, longest: int, engine: str) -> Any:
    """The same table, whose texts have at most so many characters.

    Of most texts only the number of bytes is looked at, which engines store: where that is no more, they are as they are.
    """
    texts = [name for name, kind in table.schema().items() if kind.is_string()]
    cut = [_cut(table[name], longest, engine).name(name) for name in texts]  # a column may have any name
    return table.mutate(*cut) if cut else table


def _cut(text: Any, longest: int, engine: str) -> Any:
    first = text.substr(0, longest)
    return ibis.ifelse(BYTES_OF[engine](text) <= longest, text, first) if engine in BYTES_OF else first
