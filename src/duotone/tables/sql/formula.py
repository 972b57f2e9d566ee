"""Computed values: what may be made of one row's values, each by a function that has a value, or null, whatever they are.

Numbers are computed as floats; what would overflow, divide by zero or have no value is null (docs/reading.md).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import Compare, Formula, Kind, Operand, Part, Value
from duotone.tables.sql.interval import Span, moved, span

NUMERIC = ("integer", "float", "decimal", "untyped")
LARGEST_ROUND = 15
"""The decimals that a number is rounded to, at most."""
ARITHMETIC: dict[type[exp.Expression], str] = {exp.Add: "add", exp.Sub: "subtract", exp.Mul: "multiply", exp.Div: "divide"}
OF_A_NUMBER: dict[type[exp.Expression], str] = {
    exp.Abs: "abs", exp.Floor: "floor", exp.Ceil: "ceil", exp.Sqrt: "sqrt", exp.Exp: "exp", exp.Ln: "ln", exp.Sign: "sign",
    exp.Trunc: "trunc",
}  # fmt: skip
OF_A_TEXT: dict[type[exp.Expression], tuple[str, Kind]] = {
    exp.Lower: ("lower", "text"), exp.Upper: ("upper", "text"), exp.Trim: ("trim", "text"), exp.Length: ("length", "integer"),
}  # fmt: skip
OF_A_TIME: dict[type[exp.Expression], str] = {
    exp.Year: "year", exp.Quarter: "quarter", exp.Month: "month", exp.Week: "week", exp.Day: "day", exp.DayOfMonth: "day",
    exp.WeekOfYear: "week",
    exp.DayOfYear: "dayofyear", exp.DayOfWeek: "dayofweek", exp.DayOfWeekIso: "isodow", exp.Hour: "hour", exp.Minute: "minute",
    exp.Second: "second",
}  # fmt: skip
FIELDS = {"dow": "dayofweek", "doy": "dayofyear", "weekday": "dayofweek"}
"""Other words for parts of a time."""
TRUNCATED = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
OF_A_CLOCK = ("hour", "minute", "second")
APART = tuple(unit for unit in TRUNCATED if unit != "week")
"""Of weeks between two times, engines count the Mondays or the whole ones."""

Read = Callable[[exp.Expression], Part]
"""Reads one part of a formula: a value of the row, or a constant."""


def read_formula(node: exp.Expression, text: str, read: Read) -> Operand | None:
    """A value computed from others; None where it is nothing that is known."""
    kind = type(node)
    if kind in OF_A_NUMBER:
        return _made(text, "float", OF_A_NUMBER[kind], _number(read(node.this), text))
    if kind in OF_A_TIME:
        return _part_of_time(OF_A_TIME[kind], read(node.this), text)
    match node:
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            return _arithmetic(node, text, read)
        case exp.Neg():
            return _made(text, "float", "subtract", Fraction(0), _number(read(node.this), text))
        case exp.Mod():
            return _made(text, "integer", "modulo", *_whole([read(node.this), read(node.expression)], text))
        case exp.IntDiv():
            return _whole_quotient(read(node.this), read(node.expression), text)
        case exp.Pow():
            return _power(read(node.this), read(node.expression), text)
        case exp.Log() if node.expression is None or read(node.this) == 10:  # in DuckDB's words log is to base 10
            return _made(text, "float", "log10", _number(read(node.expression or node.this), text))
        case exp.Round():
            return _rounded(node, text, read)
        case exp.Coalesce():
            return _alike(text, "coalesce", [read(part) for part in (node.this, *node.expressions)])
        case exp.Greatest() | exp.Least():
            function = "greatest" if isinstance(node, exp.Greatest) else "least"
            return _alike(text, function, [read(part) for part in (node.this, *node.expressions)])
        case exp.Nullif():
            return _alike(text, "nullif", [read(node.this), read(node.expression)])
    return _of_text(node, text, read) or _of_time(node, text, read)


def choice(text: str, parts: Sequence[Part], values: Sequence[Part | None]) -> Operand:
    """The value of the first condition that holds; `values` has one more, for when none does. Null where it is None."""
    given = [value for value in values if value is not None]
    if not given:
        raise DuotoneError(f"{text} is null on every row: name a value")
    kind, same = _common(given, text)
    filled = iter(same)
    return _made(text, kind, "case", *parts, *(None if value is None else next(filled) for value in values))


CASTS: dict[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT", "INT128"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "float"),
    **dict.fromkeys(("TEXT", "VARCHAR"), "text"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), "time"),
    "DATE": "date",
    "BOOLEAN": "boolean",
}
"""What a cast makes of a value, by the name of its type."""


def cast(value: Operand, target: Kind, text: str) -> Operand:
    """A value as one of another kind, null where it cannot be."""
    match target:
        case "integer" if value.kind == "integer":
            return value
        case "text" if value.kind == "integer":
            return _made(text, "text", "digits", value)
        case "text" if value.kind == "boolean":
            return choice(text, [Compare(value, "=", True), Compare(value, "=", False)], ["true", "false", None])
        case "text" if value.kind == "date":
            return _formatted(value, "%Y-%m-%d", text)
        case "integer" | "float" if value.kind in NUMERIC or value.kind == "text":
            number = value if value.kind in ("integer", "float", "decimal") else _tried(value, "float", text)
            return _made(text, "float", "integer", number) if target == "integer" else number
        case "text" if value.kind in ("text", "untyped"):
            return replace(value, kind="text")
        case "date" if value.kind in ("text", "untyped"):
            return _tried(value, "date", text)
        case "date" if value.kind == "time":
            return _made(text, "date", "date", value)
        case "time" if value.kind == "date":
            return _made(text, "time", "time", value)
        case "boolean" if value.kind == "untyped":
            return _tried(value, "boolean", text)
        case "time" if value.kind == "untyped":
            raise DuotoneError(f"{text}: {without_clock(value)}")
    if value.kind != target:
        raise DuotoneError(f"{text}: {_described(value)} cannot be cast so")
    return value


FROM_TEXT: dict[Kind, str] = {"float": "number from text", "date": "date from text"}
"""What reads computed text as a value of another kind, by the rule for a column of text."""


def decimal(value: Operand, digits: int, decimals: int, text: str) -> Operand:
    """A number with so many digits, of which so many are decimals, rounded as a double is; a whole number as it is."""
    if not (0 <= decimals <= digits <= 38 and decimals <= LARGEST_ROUND):
        raise DuotoneError(f"{text}: a decimal has at most 38 digits, and at most {LARGEST_ROUND} of them after the point here")
    if value.kind in ("text", "untyped"):
        name = value.column if value.made is None else f"({value.column})"
        raise DuotoneError(f"{text}: {_described(value)} is text: make it a number first, as in {name}::double")
    before = digits - decimals
    if value.kind == "integer" and before >= 19:  # all that 64 bits hold
        return value
    if value.kind not in ("integer", "float") or (value.kind == "integer" and before > 15):
        raise DuotoneError(f"{text}: {_described(value)} is rounded exactly there; write round(x, {decimals}), or leave it out")
    return _made(text, "float", "decimal", value, Fraction(digits), Fraction(decimals))


def _tried(value: Operand, kind: Kind, text: str) -> Operand:
    if value.made is not None:
        return _made(text, kind, FROM_TEXT[kind], value)
    return Operand(value.column, kind, "try")


def _made(text: str, kind: Kind, function: str, *parts: Part | None) -> Operand:
    return Operand(text, kind, made=Formula(function, tuple(parts)))


def _number(part: Part, text: str) -> Part:
    """A number, or a text of a CSV file that is read as one."""
    if isinstance(part, Fraction):
        return part
    if isinstance(part, Operand) and part.kind in NUMERIC:
        return as_kind(part, "float") if part.kind == "untyped" else part
    raise DuotoneError(f"{text} computes with {_described(part)}, which is no number")


def _whole(parts: Sequence[Part], text: str) -> list[Part]:
    known = [as_whole(part) if isinstance(part, Operand) else part for part in parts]
    for part in known:
        if not ((isinstance(part, Fraction) and abs(part) < 2**63 and part.denominator == 1) or _kind(part) == "integer"):
            raise DuotoneError(f"{text} needs whole numbers, and {_described(part)} need not be one: round it, as in floor(x)")
    return known


def _described(part: Part) -> str:
    if isinstance(part, Operand):
        return f"column {part.column}" if part.made is None else part.column
    return str(part)


def as_kind(operand: Operand, kind: Kind) -> Operand:
    """A column of a CSV file, read as values of this kind where they are such."""
    return Operand(operand.column, kind, operand.reading or ("try" if kind != "text" else None))


def _arithmetic(node: exp.Expression, text: str, read: Read) -> Operand:
    """Of numbers; or a date and a span of time, or the days between two dates."""
    if isinstance(node, exp.Add | exp.Sub):
        later = span(node.expression)
        if later is not None:
            return shifted(read(node.this), later if isinstance(node, exp.Add) else -later, text)
        sooner = span(node.this)
        if sooner is not None and isinstance(node, exp.Add):
            return shifted(read(node.expression), sooner, text)
    left, right = read(node.this), read(node.expression)
    day, days = (right, left) if isinstance(left, Fraction) and isinstance(node, exp.Add) else (left, right)
    if isinstance(node, exp.Add | exp.Sub) and isinstance(day, Operand) and day.kind == "date" and isinstance(days, Fraction):
        return shifted(day, whole_days(days if isinstance(node, exp.Add) else -days, text), text)
    if isinstance(node, exp.Sub) and {_kind(left), _kind(right)} == {"untyped"}:
        a, b = (_described(part).removeprefix("column ") for part in (left, right))
        raise DuotoneError(f"{text}: say what the columns hold, as in {a}::double - {b}::double or {a}::date - {b}::date")
    if isinstance(node, exp.Sub) and "time" in (_kind(left), _kind(right)):
        first, last = (part.sql(dialect="duckdb") for part in (node.expression, node.this))
        raise DuotoneError(
            f"{text}: what lies between two times is counted by date_diff('hour', {first}, {last}), or 'minute' …"
        )
    if isinstance(node, exp.Sub) and {_kind(left), _kind(right)} in ({"date"}, {"date", "untyped"}):
        return _made(text, "integer", "days", _time(right, text), _time(left, text))
    return _made(text, "float", ARITHMETIC[type(node)], _number(left, text), _number(right, text))


def _power(base: Part, exponent: Part, text: str) -> Operand:
    if not (isinstance(exponent, Fraction) and exponent in (2, 3, 4, Fraction(1, 2))):
        raise DuotoneError(f"{text}: a power is to 2, 3, 4 or 1/2")
    value = _number(base, text)
    if exponent == Fraction(1, 2):
        return _made(text, "float", "sqrt", value)
    square = _made(text, "float", "multiply", value, value)
    return square if exponent == 2 else _made(text, "float", "multiply", square, value if exponent == 3 else square)


def _whole_quotient(part: Part, by: Part, text: str) -> Operand:
    """Towards zero, of whole numbers; of other numbers // does not round, and / says that better."""
    if not (isinstance(by, Fraction) and by.denominator == 1 and 1 <= by < 2**31):
        raise DuotoneError(f"{text}: // divides by a whole number from 1 on that is written out")
    (whole,) = _whole([part], text)
    if isinstance(whole, Operand) and by == 1:
        return whole
    return _made(text, "integer", "whole quotient", whole, by)


