"""Releasing answers: exact coins, certificates that anyone can re-check, and an audit that looks at answers alone.

Imports `graphs`, `line` and `privacy`. Start with `coin`. `certificate` re-checks a table with integers only and shares no
code with what made it; `audit` bounds ε from below by what a mechanism answers.
"""
