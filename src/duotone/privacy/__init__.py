"""A privacy definition is one step bound φ: an answer with probability x on one dataset has at most φ(x) on a
neighbour.

Imports `errors` and `cached`. Start with `definition` (what every definition has), then `approx_dp` ((ε, δ)) and
`renyi` (one Rényi order, with its prices and budgets; `renyi_curve` solves its φ). `iterated_step` is φ applied n
times, to float64; `rounded` a definition on multiples of 2^−bits; `numbers` has exact numbers and directed rounding;
`text` is how ledgers and certificates write a definition.
"""
