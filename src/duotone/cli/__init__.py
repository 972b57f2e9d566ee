"""The command `duotone`: options in, library calls, text or JSON out. No logic of its own, and nothing imports it.

Start with `app` (the command, its errors, and the commands about graphs); `tables` and `ledger` have a group each.
"""
