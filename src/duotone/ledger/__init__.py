"""The ledger: what was spent on each dataset, durably, and whether one more answer fits into its budget.

Imports `model` and `line`. Start with `ledger`: a charge, from top to bottom. `request` is a question and its cost for
a dataset's present state; `registration` is the dataset's budget, unit and account (`account_of`: add new accounts
there). An `Account` of `accounts` says which costs it accepts, whether they fit and what is left; `close_calls`
computes how many close calls a budget admits. `allowances` limit each asker, `sums` are running totals, `entries` the
format of entries and their chain; `capacity` computes how many answers a budget buys. For the owner: `owner` has the
operations, `statement` what was charged, `verify` re-checks a whole ledger, `backup` copies one, and `kept_head`
detects lost entries. `stores` hold the entries.
"""
