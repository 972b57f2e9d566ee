from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import binom, chi2

import duotone
from duotone import ApproxDP, Coin, DuotoneError, balanced, partition_selection, with_boundary
from duotone.graphs import families
from duotone.graphs.table import graph_table
from duotone.line.mechanism import NEVER
from duotone.line.noise import Margin
from duotone.line.table import YES_NO, Table, line_table
from duotone.line.which import Which
from duotone.release.coin import NotPrivateWarning, insecure_test_seed
from support.running import peak

FALSE_ALARM = 1e-9
COIN = Coin(balanced(ApproxDP(1, "1e-6")))


@pytest.mark.slow
@pytest.mark.false_alarm(100 * FALSE_ALARM)  # 20 statistics, whose tails are less than 5 times those of chi-squared
@pytest.mark.parametrize("draw", [Coin.answers, lambda coin, levels: coin.margins(levels) >= 0], ids=["answers", "margins"])
def test_the_distribution_of_released_answers(draw: Callable[[Coin, Any], Any]) -> None:
    """Chi-squared over all levels of 20 random budgets, 10^8 draws in all; the sign of a margin has the same."""
    rng = np.random.default_rng(2026)
    for _ in range(20):
        privacy = ApproxDP(float(rng.uniform(0.2, 4)), float(10 ** rng.uniform(-9, -1)))
        build = rng.choice(np.array([balanced, partition_selection, lambda p: with_boundary(p, "1/3")], dtype=object))
        table = line_table(build(privacy))
        lowest, highest = -len(table.red) - 2, len(table.blue) + 1
        levels = rng.integers(lowest, highest + 1, size=5 * 10**6)
        answers = draw(Coin(table), levels)
        drawn = np.bincount(levels - lowest)
        yes = np.bincount(levels - lowest, weights=answers)
        statistic, degrees = 0.0, 0
        for i, level in enumerate(range(lowest, highest + 1)):
            p = float(Fraction(table.yes(level), 2**table.bits))
            if p in (0.0, 1.0) and table.yes(level) in (0, 2**table.bits):
                assert yes[i] == p * drawn[i]
            elif min(p, 1 - p) * drawn[i] >= 2000:
                statistic += (yes[i] - drawn[i] * p) ** 2 / (drawn[i] * p * (1 - p))
                degrees += 1
        assert statistic < chi2.isf(FALSE_ALARM, degrees)


@pytest.mark.slow
@pytest.mark.false_alarm(500 * FALSE_ALARM / 100)  # no more than 500 pairs of a level and an x
def test_what_a_margin_says_is_true_as_often_as_it_says() -> None:
    """10^6 draws at each level: certain is never wrong; p ≤ x beside a wrong answer comes up with x at most."""
    many = 10**6
    for level in range(-31, 31):
        margins, times = np.unique(COIN.margins(np.full(many, level)), return_counts=True)
        told = [(Margin(k, COIN.table.noise), count) for k, count in zip(margins.tolist(), times.tolist(), strict=True)]
        wrong = [(margin.p_value, count) for margin, count in told if margin.answer is not (level >= 0)]
        assert min((p for p, _ in wrong), default=1) > 0
        assert any(margin.certain for margin, _ in told) or abs(level) < 8
        for x, _ in wrong:
            assert binom.sf(sum(count for p, count in wrong if p <= x) - 1, many, x) > FALSE_ALARM / 100


@pytest.mark.slow
@pytest.mark.false_alarm(2 * FALSE_ALARM)
def test_single_answers_have_the_same_distribution() -> None:
    for level, n in ((0, 40_000), (-2, 40_000)):
        p = float(Fraction(COIN.table.row(level)[0], 2**COIN.table.bits))
        yes = sum(COIN.answer(level).answer for _ in range(n))
        assert (yes - n * p) ** 2 / (n * p * (1 - p)) < chi2.isf(FALSE_ALARM, 1)


