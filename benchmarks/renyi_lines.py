"""Lines under one Rényi order beside those under an even share of (ε, δ): how long they take to build and to prove, and
from how many people on n answers that share (1, 10^-6) are wrong with at most 10^-3 and 10^-9.

Usage: renyi_lines.py [MOST ANSWERS].
"""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import partial

import measure

from duotone import ApproxDP, balanced, prove
from duotone.line.table import Table, line_table
from duotone.privacy.renyi import RenyiDP, best_order, renyi_budget
from duotone.privacy.text import Definition

BUDGET = ApproxDP(1, "1e-6")
WRONG = (Fraction(1, 10**3), Fraction(1, 10**9))


def share(answers: int, wrong: Fraction) -> RenyiDP:
    """What one of so many answers may cost, at the best order for that accuracy."""
    order = best_order(BUDGET, answers, float(wrong))
    return RenyiDP._computed(order, renyi_budget(BUDGET, order, 0), Fraction(0)).split(answers)


def built(privacy: Definition) -> Table:
    """The line's table, from nothing."""
    line_table.cache_clear()
    return line_table(balanced(privacy))


def people(privacy: Definition, wrong: Fraction) -> int:
    """From how many people on an answer is wrong with at most this probability."""
    table = built(privacy)
    return next(place for place, truth in enumerate(table.blue, 1) if 2**table.bits - truth <= wrong * 2**table.bits)


def row(answers: int) -> str:
    """The measurements for so many answers."""
    best_order.cache_clear()
    choosing = measure.seconds(lambda: best_order(BUDGET, answers))
    needed = ["/".join(str(people(share(answers, wrong), wrong)) for wrong in WRONG)]
    both = share(answers, WRONG[0]), BUDGET.split(answers)
    needed.append("/".join(str(people(both[1], wrong)) for wrong in WRONG))
    certificates = [built(privacy).certificate() for privacy in both]
    building = measure.in_turns([partial(built, privacy) for privacy in both], 5)
    proving = measure.in_turns([partial(prove, certificate) for certificate in certificates], 3)
    times = [f"{first:.3f}, {first / second:.1f}" for first, second in (building, proving)]
    return " | ".join([f"{answers:,}", ", ".join(needed), *times, f"{choosing:.3f}"])


def main() -> None:
    """Print a row for each number of answers."""
    most = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**4
    print(measure.machine())
    print(
        "answers | people for 10^-3/10^-9: Rényi, sum | built: seconds, times (ε, δ) | proved: the same | best order: seconds"
    )
    for answers in (10, 100, 1000, 10**4):
        if answers <= most:
            print(row(answers))


if __name__ == "__main__":
    main()
