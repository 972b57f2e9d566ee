"""The desk: what one can do at an office, declared once and done in one place, whichever way people come.

Imports `tables` and `ledger`, but for what a connection to a service needs of it: `operations` is the list from which HTTP,
the Python client and an assistant's tools are made, `terms` is what these take, `callers` who calls and why they are refused.
Of the rest, start with `office` (the file that says everything; `office_file` reads it, and says what is wrong with it) and
`desk` (all that people can do); `workers` are the threads and the queues for them, `clock` says when an answer leaves (`work`
how long it takes at most), `answering` how a question is answered, `approvals` who must say yes before, `tables` what it is
about (`same_table` sees that no table has two budgets), `accounts` registers datasets in the ledger, `documents` are what is
sent about them, `records` what is kept besides the ledger, `log` what is logged. `made_up` makes rows about nobody, for trying
questions.
"""
