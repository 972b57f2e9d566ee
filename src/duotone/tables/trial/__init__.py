"""Before it is charged, every question is tried on made-up small tables.

Start with `trial`. `made_up_tables` are of critical values and become sources of the embedded engine; `checks` are what must
hold of their levels, `plain_sql` knows the truth.
"""

from duotone.tables.trial.checks import Asked
from duotone.tables.trial.trial import require_trial

__all__ = ["Asked", "require_trial"]
