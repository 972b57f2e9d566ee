"""Whatever the menus offer can be asked, of columns of every kind and however people are declared; the rest is a sentence."""

from __future__ import annotations

import datetime
import itertools
import urllib.parse
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError
from duotone.pages.asked_form import AskedForm, dearer
from duotone.pages.fields import Mistaken
from duotone.pages.menus import COMPARISONS, CONDITIONS, Chosen, composed, conditions_of, groupable, offered
from duotone.tables.check_question import prepare, prepare_groups

PRIVACY = ApproxDP(1, "1e-6")
DAY = datetime.date(2024, 2, 29)
VALUES: dict[str, tuple[str, pa.Array]] = {
    "integer": ("5", pa.array([1, 2])),
    "float": ("5.5", pa.array([1.5, 2.5])),
    "decimal": ("5", pa.array([1, 2], pa.decimal128(9, 2))),
    "text": ('O\'Hara; "x" --', pa.array(["a", "b"])),
    "boolean": ("yes", pa.array([True, False])),
    "date": ("2024-02-29", pa.array([DAY, DAY])),
    "time": ("2024-02-29 10:30", pa.array([datetime.datetime(2024, 2, 29)] * 2)),
}
NAMES = {"integer": "order", "float": 'a "b"', "decimal": "D", "text": "town", "boolean": "sick", "date": "date", "time": "at"}
KINDS = {name: kind for kind, name in NAMES.items()}
TABLE = pa.table({"person": pa.array([1, 2]), **{NAMES[kind]: column for kind, (_, column) in VALUES.items()}})
BOUNDS: dict[str, Any] = {"order": (0, 10), 'a "b"': (0, 10), "D": (0, 10)}
DECLARED: list[dict[str, Any]] = [
    {},
    {"unit": "person"},
    {"unit": "person", "max_rows": 3},
    {"unit": "person", "per_unit": "avg"},
    {"unit": "person", "per_unit": "min"},
    {"unit": "person", "per_unit": "max", "max_rows": 3},
]


def dataset(declared: dict[str, Any]) -> dict[str, Any]:
    about = {
        name: {"kind": KINDS.get(name, "integer"), "bounds": ["0", "10"] if name in BOUNDS else None}
        for name in TABLE.column_names
    }
    return {"dataset": "the table", "columns": about, "unit": None, "per_unit": None, "max_rows": None, **declared}


def prepared(terms: dict[str, Any], declared: dict[str, Any]) -> None:
    """With what is declared, but for what a question has no use for, as the desk does it."""
    more: dict[str, Any] = (
        {"max_groups": 2} if declared.get("unit") and ("by" in terms or "group by" in terms["question"]) else {}
    )
    if "by" in terms:
        prepare_groups(TABLE, terms["by"], PRIVACY, unit=declared.get("unit"), **more).close()
        return
    optional = [name for name in ("per_unit", "max_rows") if name in declared]
    refused = []
    for left_out in itertools.chain.from_iterable(itertools.combinations(optional, n) for n in range(len(optional) + 1)):
        used = {name: value for name, value in declared.items() if name not in left_out}
        try:
            prepare(TABLE, terms["question"], PRIVACY, bounds=BOUNDS, **used, **more).close()
        except DuotoneError as error:
            refused.append(str(error))
        else:
            return
    raise AssertionError((terms, declared, refused))


def limit_of(what: str) -> str:
    key, _, column = what.partition(":")
    if key in ("median", "min", "max", "mode"):
        return VALUES[KINDS.get(column, "integer")][0]
    return {"share": "50%", "distinct": "1"}.get(key, "$5")


@pytest.mark.parametrize("declared", DECLARED, ids=str)
def test_whatever_is_offered_can_be_asked(declared: dict[str, Any]) -> None:
    about = dataset(declared)
    for number, what in enumerate(itertools.chain.from_iterable(offered(about).values())):
        key = what.partition(":")[0]
        comparison = "=" if key == "mode" else ">"
        group = groupable(about)[number % len(groupable(about))] if number % 3 == 0 or key == "groups" else ""
        condition = ("sick", "=", "yes") if what.endswith("town") else ("town", "=", "Rome")  # of another column
        where = condition if number % 2 or key == "share" else ("", "=", "")
        prepared(composed(about, Chosen(what, comparison, limit_of(what), *where, group)), declared)


