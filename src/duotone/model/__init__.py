"""What passes between tables, ledgers, services and the command: small frozen values.

A `dataset` is what its owner declares, with `bounds`; `mistakes` are what is wrong with a declaration. Imports nothing above
`questions`.
"""
