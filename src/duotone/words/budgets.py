"""Words for costs and budgets. Each function takes numbers, from a value's `numbers()` or its JSON.

With `symbols`, ε and δ are written as on pages; without, the text can be typed on a keyboard.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.renyi import RenyiDP
from duotone.privacy.text import Definition

Numbers = Mapping[str, Any]
FACTOR = "e^"


def decimal(value: object) -> str:
    """A probability or a budget with four significant digits.

    >>> decimal("0.30000000000000004"), decimal("7/10"), decimal(1e-6), decimal(None)
    ('0.3', '0.7', '1e-06', '–')
    """
    return "–" if value is None else f"{float(Fraction(str(value))):.4g}"


def each(privacy: Definition | Numbers, *, symbols: bool = False) -> str:
    """The privacy of one answer.

    >>> each(RenyiDP(20, "1.01")), each({"order": 20, "price": 1.01, "delta": 0}, symbols=True)
    ('price 1.01 of order 20', 'price 1.01 of order 20')

    >>> each(ApproxDP(exp_epsilon=2)), each(ApproxDP(exp_epsilon=2), symbols=True), each({"epsilon": 0.5, "delta": 0.0})
    ('ApproxDP(exp_epsilon=2, delta=0)', 'e^ε 2, δ 0', 'epsilon 0.5, delta 0')
    """
    if isinstance(privacy, Definition):
        if not symbols and isinstance(privacy, ApproxDP):
            return str(privacy)
        privacy = definition_numbers(privacy)
    if "order" in privacy:
        price = f"price {float(privacy['price']):.8g} of order {privacy['order']}"
        return f"{price}, {'δ' if symbols else 'delta'} {decimal(privacy['delta'])}" if privacy["delta"] else price
    ratio = "exp_epsilon" in privacy
    first, delta = privacy["exp_epsilon" if ratio else "epsilon"], privacy["delta"]
    epsilon_word, delta_word = ("ε", "δ") if symbols else ("epsilon", "delta")
    return f"{FACTOR * ratio}{epsilon_word} {decimal(first)}, {delta_word} {decimal(delta)}"


def definition_numbers(privacy: Definition) -> dict[str, float]:
    """A definition's numbers for display: ε, δ, and e^ε if that was given; or order, price and δ."""
    if isinstance(privacy, RenyiDP):
        return {"order": privacy.order, "price": float(privacy.price), "delta": float(privacy.delta)}
    numbers = {"epsilon": privacy.epsilon, "delta": float(privacy.delta)}
    return numbers if privacy.epsilon_exact is not None else {**numbers, "exp_epsilon": float(privacy.exp_epsilon)}


def left(numbers: Numbers, *, symbols: bool = False) -> str:
    """What is left of a budget or an allowance.

    >>> left({"epsilon": 0.5, "delta": 1e-06}), left({"epsilon": 0.5, "delta": 1e-06}, symbols=True)
    ('epsilon 0.5, delta 1e-06', 'ε 0.5, δ 1e-06')
    >>> left({"close_calls": 1, "reserved": 0, "epsilon": 0.5, "delta": 0})
    '1 close call; for definite answers: epsilon 0.5, delta 0'
    >>> left({"share": 0.5, "delta": 0})
    '50.0 % of it, for answers at delta 0'
    """
    calls = _many(numbers["close_calls"], "close call") if "close_calls" in numbers else ""
    definite, words = "", ("ε", "δ") if symbols else ("epsilon", "delta")
    if "share" in numbers:
        definite = f"{percent(numbers['share'])} of {'the budget' if 'answers' in numbers else 'it'}"
        if "answers" in numbers:
            definite = f"{definite}, about {stated(numbers)}"
        if numbers.get("delta") == 0:
            definite = f"{definite}, for answers at {words[1]} 0"
    elif "epsilon" in numbers:
        definite = f"{words[0]} {float(numbers['epsilon']):.6g}, {words[1]} {float(numbers['delta']):.6g}"
    return f"{calls}; for definite answers: {definite}" if calls and definite else calls or definite


def stated(numbers: Numbers) -> str:
    """How many answers are left, at a stated accuracy.

    >>> stated({"answers": 993, "wrong": 0.001, "people": 236})
    '993 answers that are wrong at most once in a thousand if 236 people would flip them'
    """
    seldom = "once in a thousand" if numbers["wrong"] == 1e-3 else f"once in {1 / numbers['wrong']:,.0f}"
    people = "one person" if numbers["people"] == 1 else f"{numbers['people']:,} people"
    many = f"{numbers['answers']:,} answer{'s' * (numbers['answers'] != 1)}"
    return f"{many} that are wrong at most {seldom} if {people} would flip them"


def percent(share: float) -> str:
    """A share for display, rounded down to one decimal, or to two below 10 %.

    >>> percent(1), percent(0.99285), percent(0.00715), percent(0.0)
    ('100 %', '99.2 %', '0.71 %', '0 %')
    """
    digits = 0 if share in (0, 1) else 1 if share >= 0.1 else 2
    return f"{math.floor(100 * share * 10**digits + 1e-9) / 10**digits:.{digits}f} %"