class Scripted:
    """Randomness that a test dictates."""

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = list(chunks)

    def bytes(self, n: int) -> bytes:
        chunk = self.chunks.pop(0)
        assert len(chunk) == n
        return chunk


def test_a_coin_compares_every_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """yes exactly when the random integer is below the threshold, however long the tie."""
    table = line_table(balanced(ApproxDP(1, "1e-6")))
    coin = Coin(table)
    for level in (-20, -3, -1, 0, 3, 20):
        threshold = table.yes(level)
        for drawn in (0, threshold - 1, threshold, threshold + 1, 2**table.bits - 1):
            if not 0 <= drawn < 2**table.bits:
                continue
            high, low = divmod(drawn, 2 ** (table.bits - 64))
            script = Scripted(high.to_bytes(8, "little"), low.to_bytes(table.bits // 8 - 8, "little"))
            monkeypatch.setattr(os, "urandom", script.bytes)
            assert coin.answer(level).answer == (drawn < threshold)


def test_a_batch_compares_every_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    table = line_table(balanced(ApproxDP(1, "1e-6")))
    coin = Coin(table)
    for level in (-3, -1, 0, 3):
        threshold = table.yes(level)
        for drawn in (threshold - 1, threshold, threshold + 1):
            drawn_bytes = drawn.to_bytes(table.bits // 8, "big")

            class Stream(Scripted):
                def fill(self, buffers: Any, n: int) -> None:
                    buffers.random[:n] = drawn_bytes[0]  # noqa: B023

            script = Stream(drawn_bytes[8:0:-1], drawn_bytes[:8:-1])
            monkeypatch.setattr("duotone.release.coin.Keystream", lambda _: script)  # noqa: B023
            assert coin.answers(np.array([level])).tolist() == [drawn < threshold]


def test_certainty_is_certain() -> None:
    far = np.array([14, 1000, NEVER, 2**62] * 10**5)
    assert COIN.answers(far).all()
    assert not COIN.answers(-1 - far).any()
    groups = Coin(partition_selection(ApproxDP(1, 1e-3)))
    assert not groups.answers(np.full(10**6, -1)).any()
    assert COIN.answer(float("inf")).answer is True
    assert COIN.answer(float("-inf")).answer is False
    assert COIN.answer(-1 - NEVER).answer is False


def test_any_kind_of_array() -> None:
    levels = np.array([30, -30, 40, -40])
    expected = [True, False, True, False]
    kinds: list[Any] = [
        levels,
        levels.astype(np.int32),
        levels.astype(np.int8),
        levels.astype(">i4"),
        levels.tolist(),
        pd.Series(levels),
        pl.Series(levels),
        pa.array(levels),
        pa.chunked_array([levels[:2], levels[2:]]),
        np.repeat(levels, 2)[::2],
    ]
    for kind in kinds:
        assert COIN.answers(kind).tolist() == expected
    assert COIN.answers(np.array([40, 50], dtype=np.uint64)).all()
    assert COIN.answers([]).tolist() == []
    assert COIN.answers(np.array([], dtype=np.int64)).dtype == bool


def test_batches_span_chunks() -> None:
    levels = np.where(np.arange(2**19 + 7) % 2, 50, -50)
    assert (COIN.answers(levels) == (levels > 0)).all()


class Unreadable:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("4711")


@pytest.mark.parametrize(
    "bad",
    [
        np.array([0.5]),
        np.array([[1]]),
        np.array([True]),
        np.array([2**63], dtype=np.uint64),
        pd.Series([1, None]),
        pl.Series([1, None]),
        pa.array([1, None]),
        np.ma.array([1, 2], mask=[False, True]),
        np.array([1, 2], dtype="m8[s]"),
        ["4711x"],
        Unreadable(),
        4711,
    ],
)
def test_bad_levels(bad: Any) -> None:
    with pytest.raises(DuotoneError, match="levels must be a one-dimensional array of whole numbers") as caught:
        COIN.answers(bad)
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize("bad", [0.5, "4711", None, True, float("nan")])
def test_bad_level(bad: Any) -> None:
    with pytest.raises(DuotoneError, match="neither a whole number") as caught:
        COIN.answer(bad)
    assert "4711" not in str(caught.value)


@pytest.mark.false_alarm(FALSE_ALARM)
def test_graphs_are_released_by_dataset() -> None:
    graph = families.figure_2()
    coin = Coin(graph_table(graph, ApproxDP(exp_epsilon=2, delta="1/10"), {"h": "0.6", "l": "0.7"}), basis="exact distance")
    assert coin.answer("a").answer is True
    assert coin.answer("e").answer is False
    n = 10**6
    yes = coin.answers(np.full(n, graph.position("h"))).sum()
    assert (yes - 0.6 * n) ** 2 / (n * 0.24) < chi2.isf(FALSE_ALARM, 1)
    for unknown in ("secret dataset", ["secret dataset"]):
        with pytest.raises(DuotoneError, match="neither a whole number") as caught:
            coin.answer(unknown)
        assert "secret" not in str(caught.value) + _locals_of_duotone(caught.value)
    with pytest.raises(DuotoneError, match="outside the graph's datasets"):
        coin.answers(np.array([18]))


def test_an_answer_tells_nothing_else() -> None:
    answer = COIN.answer(4711)
    assert bool(answer) is True
    assert str(answer) == "yes"
    assert repr(answer) == (
        f"Answer(answer=True, margin={answer.margin}, privacy=ApproxDP(epsilon=1.0, delta=1/1000000), "
        "basis='exact distance', private=True)"
    )
    assert answer.certificate() == {**line_table(balanced(ApproxDP(1, "1e-6"))).certificate(), "basis": "exact distance"}
    assert set(vars(answer)) == {"answer", "margin", "privacy", "basis", "private", "table"}
    again = pickle.loads(pickle.dumps(answer))
    assert again == answer
    # two answers that agree, also in their margins, pickle to the same bytes, whatever levels they came from
    alike = {level: {(a := COIN.answer(level)).margin: pickle.dumps(a) for _ in range(200)} for level in (50, 4711)}
    both = alike[50].keys() & alike[4711].keys()
    assert both
    assert all(alike[50][margin] == alike[4711][margin] for margin in both)
    assert Coin(balanced(ApproxDP(1)), basis="safe bound").answer(9).basis == "safe bound"
    with pytest.raises(DuotoneError, match="a basis is"):
        Coin(balanced(ApproxDP(1)), basis="guess")  # type: ignore[arg-type]


def _locals_of_duotone(error: BaseException) -> str:
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    source = str(Path(duotone.__file__).parent)
    return "\n".join(str(frame.locals) for frame in shown.stack if frame.filename.startswith(source))


def test_no_traceback_shows_a_level(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> bytes:
        raise OSError("no randomness")

    def full(*_: Any, **__: Any) -> Any:
        raise OSError("no memory")

    def cannot_clip() -> Any:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(os, "urandom", bytes)
            patched.setattr(np, "clip", full)
            return coin.margins(levels)

    coin, chosen = Coin(balanced(ApproxDP(0.001, "1e-3"))), Coin(Which(ApproxDP(1, "1e-6"), 5, ordered=True))
    monkeypatch.setattr(os, "urandom", broken)
    level = 918_273_645_546_372_819  # in no memory address and in no entry of the table
    assert str(level) not in str(coin.table)
    levels = np.array([level, level])
    for call in (
        lambda: coin.answer(level), lambda: coin.answers(levels), lambda: coin.margins(levels), cannot_clip,
        lambda: chosen.places(levels), lambda: chosen.outcomes(levels),
    ):  # fmt: skip
        with pytest.raises(OSError, match=r"no randomness|no memory") as caught:
            call()
        shown = _locals_of_duotone(caught.value)
        assert "coin" in shown or "self" in shown  # the frames are there to be looked at
        assert not any(text in shown for text in (str(level), f"{level:_}", f"{level:x}"))
    monkeypatch.undo()
    with pytest.raises(DuotoneError) as refused:
        coin.answer(4711.5)
    assert "4711" not in _locals_of_duotone(refused.value)


def test_a_table_of_odd_width_is_refused() -> None:
    for bits in (64, 100):
        with pytest.raises(DuotoneError, match="at least 72 bits, a whole number of bytes"):
            Coin(Table(ApproxDP(1), YES_NO, bits, ((0, 2**bits), (2**bits, 0)), -1, boundary="balanced"))


def test_a_coin_can_be_sent_to_workers() -> None:
    again = pickle.loads(pickle.dumps(COIN))
    assert again.answers(np.array([50, -50])).tolist() == [True, False]


def _toss(coin: Coin, pipe: Any) -> None:
    pipe.send(coin.answers(np.zeros(4096, dtype=np.int64)).tobytes())
    pipe.send([coin.answer(0).answer for _ in range(4096)])
    pipe.close()


@pytest.mark.slow
@pytest.mark.false_alarm(1e-300)  # two rows of 4096 coins agree with 10^-888
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forks_share_no_randomness() -> None:
    COIN.answers(np.zeros(4096, dtype=np.int64))
    context = multiprocessing.get_context("fork")
    seen = [COIN.answers(np.zeros(4096, dtype=np.int64)).tobytes()]
    singles = []
    for _ in range(4):
        ours, theirs = context.Pipe()
        process = context.Process(target=_toss, args=(COIN, theirs))
        process.start()
        seen.append(ours.recv())
        singles.append(tuple(ours.recv()))
        process.join()
    assert len(set(seen)) == 5
    assert len(set(singles)) == 4


@pytest.mark.false_alarm(1e-300)
def test_threads_share_no_randomness() -> None:
    results: list[bytes] = []
    levels = np.zeros(2**20, dtype=np.int64)
    threads = [threading.Thread(target=lambda: results.append(COIN.answers(levels).tobytes())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 4
    chunks = {result[i : i + 2**18] for result in results for i in range(0, 2**20, 2**18)}
    assert len(chunks) == 16


def test_the_test_seed_is_marked() -> None:
    seeded = insecure_test_seed(1)
    with pytest.warns(NotPrivateWarning, match="NOT PRIVATE"):
        seeded.__enter__()
    with pytest.warns(NotPrivateWarning, match="NOT PRIVATE"):
        first = COIN.answers(np.zeros(1000, dtype=np.int64))
    answer = COIN.answer(20)
    assert answer.private is False
    assert str(answer) == "yes (NOT PRIVATE: test seed)"
    seeded.__exit__(None, None, None)
    with warnings.catch_warnings(action="ignore"), insecure_test_seed(1):
        assert (COIN.answers(np.zeros(1000, dtype=np.int64)) == first).all()
    assert COIN.answer(20).private is True
    assert (COIN.answers(np.zeros(1000, dtype=np.int64)) != first).any()


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("duotone.release.coin.LONG", 1)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert COIN.answers(np.full(10, 30)).all()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "tossing coins" in captured.err
    assert COIN.answers(np.full(10, 30), bar=False).all()
    assert capsys.readouterr().err == ""


def test_memory_stays_flat() -> None:
    levels = np.zeros(2**23, dtype=np.int64)
    COIN.answers(levels[: 2**22])  # which loads the compiled loop
    held, _ = peak(lambda: COIN.answers(levels))
    assert held < len(levels) + 4 * 2**20  # a byte an answer, and the buffers of one chunk


def test_without_numba_coins_are_tossed_by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duotone.release._kernels", None)
    assert Coin(balanced(ApproxDP(1))).answers(np.array([50, -50])).tolist() == [True, False]
