"""SQL: a yes/no question as text becomes a few kinds of comparisons, or an error that says why not. No data is touched here.

Start with `read_question`, where a new form of question begins: from text to a tree of comparisons, whose kinds stand in
`comparison`, and the tables that they are about in `question_tables`. `syntax` parses the text, and lists all of SQL that is
understood; `normal_form` is the text by which a ledger knows a question; `table_names` and `column_names` say what names
mean, `text_notes` what is read from text, and `text_order` what may not be put in its order. Of a row: `read_condition` reads
where and filter (`is_condition`, `not_understood`), `condition` says what a condition is, `constants` and `compare_constant`
read what a value is compared with, `formulas` computed values (`interval` spans of time). Of many: `read_comparison`, with
`read_aggregate` and `arithmetic` of aggregates, and `build_comparison`, which makes comparisons of them, by kind
(`build_thresholds`, `build_differences`, `build_quotients`, `build_counts`; `build_nulls` for sums of nothing). `read_groups`
reads group by (`group_keys` its values), `read_people` an inner select, one row per person, `read_joins` joins with public
tables, `read_together` those of several private ones, and `read_value` what bounds are declared for. `scoring` turns
comparisons into whole numbers per row, and `satisfiable` finds which conditions can hold together. A new function: `syntax`,
`formulas`, and `engines/formulas`.
"""
