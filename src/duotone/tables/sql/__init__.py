"""SQL: a yes/no question as text becomes a few kinds of comparisons, or an error that says why not. No data is touched here.

Start with `read_question`, where a new form of question begins: from text to a tree of comparisons, whose kinds stand in
`comparison`. `syntax` parses the text, `table_names` checks the names of the table, `read_condition` reads what stands in
where and filter, and `condition` says what such a condition is; `build_comparison` makes one comparison of aggregates and a
limit. `scoring` turns comparisons into whole numbers per row, and `satisfiable` finds which conditions can hold together.
"""
