"""The page of licences lists what is installed, and the tool that writes it lets no unknown licence pass."""

from __future__ import annotations

import runpy
import sys
from email.message import Message
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from support.running import need

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"


@pytest.fixture
def tool() -> dict[str, Any]:
    return dict(runpy.run_path(str(ROOT / "tools" / "licences.py")))


def test_the_page_lists_what_is_installed(tool: dict[str, Any]) -> None:
    """In another version of Python, or without an extra, something may be missing."""
    try:
        made = tool["page"](PAGE.read_text())
    except PackageNotFoundError as missing:
        need(str(missing.name))
    assert made == PAGE.read_text(), "run python tools/licences.py, and look at what changed"
    assert tool["refused"](made) == []
    for name in ("gmpy2", "duckdb", "cupy-cuda13x", "pycparser"):  # of every installation, an extra, a GPU; and at second hand
        assert f"| {name} | " in made
    assert "pytest" not in tool["brought"]()


def test_what_is_tested_together_has_a_licence_on_the_page(tool: dict[str, Any]) -> None:
    """Every listed package is pinned, but for what needs a GPU."""
    pinned = {line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines()}
    listed = set(tool["brought"]()) - set(tool["ELSEWHERE"])
    assert listed <= {tool["canonicalize_name"](name) for name in pinned}


@pytest.mark.parametrize(
    ("licence", "fine"),
    [
        ("MIT", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("(MIT OR GPL-3.0-only) AND BSD-3-Clause", True),
        ("MIT AND GPL-3.0-only", False),
        ("LGPL-3.0-or-later", False),
        ("AGPL-3.0-only", False),
        ("unknown", False),
    ],
)
def test_a_licence_that_is_not_permitted_is_named(tool: dict[str, Any], licence: str, fine: bool) -> None:
    rows = f"| package | licence | comes with |\n| --- | --- | --- |\n| new-one | {licence} | `cli` |\n"
    assert tool["refused"](rows) == ([] if fine else [f"new-one: {licence}"])


def test_lgpl_is_permitted_only_where_the_page_speaks_of_it(tool: dict[str, Any]) -> None:
    assert tool["refused"]("| gmpy2 | LGPL-3.0-or-later | every installation |\n") == []
    assert tool["refused"]("| gmpy2 | GPL-3.0-or-later | every installation |\n") == ["gmpy2: GPL-3.0-or-later"]
    words = PAGE.read_text()
    assert all(name.partition("-")[0] in words.partition("## What is installed")[0] for name in tool["LESSER"])


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ({"License-Expression": "MIT", "License": "GPL"}, "MIT"),
        ({"License": "BSD 3-Clause License\n\nCopyright"}, "BSD-3-Clause"),
        ({"License": "Copyright somebody", "Classifier": "License :: OSI Approved :: Apache Software License"}, "Apache-2.0"),
        ({"Classifier": "License :: OSI Approved :: BSD License"}, "BSD"),
        ({"License": "LICENSE"}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_what_metadata_say(tool: dict[str, Any], fields: dict[str, str], licence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    about = Message()
    for field, value in fields.items():
        about[field] = value
    monkeypatch.setitem(tool["licence_of"].__globals__, "metadata", lambda _: about)
    assert tool["licence_of"]("any") == licence


def test_the_tool_ends_with_1_where_a_licence_is_not_permitted(
    tool: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "licences.md"
    page.write_text(PAGE.read_text())
    monkeypatch.setattr(sys, "argv", ["licences.py"])
    settings = tool["main"].__globals__
    monkeypatch.setitem(settings, "PAGE", page)
    monkeypatch.setitem(settings, "brought", lambda _: {"any": "`cli`"})
    for licence, code in (("MIT", 0), ("AGPL-3.0-only", 1)):
        monkeypatch.setitem(settings, "licence_of", lambda _, licence=licence: licence)
        assert tool["main"]() == code
        assert f"| any | {licence} | `cli` |" in page.read_text()
    assert capsys.readouterr().out == "not permitted: any: AGPL-3.0-only\n"
