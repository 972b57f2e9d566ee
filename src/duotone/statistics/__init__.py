"""Statistics: what noisy counts say about a larger population, of which the people are a sample.

Everything here is post-processing of released counts: it reads no row and costs nothing. Probabilities are rounded up, so
that a test is never wrong more often than it says.

`binomial` has the probabilities of counts and noisy counts, `shares` tests and intervals of one share, `two_shares` tests
whether two groups have the same share, `power` says how often a test rejects.
"""
