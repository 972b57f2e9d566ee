"""Audit: a lower bound on the ε of an answering function, from its answers alone."""

from __future__ import annotations

import contextlib
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from itertools import accumulate
from typing import Any, cast

import numpy as np

from duotone.errors import DuotoneError, MissingExtra
from duotone.privacy.approx_dp import ApproxDP
from duotone.release.coin import Answer
from duotone.resources import progress

CHUNK = 2**22
LONG = 2**28

PILOT = 4
"""For margins, one further draw in this many comes first, to choose the event to test."""
USUAL = 0.99
"""The default confidence of a bound."""

Answers = Callable[[Any, int], Any]
"""A black box: `answers(dataset, n)` returns n answers, as an array of Booleans; for margins, of integers."""


@dataclass(frozen=True)
class Audit:
    """What answers on two neighbouring datasets show about a claim: whether they refute it (`caught`), and a bound on
    ε."""

    claim: ApproxDP
    """The claimed privacy."""
    confidence: float
    """The confidence of the bound."""
    draws: int
    """The answers drawn on each side."""
    yes: tuple[int, int]
    """How many of them were yes, on the left and on the right."""
    epsilon: float
    """A lower bound, at that confidence, on the black box's ε at the claim's δ."""
    history: tuple[tuple[int, float], ...]
    """The bound after growing numbers of draws."""

    @property
    def caught(self) -> bool:
        """Whether the claim is refuted at that confidence."""
        return self.epsilon > self.claim.epsilon


def audit_answers(
    answers: Answers, left: Any, right: Any, claim: ApproxDP, *, draws: int = 10**6, confidence: float = USUAL
) -> Audit:
    """Test a claim of privacy from outside: draw many answers on two neighbouring datasets and see if they differ too
    much.

    Use it on any code that answers yes or no. `answers(dataset, n)` returns n answers, as an array of Booleans
    (`duotone.release.audit.one_by_one` makes such a function of one that answers once). `left` and `right` are two
    datasets that differ in one person, `claim` is the claimed privacy, `draws` is how many answers are drawn on each,
    and `confidence` that of the verdict.

    If the result's `caught` is true, the claim is refuted. If not, nothing is proved: more draws, or another pair of
    datasets, might still refute it. (A certificate proves a mechanism: `prove`.)

    Guarantee: if the black box is (ε, δ)-private for the claim's δ, the bound exceeds its ε with probability at most 1
    − confidence. (Clopper–Pearson intervals for both probabilities, half of the error each.)

    >>> import numpy as np
    >>> from duotone import ApproxDP, Coin, balanced
    >>> claim = ApproxDP(1, 0.01)
    >>> coin = Coin(balanced(claim))
    >>> audit = audit_answers(lambda level, n: coin.answers(np.full(n, level)), 0, -1, claim, draws=10**5, confidence=1 - 1e-10)
    >>> audit.caught
    False
    """
    _check(draws, confidence)
    counts = [0, 0]
    history: list[tuple[int, float]] = []
    done = 0
    for size in _sizes(draws):
        for side, dataset in enumerate((left, right)):
            counts[side] += _count(answers, dataset, size)
        done += size
        if not history or done >= 1.2 * history[-1][0] or done == draws:
            history.append((done, lower_bound(counts[0], counts[1], done, float(claim.delta), confidence)))
    return Audit(claim, confidence, draws, (counts[0], counts[1]), history[-1][1], tuple(history))


