"""Before it is charged, every question is tried on made-up small tables.

Start with `trial`. `made_up_tables` have critical values and become sources of the embedded engine; `checks` are the
conditions on levels, `plain_sql` computes the truth, and `plain_groups` that of how many groups.
"""

from duotone.tables.trial.checks import Asked
from duotone.tables.trial.trial import require_trial

__all__ = ["Asked", "require_trial"]
