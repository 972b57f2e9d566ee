"""Releasing answers: exact coins, certificates that anyone can re-check, and an audit that looks at answers alone.

Imports `graphs`. Start with `coin` (`_kernels` is its compiled loop; `three_way_coin` has coins that may say that it is too
close to call). `certificate` re-checks what `line.table`, `graphs.table` and `ledger.close_calls` wrote, and imports nothing of
what made it (`certificate_steps` is φ on integers, `certificate_graph` the proof of a graph, `certificate_close_calls` that of
close calls, `certificate_numbers` reads numbers); `audit` bounds ε from below by what a mechanism answers.
"""
