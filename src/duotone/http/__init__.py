"""The HTTP service: the table stays with its owner, and questions arrive from a browser, a program or an assistant.

Imports `desk`, `pages` and `mcp`; only `cli` imports it. Start with `app`, which assembles it. `api` makes routes for
programs from the list of operations; `auth` identifies the caller (by `tokens`, `openid` or `sessions`) among the
people whom the office file names now; every request passes through `access`. `health` reports readiness and stops the
service, `serve` opens the socket. `demo` is an office for trying it all.
"""

from importlib.util import find_spec

from duotone.errors import MissingExtra

if any(find_spec(name) is None for name in ("fastapi", "sqlalchemy", "argon2", "jinja2")):
    raise MissingExtra("the service", "service")
