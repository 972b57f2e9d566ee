"""The ledger against an accountant that shares nothing with it but the documented form of exported entries."""

from __future__ import annotations

import json
import math
import os
import random
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, Charge, DuotoneError, OverBudget, balanced, open_ledger
from duotone.cli.app import main
from duotone.ledger.ledger import Ledger
from support.accountant import Account, Definition, audit
from support.ledgers import ABOUT, MemoryStore, ask, register

SEQUENCES = int(os.environ.get("DUOTONE_SEQUENCES", 300))
"""Sequences of charges in all; `make exhaustive` has 10^5."""
SHARDS, LENGTH, POOL = 10, 50, 100
LONGEST_TEXT = 3000
TENTH = Fraction(1, 10)


def test_definitions_that_differ_in_a_late_digit_are_all_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Budget 1, five questions at 0.5 and a little: those whose sum is within 1 are answered, the others refused."""
    place = tmp_path / "l"
    with open_ledger(place) as ledger:
        register(ledger)
        answered = 0
        for last in range(1, 6):
            sale = Charge(balanced(ApproxDP("0.5" + "0" * 53 + str(last))))
            with suppress(OverBudget):
                answered += not ask(ledger, f"q{last}", sale).free
        assert answered == 1  # the second would be above 1
        ask(ledger, "half", Charge(balanced(ApproxDP("0.4" + "9" * 53))))
        (account,) = audit(ledger.entries()).values()
        assert (account.overspent, account.answers) == ([], 2)
        assert ledger.verify().holds
    shown = _show(capsys, place)["census"]
    assert len(shown["charges"]) == 2
    assert shown["spent"]["epsilon"] == 1.0
    assert 0 < shown["left"]["epsilon"] < 1e-50


def test_zero_and_ratio_one_are_counted_apart() -> None:
    ledger = Ledger(MemoryStore())
    register(ledger, ApproxDP(1, "1e-6"))
    for i, privacy in enumerate([ApproxDP(0, "5e-7"), ApproxDP(exp_epsilon=1, delta="5e-7"), ApproxDP(0, "5e-7")]):
        if i < 2:
            ask(ledger, f"q{i}", Charge(balanced(privacy)))
        else:
            with pytest.raises(OverBudget):
                ask(ledger, f"q{i}", Charge(balanced(privacy)))
    assert audit(ledger.entries())["census"].delta == Fraction(1, 10**6)
    ledger._store.end()  # type: ignore[attr-defined]


@dataclass
class Dataset:
    """What the test knows of a dataset: its account by the accountant's arithmetic, and what was answered; a member has
    the account of its population."""

    name: str
    own: Account
    version: int = 1
    answered: set[Any] = field(default_factory=set)
    population: Dataset | None = None

    @property
    def account(self) -> Account:
        return self.own if self.population is None else self.population.own

    def charge(self, after: Account) -> None:
        (self.population or self).own = after


def definition(draw: random.Random) -> tuple[Definition, dict[str, Any]]:
    """A definition that nearly collides with others: for the accountant, and as a caller gives it."""
    base = draw.choice(["1/2", "1/4", "0.1", "1/3", "0.3", "0.05", "0.7", "0"])
    digit = draw.choice([0, 0, 40, 54, 120, 400, 1200])
    epsilon = Fraction(base) + (draw.randint(1, 9) * TENTH**digit if digit else 0)
    delta, given_delta = draw.choice([(Fraction(0), 0), (Fraction(1, 10**9), "1e-9"), (Fraction(1e-9), 1e-9)])
    if draw.random() < 0.1:
        delta = given_delta = Fraction(1, 10**9) + TENTH ** draw.choice([40, 400])
    match draw.randrange(6):
        case 0:
            ratio = 1 + Fraction(1, 2 ** draw.choice([1, 2, 40, 128, 200, 1000])) * draw.randint(0, 1)
            return Definition(None, ratio, delta), {"exp_epsilon": ratio, "delta": given_delta}
        case 1:
            ratio = ApproxDP(max(epsilon, TENTH**40)).exp_epsilon  # what this ε is taken for, given itself
            return Definition(None, ratio, delta), {"exp_epsilon": ratio, "delta": given_delta}
        case 2:
            near = float(epsilon)
            near = draw.choice([near, math.nextafter(near, 1)])
            return Definition(Fraction(near), None, delta), {"epsilon": near, "delta": given_delta}
    return Definition(epsilon, None, delta), {"epsilon": epsilon, "delta": given_delta}


UNUSED = Account(Definition(Fraction(0), None, Fraction(0)))
BUDGETS: list[tuple[str, dict[str, Any]]] = [
    ("epsilon=1 delta=0", {"epsilon": 1}),
    ("epsilon=1 delta=1/100000000", {"epsilon": 1, "delta": "1e-8"}),
    ("epsilon=3/10 delta=1/1000000", {"epsilon": "0.3", "delta": "1e-6"}),
    ("epsilon=5 delta=1/1000000", {"epsilon": 5, "delta": "1e-6"}),
    ("ratio=8 delta=0", {"exp_epsilon": 8}),
    ("ratio=9/4 delta=1/1000000", {"exp_epsilon": "9/4", "delta": "1e-6"}),
]


def registered(ledger: Ledger, draw: random.Random, name: str) -> Dataset:
    text, parameters = draw.choice(BUDGETS)
    register(ledger, ApproxDP(**parameters), dataset=name)
    return Dataset(name, Account(Definition.read(text)))


Pool = list[tuple[Definition, Charge]]


def pool(draw: random.Random) -> Pool:
    """Definitions that come again and again, so that they meet their likes."""
    drawn = [definition(draw) for _ in range(POOL)]
    return [(each, Charge(balanced(ApproxDP(**options)), draw.choice([1, 1, 1, 2, 3, 5]))) for each, options in drawn]


def attempt(ledger: Ledger, draw: random.Random, to: Dataset, definitions: Pool) -> int:
    """One question, new or one from before; how many entries it made. Whatever the ledger does, it must be right."""
    if draw.random() < 0.03:
        to.version += 1
        ledger.relabel(to.name, str(to.version))
        return 1
    each, sale = draw.choice(definitions)
    question, answers, again, fails = f"q{draw.randrange(3)}", sale.answers, draw.random() < 0.2, draw.random() < 0.1
    key, after = (to.version, question, each, answers), to.account.plus(each, answers)

    def flip() -> int:
        if fails:
            raise ZeroDivisionError
        return 1

    try:
        receipt = ledger.ask(to.name, question, sale, flip, again=again, **ABOUT)
    except OverBudget:
        assert not after.surely_within(), (to.account, each, answers)
        assert again or key not in to.answered
        return 0
    except ZeroDivisionError:
        to.charge(after)
    except DuotoneError as error:
        long = sum(len(str(x)) for x in (each.epsilon, each.ratio, each.delta)) > LONGEST_TEXT - 50
        if not (long and "too many digits for a ledger" in str(error)):
            raise
        return 0
    else:
        assert receipt.free == (key in to.answered and not again)
        if receipt.free:
            return 0
        after.answered = to.account.answered + 1
        to.charge(after)
        to.answered.add(key)
    assert not after.above()
    return 1 if fails else 2


def sequence(ledger: Ledger, draw: random.Random, length: int, definitions: Pool) -> None:
    """A ledger's life, and then every comparison with the accountant, who sees the export only."""
    datasets = [registered(ledger, draw, name) for name in ("a", "b", "c")[: draw.randint(1, 3)]]
    members = [Dataset(f"member {i}", UNUSED, population=draw.choice(datasets)) for i in range(draw.randint(0, 3))]
    for member in members:
        assert member.population is not None
        ledger.register(member.name, population=member.population.name, version="1")
    some, every = draw.sample(definitions, draw.choice([2, 4, 8, 30])), [*datasets, *members]
    made = len(every) + sum(attempt(ledger, draw, draw.choice(every), some) for _ in range(length))
    entries = json.loads(json.dumps(ledger.entries()))
    assert len(entries) == made
    accounts = audit(entries)
    verdict = ledger.verify()
    assert verdict.holds, verdict.problems
    for dataset in datasets:
        account = accounts[dataset.name]
        assert account.overspent == []
        same = ("answers", "epsilon", "ratio", "delta", "budget", "charges", "answered")
        assert all(getattr(account, name) == getattr(dataset.account, name) for name in same)
        statement = ledger.statement(dataset.name)
        assert (statement.state.charges, statement.state.answers) == (account.charges, account.answered)
        agree(account, *statement.spent, statement.left.document())
    for member in members:
        statement = ledger.statement(member.name)
        agree(member.account, *statement.spent, statement.left.document())
        assert len(statement.charges) == sum(entry.get("member") == member.name for entry in entries if "notion" in entry)


