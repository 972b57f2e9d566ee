"""Results as rows under headings: for pandas, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError
from duotone.graphs.graph import label
from duotone.privacy.numbers import show

LATEX = {
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    **{mark: f"{{{mark}}}" for mark in "[]*"},  # after \\ they would be its options
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
"""What LaTeX would not print as it is."""
LONGEST = 24
"""Up to this many characters, LaTeX shows a fraction; of a longer one, its decimal value."""


@dataclass(frozen=True)
class Rows:
    r"""Rows under headings. Numbers are as they were computed: fractions if exact, else floats.

    >>> rows = Rows(("dataset", "yes"), (("a_1", Fraction(7, 10)), (frozenset({1, 3}), 0.25)))
    >>> print(rows.csv(), end="")
    dataset,yes
    a_1,7/10
    "{1, 3}",0.25
    >>> print(rows.to_latex(), end="")
    % \usepackage{booktabs}
    \begin{tabular}{lr}
    \toprule
    dataset & yes \\
    \midrule
    a\_1 & $7/10$ \\
    \{1, 3\} & $0.25$ \\
    \bottomrule
    \end{tabular}
    """

    head: tuple[str, ...]
    """The headings."""
    rows: tuple[tuple[Any, ...], ...]
    """The rows."""

    def to_pandas(self) -> Any:
        """As a pandas data frame; fractions stay exact, and `frame["yes"].astype(float)` makes floats of them."""
        try:
            import pandas as pd
        except ImportError:
            raise DuotoneError("a data frame needs pandas, which is not installed: pip install pandas") from None
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.head)
        series = {name: pd.Series(list(column), dtype=_dtype(column)) for name, column in zip(self.head, columns, strict=True)}
        return pd.DataFrame(series)

    def csv(self) -> str:
        """As CSV text, with fractions such as 7/10."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.head)
        writer.writerows([_text(value) for value in row] for row in self.rows)
        return text.getvalue()

    def to_csv(self, path: str | Path) -> Path:
        """Write the CSV text to a file."""
        try:
            Path(path).write_text(self.csv(), encoding="utf-8", newline="")
        except OSError as error:
            raise DuotoneError(f"cannot write {path}: {error.strerror}") from None
        return Path(path)

    def to_latex(self) -> str:
        """As a LaTeX table for the package booktabs."""
        sides = "".join("r" if all(_is_number(row[i]) for row in self.rows) else "l" for i in range(len(self.head)))
        head, *body = (" & ".join(map(_latex, row)) + r" \\" for row in (self.head, *self.rows))
        lines = (r"% \usepackage{booktabs}", rf"\begin{{tabular}}{{{sides}}}", r"\toprule", head, r"\midrule", *body)
        return "\n".join((*lines, r"\bottomrule", r"\end{tabular}", ""))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Fraction)


def _dtype(column: tuple[Any, ...]) -> Any:
    kinds = {type(value) for value in column}
    return int if kinds == {int} else float if kinds and kinds <= {int, float} else object


def _text(value: Any) -> str:
    return show(value) if isinstance(value, Fraction | float) else label(value)


def _latex(value: Any) -> str:
    if not _is_number(value):
        return "".join(LATEX.get(mark, mark) for mark in " ".join(label(value).split()))
    if isinstance(value, float) and math.isinf(value):
        return r"$\infty$" if value > 0 else r"$-\infty$"
    if not isinstance(value, float) and len(text := _text(value)) <= LONGEST:
        return f"${text}$"
    decimal, _, power = f"{float(value):.6g}".partition("e")
    return f"${decimal}$" if not power else rf"${decimal} \cdot 10^{{{int(power)}}}$"
