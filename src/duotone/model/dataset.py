"""Dataset: what an owner declares about a table, once: its place, what its columns hold, who a person is, and its
budget."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from duotone.errors import DatasetError, DuotoneError
from duotone.model import checks
from duotone.model.checks import COHORT, AccountName, Checked, Mistakes, Neighbours, Reduction
from duotone.model.notice import Notice
from duotone.options import require_known, unknown
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given, number, show

FLOAT_STEPS, INTEGER_STEPS, SQUARED_STEPS = 2**51, 2**62 - 1, 2**30
"""Most grid steps between a bound and zero. Up to the first, a double distinguishes quarters of a step, so that values
are rounded to the nearest step; up to the second, integers cannot overflow; up to the third, their squares can be
summed. The scores of one row or one person are within the second too; sums of them over rows are exact on every engine
for fewer than 2^42 rows (docs/sql.md)."""
LARGEST = 2**100
"""Limits and weights are smaller than this."""
COARSEST = 22
"""Powers of ten up to this one are floats exactly."""
FINE = 10**6
"""Fewest steps between the bounds of a default grid."""


@dataclass(frozen=True)
class Bounds:
    """What a column's values are clipped to, and the grid to which they are then rounded: multiples of `grid`."""

    low: Fraction
    high: Fraction
    grid: Fraction | None = None

    @staticmethod
    def of(low: Given, high: Given, grid: Given | None = None) -> Bounds:
        """Bounds from numbers as they are written."""
        least, most = (_finite(bound, "a bound") for bound in (low, high))
        step = None if grid is None else _finite(grid, "the grid")
        if not least < most:
            raise DuotoneError(f"the lower bound must be below the upper one, got {show(least)} and {show(most)}")
        if step is not None and not (step > 0 and 1 in (step.numerator, step.denominator)):
            raise DuotoneError(f"a grid is a whole number or one over a whole number, as 100 or 0.01, got {show(step)}")
        return Bounds(least, most, step)

    def on(self, column: str, kind: str, most: int = FLOAT_STEPS) -> Grid:
        """The bounds in grid steps, for a column of this type; `most` limits their distance from zero."""
        step = self.grid or (Fraction(1) if kind == "integer" else self._fine(most))
        if kind == "integer" and step.denominator != 1:
            raise DuotoneError(f"column {column} holds whole numbers: its grid must be a whole number, too, got {show(step)}")
        low, high = self.low / step, self.high / step
        if low.denominator != 1 or high.denominator != 1:
            raise DuotoneError(f"the bounds of {column} must be multiples of its grid, {show(step)}: give the grid after them")
        integers = kind == "integer"
        if not integers and not _is_double(max(step, 1 / step)):
            raise DuotoneError(
                f"the grid of {column}, {show(step)}, is not a float: give a whole number of at most 2^53, or one over it"
            )
        largest = max(abs(self.low), abs(self.high), key=Fraction) if integers else max(abs(low), abs(high))
        if not largest <= (INTEGER_STEPS if integers and step == 1 else FLOAT_STEPS):
            raise DuotoneError(f"the bounds of {column} are too far apart for its grid, {show(step)}: give a coarser one")
        return Grid(int(low), int(high), step)

    def takes(self, grid: Fraction) -> bool:
        """Whether values that need not be whole may be rounded to this grid."""
        steps = self.low / grid, self.high / grid
        return all(bound.denominator == 1 and abs(bound) <= FLOAT_STEPS for bound in steps)

    def finer(self, most: int = FLOAT_STEPS) -> Bounds | None:
        """The same on a grid that distinguishes averages of whole numbers, within `most` steps from zero; None if a
        grid was declared, or there is none."""
        step = self._fine(most)
        return Bounds(self.low, self.high, step) if self.grid is None and step < 1 else None

    def _fine(self, most: int) -> Fraction:
        """The default grid; coarser if its bounds would be more than `most` steps from zero."""
        power, span = COARSEST, (self.high - self.low) / FINE
        while power > -COARSEST and Fraction(10) ** power > span:
            power -= 1
        step = Fraction(10) ** power
        while any((bound / step).denominator != 1 for bound in (self.low, self.high)) and step > Fraction(1, 10**18):
            step /= 10
        farthest = max(abs(self.low), abs(self.high))
        while (
            most is not None and farthest > most * step and all((b / step / 10).denominator == 1 for b in (self.low, self.high))
        ):
            step *= 10
        return step


def _is_double(value: Fraction) -> bool:
    return Fraction(float(value)) == value


