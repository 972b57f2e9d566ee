"""Questions about tables: SQL in, a level out, an answer released.

Imports `questions`, `ledger`, `release` and what they stand on. Start with `ask`, then `prepared` (release and charge). `sql`
reads a question into comparisons, `compile` and `comparisons` say what each asks of an engine, `engines` ask it.
"""
