"""The ledger: what was spent on each dataset, durably, and whether one answer more still fits.

Imports `line` and `privacy`. Start with `ledger` (a charge, top to bottom). `filters` and `planned` decide what fits, `sums`
adds up, `entries` says what is written, `verify` re-checks it, `loss_distributions` composes answers, `stores` keep entries.
"""
