"""Formulas as Ibis expressions: each has a value or null for whatever its parts are, the same on every engine.

Guarantee: no formula can fail on a row, and none looks at another row. Numbers are floats, and what could overflow or
underflow is null: only numbers up to 10^300 from zero are added, and only zero and those from 10^-150 to 10^150 from it
multiplied.

Start with `compute`; a family of functions a file, as in `sql/formulas`, which reads them: `numbers` and `integers`, `texts`,
`times`, `choices`; `parts` are what they are made of; `from_text` is also the
rule for a column of text.
"""
