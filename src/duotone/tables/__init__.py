"""Questions about tables: SQL in, a level out, then the charge, then the answer.

Imports `questions`, `ledger` and `release`. Start with `ask`, then `check_question` and `prepared`: a question is
checked, charged and released. `answers` are the results, with all public facts about the question; `hypotheses` tests
hypotheses by noisy counts; `preview` shows its accuracy in its own units, and `clipping` what bounds may change;
`billing` finds the ledger and the names of the question and its table there. `declared`
opens a dataset's tables and checks its declarations against their columns, `sql` parses the question into comparisons,
`compile_question` and `comparisons` translate each into a request to an engine and its result into levels, which
`listed_groups` make one level of how many groups say yes. `engines` execute requests (`work`, with `patterns`, bounds
their cost). Every question is first on `trial` with made-up tables, and `engine_conformance` tests an unknown engine.
`check_by_parts` checks any question for `parts` of the people.
`inspection`, `text_readings` (what columns of text hold) and `first_declaration` are for a table's owner, and not private.
"""

from importlib.util import find_spec

from duotone.errors import MissingExtra

if any(find_spec(name) is None for name in ("duckdb", "ibis", "sqlglot")):
    raise MissingExtra("a question about a table", "tables")
