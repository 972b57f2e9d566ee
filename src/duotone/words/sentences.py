"""One sentence: from the code and the fields of a notice or a refusal, for an audience."""

from __future__ import annotations

import json
import shlex
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from duotone.words.notes import NOTES
from duotone.words.refusals import REFUSALS

Text = str | tuple[str, str]
"""A sentence for all, or for all others and for analysts, who cannot declare what its advice names."""
SENTENCES: Mapping[str, Text] = {**REFUSALS, **NOTES}
OWNER_DECLARES = "; here the owner of the dataset declares that"


@runtime_checkable
class _Notice(Protocol):
    """A code and fields: `duotone.model.notice`, which imports this."""

    code: str
    fields: Mapping[str, Any]


def sentence(said: object, audience: Audience = "python") -> str:
    """What a notice or an error says to an audience; the text of an error that has no code is the same for all.

    Nothing may depend on it: a program compares codes and fields.
    """
    notice = said.args[0] if isinstance(said, BaseException) and len(said.args) == 1 else said
    return _formatted(notice.code, notice.fields, audience) if isinstance(notice, _Notice) else str(said)


def _formatted(code: str, fields: Mapping[str, Any], audience: Audience) -> str:
    """The sentence of a code, its fields put in; a field that is a notice is said to the same audience."""
    text, own = _texts(code)
    for_analyst = audience in ("analyst", "page")
    parts = {name: _part(value, audience) for name, value in fields.items()}
    options = {"o": Options(audience), "p": Options(audience, bracketed=True)}
    if own is not None and for_analyst:
        return own.format(**options, **parts)
    end = OWNER_DECLARES if for_analyst and not OWNERS.isdisjoint(options_of(text)) else ""
    return text.format(**options, **parts) + end


def _part(value: Any, audience: Audience) -> Any:
    """A field as a template takes it."""
    if isinstance(value, _Notice):
        return sentence(value, audience)
    return _Names(value) if isinstance(value, tuple) else value


class _Names(tuple[str, ...]):
    """Several names: `{columns}` lists them, and `{columns:are}` makes them the subject of a sentence.

    >>> "{:are} text; {:are} text; {}".format(_Names(["x"]), _Names(["x", "y", "z"]), _Names(["x", "y"]))
    'x is text; x, y and z are text; x, y'
    """

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        if spec != "are":
            return ", ".join(self)
        *others, last = self
        return f"{', '.join(others)} and {last} are" if others else f"{last} is"


def _texts(code: str) -> tuple[str, str | None]:
    text = SENTENCES[code]
    return (text, None) if isinstance(text, str) else text


def options_of(text: str) -> Iterator[str]:
    """The options that a template names."""
    return (name[2:] for name in _places(text) if name.startswith(("o.", "p.")))


def fields_of(code: str) -> set[str]:
    """The fields that the sentence of a code needs."""
    return {name for text in _texts(code) if text is not None for name in _places(text) if name[:2] not in ("o.", "p.")}


def _places(text: str) -> Iterator[str]:
    """The names in the braces of a template, also of those within a format."""
    for _, name, spec, _ in string.Formatter().parse(text):
        if name is not None:
            yield name
            yield from _places(spec or "")


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
