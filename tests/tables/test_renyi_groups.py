"""Private groups under one Rényi order, from tables: every small one beside its neighbours, documents, a ledger."""

from __future__ import annotations

import itertools
import json
import pickle
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest

from duotone import ApproxDP, ask, open_ledger, prepare, prove, select_groups
from duotone.ledger.accounts import RenyiAccount
from duotone.model.terms import DefiniteTerms
from duotone.privacy.renyi import RenyiDP
from duotone.release import groups as drawing
from duotone.tables import prepared
from duotone.tables.check_question import prepare_groups
from support.renyi import least_sum

COARSE = RenyiDP(2, 60, "0.2")
"""So little privacy that groups of three people are shown for certain, even where two answers share it."""
MINE: dict[str, Any] = {"unit": "who", "max_groups": 2}
PERSON = [(0.0, "A"), (0.0, "AB"), (1.0, "AB")]
"""A person's value, and towns: what holds of one town holds of the other."""


def table(people: tuple[Any, ...]) -> pa.Table:
    rows = [(i, town, x) for i, (x, towns) in enumerate(people) for town in towns]
    kinds = {"who": pa.int64(), "town": pa.string(), "x": pa.float64()}
    return pa.table({name: pa.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(kinds.items())})


def outcomes(asked: Any, people: tuple[Any, ...]) -> dict[Any, Fraction]:
    """The chance of everything that the released path can release about two towns, from what it hands to the coins."""
    seen: dict[str, Any] = {}

    def look(groups: Any, *given: Any) -> Any:
        seen.update(groups=groups, given=given)
        return (drawing.shown_drawn if len(given) == 1 else drawing.answers_drawn)(groups, *given)

    def keep(own: Any) -> Any:
        seen["read"] = levels_of_all([own])
        return seen["read"]

    levels_of_all = prepared.levels_of_all
    with (
        mock.patch.object(prepared, "shown_drawn", look),
        mock.patch.object(prepared, "answers_drawn", look),
        mock.patch.object(prepared, "levels_of_all", lambda every: keep(*every)),
        asked.on(table(people)) as now,
    ):
        now.release()
    given, towns = seen["given"], [town for (town,) in seen["read"][0]]
    sizes = dict(zip(towns, given[-1 if len(given) == 1 else 1].tolist(), strict=True))
    levels = dict(zip(towns, given[2].tolist(), strict=True)) if len(given) == 3 else {}
    selection, certain = seen["groups"].table, seen["groups"].always

    def about(town: str) -> dict[str, Fraction]:
        n = sizes.get(town, 0)
        shown = Fraction(selection.yes(n - 1), 2**selection.bits) if n else Fraction(0)
        if len(given) == 1:
            return {"hidden": 1 - shown, "shown": shown}
        coin, beyond = given[0].table, n - certain
        yes = {at: Fraction(coin.yes(at), 2**coin.bits) for at in range(-9, 9)}
        said = (yes[0] + yes[-1]) / 2 if beyond < 1 else yes[min(max(levels[town], -beyond), beyond - 1)]  # as promised
        return {"hidden": 1 - shown, "yes": shown * said, "no": shown * (1 - said)}

    return {(a, b): p * q for a, p in about("A").items() for b, q in about("B").items()}


@pytest.mark.parametrize("question", [None, "avg(x) > 0.5"])
def test_every_small_table_beside_its_neighbours(question: str | None) -> None:
    """A person joins both towns at once: all that is released together keeps the whole price and the whole delta."""
    if question is None:
        asked = prepare_groups(table(()), "town", COARSE, **MINE)
    else:
        own = {"per_unit": "max", "bounds": {"x": (0, 1)}} if "avg" in question else {"max_rows": 1}
        asked = prepare(table(()), f"select town, {question} from t group by town", COARSE, **MINE, **own)
    with asked:
        assert isinstance(asked.terms, DefiniteTerms)
        assert asked.terms.groups is not None
        assert asked.terms.groups.always == 3
        every = {who: outcomes(asked, who) for n in range(5) for who in itertools.combinations_with_replacement(PERSON, n)}
    pairs, worst = 0, Fraction(0)
    for who, one in every.items():
        for left in {who[:i] + who[i + 1 :] for i in range(len(who))}:
            for pair in ((one, every[left]), (every[left], one)):
                total = least_sum(COARSE.order, COARSE.delta, *pair)
                assert total is not None
                assert total <= COARSE.price
                pairs, worst = pairs + 1, max(worst, total)
    assert pairs > 100
    assert worst > 1


