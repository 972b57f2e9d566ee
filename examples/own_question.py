"""A question of one's own: are there at least two people over 60 for each one under 20? Verified, then asked."""

from duotone import ApproxDP, Coin, balanced
from duotone.questions import Threshold, verify


def weight(age: int) -> int:
    """+1 over 60, -2 under 20: yes when the sum is at least 0."""
    return 1 if age > 60 else -2 if age < 20 else 0


question = Threshold(weight, lowest=-2, highest=1, at_least=0)
print(f"by brute force: {verify(question, [15, 40, 70], people=4)}")

ages = [70] * 130 + [40] * 300 + [15] * 50
print(f"asked of {len(ages)} people: {Coin(balanced(ApproxDP(1, '1e-6'))).answer(question.level(ages))}")
