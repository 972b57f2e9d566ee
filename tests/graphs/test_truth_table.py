from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit as numba_njit

from duotone import DuotoneError, TruthTable
from duotone.graphs import families, truth_table
from duotone.line.mechanism import NEVER
from support.running import thinned

njit: Any = numba_njit


@njit  # type: ignore[untyped-decorator]
def ones(x: int) -> int:
    count = 0
    while x:
        x &= x - 1
        count += 1
    return count


def by_brute_force(voters: int, answers: Any) -> Any:
    """Every dataset against every boundary dataset."""
    f, x = np.asarray(answers), np.arange(2**voters)
    boundary = np.flatnonzero(sum(f != f[x ^ (1 << axis)] for axis in range(voters)))
    if not boundary.size:
        return np.where(f, 127, -128)
    distance = np.full(2**voters, 127)
    for part in np.array_split(boundary, 1 + boundary.size // 64):
        distance = np.minimum(distance, np.bitwise_count(x[:, None] ^ part).min(axis=1, initial=127))
    return np.where(f, distance, -1 - distance)


@pytest.mark.parametrize("voters", [1, 2, 3])
def test_every_boolean_function(voters: int) -> None:
    for answers in itertools.product([False, True], repeat=2**voters):
        assert TruthTable.from_array(np.array(answers)).levels().tolist() == by_brute_force(voters, answers).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("part", thinned(range(7), 7))
def test_every_boolean_function_of_four_voters(part: int) -> None:
    x = np.arange(16)
    f = (np.arange(part, 2**16, 7)[:, None] >> x) & 1 == 1
    boundary = np.any([f != f[:, x ^ (1 << axis)] for axis in range(4)], axis=0)
    apart = np.bitwise_count(x[:, None] ^ x).astype(int)
    distance = np.where(boundary[:, None, :], apart[None], 127).min(axis=2)
    for answers, levels in zip(f, np.where(f, distance, -1 - distance), strict=True):
        assert (TruthTable.from_array(answers).levels() == levels).all()


@pytest.mark.slow
@pytest.mark.parametrize("voters", thinned(range(5, 15), 2))
def test_random_functions(voters: int) -> None:
    rng = np.random.default_rng(voters)
    for share in (0.5, 0.03, 3 / 2**voters):
        answers = rng.random(2**voters) < share
        table = TruthTable.from_array(answers)
        levels = table.levels()
        assert (levels == by_brute_force(voters, answers)).all()
        assert (table.yes(np.arange(2**voters)) == answers).all()
        some = rng.integers(0, 2**voters, 9)
        if len(set(answers)) == 2:
            assert (table.levels_of(some) == levels[some]).all()
            assert table.histogram() == {int(v): int((levels == v).sum()) for v in np.unique(levels)}


@pytest.mark.slow
@given(st.integers(1, 20), st.floats(0, 1), st.integers(0, 2**32))
def test_neighbours_differ_by_at_most_one(voters: int, share: float, seed: int) -> None:
    answers = np.random.default_rng(seed).random(2**voters) < share
    levels, x = TruthTable.from_array(answers).levels().astype(int), np.arange(2**voters)
    assert ((levels >= 0) == answers).all()
    for axis in range(voters):
        assert (abs(levels - levels[x ^ (1 << axis)]) <= 1).all()


@pytest.mark.slow
def test_twenty_eight_voters_by_closed_forms() -> None:
    rng, n = np.random.default_rng(1), 28
    some = rng.integers(0, 2**n, 200)
    text = ["".join(str(int(x) >> i & 1) for i in range(n)) for x in some]

    @njit  # type: ignore[untyped-decorator]
    def more_than_half(x: int) -> Any:
        return ones(x) > 14

    votes = families.votes(n)
    symmetric = TruthTable.from_function(n, more_than_half)
    assert symmetric.levels_of(some).tolist() == [votes.level(t.replace("0", "2")) for t in text]
    weights = [*rng.integers(-50, 100, n - 1).tolist(), "7/2"]
    weighted = families.weighted(weights, 300)
    assert TruthTable.from_weights(weights, 300).levels_of(some).tolist() == [weighted.level(t) for t in text]


def test_every_way_in_gives_the_same_table(tmp_path: Path) -> None:
    n = 19
    asked = TruthTable.from_function(n, lambda x: np.bitwise_count(x) >= 10)
    compiled = TruthTable.from_function(n, njit(lambda x: ones(x) >= 10))
    answers = asked.yes(np.arange(2**n))
    np.save(tmp_path / "answers.npy", answers)
    np.save(tmp_path / "packed.npy", np.packbits(answers, bitorder="little"))
    np.packbits(answers, bitorder="little").tofile(tmp_path / "packed.bits")
    read = [TruthTable.read(tmp_path / name) for name in ("answers.npy", "packed.npy", "packed.bits")]
    for other in (compiled, TruthTable.from_weights(["1/3"] * n, "10/3"), *read):
        assert (other.voters, (other.words == asked.words).all()) == (n, True)


def test_constants_have_no_boundary() -> None:
    always = TruthTable.from_function(3, lambda x: x >= 0)
    never = TruthTable.from_function(3, njit(lambda x: x < 0))
    assert (always.histogram(), never.histogram()) == ({math.inf: 8}, {-math.inf: 8})
    assert (always.levels_of([1]).tolist(), never.levels_of([1]).tolist()) == ([NEVER], [-1 - NEVER])


def broken(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda _: TruthTable.from_function(33, lambda x: x > 0), "1 to 32 voters, got 33"),
        (lambda _: TruthTable.from_function(0, lambda x: x > 0), "1 to 32 voters, got 0"),
        (lambda _: TruthTable.from_function(3, lambda x: x), "one Boolean for each"),
        (lambda _: TruthTable.from_function(3, lambda x: x[0] > 1), "one Boolean for each"),
        (lambda _: TruthTable.from_array(np.zeros(3, dtype=bool)), r"2\^n answers, n at least 1, got 3"),
        (lambda _: TruthTable.from_array(np.zeros(4)), "array of Booleans, or of bytes"),
        (lambda _: TruthTable.from_weights([2**61, 2**61], 1), "too many digits"),
        (lambda _: TruthTable.from_function(3, lambda x: x > 3).yes([8]), "whole number from 0 to 7"),
        (lambda _: TruthTable.from_function(3, lambda x: x > 3).levels_of([0.5]), "whole number from 0 to 7"),
        (lambda tmp: TruthTable.read(tmp / "no.npy"), "cannot read .*no.npy: No such file"),
        (lambda tmp: TruthTable.read(broken(tmp / "b.npy", b"\x93NUMPY")), "not a NumPy file"),
        (lambda tmp: TruthTable.read(broken(tmp / "b.npy", b"hello")), "not a NumPy file"),
        (lambda tmp: TruthTable.read(broken(tmp / "b.bits", b"")), "empty"),
        (lambda tmp: TruthTable.read(broken(tmp / "b.bits", b"abc")), r"b\.bits: a truth table has 2\^n answers"),
    ],
)
def test_bad_tables(tmp_path: Path, build: Any, says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        build(tmp_path)


def test_memory_is_refused_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TruthTable.from_function(20, lambda x: x > 99)
    monkeypatch.setattr("duotone.resources.free_memory", lambda: 2**19)
    with pytest.raises(DuotoneError, match="the levels of 20 voters need"):
        table.levels()
    with pytest.raises(DuotoneError, match="the answers of 30 voters need"):
        TruthTable.from_weights([1] * 30, 3)


@settings(max_examples=30)
@given(st.integers(1, 9), st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([1, 64]))
def test_few_levels_are_searched_for(voters: int, seed: int, few: int, look: int) -> None:
    """Against the bits in which datasets differ; without the whole table unless a search would take longer."""
    rng = np.random.default_rng(seed)
    answers = rng.random(2**voters) < rng.choice([0.02, 0.5, 0.98])
    answers[0] = not answers[-1]  # both answers are there
    some = rng.integers(0, 2**voters, few)
    table = TruthTable.from_array(answers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(truth_table, "LOOK", look)
        if look == 1:  # a search for one alone never takes longer then
            patch.setattr(TruthTable, "levels", None)
            some = some[:1]
        levels = table.levels_of(some).tolist()
    for x, level in zip(some.tolist(), levels, strict=True):
        away = min((x ^ y).bit_count() for y in range(2**voters) if answers[y] != answers[x])
        assert level == (away - 1 if answers[x] else -away)
