"""Coins that give the less likely answer: a test that passes with them does not pass by luck.

`pytest -p support.contrary`, with tests/ on PYTHONPATH, runs the tests with such coins, in this process and in those
that it starts. A coin gives the less likely answer if its chance is above `CERTAIN`; if a test dictates the random
bits, or sets a test seed, chance does not decide, and coins work as usual.

(PYTEST_DONT_REWRITE: pytest warns of a plugin that was imported before it, as xdist's workers do.)
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from support import TESTS

CERTAIN = 40
"""A chance of at most 2^-40 counts as impossible."""
COIN = "duotone.release.coin"
SYSTEM = os.urandom


def pytest_load_initial_conftests(early_config: Any) -> None:
    """Before anything with coins is imported; processes that tests start do the same first."""
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return  # a worker of xdist, which is such a process
    install()
    folder = tempfile.TemporaryDirectory()
    early_config.add_cleanup(folder.cleanup)
    (Path(folder.name) / "sitecustomize.py").write_text("from support import contrary\n\ncontrary.install()\n")
    path = [folder.name, str(TESTS), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))


def install() -> None:
    """For the rest of this process."""
    sys.meta_path.insert(0, Finder())


class Finder(MetaPathFinder):
    """Changes coins when they are imported, not before: most processes never import them, and some tests look at what
    is imported."""

    def find_spec(self, name: str, path: Sequence[str] | None, _: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == COIN else None
        if spec is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                make_contrary(module)

            loader.exec_module = exec_module
        return spec


def make_contrary(module: Any) -> None:
    """Change the coins of `duotone.release.coin`. They still draw, so nothing else about them changes."""
    import numpy as np

    coin, keystream = module.Coin, module.Keystream
    prepare, draw, draw_chunk, draw_margins = coin.__init__, coin.answer, coin._toss, coin._margins

    def by_chance() -> bool:
        return module._TEST_STREAM.get() is None and os.urandom is SYSTEM and module.Keystream is keystream

    def initialise(self: Any, *arguments: Any, **options: Any) -> None:
        prepare(self, *arguments, **options)
        if len(self.table.outcomes) == 2:
            self.contrary = np.array([less_likely(yes, self.table.bits) for (yes,) in self._rows])

    def answer(self: Any, at: Any) -> Any:
        drawn = draw(self, at)
        if not by_chance():
            return drawn
        yes = bool(self.contrary[self.table.find(at) - (self._lowest - self.table.lowest)])
        return replace(drawn, answer=yes, margin=None if drawn.margin is None else int(nearest(drawn.margin, yes)))

    def _margins(self: Any, levels: Any, within: Any) -> Any:
        drawn = draw_margins(self, levels, within)
        if within is not None:  # of 0 the coin is fair: either will do
            levels = np.clip(levels, -within, np.maximum(within - 1, 0))
        where = np.clip(levels, self._lowest, self._highest).astype(np.int64) - self._lowest
        return nearest(drawn, self.contrary[where]) if by_chance() else drawn

    def nearest(margins: Any, yes: Any) -> Any:
        """The nearest margins with these answers."""
        return np.where(yes, np.maximum(margins, 0), np.minimum(margins, -1))

    def _toss(self: Any, levels: Any, within: Any, out: Any, buffers: Any) -> None:
        draw_chunk(self, levels, within, out, buffers)
        if within is not None:
            levels = np.clip(levels, -within, np.maximum(within - 1, 0))
        if by_chance():
            where = np.clip(levels, self._lowest, self._highest, out=buffers.ties[: len(levels)])  # a test measures the memory
            where -= self._lowest
            np.take(self.contrary, where, out=out, mode="clip")

    coin.__init__, coin.answer, coin._toss, coin._margins = initialise, answer, _toss, _margins


def less_likely(threshold: int, bits: int) -> bool:
    """The less likely answer if yes has chance threshold/2^bits; the other one if that is practically impossible."""
    yes, no = threshold, (1 << bits) - threshold
    return yes <= no if min(yes, no) > 1 << (bits - CERTAIN) else yes > no