TOWNS = pa.table({
    "who": [i for i in range(600) for _ in range(2)],
    "town": [town for i in range(600) for town in ("Ely" if i < 400 else "Rye", "Wye" if i < 300 else "Hay")],
    "x": [1.0 if i < 300 else 0.0 for i in range(600) for _ in range(2)],
})  # fmt: skip
LARGE = {("Ely",), ("Rye",), ("Wye",), ("Hay",)}
BY_TOWN = "select town, avg(x) > 0.5 from t group by town"
HALF: dict[str, Any] = {"per_unit": "max", "bounds": {"x": (0, 1)}}


def test_an_account_multiplies_the_prices_of_groups(tmp_path: Path) -> None:
    """Which groups are shown, and an answer about each, at the price of one answer to the power of max_groups."""
    with open_ledger(tmp_path / "l.ledger") as ledger:
        about: dict[str, Any] = {"unit": "who", "neighbours": "add-remove", "version": "1"}
        account = ledger.register("t", ApproxDP(1, "1e-6"), account="renyi", answers=30, **about).account
        assert isinstance(account, RenyiAccount)
        third = account.budget.split(3)
        asked: dict[str, Any] = {"unit": "who", "max_groups": 10, "ledger": ledger, "dataset": "t"}
        shown = select_groups(TOWNS, "town", third, **{k: asked[k] for k in ("unit", "max_groups")})
        assert set(shown.answers) >= LARGE
        assert shown.sizes == {}
        first = ask(TOWNS, BY_TOWN, third, **asked, **HALF)
        assert set(first.answers) >= LARGE
        assert first.answers["Ely",] is first.answers["Wye",] is True
        assert first.answers["Hay",] is False
        assert first.margins == {}
        assert first.receipt is not None
        assert first.receipt.left.share == pytest.approx(2 / 3, abs=1e-6)
        again = ask(TOWNS, BY_TOWN, third, **asked, **HALF)
        assert again.receipt is not None
        assert again.receipt.free
        assert again.answers == first.answers
        (charge,) = ledger.statement("t").charges
        assert (charge.boundary, charge.answers) == ("balanced+selection", 10)
        assert charge.privacy == third.split(10)
        assert ledger.verify().holds


def test_what_is_said_of_groups_without_sizes() -> None:
    privacy = RenyiDP(19, 2900, "1e-7")
    with prepare_groups(TOWNS, "town", privacy, **MINE) as asked:
        reply = asked.release()
        document = reply.document()
        assert "sizes" not in document
        assert "margins" not in document
        assert not reply.has_sizes
        assert prove(json.loads(json.dumps(reply.certificate()))).startswith("private and optimal")
        assert "sizes are noisy" not in " ".join(asked.notes)
    with prepare(TOWNS, BY_TOWN, privacy, **MINE, **HALF) as asked:
        certificate = json.loads(json.dumps(asked.release().certificate()))
        assert "groups are selected by a mechanism that is private and optimal" in prove(certificate)
        always = asked.facts.document()["private_groups"]["always_shown_from"]
        assert f"about a group of {always} people or fewer an answer is the toss of a coin" in asked.notes[1]
        nobody = asked.on(TOWNS.slice(0, 0)).release()
        assert (nobody.answers, nobody.has_margins) == ({}, False)


def test_workers_draw_which_groups_are_shown() -> None:
    """What a Spark worker does with a batch of counts: keys of shown groups, and a 1 for each."""
    spark = pytest.importorskip("duotone.tables.engines.spark")
    with prepare_groups(TOWNS, "town", RenyiDP(19, 2900, "1e-7"), **MINE) as asked:
        assert isinstance(asked.terms, DefiniteTerms)
        assert asked.terms.groups is not None
        draw = pickle.loads(pickle.dumps(partial(drawing.shown_drawn, asked.terms.groups)))
    batch = pa.record_batch({"k0": ["Ely", "Nil", "Rye"], "people": pa.array([400, 0, 300], pa.int64())})
    (drawn,) = spark._drawn(draw, ("k0",), iter([batch]))
    assert drawn.to_pydict() == {"k0": ["Ely", "Rye"], "size": [1, 1]}
