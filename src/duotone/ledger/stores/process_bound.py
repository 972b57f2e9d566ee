"""A connection of one process, and what happens to it in a fork."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from duotone.errors import LedgerError


class Pinned:
    """A connection that ends only when the process that opened it says so.

    A forked child inherits the object, but the file descriptors, locks and journal behind it are the parent's: closing it
    there would undo the parent's transaction while it runs. So nothing closes it by accident: an extra reference keeps it
    from being finalised, by garbage collection and at exit alike.
    """

    def __init__(self, connection: Any) -> None:
        self.connection, self._process = connection, os.getpid()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))

    @property
    def ours(self) -> bool:
        """Whether this process opened it."""
        return self._process == os.getpid()

    def use(self) -> Any:
        """The connection, for the process that opened it."""
        if not self.ours:
            raise LedgerError("this transaction of a ledger belongs to the process that was forked from; nothing was released")
        return self.connection

    def close(self) -> None:
        """Close it, in the process that opened it; elsewhere forget it."""
        connection, self.connection = self.connection, None
        if connection is not None and self.ours:
            connection.close()
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(connection))
