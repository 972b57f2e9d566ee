"""The values that pass between packages, small and frozen, with numbers and codes in them and no sentences: `dataset` is what
an owner declares about a table, bounds among it; `checks` says what may stand at each key, and collects what is wrong, each
mistake with its key and its line; `notice` is what a person should know, or why something is
refused; `cost` what an answer costs and what is left, with receipts and quotes; `terms` say how a question is answered, with
its `accuracy`, `answer` the shapes in which answers are used."""
