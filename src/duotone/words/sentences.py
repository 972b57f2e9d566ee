"""Sentences: from code and fields of a notice or a refusal, for an audience; and how sure an answer is, from its numbers."""

from __future__ import annotations

import json
import re
import shlex
import string
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from math import ceil
from typing import Any, Literal, Protocol, runtime_checkable

from duotone.words.codes import SENTENCES

OWNER_DECLARES = "; here the owner of the dataset declares that"


@runtime_checkable
class _Notice(Protocol):
    """A code and fields: `duotone.model.notice`, which imports this."""

    code: str
    fields: Mapping[str, Any]


def sentence(said: object, audience: Audience = "python") -> str:
    """A notice's or error's sentence for an audience; an error without a code has one text for all.

    Nothing may depend on it: programs compare codes and fields.
    """
    notice = said.args[0] if isinstance(said, BaseException) and len(said.args) == 1 else said
    return _formatted(notice.code, notice.fields, audience) if isinstance(notice, _Notice) else str(said)


def _formatted(code: str, fields: Mapping[str, Any], audience: Audience) -> str:
    """The sentence of a code with its fields; a field that is a notice is formatted for the same audience."""
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
    return _Names(value) if isinstance(value, tuple) else _Types(value) if isinstance(value, Mapping) else value


class _Types(dict[str, str]):
    """Types by column: `{types:used}` says what the columns are used as, `{types:held}` that they hold something,
    `{types:others}` which types may be meant instead, and `{p.types:{types}}` declares them.

    >>> print(f"{_Types({'age': 'number', 'churn': 'yes/no'}):used}")
    age is text, and is used as a number; churn is text, and is used as yes or no
    """

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        if spec == "held":
            return "it holds" if len(self) == 1 else "they hold"
        if spec == "others":
            every = dict.fromkeys(_OTHERS[one] for one in self.values() if one in _OTHERS)
            return f"{'; '.join(every)}{'; ' * bool(every)}what does not fit counts as missing"
        if spec != "used":
            return json.dumps(self)
        return "; ".join(f"{column} is text, and is used as {_USED[one]}" for column, one in self.items())


_USED = {"number": "a number", "date": "a date", "time": "a time", "yes/no": "yes or no"}
_OTHERS = {
    "number": "others are yes/no, money, percent, or an example such as 1.234,50",
    **dict.fromkeys(("date", "time"), "dates may have a format such as %d/%m/%Y"),
}


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
"""Who reads a sentence: a Python program or notebook, the command's user, the author of an office file, an analyst of a
service in JSON, and one on its pages."""

FLAGS = {
    "table": "--table", "max_rows": "--max-rows", "max_groups": "--max-groups", "at_least": "--at-least",
    "per_unit": "--per-unit", "json_columns": "--json-columns", "separator": "--separator", "public": "--public",
    "unit": "--unit", "vouched": "--vouched", "asker": "--asker", "dataset": "--dataset NAME",
    "groups": "--groups FILE", "margins": "--margins", "also": "--also", "parts": "--parts", "types": "--types",
    "epsilon": "--epsilon", "wrong": "--wrong", "people": "--people",
    "sample_size": "--sample-size", "one_of": "--one-of", "price": "--price", "costs": "--costs", "ledger": "--ledger",
    "close_dataset": "duotone ledger close", "register": "duotone ledger register", "if_absent": "--if-absent",
    "longest_text": "--longest-text",
    "declare": "; duotone declare FILE proposes types from the rows, for their owner",
}  # fmt: skip
VALUES = {"margins": "margins=True", "parts": "parts=51"}
"""Options that are said with their value, which a flag has in itself."""
UNSAID = {
    "python": {"register", "declare"},
    "office": {"register", "declare"},
    "analyst": {"register", "declare"},
    "page": {"register", "declare", "max_groups", "purpose", "margins"},
}
"""Options whose name means nothing to an audience: a sentence omits them, with their brackets."""
OWNERS = frozenset(
    {"bounds", "max_rows", "per_unit", "unit", "groups", "table", "json_columns", "types",
     "separator", "public", "vouched", "longest_text", "also"}
)  # fmt: skip
"""What only the owner of a served table declares."""


