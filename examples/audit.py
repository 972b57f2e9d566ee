"""Audit two coins from the outside: Duotone’s, and the off-by-one trap of the paper’s introduction."""

import numpy as np

from duotone import ApproxDP, Coin, audit_answers, balanced

claim = ApproxDP(exp_epsilon=2, delta="1/10")
coin = Coin(balanced(claim))


def ours(level: int, n: int) -> np.ndarray:
    """Exact coins at the level, which counts from the boundary of the dataset's own colour."""
    return coin.answers(np.full(n, level))


def trap(level: int, n: int) -> np.ndarray:
    """The distance measured to the nearest dataset of the other colour: one too far."""
    return coin.answers(np.full(n, level + 1 if level >= 0 else level - 1))


for name, answers in {"exact coins": ours, "off by one": trap}.items():
    found = audit_answers(answers, 0, -1, claim, draws=2_000_000, confidence=1 - 1e-9)
    verdict = "REFUTED" if found.caught else "not refuted"
    print(f"{name}: epsilon is at least {found.epsilon:.4f}, claimed {claim.epsilon:.4f}: {verdict}")
