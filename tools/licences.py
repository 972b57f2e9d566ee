"""The licences of what is installed with Duotone: writes the table of docs/licences.md, names and licences, from installed
metadata.

    python tools/licences.py

Ends with 1 if a licence is unknown or not permitted. What is missing here is named, and the page left as it is.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import metadata, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
NOT_SHIPPED = {"bench", "dev"}
"""Extras for those who work on Duotone itself."""
ON = {
    "implementation_name": "cpython", "os_name": "posix", "platform_machine": "x86_64", "sys_platform": "linux",
    "platform_python_implementation": "CPython", "platform_system": "Linux", "python_full_version": "3.11.0",
    "python_version": "3.11",
}  # fmt: skip
ELSEWHERE = {"cupy-cuda13x": "MIT"}
"""Named by hand: CuPy needs a GPU, and its `ctk` brings NVIDIA's libraries, of which the page speaks."""
PERMITTED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT",
    "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib",
}  # fmt: skip
LESSER = {"gmpy2": "LGPL-3.0-or-later", "psycopg": "LGPL-3.0-only", "psycopg-binary": "LGPL-3.0-only"}
"""Permitted for these, and the page says what follows."""
WORDS = (
    (r"apache.*2|^apache software license$", "Apache-2.0"),
    (r"^(new|modified)? ?bsd.?3|^3-clause bsd", "BSD-3-Clause"),
    (r"^(simplified )?bsd.?2", "BSD-2-Clause"),
    (r"^bsd( license)?$", "BSD"),
    (r"^(the )?mit( license)?$", "MIT"),
    (r"^isc license", "ISC"),
    (r"^mpl-2.0|^mozilla public license 2.0", "MPL-2.0"),
    (r"^python software foundation license$", "PSF-2.0"),
)


def page(text: str, root: Path = ROOT) -> str:
    """The page with its table made anew."""
    rows = "".join(f"| {name} | {licence_of(name)} | {by} |\n" for name, by in brought(root).items())
    head = "| package | licence | comes with |\n| --- | --- | --- |\n"
    return re.sub(r"^\| package \|.*\n(?:\|.*\n)*", lambda _: head + rows, text, flags=re.M)


def brought(root: Path = ROOT) -> dict[str, str]:
    """Each package, and the extras with which it is installed."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name not in NOT_SHIPPED}
    always = _closure(project["dependencies"])
    by = {name: ["every installation"] for name in always}
    for extra, needs in extras.items():
        for name in _closure(needs) - always:
            by.setdefault(name, []).append(f"`{extra}`")
    return {name: ", ".join(by[name]) for name in sorted(by)}


def _closure(needs: Iterable[str]) -> set[str]:
    """All that these need, and what that needs in turn; an extra in another one is listed by itself."""
    found: set[tuple[str, str]] = set()
    queue = [(Requirement(need), "") for need in needs if not need.startswith("duotone[")]
    while queue:
        need, extra = queue.pop()
        if need.marker is not None and not need.marker.evaluate({**ON, "extra": extra}):
            continue
        name = canonicalize_name(need.name)
        for of in ("", *need.extras):
            if (name, of) not in found:
                found.add((name, of))
                further = [] if name in ELSEWHERE else requires(name) or []
                queue += [(Requirement(line), of) for line in further]
    return {name for name, _ in found}


def licence_of(name: str) -> str:
    """As its metadata have it, in SPDX's words."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    about = metadata(name)
    if expression := about.get("License-Expression"):
        return str(expression)
    classified = [each.rpartition(" :: ")[2] for each in about.get_all("Classifier", []) if each.startswith("License ::")]
    for said in (str(about.get("License") or "").partition("\n")[0], *classified):
        for words, spdx in WORDS:
            if said == spdx or re.search(words, said.strip(), re.I):
                return spdx
    return "unknown"


def refused(text: str) -> list[str]:
    """Rows of the table whose licence is unknown or not permitted."""
    wrong = []
    for name, licence in re.findall(r"^\| (\w[\w.-]*) \| ([^|]+) \|", text, re.M):
        parts = re.split(r" AND ", licence.strip("() "))
        fine = all(any(one.strip("() ") in PERMITTED for one in part.split(" OR ")) for part in parts)
        if name != "package" and not fine and LESSER.get(name) != licence:
            wrong.append(f"{name}: {licence}")
    return wrong


def main() -> int:
    PAGE.write_text(page(PAGE.read_text()))
    for wrong in (said := refused(PAGE.read_text())):
        print(f"not permitted: {wrong}")
    return bool(said)


if __name__ == "__main__":
    sys.exit(main())