WHOLE = ("add", "subtract", "multiply", "abs", "sign")
"""Functions whose values are whole numbers where those that they are of are."""
ROUNDED = ("floor", "ceil", "trunc", "integer")
"""Functions whose values are whole numbers always."""


def _is_whole(part: Part | None) -> bool:
    """Whether a number is a whole one: a column of them, or computed from such, or rounded."""
    if isinstance(part, Fraction):
        return part.denominator == 1
    if not isinstance(part, Operand) or part.kind == "integer" or part.made is None:
        return isinstance(part, Operand) and part.kind == "integer"
    made = part.made
    if made.function == "round":
        return isinstance(made.parts[1], Fraction) and made.parts[1] <= 0
    return made.function in ROUNDED or (made.function in WHOLE and all(map(_is_whole, made.parts)))


def as_whole(value: Operand) -> Operand:
    """A number that is known to be a whole one as such; any other as it is."""
    if value.kind == "float" and _is_whole(value):
        return _made(value.column, "integer", "whole", value)
    return value


def _rounded(node: exp.Round, text: str, read: Read) -> Operand:
    decimals = Fraction(0) if node.args.get("decimals") is None else read(node.args["decimals"])
    if not (isinstance(decimals, Fraction) and decimals.denominator == 1 and abs(decimals) <= LARGEST_ROUND):
        raise DuotoneError(f"{text}: round to a whole number of decimals, at most {LARGEST_ROUND}")
    return _made(text, "float", "round", _number(read(node.this), text), decimals)


