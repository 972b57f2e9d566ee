"""A test of shares: what is charged, what follows, and what SciPy says about the same counts without noise."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest, fisher_exact

from duotone import ApproxDP, Dataset, DuotoneError, ask, open_ledger, prepare, share_test
from duotone.model.cost import Receipt
from duotone.model.notice import Refusal
from duotone.plotting import power as drawn_power
from duotone.release.coin import NotPrivateWarning, insecure_test_seed
from duotone.statistics.binomial import TOSSES, difference
from duotone.statistics.power import NO_NOISE, power
from duotone.statistics.shares import UNLIKELY
from duotone.tables.answers import Answers
from duotone.tables.hypotheses import _toss, share_test_of
from duotone.tables.prepared import levels_of_all
from duotone.tables.sql.read_hypothesis import read_hypothesis
from support.running import run

HARDLY = ApproxDP(200, "1e-9")
"""Hardly any noise."""
USUAL = ApproxDP(1, "1e-6")
RANDOM = np.random.default_rng(11)
ROWS = pa.table(
    {
        "yes": [None if i % 50 == 0 else bool(x) for i, x in enumerate(RANDOM.random(900) < 0.13)],
        "age": RANDOM.integers(20, 95, 900),
        "before": RANDOM.integers(0, 10, 900),
        "after": RANDOM.integers(0, 11, 900),
        "ward": [None if i % 90 == 0 else "AB"[i % 2] for i in range(900)],
    }
)
PEOPLE: list[dict[str, Any]] = ROWS.to_pylist()


def count(*conditions: Any) -> int:
    return sum(all(condition(row) is True for condition in conditions) for row in PEOPLE)


def p_of(yes: int, people: int, share: float, relation: str) -> float:
    sides = [float(binomtest(yes, people, share, alternative=side).pvalue) for side in ("greater", "less")]
    return {"<=": sides[0], ">=": sides[1], "=": min(1.0, 2 * min(sides))}[relation]


@pytest.mark.parametrize("relation", ["=", "<=", ">="])
def test_without_noise_it_is_the_usual_test(relation: str) -> None:
    """A share of all who have a value; of some; of two answers of the same people."""
    yes, no = (lambda row: row["yes"]), (lambda row: None if row["yes"] is None else not row["yes"])
    old, more, less = (lambda r: r["age"] > 65), (lambda r: r["after"] > r["before"]), (lambda r: r["after"] < r["before"])
    for text, cells, share in (
        (f"share(yes) {relation} 0.1", (count(yes), count(no)), 0.1),
        (f"share(yes) filter (where age > 65) {relation} 1/10", (count(yes, old), count(no, old)), 0.1),
        (f"share(after > before) {relation} share(after < before)", (count(more), count(less)), 0.5),
    ):
        found = share_test(ROWS, text, HARDLY)
        assert tuple(found.answers.estimates.values()) == cells
        expected = p_of(cells[0], sum(cells), share, relation)
        assert expected - 1e-9 <= found.p_value <= expected + 2.1 * float(UNLIKELY)
        assert found.estimates == (cells[0] / sum(cells),)
        assert bool(found) is found.rejected is (expected <= 0.05)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("where", ["", " filter (where age > 65)"])
def test_of_a_public_number_who_has_no_value_is_a_no(neighbours: str, where: str) -> None:
    """The toss is between a p-value that counts ties and one that does not."""
    old = (lambda row: row["age"] > 65) if where else (lambda _: True)
    yes, people = count(lambda row: row["yes"], old), count(old)
    for text in (f"share(yes){where} <= 0.1", f"0.1 >= share(yes){where}"):
        found = share_test(ROWS, text, HARDLY, sample_size=people, neighbours=neighbours)
        counts = {(): yes} if neighbours == "replace" else {("yes",): yes, ("no",): people - yes}
        assert found.answers.estimates == counts
        assert p_of(yes + 1, people, 0.1, "<=") <= found.p_value <= p_of(yes, people, 0.1, "<=") + 1e-12
        assert found.estimates == (yes / people,)
        assert ("most powerful" in str(found.method)) is (neighbours == "replace")


def test_two_groups() -> None:
    cells = [count(lambda r, w=ward: r["ward"] == w, lambda r, y=yes: r["yes"] is y) for ward in "AB" for yes in (True, False)]
    text = "share(yes) filter (where ward = 'A') = share(yes) filter (where ward = 'B')"
    found = share_test(ROWS, text, HARDLY)
    assert [*found.answers.estimates.values()] == cells
    assert found.p_value >= float(fisher_exact(np.array([cells[:2], cells[2:]])).pvalue) / 2
    assert found.interval is None
    assert found.estimates == (cells[0] / sum(cells[:2]), cells[2] / sum(cells[2:]))
    differs = share_test(ROWS, "share(age > 60) filter (where age > 50) <= share(age > 60) filter (where age < 50)", USUAL)
    assert differs.p_value < 0.05


def test_people_with_several_rows_count_once() -> None:
    """One row that fits is enough; whoever is in both groups counts in the first; the order of rows is nothing."""
    table = pa.table(
        {
            "person": ["a", "a", "b", "b", "c", "d", "d", None],
            "yes": [False, True, False, False, None, True, None, True],
            "ward": ["A", "B", "B", "A", "A", "B", "B", "A"],
        }
    )
    assert [*share_test(table, "share(yes) = 0.5", HARDLY, unit="person").answers.estimates.values()] == [2, 1]
    known = share_test(table, "share(yes) = 0.5", HARDLY, unit="person", sample_size=4)
    assert [*known.answers.estimates.values()] == [2, 2]
    changed = share_test(table, "share(yes) = 0.5", HARDLY, unit="person", sample_size=4, neighbours="replace")
    assert changed.answers.estimates == {(): 2}
    some = share_test(table, "share(yes) filter (where ward = 'B') = 0.5", HARDLY, unit="person", sample_size=3)
    assert [*some.answers.estimates.values()] == [2, 1]
    text = "share(yes) filter (where ward = 'A') = share(yes) filter (where ward = 'B')"
    both = share_test(table, text, HARDLY, unit="person", max_rows=1, max_groups=7)
    assert [*both.answers.estimates.values()] == [0, 2, 1, 0]


def receipt_of(answers: Answers) -> Receipt:
    assert answers.receipt is not None
    return answers.receipt


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Any]:
    with open_ledger(tmp_path / "budget.ledger") as opened:
        for neighbours in ("add-remove", "replace"):
            opened.register(neighbours, ApproxDP(20, "1e-3"), version="1", unit="row", neighbours=neighbours)
        yield opened


def test_a_test_is_charged_as_a_count_and_further_ones_are_free(ledger: Any) -> None:
    charged: dict[str, Any] = {"ledger": ledger, "dataset": "replace", "neighbours": "replace"}
    first = share_test(ROWS, "share(yes) = 0.1", USUAL, sample_size=900, **charged)
    again = [share_test(ROWS, "share(yes) = 0.1", USUAL, sample_size=900, **charged) for _ in range(3)]
    assert {each.p_value for each in again} == {first.p_value}  # the toss is that of the charge
    other = share_test(ROWS, "share(yes) >= 0.2", USUAL, sample_size=1000, alpha=0.01, **charged)
    counted = ask(ROWS, "count(*) filter (where yes) > 0", USUAL, **charged)
    assert [receipt_of(each.answers).free for each in (first, *again, other)] == [False, True, True, True, True]
    assert receipt_of(counted).free
    assert counted.estimate == first.answers.estimate == other.answers.estimate
    anew = share_test(ROWS, "share(yes) = 0.1", USUAL, sample_size=900, again=True, **charged)
    assert _toss(anew.answers) != _toss(first.answers)
    assert 0 <= _toss(first.answers) < TOSSES
    assert ledger.statement("replace").state.charges == 2


def test_both_counts_are_one_charge(ledger: Any) -> None:
    charged: dict[str, Any] = {"ledger": ledger, "dataset": "add-remove"}
    cells = share_test(ROWS, "share(yes) = 0.1", USUAL, **charged)
    assert receipt_of(share_test(ROWS, "share(yes) <= 0.3", USUAL, **charged).answers).free
    assert cells.document()["ledger"]["charge"] == receipt_of(cells.answers).charge
    (charge,) = ledger.statement("add-remove").charges
    assert (charge.answers, charge.privacy) == (1, USUAL)


def test_a_mark_is_the_hash_of_the_charge(ledger: Any) -> None:
    found = share_test(ROWS, "share(yes) = 0.1", USUAL, ledger=ledger, dataset="add-remove")
    receipt = receipt_of(found.answers)
    with ledger._store.reading() as entries:
        row = entries.at(receipt.charge)
    assert (row.kind, row.hash) == ("charge", receipt.mark)
    assert receipt.mark not in json.dumps(found.document()) + repr(receipt)


@pytest.mark.parametrize("rows", [some for n in range(4) for some in itertools.product([True, False, None], repeat=n)])
def test_where_someone_changes_the_count_above_0_is_its_level(rows: tuple[bool | None, ...]) -> None:
    """So its margin is a noisy count; but of nobody at all, where no change makes a yes."""
    with prepare(
        pa.table({"x": pa.array(rows, pa.bool_())}), "count(*) filter (where x) > 0", USUAL, neighbours="replace"
    ) as asked:
        assert asked.terms.count is not None
        levels = levels_of_all([asked])[2][0].tolist()
    yes = sum(row is True for row in rows)
    assert levels == [yes - 1] if rows else levels[0] < -(2**40)
    for other in ("count(*) filter (where x) > 1", "count(*) filter (where x) < 1", "count(*) > 0"):
        with prepare(pa.table({"x": pa.array(rows, pa.bool_())}), other, USUAL, neighbours="replace") as asked:
            assert asked.terms.count is None


@pytest.mark.parametrize("condition", ["x is null or x is not null", "true"])
def test_where_someone_changes_a_count_of_everybody_is_no_count(condition: str) -> None:
    """No change makes it smaller: its level is infinite, which must not be read as a count."""
    with pytest.raises(Refusal) as refused:
        share_test(pa.table({"x": [True, False]}), f"share({condition}) = 0.5", USUAL, sample_size=2, neighbours="replace")
    assert refused.value.notice.code == "test needs counts"


@pytest.mark.parametrize(
    ("question", "noted"),
    [
        ("avg(yes) > 0.1", True),
        ("share(yes) > 0.1", True),
        ("share(yes) filter (where ward = 'A') > share(yes) filter (where ward = 'B')", True),
        ("count(*) filter (where yes) > 0.1 * count(*)", False),
        ("count(*) > 100", False),
        ("avg(age) > 40", False),
        ("median(age) > 40", False),
    ],
)
def test_a_yes_about_a_share_is_said_to_be_no_test(question: str, *, noted: bool) -> None:
    with prepare(Dataset(ROWS, bounds={"age": (20, 95)}), question, USUAL) as asked:
        assert ("no test" in [note.code for note in asked.facts.notes]) is noted


REFUSED = [
    ("share(yes) > 0.1", {}, "no hypothesis"), ("share(yes)", {}, "no hypothesis"), ("count(*) = 3", {}, "no hypothesis"),
    ("share(yes) = 0.1 and share(yes) = 0.2", {}, "no hypothesis"), ("share(yes) = '0.1'", {}, "no hypothesis"),
    ("select share(yes) = 0.1 from t where age > 3", {}, "no hypothesis"), ("0.1 = 0.2", {}, "no hypothesis"),
    ("share(yes) = 0.1, share(yes) = 0.2", {}, "no hypothesis"), ("share(yes) = age", {}, "no hypothesis"),
    ("share(yes) filter (where ward = 'A') = share(yes)", {}, "groups of a hypothesis"),
    ("share(yes) = share(age > 3)", {"sample_size": 900}, "sample_size of two shares"),
    ("share(yes) = 0.1", {"neighbours": "replace"}, "sample_size missing"),
    ("share(yes) = 0.1", {"delta": 0}, "test needs counts"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "options", "code"), REFUSED)
def test_refusals(text: str, options: dict[str, Any], code: str) -> None:
    with pytest.raises(Refusal) as refused:
        share_test(ROWS, text, **{"epsilon": 1, "delta": 1e-6, **options})
    assert refused.value.notice.code == code


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"alpha": 0}, "between 0 and 1, got 0"),
        ({"alpha": "nan"}, "alpha"),
        ({"sample_size": 0}, "at least 1, got 0"),
        ({"sample_size": True}, "got True"),
    ],
)
def test_what_no_test_has(options: dict[str, Any], said: str) -> None:
    with pytest.raises(DuotoneError, match=said):
        share_test_of("share(yes) = 0.1", **options)


@pytest.mark.parametrize("text", ["share(yes) = 2", "share(yes) = 1/0", "share(yes) <= 3/2"])
def test_no_share_is_above_one(text: str) -> None:
    with pytest.raises(DuotoneError, match="from 0 to 1"):
        read_hypothesis(text)


def test_values_that_are_no_condition() -> None:
    with pytest.raises(DuotoneError, match="not a condition"):
        share_test(ROWS, "share(age) = 0.1", USUAL)


def test_a_result_in_every_form() -> None:
    with pytest.warns(NotPrivateWarning), insecure_test_seed(3):
        found = share_test(ROWS, "share(yes) = 0.3", USUAL, sample_size=900, alpha="1/100")
    with pytest.warns(NotPrivateWarning), insecure_test_seed(3):
        assert share_test(ROWS, "share(yes) = 0.3", USUAL, sample_size=900).p_value == found.p_value
    assert repr(found).startswith("<Finding: share(yes) = 0.3 is rejected at 0.01, p = ")
    assert str(found).endswith("(NOT PRIVATE: test seed)")
    assert found.quote().startswith("NOT PRIVATE, by a test seed: In the table, “share(yes) = 0.3” was rejected at 0.01, p = ")
    assert "99 % interval" in found.found
    assert "noisy counts: yes " in found._repr_html_()
    document = found.document()
    assert (document["rejected"], document["alpha"], document["private"]) == (True, 0.01, False)
    assert document["interval"][0] < document["estimates"][0] < document["interval"][1] < 0.3
    nobody = share_test(ROWS, "share(yes) filter (where age > 200) = 0.3", HARDLY)
    assert (nobody.estimates, nobody.found, nobody.rejected) == ((None,), "unknown, 95 % interval 0 to 1", False)


def test_power_is_how_often_it_rejects() -> None:
    """At the share itself it is α; without noise, SciPy's critical value is between; it grows with the distance."""
    noise = prepared_noise()
    how: dict[str, Any] = {"alpha": Fraction(1, 20)}
    tenth = Fraction(1, 10)
    for relation in ("<=", ">=", "="):
        assert power(noise, 300, tenth, tenth, relation=relation, **how) == pytest.approx(0.05, abs=1e-9)
    grown = [power(noise, 300, tenth, Fraction(share, 100), relation="<=", **how) for share in range(1, 40)]
    assert grown == sorted(grown)
    plain = power(NO_NOISE, 300, tenth, Fraction(15, 100), relation="<=", **how)
    critical = next(k for k in range(300) if binomtest(k, 300, 0.1, alternative="greater").pvalue <= 0.05)
    ends = [float(binomtest(k, 300, 0.15, alternative="greater").pvalue) for k in (critical, critical - 1)]
    assert ends[0] <= plain <= ends[1]
    one, two = (
        power(each, 300, tenth, Fraction(15, 100), relation="<=", both=each is not noise, **how)
        for each in (noise, difference(noise))
    )
    assert one < two < plain


