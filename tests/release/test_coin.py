"""A coin's answer, from randomness that the test dictates, at every level of lines that are not symmetric."""

from __future__ import annotations

import dataclasses
import math
import os
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from duotone import ApproxDP, Coin, DuotoneError, balanced, design, partition_selection, with_boundary
from duotone.graphs import families
from duotone.graphs.table import graph_table
from duotone.line.table import Table, line_table
from duotone.privacy.renyi import RenyiDP
from duotone.release.coin import NotPrivateWarning, insecure_test_seed

P = ApproxDP(exp_epsilon=2, delta="1/10")
LINES = [
    balanced(P),
    partition_selection(P),
    with_boundary(P, "1/3"),
    partition_selection(ApproxDP(1, "1e-6")),
    balanced(ApproxDP(2)),
]


def dictate(monkeypatch: pytest.MonkeyPatch, number: int, bits: int) -> None:
    """The operating system's next random bits are those of `number`: first its 64 highest, then the rest."""
    parts: list[bytes] = [
        (number >> (bits - 64)).to_bytes(8, "little"),
        (number & (2 ** (bits - 64) - 1)).to_bytes((bits - 64) // 8, "little"),
    ]

    def urandom(n: int) -> bytes:
        part = parts.pop(0)
        assert len(part) == n
        return part

    monkeypatch.setattr(os, "urandom", urandom)


def threshold(line: Any, level: float, bits: int, cap: int | None = None) -> int:
    """Pr[yes]·2^bits by the recurrence in exact fractions, each step rounded against usefulness."""
    one, privacy = 2**bits, line.privacy.exactly()
    if privacy.delta > 0:  # smaller by a hair, so that there is room for margins
        privacy = ApproxDP(exp_epsilon=privacy.exp_epsilon, delta=privacy.delta - Fraction(1, 2 ** (bits * 3 // 4)))
    else:
        privacy = ApproxDP(exp_epsilon=privacy.exp_epsilon - (privacy.exp_epsilon - 1) / 2**96, delta=0)

    def rounded(x: Any) -> Fraction:
        return Fraction(math.floor(Fraction(x) * one), one)

    truth = {
        "balanced": lambda: rounded(privacy.balance()),
        "selection": lambda: rounded(privacy.step(0)) if level >= 0 else Fraction(1),
    }
    start = truth.get(str(line.boundary), lambda: rounded(line.boundary))()
    if level < 0 and line.boundary not in truth:
        start = rounded(privacy.step(1 - start))
    steps = min(level if level >= 0 else -1 - level, (10**4 if line.privacy.delta > 0 else cap or 10**4) - 1)
    while steps > 0 and (after := rounded(privacy.step(start))) != start:
        start, steps = after, steps - 1
    return int(start * one) if level >= 0 else one - int(start * one)


@pytest.mark.parametrize("line", LINES, ids=str)
def test_single_answers_at_every_level(line: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    coin = Coin(line)
    bits = coin.table.bits
    for level in (*range(-75, 75), math.inf, -math.inf):
        limit = threshold(line, level, bits, coin.table.cap)
        for number in {max(limit - 1, 0), min(limit, 2**bits - 1), 0, 2**bits - 1}:
            dictate(monkeypatch, number, bits)
            assert coin.answer(level).answer is (number < limit), (level, number)
            monkeypatch.undo()


def test_without_margins_the_rest_of_the_bits_decides_a_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    coin = Coin(balanced(RenyiDP(20, "3/2")))
    bits = coin.table.bits
    for level in range(-8, 8):
        limit = coin.table.entries[level - coin.table.lowest][0]
        assert limit % 2 ** (bits - 64) > 1  # so that all of these begin like the limit
        for number in (limit - 1, limit, limit + 1):
            dictate(monkeypatch, number, bits)
            assert coin.answer(level).answer is (number < limit), (level, number)
            monkeypatch.undo()


@pytest.mark.parametrize("line", LINES[:4], ids=str)
def test_batches_at_every_level_reach_their_certainties(line: Any) -> None:
    """Where the table says 0 or 1, no batch ever says otherwise; beyond the table's ends a level counts as its end."""
    coin = Coin(line)
    levels = np.repeat(np.arange(-60, 60), 500)
    answers = coin.answers(levels)
    limits = {level: threshold(line, level, coin.table.bits, coin.table.cap) for level in range(-60, 60)}
    for level, limit in limits.items():
        if limit in (0, 2**coin.table.bits):
            assert (answers[levels == level] == (limit > 0)).all()
    assert {limits[-60], limits[59]} == {0, 2**coin.table.bits}


def test_every_dataset_of_a_graph_and_no_other_position() -> None:
    graph = families.figure_2()
    coin = Coin(graph_table(graph, ApproxDP(exp_epsilon=10**15, delta="999/1000")))  # as good as certain
    shares = coin.answers(np.repeat(np.arange(len(graph)), 50)).reshape(-1, 50).mean(axis=1)
    assert ((shares > 0.9) == graph.blue).all()
    for outside in (-1, len(graph), -len(graph), 2**40):
        with pytest.raises(DuotoneError, match="outside the graph's datasets"):
            coin.answers(np.array([0, outside]))


def test_the_fewest_bits_that_a_coin_takes() -> None:
    table = line_table(balanced(P))

    def narrowed(bits: int) -> Table:
        first = [yes >> (table.bits - bits) for yes, _ in table.entries]
        return dataclasses.replace(table, bits=bits, entries=tuple((t, 2**bits - t) for t in first))

    assert Coin(narrowed(72)).answer(50)
    for bits in (64, 71, 73, 76):
        with pytest.raises(DuotoneError, match="at least 72 bits"):
            Coin(narrowed(bits))


def test_what_is_private_says_so_and_cannot_be_changed() -> None:
    coin = Coin(balanced(P))
    assert coin.private
    answer = coin.answer(3)
    assert answer.private
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.private = False  # type: ignore[misc]
    with warnings.catch_warnings(action="ignore", category=NotPrivateWarning), insecure_test_seed(1):
        assert not coin.private
        assert not coin.answer(3).private


@pytest.mark.parametrize("largest", [2**63 - 1, 2**63])
def test_levels_of_64_bits(largest: int) -> None:
    read: Callable[[Any], Any] = Coin(balanced(P)).answers
    levels = np.array([largest], dtype=np.uint64)
    if largest < 2**63:
        assert read(levels).tolist() == [True]
    else:
        with pytest.raises(DuotoneError, match="64 bits at most"):
            read(levels)


class Dictated:
    """A key stream whose bits are those of `numbers`, one for each coin: a byte for all, then what the ties ask for."""

    def __init__(self, numbers: list[int], limits: list[int], bits: int) -> None:
        self.first = [n >> (bits - 8) for n in numbers]
        tied = [(n, t) for n, t in zip(numbers, limits, strict=True) if n >> (bits - 8) == t >> (bits - 8)]
        again = [n for n, t in tied if n >> (bits - 72) == t >> (bits - 72)]
        words = b"".join((n >> (bits - 72) & (2**64 - 1)).to_bytes(8, "little") for n, _ in tied)
        rest = bits - 72
        self.parts = [words, *((n & (2**rest - 1)).to_bytes(rest // 8, "little") for n in again)]

    def fill(self, buffers: Any, n: int) -> None:
        buffers.random[:n] = self.first

    def bytes(self, n: int) -> bytes:
        part = self.parts.pop(0)
        assert len(part) == n
        return bytes(part)


@pytest.mark.parametrize("compiled_from", [0, 10**9], ids=["compiled", "numpy"])
@pytest.mark.parametrize("line", LINES, ids=str)
def test_batches_compare_every_bit(line: Any, compiled_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As single answers: yes exactly where the number is below the threshold, at every level, in both loops."""
    coin = Coin(line)
    bits = coin.table.bits
    cases = []
    for level in (*range(-75, 75), 2**40, -(2**40)):
        limit = threshold(line, level, bits, coin.table.cap)
        near = {limit + sign * step for sign in (-1, 1) for step in (0, 1, 2 ** (bits - 72), 2 ** (bits - 9))}
        cases += [(level, limit, number) for number in sorted({0, 2**bits - 1, *near}) if 0 <= number < 2**bits]
    levels, limits, numbers = map(list, zip(*cases, strict=True))
    monkeypatch.setattr("duotone.release.coin.COMPILED", compiled_from)
    monkeypatch.setattr("duotone.release.coin.Keystream", lambda _: Dictated(numbers, limits, bits))
    answers = coin.answers(np.array(levels))
    assert answers.tolist() == [number < limit for number, limit in zip(numbers, limits, strict=True)]


def test_a_coin_needs_integers() -> None:
    mechanism: Any = design(families.votes(3).graph(), P)
    with pytest.raises(
        DuotoneError, match=r"got Mechanism: of a graph, duotone.graphs.table.graph_table\(graph, privacy, boundary\)"
    ):
        Coin(mechanism)
