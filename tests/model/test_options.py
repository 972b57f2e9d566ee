"""What is given to a function of Python: a misspelt option is named, and a text where a number belongs is called one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from duotone import (
    ApproxDP,
    ColouredGraph,
    Dataset,
    DuotoneError,
    ask,
    connect,
    design,
    open_ledger,
    prepare,
    select_groups,
    share_test,
)
from duotone.errors import UnknownOption, got
from duotone.privacy.numbers import number
from duotone.privacy.renyi import RenyiDP
from duotone.tables.ask import ask_all, ask_any

TABLE = pa.table({"x": [1, 2, 3] * 60, "town": ["Ely", "Wells", "Bath"] * 60})
ASKED: dict[str, Callable[..., Any]] = {
    "ask": lambda **more: ask(TABLE, "avg(x) > 1", **more),
    "ask of parts": lambda **more: ask(TABLE, "avg(x) > 1", parts=31, **more),
    "ask of a dataset": lambda **more: ask(Dataset(TABLE), "avg(x) > 1", **more),
    "ask_all": lambda **more: ask_all(TABLE, ["avg(x) > 1"], **more),
    "ask_any": lambda **more: ask_any(TABLE, "avg(x) > 1", **more),
    "select_groups": lambda **more: select_groups(TABLE, "town", **more),
    "share_test": lambda **more: share_test(TABLE, "share(x > 1) = 0.5", **more),
}
CHARGED = {"ledgr": "ledger", "agian": "again"}
PRICED = {"epsilons": "epsilon", "delt": "delta"}
DECLARED = {"bound": "bounds", "per_units": "per_unit", "max_row": "max_rows", "neighbors": "neighbours"}


@pytest.mark.parametrize("name", ASKED)
def test_a_misspelt_option_names_the_right_one(name: str) -> None:
    for wrong, right in {**CHARGED, **PRICED, **DECLARED}.items():
        with pytest.raises(UnknownOption, match=rf"^{wrong} is not known: {right} is$"):
            ASKED[name](**{wrong: 1})


def test_so_does_every_other_function_with_options(tmp_path: Path) -> None:
    for wrong, right in {**PRICED, **DECLARED}.items():
        with pytest.raises(UnknownOption, match=rf"^{wrong} is not known: {right} is$"):
            prepare(TABLE, "avg(x) > 1", **{wrong: 1})  # type: ignore[arg-type]
    for wrong, right in DECLARED.items():
        with pytest.raises(UnknownOption, match=rf"^{wrong} is not known: {right} is$"):
            Dataset(TABLE, **{wrong: 1})
    with pytest.raises(UnknownOption, match=r"^weight is not known; known are source, table, [a-z_, ]+$"):
        Dataset(TABLE, weight=1)
    about: Any = {"unit": "row", "neighbors": "add-remove", "version": "1"}
    with open_ledger(tmp_path / "l") as ledger:
        with pytest.raises(UnknownOption, match=r"^neighbors is not known: neighbours is$"):
            ledger.register("votes", ApproxDP(1), **about)
        with pytest.raises(UnknownOption, match=r"^shares is not known: share is$"):
            ledger.allow("votes", "bo", shares="1/2")  # type: ignore[call-arg]
    with pytest.raises(UnknownOption, match=r"^waits is not known: wait is$"):
        open_ledger(tmp_path / "l", waits=3)  # type: ignore[call-arg]
    with pytest.raises(UnknownOption, match=r"^tokens is not known: token is$"):
        connect("http://localhost", tokens="x")  # type: ignore[call-arg]
    for wrong, right in {"eps": "epsilon", "delt": "delta", "exp_eps": "exp_epsilon"}.items():
        with pytest.raises(UnknownOption, match=rf"^{wrong} is not known: {right} is$"):
            ApproxDP(**{wrong: 1})
    with pytest.raises(UnknownOption, match=r"^prices is not known: price is$"):
        RenyiDP(20, prices=1)  # type: ignore[call-arg]
    with pytest.raises(UnknownOption, match=r"^boundry is not known: boundary is$"):
        design(ColouredGraph([("a", "b")], {"a": "blue", "b": "red"}), ApproxDP(1), boundry=1)  # type: ignore[call-arg]
    with connect("http://localhost", token="x") as service:
        asked: Any = service.ask
        with pytest.raises(UnknownOption, match=r"^epsilons is not known: epsilon is$"):
            asked("votes", "count(*) > 3", epsilons=1)
        with pytest.raises(DuotoneError, match=r"^bounds is declared by the dataset's owner: leave it out$"):
            asked("votes", "count(*) > 3", bounds={})


def test_it_is_a_type_error_and_ours() -> None:
    error = UnknownOption("bound is not known: bounds is")
    assert isinstance(error, TypeError)
    assert isinstance(error, DuotoneError)
    assert isinstance(pickle.loads(pickle.dumps(error)), UnknownOption)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"max_rows": "3", "unit": "x"}, 'max_rows must be a whole number from 1 to 2147483647, got the text "3"'),
        ({"max_rows": 3.0, "unit": "x"}, "max_rows must be a whole number from 1 to 2147483647, got 3.0"),
        ({"max_groups": "3"}, 'max_groups must be a whole number from 1 to 2147483647, got the text "3"'),
        ({"longest_text": "9"}, 'longest_text must be a whole number of characters, from 1 to 1,000,000, got the text "9"'),
        ({"answers": "9"}, 'answers must be a whole number of answers, from 1 to 1,000,000,000, got the text "9"'),
        ({"parts": "51"}, 'parts must be an odd number from 1 to 1001, so that most of them agree, got the text "51"'),
        ({"epsilon": [1]}, "epsilon must be a number, got list"),
        ({"epsilon": True}, "epsilon must be a number, got True"),
        ({"epsilon": None, "one_of": "9"}, "one_of is a number of answers, a whole number from 1 to 1000000000, got the text"
         ' "9"'),
        ({"epsilon": None, "wrong": 0.1, "people": "9"}, "the people who would flip an answer are a whole number from 1 to"
         ' 1000000000, got the text "9"'),
        ({"margins": "no"}, 'margins must be True, False or None, got the text "no"'),
        ({"again": "no"}, 'again must be True or False, got the text "no"'),
    ],
)  # fmt: skip
def test_a_text_is_no_number(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(DuotoneError) as error:
        ask(TABLE, "count(*) > 9", **{"epsilon": 1, **wrong})
    assert str(error.value) == said


def test_what_was_given() -> None:
    assert [got(value) for value in (3, None, Fraction(1, 2), "a\nb")] == ["3", "None", "1/2", r"the text 'a\nb'"]
    assert number(3) == 3
    with pytest.raises(DuotoneError, match=r"^number must be a number, got True$"):
        number(True)