def _alike(text: str, function: str, parts: Sequence[Part]) -> Operand:
    if function != "coalesce" and {_kind(part) for part in parts} == {"untyped"}:  # which is larger, or equal, as what?
        raise DuotoneError(f"{text}: say what the columns of the CSV file hold, as in x::double or x::date")
    kind, same = _common(parts, text)
    return _made(text, kind, function, *same)


def _common(parts: Sequence[Part], text: str) -> tuple[Kind, list[Part]]:
    """Values of one kind: numbers, texts, Booleans, dates or times. What a CSV file's column holds, the others tell."""
    kinds = {_kind(part) for part in parts} - {"untyped"}
    numbers: set[Kind] = {"integer", "float", "decimal"}
    kind: Kind
    if not kinds:
        kind = "text"
    elif kinds == {"integer"}:
        kind = "integer"
    elif kinds <= numbers:
        kind = "float"
    elif len(kinds) == 1:
        (kind,) = kinds
    else:
        raise DuotoneError(f"{text} mixes values of different kinds: {', '.join(sorted(kinds))}")
    untyped: Kind = "float" if kind == "integer" else kind
    same = [as_kind(part, untyped) if isinstance(part, Operand) and part.kind == "untyped" else part for part in parts]
    return ("float" if kind == "integer" and same != list(parts) else kind), same


