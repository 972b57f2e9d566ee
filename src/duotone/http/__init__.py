"""The service over HTTP: the table stays with its owner, and questions come by browser, program or assistant.

Imports `desk`, `pages` and `mcp`; nothing imports it but `cli`. Start with `app`, which puts it together: `api` are the routes
for programs, made of the list of operations; `auth` knows who makes a request (by `tokens`, `openid` or `sessions`), and whom
the office file names now, `access` is what every request goes through, `health` whether questions could be answered, and how it
ends, `serve` the socket. `demo` is an office for trying it all.
"""

from importlib.util import find_spec

from duotone.errors import MissingExtra

if any(find_spec(name) is None for name in ("fastapi", "sqlalchemy", "argon2", "jinja2")):
    raise MissingExtra("the service", "service")
