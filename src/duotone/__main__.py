"""`duotone` and `python -m duotone`."""

from __future__ import annotations

import gc
import sys

from duotone.errors import MissingExtra

SELDOM = 100_000
"""New objects between collections. Imports make 240,000 that stay: Python would look through them 340 times.
(To freeze them for the exit, too, would save 0.3 s, and DuckDB's binding would then report leaks after a refusal.)"""


def main() -> None:
    """Run the command, or say which extra it needs."""
    gc.set_threshold(SELDOM)
    try:
        from duotone.cli import app
    except MissingExtra as error:
        print(f"duotone: {error}", file=sys.stderr)
        sys.exit(2)
    app.main()


if __name__ == "__main__":
    main()
