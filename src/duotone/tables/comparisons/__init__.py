"""Compiled comparisons: what each kind asks of an engine, and the levels that follow from what comes back.

`compile_question` knows the kinds. They stand by what they ask for: `threshold` has sums over people against a limit (counts,
shares, averages, quantiles), `difference` what a search decides (two averages, a variance), `counts` what follows from how many
people have each value (arithmetic of counts, a mode, different values). `shared` has what they have in common, and the levels
of sums. To add a kind: `sql/comparison` and `sql/build_comparison` (how it is written), `questions` (its level), and its place
in `compile_question`.
"""
