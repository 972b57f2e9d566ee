"""Coloured dataset graphs and their optimal mechanisms: nodes are datasets, edges join neighbours, colours are true
answers.

Imports `line`. Start with `graph`, then `optimum` (`design`) and `mechanism` (and its check). `files` reads graphs,
`document` writes and reads mechanisms as JSON, `rows` writes them for pandas, CSV and LaTeX, `sweep` makes one under
each of several definitions, `table` has a mechanism's probabilities as integers, `families` the usual graphs,
`morphism` maps between them. `truth_table` (`cuda` on a GPU) and `histograms` are for graphs too large to list.
`optimum` uses `edges` (distances to the boundary) and `values` (values by dataset, propagated through a graph);
`_search` and `_transform` are compiled.
"""
