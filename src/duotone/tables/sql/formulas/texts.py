"""Texts, and what is computed from them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import Kind, Operand, Part
from duotone.tables.sql.formulas.parts import Read, described, formula, written_out

OF_A_TEXT: dict[type[exp.Expression], tuple[str, Kind]] = {
    exp.Lower: ("lower", "text"), exp.Upper: ("upper", "text"), exp.Trim: ("trim", "text"), exp.Length: ("length", "integer"),
}  # fmt: skip


def read_text(node: exp.Expression, text: str, read: Read) -> Operand | None:
    """A text, or what is computed from one; None for anything else."""
    kind = type(node)
    if kind in OF_A_TEXT and not (kind is exp.Trim and node.expression is not None):
        function, result = OF_A_TEXT[kind]
        function = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position")), function)
        return formula(text, result, function, _text(read(node.this), text))
    match node:
        case exp.Substring():
            length = None if node.args.get("length") is None else _place(read(node.args["length"]), 0, text)
            return formula(
                text, "text", "substring", _text(read(node.this), text), _place(read(node.args["start"]), 1, text), length
            )
        case exp.Left():
            many = _place(read(node.expression), 0, text)
            return formula(text, "text", "substring", _text(read(node.this), text), Fraction(1), many)
        case exp.Right():
            return formula(text, "text", "right", _text(read(node.this), text), _place(read(node.expression), 0, text))
        case exp.DPipe():
            return formula(text, "text", "join", *_chain([_as_text(read(part), text) for part in (node.this, node.expression)]))
        case exp.ConcatWs():
            separator, *texts = (_as_text(read(part), text) for part in node.expressions)
            if not (isinstance(separator, str) and texts):
                raise DuotoneError(f"{text}: what stands between the texts is written out")
            return formula(text, "text", "separated", separator, *texts)
        case exp.Concat():
            return formula(text, "text", "concat", *(_as_text(read(part), text) for part in node.expressions))
        case exp.Replace() if node.args.get("replacement") is not None:
            old, new = (written_out(read(part), text) for part in (node.expression, node.args["replacement"]))
            return formula(text, "text", "replace", _text(read(node.this), text), _some(old, text), new)
        case exp.SplitPart():
            separator = _some(written_out(read(node.args["delimiter"]), text), text)
            return formula(
                text, "text", "split", _text(read(node.this), text), separator, _place(read(node.args["part_index"]), 1, text)
            )
        case exp.StrPosition():
            part = _some(written_out(read(node.args["substr"]), text), text)
            return formula(text, "integer", "place", _text(read(node.this), text), part)
    return None


def _chain(parts: Sequence[Part]) -> list[Part]:
    """Texts that are joined one after the other, each once: so that no beginning of the whole is made for itself."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, Operand) and part.made is not None and part.made.function == "join":
            joined += [inner for inner in part.made.parts if inner is not None]
        else:
            joined.append(part)
    return joined


def _some(part: str, text: str) -> str:
    if not part:
        raise DuotoneError(f"{text}: the text that is looked for is empty")
    return part


def _as_text(part: Part, text: str) -> Part:
    """A text, or a whole number as one."""
    if isinstance(part, Fraction) and part.denominator == 1:
        return str(part)
    if isinstance(part, Operand) and part.kind == "integer":
        return formula(text, "text", "digits", part)
    return _text(part, text)


def _text(part: Part, text: str) -> Part:
    if isinstance(part, str):
        return part
    if isinstance(part, Operand) and part.kind in ("text", "untyped"):
        return Operand(part.column, "text", part.reading, part.made)
    raise DuotoneError(f"{text}: {described(part)} is no text")


def _place(part: Part, least: int, text: str) -> Fraction:
    if not (isinstance(part, Fraction) and part.denominator == 1 and least <= part < 2**31):
        raise DuotoneError(f"{text}: places are whole numbers from {least} on")
    return part
