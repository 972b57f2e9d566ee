"""The service: the table stays with its owner, and questions come by browser, program or assistant.

Imports `desk`, `tables` and `ledger`; nothing imports it but `cli`. Start with `office` (the file that says everything;
`office_file` reads it, `mistakes` are what is wrong with it, and where) and `desk` (all that people can do); `queue` and
`clock` are when it is answered (`work` how long that takes at most), `answering` how, `approvals` who must say yes before,
`tables` what it is asked about (`same_table` sees that none has two budgets, `public_files` are read once), `accounts` and
`documents` what is said of it, `records` what is kept besides the ledger, `log` what is logged of it.
`app` puts it together: `api` are the routes for programs, `pages` those for browsers; `auth` knows who makes a request
(`tokens`, `openid`, `sessions`; `members` are who the office file names now), `access` is what every request goes through,
`health` whether questions could be answered, and how it ends, `serve` the socket (`check_office` all before it). `made_up`
makes rows about nobody, for trying questions; `demo` an office for trying it all.
"""

from importlib.util import find_spec

from duotone.errors import MissingExtra

if any(find_spec(name) is None for name in ("fastapi", "sqlalchemy", "argon2", "jinja2")):
    raise MissingExtra("the service", "service")
