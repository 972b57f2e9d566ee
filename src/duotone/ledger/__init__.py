"""The ledger: what was spent on each dataset, durably, and whether one answer more still fits into its budget.

Imports `model` and `line`. Start with `ledger`: a charge, from top to bottom. `request` is what is asked, and what it costs as
a dataset stands; `registration` how that was registered, and in which account its charges add up (`account_of`: a new one is
named there). An `Account` of `accounts` says what it accepts, whether it fits and what is left; `close_calls` counts how many
of these a budget admits. `allowances` are what each asker may spend, `sums` the running totals, `entries` what is written and
how it is chained; `capacity` says how many answers a budget buys. For the owner: `owner` is what they do, `statement` what was
charged, `verify` re-checks a whole ledger, `backup` copies one, and `kept_head` finds one that has lost entries. `stores` keep
the entries.
"""
