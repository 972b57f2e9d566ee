"""The service: the table stays with its owner, and questions come by browser, program or assistant.

Imports `tables` and `ledger`; nothing imports it but `cli`. Start with `office` (the file that says everything; `office_file`
reads it, and says what is wrong with it, in `plain_words`) and `desk` (all that people
can do); `people` are who may do what, `terms` what they ask, `queue` and `clock` when it is answered (`work` how
long that takes at most), `answering` how, `approvals` who must say yes before,
`tables` what it is asked about (`same_table` sees that none has two budgets), `accounts`,
`documents` what is said of it, `records` what is kept besides the ledger, `refused` why a request is not served.
`app` puts it together: `api` are the routes for programs, `pages` those for browsers, `assistant` the tools at /mcp; `auth`
knows who makes a request (`tokens`, `openid`, `sessions`; `members` are who the office file names now), `access` is what every
request goes through, `audit` what the log says of decisions, `ready` whether questions could be answered, `serve` the socket
(`check_office` all before it), `punctual` its connections, `stopping` its end. `processor_time` is what previews may take,
`public_files` are read once. `made_up` makes rows about nobody, for trying questions; `demo` an office for trying
it all.
"""

from importlib.util import find_spec

from duotone.errors import MissingExtra

if any(find_spec(name) is None for name in ("fastapi", "sqlalchemy", "argon2", "jinja2")):
    raise MissingExtra("the service", "service")