@dataclass(frozen=True)
class Options:
    """The options as an audience writes them, in templates: `{o.max_rows}`, or after a blank and in brackets,
    `{p.max_rows}`.

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
    """An option as it is written; bounds belong to a column, and types are those of a JSON object.

    >>> spelt("bounds", "python", "a / b"), spelt("bounds", "command", "a / b"), spelt("bounds", "office", "a / b")
    ('bounds={"a / b": (low, high)}', '--bounds "a / b=LOW:HIGH"', 'bounds = { "a / b" = [low, high] }')
    >>> spelt("types", "command", '{"age": "number", "$day": "date"}'), spelt("types", "python", '{"age": "number"}')
    ("--types age=number --types '$day=date'", 'types={"age": "number"}')
    """
    if option == "types" and column:
        types = json.loads(column)
        match audience:
            case "command":
                return " ".join(f"--types {shlex.quote(f'{name}={one}')}" for name, one in types.items())
            case "office":
                return f"types = {{ {', '.join(f'{_in_toml(name)} = {json.dumps(one)}' for name, one in types.items())} }}"
        return f"types={{{', '.join(f'{_in_python(name)}: {_in_python(one)}' for name, one in types.items())}}}"
    if option in _OF_COLUMN and column:
        name, flag, python, office, shell = _OF_COLUMN[option]
        match audience:
            case "command":
                return f"{flag} {_in_shell(f'{column}={shell}')}"
            case "office":
                return f"{name} = {{ {json.dumps(column, ensure_ascii=False)} = {office} }}"
        return f"{name}={{{_in_python(column)}: {python}}}"
    names: Mapping[str, str] = FLAGS if audience == "command" else VALUES
    return names.get(option, option)


_OF_COLUMN = {
    "bounds": ("bounds", "--bounds", "(low, high)", "[low, high]", "LOW:HIGH"),
}
"""Options of one column: the name, the flag, and the value in Python, in an office file and in a shell."""


def _in_toml(name: str) -> str:
    """A name as a key of an office file."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _in_python(name: str) -> str:
    """A name as a Python program writes it; in double quotes if possible."""
    return f'"{name}"' if name.isprintable() and not {'"', "\\"}.intersection(name) else repr(name)


def _in_shell(text: str) -> str:
    """A text for a shell: in double quotes, or in single ones if double ones would change it."""
    return shlex.quote(text) if set('"$`\\!').intersection(text) else f'"{text}"'


def how_sure(numbers: Mapping[str, Any], unit: str = "person") -> str:
    """How sure an answer is, in words that follow the answer; `unit` is what a person is called.

    >>> how_sure({"certain": True, "at_least": {"1": 15}}, "patient")
    'certain: at least 15 patients would have to be different'
    >>> how_sure({"certain": False, "p_value": 0.00182, "distance": 6, "give_or_take": 3}, "patient")
    'p = 0.0019: about 6 patients from flipping, give or take 3'
    >>> how_sure({"certain": False, "p_value": 1e-19, "distance": 424, "capped": True, "give_or_take": 30}, "patient")
    'p = 1e-19: about 424 patients or more from flipping, give or take 30'
    >>> how_sure({"certain": True, "at_least": {"1": 89}, "estimate": 203, "give_or_take": 3}, "patient")
    'certain; there are about 203 patients, give or take 3'
    """
    if "estimate" in numbers:
        seems = f"; there are about {many(max(numbers['estimate'], 0), unit)}"
    elif numbers["certain"]:
        return f"certain: at least {many(numbers['at_least']['1'], unit)} would have to be different"
    else:
        more = " or more" if numbers.get("capped") else ""
        seems = f": about {many(numbers['distance'], unit)}{more} from flipping"
    return f"{brief(numbers)}{seems}, give or take {numbers['give_or_take']}"


def brief(numbers: Mapping[str, Any]) -> str:
    """The same in a few words.

    >>> brief({"certain": False, "p_value": 0.00182}), brief({"certain": True})
    ('p = 0.0019', 'certain')
    >>> brief({"estimate": 203, "give_or_take": 3})  # a count that a ledger recorded, for any limit
    'about 203, give or take 3'
    """
    if "certain" not in numbers:
        return f"about {numbers['estimate']:,}, give or take {numbers['give_or_take']}"
    return "certain" if numbers["certain"] else f"p = {rounded_up(numbers['p_value'])}"


