"""Texts, and what is computed from them."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from inspect import Parameter, Signature
from typing import Any

import ibis
from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import Operand, Part
from duotone.tables.sql.functions.function import TWO, Call, Form, Function, Parts, as_kind, described, written_out

LONGEST_TEXT = 1_000_000
"""Most characters of joined texts."""


def _text(part: Part, text: str) -> Part:
    if isinstance(part, str):
        return part
    if isinstance(part, Operand) and part.kind in ("text", "untyped"):
        return Operand(part.column, "text", part.reading, part.made)
    raise DuotoneError(f"{text}: {described(part)} is not text")


def _as_text(part: Part, text: str) -> Part:
    """A text, or an integer as one."""
    if isinstance(part, Fraction) and part.denominator == 1:
        return str(part)
    if isinstance(part, Operand) and part.kind == "integer":
        return DIGITS.of(text, part)
    return _text(part, text)


def _place(part: Part, least: int, text: str) -> Fraction:
    if not (isinstance(part, Fraction) and part.denominator == 1 and least <= part < 2**31):
        raise DuotoneError(f"{text}: positions must be whole numbers, {least} or larger")
    return part


def _some(part: Part, text: str) -> str:
    """A constant text that is not empty."""
    constant = written_out(part, text)
    if not constant:
        raise DuotoneError(f"{text}: the text to look for is empty")
    return constant


def _one(call: Call) -> Parts:
    return (_text(call.part(), call.text),)


def _trim(call: Call) -> Operand | None:
    if call.node.expression is not None:
        return None
    sides = {"LEADING": LTRIM, "TRAILING": RTRIM}
    return sides.get(str(call.node.args.get("position")), TRIM).of(call.text, *_one(call))


def _substring(call: Call) -> Parts:
    length = None if call.node.args.get("length") is None else _place(call.part("length"), 0, call.text)
    return *_one(call), _place(call.part("start"), 1, call.text), length


def _left(call: Call) -> Parts:
    many = _place(call.part("expression"), 0, call.text)
    return *_one(call), Fraction(1), many


def _chain(call: Call) -> Parts:
    """Texts joined one after the other, each once, so that no prefix of the result is built separately."""
    joined: list[Part] = []
    for part in [_as_text(call.part(name), call.text) for name in ("this", "expression")]:
        if isinstance(part, Operand) and part.made is not None and part.made.function == JOIN.name:
            joined += [inner for inner in part.made.parts if inner is not None]
        else:
            joined.append(part)
    return joined


def _texts(call: Call) -> list[Part]:
    return [_as_text(call.read(part), call.text) for part in call.node.expressions]


def _with_separator(call: Call) -> Parts:
    texts = _texts(call)
    if not (isinstance(texts[0], str) and len(texts) > 1):
        raise DuotoneError(f"{call.text}: the separator must be a constant")
    return texts


def _replace(call: Call) -> Parts | None:
    if call.node.args.get("replacement") is None:
        return None
    new = written_out(call.part("replacement"), call.text)
    return *_one(call), _some(call.part("expression"), call.text), new


def _right(call: Call) -> Parts:
    return *_one(call), _place(call.part("expression"), 0, call.text)


def _split(call: Call) -> Parts:
    separator = _some(call.part("delimiter"), call.text)
    return *_one(call), separator, _place(call.part("part_index"), 1, call.text)


def _sought(call: Call) -> Parts:
    part = _some(call.part("substr"), call.text)
    return *_one(call), part


ORDERED = (">", ">=", "<", "<=")
"""The signs of an order."""
_NUMBER = re.compile(r"[+-]?[$€£]?\s?[+-]?(\d[\d_,' ]*\.?\d*|\.\d+)(e[+-]?\d+)?\s?[%$€£]?", re.IGNORECASE)
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"\d{{1,4}}\s?[-./]\s?\d{{1,2}}\s?[-./]\s?\d{{1,4}}\b.*|\d{{1,4}}[-./ ]*{_MONTH}\b.*|{_MONTH}[-./ ]+\d.*", re.IGNORECASE
)


def like_number(text: str) -> bool:
    """Whether a text looks like a number, also with a currency, a percent sign or commas."""
    return _NUMBER.fullmatch(text.strip()) is not None


def require_text(operand: Operand, value: str) -> None:
    """Refuse a column without a declared type in the order of text with a constant that looks like a number or a date: as
    text 9 comes after 10, and 31.1.2025 after 1.12.2025."""
    if like_number(value):
        as_kind(operand, "float")
    if _DATE.fullmatch(value.strip()):
        as_kind(operand, "date")


@functools.cache
def _concat(many: int) -> Callable[..., Any]:
    """Texts joined by one function: in a chain of two each, as concat is parsed, engines keep every prefix in
    memory."""

    def concat(*texts: Any) -> Any: ...

    names = (Parameter(f"text{i}", Parameter.POSITIONAL_ONLY) for i in range(many + 1))
    concat.__signature__ = Signature(list(names))  # type: ignore[attr-defined]
    made: Callable[..., Any] = ibis.udf.scalar.builtin(name="concat_ws", signature=(("string",) * (many + 1), "string"))(concat)
    return made


def _joined(*texts: Any) -> Any:
    """Null if one of them is null, or if the result is too long: its size is then not small enough."""
    size = functools.reduce(operator.add, (text.length() for text in texts))
    return ibis.cases((size <= LONGEST_TEXT, _together(texts)))


def _together(texts: Sequence[Any]) -> Any:
    return texts[0] if len(texts) == 1 else _concat(len(texts))("", *texts)


def _separated(separator: Any, *texts: Any) -> Any:
    """Texts with a separator between them, without nulls."""
    after = [ibis.coalesce(separator + text, "") for text in texts]
    return _together(after).substr(len(separator.op().value))


@ibis.udf.scalar.builtin(name="split_part", signature=(("string", "string", "int32"), "string"))
def split_part(text, separator, n):  # type: ignore[no-untyped-def]
    """The n-th of the texts between separators; empty if there are fewer."""


def _made(name: str, compute: Callable[..., Any], sql: Any = None, **more: Any) -> Function:
    """A text made of texts: of one, if `sql` is a node alone."""
    forms = {} if sql is None else sql if isinstance(sql, dict) else {sql: Form(_one)}
    return Function(name, "text", "text", compute, forms, **more)


BLANKS = "Spark's {} removes blanks only: use trim there"
TRIM = _made("trim", lambda x: x.strip(), {exp.Trim: Form(_trim, ("this", "position"))}, tried=True)
LTRIM = _made("ltrim", lambda x: x.lstrip(), spark=BLANKS)
RTRIM = _made("rtrim", lambda x: x.rstrip(), spark=BLANKS)
JOIN = _made("join", _joined, {exp.DPipe: Form(_chain, ("this", "expression", "safe"))})
DIGITS = _made("digits", lambda n: n.cast("int64").cast("string"))
"""An integer as text."""
TEXTS = (
    TRIM, LTRIM, RTRIM, JOIN, DIGITS,
    _made("lower", lambda x: x.lower(), exp.Lower, tried=True),
    _made("upper", lambda x: x.upper(), exp.Upper, tried=True),
    Function("length", "text", "integer", lambda x: x.length().cast("int64"), {exp.Length: Form(_one)}, tried=True),
    Function("place", "text", "integer", lambda x, part: x.find(part).cast("int64") + 1,
             {exp.StrPosition: Form(_sought, ("this", "substr"))}),
    _made("substring", lambda x, start, length: x.substr(int(start) - 1, *(() if length is None else (int(length),))),
          {exp.Substring: Form(_substring, ("this", "start", "length")), exp.Left: Form(_left, TWO)}),
    _made("right", lambda x, n: x.right(int(n)), {exp.Right: Form(_right, TWO)}),
    _made("replace", lambda x, old, new: x.replace(old, new),
          {exp.Replace: Form(_replace, ("this", "expression", "replacement"))}),
    _made("split", lambda x, separator, n: split_part(x, separator, int(n)),
          {exp.SplitPart: Form(_split, ("this", "delimiter", "part_index"))}),
    _made("concat", lambda *texts: _together([text.fill_null("") for text in texts]),
          {exp.Concat: Form(_texts, ("expressions", "safe", "coalesce"))}),
    _made("separated", _separated, {exp.ConcatWs: Form(_with_separator, None)}),
)  # fmt: skip
