"""Questions from menus: the choices for a dataset, and the SQL of what was chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot.tokens import Tokenizer

from duotone.desk.callers import Refused

Dataset = Mapping[str, Any]
"""The desk's description of a dataset."""
NUMBERS = ("integer", "float", "decimal", "untyped")
MOMENTS = ("date", "time")
GROUPABLE = ("text", "integer", "boolean", "date", "untyped")
COUNTED = {">": "is more than", ">=": "is at least", "<": "is less than", "<=": "is at most"}
COMPARISONS = {**COUNTED, "=": "is exactly", "<>": "is not"}
CONDITIONS = {**COMPARISONS, "=": "is", "null": "is missing", "there": "is not missing"}
EACH = {"avg": "the average of", "sum": "the sum of", "median": "the median of", "min": "the smallest", "max": "the largest",
        "distinct": "the number of different", "mode": "the most frequent"}  # fmt: skip
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
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
    """
    one, several = dataset["per_unit"], dataset["max_rows"] is not None
    alone = dataset["unit"] is None
    menus = {"": {"count": "the number of people", "share": "the share of people"}}
    for key, words in EACH.items():
        for column, about in dataset["columns"].items():
            kind, bounded = about["kind"], about["bounds"] is not None
            ordered = alone or one in ("min", "max") or (one is not None and kind in NUMBERS)
            fits = {
                "avg": kind in NUMBERS and bounded and (alone or several or one is not None),
                "sum": kind in NUMBERS and bounded and (alone or several),
                "median": kind in NUMBERS + MOMENTS and ordered,
                "distinct": alone or one in ("min", "max"),
                "mode": alone or one in ("min", "max"),
            }
            if column != dataset["unit"] and fits.get(key, fits["median"]):
                menus.setdefault(words, {})[f"{key}:{column}"] = f"{words} {column}"
    return {**menus, "And": {"groups": "which groups may be shown"}}


def examples(dataset: Dataset) -> list[str]:
    """Example questions in SQL for this dataset.

    >>> columns = {"age": {"kind": "integer", "bounds": ["18", "70"], "groups": None},
    ...            "Home town": {"kind": "text", "bounds": None, "groups": ["Ely", "Wells"]}}
    >>> survey = {"name": "survey", "unit": None, "per_unit": None, "max_rows": None, "close_calls": None, "columns": columns}
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
            made.append(f"{people} filter (where {_identifier(column)} = {literal(value, kind, column)}) >= 100")
    groups = listed if dataset["close_calls"] else [*listed, *groupable(dataset)]  # the menus do not offer them
    for by in map(_identifier, groups[:1]):
        made.append(f"select {by}, {people} > 50 from {_identifier(dataset['name'])} group by {by}")
    return made or [f"{people} > 500"]


def counted_people(dataset: Dataset) -> str:
    """How SQL counts people."""
    return "count(*)" if dataset["unit"] is None else f"count(distinct {_identifier(dataset['unit'])})"


def groupable(dataset: Dataset) -> list[str]:
    """The columns by which people can be grouped."""
    return [name for name, about in dataset["columns"].items() if about["kind"] in GROUPABLE and name != dataset["unit"]]


def composed(dataset: Dataset, chosen: Chosen) -> dict[str, Any]:
    """The chosen question as terms: its SQL, or the columns of groups that may be shown.

    >>> visits = {"name": "visits", "unit": None, "per_unit": None, "max_rows": None, "columns": {
    ...     "age": {"kind": "integer", "bounds": ["0", "99"]}, "town": {"kind": "text", "bounds": None}}}
    >>> print(composed(visits, Chosen("avg:age", ">", "38", "town", "=", "Rome"))["question"])
    avg(age) filter (where town = 'Rome') > 38
    >>> print(composed(visits, Chosen("count", ">=", "100", group="town"))["question"])
    select town, count(*) >= 100 from visits group by town
    """
    if not any(chosen.what in choices for choices in offered(dataset).values()):
        raise Refused("bad question", "choose what to ask about from the list")
    if chosen.group and chosen.group not in groupable(dataset):
        raise Refused("bad question", "choose the groups from the list")
    if chosen.what == "groups":
        if not chosen.group:
            raise Refused("bad question", "choose the column by which people are grouped")
        return {"by": [chosen.group]}
    text = _comparison(dataset, chosen)
    if not chosen.group:
        return {"question": text}
    by = _identifier(chosen.group)
    return {"question": f"select {by}, {text} from {_identifier(dataset['name'])} group by {by}"}


