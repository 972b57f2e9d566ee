"""Computed values: what may be made of one row's values, each by a function that has a value, or null, whatever they are.

Numbers are computed as floats; what would overflow, divide by zero or have no value is null (docs/reading.md). Start with
`read_formula`; a family of functions a file: `numbers`, `texts`, `times` (with `date_arithmetic` and `time_formats`),
`choices` and `casts`, all made of `parts`.
"""
