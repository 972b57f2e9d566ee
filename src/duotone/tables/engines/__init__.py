"""Engines: where tables live. A question is one Ibis query; an engine's own messages are kept back, since they may quote rows.

Start with `open` (from what a person calls a table to a `source`). An engine a file: `duckdb` (Parquet and DuckDB files;
`csv` for lines of text, `data_frames`), `postgres`, `spark`. The query: `query` (rows → people → aggregates), of
`person_columns` and `expressions`; `results` says what is requested and what comes back. `stored_values` is the rule by
which a stored value is read.
"""

from duotone.tables.engines.open import open_source
from duotone.tables.engines.source import Source

__all__ = ["Source", "open_source"]