def _comparison(dataset: Dataset, chosen: Chosen) -> str:
    key, _, column = chosen.what.partition(":")
    condition = _condition(dataset, chosen)
    where = f" filter (where {condition})" if condition else ""
    people = counted_people(dataset)
    allowed = {"count": COMPARISONS, "distinct": COMPARISONS, "mode": {"=": "", "<>": ""}}.get(key, COUNTED)
    if chosen.comparison not in allowed:
        words = ", ".join(f"“{COMPARISONS[sign]}”" for sign in allowed)
        raise Refused("bad question", f"choose one of these comparisons: {words}")
    kind = dataset["columns"][column]["kind"] if key in ("median", "min", "max", "mode") else "float"
    limit = literal(chosen.limit, kind, "the limit", dataset["columns"][column]["bounds"] if column else None)
    if key == "share":
        if not condition:
            raise Refused("bad question", "say whose share it is: choose a condition")
        return f"{people}{where} / {people} {chosen.comparison} {limit}"
    names = {"count": people, "distinct": f"count(distinct {_identifier(column)})"}
    return f"{names.get(key, f'{key}({_identifier(column)})')}{where} {chosen.comparison} {limit}"


def _condition(dataset: Dataset, chosen: Chosen) -> str:
    if not chosen.where:
        return ""
    if chosen.where not in dataset["columns"] or chosen.where_comparison not in CONDITIONS:
        raise Refused("bad question", "choose the condition from the lists")
    name, about = _identifier(chosen.where), dataset["columns"][chosen.where]
    if chosen.where_comparison in ("null", "there"):
        return f"{name} is {'not ' * (chosen.where_comparison == 'there')}null"
    if about["kind"] == "boolean" and chosen.where_comparison not in ("=", "<>"):
        raise Refused("bad question", f"{chosen.where} is true or false: choose “is” or “is not”")
    value = literal(chosen.where_value, about["kind"], f"the value of {chosen.where}", about["bounds"])
    return f"{name} {chosen.where_comparison} {value}"


def literal(text: str, kind: str, what: str, bounds: object = None) -> str:
    """A value of a column in SQL. In a file without types, text that looks like a number is one, unless it is in
    quotes.

    >>> [literal(text, "untyped", "it") for text in ("7", "'7'", "O'Hara")]
    ['7', "'7'", "'O''Hara'"]
    """
    plain = text.strip()
    if not plain or len(plain) > LONGEST:
        raise Refused("bad question", f"{what} must be given, in at most {LONGEST} characters")
    number = _NUMBER.fullmatch(plain) is not None
    if kind in ("integer", "float", "decimal") or (kind == "untyped" and bounds is not None):
        if not number:
            raise Refused("bad question", f"{what} must be a number, got {plain}")
        return plain
    if kind == "boolean":
        if plain.lower() not in ("true", "false"):
            raise Refused("bad question", f"{what} must be true or false, got {plain}")
        return plain.lower()
    if kind in _MOMENT and not _MOMENT[kind][0].fullmatch(plain):
        raise Refused("bad question", f"{what} must be written as {_MOMENT[kind][1]}, got {plain}")
    if kind == "untyped":
        if number:
            return plain
        if len(plain) >= 2 and plain[0] == plain[-1] == "'":
            plain = plain[1:-1]
    return "'" + plain.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    """A name in SQL, in quotes unless it is plain.

    >>> _identifier("age"), _identifier("Home town"), _identifier("order")
    ('age', '"Home town"', '"order"')
    """
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.upper() not in RESERVED
    return name if plain else '"' + name.replace('"', '""') + '"'