def test_only_what_fits_a_column_is_offered() -> None:
    """No median of a text, and no average of a day; in words, not in SQL."""
    about, words = dataset({}), dict[str, set[str]]()
    for what, label in itertools.chain.from_iterable(choices.items() for choices in offered(about).values()):
        key, _, column = what.partition(":")
        words.setdefault(KINDS.get(column, column), set()).add(key)
        assert not {"(", ")"} & set(label) or what == "share"
    many = {"avg", "median", "sum", "min", "max"}
    assert words["integer"] == many | {"mode", "distinct"}
    assert words["float"] == words["decimal"] == many
    assert words["text"] == {"mode", "distinct"}
    assert words["boolean"] == {"share"}
    assert words["date"] == {"median", "min", "max", "mode", "distinct"}
    assert words["time"] == {"median", "min", "max"}
    shown = {label for choices in offered(about).values() for label in choices.values()}
    assert {
        "the number of different towns",
        "the average order",
        "the earliest date",
        "the share of people whose sick is yes",
    } <= shown
    assert "the number of patients" in offered({**about, "unit": "patient"})[""].values()


def test_every_comparison_and_condition_of_every_kind() -> None:
    about = dataset({})
    for what, comparison in itertools.product(("count", "avg:order", "min:date", "distinct:town", "mode:date"), COMPARISONS):
        chosen = Chosen(what, comparison, limit_of(what))
        equal, counted = comparison in ("=", "<>"), what in ("count", "distinct:town")
        if counted or equal == what.startswith("mode"):
            prepared(composed(about, chosen), {})
        else:
            with pytest.raises(Mistaken, match="choose one of these comparisons") as mistaken:
                composed(about, chosen)
            assert list(mistaken.value.fields) == ["comparison"]
    for name, comparison in itertools.product(NAMES.values(), CONDITIONS):
        chosen = Chosen("count", ">", "5", name, comparison, VALUES[KINDS[name]][0])
        if comparison not in conditions_of(KINDS[name]):
            with pytest.raises(Mistaken, match="sick is yes or no"):
                composed(about, chosen)
        else:
            prepared(composed(about, chosen), {})
    for name in groupable(about):
        prepared(composed(about, Chosen("count", ">", "5", group=name)), {})


@pytest.mark.parametrize(
    ("written", "read"), [("50%", "0.5"), ("1,000", "1000"), ("$1,000", "1000"), ("€2.5", "2.5"), ("-5 %", "-0.05")]
)
def test_numbers_are_taken_as_a_question_in_sql_takes_them(written: str, read: str) -> None:
    about = dataset({})
    assert composed(about, Chosen("avg:order", ">", written))["question"] == f'avg("order") > {read}'
    asked = f'count(*) filter (where "order" <= {read}) > {read}'
    assert composed(about, Chosen("count", ">", written, "order", "<=", written))["question"] == asked
    prepared({"question": f"count(*) > {written.removeprefix('-')}"}, {})


