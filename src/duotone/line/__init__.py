"""The optimum on a line, to which every question reduces: how likely the true answer is at each distance to the
boundary.

Imports `privacy`. Start with `mechanism` (the optimal mechanism, by recurrence and in closed form). `table` has the
same probabilities as integers over 2^bits, from which answers are drawn and certificates written (by `rows_json`);
`noise` is the margin that comes with an answer; `groups` has the sizes of private groups, and which get an answer;
`three_way` has answers that may be too close to call, `which` one answer among k; `choice` chooses the boundary for given
costs and the ε for a given error.
"""
