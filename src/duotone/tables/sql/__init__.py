"""SQL: a yes/no question as text becomes a few kinds of comparisons, or an error that says why not. No data is touched here.

Start with `read_question`, where a new form of question begins: from text to a tree of comparisons, whose kinds stand in
`comparison`. `syntax` parses the text, and lists all of SQL that is understood; `table_names` checks the names of the
table, and `text_notes` says what is read from text.
Of a row: `read_condition` reads where and filter, `condition` says what a condition is, `formulas` read computed values
(`interval` spans of time). Of many: `read_aggregate`, `arithmetic` of aggregates, and `build_comparison`, which makes
comparisons of them; `read_people` reads an inner select, one row per person, and `read_joins` joins with public tables.
`scoring` turns comparisons into whole numbers per row, and `satisfiable` finds which conditions can hold together. A new
function: `syntax`, `formulas`, and `engines/formulas`.
"""
