"""A dataset as its owner declares it: the same keys everywhere, each mistake with its key and its line."""

from __future__ import annotations

import dataclasses
import pickle
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from duotone import ApproxDP, Dataset
from duotone.cli.app import app
from duotone.desk.office_file import HERE
from duotone.errors import DatasetError, DuotoneError
from duotone.model.dataset import CHECKS, DEFAULTS, KEYS, MAPPINGS, OPENING, Bounds

DOCS = Path(__file__).parents[2] / "docs"
EVERY: dict[str, Any] = {
    "source": "t.csv", "table": "t", "types": {"x": "number", "day": "%d/%m/%Y"}, "separator": ";",
    "json_columns": ["a", "B"], "columns": ["x"], "longest_text": 40, "vouched": True, "unit": "who",
    "neighbours": "replace", "bounds": {"x": [0, "1/2"], "y": [0, 10, "0.1"]}, "max_rows": 3, "per_unit": "avg",
    "max_groups": 2, "at_least": 20, "groups": {"town": ["Ely"], "town,sex": [["Ely", "F"]]},
    "public": {"towns": "towns.csv"}, "also": {},
    "dataset": "stays", "people": "2026", "version": "1", "budget": {"epsilon": 1, "delta": "1e-6"}, "ledger": "b.ledger",
    "account": "renyi", "answers": 40, "population": None,
}  # fmt: skip
"""A value for every key, except that a dataset with a population has no budget."""


def test_every_field_has_a_check_a_default_and_a_line_in_the_documents() -> None:
    names = [field.name for field in dataclasses.fields(Dataset)]
    assert names == [*KEYS, "made_by"]
    assert EVERY.keys() == set(KEYS) == DEFAULTS.keys() == {"source", *CHECKS}
    assert {*OPENING, *MAPPINGS} <= set(KEYS)
    made = Dataset("t.csv")
    assert {key: getattr(made, key) for key in KEYS} == {**DEFAULTS, "source": "t.csv"}
    page = (DOCS / "declare.md").read_text()
    assert {key for key in KEYS if f"`{key}`" not in page} == set()


def test_one_thing_has_one_name_in_python_in_files_and_in_the_command() -> None:
    """`--ledger` and `--dataset` are of charging; a budget is registered; all else that may be declared has a flag."""
    command = get_command(app).commands["ask"]  # type: ignore[attr-defined]
    flags = {flag.removeprefix("--") for option in command.params for flag in option.opts if flag.startswith("--")}
    elsewhere = {"source", "budget", "account", "answers", "people", "version"}  # an argument; and what a ledger is told
    elsewhere |= {"population"}
    assert {key.replace("_", "-") for key in KEYS if key not in elsewhere} <= flags
    own = {
        "epsilon",
        "exp-epsilon",
        "delta",
        "wrong",
        "one-of",
        "margins",
        "price",
        "costs",
        "no-ledger",
        "again",
        "asker",
        "each",
        "preview",
        "json",
        "draw",
        "parts",
        "part-seconds",
        "part-memory",
        "certificate",
    }
    assert flags - {"help"} - {key.replace("_", "-") for key in KEYS} == own | {"certificate"}
    assert set(HERE) == set(KEYS) - {"dataset", "ledger"}  # which an office has for all its datasets
    assert not {"name", "exp_epsilon", "by"} & set(KEYS)


def test_what_is_written_is_what_is_declared(tmp_path: Path) -> None:
    made = Dataset(**EVERY)
    assert made.bounds["x"] == Bounds.of(0, "1/2")
    assert made.groups == {("town",): ("Ely",), ("town", "sex"): (["Ely", "F"],)}
    assert made.budget == ApproxDP(1, "1e-6")
    assert (made.in_ledger, made.person, made.replaced) == ("stays@2026", "who", True)
    assert made.groups_by(("town",)) == ("Ely",)
    assert made.groups_by(("sex",)) is None
    assert dataclasses.replace(made) == made
    assert Dataset("t.csv", bounds={"x": (0, Decimal("0.5"))}).bounds == Dataset("t.csv", bounds={"x": (0, 0.5)}).bounds
    assert Dataset("t.csv", budget={"exp_epsilon": 2}).budget == ApproxDP(exp_epsilon=2)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("table", 1), ("table", ""), ("types", {"x": "integer"}), ("types", "number"), ("types", {"day": 1}),
        ("types", {2: "text"}),
        ("separator", ",,"), ("json_columns", []), ("columns", "x"), ("longest_text", 0), ("longest_text", 1.5),
        ("vouched", "no"), ("unit", 3), ("neighbours", "swap"), ("bounds", {"x": [1, 0]}), ("bounds", {"x": (1,)}),
        ("bounds", {"x": ("a", "b")}), ("bounds", {"x": (0, float("nan"))}), ("bounds", [1]), ("max_rows", 0),
        ("max_rows", True), ("max_rows", float("nan")), ("per_unit", "median"), ("max_groups", 2**31), ("groups", "Ely"),
        ("groups", {"town": []}), ("groups", {"town": "Ely"}), ("public", ["t.csv"]), ("also", {"": "t.csv"}),
        ("account", "many"), ("answers", 0), ("answers", "9"),
        ("dataset", "a/b"), ("people", ""), ("version", "\u202e"), ("budget", 1), ("budget", {"epsilon": float("nan")}),
        ("budget", {"epsilon": 1, "exp_epsilon": 2}), ("budget", {"epsilon": -1}), ("budget", {"delta": 0}),
    ],
)  # fmt: skip
def test_each_mistake_has_its_key(key: str, value: Any) -> None:
    with pytest.raises(DatasetError) as error:
        Dataset("t.csv", **({"unit": "who"} if key in ("max_rows", "per_unit") else {}), **{key: value})
    (mistake,) = error.value.mistakes
    assert mistake.steps[0] == key
    assert str(error.value) == mistake.sentence == f"{'.'.join(map(str, mistake.steps))} {mistake.words}"
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


