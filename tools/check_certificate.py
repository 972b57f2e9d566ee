"""A second pair of eyes: re-checks a Duotone certificate with the standard library alone.

It shares no code with Duotone. Read it over coffee, then run it:  python tools/check_certificate.py CERTIFICATE.json

Datasets are nodes; neighbours are joined; each has a true colour, blue for yes and red for no. A table gives the
probability of telling the truth as an integer t out of ONE = 2^bits. The claim has three parts.

PRIVATE   For neighbours with yes-probabilities p and q, and for either answer:  p <= e^epsilon * q + delta.
OPTIMAL   With the boundary values fixed, no private mechanism tells the truth more often (in whole numbers out of ONE):
          every other entry equals the bound that privacy sets it from one neighbour, and following these neighbours
          leads to a fixed value. (An entry that equals a bound is not enough: two entries could hold each other.)
HONEST    The ratio in the file is e^epsilon, rounded down in a far digit.
"""

import json
import sys
from fractions import Fraction as Q

sys.set_int_max_str_digits(0)


def fail(why):
    raise SystemExit(f"NOT PROVED: {why}")


def need(condition, why):
    if not condition:
        fail(why)


def number(text):
    need(isinstance(text, str) and len(text) < 100_000, "numbers are written as text")
    need("e" not in text.lower() or abs(int(text.lower().split("e")[1])) < 5000, "an exponent is too large")
    return Q(text)


def whole(text, one):
    need(isinstance(text, str) and text.isdigit() and 0 <= int(text) <= one, "an entry is not a whole number up to ONE")
    return int(text)


def check_ratio(epsilon, ratio):
    """ratio <= e^epsilon, and no smaller than that by more than 2^-100 of e^epsilon - 1: from the exponential series."""
    x = number(epsilon)
    need(0 <= x <= 8192, "epsilon is out of range")
    need(x or ratio == 1, "e^0 is 1")
    scale = 2 ** (300 + int(3 * x) + 2 * max(0, x.denominator.bit_length() - x.numerator.bit_length()))
    term, total, j = scale, scale, 0
    while x and (j <= 2 * x or term > 1):
        j += 1
        term = term * x.numerator // (x.denominator * j)  # rounded down: the sum stays below e^x
        total += term
    total = Q(total, scale)
    error = Q(4 * (j + 1), scale) * (total + 1)  # every rounding, carried along, and the rest of the series
    need(ratio <= total, "the ratio is above e^epsilon")
    need(x == 0 or total + error - ratio <= (total + error - 1) / 2**100, "the ratio is far below e^epsilon")


def check(c):
    need(c["certificate"] in ("line", "graph") and c["version"] == 1, "not a certificate of version 1")
    need(c["claims"]["private"] is True and c["claims"]["optimal"] is True, "the claims are not made")
    need(type(c["bits"]) is int and 64 <= c["bits"] <= 2**14, "bits are out of range")
    one, y, d = 2 ** c["bits"], number(c["privacy"]["ratio"]), number(c["privacy"]["delta"])
    need(y >= 1 and 0 <= d < 1, "the budget is out of range")
    if c["privacy"]["epsilon"] is not None:
        check_ratio(c["privacy"]["epsilon"], y)

    left, right = y.denominator * d.denominator, y.numerator * d.denominator
    room = y.denominator * d.numerator * one

    def private(p, q):
        """p <= y * q + d * ONE for both answers and both ways round, without denominators."""
        pairs = (p, q), (q, p), (one - p, one - q), (one - q, one - p)
        return all(left * a <= right * b + room for a, b in pairs)

    def most(q):
        """The largest p that is private beside q: found from the inequalities by bisection, not from a formula."""
        low, high = q, one
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if private(middle, q) else (low, middle - 1)
        return low

    def fixed_value(told, t, exact):
        if told == "balanced":
            need(private(t, one - t) and (t == one or not private(t + 1, one - t - 1)), "not the best balanced boundary")
        else:
            short = number(told) * one - t
            need(0 <= short < (1 if exact else one >> 60), "a boundary value is not the one asked for")

    if c["certificate"] == "line":
        sides = {name: [whole(t, one) for t in c[name]] for name in ("blue", "red")}
        blue, red = sides["blue"], sides["red"]
        need(blue and red, "an empty table")
        if c["boundary"] == "selection":
            need(red[0] == one and blue[0] == most(0), "the empty group is not pinned at no")
        else:
            fixed_value(c["boundary"], blue[0], True)
            need(red[0] == (blue[0] if c["boundary"] == "balanced" else most(one - blue[0])), "the red boundary is off")
        need(private(blue[0], one - red[0]), "the boundary is not private")
        for name, side in sides.items():
            for here, beyond in zip(side, [*side[1:], side[-1]]):
                need(private(here, beyond), f"{name}: not private")
                need(beyond == most(here), f"{name}: not the most truth possible")
            need(len(c["error"][name]) == len(side), f"{name}: errors do not match the table")
            for told, t in zip(c["error"][name], side):
                error = Q(one - t, one)
                need(abs(number(told) - error) <= error / 2**50 + Q(1, 2**1070), f"{name}: a wrong error")
        return f"{len(blue) + len(red)} levels"

    nodes = c["datasets"]
    t = {n: whole(nodes[n]["truth"], one) for n in nodes}
    colour = {n: nodes[n]["colour"] for n in nodes}
    need(set(colour.values()) <= {"blue", "red"}, "a colour is blue or red")
    joined = {(a, b) for edge in c["edges"] for a, b in (edge, edge[::-1])}
    need(all(a in t and b in t and a != b for a, b in joined), "an edge that joins no two datasets")

    def says(n, answer):
        return t[n] if colour[n] == answer else one - t[n]

    cut = {a for a, b in joined if colour[a] != colour[b]}
    boundary = c["boundary"]
    fixed = {n for n in cut if boundary == "balanced" or colour[n] == "blue"}
    need(not isinstance(boundary, dict) or set(boundary) == fixed, "boundary values are not those of the blue boundary")
    need(boundary != "balanced" or len({t[n] for n in fixed}) <= 1, "not a balanced boundary")
    for n in fixed:
        fixed_value(boundary[n] if isinstance(boundary, dict) else boundary, t[n], not isinstance(boundary, dict))
    for a, b in joined:
        need(private(says(a, "blue"), says(b, "blue")), f"not private between {a} and {b}")
    for n in nodes:
        seen = set()
        while n not in fixed and t[n] < one:
            w = nodes[n]["from"]
            need((n, w) in joined and n not in seen, f"{n} has no chain to a fixed value")
            need(colour[w] == colour[n] or w in fixed, f"{n} leans on the other colour")
            need(t[n] == most(says(w, colour[n])), f"{n} could be more truthful")
            seen.add(n)
            n = w
    return f"{len(nodes)} datasets"


if __name__ == "__main__":
    need(len(sys.argv) == 2, "give one certificate file")
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            found = check(json.load(file))
    except (OSError, KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError) as error:
        fail(f"cannot be read as a certificate ({type(error).__name__})")
    print(f"PROVED: {found} are private and optimal")