def prepared_noise() -> Any:
    with prepare(ROWS, "count(*) > 0", USUAL) as asked:
        return asked.terms.table.noise


def test_its_picture() -> None:
    figure = drawn_power(share_test_of("share(yes) = 0.1", sample_size=900), prepared_noise())
    (axes,) = figure.axes
    private, plain = (line.get_ydata() for line in (axes.lines[1], axes.lines[0]))
    assert np.all(np.asarray(private) <= np.asarray(plain) + 1e-6)
    both = drawn_power(share_test_of("share(yes) = 0.1", sample_size=900), prepared_noise(), both=True).axes[0].lines[1]
    assert np.all(np.asarray(both.get_ydata()) >= np.asarray(private) - 1e-6)
    with pytest.raises(DuotoneError, match="sample_size"):
        drawn_power(share_test_of("share(yes) = 0.1"), prepared_noise())


STAYS = Path(__file__).parents[2] / "examples" / "stays" / "stays.toml"


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    usual = STAYS, "share(readmitted) = 0.5", "--epsilon", 1, "--delta", "1e-6"
    code, out, err = run(capsys, "test", *usual, "--sample-size", 1800, "--draw", tmp_path / "power.svg")
    assert (code, err) == (0, f"wrote {tmp_path / 'power.svg'}\n")
    assert out.startswith("share(readmitted) = 0.5: rejected at 0.05, p = ")
    code, out, _ = run(capsys, "test", *usual, "--json", "--alpha", "1/1000", "--certificate", tmp_path / "proof.json")
    assert json.loads(out)["alpha"] == 0.001
    assert run(capsys, "check", tmp_path / "proof.json")[0] == 0
    assert "(--sample-size)" in run(capsys, "test", *usual, "--draw", tmp_path / "unknown.svg")[2]
    for wrong in (("--alpha", 2), ("--sample-size", 0), ("--neighbours", "replace")):
        code, out, err = run(capsys, "test", *usual, *wrong)
        assert (code, out, err.count("\n")) == (2, "", 1)


def test_a_dataset_that_declares_more_than_counts_need() -> None:
    found = share_test(Dataset.load(STAYS), "share(readmitted) = 0.19", USUAL)
    assert sum(found.answers.estimates.values()) == pytest.approx(1800, abs=28)