def _kind(part: Part) -> Kind:
    match part:
        case Operand():
            return part.kind
        case bool():
            return "boolean"
        case Fraction():
            return "integer" if part.denominator == 1 and abs(part) < 2**53 else "float"
        case datetime.datetime():
            return "time"
        case datetime.date():
            return "date"
        case str():
            return "text"
    raise DuotoneError("a condition is no value: write case when … then … end")


def _of_text(node: exp.Expression, text: str, read: Read) -> Operand | None:
    kind = type(node)
    if kind in OF_A_TEXT and not (kind is exp.Trim and node.expression is not None):
        function, result = OF_A_TEXT[kind]
        function = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position")), function)
        return _made(text, result, function, _text(read(node.this), text))
    match node:
        case exp.Substring():
            length = None if node.args.get("length") is None else _place(read(node.args["length"]), 0, text)
            return _made(
                text, "text", "substring", _text(read(node.this), text), _place(read(node.args["start"]), 1, text), length
            )
        case exp.Left():
            many = _place(read(node.expression), 0, text)
            return _made(text, "text", "substring", _text(read(node.this), text), Fraction(1), many)
        case exp.Right():
            return _made(text, "text", "right", _text(read(node.this), text), _place(read(node.expression), 0, text))
        case exp.DPipe():
            return _made(text, "text", "join", *(_as_text(read(part), text) for part in (node.this, node.expression)))
        case exp.ConcatWs():
            separator, *texts = (_as_text(read(part), text) for part in node.expressions)
            if not (isinstance(separator, str) and texts):
                raise DuotoneError(f"{text}: what stands between the texts is written out")
            return _made(text, "text", "separated", separator, *texts)
        case exp.Concat():
            return _made(text, "text", "concat", *(_as_text(read(part), text) for part in node.expressions))
        case exp.Replace() if node.args.get("replacement") is not None:
            old, new = (_written(read(part), text) for part in (node.expression, node.args["replacement"]))
            return _made(text, "text", "replace", _text(read(node.this), text), _some(old, text), new)
        case exp.SplitPart():
            separator = _some(_written(read(node.args["delimiter"]), text), text)
            return _made(
                text, "text", "split", _text(read(node.this), text), separator, _place(read(node.args["part_index"]), 1, text)
            )
        case exp.StrPosition():
            part = _some(_written(read(node.args["substr"]), text), text)
            return _made(text, "integer", "place", _text(read(node.this), text), part)
    return None


