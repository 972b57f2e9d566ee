"""A first declaration of a table, for its owner: what its columns hold, from the rows; NOT private.

What rows must not decide stays a question: who a person is, how much one counts, between which limits values lie.
Bounds and limits taken from the rows reveal something about their people, and no noise covers that.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from duotone.model.dataset import OPENING, Dataset
from duotone.tables.declared import open_conforming
from duotone.tables.text_readings import NUMBERS, text_columns

HEAD = """\
# A first declaration of {source}, for its owner alone: duotone declare has made it from the rows, and it is NOT private.
# Check each line, answer the questions from what everybody may know, and take the # away before what you have answered.

source = {place}
"""
QUESTIONS = """
# Who is a person? The column that identifies persons; without it each row is a person. One of: {columns}
# (Where the names of persons or groups are numbers, declare them as text: a number is rounded.)
# unit =
# How many rows of a person count at most? Further rows are left out.
# max_rows =
# In how many groups does a person count at most? The price of a grouped question is divided by it.
# max_groups =
# Between which limits do values lie? Use public knowledge, never the rows: they would reveal something about people.
{bounds}
# Which groups exist, if that is public? Otherwise the shown groups are selected privately.
# groups = {{ COLUMN = ["…", "…"] }}
# Does a neighbouring table have one person more or less, or another one in someone's place ("replace")?
# neighbours = "add-remove"
# Where are answers charged, and what may they cost together?
# ledger = "budget.ledger"
# budget = {{ epsilon = 3, delta = "1e-6" }}
"""


def first_declaration(declared: Dataset, folder: Path) -> str:
    """The text of a file for `Dataset.load`, in a folder. NOT private: for the table's owner only."""
    with open_conforming(declared) as source:
        kinds, guesses = dict(source.columns), list(text_columns(source))
    numbers = [name for name, kind in kinds.items() if kind in ("integer", "float", "decimal")]
    numbers += [guess.column for guess in guesses if guess.type in NUMBERS]
    lines = [HEAD.format(source=Path(str(declared.source)).name, place=_text(_place(declared.source, folder)))]
    lines += [f"{key} = {_value(value)}\n" for key in OPENING if key != "types" and (value := getattr(declared, key))]
    bounds = ", ".join(f"{_key(name)} = [LOWEST, HIGHEST]" for name in numbers) or "COLUMN = [LOWEST, HIGHEST]"
    lines.append(QUESTIONS.format(columns=", ".join(map(_commented, kinds)), bounds=f"# bounds = {{ {_commented(bounds)} }}"))
    if guesses:
        lines.append("\n[types]\n")
        lines += [f"{_key(name)} = {_text(one)}\n" for name, one in declared.types.items()]
        lines += [f"{_key(one.column)} = {_text(one.type)}  # {one.remark}\n" for one in guesses]
    return "".join(lines)


def _place(source: Any, folder: Path) -> str:
    """Where the table is, relative to a folder."""
    text = str(source)
    return text if "://" in text else Path(os.path.relpath(text, folder)).as_posix()


def _key(name: str) -> str:
    """A name as a key in TOML."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    """A text in TOML, with any characters."""
    return json.dumps(text, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    return "true" if value is True else _text(value)


def _commented(name: str) -> str:
    """A name in a comment: on one line."""
    return "".join(c if c.isprintable() else "?" for c in name)
