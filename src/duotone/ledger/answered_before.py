"""The same question, answered before at another budget or choice of costs: what a receipt and a quote say about it."""

from __future__ import annotations

from fractions import Fraction

from duotone.ledger.entries import Body, State, canonical, loaded
from duotone.ledger.stores import Entries
from duotone.model.cost import AnsweredBefore
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import show
from duotone.privacy.text import read_definition

FIXED = ("balanced", "selection")
"""Boundaries that are the same at every budget: one that follows from costs is not."""
LONGEST_BUDGET = 200
"""The characters of a budget that a sentence names."""


def answered_before(entries: Entries, state: State, dataset: str, terms: Body) -> AnsweredBefore | None:
    """The latest answer to the question of these `terms` at another budget or choice of costs, among the last charges."""
    text = str(terms["question"])
    for row in entries.charged_with(dataset, canonical({"question": text})[1:-1]):
        body = loaded(row)
        same = body.get("question") == text and body.get("version") == state.version and "calls" not in body
        if same and (differs := _differs(terms, body)) and entries.answered(str(body.get("key"))) is not None:
            fixed = body["boundary"] == terms["boundary"] and set(body["boundary"].split("+")) <= {*FIXED}
            free = fixed and body["answers"] == terms["answers"]
            return AnsweredBefore(row.seq, differs, _budget(body["notion"], body["answers"]) if free else None)
    return None


def _differs(terms: Body, body: Body) -> tuple[str, ...]:
    now, then = (read_definition(each["notion"]) for each in (terms, body))
    budget = {"epsilon": _first(now) != _first(then), "delta": Fraction(now.delta) != Fraction(then.delta)}
    fixed = any(set(each["boundary"].split("+")) <= {*FIXED} for each in (terms, body))
    # where both boundaries follow from costs, and the budgets differ, the costs may be the same
    costs = terms["boundary"] != body["boundary"] and (fixed or not any(budget.values()))
    other = {"choice of costs": costs, "number of answers": terms["answers"] != body["answers"]}
    return tuple(name for name, differs in (budget | other).items() if differs)


def _first(privacy: ApproxDP) -> tuple[str, Fraction]:
    if privacy.epsilon_exact is None:
        return "e^epsilon", privacy.exp_epsilon
    return "epsilon", privacy.epsilon_exact


def _budget(definition: str, answers: int) -> str | None:
    """The budget that is divided among so many answers under a definition; None where it is long, or not known exactly."""
    budget = read_definition(definition).unsplit(answers)
    if budget is None:
        return None
    name, first = _first(budget)
    text = f"{name} {_written(first)}, delta {_written(Fraction(budget.delta))}"
    return text if len(text) <= LONGEST_BUDGET else None


def _written(value: Fraction) -> str:
    """A number exactly: as a short decimal, if it is one.

    >>> _written(Fraction(1, 10**7)), _written(Fraction(1, 3))
    ('1e-07', '1/3')
    """
    decimal = f"{float(value):g}"
    return decimal if Fraction(decimal) == value else show(value)
