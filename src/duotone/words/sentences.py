"""One sentence: from the code and the fields of a notice or a refusal, for an audience."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from duotone.words.notes import NOTES
from duotone.words.options import OWNERS, Audience, Options
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
