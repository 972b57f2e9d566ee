"""Questions under one Rényi order: yes and no without a margin, each group's price a root of all, and charged by an account."""

from __future__ import annotations

import json
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError, OverBudget, ask, balanced, open_ledger, prepare, prove, select_groups
from duotone.ledger.accounts import RenyiAccount
from duotone.privacy.renyi import RenyiDP
from duotone.release.coin import Coin, insecure_test_seed
from duotone.tables.ask import ask_all

PRICE = RenyiDP(20, "2.5")
WARDS = ["A", "B", "A", *["A", "B"] * 198, "A"]
STAYS = pa.table({"patient": [1, 1, 2, *range(3, 400)], "days": [3, 4, 9, *[8] * 397], "ward": WARDS})
MANY: Any = {"unit": "patient", "bounds": {"days": (0, 30)}, "max_rows": 2}


def test_an_answer_is_yes_or_no_alone() -> None:
    answer = ask(STAYS, "avg(days) > 5", PRICE, **MANY)
    assert answer == "yes"
    assert answer.margins == {}
    with pytest.raises(DuotoneError, match="has no margin"):
        _ = answer.margin
    assert "order" in json.dumps(answer.document())
    assert prove(answer.certificate()).startswith("private and optimal")


def test_a_count_has_no_estimate() -> None:
    with prepare(STAYS, "count(*) > 100", PRICE, unit="patient", max_rows=2) as asked:
        assert asked.terms.count is None
        assert asked.release() == "yes"


def test_groups_share_the_price_by_its_root() -> None:
    asked = "select ward, avg(days) > 5 from stays group by ward"
    with prepare(STAYS, asked, PRICE, **MANY, per_unit="max", groups={"ward": ["A", "B"]}, max_groups=2) as grouped:
        share = grouped.terms.share
        assert isinstance(share, RenyiDP)
        assert share == PRICE.split(2)
        assert share.price**2 <= PRICE.price
        assert {*grouped.release().answers} == {("A",), ("B",)}


def test_costs_have_a_boundary() -> None:
    with prepare(STAYS, "avg(days) > 5", PRICE, **MANY, costs=(10, 1)) as asked:
        no, yes = asked.terms.accuracy.errors(1)
        assert 10 * no == pytest.approx(yes, rel=1e-6)
        assert asked.release() == "yes"


def test_a_preview_and_a_report_say_how_accurate_it_is() -> None:
    with prepare(STAYS, "avg(days) > 5", PRICE, **MANY) as asked:
        assert "wrong with probability at most 0.48" in asked.accuracy.sentence("exact distance")
        assert str(asked.preview(people=400))


def test_a_ledger_charges_it(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "l.ledger")
    about: Any = {"unit": "patient", "neighbours": "add-remove", "version": "2025"}
    account = ledger.register("stays", ApproxDP(1, "1e-6"), account="renyi", answers=100, **about).account
    assert isinstance(account, RenyiAccount)
    each = account.budget.split(3)
    asked: Any = {**MANY, "ledger": ledger, "dataset": "stays"}
    for limit in (5, 6, 7):
        assert ask(STAYS, f"avg(days) > {limit}", each, **asked) == "yes"
    again = ask(STAYS, "avg(days) > 7", each, **asked)
    assert again.receipt is not None
    assert again.receipt.free
    with pytest.raises(OverBudget):
        ask(STAYS, "avg(days) > 9", each, **asked)


def test_several_questions_share_it() -> None:
    answers = ask_all(STAYS, ["avg(days) > 5", "avg(days) > 20"], PRICE, **MANY)
    assert [str(answer.words[()]) for answer in answers] == ["yes", "no"]


def test_groups_are_selected_by_it_where_it_has_a_delta() -> None:
    with pytest.raises(DuotoneError, match="with delta 0 no group may ever be shown: give a delta above 0, or the list"):
        prepare(STAYS, "select ward, count(*) > 5 from t group by ward", PRICE, unit="patient", max_rows=2, max_groups=2)
    with pytest.raises(DuotoneError, match="with delta 0 no group may ever be shown"):
        select_groups(STAYS, "ward", PRICE, unit="patient", max_groups=1)


def test_a_transcript_about_tables_is_what_the_coin_draws(tmp_path: Path) -> None:
    """Through a ledger in a file, of two neighbouring tables: the same levels and the same coins, each question chosen by
    the answer before it. (tests/ledger/test_renyi_account.py audits transcripts of coins in bulk.)"""
    promise = ApproxDP(1, "0.2")
    share = RenyiAccount.of(promise, 8).budget.split(8)
    share = RenyiDP._computed(share.order, share.price, Fraction(0))
    with open_ledger(tmp_path / "l") as ledger, warnings.catch_warnings(action="ignore"):
        for rows in (100, 99):
            people = pa.table({"x": [1] * rows})
            ledger.register(f"{rows}", promise, unit="row", neighbours="add-remove", version="1", account="renyi", answers=8)
            with insecure_test_seed(rows):
                coin, expected, limit = Coin(balanced(share)), [], 100
                for _ in range(8):
                    expected.append(bool(coin.answers(np.array([rows - limit]))[0]))
                    limit += 1 if expected[-1] else -1
            with insecure_test_seed(rows):
                told, limit = [], 100
                for _ in range(8):
                    with prepare(people, f"count(*) >= {limit}", share) as asked:
                        told.append(bool(asked.charge(ledger, f"{rows}", again=True)))
                    limit += 1 if told[-1] else -1
                with prepare(people, "count(*) >= 100", share) as asked, pytest.raises(OverBudget):
                    asked.charge(ledger, f"{rows}", again=True)
            assert told == expected
            assert len({*told}) == 2
