from __future__ import annotations

from pathlib import Path

import pytest

from duotone import DuotoneError, paper


def test_every_claim_agrees() -> None:
    claims = list(paper.claims())
    assert len(claims) == 63
    assert [c for c in claims if not c.agrees] == []


def test_a_wrong_claim_would_show() -> None:
    assert not paper._claim("", "", "0.85", 0.86).agrees
    assert not paper._claim("", "", "0.7447", 0.7449).agrees
    assert not paper._statement("", "", 1, 2).agrees


@pytest.mark.slow
def test_every_figure_is_drawn(tmp_path: Path) -> None:
    written = list(paper.figures(tmp_path / "new"))
    assert {p.suffix for p in written} == {".svg", ".png"}
    assert len(written) == 16
    assert all(p.stat().st_size > 4000 for p in written)
    (tmp_path / "file").write_text("")
    with pytest.raises(DuotoneError, match="cannot write to"):
        next(paper.figures(tmp_path / "file"))
