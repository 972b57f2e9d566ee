"""Engines: where tables live. A plan is an Ibis expression; the engine's messages never reach anybody."""

from duotone.engines.source import Source, open_source

__all__ = ["Source", "open_source"]
