"""Questions from menus: the choices for a dataset, and the SQL of what was chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot.tokens import Tokenizer

from duotone.pages.fields import Mistaken, gathered, number
from duotone.words.sentences import plural

Dataset = Mapping[str, Any]
"""The desk's description of a dataset."""
NUMBERS = ("integer", "float", "decimal")
MOMENTS = ("date", "time")
FEW = ("text", "untyped", "integer", "date")
"""Kinds with few different values, often. What a text file does not declare is text."""
GROUPABLE = (*FEW, "boolean")
COUNTED = {">": "is more than", ">=": "is at least", "<": "is less than", "<=": "is at most"}
LATER = {">": "is after", ">=": "is on or after", "<": "is before", "<=": "is on or before"}
"""The same of dates and times."""
EQUAL = {"=": "is", "<>": "is not"}
COMPARISONS = {**COUNTED, "=": "is exactly", "<>": "is not"}
CONDITIONS = {**COUNTED, **EQUAL, "null": "is missing", "there": "is not missing"}
EACH: dict[str, tuple[str, tuple[str, ...]]] = {
    "avg": ("the average {}", NUMBERS),
    "median": ("the median {}", NUMBERS + MOMENTS),
    "sum": ("the total {}", NUMBERS),
    "min": ("the lowest {}", NUMBERS + MOMENTS),
    "max": ("the highest {}", NUMBERS + MOMENTS),
    "mode": ("the most frequent {}", FEW),
    "distinct": ("the number of different {}", FEW),
    "share": ("the share of {people} whose {} is yes", ("boolean",)),
}
"""What can be asked of a column: in words, and the kinds of columns."""
OF_MOMENTS = {"min": "the earliest {}", "max": "the latest {}"}
TRUTHS = {"yes": "true", "true": "true", "no": "false", "false": "false"}
_MOMENT = {
    "date": (re.compile(r"\d{4}-\d\d-\d\d"), "2024-12-31"),
    "time": (re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?"), "2024-12-31 18:00"),
}
LONGEST = 500
RESERVED = {word for words in Tokenizer.KEYWORDS for word in words.split()}


@dataclass(frozen=True)
class Chosen:
    """The contents of the menus, all as text."""

    what: str = "count"
    comparison: str = ">"
    limit: str = ""
    where: str = ""
    where_comparison: str = "="
    where_value: str = ""
    group: str = ""


def offered(dataset: Dataset) -> dict[str, dict[str, str]]:
    """The choices for a dataset: headings, and under each the values with their labels.

    With a unit, people are counted by it; ordered or counted values need one per person.

    >>> columns = {"region": {"kind": "text", "bounds": None}, "sick": {"kind": "boolean", "bounds": None}}
    >>> survey = {"unit": None, "per_unit": None, "max_rows": None, "columns": columns}
    >>> offered(survey)["region"]
    {'mode:region': 'the most frequent region', 'distinct:region': 'the number of different regions'}
    >>> offered(survey)["sick"]
    {'share:sick': 'the share of people whose sick is yes'}
    """
    one, several = dataset["per_unit"], dataset["max_rows"] is not None
    alone = dataset["unit"] is None
    people = people_of(dataset)
    share = f"the share of {people} (of whom, is chosen below)"
    menus = {"": {"count": f"the number of {people}", "share": share, "groups": "which groups may be shown"}}
    for column, about in dataset["columns"].items():
        kind, bounded = about["kind"], about["bounds"] is not None
        ordered = alone or one in ("min", "max") or (one is not None and kind in NUMBERS)
        fits = {
            "avg": bounded and (alone or several or one is not None),
            "sum": bounded and (alone or several),
            "distinct": alone or one in ("min", "max"),
            "mode": alone or one in ("min", "max"),
            "share": True,
        }
        for key, (words, kinds) in EACH.items():
            if column != dataset["unit"] and kind in kinds and fits.get(key, ordered):
                words = OF_MOMENTS.get(key, words) if kind in MOMENTS else words
                name = several_of(column) if key == "distinct" else column
                menus.setdefault(column, {})[f"{key}:{column}"] = words.format(name, people=people)
    return menus


def several_of(column: str) -> str:
    """The values of a column, in words.

    >>> several_of("region"), several_of("country"), several_of("home_town")
    ('regions', 'countries', 'values of home_town')
    """
    return plural(column) if column.isalpha() else f"values of {column}"


def people_of(dataset: Dataset) -> str:
    """What the people of a dataset are called."""
    unit = dataset["unit"] or "person"
    return plural(unit) if unit.isalpha() else "people"


def compared(dataset: Dataset, what: str) -> dict[str, str]:
    """The comparisons of a choice, in words."""
    key, _, column = what.partition(":")
    if key == "mode":
        return EQUAL
    if key == "count" or key == "distinct":
        return COMPARISONS
    return LATER if column and key != "share" and dataset["columns"][column]["kind"] in MOMENTS else COUNTED


def kinds(dataset: Dataset) -> dict[str, str]:
    """What each choice and each column compares, for the page: number, moment, word, boolean."""
    of = {name: "moment" if about["kind"] in MOMENTS else "boolean" if about["kind"] == "boolean" else "number"
          for name, about in dataset["columns"].items()}  # fmt: skip
    what = [key for choices in offered(dataset).values() for key in choices]
    return {**{f"where:{name}": kind for name, kind in of.items()}, **{key: _compares(dataset, key) for key in what}}


def _compares(dataset: Dataset, what: str) -> str:
    """What a choice is compared by."""
    signs = compared(dataset, what)
    return next((kind for kind, some in (("word", EQUAL), ("moment", LATER), ("number", COUNTED)) if signs is some), "count")


def conditions_of(kind: str) -> dict[str, str]:
    """The conditions on a column of a kind, in words."""
    missing = {name: CONDITIONS[name] for name in ("null", "there")}
    return {**({} if kind == "boolean" else LATER if kind in MOMENTS else COUNTED), **EQUAL, **missing}


def examples(dataset: Dataset) -> list[str]:
    """Example questions in SQL for this dataset.

    >>> columns = {"age": {"kind": "integer", "bounds": ["18", "70"], "groups": None},
    ...            "Home town": {"kind": "text", "bounds": None, "groups": ["Ely", "Wells"]}}
    >>> survey = {"dataset": "survey", "unit": None, "per_unit": None, "max_rows": None, "close_calls": None}
    >>> survey["columns"] = columns
    >>> for example in examples(survey): print(example)
    avg(age) > 44
    count(*) filter (where "Home town" = 'Ely') >= 100
    select "Home town", count(*) > 50 from survey group by "Home town"
    """
    columns, people, made = dataset["columns"], counted_people(dataset), list[str]()
    for what in [key for choices in offered(dataset).values() for key in choices if key.startswith("avg:")][:1]:
        column = what.removeprefix("avg:")
        middle = sum(map(Fraction, columns[column]["bounds"])) / 2
        made.append(f"avg({_identifier(column)}) > {float(middle):g}")
    listed = [name for name in groupable(dataset) if columns[name]["groups"]]
    for column in listed[:1]:
        value, kind = str(columns[column]["groups"][0]), columns[column]["kind"]
        if 0 < len(value.strip()) <= LONGEST:
            made.append(f"{people} filter (where {_identifier(column)} = {literal(value, kind, 'question', column)}) >= 100")
    groups = listed if dataset["close_calls"] else [*listed, *groupable(dataset)]  # the menus do not offer them
    for by in map(_identifier, groups[:1]):
        made.append(f"select {by}, {people} > 50 from {_identifier(dataset['dataset'])} group by {by}")
    return made or [f"{people} > 500"]


def counted_people(dataset: Dataset) -> str:
    """How SQL counts people."""
    return "count(*)" if dataset["unit"] is None else f"count(distinct {_identifier(dataset['unit'])})"


def groupable(dataset: Dataset) -> list[str]:
    """The columns by which people can be grouped."""
    return [name for name, about in dataset["columns"].items() if about["kind"] in GROUPABLE and name != dataset["unit"]]


def composed(dataset: Dataset, chosen: Chosen) -> dict[str, Any]:
    """The chosen question as terms: its SQL, or the columns of groups that may be shown.

    >>> visits = {"dataset": "visits", "unit": None, "per_unit": None, "max_rows": None, "columns": {
    ...     "age": {"kind": "integer", "bounds": ["0", "99"]}, "town": {"kind": "text", "bounds": None}}}
    >>> print(composed(visits, Chosen("avg:age", ">", "38", "town", "=", "Rome"))["question"])
    avg(age) filter (where town = 'Rome') > 38
    >>> print(composed(visits, Chosen("share", ">=", "50%", "age", "<", "18", group="town"))["question"])
    select town, count(*) filter (where age < 18) / count(*) >= 0.5 from visits group by town
    """
    if not any(chosen.what in choices for choices in offered(dataset).values()):
        raise Mistaken({"what": "choose what to ask about from the list"})
    if chosen.group and chosen.group not in groupable(dataset):
        raise Mistaken({"group": "choose the groups from the list"})
    if chosen.what == "groups":
        if not chosen.group:
            raise Mistaken({"group": "choose the column by which people are grouped"})
        return {"by": [chosen.group]}
    text = _comparison(dataset, chosen)
    if not chosen.group:
        return {"question": text}
    by = _identifier(chosen.group)
    return {"question": f"select {by}, {text} from {_identifier(dataset['dataset'])} group by {by}"}


def _comparison(dataset: Dataset, chosen: Chosen) -> str:
    key, _, column = chosen.what.partition(":")
    kind = dataset["columns"][column]["kind"] if key in ("median", "min", "max", "mode") else "float"
    with gathered() as mistakes:
        with mistakes:
            condition = _condition(dataset, chosen)
            if key == "share" and not (condition or column):
                raise Mistaken({"where": "say whose share it is: choose a condition"})
        with mistakes:
            if chosen.comparison not in compared(dataset, chosen.what):
                words = ", ".join(f"“{word}”" for word in compared(dataset, chosen.what).values())
                raise Mistaken({"comparison": f"choose one of these comparisons: {words}"})
        with mistakes:
            limit = literal(chosen.limit, kind, "limit", "the limit")
    people, filtered = counted_people(dataset), _filtered(condition)
    if key == "share":
        among, whose = (condition, f"{_identifier(column)} = true") if column else ("", condition)
        both = f"{whose} and {among}" if among else whose
        return f"{people}{_filtered(both)} / {people}{_filtered(among)} {chosen.comparison} {limit}"
    names = {"count": people, "distinct": f"count(distinct {_identifier(column)})"}
    return f"{names.get(key, f'{key}({_identifier(column)})')}{filtered} {chosen.comparison} {limit}"


def _filtered(condition: str) -> str:
    return f" filter (where {condition})" if condition else ""


def _condition(dataset: Dataset, chosen: Chosen) -> str:
    if not chosen.where:
        return ""
    if chosen.where not in dataset["columns"]:
        raise Mistaken({"where": "choose the column of the condition from the list"})
    name, kind = _identifier(chosen.where), dataset["columns"][chosen.where]["kind"]
    if chosen.where_comparison not in conditions_of(kind):
        words = ", ".join(f"“{word}”" for word in conditions_of(kind).values())
        holds = f"{chosen.where} is yes or no: " if kind == "boolean" else ""
        raise Mistaken({"where_comparison": f"{holds}choose one of these conditions: {words}"})
    if chosen.where_comparison in ("null", "there"):
        return f"{name} is {'not ' * (chosen.where_comparison == 'there')}null"
    value = literal(chosen.where_value, kind, "where_value", f"the value of {chosen.where}")
    return f"{name} {chosen.where_comparison} {value}"


def literal(text: str, kind: str, field: str, what: str) -> str:
    """A value of a column in SQL, from a field of the form; `what` the field holds.

    >>> [literal(text, "text", "limit", "it") for text in ("7", "O'Hara")], literal("$1,000", "float", "limit", "it")
    (["'7'", "'O''Hara'"], '1000')
    """
    plain = text.strip()
    if not plain or len(plain) > LONGEST:
        raise Mistaken({field: f"{what} must be given, in at most {LONGEST} characters"})
    if kind in NUMBERS:
        return number(plain, field, what)
    if kind == "boolean":
        if plain.lower() not in TRUTHS:
            raise Mistaken({field: f"{what} must be yes or no, got {plain}"})
        return TRUTHS[plain.lower()]
    if kind in _MOMENT and not _MOMENT[kind][0].fullmatch(plain):
        raise Mistaken({field: f"{what} must be written as {_MOMENT[kind][1]}, got {plain}"})
    return "'" + plain.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    """A name in SQL, in quotes unless it is plain.

    >>> _identifier("age"), _identifier("Home town"), _identifier("order")
    ('age', '"Home town"', '"order"')
    """
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.upper() not in RESERVED
    return name if plain else '"' + name.replace('"', '""') + '"'
