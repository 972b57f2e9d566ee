"""Tests of shares: a hypothesis is checked, noisy counts are charged and released, and tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError, got
from duotone.html import cell, table
from duotone.ledger.ledger import Ledger
from duotone.model.dataset import KEYS
from duotone.model.notice import Notice, Refusal
from duotone.model.wanted import Wanted
from duotone.options import options_of, require_known
from duotone.privacy.numbers import Given, probability, show
from duotone.privacy.text import Definition
from duotone.release.coin import random_bytes
from duotone.statistics.binomial import TOSSES, NoisyCount, difference
from duotone.statistics.shares import Interval, Known, OfKnownNumber, OfNoisyNumber, interval, p_value
from duotone.statistics.two_shares import TwoShares
from duotone.tables.answers import Answers
from duotone.tables.ask import answered
from duotone.tables.check_question import ToPrice, prepare
from duotone.tables.declared import declared_by
from duotone.tables.prepared import Prepared
from duotone.tables.sql.read_hypothesis import Hypothesis, read_hypothesis
from duotone.words.sentences import Audience, rounded_up, sentence

MOST_PEOPLE = 2**31
LIMITS: Mapping[str, Any] = {"max_rows": None, "max_groups": None, "per_unit": None, "at_least": None}
"""Declarations that counts of people do not need: somebody counts once."""
WAYS = ("epsilon", "delta", "wrong", "people", "one_of", "price")
"""Options about the budget; all others declare the table."""


@dataclass(frozen=True)
class ShareTest:
    """How a hypothesis is tested: at level `alpha`, of a public `sample_size` if there is one."""

    hypothesis: Hypothesis
    alpha: Fraction
    sample_size: int | None = None

    def prepare(self, source: Any, privacy: Definition | Wanted | ToPrice | None = None, **options: Any) -> Prepared:
        """Check it against a table, without reading any row: the result releases and charges noisy counts, from which
        `tested` follows at no price."""
        budget = {way: options.pop(way) for way in WAYS if way in options}
        dataset = replace(declared_by(source, options), **LIMITS)
        hypothesis, known = self.hypothesis, self.sample_size is not None
        if dataset.replaced and not known:
            raise Refusal("sample_size missing")
        groups = None if dataset.replaced else list(hypothesis.labels)
        question = hypothesis.count(dataset.unit) if dataset.replaced else hypothesis.table(dataset.unit, all_others=known)
        dataset = replace(dataset, groups=groups)
        prepared = prepare(dataset, question, privacy, **budget)
        if prepared.terms.count is None:
            prepared.close()
            raise Refusal("test needs counts")
        return prepared

    def tested(self, answers: Answers) -> Finding:
        """What released counts say about it."""
        hypothesis, counts, noise = self.hypothesis, answers.estimates, answers.facts.terms.table.noise
        if () in counts and self.sample_size is not None:
            count = NoisyCount(counts[()], noise, _toss(answers))
            return self._of(OfKnownNumber(count, self.sample_size), Notice("test of a known number"), answers)
        yes, no, *second = (counts[label,] for label in hypothesis.labels)
        if self.sample_size is not None:
            count = NoisyCount(yes - no, difference(noise), _toss(answers))
            return self._of(OfKnownNumber(count, self.sample_size, both=True), Notice("test of both counts"), answers)
        if not second:
            method = Notice("test of pairs" if hypothesis.paired else "test of a private number")
            return self._of(OfNoisyNumber(yes, no, noise, hypothesis.share), method, answers)
        two = TwoShares((yes, no), (second[0], second[1]), noise)
        p = two.p_value(hypothesis.relation)
        shares = tuple(OfNoisyNumber(*own, noise, hypothesis.share).estimate for own in (two.first, two.second))
        return Finding(hypothesis, self.alpha, p, shares, None, Notice("test of two groups"), answers)

    def _of(self, known: Known, method: Notice, answers: Answers) -> Finding:
        p = p_value(known, self.hypothesis.share, self.hypothesis.relation)
        found = interval(known, self.alpha, self.hypothesis.relation)
        return Finding(self.hypothesis, self.alpha, p, (known.estimate,), found, method, answers)


def _toss(answers: Answers) -> int:
    """What breaks ties between equal counts: of a recorded count always the same, from its charge, which was written before
    the count was drawn."""
    mark = random_bytes(8) if answers.receipt is None else sha256(f"toss {answers.receipt.mark}".encode()).digest()
    return int.from_bytes(mark[:8], "big") * TOSSES >> 64


@dataclass(frozen=True, repr=False, eq=False)
class Finding:
    """The result of a test. `bool` of it says whether the hypothesis is rejected; `p_value` is for any other level.

    **Guarantee**: if the people are an independent sample of a population in which the hypothesis is true, it is rejected with
    probability at most `alpha`, and all of `p_value`, `estimates` and `interval` follows from the released counts.
    """

    hypothesis: Hypothesis
    alpha: Fraction
    p_value: float
    """The probability, at most, of counts that speak against the hypothesis as much as these, if it is true."""
    estimates: tuple[float | None, ...]
    """The estimated share; of two groups both shares; None of nobody."""
    interval: Interval | None
    """A confidence interval of the share at 1 − alpha, which agrees with the test; None of two groups."""
    method: Notice
    answers: Answers
    """The released counts."""

    @property
    def rejected(self) -> bool:
        """Whether the hypothesis is rejected at `alpha`."""
        return self.p_value <= self.alpha

    def __bool__(self) -> bool:
        return self.rejected

    def __str__(self) -> str:
        return "\n".join([self.said, *(f"note: {note}" for note in self.answers.facts.warnings if note.printed)])

    @property
    def said(self) -> str:
        """The result in words, without notes."""
        warning = "" if self.answers.private else " (NOT PRIVATE: test seed)"
        return f"{self._said}{warning}"

    def __repr__(self) -> str:
        notes = "".join(f"; note: {note}" for note in self.answers.facts.warnings)
        return f"<{type(self).__name__}: {self.hypothesis.text} is {self.said}{notes}>"

    @property
    def p(self) -> str:
        """The p-value in words."""
        return f"p = {rounded_up(self.p_value)}"

    @property
    def found(self) -> str:
        """The estimate and the interval in words."""
        shares = " and ".join("unknown" if each is None else f"about {each:.3g}" for each in self.estimates)
        return shares if self.interval is None else f"{shares}, {float((1 - self.alpha) * 100):g} % interval {self.interval}"

    def _repr_html_(self) -> str:
        facts, counts = self.answers.facts, self.answers.estimates
        rows = [(cell(self.hypothesis.text), cell(self.said), cell(self.found))]
        released = ", ".join(f"{' '.join(map(str, key)) or 'yes'} {count}" for key, count in counts.items())
        after = [f"noisy counts: {released}", str(self.method), facts.budget, facts.person, *map(str, facts.notes)]
        return table(("hypothesis", "test", "share"), rows, after=after)

    def quote(self) -> str:
        """A sentence for a report.

        >>> import pyarrow as pa
        >>> stays = pa.table({"readmitted": [True, False, False, False] * 500})
        >>> print(share_test(stays, "share(readmitted) <= 0.1", epsilon=1, delta=1e-6, sample_size=2000).quote())
        ... # doctest: +ELLIPSIS
        In the table, “share(readmitted) <= 0.1” was rejected at 0.05, p = ... (about 0.2..., 95 % interval 0.2... to 1), by ...
        """
        warning = "" if self.answers.private else "NOT PRIVATE, by a test seed: "
        facts = self.answers.facts
        vouched = [] if facts.vouched is None else [str(facts.vouched)]
        notes = (f"note: {note}" for note in facts.warnings)
        how = "; ".join([str(self.method), f"differential privacy, {facts.budget}", facts.person, *vouched, *notes])
        about = self.answers.about
        return f"{warning}In {about}, “{self.hypothesis.text}” was {self._said} ({self.found}), by {how}."

    @property
    def _said(self) -> str:
        return f"{'rejected' if self.rejected else 'not rejected'} at {float(self.alpha):g}, {self.p}"

    def document(self, audience: Audience = "python") -> dict[str, Any]:
        """All of it as JSON: what the command prints with --json."""
        answers = self.answers.document(audience)
        kept: dict[str, Any] = {
            key: answers[key] for key in ("private", "privacy", "person", "notes", "warnings", "ledger") if key in answers
        }
        return {
            "hypothesis": self.hypothesis.text,
            "rejected": self.rejected,
            "alpha": float(self.alpha),
            "p_value": self.p_value,
            "estimates": list(self.estimates),
            "interval": None if self.interval is None else [self.interval.low, self.interval.high],
            "method": sentence(self.method, audience),
            "counts": [*self.answers.estimates.values()],
            **kept,
        }


def share_test(
    source: Any,
    hypothesis: str,
    privacy: Definition | Wanted | ToPrice | None = None,
    *,
    alpha: Given = "0.05",
    sample_size: int | None = None,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    again: bool = False,
    asker: str | None = None,
    **options: Any,
) -> Finding:
    """A private test of a hypothesis about shares of the population that a table's people are a sample of.

    The hypothesis is what a test may reject: `share(readmitted) = 0.1`, or `<=` or `>=` for one side alone. A share of some,
    `share(readmitted) filter (where age > 65)`. Two shares of the same people, `share(after > before) = share(after <
    before)`: the sign test, and McNemar's. Or of two groups, `share(readmitted) filter (where ward = 'A') = share(readmitted)
    filter (where ward = 'B')`: somebody who is in both counts in the first.

    `sample_size` is the number of people that the share is of, if that is public; who has no value is then a no. Where
    `neighbours` is "replace", it is needed: one count is charged, as the same question in `ask` is, and the test is the most
    powerful private one. Else noisy counts of the yes and of the no, by group, are charged together as one answer; who has
    no value is in none of them. All else is as for `ask`.

    Guarantee: the counts satisfy the budget. If the people are an independent sample, a hypothesis that is true is rejected
    with probability at most `alpha`.

    >>> import pyarrow as pa
    >>> stays = pa.table({"readmitted": [True, False, False, False] * 500})
    >>> tested = share_test(stays, "share(readmitted) = 0.1", epsilon=1, delta=1e-6)
    >>> tested.rejected, tested.p_value < 1e-5
    (True, True)
    """
    require_known(options, [*options_of(share_test, prepare), *KEYS])
    test = share_test_of(hypothesis, alpha=alpha, sample_size=sample_size)

    def prepared(source: Any, _: str, budget: Any, **options: Any) -> Prepared:
        return test.prepare(source, budget, **options)

    return test.tested(answered(prepared, source, hypothesis, privacy, options, (ledger, dataset, again, asker)))


def share_test_of(hypothesis: str, *, alpha: Given = "0.05", sample_size: int | None = None) -> ShareTest:
    """The test of a hypothesis, or a refusal of what cannot be tested."""
    read = read_hypothesis(hypothesis)
    level = Fraction(probability(str(alpha) if isinstance(alpha, float) else alpha, "alpha"))
    if not 0 < level < 1:
        raise DuotoneError(f"alpha must be between 0 and 1, got {show(level)}")
    if not (sample_size is None or (type(sample_size) is int and 1 <= sample_size <= MOST_PEOPLE)):
        raise DuotoneError(f"sample_size is a whole number of people, at least 1, got {got(sample_size)}")
    if sample_size is not None and (read.paired or read.of_two_groups):
        raise Refusal("sample_size of two shares")
    return ShareTest(read, level, sample_size)
