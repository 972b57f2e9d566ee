"""Errors that say what was given, what is allowed and how to correct it.

ValueError
└── DuotoneError        anything a caller can put right; the command exits with 2
    ├── Infeasible      no private mechanism has these boundary values
    ├── NotAMorphism    a map sends two neighbours to datasets that are not
    ├── MissingExtra    an optional library is not installed
    ├── UnopenedTable   a table that cannot be opened, whatever is asked about it
    ├── UnreadableColumn  a question about a column whose type no rule reads
    ├── UnknownColumn   a name that no column has
    ├── FailedTrial     a question that failed on made-up tables; `code` and `report` reproduce it
    ├── UnknownOption   an option that a function does not take; a TypeError, too
    ├── DatasetError    mistakes in a dataset's declaration, each with its key
    ├── OfficeError     mistakes in an office file, one sentence each
    ├── LedgerError     a ledger cannot be used; nothing was released
    │   ├── LedgerBusy  other processes kept it for too long
    │   └── OverBudget  an answer would cost more than is left
    └── ServiceError    a service does not answer; `status` and `kind` say why
        └── OverBudgetThere  the same as OverBudget, which it is too, in a service's words

UserWarning
└── AnswerWarning       a note that must not be missed, about an answer or its budget
"""

from __future__ import annotations

import traceback
from collections.abc import Hashable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, Self


def got(value: object) -> str:
    """A wrong value, as an error shows it: a text is called one, since it may look like a number.

    >>> got("3"), got(3.5), got([3])
    ('the text "3"', '3.5', 'list')
    """
    if isinstance(value, str):
        return f'the text "{value:.60}"' if value.isprintable() else f"the text {value!r:.60}"
    plain = value is None or isinstance(value, bool | int | float | Fraction)
    return f"{value!s:.60}" if plain else type(value).__name__


class DuotoneError(ValueError):
    """Invalid input, in one sentence. An error is pickled as its arguments.

    A notebook shows the sentence alone, and where it was raised when it is asked again (`%tb`).
    """

    _made_of: tuple[tuple[Any, ...], dict[str, Any]]
    _shown = False

    def __new__(cls, *given: Any, **named: Any) -> Self:  # noqa: D102
        error = super().__new__(cls, *given, **named)
        error._made_of = given, named
        return error

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        given, named = self._made_of
        return partial(type(self), **named), given

    def _render_traceback_(self) -> list[str]:
        """What IPython shows of it."""
        again, self._shown = self._shown, True
        return traceback.format_exception(self) if again else [f"{type(self).__name__}: {self}"]


class AnswerWarning(UserWarning):
    """A note that must not be missed: the answer is about something else than the question says, or its budget is weak."""


class Infeasible(DuotoneError):
    """No private mechanism has the boundary values asked for.

    Attributes:
        low, high: the two boundary datasets that clash; `high` asks for more than `low` allows.
        path: neighbours leading from `low` to `high`.
        gap: by how much the value at `high` exceeds what the path allows.
    """

    def __init__(self, path: tuple[Hashable, ...], gap: Fraction | float) -> None:
        self.path, self.gap = path, gap
        self.low, self.high = path[0], path[-1]
        shown = [*map(str, path)] if len(path) <= 12 else [*map(str, path[:6]), "…", *map(str, path[-5:])]
        super().__init__(
            f"no private mechanism has these boundary values: {self.high} asks for {float(gap):.6g} more than "
            f"{self.low} allows along {'–'.join(shown)}; lower the value at {self.high} or raise it at {self.low}"
        )


class NotAMorphism(DuotoneError):
    """A map between dataset graphs that sends two neighbours (`edge`) to datasets that are not (`images`)."""

    def __init__(self, edge: tuple[Hashable, Hashable], images: tuple[Hashable, Hashable]) -> None:
        self.edge, self.images = edge, images
        super().__init__(
            f"not a morphism: {edge[0]} and {edge[1]} are neighbours, but their images {images[0]} and {images[1]} are not"
        )


