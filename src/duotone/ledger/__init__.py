"""The ledger: what was spent on each dataset, durably, and whether one answer more still fits into its budget.

Imports `line` (a charge is for answers of a line's mechanism). Start with `ledger`: a charge, from top to bottom. `request`
is what is asked, and what it costs as a dataset stands. `privacy_filters` decides whether a charge fits, by the rules of
composition; `planned_composition` is one more, on `loss_distributions`, and chooses a rule by its name (`choose`,
`filter_of`: a new rule is named there, too); `sums` are the running totals they look at; `entries` what is written and how it
is chained; `account` a dataset's registration and statement, and `latest` its end; `answered_before` what is said of an answer
at another budget;
`allowances` what each asker may spend; `capacity` how many answers a budget buys, and `close_calls` how many that are too
close to call; `verify` re-checks a whole ledger; `backup` copies one; `kept_head` finds one that has lost entries;
`question_lock` keeps threads with the same question apart; `stores` keep the entries.
"""
