"""A second pair of eyes: re-checks a Duotone certificate with the standard library alone.

It shares no code with Duotone. Read it over coffee, then run it:  python tools/check_certificate.py CERTIFICATE.json

Datasets are nodes; neighbours are joined; each has a true colour, blue for yes and red for no. A table gives the
probability of telling the truth as an integer t out of ONE = 2^bits. The claim has three parts.

PRIVATE   For neighbours with yes-probabilities p and q, and for either answer:  p <= e^epsilon * q + delta.
OPTIMAL   With the boundary values fixed, no private mechanism tells the truth more often: every other entry is as large
          as privacy allows beside one neighbour, and following these neighbours leads to a fixed value. (Being as large
          as a neighbour allows is not enough: two entries could hold each other.) Rounding costs less than 2^-60.
HONEST    The ratio in the file is e^epsilon, rounded down in a far digit.
"""

import json
import sys
from fractions import Fraction as Q

sys.set_int_max_str_digits(0)


def need(condition, why):
    if not condition:
        raise SystemExit(f"NOT PROVED: {why}")


def number(text, longest=20_000):
    need(isinstance(text, str) and len(text) <= longest, "numbers are written as text, and not too long")
    need("e" not in text.lower() or abs(int(text.lower().split("e")[1])) < 5000, "an exponent is too large")
    return Q(text)


def whole(text, one):
    need(isinstance(text, str) and text.isdecimal() and len(text) < one.bit_length(), "an entry is not a whole number")
    need(int(text) <= one, "an entry is above ONE")
    return int(text)


def exponential(x):
    """Rationals below and above e^x, from its series."""
    scale = 2 ** (300 + int(3 * x) + 2 * max(0, x.denominator.bit_length() - x.numerator.bit_length()))
    term, total, j = scale, scale, 0
    while x and (j <= 2 * x or term > 1):
        j += 1
        term = term * x.numerator // (x.denominator * j)  # rounded down: the sum stays below e^x
        total += term
    total = Q(total, scale)
    return total, total + (Q(4 * (j + 1), scale) * (total + 1) if x else 0)  # all roundings, and the rest of the series


