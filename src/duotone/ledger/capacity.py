"""What a budget buys: how many answers of one size each account admits."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.ledger.accounts import Account, RenyiAccount, SumAccount, most_answers
from duotone.line.mechanism import LineMechanism, balanced
from duotone.model.checks import AccountName
from duotone.model.cost import MOST_ANSWERS
from duotone.privacy.approx_dp import ApproxDP

SIZES = (1, 10, 100)
"""Parts of a budget per answer, if their size is not chosen."""
SPARE = 1000
"""How much less δ an answer uses than its part, so that it does not run out first."""


@dataclass(frozen=True)
class Capacity:
    """Answers under `each` definition, out of one `budget`.

    >>> dict(Capacity(ApproxDP(1, "1e-6"), ApproxDP("0.01", "1e-12")).answers)
    {'sum': 100, 'renyi': 484}
    """

    budget: ApproxDP
    each: ApproxDP

    @property
    def mechanism(self) -> LineMechanism:
        """The mechanism of one answer, if both mistakes are equally bad."""
        return balanced(self.each)

    @cached_property
    def answers(self) -> Mapping[AccountName, int]:
        """How many answers fit in each account that has room for such a budget, up to 2^17; the account renyi is the
        best one for 1,000 answers."""
        accounts: list[Account] = [SumAccount(self.budget)]
        with suppress(DuotoneError):  # it needs a delta, and no account of it holds a very small budget
            accounts.append(RenyiAccount.of(self.budget))
        return {account.name: most_answers(account, self.each) for account in accounts}

    @property
    def or_more(self) -> tuple[AccountName, ...]:
        """The accounts that may admit more answers than were counted."""
        return tuple(account for account, count in self.answers.items() if count == MOST_ANSWERS)

    @property
    def best(self) -> tuple[AccountName, int]:
        """The account that admits the most answers (of equals the simplest), and how many."""
        account = max(self.answers, key=self.answers.__getitem__)
        return account, self.answers[account]


def capacities(budget: ApproxDP) -> list[Capacity]:
    """One answer that uses the whole budget; and answers that use a tenth and a hundredth of its ε each.

    >>> [(one.each.epsilon, float(one.each.delta)) for one in capacities(ApproxDP(1, "1e-6"))]
    [(1.0, 1e-06), (0.1, 1e-10), (0.01, 1e-11)]
    """
    return [Capacity(budget, budget if parts == 1 else _sparing(budget, parts)) for parts in SIZES]


def _sparing(budget: ApproxDP, parts: int) -> ApproxDP:
    share, spared = budget.split(parts), budget.split(parts * SPARE).delta
    if share.epsilon_exact is not None:
        return ApproxDP(share.epsilon_exact, spared)
    return ApproxDP(exp_epsilon=share.exp_epsilon, delta=spared)
