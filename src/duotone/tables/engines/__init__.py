"""Engines: where tables live. A plan is an Ibis expression; the engine's messages never reach anybody."""

from duotone.tables.engines.open import open_source
from duotone.tables.engines.source import Source

__all__ = ["Source", "open_source"]
