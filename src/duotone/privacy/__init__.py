"""A privacy definition is one step bound φ: an answer of probability x for one dataset has at most φ(x) for a neighbour.

Imports `errors` and `cached`. Start with `definition` (what every definition has), then `approx_dp` ((ε, δ)) and `renyi` (one
Rényi order, with its prices and budgets; `renyi_curve` solves its φ). `iterated_step` is φ applied n times, to float64;
`rounded` a definition on whole multiples of 2^−bits; `numbers` exact numbers and directed rounding; `text` how a definition is
written in ledgers and certificates, and notes on unusual budgets.
"""
