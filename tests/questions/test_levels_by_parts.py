"""Levels by parts: within 1 for neighbours, whatever is asked of a part. Brute force over every answer of every part."""

from __future__ import annotations

import itertools

import pytest

from duotone import ApproxDP
from duotone.model.terms import DefiniteTerms
from duotone.questions.by_parts import parts_level


@pytest.mark.parametrize("parts", [1, 3, 5, 7, 51])
def test_one_changed_answer_is_one_level_and_the_sign_is_the_majority(parts: int) -> None:
    levels = [parts_level(yes, parts) for yes in range(parts + 1)]
    assert [level >= 0 for level in levels] == [2 * yes > parts for yes in range(parts + 1)]
    assert all(abs(one - other) <= 1 for one, other in itertools.pairwise(levels))
    assert levels[-1] == (parts - 1) // 2


def test_how_many_parts_must_agree() -> None:
    """docs/questions.md: 29 are never wrong at (1, 10^-6), 57 always certain."""
    accuracy = DefiniteTerms(ApproxDP(1, "1e-6")).accuracy
    table, document = accuracy.table, accuracy.document()
    assert [table.yes(parts_level(parts, parts)) == 2**table.bits for parts in (27, 29)] == [False, True]
    assert document["always_certain_from"] == parts_level(57, 57) + 1 > parts_level(55, 55) + 1


@pytest.mark.parametrize("parts", [1, 3, 5, 7, 51])
def test_under_replace_two_changed_answers_are_one_level(parts: int) -> None:
    """Somebody leaves one part for another."""
    levels = [parts_level(yes, parts, "replace") for yes in range(parts + 1)]
    assert [level >= 0 for level in levels] == [2 * yes > parts for yes in range(parts + 1)]
    assert all(abs(levels[i] - levels[j]) <= 1 for i in range(parts + 1) for j in range(parts + 1) if abs(i - j) <= 2)
    assert any(abs(parts_level(yes + 2, parts) - parts_level(yes, parts)) > 1 for yes in range(parts - 1)) or parts < 3