def _finite(written: Given, name: str) -> Fraction:
    value = number(repr(written) if isinstance(written, float) else written, name)  # 0.1 means the decimal
    if not -LARGEST <= value <= LARGEST:
        raise DuotoneError(f"{name} must be a number of less than thirty digits")
    return Fraction(value)


@dataclass(frozen=True)
class Grid:
    """A column's values as whole numbers of steps, from `low` to `high`."""

    low: int
    high: int
    step: Fraction


Groups = Mapping[Any, Any] | Sequence[Any] | Path
MOST_BYTES = 2**20
"""Most bytes of a declaration's file."""
PLACE, PLACES = "must be a place, in quotes", 'must be places by name, as { labs = "labs.csv" }'


LIMITS = "must be [low, high] or [low, high, grid], in numbers"
"""The form of bounds."""


def _bounds(value: Any) -> Mapping[str, Bounds]:
    """Bounds by column."""
    mistakes, limits = Mistakes(), dict[str, Bounds]()
    for column, one in checks.named(value, "must be {column: (low, high)} or {column: (low, high, grid)}").items():
        if not isinstance(one, Bounds) and not (
            isinstance(one, list | tuple) and len(one) in (2, 3) and all(map(_numeric, one))
        ):
            mistakes.add((column,), LIMITS)
            continue
        with mistakes.at(column):
            limits[column] = one if isinstance(one, Bounds) else Bounds.of(*one)
    mistakes.refuse()
    return limits


def _numeric(value: Any) -> bool:
    return isinstance(value, Number | str | None) and not isinstance(value, bool)


