"""That no table is read: only the made-up ones of a question's trial."""

from __future__ import annotations

from typing import Any

import pytest

from duotone.tables.engines.source import Source


def read_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on a test fails where a table is read."""
    run = Source.run

    def refused(self: Source, plan: Any) -> Any:
        if not self.name.startswith("duotone_"):  # as made-up tables are called, and no others
            pytest.fail("the table was read")
        return run(self, plan)

    monkeypatch.setattr(Source, "run", refused)
