"""Questions about tables: SQL in, a level out, an answer released.

Imports `questions`, `ledger`, `release` and what they stand on. Start with `ask`, then `prepared` (release and charge). `sql`
reads a question into comparisons, `compile` and `comparisons` say what each asks of an engine, `engines` ask it.
"""

from importlib.util import find_spec

from duotone.errors import MissingExtra

if any(find_spec(name) is None for name in ("duckdb", "ibis", "numba", "sqlglot")):
    raise MissingExtra("a question about a table", "tables")
