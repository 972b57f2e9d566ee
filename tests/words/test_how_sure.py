"""Words for how sure an answer is: what is rounded is never rounded in favour of the answer."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone.words import sentences


@given(st.floats(min_value=1e-40, max_value=1), st.sampled_from(["yes", "no"]))
def test_a_meaning_never_promises_more_than_the_p_value(p: float, answer: str) -> None:
    said = sentences.meaning({"certain": False, "p_value": p}, answer)
    found = re.fullmatch(
        r"if the truth were (\w+), an answer this clear would come up at most (\d+ times|once) in ([\d,]+)", said
    )
    assert found is not None
    times = 1 if found[2] == "once" else int(found[2].removesuffix(" times"))
    share = Fraction(times, int(found[3].replace(",", "")))
    assert Fraction(repr(p)) <= share
    assert times > 1 or p <= 1e-18
    assert share <= Fraction(repr(p)) * 2 or p < 1e-18
    assert {answer, found[1]} == {"yes", "no"}


@given(st.floats(min_value=1e-300, max_value=1))
def test_two_digits_are_never_below(p: float) -> None:
    said = sentences.rounded_up(p)
    assert p <= float(said) <= p * 1.1
    assert len(re.sub(r"e.*|^0\.0*|\.", "", said)) <= 2


@pytest.mark.parametrize(("unit", "one", "two"), [("person", "1 person", "2 people"), ("ward", "1 ward", "2 wards")])
def test_one_is_not_several(unit: str, one: str, two: str) -> None:
    close = {"certain": False, "p_value": 0.269, "give_or_take": 3}
    assert sentences.how_sure({**close, "distance": 1}, unit) == f"p = 0.27: about {one} from flipping, give or take 3"
    sure = {"certain": True, "at_least": {"1": 2}}
    assert sentences.how_sure(sure, unit) == f"certain: at least {two} would have to be different"
    assert sentences.in_report(sure, "no", unit) == f"certain (at least {two} would have to be different to change it)"
    assert sentences.meaning(sure, "no") == ""


def test_a_count_is_not_what_is_certain() -> None:
    """Nor is it below nobody."""
    count = {"certain": True, "p_value": 0.0, "estimate": -2, "give_or_take": 3}
    assert sentences.how_sure(count, "row") == "certain; there are about 0 rows, give or take 3"
    assert sentences.how_sure({**count, "certain": False, "p_value": 0.5}, "row").startswith("p = 0.5; there are about")
