"""Engines: where tables live. A question is one Ibis query; an engine's own messages are kept back, since they may quote rows.

Start with `open`: from what a person calls a table to a `source`, which is a table and its `engine`: what runs plans, says
what it can do, and is interrupted. Engines are `duckdb` (its tables are `duckdb_tables`, `parquet`, `data_frames`, and
`files`: those of text, `text_files`, are read by `text_lines`, and `file_changes` refuses those whose columns have changed),
`postgres`, `spark` and `any_ibis`; `abilities` refuses what an engine cannot compute. The query: `query` (rows → people →
aggregates; `extremes` of sums), of `person_columns` and `expressions`, where text is also read as a number, a date or a
Boolean; `derived_tables` have one row per person, or computed columns; `results` says what is requested and what comes back.
`public_tables` are joined to the table (`public_rows` reads and hashes them once). `stored_values` is the rule by which a
stored value is read.
"""

from duotone.tables.engines.open import open_source
from duotone.tables.engines.source import Source

__all__ = ["Source", "open_source"]