CHECKS: Mapping[str, Checked] = {
    "table": checks.text, "types": checks.types, "separator": checks.separator,
    "json_columns": checks.json_columns, "columns": checks.columns, "longest_text": checks.longest_text, "vouched": checks.flag,
    "unit": checks.unit, "neighbours": checks.neighbours, "bounds": _bounds, "max_rows": checks.count,
    "per_unit": checks.per_unit, "max_groups": checks.count, "at_least": checks.count, "groups": checks.groups,
    "public": checks.tables, "also": checks.tables, "dataset": checks.name, "people": checks.name, "version": checks.name,
    "population": checks.name,
    "budget": checks.budget, "account": checks.account, "answers": checks.answers, "ledger": checks.anything,
}  # fmt: skip
"""The check of each key's value."""
KEYS = ("source", *CHECKS)
"""Keys of a declaration: the same names in Python, in a file, in an office and in the command."""
OPENING = ("table", "types", "separator", "json_columns", "columns", "longest_text", "vouched")
"""Keys about how the table is opened and read."""
MAPPINGS = ("types", "bounds", "public", "also")
EMPTY: dict[str, Any] = {key: {} if key in MAPPINGS else None for key in KEYS}
DEFAULTS = EMPTY | {"neighbours": "add-remove", "vouched": False, "account": "sum"}


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A table with everything that its owner declares about it. It is validated when created: a `DatasetError` lists
    every mistake with its key.

    `source` is a file, a URL, a data frame or a connection, and `table` the table of a database. For a text file,
    `types` say what its columns hold ({"amount": "money", "day": "%d/%m/%Y", "labs.value": "number"} for a table labs that
    is joined), `separator` separates the fields of a CSV file, and `json_columns` are the keys of JSON lines that become
    columns. `columns` are those that questions may use, besides the unit; `longest_text` is how many characters of a stored
    text are read. `vouched` promises, for a view or another query, that each of its rows belongs to one person and depends
    on nobody else's.

    `unit` names the column that identifies persons. Of a person's rows at most `max_rows` count, or `per_unit` reduces
    them to one value; a person counts in at most `max_groups` groups. Without it each row is a person. `neighbours` are
    tables with one person more or less ("add-remove"), or with another one ("replace"). Values that are added up need
    `bounds`: {column: (low, high)} or (low, high, grid).

    `groups` are public lists of groups, {"ward": ["A", "B"]}; or one list, or the path of a CSV file with one group per
    line, for any group columns. Other groups are selected privately, and one of fewer than `at_least` people is never
    shown. `public` are tables with public rows, by name; `also` are further private tables of the same people.
    Questions may join both.

    `budget` is what all answers together may cost, and `account` how they add up: "sum" for few, "renyi" for many, chosen for
    about so many `answers`. It is in `ledger`, where the dataset is called `dataset`; `people` labels the set of people in it,
    `version` the state of the data. Instead of a budget, it may have a `population`: another dataset of the same
    people in the ledger, to whose budget all answers about this one are charged.

    >>> stays = Dataset("stays.csv", unit="patient", bounds={"days": (0, 60)})
    >>> stays.bounds["days"].high, stays.person
    (Fraction(60, 1), 'patient')
    >>> Dataset("stays.csv", neighbours="swap", max_rows=0)
    Traceback (most recent call last):
    duotone.errors.DatasetError: neighbours must be add-remove or replace, got swap
    max_rows must be a whole number from 1 to 2147483647, got 0
    """

    source: Any = field(kw_only=False, repr=False, compare=False)
    table: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    separator: str | None = None
    json_columns: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    longest_text: int | None = None
    vouched: bool = False
    unit: str | None = None
    neighbours: Neighbours = "add-remove"
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    max_rows: int | None = None
    per_unit: Reduction | None = None
    max_groups: int | None = None
    at_least: int | None = None
    groups: Groups | None = None
    public: Mapping[str, Any] = field(default_factory=dict)
    also: Mapping[str, Any] = field(default_factory=dict)
    dataset: str | None = None
    people: str | None = None
    version: str | None = None
    population: str | None = None
    budget: ApproxDP | None = None
    account: AccountName = "sum"
    answers: int | None = None
    ledger: Any = None
    made_by: str | None = field(default=None, repr=False)
    """The unit, if an inner select has made one row per person: then each row is a person, and `unit` is None."""

    if TYPE_CHECKING:  # written values become the fields' values

        def __init__(self, source: Any, **declared: Any) -> None: ...

    def __new__(cls, *_: Any, **declared: Any) -> Self:  # noqa: D102
        require_known(declared, [*KEYS, "made_by"])
        return super().__new__(cls)

    def __post_init__(self) -> None:
        mistakes = Mistakes()
        if self.source is None or (isinstance(self.source, str) and not self.source):
            mistakes.add(("source",), 'is missing: write source = "table.csv"')
        for key, check in CHECKS.items():
            value = getattr(self, key)
            if value is None:
                object.__setattr__(self, key, DEFAULTS[key])
                continue
            with mistakes.at(key):
                object.__setattr__(self, key, check(value))
        mistakes.refuse()
        self._check(mistakes)
        mistakes.refuse()

    def _check(self, mistakes: Mistakes) -> None:
        """Check keys against each other."""
        if self.person is None and not (self.max_rows is None and self.per_unit is None):
            mistakes.add((), "without a unit each row is a person: name the column that tells persons apart (unit)")
        if self.population is not None:
            for key in self.declared(("budget", "account", "answers", "people")):
                mistakes.add((key,), f"is declared for the population {self.population}: leave it out, or the population")
            if self.population == self.dataset:
                mistakes.add(("population",), "is the dataset itself: name another")
        if self.columns is not None and self.also:
            mistakes.add(("columns",), "cannot be limited where there are further tables (also): make a view")
        names = [name.lower() for name in (*self.also, *(self.public if self.also else ()))]
        if len(set(names)) != len(names):
            mistakes.add(("also",), "has two tables of the same name but for upper and lower case: rename one")

    @classmethod
    def of(cls, written: Mapping[str, Any], folder: Path | None = None, known: Sequence[str] = KEYS, **defaults: Any) -> Self:
        """A dataset from values by key, if all keys are known; paths are relative to a folder."""
        mistakes = Mistakes()
        for key in written.keys() - set(known):
            mistakes.add((key,), unknown(key, known))
        own = {key: _plain(value) for key, value in written.items() if key in known}
        for key in ("source", "ledger", "public", "also"):
            by_name = key in MAPPINGS
            places = own[key].values() if by_name and isinstance(own.get(key), Mapping) else [own.get(key)]
            if key in own and not all(isinstance(at, str) for at in places):
                mistakes.add((key,), PLACES if by_name else PLACE)
                own[key] = {} if by_name else "unknown"
        try:
            made = cls(**{"source": None, **defaults, **(own if folder is None else _from_folder(own, folder))})
        except DatasetError as error:
            mistakes.include(error)
        mistakes.refuse()
        return made

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A dataset from its TOML file; paths in it are relative to its folder. Without `dataset`, it has the file's
        name."""
        file = Path(path)
        text = text_of(file)
        try:
            called = {"dataset": file.stem} if checks.NAME.fullmatch(file.stem) else {}
            return cls.of(toml_of(file, text), file.absolute().parent, **called)
        except DatasetError as error:
            mistakes = Mistakes(file.name, text)
            mistakes.include(error)
            mistakes.refuse()
            raise

    def declared(self, keys: Iterable[str]) -> list[str]:
        """The declared values of some keys."""
        return [key for key in keys if getattr(self, key) != DEFAULTS[key]]

    def further(self, **keys: Any) -> Self:
        """The same with more keys, or more columns of one; what is declared already is refused."""
        require_known(keys, KEYS)
        more = {key: {**getattr(self, key), **keys[key]} for key in MAPPINGS if isinstance(keys.get(key), Mapping)}
        twice = [key for key in self.declared(keys) if key not in more or not getattr(self, key).keys().isdisjoint(keys[key])]
        keys |= more
        if twice:
            raise DuotoneError(f"the dataset declares that already: leave {' and '.join(twice)} out, or change the dataset")
        return replace(self, **keys) if keys else self

    def opened(self, source: Any) -> Self:
        """The same for an open table, without the keys about opening it."""
        joined = {column: one for column, one in self.types.items() if column not in self.types_of()}
        return replace(self, source=source, **{key: DEFAULTS[key] for key in OPENING} | {"types": joined})

    def types_of(self, table: str | None = None) -> Mapping[str, str]:
        """The declared types of its own columns, or of those of a table that is joined: labs.value of labs."""
        before = {
            column: next((t for t in (*self.also, *self.public) if column.startswith(f"{t}.")), None) for column in self.types
        }
        return {c if table is None else c.removeprefix(f"{table}."): one for c, one in self.types.items() if before[c] == table}

    @property
    def in_ledger(self) -> str | None:
        """Its name in a ledger: the dataset's, and the label of its `people` if it has one."""
        return self.dataset if None in (self.dataset, self.people) else f"{self.dataset}{COHORT}{self.people}"

    @property
    def registered_with(self) -> dict[str, Any]:
        """What a ledger is given besides the name, the version and the budget."""
        about: dict[str, Any] = {"unit": self.unit or "row", "neighbours": self.neighbours}
        if self.population is not None:
            return {**about, "population": self.population}
        return {**about, "account": self.account, "answers": self.answers}

    @property
    def person(self) -> str | None:
        """The column that identifies a person; None if each row is one."""
        return self.unit or self.made_by

    @property
    def replaced(self) -> bool:
        """Whether neighbours differ by one person's data."""
        return self.neighbours == "replace"

    def groups_by(self, by: tuple[str, ...]) -> Sequence[Any] | Path | None:
        """The public list of groups by these columns; None without one."""
        return self.groups.get(by) if isinstance(self.groups, Mapping) else self.groups


