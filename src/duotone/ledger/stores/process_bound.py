"""What every store has: a connection of one process, one thread at a time on it, and what happens to it in a fork."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
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


class BaseStore:
    """A store's lock among threads, renewed in a forked child, where nothing that the parent opened is kept."""

    def __init__(self, wait: float) -> None:
        self._wait = wait
        self._lock = threading.RLock()
        _STORES.add(self)

    def __del__(self) -> None:
        self._forget()

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        """Close what this process opened, and drop what another one did."""
        raise NotImplementedError


_STORES: weakref.WeakSet[BaseStore] = weakref.WeakSet()


def _in_child() -> None:
    for store in list(_STORES):
        store._lock = threading.RLock()  # the old one may be held by a thread that is not here
        store._forget()


os.register_at_fork(after_in_child=_in_child)
