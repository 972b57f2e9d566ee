"""Notes on extreme budgets: at public thresholds, in words, never an error."""

from __future__ import annotations

import pytest

from duotone import ApproxDP
from duotone.model.notice import budget_notes


@pytest.mark.parametrize(
    ("privacy", "said"),
    [
        (ApproxDP(1, "1e-6"), []),
        (ApproxDP(10, "1e-3"), []),
        (ApproxDP("10.001"), ["weak: with epsilon 10.001"]),
        (ApproxDP(1, "0.002"), ["weak: with probability up to delta, 0.002"]),
        (ApproxDP(exp_epsilon=10**6, delta="1/2"), ["weak: with epsilon 13.8", "weak: with probability up to delta, 0.5"]),
        (ApproxDP(0), ["a coin toss: "]),
        (ApproxDP(exp_epsilon=1), ["a coin toss: "]),
        (ApproxDP(0, "1e-6"), ["almost a coin toss: "]),
    ],
)
def test_notes(privacy: ApproxDP, said: list[str]) -> None:
    notes = budget_notes(privacy)
    assert len(notes) == len(said)
    assert all(str(note).startswith(words) for note, words in zip(notes, said, strict=True))


def test_an_epsilon_of_0_is_written_as_one() -> None:
    assert repr(ApproxDP(0)) == "ApproxDP(epsilon=0.0, delta=0)"
    assert repr(ApproxDP(exp_epsilon=1)) == "ApproxDP(exp_epsilon=1, delta=0)"
