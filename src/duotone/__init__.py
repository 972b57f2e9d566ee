"""Duotone: the best differentially private answer to a yes/no question, with a proof (a certificate that anyone can re-check).

Every dataset is a node, neighbours are edges, the true answer is a colour (blue = yes, red = no). A private answer
is a randomised colour; Duotone designs the best one.

The names here are what a first program needs: functions that ask, design, release, prove and keep a budget, their
parameters, and errors to catch (the list is `__init__.pyi`; each is imported when first used). Everything else is in a
package: `privacy`, `line`, `graphs`, `release`, `questions`, `ledger`, `tables`, `cli`, each of which imports only from
those before it; beside them stand `plotting`, `accessors` (questions as methods of data frames), `paper` (its figures
and numbers recomputed), `resources` (cores, memory, progress bars, files), `cached` (a property without a lock) and
`errors`. docs/architecture.md has the whole picture.

Three voters choose 1 or 2, and blue is a majority for 1; with e^ε = 2 and δ = 1/10:

>>> from duotone import ApproxDP, design
>>> from duotone.graphs import families
>>> M = design(families.votes(3).graph(), ApproxDP(exp_epsilon=2, delta="1/10"))
>>> M.yes["111"], M.yes["112"], M.check(ApproxDP(exp_epsilon=2, delta="1/10")).holds
(Fraction(9, 10), Fraction(7, 10), True)
"""

from __future__ import annotations

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
