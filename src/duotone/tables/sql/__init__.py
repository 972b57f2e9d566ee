"""SQL: a question as text becomes a tree of a few kinds of comparisons, or an error with the reason. No data is
read here.

Start with `read_question`: from text to a tree of comparisons, whose kinds are in `comparison`. `syntax` parses the
text, lists all supported SQL and resolves names of tables and columns; `as_written` takes other ways of writing a
question; `normal_form` makes the text by which a ledger recognises a question. For rows: `read_condition` reads where,
filter and constants, `condition` defines conditions and which can hold together, `functions` defines computed values.
For aggregates: `read_comparison` reads them and their comparisons, `build_comparison` builds the comparisons,
`read_choice` reads which of several answers is true, `read_hypothesis` what a test may reject. `read_joins` reads joins
with public tables, `read_people` inner selects of people, `read_groups` those of groups. `scoring` turns comparisons into
integers per row, and `computed_bounds` derives bounds of computed values.
"""
