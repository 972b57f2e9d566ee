"""Questions about tables: SQL in, a level out, then the charge, then the answer.

Imports `questions`, `ledger` and `release`. Start with `ask`, then `prepared`: a question is checked, charged and released.
`facts` are all that is public about it, with its `preview`, `answers` what comes out; `levels` are what it is drawn from,
`billing` says which ledger it is charged to, and what that calls the question and its table. `declared` holds what a
dataset declares against its columns, `sql` reads the question into comparisons, `compile_question` and `comparisons` say
what each asks of an engine and which level follows, `engines` ask it (`work`, with `patterns`, says what that costs at
most); every question is on `trial` with made-up tables first; `engine_conformance` opens a table, and tries an unknown
engine on made-up rows before it is trusted. `inspection` and `first_declaration` are for a table's owner, and not private.
"""

from importlib.util import find_spec

from duotone.errors import MissingExtra

if any(find_spec(name) is None for name in ("duckdb", "ibis", "sqlglot")):
    raise MissingExtra("a question about a table", "tables")