def text_of(file: Path) -> str:
    """The text of a file of declarations."""
    try:
        if file.stat().st_size > MOST_BYTES:
            raise DuotoneError(f"{file} is not a file of declarations: it has more than {MOST_BYTES} bytes")
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DuotoneError(f"{file} does not exist: name a dataset's file, or write one (duotone declare)") from None
    except (OSError, UnicodeDecodeError):
        raise DuotoneError(f"{file} cannot be read: it must be a TOML file in UTF-8") from None


def toml_of(file: Path, text: str) -> dict[str, Any]:
    """The contents of a TOML file, with numbers as they are written."""
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise DuotoneError(f"{file.name}: this is not TOML: {error}") from None


def _plain(value: Any) -> Any:
    """A value of a file; decimals stay texts, so that they mean what is written."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else str(value) if isinstance(value, Decimal) else value


def _from_folder(written: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The same, with paths relative to a folder. In a database, further tables are names."""

    def place(text: Any) -> Any:
        elsewhere = isinstance(text, str) and ("://" in text or text.startswith("env:"))  # how an office reads them
        return str(folder / text) if isinstance(text, str) and text and not elsewhere else text

    every = dict(written)
    for key in ("source", "ledger"):
        if key in every:
            every[key] = place(every[key])
    if isinstance(every.get("groups"), str):
        every["groups"] = folder / every["groups"]
    for key in ("public", "also"):
        in_files = key == "public" or not ("table" in every or "://" in str(every.get("source")))
        if isinstance(every.get(key), Mapping) and in_files:
            every[key] = {name: place(file) for name, file in every[key].items()}
    return every


class Unused(DuotoneError):
    """A declaration at a `key`, such as max_rows or bounds.age, that the question does not use. If it was declared for
    this question alone, that is a mistake; for a dataset or several questions, others may use it."""

    def __init__(self, key: str, said: Notice | str) -> None:
        self.key = key
        super().__init__(said)


Note = Callable[[Unused], None]
"""Called with it: raises or notes it."""


def at_once(unused: Unused) -> None:
    """Refuse an unused declaration."""
    raise unused