class MissingExtra(DuotoneError):
    """An optional library is needed for this and is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.what, self.extra = what, extra
        super().__init__(f'{what} needs an optional library: pip install "duotone[{extra}]"')


class UnopenedTable(DuotoneError):
    """A table that cannot be opened, or a further or public one beside it: no question about it can be read."""


class UnreadableColumn(DuotoneError):
    """A question about a `column` whose type cannot be read; `how` says what the type is and how to convert it, if
    known."""

    def __init__(self, column: str, how: str = "") -> None:
        self.column, self.how = column, how
        general = f"column {column} holds neither numbers, text, Booleans nor dates, and cannot be asked about: convert it"
        super().__init__(f"column {column} cannot be asked about: it {how}" if how else general)


class UnknownColumn(DuotoneError):
    """A name that is not a column of the table; `columns` lists the columns, `hint` is a likely correction."""

    def __init__(self, column: str, columns: Iterable[str], hint: str = "", table: str = "the table") -> None:
        self.column, self.columns, self.hint, self.table = column, tuple(columns), hint, table
        # blanks around a name are part of it, and shown by quotes
        listed = ", ".join(name if name == name.strip() else f'"{name}"' for name in self.columns)
        super().__init__(f"{table} has no column {column}{f' ({hint})' if hint else ''}; it has {listed}")


class FailedTrial(DuotoneError):
    """A question that failed its trial on made-up small tables: `what` failed, with the seed `code`. `report` is JSON
    with the made-up tables, which are about nobody."""

    def __init__(self, what: str, code: str, report: str = "") -> None:
        self.what, self.code, self.report = what, code, report
        super().__init__(
            f"this question failed its own trial on made-up tables ({what}, code {code}), so it is not asked and nothing is "
            "charged: please report it"
        )


class UnknownOption(DuotoneError, TypeError):
    """An option that a function does not take: a similar one is named, or all of them."""


class Mistake(NamedTuple):
    """A mistake at a key of a declaration: the steps to the key, the words after it, and before it the place in a
    file."""

    steps: tuple[str | int, ...]
    words: str
    place: str = ""

    @property
    def sentence(self) -> str:
        """The whole sentence."""
        return f"{self.place}{'.'.join(map(str, self.steps))}{' ' * bool(self.steps)}{self.words}"


class DatasetError(DuotoneError):
    """Mistakes in a dataset's declaration: `mistakes`, each with the steps to its key and, in a file, its line."""

    def __init__(self, *mistakes: Mistake) -> None:
        self.mistakes = mistakes
        super().__init__("\n".join(self.sentences))

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for each mistake."""
        return tuple(mistake.sentence for mistake in self.mistakes)


class OfficeError(DuotoneError):
    """Mistakes in an office file: `sentences`, one for each, with its line."""

    def __init__(self, *sentences: str) -> None:
        self.sentences = sentences
        super().__init__("\n".join(sentences))


class LedgerError(DuotoneError):
    """A ledger cannot be used like this. Nothing was released."""


class LedgerBusy(LedgerError):
    """Other processes held the ledger for longer than the caller would wait."""

    def __init__(self, place: str, wait: float, why: str = "") -> None:
        self.place, self.wait, self.why = place, wait, why
        reason = f" ({why})" if why else ""
        super().__init__(
            f"the ledger {place} was kept busy by others for {wait:g} seconds{reason}; nothing was released: try again"
        )


class OverBudget(LedgerError):
    """A cost that does not fit into a dataset's budget, or into the allowance of `asker`.

    `asked` is the cost, `left` what would fit; `shortfall` has all the numbers (duotone.model.cost).
    """

    def __init__(self, shortfall: Any) -> None:
        self.shortfall = shortfall
        self.dataset, self.asked, self.left, self.asker = shortfall.dataset, shortfall.asked, shortfall.left, shortfall.asker
        super().__init__(str(shortfall))


class ServiceError(DuotoneError):
    """A service does not answer: `status` is HTTP's (None without a reply), `kind` the service's code for the reason,
    and `retry_after` the seconds after which to try again, if it says so."""

    def __init__(self, sentence: str, status: int | None = None, kind: str = "", retry_after: int | None = None) -> None:
        self.sentence, self.status, self.kind, self.retry_after = sentence, status, kind, retry_after
        DuotoneError.__init__(self, sentence)  # skip OverBudget, which composes its own sentence


class OverBudgetThere(ServiceError, OverBudget):
    """A question that exceeds what a service has left of a budget or an allowance. Its sentence says what `asked` and
    `left` would."""

    dataset = ""
    shortfall = asked = left = asker = None
