"""The values that pass between packages, small and frozen, with numbers and codes in them and no sentences: `notice` is what a
person should know, or why something is refused; `cost` what an answer costs and what is left, with receipts and quotes."""
