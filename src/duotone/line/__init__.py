"""The optimum on a line, to which every question reduces: how likely the true answer is at each distance to the boundary.

Imports `privacy` and `errors`. Start with `mechanism` (the recurrence and its closed form); `table` has the same in whole
numbers over 2^bits, from which answers are released.
"""
