"""Releasing answers: exact coins, certificates that anyone can re-check, and an audit that looks at answers alone.

Imports `graphs`. Start with `coin` (`_kernels` is its compiled loop). `certificate` re-checks the integers of a mechanism and
shares no code with what made them; `audit` bounds ε from below by what a mechanism answers.
"""
