"""The client of a service: questions about tables that stay with their owner.

Imports no engine, since there are no tables here. Start with `connect` (`duotone.connect`), which sends requests over a
`transport` and returns `answers` and previews.
"""

from importlib.util import find_spec

from duotone.errors import MissingExtra

if find_spec("httpx2") is None or find_spec("pydantic") is None:
    raise MissingExtra("a connection to a service", "client")
