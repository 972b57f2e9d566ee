"""Running the command in this process."""

from __future__ import annotations

import pytest

from duotone.cli.app import main


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err
