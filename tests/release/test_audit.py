from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from duotone import ApproxDP, Coin, DuotoneError, audit_answers, balanced, partition_selection, plotting
from duotone.line.table import line_table
from duotone.release.audit import _interval, audit_margins, lower_bound, one_by_one

CLAIM = ApproxDP(exp_epsilon=2, delta="1/10")
SURE = 1 - 1e-9


def line(claim: ApproxDP, shift: int = 0) -> Any:
    coin = Coin(balanced(claim))
    return lambda level, n: coin.answers(np.full(n, level + (shift if level >= 0 else -shift)))


@pytest.mark.false_alarm(1e-9)
def test_our_mechanism_keeps_its_claim_and_the_bound_comes_close() -> None:
    """10^8 draws in all."""
    audit = audit_answers(line(CLAIM), 0, -1, CLAIM, draws=5 * 10**7, confidence=SURE)
    assert not audit.caught
    assert audit.claim.epsilon - 0.005 < audit.epsilon <= audit.claim.epsilon
    legend: Any = plotting.audit_bound(audit).axes[0].get_legend()
    assert "claimed" in legend.get_texts()[1].get_text()


def test_the_introductions_off_by_one_mechanism_is_caught() -> None:
    audit = audit_answers(line(CLAIM, shift=1), 0, -1, CLAIM, draws=10**5, confidence=SURE)
    assert audit.caught
    assert audit.epsilon > 1.5


@pytest.mark.false_alarm(1e-8)
def test_a_coin_compared_in_low_precision_is_caught() -> None:
    """A group of one is to be kept with 10^-15; a coin in half precision keeps it with 2^-12 or so, the empty group never.

    (benchmarks/audits.py shows it for single precision, with 4·10^9 draws.)
    """
    claim = ApproxDP(1, 1e-15)
    rule = partition_selection(claim)
    rng = np.random.default_rng(0)

    def careless(people: int, n: int) -> Any:
        return rng.integers(0, 2**11, n) / 2**11 < rule.yes(people - 1) if people else np.zeros(n, dtype=bool)

    audit = audit_answers(careless, 1, 0, claim, draws=10**6, confidence=SURE)
    assert audit.caught
    coin = Coin(rule)
    ours = audit_answers(lambda people, n: coin.answers(np.full(n, people - 1)), 1, 0, claim, draws=10**7, confidence=0.99)
    assert ours.yes == (0, 0)
    assert not ours.caught


def noisy(mechanism: Any, *, dropped: int = 0) -> Any:
    """Margins of a mechanism, whose noise has so many of its largest entries added to the next."""
    table = line_table(mechanism)
    rows = ((0, 2**table.bits),) * dropped + table.entries[dropped:]
    coin = Coin(replace(table, entries=rows))
    return lambda level, n: coin.margins(np.full(n, level))


@pytest.mark.parametrize(("budget", "level"), [(CLAIM, 5), (ApproxDP(1, "1e-3"), 13)], ids=str)
@pytest.mark.false_alarm(2e-9)
def test_noise_that_is_one_entry_too_short_is_caught_by_its_margins_alone(budget: ApproxDP, level: int) -> None:
    short = noisy(partition_selection(budget), dropped=2)
    assert audit_margins(short, level, level - 1, budget, draws=10**6, confidence=SURE).caught
    signs = audit_answers(lambda at, n: short(at, n) >= 0, level, level - 1, budget, draws=10**6, confidence=SURE)
    assert not signs.caught


