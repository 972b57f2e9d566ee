"""Outcomes of coins: each has exactly its integer over 2^bits, whatever the table."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from scipy.stats import chisquare

from duotone import ApproxDP, Coin, DuotoneError, balanced, with_boundary
from duotone.graphs import families
from duotone.graphs.table import graph_table
from duotone.line.table import Outcome, Table, line_table
from duotone.line.three_way import ThreeWay, mirrored, three_way_table
from duotone.line.which import which_table
from duotone.release.coin import insecure_test_seed

TABLE = three_way_table(ThreeWay(ApproxDP("0.5"), "1/20"))


class Fixed:
    """Random numbers that are given: little-endian bytes of the first 64 bits, and then of the rest."""

    def __init__(self, number: int, bits: int) -> None:
        self.parts = [number & (1 << bits - 64) - 1, number >> bits - 64]

    def bytes(self, n: int) -> bytes:
        return self.parts.pop().to_bytes(n, "little")


@pytest.mark.parametrize("level", [-200, -7, -2, -1, 0, 1, 3, 9, 200])
def test_a_coin_compares_one_number_with_two_thresholds(monkeypatch: pytest.MonkeyPatch, level: int) -> None:
    """At each threshold and beside it: whatever the number, its outcome is decided by all its bits."""
    yes, close, _ = TABLE.row(level)
    upto = yes + close
    coin = Coin(TABLE)
    for number in {0, yes - 1, yes, yes + 1, upto - 1, upto, upto + 1, 2**TABLE.bits - 1}:
        if 0 <= number < 2**TABLE.bits:
            monkeypatch.setattr("duotone.release.coin.Keystream", lambda _, number=number: Fixed(number, TABLE.bits))
            expected = Outcome.YES if number < yes else Outcome.TOO_CLOSE if number < upto else Outcome.NO
            assert coin.outcomes([level]) == [expected], number


def test_frequencies_are_those_of_the_table() -> None:
    draws, coin = 40_000, Coin(TABLE)
    levels = np.arange(-12, 12)
    with warnings.catch_warnings(action="ignore"), insecure_test_seed(5):
        drawn = coin.places(np.repeat(levels, draws)).reshape(len(levels), draws)
    for level, own in zip(levels.tolist(), drawn, strict=True):
        counts = [int((own == outcome).sum()) for outcome in range(3)]
        expected = [float(p) * draws for p in TABLE.chances(level)]
        assert chisquare(counts, expected).pvalue > 1e-6, level


def test_nothing_is_answered_after_the_last_call() -> None:
    coin = Coin(three_way_table(ThreeWay(ApproxDP(1), "1e-15")))
    levels = [90, 0, -90, 0, -90, 0, 90]
    assert [len(coin.outcomes(levels, calls)) for calls in (1, 2, 3, 4)] == [2, 4, 6, 7]
    assert coin.outcomes([]) == []
    assert coin.outcomes(levels)[:3] == [Outcome.YES, Outcome.TOO_CLOSE, Outcome.NO]


def test_what_is_no_level_is_refused() -> None:
    coin = Coin(TABLE)
    for levels in ([0.9], 3, [[1, 2]], ["a"], [None]):
        with pytest.raises(DuotoneError, match="whole numbers"):
            coin.outcomes(levels)
    for calls in (0, -1, 1.5):
        with pytest.raises(DuotoneError, match="at least 1"):
            coin.outcomes([1], calls)  # type: ignore[arg-type]


def test_a_close_call_is_neither_true_nor_false() -> None:
    assert [bool(outcome) for outcome in (Outcome.NO, Outcome.YES)] == [False, True]
    with pytest.raises(DuotoneError, match="neither yes nor no"):
        bool(Outcome.TOO_CLOSE)


def test_probabilities_sum_to_one_and_both_sides_agree_at_the_boundary() -> None:
    for level in range(-TABLE.reach - 3, TABLE.reach + 3):
        chances = TABLE.chances(level)
        assert sum(chances) == 1
        assert chances == TABLE.chances(-1 - level)[::-1]
    assert TABLE.chances(0) == TABLE.chances(-1)
    assert TABLE.chances(10**6) == TABLE.chances(TABLE.reach - 1)


class Bytes:
    """Random bytes that are given."""

    def __init__(self, *words: int) -> None:
        self.words = [word.to_bytes(8, "little") for word in words]

    def bytes(self, n: int) -> bytes:
        given, self.words = self.words[: n // 8], self.words[n // 8 :]
        assert len(given) * 8 == n
        return b"".join(given)


def test_one_of_several_that_are_alike_is_drawn_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of the last, incomplete run are drawn again; of the truth an even draw is made, too, and not used."""
    table = which_table(ApproxDP(1, "1e-6"), 8)  # seven others
    assert 2**64 % 7 == 2
    last = 2**64 - 1
    stream = Bytes(last, last, 0, 77, last, last - 1, 20, last, 5, 12, 99)
    monkeypatch.setattr("duotone.release.coin.Keystream", lambda _: stream)
    # three words for the truths, of which the second needs all bits; three even ones, of which two are redrawn, one twice
    assert Coin(table).outcomes([0, 10**9, 0]) == [1 + 12 % 7, 0, 0]
    assert [int.from_bytes(word, "little") for word in stream.words] == [99]
    stream.words = [word.to_bytes(8, "little") for word in (last, last - 2)]
    assert Coin(table).outcomes([0]) == [1 + (last - 2) % 7]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.false_alarm(1e-7)
