"""The command `duotone`: options in, library calls, text or JSON out. No logic of its own, and nothing imports it.

Start with `app` (the command, its errors, and the commands about graphs, lines and certificates); `tables` has `ask` and
`groups`, `ledger` has `ledger …`, `terminal` what they share.
"""

from importlib.util import find_spec

from duotone.errors import MissingExtra

if any(find_spec(name) is None for name in ("rich", "typer")):
    raise MissingExtra("the command", "cli")