def test_what_does_not_go_together_is_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"max_rows": 2}, "without a unit each row is a person"),
        ({"columns": ["x"], "also": {"labs": "labs.csv"}, "unit": "u"}, "columns cannot be limited"),
        ({"also": {"T": "t.csv"}, "public": {"t": "t.csv"}, "unit": "u"}, "the same name but for upper and lower case"),
    ]
    for about, says in cases:
        with pytest.raises(DatasetError, match=re.escape(says)):
            Dataset("t.csv", **about)
    with pytest.raises(DatasetError, match="source is missing"):
        Dataset("")


def test_a_file_begins_at_its_folder_and_has_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "stays.toml"
    file.write_text(
        'source = "data/stays.csv"\nunit = "patient"\nledger = "budget.ledger"\ngroups = "wards.csv"\n'
        'bounds = { cost = [0, 0.5, "0.1"] }\npublic = { wards = "w.csv" }\n[types]\ndays = "number"\n'
    )
    made = Dataset.load(file)
    assert made.source == str(tmp_path / "data" / "stays.csv")
    assert (made.ledger, made.groups) == (str(tmp_path / "budget.ledger"), tmp_path / "wards.csv")
    assert made.public == {"wards": str(tmp_path / "w.csv")}
    assert made.bounds["cost"] == Bounds.of(0, "1/2", "1/10")
    assert (made.dataset, made.types) == ("stays", {"days": "number"})
    file.write_text('source = "t.csv"\nmax_row = 3\nneighbours = "swap"\n[bounds]\na = [0, 1]\nb = [1, 0]\n[types]\nc = "x"\n')
    with pytest.raises(DatasetError) as error:
        Dataset.load(file)
    assert [re.sub(" (is|must) .*", "", line) for line in error.value.sentences] == [
        "stays.toml, line 2: max_row", "stays.toml, line 3: neighbours", "stays.toml, line 6: bounds.b",
        "stays.toml, line 8: types.c",
    ]  # fmt: skip
    assert "max_row is not known: max_rows is" in error.value.sentences[0]
    file.write_text('source = 5\nledger = { a = "b" }\nunit = ""\nmax_rows = 0\n[public]\na = 1\n[also]\nb = ["b.csv"]\n')
    with pytest.raises(DatasetError) as error:
        Dataset.load(file)
    assert [re.sub(" (is|must) .*", "", line) for line in error.value.sentences] == [
        "stays.toml, line 1: source", "stays.toml, line 2: ledger", "stays.toml, line 3: unit", "stays.toml, line 4: max_rows",
        "stays.toml, line 5: public", "stays.toml, line 7: also",
    ]  # fmt: skip
    file.write_text('source = "env:STAYS"\ntable = "stays"\n')
    assert Dataset.load(file).source == "env:STAYS"  # an office reads it there
    for content, says in ((b"\xff", "in UTF-8"), (b"a = [", "not TOML"), (b"a = 1\n" * 200_000, "more than")):
        file.write_bytes(content)
        with pytest.raises(DuotoneError, match=says):
            Dataset.load(file)
    with pytest.raises(DuotoneError, match="does not exist"):
        Dataset.load(tmp_path / "none.toml")


def test_what_is_declared_is_not_said_again() -> None:
    stays = Dataset("t.csv", unit="who", bounds={"x": (0, 1)})
    assert stays.further(max_rows=3).max_rows == 3
    assert stays.further() is stays
    with pytest.raises(DuotoneError, match="declares that already: leave unit and bounds out"):
        stays.further(unit="who", bounds={"x": (0, 2)}, max_rows=3)
