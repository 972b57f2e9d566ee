"""Duotone: the best differentially private answer to a yes/no question, with a proof.

Every dataset is a node, neighbours are edges, the true answer is a colour (blue = yes, red = no). A private answer
is a randomised colour; Duotone designs the best one.

Here are the names that a first program needs: what is called to ask, to design, to release, to prove and to keep a budget, what
these take, and the errors to catch. Everything else has an address in a package: `privacy`, `line`, `graphs`, `release`,
`questions`, `tables`, `ledger`. Names are imported when first used (the list is `__init__.pyi`).

>>> from duotone import ApproxDP, design
>>> from duotone.graphs import families
>>> M = design(families.votes(3).graph(), ApproxDP(ratio=2, delta="1/10"))
>>> M.yes["111"], M.yes["112"], M.check(ApproxDP(ratio=2, delta="1/10")).holds
(Fraction(9, 10), Fraction(7, 10), True)
"""

from __future__ import annotations

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
