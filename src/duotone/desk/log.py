"""The log: lines of JSON, and those that say who decided, relabelled, added or ended something."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any

AUDIT = logging.getLogger("duotone.audit")
ABOUT = ("by", "whose", "session", "token", "request", "label", "reason")
"""What such a line may say besides what happened and about which dataset: names and numbers, and no question."""


def audit(what: str, **about: object) -> None:
    """Write that something was done: `by` whom, and to what."""
    AUDIT.info(what, extra={name: value for name, value in about.items() if value is not None})


class Lines(logging.Formatter):
    """Log lines as JSON: what happened, and what of that may be kept. No question, answer, token or row is ever in them."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        about = {name: value for name, value in vars(record).items() if name in KEPT}
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "what": record.getMessage(), **about}
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__  # its text might quote rows
        return json.dumps(line)


KEPT = ("person", "route", "method", "status", "seconds", "dataset", "error", "failed", "code", *ABOUT)
NAMES = ("duotone.service", "duotone.access", "duotone.audit", "duotone.assistant", "mcp", "uvicorn.error")
LOGGERS = tuple(map(logging.getLogger, NAMES))


def log_to(path: Path | None) -> None:
    """Write log lines to a file, or to standard error; a file that was written to before is closed. One that is moved away
    meanwhile, as log rotation does, is made anew."""
    for before in {handler for logger in LOGGERS for handler in logger.handlers if isinstance(handler.formatter, Lines)}:
        before.close()
    handler = logging.StreamHandler(sys.stderr) if path is None else WatchedFileHandler(path, encoding="utf-8")
    handler.setFormatter(Lines())
    for logger in LOGGERS:
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
