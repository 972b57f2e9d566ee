"""The command `duotone`: options in, library calls, text or JSON out. It has no logic of its own, and nothing imports
it.

Start with `app` (the commands by name, and exit codes). One file per group of commands: `design` (design, line, check,
audit, paper), `tables` (ask, groups), `test` (test), `declare` (declare, inspect), `budget`, `ledger` (ledger …;
`statement` shows what is in one), `serve` (serve, token …, mcp); they share `terminal` and what shells `complete`.
`tables` has the options that declare a dataset, and `charging` answers questions, with or without a ledger.
"""

from importlib.util import find_spec

from duotone.errors import MissingExtra

if any(find_spec(name) is None for name in ("rich", "typer")):
    raise MissingExtra("the command", "cli")
