"""Words for how sure an answer is. Each function takes numbers, as `Margin.numbers()` or a document has them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from math import ceil
from typing import Any


def how_sure(numbers: Mapping[str, Any], unit: str = "person") -> str:
    """How sure an answer is, after the answer itself; `unit` is one of those whom it is about.

    >>> how_sure({"certain": True, "at_least": {"1": 15}}, "patient")
    'certain: at least 15 patients would have to be different'
    >>> how_sure({"certain": False, "p_value": 0.00182, "distance": 6, "give_or_take": 3}, "patient")
    'p = 0.0019: about 6 patients from flipping, give or take 3'
    >>> how_sure({"certain": False, "p_value": 1e-19, "distance": 424, "capped": True, "give_or_take": 30}, "patient")
    'p = 1e-19: about 424 patients or more from flipping, give or take 30'
    >>> how_sure({"certain": True, "at_least": {"1": 89}, "estimate": 203, "give_or_take": 3}, "patient")
    'certain; there are about 203 patients, give or take 3'
    """
    if "estimate" in numbers:
        seems = f"; there are about {many(max(numbers['estimate'], 0), unit)}"
    elif numbers["certain"]:
        return f"certain: at least {many(numbers['at_least']['1'], unit)} would have to be different"
    else:
        more = " or more" if numbers.get("capped") else ""
        seems = f": about {many(numbers['distance'], unit)}{more} from flipping"
    return f"{brief(numbers)}{seems}, give or take {numbers['give_or_take']}"


def brief(numbers: Mapping[str, Any]) -> str:
    """The same where there is little room.

    >>> brief({"certain": False, "p_value": 0.00182}), brief({"certain": True})
    ('p = 0.0019', 'certain')
    >>> brief({"estimate": 203, "give_or_take": 3})  # a count that a ledger recorded, for any limit
    'about 203, give or take 3'
    """
    if "certain" not in numbers:
        return f"about {numbers['estimate']:,}, give or take {numbers['give_or_take']}"
    return "certain" if numbers["certain"] else f"p = {rounded_up(numbers['p_value'])}"


def in_report(numbers: Mapping[str, Any], answer: str, unit: str = "person") -> str:
    """The same in a sentence, after the answer.

    >>> in_report({"certain": True, "at_least": {"1": 15}}, "yes", "patient")
    'certain (at least 15 patients would have to be different to change it)'
    """
    if numbers["certain"]:
        return f"certain (at least {many(numbers['at_least']['1'], unit)} would have to be different to change it)"
    return f"{brief(numbers)} ({meaning(numbers, answer)})"


def meaning(numbers: Mapping[str, Any], answer: str) -> str:
    """What a p-value says; nothing where the answer is certain.

    >>> meaning({"certain": False, "p_value": 0.00182}, "yes")
    'if the truth were no, an answer this clear would come up at most 2 times in 1,000'
    >>> meaning({"certain": False, "p_value": 0.269}, "no")
    'if the truth were yes, an answer this clear would come up at most 27 times in 100'
    """
    if numbers["certain"]:
        return ""
    p, of = numbers["p_value"], 100
    while p * of <= 1 and of < 10**18:
        of *= 10
    truth, times = "no" if answer == "yes" else "yes", ceil(p * of)
    often = "once" if times == 1 else f"{times} times"
    return f"if the truth were {truth}, an answer this clear would come up at most {often} in {of:,}"


def rounded_up(probability: float) -> str:
    """Two digits, rounded up.

    >>> rounded_up(0.00182), rounded_up(0.5)
    ('0.0019', '0.5')
    """
    return f"{float(Context(prec=2, rounding=ROUND_CEILING).plus(Decimal(repr(probability)))):g}"


def many(number: int, unit: str) -> str:
    """So many of a unit.

    >>> many(1, "patient"), many(5, "patient"), many(2, "person"), many(3, "news")
    ('1 patient', '5 patients', '2 people', '3 news')
    """
    plural = "people" if unit == "person" else unit if unit.endswith("s") else f"{unit}s"
    return f"{number:,} {unit if number == 1 else plural}"
