"""Engines: where tables live. A question is one Ibis query; an engine's own messages are kept back, since they may quote rows.

Start with `open` (from what a person calls a table to a `source`; `vouching` is the rule for what is no stored table). An
engine a file: `duckdb` (with `locked_duckdb`, its connection, `duckdb_views`, and `files`: `text_files` by `csv` and
`json_lines` for `text_lines`, `parquet`, and `data_frames`; `file_layout` and `date_formats` are what is declared of a file,
`file_changes` refuses one whose columns have changed), `postgres`, `spark`; `abilities` says what an engine cannot do. The
query: `query` (rows → people → aggregates; `far_ends` of sums), of `person_columns` and `expressions`, where text is also read
as a number, a date or a Boolean; `computed_keys` groups by computed values, `people_table` has one row per person; `results`
says what is requested and what comes back (`keys` of groups, and people in their `places`); `brackets` writes the text of the
query. `public_tables` are joined to the table (`public_rows` reads and hashes them once), and private ones looked at
`together`. `stored_values` is the rule by which a stored value is read, `shortened` how much of a text.
"""

from duotone.tables.engines.open import open_source
from duotone.tables.engines.source import Source

__all__ = ["Source", "open_source"]
