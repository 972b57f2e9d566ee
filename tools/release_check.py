"""Is this tree ready to be published? `make release-check` builds it twice, checks it, and uses it as a new user would.

Nothing is uploaded. The distributions stay in dist/.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
STEPS = (
    ("", "import duotone"),
    ("[tables,cli]", "from duotone import ask"),
    ("[tables,cli,draw]", "from duotone import plotting"),
)
"""Extras to install, step by step, and a statement that then works."""


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        if _built(DIST) != _built(Path(folder)):
            raise SystemExit("two builds of the same tree differ")
    print("built twice, the same bytes:", ", ".join(sorted(file.name for file in DIST.iterdir())))
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir())
    (wheel,) = DIST.glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        _used(wheel, Path(folder))
    print("ready to be published")


def _built(place: Path) -> dict[str, str]:
    """Build both distributions; returns the digest of each file."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", place, ROOT)
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in place.iterdir()}


def _used(wheel: Path, folder: Path) -> None:
    """Install the wheel in a bare environment, with more and more extras, and run the README."""
    run(sys.executable, "-m", "venv", folder / "venv")
    bare, python = _megabytes(folder / "venv"), folder / "venv" / "bin" / "python"
    for extras, works in STEPS:
        start = time.monotonic()
        run(
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-c",
            ROOT / "constraints.txt",
            f"{wheel}{extras}",
        )
        run(python, "-W", "error", "-c", works, cwd=folder)
        print(f"duotone{extras}: {_megabytes(folder / 'venv') - bare} MB, {time.monotonic() - start:.0f} s more")
    readme = ROOT / "README.md"
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copy(readme, folder)
    run(python, "-m", "doctest", readme.name, cwd=folder)
    commands = re.findall(r"^\$ duotone (.*)$", readme.read_text(), re.M)
    for command in commands:
        run(python, "-m", "duotone", *shlex.split(command), cwd=folder)
    print(f"the README's examples and its {len(commands)} commands work")


def _megabytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink()) // 10**6


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command; print its output only if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(map(str, command))}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