def check(c):
    need(c["certificate"] in ("line", "graph") and c["version"] == 1, "not a certificate of version 1")
    claims = c["claims"]
    need(claims["private"] is True and claims["optimal"] is True and claims["loss"] == "2^-60", "other claims")
    need(type(c["bits"]) is int and 64 <= c["bits"] <= 2**14, "bits are out of range")
    one, y, d = 2 ** c["bits"], number(c["privacy"]["ratio"]), number(c["privacy"]["delta"])
    need(y >= 1 and 0 <= d < 1, "the budget is out of range")
    above = y
    if c["privacy"]["epsilon"] is not None:
        epsilon = number(c["privacy"]["epsilon"], 3000)
        need(0 <= epsilon <= 8192, "epsilon is out of range")
        below, above = exponential(epsilon)
        need(y <= below, "the ratio is above e^epsilon")
        need(above - y <= (above - 1) / 2**100, "the ratio is far below e^epsilon")
    left, right, room = y.denominator * d.denominator, y.numerator * d.denominator, y.denominator * d.numerator * one

    def private(p, q):
        """p <= y * q + d * ONE for both answers and both ways round, without denominators."""
        pairs = (p, q), (q, p), (one - p, one - q), (one - q, one - p)
        return all(left * a <= right * b + room for a, b in pairs)

    def tight(t, q):
        """t is private beside q, and t + 1 is not."""
        return private(t, q) and (t == one or not private(t + 1, q))

    def ceiling(top):
        """No real mechanism can have more than this, out of ONE, next to one that has at most `top`."""
        return min(one, -(-(above * top + d * one) // 1), one - (one - top - d * one) // above)

    def close(top, t):
        need(top - t < one >> 60, "rounding costs 2^-60 or more")
        return top

    def error(told, t):
        wrong = Q(one - t, one)
        need(abs(number(told) - wrong) <= wrong / 2**50 + Q(1, 2**1070), "a wrong error")

    def fixed_value(told, t, held=None):
        """A boundary value is the one asked for, rounded down or held lower; gives a bound on the real one."""
        if told == "balanced":
            need(private(t, one - t) and (t == one or not private(t + 1, one - t - 1)), "not the best balanced boundary")
            return close(-(-(above + d) * one // (1 + above)), t)
        need(0 <= number(told) <= 1, "a boundary value is no probability")
        full = number(told) * one // 1
        need(t == full if held is None else t == held <= full, "a boundary value is not the one asked for")
        return close(-(-number(told) * one // 1), t)

    if c["certificate"] == "line":
        blue, red = ([whole(t, one) for t in c[name]] for name in ("blue", "red"))
        if c["boundary"] == "selection":
            need(red[0] == one and tight(blue[0], 0), "the empty group is not pinned at no")
            tops = ceiling(0), one
        else:
            top = fixed_value(c["boundary"], blue[0])
            balanced = c["boundary"] == "balanced"
            need(red[0] == blue[0] if balanced else tight(red[0], one - blue[0]), "the red boundary is off")
            tops = top, top if balanced else ceiling(one - blue[0])
        need(private(blue[0], one - red[0]), "the boundary is not private")
        for name, side, top in ("blue", blue, tops[0]), ("red", red, tops[1]):
            need(len(c["error"][name]) == len(side), "errors do not match the table")
            for here, beyond, told in zip(side, [*side[1:], side[-1]], c["error"][name]):
                need(tight(beyond, here), f"a {name} entry is not private, or not the most truth possible")
                error(told, here)
                last, top = close(top, here), ceiling(top)
            close(last if top == last else one, side[-1])
        return f"{len(blue) + len(red)} levels"

    nodes, boundary = c["datasets"], c["boundary"]
    t = {n: whole(nodes[n]["truth"], one) for n in nodes}
    colour = {n: nodes[n]["colour"] for n in nodes}
    need(set(colour.values()) <= {"blue", "red"}, "a colour is blue or red")
    joined = {(a, b) for edge in c["edges"] for a, b in (edge, edge[::-1])}
    need(all(a in t and b in t and a != b for a, b in joined), "an edge that joins no two datasets")

    def says(n, answer):
        return t[n] if colour[n] == answer else one - t[n]

    for a, b in joined:
        need(private(says(a, "blue"), says(b, "blue")), f"not private between {a} and {b}")
    fixed = {a for a, b in joined if colour[a] != colour[b] and (boundary == "balanced" or colour[a] == "blue")}
    need(not isinstance(boundary, dict) or set(boundary) == fixed, "boundary values are not those of the blue boundary")
    asked = boundary if isinstance(boundary, dict) else dict.fromkeys(fixed, boundary)
    top = {}
    for n in fixed:
        path, held = c["lowered"].get(n), None
        if path is not None:  # too large beside another boundary value, along this path
            need(path[-1] == n and len(path) > 1 and path[0] not in c["lowered"], f"no path that lowers {n}")
            need(all(pair in joined for pair in zip(path, path[1:])), f"a path to {n} that is none")
            held = number(asked[path[0]]) * one // 1
            for _ in path[1:]:  # as large as is private beside the one before, rounded down
                held = min(one, (right * held + room) // left, one + (held + d * one - one) / y // 1)
        top[n] = fixed_value(asked[n], t[n], held)
    for n in nodes:
        error(nodes[n]["error"], t[n])
        chain = []
        while n not in top and t[n] < one:
            w = nodes[n]["from"]
            need((n, w) in joined and len(chain) < len(nodes), f"{n} has no chain to a fixed value")
            need(colour[w] == colour[n] or w in fixed, f"{n} leans on the other colour")
            need(tight(t[n], says(w, colour[n])), f"{n} could be more truthful")
            chain.append(n)
            n = w
        for n in reversed(chain):
            w = nodes[n]["from"]
            top[n] = close(ceiling(top[w] if colour[w] == colour[n] else one - number(asked[w]) * one // 1), t[n])
    return f"{len(nodes)} datasets"


if __name__ == "__main__":
    need(len(sys.argv) == 2, "give one certificate file")
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            found = check(json.load(file))
    except (OSError, LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError) as error:
        need(False, f"cannot be read as a certificate ({type(error).__name__})")
    print(f"PROVED: {found} are private and optimal")
