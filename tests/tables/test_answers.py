"""What an answer says about itself: how sure it is, what was clipped, and a sentence for a report."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from duotone import (
    ApproxDP,
    DuotoneError,
    ask,
    balanced,
    open_ledger,
    partition_selection,
    prepare,
    select_groups,
    with_boundary,
)
from duotone.line.table import line_table
from duotone.model.accuracy import Accuracy, at_most
from duotone.release.coin import insecure_test_seed
from duotone.tables.check_question import prepare_groups

P = ApproxDP(1, "1e-6")
STAYS = pa.table({"patient": range(60), "ward": ["Ely"] * 30 + ["Wells"] * 30, "days": [3, 9] * 30})
ABOUT: dict[str, Any] = {"unit": "patient", "per_unit": "avg", "bounds": {"days": (0, 30)}}
BY_WARD = "select ward, count(*) > 9 from t group by ward"


@pytest.mark.parametrize(
    "line", [balanced(P), balanced(ApproxDP(exp_epsilon=2**60)), with_boundary(P, "9/10"), partition_selection(P)]
)
def test_errors_are_those_of_the_mechanism(line: Any) -> None:
    accuracy = Accuracy(line_table(line))
    for margin in (1, 2, 5, 20):
        no, yes = accuracy.errors(margin)
        assert no == pytest.approx(float(line.error(margin - 1)), rel=1e-9, abs=1e-25)
        assert yes == pytest.approx(float(line.error(-margin)), rel=1e-9, abs=1e-25)
    assert max(accuracy.errors(1)) > 0  # a mistake that is next to impossible is possible
    bad: list[Any] = [0, -1, True, 1.5]
    for none in bad:
        with pytest.raises(DuotoneError, match="a margin is a whole number of people"):
            accuracy.errors(none)


@pytest.mark.parametrize("probability", [0.268941, 0.2690000001, 1e-300, 3.2601e-05, 0.5, 0.9991, 1.0, 5e-324])
def test_at_most_is_rounded_up(probability: float) -> None:
    assert (
        Fraction(probability) <= Fraction(at_most(probability)) <= Fraction(probability) * Fraction(102, 100) + Fraction(5e-324)
    )


def test_an_answer_says_how_sure_it_is() -> None:
    answer = ask(STAYS, "avg(days) > 5", P, **ABOUT)
    assert "wrong with probability at most 0.269, never from 15 people on" in repr(answer)
    page = answer._repr_html_()
    assert "Pr[wrong] by people from flipping: 1: 0.269, 2: 0.0989" in page
    assert "never wrong from 15 people on" in page
    assert "clipped before anything is counted: days to [0, 30]" in page
    (note,) = answer.notes
    assert note.startswith("avg(days) > 5 is about clipped values: with 1% of them cut to [0, 30], by 30 on average")
    assert answer.facts.clipping == (
        "clipped before anything is counted: days to [0, 30] in steps of 1/100000, a person's values to their avg, "
        "rounded down; Pr[wrong] does not include the effect of clipping"
    )
    equal = ask(STAYS, "count(*) = 60", P)
    assert equal.notes
    assert all(note.split(":")[0] in equal._repr_html_() for note in equal.notes)


def test_a_prepared_question_has_one_column_unless_mistakes_differ() -> None:
    with prepare(STAYS, "count(*) > 9", P) as alike, prepare(STAYS, "count(*) > 9", P, costs=(10, 1)) as unlike:
        assert "Pr[wrong]</th>" in alike._repr_html_()
        assert "Pr[false" not in alike._repr_html_()
        assert "Pr[false no]</th>" in unlike._repr_html_()
        assert "never wrong from 15 people on" in alike._repr_html_()
        assert f"width='{0.2689414 * 120:.1f}'" in alike._repr_html_()  # a bar of 1 is full: no logarithms


@pytest.mark.slow
def test_quotes() -> None:
    """What a reader needs: the question, the answer, the budget, who is protected from what, clipping, and how often it is
    wrong; nothing else of the table."""
    plain = ask(STAYS, "count(*) > 9", ApproxDP(1), neighbours="replace").quote()
    assert re.fullmatch(
        r"In the table, “count\(\*\) > 9” was answered yes, p = \S+ "
        r"\(if the truth were no, an answer this clear would come up at most (?:once|\d+ times) in [\d,]+\), "
        "with differential privacy, ε = 1, δ = 0 per row under replacement; each row is a person; "
        "wrong with probability at most 0.269, and less often the more people would have to be different to change it.",
        plain,
    ) or plain.startswith("In the table, “count(*) > 9” was answered no, p =")  # once in 10^20
    costly = ask(STAYS, "count(*) > 9", P, costs=(10, 1)).quote()
    assert "wrong with probability at most 0.0787 where yes is true and 0.787 where no is, and never if 1" in costly
    grouped = ask(STAYS, BY_WARD, ApproxDP(exp_epsilon=9, delta="1e-3"), unit="patient", max_rows=1, max_groups=1).quote()
    yes = r"yes \((?:certain|p = \S+)\)"
    assert re.match(
        rf"In the table, “{re.escape(BY_WARD)}” was answered {yes} for Ely, {yes} for Wells, "
        r"with differential privacy, e\^ε = 9",
        grouped,
    )
    assert "each answer with" not in grouped  # which are shown costs nothing more
    assert "; groups of few people may be missing, since which are shown is decided privately; note: " in grouped
    assert "may be missing" not in ask(STAYS, BY_WARD, P, groups=["Ely"]).quote()
    none = ask(STAYS.slice(0, 0), BY_WARD, P).quote()
    assert none.startswith(f"In the table, “{BY_WARD}” was answered for no group, since none may be shown, with differ")
    shown = select_groups(STAYS, "ward", ApproxDP(3, "1e-3")).quote()
    assert re.match(
        r"In the table, Ely \(about \d+ rows?\), Wells \(about \d+ rows?\) of the groups by ward may be shown, selected with "
        "differential privacy, ε = 3, δ = 0.001 per ",
        shown,
    )
    assert shown.endswith("or more people is always shown.")
    assert "In the table, none of the groups by ward may be shown" in select_groups(STAYS.slice(0, 0), "ward", P).quote()
    toss = ask(STAYS, "count(*) > 9", ApproxDP(0)).quote()
    assert "each row is a person; wrong with probability at most 0.5; note: a coin toss" in toss
    assert "a coin toss" in ask(STAYS, "count(*) > 9", ApproxDP(0))._repr_html_()
    bound = ask(STAYS, "avg(days) > 5 and count(*) > 3", P, bounds={"days": (0, 30)})
    assert ("by a safe bound" in bound.quote()) == (bound.facts.basis == "safe bound")


def test_an_answer_without_groups_is_true_or_false() -> None:
    yes, no = (ask(STAYS, f"count(*) > {limit}", ApproxDP(4, "1e-3")) for limit in (9, 500))
    assert yes == True and no == False and yes != False and yes == np.True_  # noqa: E712, PT018
    answers: list[Any] = [yes, no, yes]
    assert answers.count(True) == 2
    assert yes == yes and yes != no and yes == "yes" and yes != "no"  # noqa: PT018
    grouped = ask(STAYS, BY_WARD, P, groups=["Ely"])
    assert grouped == grouped
    with pytest.raises(DuotoneError, match=r"look at \.answers"):
        assert grouped == True  # noqa: E712


def test_rows_without_a_unit_are_said_not_to_count() -> None:
    stays = pa.table({"id": [1, None, 2], "days": [3, 4, 5]})
    by: dict[str, Any] = {"unit": "id", "max_rows": 1}
    with prepare(stays, "count(*) > 1", P, **by) as asked:
        assert asked.facts.person == "a person is an id (rows without one do not count), counted as at most 1 row"
        assert asked.facts.person in asked.quote()
    for condition in ("id is null", "days > 3 or id is null", "ID is null"):
        with pytest.raises(DuotoneError, match="rows without id never count, since it identifies the person"):
            prepare(stays, f"count(*) filter (where {condition}) > 1", P, **by)
        prepare(stays, f"count(*) filter (where {condition}) > 1", P).close()
    inner = "select count(*) > 1 from (select id, sum(days) as s from t where {} group by id) where s > 3"
    with pytest.raises(DuotoneError, match="rows without id never count"):
        prepare(stays, inner.format("id is null"), P, unit="id")
    for fine in ("count(id) > 1", "count(*) filter (where id is not null and not (id is null)) > 1"):
        prepare(stays, fine, P, **by).close()
    prepare(stays, inner.format("id is not null and days is null"), P, unit="id").close()


def test_the_quote_of_a_test_is_no_answer() -> None:
    with pytest.warns(UserWarning, match="NOT PRIVATE"), insecure_test_seed(1):
        seeded = ask(STAYS, "count(*) > 9", P)
    assert seeded.quote().startswith("NOT PRIVATE, by a test seed: In the table, “count(*) > 9” was answered ")


def test_a_quote_names_the_table_or_the_dataset_and_has_the_question_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "stays.csv").write_text("ward,days\n" + "Ely,3\n" * 99)
    written = "select Count(*) > 9  -- of all\n  from stays\n where ward = 'Ely  2' or ward = 'Ely';"
    shown = "“select Count(*) > 9 from stays where ward = 'Ely  2' or ward = 'Ely'”"
    with prepare(tmp_path / "stays.csv", written, P) as asked:
        assert asked.quote().startswith(f"In stays.csv, {shown} is to be answered with differential privacy, ε = 1, δ = 1e-06")
        assert asked.release().quote().startswith(f"In stays.csv, {shown} was answered ")
        with open_ledger(tmp_path / "l") as ledger:
            ledger.register("survey", P, unit="row", neighbours="add-remove", version="1")
            assert asked.charge(ledger, "survey").quote().startswith(f"In survey, {shown} was answered ")
    with prepare(tmp_path / "stays.csv", """count(*) filter (where "ward" = 'Ely\nWells') > 9""", P) as lines:
        assert r"""“count(*) filter (where "ward" = 'Ely\nWells') > 9”""" in lines.quote()
    with prepare_groups(tmp_path / "stays.csv", "ward", P) as groups:
        assert groups.quote().startswith("In stays.csv, the groups by ward are to be selected with differential privacy")


def test_without_delta_one_note_says_what_a_small_one_adds() -> None:
    with prepare(STAYS, "count(*) > 9", ApproxDP(1)) as asked, prepare(STAYS, "count(*) > 9", P) as usual:
        assert asked.accuracy.ending == "with delta 0 no answer is ever certain; with delta 1e-6 one would be from 15 people on"
        assert usual.accuracy.ending == "never wrong from 15 people on, always certain from 29"
        assert asked._repr_html_().count("1e-6") == asked.release()._repr_html_().count("1e-6") == 1
    for options in ({"privacy": ApproxDP(0)}, {"privacy": ApproxDP(1), "costs": (10, 1)}):
        with prepare(STAYS, "count(*) > 9", **options) as other:
            assert other.accuracy.ending == "with delta 0 no answer is ever certain"


def test_what_a_small_delta_adds_is_of_the_share_of_each_answer() -> None:
    rows = pa.table({"u": [1, 1, 2], "town": ["Ely", "Wells", "Ely"]})
    options: Any = {"unit": "u", "max_rows": 1, "max_groups": 2, "groups": ["Ely", "Wells"]}
    question = "select town, count(*) > 9 group by town"
    with prepare(rows, question, ApproxDP(1), **options) as asked, prepare(rows, question, P, **options) as usual:
        said, _, _ = usual.accuracy.ending.removeprefix("never wrong ").partition(", always certain")
        for accuracy in (asked.accuracy, asked.release().accuracy):
            assert accuracy.ending == f"with delta 0 no answer is ever certain; with delta 1e-6 one would be {said}"


def test_two_grids_of_one_column_are_both_said() -> None:
    """Squares of values far from zero need a coarser grid than their sum."""
    asked: Any = {"bounds": {"x": (100_000, 100_010)}}
    for question, steps in (
        ("avg(x) > 100005 and stddev(x) > 2", "1/100000 and 1/10000"),
        ("stddev(x) > 2 and avg(x) > 100005", "1/10000 and 1/100000"),
        ("avg(x) > 100005 and avg(x) < 100007", "1/100000"),
    ):
        answer = ask(pa.table({"x": [100_003.5] * 9}), question, P, **asked)
        assert answer.facts.grids == {"x": steps}
        assert all(f"in steps of {step}" in answer.facts.clipped for step in steps.split(" and "))
