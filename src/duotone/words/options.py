"""How each audience writes an option of the library."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Audience = Literal["python", "command", "office", "analyst", "page"]
"""Who reads a sentence: a Python program or notebook, the command's user, the writer of an office file, an analyst of a service
in JSON, and one on its pages."""

FLAGS = {
    "table": "--table", "max_rows": "--max-rows", "max_groups": "--max-groups", "per_unit": "--per-unit",
    "json_columns": "--json-columns", "separator": "--separator", "public": "--public", "unit": "--unit",
    "vouched": "--vouched", "asker": "--asker", "dataset": "--dataset NAME", "formats": "--formats", "groups": "--groups FILE",
    "also": "--also",
    "close_dataset": "duotone ledger close", "register": "duotone ledger register", "longest_text": "--longest-text",
}  # fmt: skip
UNSAID = {
    "python": {"register"},
    "office": {"register"},
    "analyst": {"register"},
    "page": {"register", "max_groups", "purpose"},
}
"""Options whose name says nothing to an audience: a sentence leaves it out, with its brackets."""
OWNERS = frozenset(
    {"bounds", "max_rows", "per_unit", "unit", "groups", "formats", "clock_formats", "table", "json_columns", "types",
     "separator", "public", "vouched", "longest_text", "also"}
)  # fmt: skip
"""What the owner of a served table declares, and no analyst."""


@dataclass(frozen=True)
class Options:
    """The options as an audience writes them, in templates: `{o.max_rows}`, or after a blank and in brackets, `{p.max_rows}`.

    >>> "counts{p.max_rows}".format(p=Options("command", bracketed=True))
    'counts (--max-rows)'
    >>> "in so many groups{p.max_groups}".format(p=Options("page", bracketed=True))
    'in so many groups'
    """

    audience: Audience
    bracketed: bool = False

    def __getattr__(self, option: str) -> _Option:
        return _Option(option, self.audience, self.bracketed)


@dataclass(frozen=True)
class _Option:
    name: str
    audience: Audience
    bracketed: bool

    def __format__(self, column: str) -> str:
        if self.name in UNSAID.get(self.audience, ()):
            return ""
        text = spelt(self.name, self.audience, column)
        return f" ({text})" if self.bracketed else text


def spelt(option: str, audience: Audience, column: str = "") -> str:
    """An option as it is written; bounds and formats are those of a column.

    >>> spelt("bounds", "python", "a / b"), spelt("bounds", "command", "a / b"), spelt("bounds", "office", "a / b")
    ('bounds={"a / b": (low, high)}', '--bounds "a / b=LOW:HIGH"', 'bounds = { "a / b" = [low, high] }')
    >>> spelt("formats", "command", "$day")
    "--formats '$day=%d/%m/%Y'"
    """
    if option in _OF_COLUMN and column:
        name, flag, python, office, shell = _OF_COLUMN[option]
        match audience:
            case "command":
                return f"{flag} {_in_shell(f'{column}={shell}')}"
            case "office":
                return f"{name} = {{ {json.dumps(column, ensure_ascii=False)} = {office} }}"
        return f"{name}={{{_in_python(column)}: {python}}}"
    names: Mapping[str, str] = FLAGS if audience == "command" else {}
    return names.get(option, option)


_OF_COLUMN = {
    "bounds": ("bounds", "--bounds", "(low, high)", "[low, high]", "LOW:HIGH"),
    "formats": ("formats", FLAGS["formats"], '"%d/%m/%Y"', '"%d/%m/%Y"', "%d/%m/%Y"),
    "clock_formats": ("formats", FLAGS["formats"], '"%Y-%m-%d %H:%M"', '"%Y-%m-%d %H:%M"', "%Y-%m-%d %H:%M"),
}
"""Options of one column: the name, the flag, and the value in Python, in an office file and in a shell."""


def _in_python(name: str) -> str:
    """A name as a Python program writes it; in double quotes where that is possible."""
    return f'"{name}"' if name.isprintable() and not {'"', "\\"}.intersection(name) else repr(name)


def _in_shell(text: str) -> str:
    """A text as it is written in a shell: in single quotes where double ones would not keep it."""
    return shlex.quote(text) if set('"$`\\!').intersection(text) else f'"{text}"'