def test_an_undeclared_column_of_a_text_file_is_text(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("age,vote\n30,Y\n40,N\n")
    about = {**dataset({}), "columns": {name: {"kind": "untyped", "bounds": None} for name in ("age", "vote")}}
    assert {what.partition(":")[0] for choices in offered(about).values() for what in choices} == {
        "count", "share", "groups", "mode", "distinct",
    }  # fmt: skip
    for chosen in (Chosen("mode:vote", "=", "Y"), Chosen("share", ">", "50%", "vote", "<>", "7", "vote")):
        prepare(file, composed({**about, "dataset": "votes"}, chosen)["question"], PRIVACY).close()


def test_the_share_of_a_column_among_some() -> None:
    chosen = Chosen("share:sick", ">", "50%", "town", "=", "Ely")
    asked = composed(dataset({}), chosen)
    both = "count(*) filter (where sick = true and town = 'Ely') / count(*) filter (where town = 'Ely')"
    assert asked["question"] == f"{both} > 0.5"
    prepared(asked, {})


def test_all_mistakes_are_said_at_once() -> None:
    about = {**dataset({}), "approval": False, "parts": 5, "close_calls": None}
    asked = AskedForm("avg:order", ">", "many", "order", "=", "few", epsilon="other", epsilon_other="x", delta="2",
                      way="epsilon", max_groups="1.5", at_least="0x", parts="4", missed="a", people="-1")  # fmt: skip
    with pytest.raises(Mistaken) as mistaken:
        asked.terms(about, asked=False)
    wrong = {"limit", "where_value", "epsilon_other", "delta", "max_groups", "at_least", "parts", "missed", "people"}
    assert set(mistaken.value.fields) == wrong


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        (Chosen("avg:town", ">", "5"), "choose what to ask about from the list"),
        (Chosen("count) > 1 or (1", ">", "5"), "choose what to ask about from the list"),
        (Chosen("count", ">", "5", group="nowhere"), "choose the groups from the list"),
        (Chosen("groups"), "choose the column by which people are grouped"),
        (Chosen("share", ">", "0.5"), "say whose share it is"),
        (Chosen("count", "> 1 or 1 >", "5"), "choose one of these comparisons"),
        (Chosen("count", ">", "5 or true"), "the limit must be a number"),
        (Chosen("count", ">", ""), "the limit must be given"),
        (Chosen("count", ">", "5", "nowhere", "=", "1"), "choose the column of the condition from the list"),
        (Chosen("count", ">", "5", "town", "like", "1"), "choose one of these conditions"),
        (Chosen("count", ">", "4,5"), "the limit must be a number"),
        (Chosen("count", ">", "1" * 300), "the limit must be a number"),
        (Chosen("count", ">", "5", "sick", "=", "perhaps"), "must be yes or no"),
        (Chosen("count", ">", "5", "date", "=", "yesterday"), "must be written as 2024-12-31"),
        (Chosen("count", ">", "5", "town", "=", "x" * 501), "at most 500 characters"),
    ],
)
def test_what_was_not_offered_is_refused(chosen: Chosen, sentence: str) -> None:
    with pytest.raises(Mistaken, match=sentence):
        composed(dataset({}), chosen)


def test_a_link_for_more_accuracy_asks_the_same_question() -> None:
    """With everything that was said of it, but the price."""
    terms: dict[str, Any] = {
        "question": "select town, avg(D) > 5 from t group by town", "epsilon": "0.1", "delta": "1e-6", "max_groups": 2,
        "at_least": 20, "costs": ["10", "1"], "groups": "private",
    }  # fmt: skip
    left = {"epsilon": 1.0, "delta": 1e-5}
    about = {**dataset({"unit": "person"}), "budget": left, "left": left, "allowance": None, "close_calls": None,
             "account": "sum", "approval": False, "parts": None}  # fmt: skip
    more = dearer(AskedForm.again_as(terms), terms, {}, 1.0)
    assert more is not None
    link = dict(urllib.parse.parse_qsl(more.asked.query))
    assert AskedForm.of(about, link).terms(about, asked=True) == {**terms, "epsilon": "0.2"}


def test_more_is_twice_as_much_or_all_that_is_left() -> None:
    form = AskedForm(mode="sql", question="count(*) > 5")
    terms = {"question": form.question, "epsilon": "0.4", "delta": "1e-6"}
    prices = [dearer(form, terms, {}, room) for room in (None, 5.0, 0.7, 0.4, 0.0)]
    assert [more and more.price for more in prices] == ["ε 0.8", "ε 0.8", "ε 0.7", None, None]
    half = dearer(form, {"price": "1.01"}, {"one_of": 101}, None)
    assert half is not None
    assert (half.price, half.asked.way, half.asked.one_of) == ("one of 50 such answers", "number", "50")
    assert dearer(form, {"price": "1.01"}, {"one_of": 1}, None) is None
