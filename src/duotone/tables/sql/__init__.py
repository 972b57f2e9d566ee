"""SQL: a yes/no question as text becomes a few kinds of comparisons, or an error that says why not. No data is touched here.

Start with `read_question`, where a new form of question begins: from text to a tree of comparisons, whose kinds stand in
`comparison`, and the tables that they are about in `question_tables`. `syntax` parses the text, and lists all of SQL that is
understood; `normal_form` is the text by which a ledger knows a question; `names` says what names of tables and columns mean,
and `text_notes` what is read from text. Of a row: `read_condition` reads where and filter, `condition` says what a condition
is, `constants` reads what a value is compared with, `functions` are those of computed values. Of many: `read_comparison`, with
`read_aggregate` and `arithmetic` of aggregates, and `build_comparison`, which makes comparisons of them, by kind
(`build_thresholds`, `build_quotients`). `read_groups` reads group by, `read_people` an inner select, one row per person,
`read_joins` joins with public tables, and `read_together` those of several private ones. `scoring` turns comparisons into
whole numbers per row, and `satisfiable` finds which conditions can hold together.
"""