def _written(part: Part, text: str) -> str:
    if not isinstance(part, str):
        raise DuotoneError(f"{text}: the text that is looked for is written out")
    return part


def _some(part: str, text: str) -> str:
    if not part:
        raise DuotoneError(f"{text}: the text that is looked for is empty")
    return part


def _as_text(part: Part, text: str) -> Part:
    """A text, or a whole number as one."""
    if isinstance(part, Fraction) and part.denominator == 1:
        return str(part)
    if isinstance(part, Operand) and part.kind == "integer":
        return _made(text, "text", "digits", part)
    return _text(part, text)


def _text(part: Part, text: str) -> Part:
    if isinstance(part, str):
        return part
    if isinstance(part, Operand) and part.kind in ("text", "untyped"):
        return Operand(part.column, "text", part.reading, part.made)
    raise DuotoneError(f"{text}: {_described(part)} is no text")


def _place(part: Part, least: int, text: str) -> Fraction:
    if not (isinstance(part, Fraction) and part.denominator == 1 and least <= part < 2**31):
        raise DuotoneError(f"{text}: places are whole numbers from {least} on")
    return part


def _of_time(node: exp.Expression, text: str, read: Read) -> Operand | None:
    match node:
        case exp.Extract():
            return _part_of_time(node.name.lower(), read(node.expression), text)
        case exp.Anonymous() if node.name.lower() in ("date_part", "datepart") and len(node.expressions) == 2:
            field, value = node.expressions
            return _part_of_time(field.name.lower(), read(value), text)
        case exp.TimeToStr():
            return _formatted(read(node.this), _written(read(node.args["format"]), text), text)
        case exp.Dayname() | exp.Monthname():
            return _formatted(read(node.this), "%A" if isinstance(node, exp.Dayname) else "%B", text)
        case exp.LastDay() if node.args.get("unit") is None:
            return _made(text, "date", "last day", _time(read(node.this), text))
        case exp.Date() if node.expression is None and not node.expressions:
            return cast(_operand(read(node.this), text), "date", text)
        case exp.TimestampTrunc() | exp.DateTrunc():
            return _truncated(node.args["unit"].name.lower(), read(node.this), text)
        case exp.DateDiff() if node.args.get("unit") is not None:
            unit = node.args["unit"].name.lower()
            if unit not in APART:
                raise DuotoneError(f"{text}: date_diff counts by {', '.join(APART)}")
            ends = tuple(_timed(unit, read(end), text) for end in (node.expression, node.this))
            return _made(text, "integer", "days" if unit == "day" else "difference", *ends, *([] if unit == "day" else [unit]))
        case exp.DateAdd() | exp.DateSub() | exp.TsOrDsAdd():
            later = span(node.expression)
            if later is not None:
                return shifted(read(node.this), -later if isinstance(node, exp.DateSub) else later, text)
    return None


DAY_NAMES = "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday"
MONTH_NAMES = "January,February,March,April,May,June,July,August,September,October,November,December"
PADDED = {"Y": ("year", 4), "m": ("month", 2), "d": ("day", 2), "H": ("hour", 2), "M": ("minute", 2), "S": ("second", 2),
          "j": ("dayofyear", 3)}  # fmt: skip
"""What a format writes with so many digits."""
WORDS = {"A": ("isodow", DAY_NAMES), "B": ("month", MONTH_NAMES)}
"""What it writes as a word."""


