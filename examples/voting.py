"""Did the majority of 1,001 people vote yes? The level comes in closed form; nobody builds 2^1001 datasets."""

import secrets
from fractions import Fraction

from duotone import ApproxDP, balanced, families

votes = "1" * 507 + "2" * 494  # 1 = yes, 2 = no
line = balanced(ApproxDP(ratio=2, delta="1/1000000"))

print("How accurate will it be? Chance of a wrong answer, by how many votes the outcome is from flipping:")
for margin in (1, 2, 5, 10, 15, 20):
    print(f"  {margin:>3}: {float(line.error(margin - 1)):.3g}")
print(f"  from {line.certain[0] + 1:g} on: exactly 0")

yes = Fraction(line.yes(families.votes(len(votes)).level(votes)))
answer = secrets.randbelow(yes.denominator) < yes.numerator
print(f"Did the majority vote yes? {'yes' if answer else 'no'}")
