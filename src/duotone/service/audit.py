"""Audit lines: who decided, relabelled, added or ended something, as lines of the log of their own."""

from __future__ import annotations

import logging

LOG = logging.getLogger("duotone.audit")
ABOUT = ("by", "whose", "session", "token", "request", "label", "reason")
"""What such a line may say besides what happened and about which dataset: names and numbers, and no question."""


def audit(what: str, **about: object) -> None:
    """Write that something was done: `by` whom, and to what."""
    LOG.info(what, extra={name: value for name, value in about.items() if value is not None})
