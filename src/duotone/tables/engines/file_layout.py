"""What is declared about how a file is read, where nothing but its rows could tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duotone.errors import DuotoneError

NOT_FOR_THIS = {
    "separator": "only a CSV file has a separator: leave it out",
    "columns": "only JSON lines need their columns named: leave them out",
    "formats": "only CSV files and JSON lines have formats of dates: leave them out",
}


@dataclass(frozen=True)
class FileLayout:
    """`separator` is what stands between the fields of a CSV file, `columns` are the keys of JSON lines, `formats` how
    dates are written, by column."""

    separator: str | None = None
    columns: Sequence[str] | None = None
    formats: Mapping[str, str] | None = None

    def refuse(self, *options: str) -> None:
        """Refuse what a file has no use for: left out silently, another question would be answered."""
        for option in options:
            if getattr(self, option) is not None:
                raise DuotoneError(NOT_FOR_THIS[option])

    def refuse_all(self) -> None:
        """Refuse everything, where the table is no file of text."""
        self.refuse(*NOT_FOR_THIS)

    @property
    def stated(self) -> Mapping[str, Any]:
        """What changes how a column is read, and so the question: as a ledger records it."""
        separator = {} if self.separator is None else {"separator": self.separator}
        cased = sorted(
            name for name in self.columns or () if name != name.lower()
        )  # keys of JSON differ by case, columns do not
        columns = {"columns": cased} if cased else {}
        return {**separator, **columns, **({"formats": dict(self.formats)} if self.formats else {})}
