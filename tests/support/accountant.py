"""An independent accountant: it reads the entries of an exported ledger, and imports nothing of Duotone.

Standard library only. Sums are exact fractions of what each charge says in its own text; other fields are ignored.
Logarithms are bracketed by rational bounds from the series of atanh, whose remainder is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any

EXACT_BITS = 4224
"""Sums of at most this many bits are exact (docs/theory.md), so a charge that fits exactly must be answered."""
LOSS = Fraction(1, 2**480)
"""Otherwise, or with logarithms, this is more than rounding up may cost, relatively, in all charges together."""
BITS = 640


@dataclass(frozen=True)
class Definition:
    """The price of one answer: ε or e^ε, and δ."""

    epsilon: Fraction | None
    ratio: Fraction | None
    delta: Fraction

    @classmethod
    def read(cls, text: str) -> Definition:
        parts = re.fullmatch(r"(epsilon|ratio)=(\S+) delta=(\S+)", text)
        assert parts is not None, text
        value, delta = _fraction(parts[2]), _fraction(parts[3])
        return cls(value, None, delta) if parts[1] == "epsilon" else cls(None, value, delta)

    def bounds(self) -> tuple[Fraction, Fraction]:
        """Rationals around ε."""
        if self.epsilon is not None:
            return self.epsilon, self.epsilon
        assert self.ratio is not None
        return logarithm(self.ratio)


UNLIMITED = Definition(Fraction(10**9), None, Fraction(10**9))


@dataclass
class Account:
    """A dataset: its budget, and the exact sums of its charges."""

    budget: Definition
    answers: int = 0
    epsilon: Fraction = Fraction(0)
    ratio: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    charges: int = 0
    answered: int = 0
    long: bool = False
    """Whether the sums ever needed more bits than are kept exactly."""
    overspent: list[int] = field(default_factory=list)
    """The numbers of entries that certainly exceed the budget or an allowance, or follow the closing."""
    askers: dict[str, Account] = field(default_factory=dict)
    """What each asker has spent, with their allowance, if any."""
    closed: bool = False

    def plus(self, each: Definition, n: int) -> Account:
        """The account after n more answers."""
        epsilon, ratio = self.epsilon, self.ratio
        if each.epsilon is not None:
            epsilon += n * each.epsilon
        else:
            ratio *= each.ratio**n  # type: ignore[operator]
        delta = self.delta + n * each.delta
        sizes = (part.bit_length() for x in (epsilon, ratio, delta) for part in (x.numerator, x.denominator))
        made = Account(self.budget, self.answers + n, epsilon, ratio, delta)
        made.charges, made.answered, made.overspent = self.charges + 1, self.answered, list(self.overspent)
        made.askers, made.closed = self.askers, self.closed
        made.long = self.long or max(sizes) > EXACT_BITS
        return made

    def spent(self) -> tuple[Fraction, Fraction]:
        """Rationals around the sum of all ε."""
        low, high = logarithm(self.ratio)
        return self.epsilon + low, self.epsilon + high

    def above(self) -> bool:
        """Whether this certainly exceeds the budget, which must never happen."""
        if self.delta > self.budget.delta:
            return True
        if self.budget.ratio is not None and self.epsilon == 0:
            return self.ratio > self.budget.ratio
        return self.spent()[0] > self.budget.bounds()[1]

    def surely_within(self) -> bool:
        """Whether this is below the budget by more than rounding up may cost, so that it must be answered."""
        loss = 1 + LOSS
        if not (self.delta * loss if self.long else self.delta) <= self.budget.delta:
            return False
        low = self.budget.bounds()[0]
        if not self.long and self.budget.epsilon is not None and self.ratio == 1:
            return self.epsilon <= self.budget.epsilon
        if not self.long and self.budget.ratio is not None and self.epsilon == 0:
            return self.ratio <= self.budget.ratio
        return self.spent()[1] * loss + LOSS <= low


def close_calls(entries: Iterable[Mapping[str, Any]]) -> dict[str, tuple[int, int, int]]:
    """For each dataset that counts close calls: its limit, its close calls and the reserved ones. No prefix exceeds the
    limit."""
    counts: dict[str, tuple[int, int, int]] = {}
    reserved: dict[int, int] = {}
    for entry in entries:
        name = entry["dataset"]
        if entry["kind"] == "register" and "close_calls" in entry:
            counts[name] = entry["close_calls"]["count"], 0, 0
        elif entry["kind"] == "charge" and "calls" in entry:
            most, used, waiting = counts[name]
            reserved[entry["seq"]] = entry["calls"]
            counts[name] = most, used, waiting + entry["calls"]
        elif entry["kind"] == "answer" and "calls" in entry:
            most, used, waiting = counts[name]
            back = reserved.pop(entry["charge"])
            assert 0 <= entry["calls"] <= back == entry["reserved"]
            counts[name] = most, used + entry["calls"], waiting - back
        if name in counts:
            most, used, waiting = counts[name]
            assert used + waiting <= most, entry["seq"]
    return counts


def audit(entries: Iterable[Mapping[str, Any]]) -> dict[str, Account]:
    """The accounts of an exported ledger, from its charges alone; each prefix is judged."""
    accounts: dict[str, Account] = {}
    allowances: dict[str, dict[str, Definition]] = {}
    for entry in entries:
        assert entry["v"] == 1
        name = entry["dataset"]
        if entry["kind"] == "register":
            assert name not in accounts
            assert entry["account"] == "sum"
            accounts[name] = Account(Definition.read(entry["budget"]))
        elif entry["kind"] == "charge":
            each, asker = Definition.read(entry["notion"]), entry.get("by")
            accounts[name] = account = accounts[name].plus(each, entry["answers"])
            beyond = account.closed or account.above() or (asker is None and bool(allowances.get(name)))
            if asker is not None:
                own = account.askers.get(asker, Account(UNLIMITED)).plus(each, entry["answers"])
                account.askers[asker] = own
                beyond = beyond or _against(own, allowances.get(name, {}), asker).above()
            if beyond:
                account.overspent.append(entry["seq"])
        elif entry["kind"] == "allowance":
            allowances.setdefault(name, {})[entry["asker"]] = Definition.read(entry["budget"])
        elif entry["kind"] == "close":
            accounts[name].closed = True
        elif entry["kind"] == "answer":
            accounts[name].answered += 1
    for name, account in accounts.items():
        account.askers = {asker: _against(own, allowances.get(name, {}), asker) for asker, own in account.askers.items()}
    return accounts


def _against(own: Account, allowances: Mapping[str, Definition], asker: str) -> Account:
    """What an asker has spent, against their own allowance, else everybody's, else none; `*` is not a name."""
    named = allowances.get(asker) if asker != "*" else None
    return replace(own, budget=named or allowances.get("*", UNLIMITED))


