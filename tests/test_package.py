"""The built wheel, installed on its own with no extras, works."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_wheel_works_without_extras(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("duotone-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "duotone/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    install: list[str | Path] = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-c",
        ROOT / "constraints.txt",
        wheel,
    ]
    subprocess.run(install, check=True, capture_output=True)
    (tmp_path / "g.csv").write_text("a,b\nb,c\n")
    command: list[str | Path] = [
        tmp_path / "venv" / "bin" / "duotone",
        "design",
        "g.csv",
        "--blue",
        "a",
        "--ratio",
        "2",
        "--delta",
        "1/10",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "7/10 = 0.7" in done.stdout
    drawn = subprocess.run([*command, "--draw", "m.svg"], cwd=tmp_path, capture_output=True, text=True)
    assert drawn.returncode == 2
    assert drawn.stderr.strip().endswith('pip install "duotone[draw]"')