def one_of(many: int, share: float, delta: object = None) -> str:
    """What an answer cost, in a budget of `many` answers at its price; the share that is left; and, if it has a delta,
    what is left of that.

    >>> one_of(140, 139 / 140), one_of(140, 139 / 140, 1e-7)
    ('one of 140 such answers; 0.71 % of the budget spent', \
'one of 140 such answers; 0.71 % of the budget spent; left for answers with a delta: 1e-07')
    """
    such = f"one of {many:,} such answers" if many > 1 else "all of the budget is for one such answer" if many else "too much"
    apart = "" if delta is None else f"; left for answers with a delta: {decimal(delta)}"
    return f"{such}; {percent(1 - share)} of the budget spent{apart}"


def part(numbers: Numbers) -> str:
    """A price as the part of a budget that it is.

    >>> part({"share": 0.00699, "one_of": 143}), part({"share": 1.2, "one_of": 0})
    ('0.69 % of the budget, one of 143 such', 'more than all of the budget')
    """
    if not numbers["one_of"]:
        return "more than all of the budget"
    such = f", one of {numbers['one_of']:,} such" if numbers["one_of"] > 1 else ""
    return f"{percent(numbers['share'])} of the budget{such}"


def price(numbers: Numbers, *, symbols: bool = False) -> str:
    """What something costs, or has cost.

    >>> price({"answers": 2, "each": {"epsilon": 0.5, "delta": 0.0}}), price({"close_calls_at_most": 1})
    ('2 answers at epsilon 0.5, delta 0', 'up to 1 close call')
    >>> price({"answers": 1, "each": {"order": 21, "price": 1.07, "delta": 0.0}, "share": 0.00699, "one_of": 143})
    '1 answer for 0.69 % of the budget, one of 143 such'
    >>> price({"answers": 5, "close_calls": 2, "free": 3}), price({"answers": 5, "close_calls": None})
    ('2 close calls, 3 free', '5 answers, each free unless it was too close to call')
    """
    if "close_calls_at_most" in numbers:
        return f"up to {_many(numbers['close_calls_at_most'], 'close call')}"
    answers = _many(numbers["answers"], "answer")
    if "share" in numbers:
        return f"{answers} for {part(numbers)}"
    if "together" in numbers:
        return f"{answers} together at {each(numbers['together'], symbols=symbols)}"
    if "each" in numbers:
        return f"{answers} at {each(numbers['each'], symbols=symbols)}"
    calls, free = numbers["close_calls"], numbers.get("free", 0)
    if calls is None:
        return f"{answers}, each free unless it was too close to call"
    said_free = f"{free} free" if numbers["answers"] > 1 else "free"
    return ", ".join([_many(calls, "close call")] * (calls > 0) + [said_free] * (free > 0))


def over_budget(numbers: Numbers, *, symbols: bool = False, name: str | None = None) -> str:
    """Why nothing is charged: a cost that does not fit into what is left; `name` is another name of the dataset."""
    asked, rest, dataset = numbers["asked"], left(numbers["left"], symbols=symbols), name or numbers["dataset"]
    cost = price(asked, symbols=symbols)
    if "question" in numbers:
        number, many = numbers["question"]
        cost = f"question {number} of {many}, {cost} after those before it,"
    elif "close_calls_at_most" in asked:
        cost = "one more close call, which a question needs, clear or not,"
        if numbers["left"].get("reserved"):
            rest = f"{rest}, and {numbers['left']['reserved']} reserved for answers under way, or lost"
    if "set_aside" in numbers:
        rest = f"{rest}; for definite answers only {each(numbers['set_aside'], symbols=symbols)} was set aside"
    if "share" in numbers["left"] and "delta" in numbers.get("beyond", ()) and "allowance" not in numbers:
        delta = "δ" if symbols else "delta"
        tenth, there = f"a tenth of the budget's {delta} is for answers that have one", decimal(numbers["left"]["delta"])
        rest = f"{rest}; {tenth}, and {there} of it is left: ask at a smaller {delta}, or at 0"
    asker = numbers.get("asker")
    if "allowance" in numbers:
        rest = f"{rest}, and of the allowance of {asker}: {left(numbers['allowance'], symbols=symbols)}"
        asker = None  # it may exceed either
    limit = f"the budget of {dataset}" if asker is None else f"the allowance of {asker} for {dataset}"
    return f"{cost} does not fit into {limit}; left: {rest}; nothing was charged or released"


def beyond(parts: tuple[str, ...], *, symbols: bool = False) -> str:
    """The parts of a price that exceed what is left."""
    signs = {"epsilon": "ε", "delta": "δ"}
    return " and ".join(signs[part] if symbols else part for part in parts)


def answered_before(differs: tuple[str, ...], charge: int, free_at: str | None = None) -> str:
    """The same question was answered at another budget or with other costs, and the budget at which it is free.

    >>> answered_before(("epsilon", "delta"), 3)
    'answered before at another epsilon and delta (charge 3)'
    """
    *others, last = differs
    listed = f"{', '.join(others)} and {last}" if others else last
    fact = f"answered before at another {listed} (charge {charge})"
    return fact if free_at is None else f"{fact}: asked alone at {free_at} it is free"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
