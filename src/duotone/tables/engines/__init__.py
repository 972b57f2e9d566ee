"""Engines: where tables live. A question is one Ibis query; an engine's own messages are hidden, since they may quote
rows.

Start with `open`: from a table's name to a `Source`, which is a table and its `engine`. An engine executes plans, says
what it can do, and can be interrupted. Engines are `duckdb` (with tables in databases, `text_files`, `data_frames`, and
`files` of Parquet and Arrow), `postgres`, `spark`, and `any_ibis`: any other Ibis connection. `query` makes the plan
(rows → people → aggregates), from `person_columns` and `expressions`; `results` defines requests and results.
`derived_tables` are tables that a question makes; `public_tables` are joined to it. `stored_values` has the rules for
reading stored values, and `text_types` those for text with a declared type.
"""

from duotone.tables.engines.engine import Source
from duotone.tables.engines.open import open_source

__all__ = ["Source", "open_source"]