def _formatted(value: Part, layout: str, text: str) -> Operand:
    """A date or time as text, by the letters that a format has after %."""
    pieces: list[Part] = []
    for letter, plain in re.findall(r"%(.|$)|([^%]+)", layout, re.DOTALL):
        if letter in PADDED:
            field, width = PADDED[letter]
            pieces.append(_made(text, "text", "padded", _part_of_time(field, value, text), Fraction(width)))
        elif letter in WORDS:
            field, words = WORDS[letter]
            pieces.append(_made(text, "text", "word", words, _part_of_time(field, value, text)))
        elif plain or letter == "%":
            pieces.append(plain or letter)
        else:
            raise DuotoneError(f"{text}: a format has %{', %'.join((*PADDED, *WORDS, '%'))} and no other %{letter}")
    if not any(isinstance(piece, Operand) for piece in pieces):
        raise DuotoneError(f"{text} is the same on every row: name a part of the time, as in %Y-%m")
    return _made(text, "text", "pieces", *pieces)


def _operand(part: Part, text: str) -> Operand:
    if not isinstance(part, Operand):
        raise DuotoneError(f"{text} is the same on every row: name a column")
    return part


def _part_of_time(field: str, value: Part, text: str) -> Operand:
    field = FIELDS.get(field, field)
    if field not in OF_A_TIME.values():
        raise DuotoneError(f"{text}: parts of a time are {', '.join(dict.fromkeys(OF_A_TIME.values()))}")
    return _made(text, "integer", field, _timed(field, value, text))


def _truncated(unit: str, part: Part, text: str) -> Operand:
    if unit not in TRUNCATED:
        raise DuotoneError(f"{text}: times are cut off at {', '.join(TRUNCATED)}")
    value = _timed(unit, part, text)
    if _kind(value) == "date" and unit in OF_A_CLOCK:
        raise DuotoneError(f"{text}: a date has no {unit}")
    return _made(text, _kind(value), "truncate", value, unit)


def whole_days(days: Fraction, text: str) -> Span:
    """What a number says that is added to a date."""
    if not (days.denominator == 1 and abs(days) < 10**7):
        raise DuotoneError(f"{text}: a date moves by whole days")
    return Span(days=int(days))


def shifted(value: Part, by: Span, text: str) -> Operand:
    """A date or time, so much later."""
    if by.seconds:
        _require_clock(value, text)
    kind = _kind(_time(value, text))
    if kind == "date" and by.seconds:
        raise DuotoneError(f"{text}: a date moves by days, weeks, months and years; cast it to a timestamp first")
    return _made(text, kind, "shift", _time(value, text), Fraction(by.months), Fraction(by.days), by.seconds)


def _time(part: Part, text: str) -> Part:
    """A date or a time; a text of a CSV file is read as a date."""
    if isinstance(part, datetime.date):
        return part
    if isinstance(part, Operand) and part.kind in ("date", "time"):
        return part
    if isinstance(part, Operand) and part.kind == "untyped":
        return as_kind(part, "date")
    written = isinstance(part, Operand) and part.kind == "text" and part.made is None
    hint = ", but text: store it as one; if it holds dates, cast it (::date)" if written else ""
    raise DuotoneError(f"{text}: {_described(part)} is no date or time{hint}")


def _timed(unit: str, part: Part, text: str) -> Part:
    """The same, where such a part of it is asked for: every date is midnight's, which nobody asks for of a text."""
    if unit in OF_A_CLOCK:
        _require_clock(part, text)
    return _time(part, text)


def _require_clock(part: Part, text: str) -> None:
    if isinstance(part, Operand) and part.kind == "untyped":
        raise DuotoneError(f"{text}: {without_clock(part)}")


def without_clock(column: Operand) -> str:
    """Why a column of a CSV file has no hours, and what to do about it."""
    name = column.column
    return f"{name} is text, read as a date without its time: declare its date format (formats), as in {name}=%Y-%m-%d %H:%M"


def folded(value: Value, by: Span, text: str) -> datetime.date:
    """A constant date or time, so much later."""
    if not isinstance(value, datetime.date):
        raise DuotoneError(f"{text}: {value} is no date or time")
    try:
        return moved(value, by)
    except (OverflowError, ValueError):
        raise DuotoneError(f"{text} lies outside the years 1 to 9999") from None
