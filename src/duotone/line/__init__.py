"""The optimum on a line, to which every question reduces: how likely the true answer is at each distance to the boundary.

Imports `privacy`. Start with `mechanism` (the optimal mechanism, by recurrence and in closed form); `table` has the same
probabilities as whole numbers over 2^bits, from which answers are released and certificates written (by `rows_json`);
`noise` has the margin that comes with an answer; `groups` has the sizes of private groups, and which have an answer;
`three_way` has answers that may be too close to call; `choice` has the boundary for given costs and the ε for a given error.
"""