@cache
def logarithm(x: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around ln x, x ≥ 1, within 2^-600 of each other, relatively.

    x = m·2^k with m in [1, 2); ln m = 2·atanh((m − 1)/(m + 1)), whose terms fall by a factor of 9 or more. The rest
    after a term t·z^2 is below t·z^2·9/8.
    """
    assert x >= 1
    k = (x.numerator.bit_length() - x.denominator.bit_length()) - 1
    k += x / Fraction(2) ** (k + 1) >= 1
    low, high = _twice_atanh(x / Fraction(2) ** k)
    if k == 0:
        return low, high
    two = _twice_atanh(Fraction(2))
    return low + k * two[0], high + k * two[1]


def _twice_atanh(m: Fraction) -> tuple[Fraction, Fraction]:
    z = (m - 1) / (m + 1)
    if z == 0:
        return Fraction(0), Fraction(0)
    scale = BITS + max(0, z.denominator.bit_length() - z.numerator.bit_length())
    down, up = _floor(z, scale), _floor(z, scale) + 1
    return Fraction(2 * _series(down, scale, 0), 2**scale), Fraction(2 * _series(up, scale, 1), 2**scale)


def _series(z: int, scale: int, above: int) -> int:
    """Σ z^(2i+1)/(2i+1) in multiples of 2^-scale, every step rounded down, or up where `above` is 1, with the remainder."""
    total, term, i = 0, z, 0
    square = -((-z * z) >> scale) if above else (z * z) >> scale
    while term > above:
        total += term // (2 * i + 1) + above
        term = -((-term * square) >> scale) if above else (term * square) >> scale
        i += 1
    return total + above * (2 * term + 2)


def _floor(x: Fraction, scale: int) -> int:
    return (x.numerator << scale) // x.denominator


def _fraction(text: str) -> Fraction:
    top, _, bottom = text.partition("/")
    return Fraction(int(top), int(bottom or 1))