def audit_margins(
    margins: Answers, left: Any, right: Any, claim: ApproxDP, *, draws: int = 10**6, confidence: float = USUAL
) -> Audit:
    """The same for code that answers with integers, such as margins: it tests every event, not only yes.

    A quarter as many draws come first. They choose the event, a set of integers, in which the two datasets seem to
    differ most; `audit_answers` then tests it with `draws` fresh draws on each side. The result's `yes` counts how many
    were in it.

    Guarantee: that of `audit_answers`, since the draws that choose the event are not those that test it.

    >>> import numpy as np
    >>> from duotone import ApproxDP, Coin, balanced
    >>> claim = ApproxDP(1, 0.01)
    >>> coin = Coin(balanced(claim))
    >>> audit = audit_margins(lambda level, n: coin.margins(np.full(n, level)), 0, -1, claim, draws=10**5, confidence=1 - 1e-10)
    >>> audit.caught
    False
    """
    _check(draws, confidence)
    first = -(-draws // PILOT)
    here, there = (_tally(margins, dataset, first) for dataset in (left, right))
    numbers = sorted(here | there, key=lambda number: (here[number] + 1) / (there[number] + 1), reverse=True)
    counts = zip(accumulate(here[number] for number in numbers), accumulate(there[number] for number in numbers), strict=True)
    bounds = [lower_bound(*count, first, float(claim.delta), USUAL) for count in counts]
    event = np.array(numbers[: bounds.index(max(bounds)) + 1])

    def answers(dataset: Any, n: int) -> Any:
        return np.isin(_whole_numbers(margins, dataset, n), event)

    return audit_answers(answers, left, right, claim, draws=draws, confidence=confidence)


def one_by_one(function: Callable[[Any], Any]) -> Answers:
    """A black box from a function that answers once per call."""
    return lambda dataset, n: np.fromiter((bool(function(dataset)) for _ in range(n)), dtype=bool, count=n)


def named(target: str) -> Answers:
    """A black box by its name: FILE.py:FUNCTION or MODULE:FUNCTION."""
    place, _, name = target.rpartition(":")
    try:
        with _no_way_out():
            if place.endswith(".py"):
                spec = spec_from_file_location("audited", place)
                if spec is None or spec.loader is None:
                    raise ImportError(place)
                module = module_from_spec(spec)
                spec.loader.exec_module(module)
            else:
                module = import_module(place)
            function: Any = getattr(module, name)
        if not callable(function):
            raise AttributeError(name)
    except BaseException as failure:  # a missing file, or one that does not parse, fails when run, or ends the program
        if type(failure) is KeyboardInterrupt:
            raise
        raise DuotoneError(f"there is no function {target}: name it as FILE.py:FUNCTION or MODULE:FUNCTION") from None
    return cast(Answers, function)


def lower_bound(yes_left: int, yes_right: int, n: int, delta: float, confidence: float) -> float:
    """A lower confidence bound on ε from the counts of yes in n answers on each side."""
    left, right = (_interval(k, n, (1 - confidence) / 2) for k in (yes_left, yes_right))
    sides = []
    for (low, high), (other_low, other_high) in ((left, right), (right, left)):
        sides += [(low, other_high), (1 - high, 1 - other_low)]  # more yes here than there, or more no
    return max([0.0, *(math.log((p - delta) / q) for p, q in sides if p > delta)])


def _interval(k: int, n: int, alpha: float) -> tuple[float, float]:
    """Clopper and Pearson's interval for a probability, wrong with probability at most alpha."""
    # binomtest(k, n).proportion_ci("exact") agrees to 2·10^−12 only (0 for 1 of 100 at 5·10^−11), and takes 60 times as long.
    try:
        from scipy.special import betainccinv, betaincinv
    except ImportError:
        raise MissingExtra("an audit", "audit") from None
    low = float(betaincinv(k, n - k + 1, alpha / 2)) if k else 0.0
    return low, float(betainccinv(k + 1, n - k, alpha / 2)) if k < n else 1.0


def _asked(answers: Answers, dataset: Any, n: int) -> Any:
    """The black box's answers. However it fails, even by ending the program, the audit fails with it."""
    try:
        with _no_way_out():
            return np.asarray(answers(dataset, n))
    except DuotoneError:
        raise
    except BaseException as failure:
        if type(failure) is KeyboardInterrupt:
            raise
        raise DuotoneError(f"the audited function failed with {type(failure).__name__}") from None


class _Left(BaseException):
    """The audited function tried to end the program."""


@contextlib.contextmanager
def _no_way_out() -> Iterator[None]:
    """While foreign code runs, calls that end a process silently raise instead; not in its children."""
    ways = {name: getattr(os, name) for name in ("_exit", "execv", "execve") if hasattr(os, name)}
    here = os.getpid()

    def refused(way: Callable[..., Any], *arguments: Any) -> Any:
        if os.getpid() != here:
            return way(*arguments)
        raise _Left

    try:
        for name, way in ways.items():
            setattr(os, name, partial(refused, way))
        yield
    finally:
        for name, way in ways.items():
            setattr(os, name, way)


def _check(draws: int, confidence: float) -> None:
    if not (isinstance(draws, int) and draws >= 1):
        raise DuotoneError(f"draws must be at least 1, got {draws}")
    if not 0 < confidence < 1:
        raise DuotoneError(f"confidence must be between 0 and 1, got {confidence}")


def _shaped(drawn: Any, n: int) -> Any:
    if drawn.shape != (n,):
        raise DuotoneError(f"the audited function must give {n} answers when asked for {n}, got shape {drawn.shape}")
    return drawn


def _whole_numbers(margins: Answers, dataset: Any, n: int) -> Any:
    drawn = _shaped(_asked(margins, dataset, n), n)
    if drawn.dtype.kind not in "iu":
        raise DuotoneError("the audited function must answer with whole numbers")
    return drawn


def _tally(margins: Answers, dataset: Any, draws: int) -> Counter[int]:
    """How often each number occurs."""
    counts: Counter[int] = Counter()
    for start in range(0, draws, CHUNK):
        numbers, many = np.unique(_whole_numbers(margins, dataset, min(CHUNK, draws - start)), return_counts=True)
        counts.update(dict(zip(numbers.tolist(), many.tolist(), strict=True)))
    return counts


def _count(answers: Answers, dataset: Any, n: int) -> int:
    drawn = _asked(answers, dataset, n)
    if drawn.dtype == object and all(isinstance(x, bool | Answer) for x in drawn.flat):
        drawn = np.array([bool(x) for x in drawn.flat])
    _shaped(drawn, n)
    if not (drawn.dtype == bool or (drawn.dtype.kind in "iu" and ((drawn == 0) | (drawn == 1)).all())):
        raise DuotoneError("the audited function must answer with Booleans, or with 0 and 1")
    return int(np.count_nonzero(drawn))


def _sizes(draws: int) -> Iterator[int]:
    """Chunk sizes: powers of two at first, for the history, then as large as memory suggests."""
    sizes, done = [], 0
    while done < draws:
        sizes.append(min(max(done, 1024), CHUNK, draws - done))
        done += sizes[-1]
    with progress(draws, "drawing answers") if draws >= LONG else contextlib.nullcontext() as advance:
        for size in sizes:
            yield size
            if advance is not None:
                advance(size)
