"""Hostile tables: every value that a source can store, beside quiet rows, and every kind of question about it.

**What one pair is.** Two tables that differ in one person (one more, one less, or one replaced), and one question about one
column of them. Both tables go through the path that is released: `prepare`, then `Prepared._levels`. For each pair it is
checked that

- neither table makes an error that the other does not make (for a question that is fit for its column: none at all);
- both have the same schema, as the question sees it, and the same refusals, word for word;
- the level of each has the sign that an independent model gives it (`model` reads stored values as docs/reading.md says,
  `questions` then answers in exact fractions, and neither shares code with the package);
- the two levels differ by at most one; for counts each is the one that the model gives.

**How so many are asked.** Many tables are put into one as its groups, and a question grouped by that column gives the level of
each: the rows of a group are a table, and two groups of one table whose rows differ by one row are a pair, as are the same
group of two tables. So a thousand pairs cost one query. `single` asks the same without groups, each table alone in a file or a
frame of its own, because what an engine knows about a whole file (its statistics) must not change how a row is read: these
pairs cost two queries each, and are a rotating sample.
"""
