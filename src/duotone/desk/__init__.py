"""The desk: every operation of an office, declared once and carried out in one place, however the request arrives.

Imports `tables` and `ledger`. The exception is what a remote client needs: `operations` (the list from which HTTP, the
Python client and the assistant's tools are made), `terms` (what operations take) and `callers` (who calls, and why a
request is refused).

Start with `office` (the models of the office file; `office_file` reads it and reports mistakes) and `desk` (all
operations). `workers` holds threads and queues, `clock` decides when an answer leaves, `work` how long it may take.
`answering` answers a question, `approvals` decides who must approve it first, `tables` opens the data, `same_table`
ensures that no table has two budgets. `accounts` registers datasets in the ledger, `documents` builds the JSON that is
sent, `records` stores what is not in the ledger, `log` writes the log, `made_up` makes rows about nobody for trying
questions.
"""
