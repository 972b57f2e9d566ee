from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duotone import ApproxDP, ColouredGraph, DuotoneError, balanced
from duotone.errors import MissingExtra
from duotone.graphs import families, histograms
from support.running import examples

RELATIONS = ("add-remove", "replace")


def explicit(answers: Any, relation: str) -> ColouredGraph:
    """The box as a graph, pair by pair."""
    box = set(itertools.product(*map(range, answers.shape)))
    pairs = []
    for a, b in itertools.combinations(sorted(box), 2):
        apart = [y - x for x, y in zip(a, b, strict=True)]
        moved = sorted(d for d in apart if d)
        if moved == [-1, 1] if relation == "replace" else moved in ([1], [-1]):
            pairs.append((a, b))
    return ColouredGraph(pairs, {a: "blue" if answers[a] else "red" for a in sorted(box)})


@pytest.mark.slow
@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.sampled_from([0.1, 0.5]), st.integers(0, 2**32))
@settings(max_examples=60)
def test_boxes_against_the_explicit_graph(most: list[int], share: float, seed: int) -> None:
    answers = np.random.default_rng(seed).random([m + 1 for m in most]) < share
    for relation in RELATIONS:
        levels = histograms.levels(lambda *counts: answers[counts], most, neighbours=relation)  # type: ignore[arg-type]
        assert levels.shape == answers.shape
        assert (levels.ravel() == explicit(answers, relation).levels).all()


@pytest.mark.slow
@given(st.integers(1, 4), st.integers(0, 2**32), st.data())
@examples(60)
def test_one_histogram_against_the_explicit_graph(categories: int, seed: int, data: st.DataObject) -> None:
    """Answers repeat with period 3 or so, all counts are allowed: a box that the search cannot leave is exact."""
    rng = np.random.default_rng(seed)
    tile = rng.random((3,) * categories) < 0.2
    last = 2 if categories > 2 else 4
    counts = [data.draw(st.integers(0, 2)) for _ in range(categories)]

    def question(*c: Any) -> Any:
        return tile[tuple(x % 3 for x in c)]

    for relation in RELATIONS:
        level = histograms.level(question, counts, last=last, neighbours=relation)  # type: ignore[arg-type]
        reach = [c + last + 1 for c in counts]
        box = question(*np.indices([r + 1 for r in reach]))
        exact = explicit(box, relation).level(tuple(counts)) if box.size <= 700 else None
        if exact is not None:
            assert level == max(-1 - last, min(last, exact))


def test_the_family_of_histograms() -> None:
    family = families.histograms(3, 6, lambda c: c[0] > max(c[1:]), neighbours="replace").graph()
    levels = histograms.levels(lambda a, b, c: a > np.maximum(b, c), [6, 6, 6], neighbours="replace")
    assert all(levels[d] == family.level(d) for d in family.names)  # type: ignore[call-overload]


def better(a_yes: Any, a_no: Any, b_yes: Any, b_no: Any) -> Any:
    """B significantly better than A: a one-sided two-proportion z-test at 5 %."""
    a, b = a_yes + a_no, b_yes + b_no
    with np.errstate(all="ignore"):
        share = (a_yes + b_yes) / (a + b)
        z = (b_yes / b - a_yes / a) / np.sqrt(share * (1 - share) * (1 / a + 1 / b))
    return np.nan_to_num(z) > 1.6448536269514722


@pytest.mark.slow
def test_a_test_of_two_proportions_from_counts_in_the_millions() -> None:
    last = int(max(balanced(ApproxDP(1, 1e-6)).certain))
    for relation in RELATIONS:
        levels = [
            histograms.level(better, [1_000_000, 9_000_000, yes, 10_000_000 - yes], last=last, neighbours=relation)  # type: ignore[arg-type]
            for yes in range(1_002_190, 1_002_230)
        ]
        answers = [bool(better(1_000_000, 9_000_000, yes, 10_000_000 - yes)) for yes in range(1_002_190, 1_002_230)]
        assert [level >= 0 for level in levels] == answers
        assert len(set(answers)) == 2
        steps = np.diff(levels)  # one person of B changes from no to yes: one replaced, or one who leaves and one who joins
        assert (abs(steps) <= (1 if relation == "replace" else 2)).all()
    assert histograms.level(better, [0, 0, 0, 0], last=last) < 0


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: histograms.levels(lambda a: a > 1, [3], neighbours="swap"), "got swap"),  # type: ignore[arg-type]
        (lambda: histograms.level(lambda a: a > 1, [3], last=3, neighbours="swap"), "got swap"),  # type: ignore[arg-type]
        (lambda: histograms.levels(lambda: True, []), "at least one whole number"),
        (lambda: histograms.levels(lambda a: a > 1, [-1]), "none below 0"),
        (lambda: histograms.levels(lambda a: a, [3]), "one Boolean for each"),
        (lambda: histograms.level(lambda a: a > 1, [-1], last=3), "none below 0"),
        (lambda: histograms.level(lambda a: a > 1, [3.7], last=3), "whole number"),  # type: ignore[list-item]
        (lambda: histograms.level(lambda a: a > 1, [2**63], last=3), "below 2"),
        (lambda: histograms.level(lambda a: a > 1, [5], last=2.5), "the last level must be"),  # type: ignore[arg-type]
        (lambda: histograms.level(lambda a: a > 1, [5], last=-1), "the last level must be from 0"),
        (lambda: histograms.level(lambda a: a > 1, [5], last=2**20), "the last level must be from 0"),
        (lambda: histograms.levels(lambda a, b: a > b, [10**6, 10**6]), "the levels of 1000002000001 histograms need"),
    ],
)
def test_bad_lattices(build: Any, says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        build()


def test_a_box_without_its_library_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.ndimage", None)
    with pytest.raises(MissingExtra, match=r'a box of counts needs .* "duotone\[fast\]"'):
        histograms.levels(lambda a, b: a > b, [3, 3])