def in_report(numbers: Mapping[str, Any], answer: str, unit: str = "person") -> str:
    """The same in a sentence, after the answer.

    >>> in_report({"certain": True, "at_least": {"1": 15}}, "yes", "patient")
    'certain (at least 15 patients would have to be different to change it)'
    """
    if numbers["certain"]:
        return f"certain (at least {many(numbers['at_least']['1'], unit)} would have to be different to change it)"
    return f"{brief(numbers)} ({meaning(numbers, answer)})"


def meaning(numbers: Mapping[str, Any], answer: str) -> str:
    """What a p-value means; empty if the answer is certain.

    >>> meaning({"certain": False, "p_value": 0.00182}, "yes")
    'if the truth were no, an answer this clear would come up at most 2 times in 1,000'
    >>> meaning({"certain": False, "p_value": 0.269}, "no")
    'if the truth were yes, an answer this clear would come up at most 27 times in 100'
    """
    if numbers["certain"]:
        return ""
    p, of = numbers["p_value"], 100
    while p * of <= 1 and of < 10**18:
        of *= 10
    truth, times = "no" if answer == "yes" else "yes", ceil(p * of)
    often = "once" if times == 1 else f"{times} times"
    return f"if the truth were {truth}, an answer this clear would come up at most {often} in {of:,}"


def will_say(says: Mapping[str, Any]) -> str:
    """What an answer will say, before it is asked.

    >>> will_say({"words": ["yes", "no"], "by": ["town"], "scope": None, "sure": True})
    'for each town: yes or no, and how sure that is (certain, or a p-value)'
    >>> will_say({"words": ["A", "B", "C"], "by": [], "scope": None, "sure": False})
    'A, B or C, and nothing else'
    >>> will_say({"words": [], "by": ["town", "sex"], "scope": None, "sure": False})
    'which groups by town and sex may be shown, and about how many people are in each'
    """
    by = " and ".join(says["by"])
    if not says["words"]:
        return f"which groups by {by} may be shown, and about how many people are in each"
    *first, last = says["words"]
    scope = f", {says['scope']}" if says["scope"] else ""
    more = ", and how sure that is (certain, or a p-value)" if says["sure"] else ", and nothing else"
    return f"{f'for each {by}: ' if by else ''}{', '.join(first)} or {last}{scope}{more}"


def rounded_up(probability: float) -> str:
    """Two digits, rounded up.

    >>> rounded_up(0.00182), rounded_up(0.5)
    ('0.0019', '0.5')
    """
    return f"{float(Context(prec=2, rounding=ROUND_CEILING).plus(Decimal(repr(probability)))):g}"


def many(number: int, unit: str) -> str:
    """A number with its unit.

    >>> many(1, "patient"), many(5, "patient"), many(2, "person"), many(3, "news")
    ('1 patient', '5 patients', '2 people', '3 news')
    """
    return f"{number:,} {unit if number == 1 else plural(unit)}"


def plural(unit: str) -> str:
    """Several of a unit.

    >>> [plural(unit) for unit in ("person", "patient", "country", "day", "sex", "news")]
    ['people', 'patients', 'countries', 'days', 'sexes', 'news']
    """
    if unit == "person" or unit.endswith("s"):
        return "people" if unit == "person" else unit
    if unit.endswith("y") and unit[-2:-1] not in tuple("aeiou"):
        return f"{unit[:-1]}ies"
    return f"{unit}es" if unit.endswith(("x", "ch", "sh")) else f"{unit}s"


UNPRINTABLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories: control, format (direction marks, invisible joiners), surrogate, private, unassigned, separators."""


def printable(text: object, keep: str = "") -> str:
    """Text that is safe to show: characters that would control a terminal, or turn or break a line, are written as escapes,
    except those to keep.

    Guarantee: it contains no control character (C0, DEL, C1), no line or paragraph separator and no mark that changes
    the direction of text, so that names and values from data cannot affect the screen that shows them.

    >>> printable("a\\x1b[31mb\\n\\u202ec é ε"), printable("a\\nb\\x00", keep="\\n")
    ('a\\\\x1b[31mb\\\\n\\\\u202ec é ε', 'a\\nb\\\\x00')
    """
    hidden = {c for c in set(str(text)).difference(keep) if unicodedata.category(c) in UNPRINTABLE}
    return "".join(c.encode("unicode_escape").decode() if c in hidden else c for c in str(text))
