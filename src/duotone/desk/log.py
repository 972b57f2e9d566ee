"""The log: one JSON document per line, with lines for who decided, relabelled, added or ended something."""

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
"""Further fields of a log line: names and numbers, never a question."""


def audit(what: str, **about: object) -> None:
    """Log an action: who did it (`by`), and to what."""
    AUDIT.info(what, extra={name: value for name, value in about.items() if value is not None})


class Lines(logging.Formatter):
    """Format log records as JSON lines. No question, answer, token or row is ever in them."""

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
    """Log to a file, or to standard error; an earlier file is closed. A file that log rotation moves away is created
    anew."""
    for before in {handler for logger in LOGGERS for handler in logger.handlers if isinstance(handler.formatter, Lines)}:
        before.close()
    handler = logging.StreamHandler(sys.stderr) if path is None else WatchedFileHandler(path, encoding="utf-8")
    handler.setFormatter(Lines())
    for logger in LOGGERS:
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
