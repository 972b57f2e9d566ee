"""All limits on one count of people are one question: the ledger keeps the noisy count, which answers every limit."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError, ask, open_ledger, prepare
from duotone.line.table import line_table
from duotone.tables.answers import Answers
from duotone.tables.sql.normal_form import count_alone
from support.running import thinned

USUAL = ApproxDP(1, "1e-6")
VISITS = pa.table({"person": range(300), "town": ["a", "b", "b"] * 100, "age": [20, 70, None] * 100})


def free(reply: Answers) -> bool:
    """Whether it was answered from the record."""
    assert reply.receipt is not None
    return reply.receipt.free


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with open_ledger(tmp_path / "budget.ledger") as opened:
        opened.register("visits", ApproxDP(20, "1e-3"), version="1", unit="row", neighbours="add-remove")
        yield opened


@pytest.mark.slow
def test_further_limits_are_free_and_follow_from_the_first_count(ledger: Any) -> None:
    first = ask(VISITS, "count(*) > 100", USUAL, ledger=ledger, dataset="visits")
    assert not free(first)
    noisy = first.estimate
    assert abs(noisy - 300) <= 14
    for limit in range(noisy - 20, noisy + 20):
        ways = (
            (f"count(*) > {limit}", noisy > limit),
            (f"count(*) >= {limit}", noisy >= limit),
            (f"{limit} > count(*)", noisy < limit),
            (f"count(*) <= {limit}", noisy <= limit),
            (f"not count(*) <= {limit}", noisy > limit),
        )
        for text, truth in ways if abs(noisy - limit) <= 2 else thinned(ways, len(ways), limit % len(ways)):
            again = ask(VISITS, text, USUAL, ledger=ledger, dataset="visits")
            assert free(again), text
            assert again.answer is truth, text
            assert again.estimate == noisy
    assert ledger.statement("visits").state.charges == 1
    assert ledger.statement("visits").charges[0].in_words == (([], f"a count of about {noisy}"),)


@pytest.mark.parametrize(
    "other",
    [
        "count(*) filter (where town = 'a') > 100",
        "count(age) > 100",
        "select count(*) > 100 from visits where age > 30",
        "count(*) = 300",
        "count(*) between 5 and 500",
        "2 * count(*) > 200",
        "count(*) > count(age)",
    ],
)
def test_other_counts_are_other_questions(ledger: Any, other: str) -> None:
    ask(VISITS, "count(*) > 100", USUAL, ledger=ledger, dataset="visits")
    assert not free(ask(VISITS, other, USUAL, ledger=ledger, dataset="visits"))


def test_a_filter_and_a_where_are_one_count(ledger: Any) -> None:
    ask(VISITS, "select count(*) > 100 from visits where age > 30", USUAL, ledger=ledger, dataset="visits")
    assert free(ask(VISITS, "count(*) filter (where age > 30) < 3", USUAL, ledger=ledger, dataset="visits"))


def test_groups_of_a_list_share_their_counts(ledger: Any) -> None:
    by_town: dict[str, Any] = {"groups": ["a", "b", "c"], "ledger": ledger, "dataset": "visits"}
    first = ask(VISITS, "select town, count(*) > 50 from visits group by town", USUAL, **by_town)
    again = ask(VISITS, "select town, count(*) <= 150 from visits group by town", USUAL, **by_town)
    assert free(again)
    assert again.estimates == first.estimates
    assert {key: abs(n - {"a": 100, "b": 200, "c": 0}[key[0]]) <= 14 for key, n in first.estimates.items()} == dict.fromkeys(
        first.estimates, True
    )
    assert again.answers == {key: n <= 150 for key, n in first.estimates.items()}


@pytest.mark.slow
def test_levels_are_the_counts_distance_from_the_limit_on_all_small_tables() -> None:
    """By counting in Python: each person who joins or leaves moves the level by one at most, and it is never clipped."""
    for limit, sign in itertools.product((1, 2, 50), (">=", "<")):
        for town in itertools.chain.from_iterable(itertools.product("ab", repeat=n) for n in range(4)):
            rows = pa.table({"town": pa.array(town, pa.string())})
            text = f"count(*) filter (where town = 'a') {sign} {limit}"
            with prepare(rows, text, USUAL) as asked:
                assert asked.terms.count is not None
                _, _, levels = asked._levels()
            apart = town.count("a") - limit
            assert levels.tolist() == [apart if sign == ">=" else -1 - apart]


def test_a_count_is_known_however_far_also_with_little_budget() -> None:
    """Where margins tell more levels apart than engines keep people: else a count far away would be recorded as one nearby."""
    privacy, many = ApproxDP("1e-4", "1e-9"), 300_000
    with prepare(pa.table({"x": range(many)}), "count(*) > 5", privacy) as asked:
        assert asked.terms.count is not None
        assert asked.terms.reaches.answers < many - 6
        assert asked._levels()[2].tolist() == [many - 6]


@pytest.mark.parametrize("limit", ["9007199254740993", "1e17", "1e20", "9223372036854775900"])
@pytest.mark.parametrize("sign", [">", "<="])
def test_a_limit_beyond_all_counts_tells_no_count(ledger: Any, limit: str, sign: str) -> None:
    """So far from a limit levels are rounded, or alike: they do not say how many people there are."""
    far = ask(VISITS, f"count(*) {sign} {limit}", USUAL, ledger=ledger, dataset="visits")
    assert far.answer is (sign == "<=")
    assert far.certain
    assert far.estimates == {}
    near = ask(VISITS, "count(*) > 1000", USUAL, ledger=ledger, dataset="visits")
    assert not free(near)
    assert near.answer is False


@pytest.mark.slow
@pytest.mark.false_alarm(5e-9)
def test_the_yes_is_as_frequent_as_the_table_says() -> None:
    """A count one above and one below its limit, in 4,000 groups each, so that one query is enough: within six standard
    deviations."""
    people, many = 8, 4000
    rows = pa.table({"g": np.repeat(np.arange(many), people)})
    expected = line_table(prepare(rows, "sum(g) > 3", USUAL, bounds={"g": (0, 40)}).terms.mechanism)  # type: ignore[union-attr]
    for limit, level in ((people, 0), (people + 1, -1)):
        text = f"select g, count(*) >= {limit} group by g"
        with prepare(rows, text, USUAL, groups=range(many)) as asked:
            assert asked.terms.count is not None
            yes = sum(map(bool, asked.release().answers.values()))
        share = expected.yes(level) / 2**expected.bits
        assert abs(yes - many * share) < 6 * np.sqrt(many * share * (1 - share))


def test_where_no_count_is_shared() -> None:
    """Under replace, with costs, without a δ, with several rows a person: an ordinary margin, and no estimate."""
    people: dict[str, Any] = {"unit": "person", "max_rows": 2}
    for options in ({"neighbours": "replace"}, {"costs": (10, 1)}, people):
        asked = ask(VISITS, "count(*) > 100", USUAL, **options)
        assert asked.estimates == {}
        with pytest.raises(DuotoneError, match="only one count of people"):
            _ = asked.estimate
    assert ask(VISITS, "count(*) > 100", ApproxDP(1)).estimates == {}
    assert ask(VISITS, "count(distinct person) > 100", USUAL, unit="person").estimate > 280


def test_the_text_of_a_count() -> None:
    assert count_alone("SELECT COUNT(DISTINCT p) >= 5") == "SELECT COUNT(DISTINCT p)"
    for other in (
        "SELECT SUM(x) > 3",
        "SELECT COUNT(*) > 3 AND COUNT(x) > 4",
        "SELECT COUNT(*) + 1 > 3",
        "SELECT COUNT(*) > '3'",
    ):
        assert count_alone(other) is None
