"""A privacy definition is one step bound φ: how large the probability of an answer may be at a neighbour, given it here.

Imports nothing but `errors` and `cached`. Start with `definition` (what every definition has), then `approx_dp` ((ε, δ)).
`numbers` holds exact numbers and directed rounding, `rounded` a definition on whole multiples of 2^−bits.
"""