def agree(account: Account, epsilon: float, delta: float, left: dict[str, Any]) -> None:
    """What is shown is what the accountant has, to the digits shown."""
    assert delta == pytest.approx(float(account.delta), rel=1e-12, abs=0)
    spent = account.spent()[1]
    rest = account.budget.bounds()[0] - spent
    assert epsilon == pytest.approx(float(spent), rel=1e-12, abs=1e-150 if account.long else 0)
    shown = [left["epsilon"], left["delta"]]
    loss = 0 if not account.long and account.ratio == 1 else 1e-12
    assert shown[0] == pytest.approx(max(0.0, float(rest)), rel=1e-5, abs=loss)
    assert shown[1] == pytest.approx(float(account.budget.delta - account.delta), rel=1e-5, abs=0)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_never_above_the_budget_and_never_apart_from_the_accountant(shard: int) -> None:
    definitions = pool(random.Random(f"pool {shard}"))
    for i in range(-(-SEQUENCES // SHARDS)):
        store = MemoryStore()
        sequence(Ledger(store), random.Random(f"{shard} {i}"), LENGTH, definitions)
        store.end()


@pytest.mark.slow
def test_the_same_on_a_disk_and_through_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(6):
        place = tmp_path / f"l{seed}"
        with open_ledger(place) as ledger:
            sequence(ledger, random.Random(f"disk {seed}"), LENGTH, pool(random.Random(seed)))
        exported = json.loads(_run(capsys, "export", str(place)))["entries"]
        assert "verified" in _run(capsys, "verify", str(place))
        shown = _show(capsys, place)
        accounts = audit(exported)
        assert [name for name in shown if not name.startswith("member")] == list(accounts)
        for name, account in accounts.items():
            spent = shown[name]["spent"]
            agree(account, spent["epsilon"], spent["delta"], shown[name]["left"])
            assert len(shown[name]["charges"]) == account.charges


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["ledger", *arguments])
    assert not ended.value.code
    return capsys.readouterr().out


def _show(capsys: pytest.CaptureFixture[str], place: Path) -> dict[str, Any]:
    return dict(json.loads(_run(capsys, "show", str(place), "--json"))["datasets"])
