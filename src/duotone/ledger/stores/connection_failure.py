"""Why a Postgres database could not be opened, in words of our own: what the server says may hold what the URL holds."""

from __future__ import annotations

import re

_REASONS = (
    (r"no password supplied|authentication failed", "the server refuses the password, or none was given"),
    (r'role ".*" does not exist', "the server has no such user"),
    (r'database ".*" does not exist', "the server has no such database"),
    (r"pg_hba\.conf|not permitted to log in|permission denied for database", "the server does not let this user in from here"),
    (r"certificate|SSL", "no TLS connection of the kind that is asked for can be made"),
    (r"could not translate host name|failed to resolve host|Name or service not known", "there is no host of this name"),
    (r"timeout expired|timed out|connection timeout", "no server answered in time"),
    (r"Connection refused|No such file or directory|unreachable|No route to host", "no server answers there"),
    (r"too many (clients|connections)|connection slots", "the server has no connection left"),
    (r"starting up|shutting down", "the server is starting or stopping"),
    (r"invalid (connection option|integer|port|URI|percent)|missing \"=\"", "its URL has parts that Postgres does not know"),
)
"""The first that fits counts. The words are libpq's and the server's in English; in others there is no reason."""


def reason(error: Exception) -> str | None:
    """Why a connection failed, if its message tells.

    Guarantee: one of a few fixed sentences; nothing of the message is in it.

    >>> reason(OSError('connection to server at "h", port 5432 failed: FATAL:  password authentication failed for user "u"'))
    'the server refuses the password, or none was given'
    """
    return next((why for words, why in _REASONS if re.search(words, str(error))), None)
