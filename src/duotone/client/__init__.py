"""The client of a service: questions about tables that stay with their owner.

Imports nothing of the tables, since there are none here. Start with `connect` (`duotone.connect`), which asks by `terms` over
a `transport` and gives `answers` and `preview`s. `assistant` is the Model Context Protocol, with the `assistant_tools`; these
take `assistant_arguments`, and a connection is a `remote_office` for them.
"""

from importlib.util import find_spec

from duotone.errors import MissingExtra

if find_spec("httpx") is None:
    raise MissingExtra("a connection to a service", "client")
