"""Run a program as if only Duotone with some extras were installed: every other library is missing.

python only_extras.py EXTRA[,EXTRA] PROGRAM
"""

from __future__ import annotations

import importlib.metadata as metadata
import re
import sys
from importlib.abc import MetaPathFinder
from typing import Any

from packaging.requirements import Requirement


def wanted(name: str, extras: set[str], seen: set[tuple[str, str]]) -> None:
    """The distributions that one needs, with those of its extras, from their metadata."""
    for extra in ("", *extras):
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # for another system
            continue
        for line in lines:
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                wanted(plain(needed.name), set(needed.extras), seen)


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class Missing(MetaPathFinder):
    """Does not find modules of other distributions."""

    def __init__(self, extras: set[str]) -> None:
        seen: set[tuple[str, str]] = set()
        wanted("duotone", extras, seen)
        here = {name for name, _ in seen}
        owners = metadata.packages_distributions()
        self.missing = {module for module, whose in owners.items() if not here & set(map(plain, whose))}

    def find_spec(self, name: str, *_: Any) -> None:
        if name.partition(".")[0] in self.missing:
            raise ModuleNotFoundError(f"{name} is not among the extras", name=name)


if __name__ == "__main__":
    extras, program = sys.argv[1:]
    for module in [name for name in sys.modules if name.partition(".")[0] == "packaging"]:
        del sys.modules[module]
    sys.meta_path.insert(0, Missing(set(extras.split(","))))
    exec(program, {"__name__": "__main__"})