def test_a_million_draws_of_which_of_k_are_those_of_the_row(*, ordered: bool) -> None:
    table = which_table(ApproxDP(1, "1e-6"), 10, ordered=ordered)
    draws, levels = 10**6, [0, 1, 2, 5]
    drawn = Coin(table).places(np.repeat(levels, draws)).reshape(len(levels), draws)
    for level, own in zip(levels, drawn, strict=True):
        counts, expected = np.bincount(own, minlength=10), [float(p) * draws for p in table.chances(level)]
        assert chisquare(counts, expected).pvalue > 1e-8, level
    assert not Coin(table).places([15, 16, 10**12]).any()  # certain
    assert Coin(table).places([]).tolist() == []


def test_short_tables_have_no_coin() -> None:
    with pytest.raises(DuotoneError, match="at least 72 bits"):
        Coin(mirrored(ApproxDP("0.5"), 1, (1, 2), bits=64))
    assert TABLE.chances(0)[2] <= Fraction(1, 20)


FIVE = Table(
    ApproxDP(1),
    (-2, -1, 0, 1, 2),
    128,
    (
        (0, 1, 0, 2**128 - 1, 0),
        (2**64, 1, 2**127 - 2**64 - 1, 5, 2**127 - 5),
        (0, 0, 0, 0, 2**128),
    ),
    lowest=-1,
)
"""A table of five outcomes, which are whole numbers, at three levels: what a noisy margin will be."""


@pytest.mark.parametrize("level", [-9, -1, 0, 1, 9])
def test_a_table_may_have_any_outcomes(monkeypatch: pytest.MonkeyPatch, level: int) -> None:
    """Two numbers with the same first 64 bits, an outcome that never comes, and one that always does: every bit counts."""
    row = [*accumulate(FIVE.row(level)[:-1])]
    for number in {0, 2**128 - 1, *(t + step for t in row for step in (-1, 0, 1))}:
        if 0 <= number < 2**128:
            monkeypatch.setattr("duotone.release.coin.Keystream", lambda _, number=number: Fixed(number, 128))
            assert Coin(FIVE).outcomes([level]) == [FIVE.outcomes[sum(t <= number for t in row)]], number


def test_yes_and_no_are_outcomes_too() -> None:
    coin = Coin(balanced(ApproxDP(1, "1e-6")))
    assert coin.outcomes([40, -41, 40], calls=1) == [Outcome.YES, Outcome.NO, Outcome.YES]
    graph = families.figure_2()
    sure = Coin(graph_table(graph, ApproxDP(exp_epsilon=10**15, delta="999/1000")))
    assert len(sure.outcomes(range(len(graph)))) == len(graph)
    with pytest.raises(DuotoneError, match="outside the graph's datasets"):
        sure.outcomes([len(graph)])


def test_what_is_not_optimal_by_itself_does_not_claim_to_be() -> None:
    for table in (TABLE, FIVE):
        for write in (table.certificate, table.certificate_text):
            with pytest.raises(DuotoneError, match="this table has no certificate of its own"):
                write()


def test_a_row_has_a_number_for_each_outcome_and_they_add_up() -> None:
    """Whatever the table: of levels, of datasets, of three outcomes."""
    graph = graph_table(families.figure_2(), ApproxDP(1, "1e-6"))
    lines = [TABLE, line_table(balanced(ApproxDP(1, "1e-6"))), line_table(with_boundary(ApproxDP("0.3"), "1/3"))]
    for table, places in (*((each, range(-len(each), len(each))) for each in lines), (graph, families.figure_2().names)):
        for at in places:
            assert len(table.row(at)) == len(table.outcomes)
            assert sum(table.row(at)) == 2**table.bits
            assert sum(table.chances(at)) == 1
        assert table.find("no such dataset") is None
        with pytest.raises(DuotoneError, match="neither a whole number"):
            table.row("nowhere")


def test_what_may_be_too_close_is_neither_yes_nor_no() -> None:
    for draw in (Coin(TABLE).answer, lambda level: Coin(TABLE).answers([level])):
        with pytest.raises(DuotoneError, match="other outcomes than yes and no"):
            draw(3)
