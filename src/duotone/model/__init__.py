"""The values that pass between packages: small and frozen, with numbers and codes and no sentences.

`dataset` is an owner's declaration of a table, with its bounds; `checks` validates each key, and collects mistakes,
each with its key and line; `text_types` are the types of a text file's columns. `notice` is what a person should know,
or why something is refused. `cost` is what an answer costs and what is left, with receipts and quotes. `wanted` is the
budget of a question as it is given, or what is wanted instead. `terms` say how a question is answered, with its
`accuracy`; `answer` has the forms of answers.
"""
