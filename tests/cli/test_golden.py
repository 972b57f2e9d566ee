"""What the command did before the code was moved and renamed, it does still: byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.record import COMMANDS, kept, record


@pytest.mark.slow
def test_every_command_does_what_it_did(tmp_path: Path) -> None:
    before = kept()
    assert [entry["command"] for entry in before] == COMMANDS
    for expected, actual in zip(before, record(tmp_path), strict=True):
        assert actual == expected, expected["command"]
