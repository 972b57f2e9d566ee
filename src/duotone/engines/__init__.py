"""Engines: where tables live. DuckDB inside the process; every plan is one Ibis expression."""

from duotone.engines.embedded import Source, open_source

__all__ = ["Source", "open_source"]