@pytest.mark.slow
@pytest.mark.false_alarm(4e-9)
def test_margins_keep_their_claim_over_all_events() -> None:
    """10^8 draws, with neighbours on the same side and on two."""
    for budget, near in ((CLAIM, 0.01), (ApproxDP(1, "1e-6"), 0.02)):
        for level in (0, 5):
            margins = noisy(balanced(budget))
            audit = audit_margins(margins, level, level - 1, budget, draws=25 * 10**6 // 2, confidence=SURE)
            assert not audit.caught
            assert audit.epsilon > budget.epsilon - near


@pytest.mark.slow
def test_one_entry_in_a_million_is_missed() -> None:
    """A group of one person is shown with δ = 10^-6: noise without that entry is caught by 10^8 draws on each side."""
    budget = ApproxDP(1, "1e-6")
    audit = audit_margins(noisy(partition_selection(budget), dropped=2), 27, 26, budget, draws=10**8, confidence=SURE)
    assert audit.caught


@pytest.mark.slow
def test_the_bound_is_right_as_often_as_it_says() -> None:
    """The exact coverage on a pair with a known ε: every outcome enumerated, none sampled."""
    n, confidence, p, q = 60, 0.9, 0.6, 0.3
    true = float(np.log(p / q))
    left, right = (np.asarray(binom.pmf(range(n + 1), n, x)) for x in (p, q))
    wrong = sum(left[i] * right[j] for i in range(n + 1) for j in range(n + 1) if lower_bound(i, j, n, 0.0, confidence) > true)
    assert wrong <= 1 - confidence


@pytest.mark.parametrize(("k", "n"), [(1, 100), (5, 10), (50, 100), (99, 100), (2500, 5000)])
@pytest.mark.parametrize("alpha", [0.05, 5e-8, 1e-12])
def test_intervals_are_as_often_wrong_as_they_say_however_rarely(k: int, n: int, alpha: float) -> None:
    low, high = _interval(k, n, alpha)
    assert binom.sf(k - 1, n, low) == pytest.approx(alpha / 2, rel=1e-9)
    if high < 1 - 1e-6:  # closer to 1 it is that float which is next to it
        assert binom.cdf(k, n, high) == pytest.approx(alpha / 2, rel=1e-9)


def test_answers_as_objects_and_numbers() -> None:
    coin = Coin(balanced(CLAIM))
    for answers in (lambda d, n: [coin.answer(d) for _ in range(n)], lambda d, n: [int(coin.answer(d).answer)] * n):
        assert audit_answers(answers, 9, 9, CLAIM, draws=50).yes == (50, 50)


def test_one_answer_at_a_time() -> None:
    audit = audit_answers(one_by_one(lambda d: d == "yes"), "yes", "no", ApproxDP(1), draws=2000)
    assert audit.caught
    assert audit.history[-1] == (2000, audit.epsilon)
    assert audit.yes == (2000, 0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"draws": 0}, "draws must be at least 1"),
        ({"confidence": 1.0}, "confidence must be between 0 and 1"),
        ({"confidence": float("nan")}, "confidence must be between 0 and 1"),
    ],
)
def test_bad_audits(change: dict[str, Any], says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        audit_answers(line(CLAIM), 0, -1, CLAIM, **change)
    with pytest.raises(DuotoneError, match="must answer with Booleans"):
        audit_answers(lambda d, n: ["yes" if d else "no"] * n, 0, -1, CLAIM, draws=5)
    with pytest.raises(DuotoneError, match="must answer with whole numbers"):
        audit_margins(lambda _, n: np.ones(n) / 2, 0, -1, CLAIM, draws=5)
    with pytest.raises(DuotoneError, match="draws must be at least 1"):
        audit_margins(line(CLAIM), 0, -1, CLAIM, draws=0)
    with pytest.raises(DuotoneError, match="must give 5 answers"):
        audit_answers(lambda _, __: [True], 0, -1, CLAIM, draws=5)


ENDINGS = {
    "leaves": "sys.exit(0)",
    "leaves at once": "os._exit(0)",
    "becomes another program": "os.execv('/bin/true', ['true'])",
    "is a subclass": "raise type('Done', (SystemExit,), {})(0)",
    "looks interrupted": "raise type('Stop', (KeyboardInterrupt,), {})",
    "is a generator's end": "raise GeneratorExit",
    "fails": "raise RuntimeError('secret 4711')",
}


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS.values(), ids=list(ENDINGS))
@pytest.mark.parametrize("place", ["called", "imported"])
def test_a_function_that_ends_the_program_does_not_pass(ending: str, place: str, tmp_path: Path) -> None:
    file = tmp_path / "box.py"
    body = f"def f(d, n):\n    {ending}\n" if place == "called" else f"{ending}\ndef f(d, n):\n    return [True] * n\n"
    file.write_text(f"import os, sys\n{body}")
    done = subprocess.run(
        [sys.executable, "-m", "duotone", "audit", f"{file}:f", "1", "2", "--epsilon", "1", "--draws", "10"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "4711" not in done.stderr
    assert ("the audited function failed with" if place == "called" else "there is no function") in done.stderr


@pytest.mark.slow
def test_a_function_may_use_processes_of_its_own(tmp_path: Path) -> None:
    """A forked child ends as it always does; and afterwards so does everybody."""
    ways = [os._exit, os.execv, os.execve]

    def forks(_: Any, n: int) -> list[bool]:
        if (child := os.fork()) == 0:
            os._exit(7)
        return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7] * n

    assert audit_answers(forks, 1, 2, ApproxDP(1), draws=5).yes == (5, 5)
    assert [os._exit, os.execv, os.execve] == ways
