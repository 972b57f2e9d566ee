"""Engines: where tables live. A question is one Ibis query; an engine's own messages are kept back, since they may quote rows.

Start with `open`: from what a person calls a table to a `source`, which is a table and its `engine`: what runs plans, says
what it can do, and is interrupted. Engines are `duckdb` (whose tables are in databases, `text_files`, `data_frames`,
and `files` of Parquet and Arrow), `postgres`, `spark`, and `any_ibis`: whatever else Ibis is connected to. The plan is made in
`query` (rows → people → aggregates), of `person_columns` and `expressions`; `results` says what is requested and returned.
`derived_tables` are what a question makes of a table; `public_tables` are joined to it. `stored_values` is the rule by which
a stored value is read.
"""

from duotone.tables.engines.open import open_source
from duotone.tables.engines.source import Source

__all__ = ["Source", "open_source"]
