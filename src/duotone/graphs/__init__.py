"""Coloured dataset graphs and their optimal mechanisms: nodes are datasets, edges join neighbours, colours are true answers.

Imports `line` and `privacy`. Start with `graph`, then `optimum` (`design`) and `mechanism`. `families` has the usual graphs,
`morphism` maps between them, `truth_table` and `histograms` are graphs too large to list; `_csr`, `_search` and `_transform`
are the fast parts.
"""
