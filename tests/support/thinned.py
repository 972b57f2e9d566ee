"""Long lists of cases: all of them in `make exhaustive`, every so many in `make test`, which must stay short."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest
from hypothesis import settings

Case = TypeVar("Case")
EXHAUSTIVE = "DUOTONE_EXHAUSTIVE" in os.environ
exhaustive_only = pytest.mark.skipif(not EXHAUSTIVE, reason="takes long: make exhaustive runs it")


def thinned(cases: Iterable[Case], every: int, start: int = 0) -> list[Case]:
    """Every so many of these cases, or all."""
    return list(cases)[slice(None) if EXHAUSTIVE else slice(start, None, every)]


def examples(many: int, every: int = 3) -> settings:
    """So many examples of a property, or a part of them."""
    return settings(max_examples=many if EXHAUSTIVE else many // every, deadline=None)
