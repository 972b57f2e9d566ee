"""Questions about tables: SQL in, a level out, then the charge, then the answer.

Imports `questions`, `ledger` and `release`. Start with `ask`, then `prepared`: a question is checked, charged and released.
`answers` are what comes out, with all that is public about the question; `preview` says it in the question's own units,
`billing` which ledger it is charged to, and what that calls the question and its table. `declared` holds what a dataset
declares against its columns, `sql` reads the question into comparisons, `compile_question` and `comparisons` say what each
asks of an engine and which levels follow, `engines` ask it (`work`, with `patterns`, says what that costs at most); every
question is on `trial` with made-up tables first, and an unknown engine is tried by `engine_conformance`. `inspection` and
`first_declaration` are for a table's owner, and not private.
"""

from importlib.util import find_spec

from duotone.errors import MissingExtra

if any(find_spec(name) is None for name in ("duckdb", "ibis", "sqlglot")):
    raise MissingExtra("a question about a table", "tables")
