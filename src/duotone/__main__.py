"""`duotone` and `python -m duotone`."""

from __future__ import annotations

import sys

from duotone.errors import MissingExtra


def main() -> None:
    """Run the command, or say which extra it needs."""
    try:
        from duotone.cli import app
    except MissingExtra as error:
        print(f"duotone: {error}", file=sys.stderr)
        sys.exit(2)
    app.main()


if __name__ == "__main__":
    main()
