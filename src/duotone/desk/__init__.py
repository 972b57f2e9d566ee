"""The desk: what one can do at an office, declared once and done in one place, whichever way people come.

Imports `tables` and `ledger`, but for what a connection to a service needs of it: `operations` is the list of which HTTP, the
Python client and an assistant's tools are made, `terms` are what these take (`plain_words` say what is wrong with it),
`callers` who calls, and why they are refused. Of the rest, start with `office` (the file that says everything; `office_file`
reads it, and says what is wrong with it) and `desk` (all that people can do); `workers` are the threads, `queue` and `clock`
when it is answered (`work` how long that takes at most), `answering` how, `approvals` who must say yes before, `tables` what
it is asked about (`same_table` sees that none has two budgets, `public_files` are read once), `accounts` and `documents` what
is said of it, `records` what is kept besides the ledger, `log` what is logged of it. `made_up` makes rows about nobody, for
trying questions.
"""
