"""Values read from text: null where it holds none."""

from __future__ import annotations

import datetime
from typing import Any

import ibis


def real(column: Any) -> Any:
    """A float: NaN is null, and −0.0 is 0.0."""
    return ibis.ifelse(column.isnan(), ibis.null("float64"), column + 0.0)


def number_from(text: Any) -> Any:
    """Text as a float; true and false are 1 and 0, and what is no number is null."""
    word = text.substr(0, 6).lower()  # longer than either word, so that no longer text is taken for one
    return ibis.coalesce(text.try_cast("float64"), ibis.cases((word == "true", 1.0), (word == "false", 0.0)))


def day_from(text: Any) -> Any:
    """Text as a date; what is none is null, and so is what lies outside the years that constants can be in."""
    date = text.try_cast("date")
    return ibis.cases((date.between(datetime.date.min, datetime.date.max), date))
