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
from duotone.desk.callers import Refused
from duotone.pages.ask import AskedForm, query_of, twice
from duotone.pages.menus import COMPARISONS, CONDITIONS, Chosen, composed, groupable, offered
from duotone.tables.check_question import prepare, prepare_groups

PRIVACY = ApproxDP(1, "1e-6")
DAY = datetime.date(2024, 2, 29)
VALUES: dict[str, tuple[str, pa.Array]] = {
    "integer": ("5", pa.array([1, 2])),
    "float": ("5.5", pa.array([1.5, 2.5])),
    "decimal": ("5", pa.array([1, 2], pa.decimal128(9, 2))),
    "text": ('O\'Hara; "x" --', pa.array(["a", "b"])),
    "boolean": ("true", pa.array([True, False])),
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
    return {"name": "the table", "columns": about, "unit": None, "per_unit": None, "max_rows": None, **declared}


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
    return {"share": "0.5", "distinct": "1"}.get(key, "5")


@pytest.mark.parametrize("declared", DECLARED, ids=str)
def test_whatever_is_offered_can_be_asked(declared: dict[str, Any]) -> None:
    about = dataset(declared)
    for number, what in enumerate(itertools.chain.from_iterable(offered(about).values())):
        key = what.partition(":")[0]
        comparison = "=" if key == "mode" else ">"
        group = groupable(about)[number % len(groupable(about))] if number % 3 == 0 or key == "groups" else ""
        condition = ("sick", "=", "true") if what.endswith("town") else ("town", "=", "Rome")  # of another column
        where = condition if number % 2 or key == "share" else ("", "=", "")
        prepared(composed(about, Chosen(what, comparison, limit_of(what), *where, group)), declared)


def test_every_comparison_and_condition_of_every_kind() -> None:
    about = dataset({})
    for what, comparison in itertools.product(("count", "avg:order", "min:date", "distinct:sick", "mode:date"), COMPARISONS):
        chosen = Chosen(what, comparison, limit_of(what))
        equal, counted = comparison in ("=", "<>"), what in ("count", "distinct:sick")
        if counted or equal == what.startswith("mode"):
            prepared(composed(about, chosen), {})
        else:
            with pytest.raises(Refused, match="choose one of these comparisons"):
                composed(about, chosen)
    for name, comparison in itertools.product(NAMES.values(), CONDITIONS):
        chosen = Chosen("count", ">", "5", name, comparison, VALUES[KINDS[name]][0])
        if name == "sick" and comparison in ("<", "<=", ">", ">="):
            with pytest.raises(Refused, match="sick is true or false"):
                composed(about, chosen)
        else:
            prepared(composed(about, chosen), {})
    for name in groupable(about):
        prepared(composed(about, Chosen("count", ">", "5", group=name)), {})


def test_a_file_without_types(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("age,vote\n30,Y\n40,N\n")
    columns = {"age": {"kind": "untyped", "bounds": ["18", "70"]}, "vote": {"kind": "untyped", "bounds": None}}
    about = {"name": "votes", "columns": columns, "unit": None, "per_unit": None, "max_rows": None}
    for chosen in (
        Chosen("avg:age", ">", "38", "vote", "=", "Y"),
        Chosen("share", ">", "0.5", "vote", "=", "'Y'"),
        Chosen("mode:vote", "=", "Y", "age", ">=", "30"),
        Chosen("median:age", "<", "40", group="vote"),
    ):
        prepare(file, composed(about, chosen)["question"], PRIVACY, bounds={"age": (18, 70)}).close()


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
        (Chosen("count", ">", "5", "nowhere", "=", "1"), "choose the condition from the lists"),
        (Chosen("count", ">", "5", "town", "like", "1"), "choose the condition from the lists"),
        (Chosen("count", ">", "5", "sick", "=", "perhaps"), "must be true or false"),
        (Chosen("count", ">", "5", "date", "=", "yesterday"), "must be written as 2024-12-31"),
        (Chosen("count", ">", "5", "town", "=", "x" * 501), "at most 500 characters"),
    ],
)
def test_what_was_not_offered_is_refused(chosen: Chosen, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        composed(dataset({}), chosen)


def test_a_link_for_more_accuracy_asks_the_same_question() -> None:
    """With everything that was said of it, but the price."""
    terms: dict[str, Any] = {
        "question": "select town, avg(D) > 5 from t group by town", "epsilon": "0.1", "delta": "1e-6", "max_groups": 2,
        "at_least": 20, "costs": ["10", "1"], "groups": "private",
    }  # fmt: skip
    link = dict(urllib.parse.parse_qsl(query_of(terms, twice(terms))))
    left = {"epsilon": 1.0, "delta": 1e-5}
    about = {
        **dataset({"unit": "person"}),
        "budget": left,
        "left": left,
        "allowance": None,
        "close_calls": None,
        "account": "sum",
    }
    assert AskedForm.of(about, link).terms(about, asked=True) == {**terms, "epsilon": "0.2"}
