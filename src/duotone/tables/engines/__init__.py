"""Engines: where tables live. A question is one Ibis query; an engine's own messages are kept back, since they may quote rows.

Start with `open` (from what a person calls a table to a `source`). An engine a file: `duckdb` (with `duckdb_tables`, and
`files`: `text_files` by `text_lines`, `parquet`, and `data_frames`; `file_changes` refuses one whose columns have changed),
`postgres`, `spark`; `abilities` says what an engine cannot do. The query: `query` (rows → people → aggregates; `extremes` of
sums), of `person_columns` and `expressions`, where text is also read as a number, a date or a Boolean; `derived_tables` have
one row per person, or computed columns; `results` says what is requested and what comes back; `brackets` writes the text of
the query. `public_tables` are joined to the table (`public_rows` reads and hashes them once). `stored_values` is the rule by
which a stored value is read.
"""

from duotone.tables.engines.open import open_source
from duotone.tables.engines.source import Source

__all__ = ["Source", "open_source"]
