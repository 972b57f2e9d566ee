"""SQL: a yes/no question as text becomes a few kinds of comparisons, or an error that says why not. No data is touched here.

Start with `read_question`: from text to a tree of comparisons, whose kinds stand in `comparison`. `syntax` parses the text,
lists all of SQL that is understood and says what names of tables and columns mean; a ledger knows a question by its
`normal_form`. Of a row: `read_condition` reads where, filter and constants, `condition` says what a condition is and which can
hold together, `functions` are those of computed values. Of many rows: `read_comparison` reads aggregates and what is compared
with them, and `build_comparison` makes comparisons of these. `read_tables` reads joins and inner selects. `scoring`
turns comparisons into whole numbers per row.
"""
