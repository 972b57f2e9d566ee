"""The command `duotone`: options in, library calls, text or JSON out. No logic of its own, and nothing imports it.

Start with `app` (the command, its errors, and the commands about graphs, lines and certificates); `tables` has `ask` and
`groups`, `ledger` has `ledger …`, `terminal` what they share.
"""

import sys
from importlib.util import find_spec

if any(find_spec(name) is None for name in ("rich", "typer")):
    print('duotone: the command needs an optional library: pip install "duotone[cli]"', file=sys.stderr)
    raise SystemExit(2)
