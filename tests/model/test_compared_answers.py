"""Released answers, local or from a service: equal to their word, to a Boolean, or to nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError, ask
from duotone.line.table import Outcome
from duotone.model.answer import CountLimit, in_words
from duotone.tables.answers import Answers

BUDGET = ApproxDP(1, "1e-6")
TABLE = pa.table({"town": ["Ely"] * 90 + ["Wells"] * 90, "x": [1, 3] * 90})


def answered(question: str) -> Answers:
    return ask(TABLE, question, BUDGET, bounds={"x": (0, 4)} if "x" in question else {})


def test_an_answer_is_its_word_or_its_truth() -> None:
    yes, no = answered("avg(x) > 1"), answered("avg(x) > 3")
    assert yes == "yes"
    assert yes == True  # noqa: E712
    assert yes == np.True_
    assert yes != "no"
    assert yes != no
    assert no == "no"
    assert no == False  # noqa: E712
    assert no != "yes"
    assert yes is not None
    assert (yes == None) is False  # noqa: E711
    for word in ("Yes", "true", "", 1, 0, np.int64(1)):  # 1 == True in Python: neither equal nor different would be expected
        with pytest.raises(DuotoneError, match='compared with "yes" or "no"'):
            _ = yes == word
    with pytest.raises(TypeError, match="unhashable"):
        hash(yes)


def test_what_only_one_answer_has() -> None:
    grouped = ask(TABLE, "select town, count(*) > 9 from t group by town", BUDGET, groups=["Ely", "Wells"])
    for name in ("answer", "margin", "p_value", "certain", "distance", "estimate"):
        with pytest.raises(DuotoneError, match="a grouped question has many"):
            getattr(grouped, name)
    with pytest.raises(DuotoneError, match="a grouped question has many"):
        _ = grouped == "yes"
    assert [margin.certain for margin in grouped.margins.values()] == [True, True]
    assert all(abs(estimate - 90) <= 14 for estimate in grouped.estimates.values())
    with pytest.raises(DuotoneError, match="only one count of people"):
        _ = answered("avg(x) > 1").estimate
    counted = answered("count(*) <= 300")
    assert counted == "yes"
    assert counted.margin == CountLimit(300, above=False).margin(counted.estimate)


@pytest.mark.parametrize("above", [True, False])
def test_a_count_and_its_margin_say_the_same(above: bool) -> None:
    limit = CountLimit(100, above=above)
    for count in range(80, 120):
        assert limit.count(limit.margin(count)) == count
        assert (limit.margin(count) >= 0) == (count >= 100 if above else count <= 100)


def test_a_record_in_words() -> None:
    assert in_words(False, BUDGET, "balanced") == "no"
    assert in_words("too close to call", BUDGET, "balanced") == "too close to call"
    assert in_words(-1, BUDGET, "balanced") == "no, p = 0.27"
    assert in_words({"count": 40}, BUDGET, "balanced") == "a count of about 40"


def test_one_of_several_is_compared_with_one_of_them() -> None:
    which = ask(TABLE, "mode(town)", ApproxDP(1, "1e-6"), groups=["Ely", "Wells"])
    assert which.among == ("Ely", "Wells")
    assert which == which.answer
    assert [which == town for town in which.among].count(True) == 1
    for other, said in (("ely", 'the text "ely"'), ("yes", 'the text "yes"'), (True, "True")):
        with pytest.raises(DuotoneError, match=f"^the answer is one of Ely, Wells: compare it with one of them, got {said}$"):
            _ = which == other
    with pytest.raises(DuotoneError, match="neither yes nor no"):
        bool(which)


def test_one_that_may_be_too_close_to_call() -> None:
    yes, close = (replace(answered("count(*) > 1"), answers={(): said}) for said in (Outcome.YES, Outcome.TOO_CLOSE))
    for said, equal in (("yes", True), (True, True), ("no", False), (False, False), ("too close to call", False)):
        assert (yes == said) is equal
        assert (close == said) is (said == "too close to call")
    for one in (yes, close):
        with pytest.raises(DuotoneError, match='compared with "yes" or "no"'):
            _ = one == "too close"
    with pytest.raises(DuotoneError, match="neither yes nor no"):
        bool(close)
