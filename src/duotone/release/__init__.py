"""Releasing answers: exact coins, certificates that anyone can re-check, and an audit that uses answers alone.

Imports `graphs`. Start with `coin` (`_kernels` is its compiled loop); `groups` draws what is shown of private groups.
`certificate` re-checks what `line.table`, `line.which`, `graphs.table` and `ledger.close_calls` wrote, and imports nothing of
what made it (`certificate_numbers` reads numbers and has φ on integers, `certificate_renyi` that of one Rényi order;
`certificate_which` proves one answer among k, `certificate_close_calls` that close calls fit); `audit` bounds ε from below by
what a mechanism answers.
"""
