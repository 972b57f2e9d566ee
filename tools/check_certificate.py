"""An independent checker: re-checks a Duotone certificate with the standard library alone.

It shares no code with Duotone. Read it over coffee, then run it:  python tools/check_certificate.py CERTIFICATE.json

Datasets are nodes; neighbours are joined; each has a true colour, blue for yes and red for no. A table has a row for
each, with an integer for each outcome, ONE = 2^bits in all; t is that of the truth. Or it has rows by level, a line of
such datasets: yes is true from level 0 on, and rows are constant beyond both ends. The claim has these parts.

PRIVATE   For neighbours with yes-probabilities p and q, and for either answer:  p <= e^epsilon * q + delta.
OPTIMAL   With the boundary values fixed, no private mechanism tells the truth more often: every other entry is as large
          as privacy allows beside one neighbour, and following these neighbours leads to a fixed value. (Being as large
          as a neighbour allows is not enough: two entries could hold each other.) Rounding costs less than 2^-60.
MARGIN    Of rows by level, more may be released: a level, clipped to -cap .. cap - 1 (if there is a cap), plus noise N that
          is at least -level as often as the row of that level says yes. For every set of values, p <= e^epsilon * q + delta.
          To leave room for that, rows are as large as a slightly smaller budget allows.
GROUPS    Beside answers about groups that are selected privately there is the table that selects them, under the same budget;
          docs/theory.md says why both together cost no more.
WHICH     An answer among k, PRIVATE over all sets of answers and OPTIMAL: the conditions are at `which` below.
HONEST    The ratio in the file is e^epsilon, rounded down in a far digit.

Where privacy has an order instead, neighbours are compared by powers, as `by_powers` says, and there is no MARGIN.

A certificate of close calls makes another claim: answers are yes, no, or too close to call, and whatever is asked, one
question after the other and without end, a fixed number of close calls and any number of other answers are private
together. The conditions are at `close_calls` and `gains` below; docs/theory.md has the proof.
"""

import functools
import itertools
import json
import re
import sys
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction as Q

THREE_WAY = ["yes", "too close to call", "no"]

sys.set_int_max_str_digits(20_000)  # longer numbers are refused


def need(condition, why):
    if not condition:
        raise SystemExit(f"NOT PROVED: {why}")


def named(n):  # quoted, in ASCII, and cut, so that nothing steers the terminal
    return ascii(str(n)[:40])


def parsed(text):
    """Parse JSON strictly: names are unique within an object, and numbers are finite and short."""

    def once(pairs):
        need(len(dict(pairs)) == len(pairs), "a name stands twice in an object")
        return dict(pairs)

    def short(digits, kind=float):
        need(len(digits) <= 40 and kind(digits) - kind(digits) == 0, "a number is not finite, or too long")
        return kind(digits)

    numbers = {"parse_int": lambda digits: short(digits, int), "parse_float": short, "parse_constant": short}
    return json.loads(text, object_pairs_hook=once, **numbers)


def number(text, longest=20_000):
    need(isinstance(text, str) and len(text) <= longest, "numbers are written as text, and not too long")
    return read(text)


@functools.lru_cache(256)  # the same number may be requested repeatedly
def read(text):
    need(re.fullmatch(r"[0-9]+(/[0-9]+|(\.[0-9]+)?(e[+-]?[0-9]{1,4})?)", text), "neither a decimal nor a fraction")
    need("e" not in text or abs(int(text.split("e")[1])) <= 5000, "an exponent is too large")
    return Q(text)


def whole(text, one):
    need(isinstance(text, str) and len(text) < one.bit_length(), "an entry is not a whole number")
    need(re.fullmatch("[0-9]+", text) and int(text) <= one, "an entry is not a whole number up to ONE")
    return int(text)


def listed(items):
    need(type(items) is list, "not a list")
    return items


def exponential(x):
    """A lower bound of e^x, from x and e^x rounded down to k bits after the point; and an upper bound. The rounding is
    prescribed, so every implementation gets the same."""
    k = 320 + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    n = x * 2**k // 1
    extra = k + 3 * n // 2 ** (k + 1) + 400
    term, total, j = 2 ** (k + extra), 2 ** (k + extra), 0
    while n and (j <= 2 * n >> k or term > 1):
        j += 1
        term = (term * n >> k) // j  # rounded down: the sum stays below
        total += term
    rest = 4 * (j + 1) * ((total >> k + extra) + 2) if n else 0  # all roundings, and the rest of the series
    need(total >> extra == total + rest >> extra, "epsilon is too close to the logarithm of a short number")
    below = Q(total >> extra, 2**k)
    return below, below + (4 * below / 2**k if x else 0)


def definition(privacy):
    """The ratio, which is e^epsilon rounded down; a bound on it from above; and delta."""
    need("order" not in privacy, "an order where only a ratio may stand")
    y, d = number(privacy["ratio"]), number(privacy["delta"])
    need(y >= 1 and 0 <= d < 1, "the budget is out of range")
    above = y
    if privacy["epsilon"] is not None:
        epsilon = number(privacy["epsilon"], 3000)
        need(0 <= epsilon <= 8192, "epsilon is out of range")
        below, above = exponential(epsilon)
        need(y <= below, "the ratio is above e^epsilon")
        need(above - y <= (above - 1) / 2**100, "the ratio is far below e^epsilon")
    return y, above, d


def work(c):
    """How many rows are compared, about."""
    if type(c["rows"]) is list:
        return len(c["rows"])
    return len(listed(c["edges"])) + len(c["rows"]) + sum(len(listed(path)) for path in c["lowered"].values())


def by_ratio(y, above, d, one):
    """Whether p and q are private beside each other; the most beside q; a bound from above on it; and on the balanced value."""
    left, right, room = y.denominator * d.denominator, y.numerator * d.denominator, y.denominator * d.numerator * one

    def private(p, q):
        """p <= y * q + d * ONE for both answers and both ways round, without denominators."""
        pairs = (p, q), (q, p), (one - p, one - q), (one - q, one - p)
        return all(left * a <= right * b + room for a, b in pairs)

    def most(q, near):  # noqa: ARG001
        return min(one, (right * q + room) // left, one + (q + d * one - one) / y // 1)

    def ceiling(top, near):  # noqa: ARG001
        return min(one, -(-(above * top + d * one) // 1), one - (one - top - d * one) // above)

    return private, most, ceiling, lambda _: -(-(above + d) * one // (1 + above))


def by_powers(c):
    """The same four by one Renyi order k + 1, a price and d.

    Of the answer that is likelier beside p than beside q, yes if p > q, what is above d counts alone:

        max(0, p - d)^(k+1) / q^k + (1 - p)^(k+1) / (1 - q)^k <= price,

    and so for 1 - q and 1 - p. Out of ONE, and multiplied out, both are inequalities of whole numbers.
    """
    told, one = c["privacy"], 2 ** c["bits"]
    order, price, d = told["order"], number(told["price"]), number(told["delta"])
    need(type(order) is int and 2 <= order <= 256, "no such order")
    need(price >= 1 and 0 <= d < 1, "the budget is out of range")
    (top, bottom), (part, whole), k = price.as_integer_ratio(), d.as_integer_ratio(), order - 1
    size = order * (c["bits"] + sum(map(int.bit_length, (top, bottom, part, whole))))
    need(size <= 2**18 and size**2 * work(c) <= 2**43, "too many rows for numbers this long")
    right = top * whole**order * one

    @functools.lru_cache(2**14)
    def spare(q, p):
        yes, no = q**k, (one - q) ** k
        return right * yes * no - bottom * (max(0, p * whole - part * one) ** order * no + ((one - p) * whole) ** order * yes)

    def private(p, q):
        p, q = max(p, q), min(p, q)
        return spare(q, p) >= 0 and spare(one - p, one - q) >= 0

    def most(q, near):
        """The largest p that is private beside q: Newton's steps from `near` lead next to it, doubling and halving to it."""
        if q == 0 or (one - q) * whole <= part * one:  # one of p - d and 1 - q - d is not above 0
            return one if q else part * one // whole
        for _ in range(64):
            near = max(q, min(near, one - 1))
            here, on = spare(q, near), spare(q, near + 1)
            also, next_to = spare(one - near, one - q), spare(one - near - 1, one - q)
            moved = min(a // (a - b) if a > b else one for a, b in ((here, on), (also, next_to)))
            near += moved
            if -1 <= moved <= 1:
                break
        low = high = max(q, min(near, one - 1))
        apart = 1
        while not private(low, q):
            low, high, apart = max(q, low - apart), low, 2 * apart
        while low == high or private(high, q):
            low, high, apart = high, min(one, high + apart), 2 * apart
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if private(middle, q) else (low, middle)
        return low

    def ceiling(top, near):
        return min(one, most(top, near) + 1) if top else -(-part * one // whole)

    return private, most, ceiling, lambda t: t + 1


def smaller(y, above, d, bits):
    """A budget smaller by a hair, which rows by level keep to."""
    if d * 2 ** (bits // 2) >= 1:
        return y, above, d - Q(1, 2 ** (3 * bits // 4))
    return y - (y - 1) / 2**96, above, Q(0)


def logarithm(top, bottom, places):
    """2^places * ln(top / bottom), rounded down."""
    if top == bottom:
        return 0
    digits = places // 3 + 40  # more than a third as many as bits: far more than needed
    context = Context(prec=digits)
    about = Q(context.ln(Decimal(top))) - Q(context.ln(Decimal(bottom)))  # each below 1000, and right to its last digit
    down, up = ((about + sign * Q(2000, 10**digits)) * 2**places // 1 for sign in (-1, 1))
    need(down == up, "a logarithm is too close to a short number")
    return down


def numbers(row, c):
    """A row: one number for each outcome, in order, with sum ONE."""
    one = 2 ** c["bits"]
    each = [whole(text, one) for text in listed(row["numbers"])]
    need(len(each) == len(c["outcomes"]) and sum(each) == one, "a row does not add up to ONE")
    return each


def by_level(c):
    """The rows of levels -1, -2, -3 ..., where the truth is no, and of 0, 1, 2 ..., where it is yes."""
    lowest = c["lowest"]
    need(type(lowest) is int and 0 < -lowest < len(listed(c["rows"])), "not both levels below 0 and from 0 on")
    rows = [numbers(row, c) for row in c["rows"]]
    return rows[:-lowest][::-1], rows[-lowest:]


def close_calls(c):
    """At distance d from the boundary an answer is wrong with w, else right with clear[d], else too close to call, out
    of ONE.

    With W = ONE - w, the right answer is a clock that does not strike: clear[d] / W = exp(-rate). Both sides agree at
    distance 0, and neighbours' rates differ by a factor of at most y. So an observer learns only what clocks tell, in
    `gains`.
    """
    need(type(c["claims"]) is dict and list(c["claims"]) == ["private"] and c["claims"]["private"] is True, "other claims")
    (y, _, none), (budget_ratio, _, d), f = definition(c["privacy"]), definition(c["budget"]), number(c["wrong"])
    need(none == 0, "a question has a delta of its own")
    calls, nodes = c["close_calls"], c["nodes"]
    need(type(nodes) is dict, "nodes are not by name")
    m, k, low, high = (nodes[name] for name in ("fine", "jump", "low", "high"))
    need(all(type(n) is int for n in (m, k, low, high, calls)), "not whole numbers")
    need(1 <= m <= 2**40 and 1 <= k <= 2**10 and low <= 0 < high >= low + k and calls >= 1, "no such nodes")
    need(high - low < 2**20 and (high - low + 1) * calls <= 2**27, "too many nodes for so many close calls")
    need((m + 1) ** k <= 2**64 * m**k and Q(m + 1, m) ** k >= y, "the nodes do not cover the ratio")
    bits, one, w = c["bits"], 2 ** c["bits"], f * 2 ** c["bits"] // 1
    need(bits <= 2**10 and len(listed(c["rows"])) * bits <= 2**25, "too many entries with numbers this long")
    red, blue = by_level(c)
    need(red == [row[::-1] for row in blue], "the sides do not mirror each other")
    clear = [row[0] for row in blue]
    need(1 <= w == clear[0] <= one - w and all(row[2] == w for row in blue), "the sides do not agree at the boundary")
    need(clear == sorted(clear), "a clear answer is rarer further out")
    rates = [logarithm(one - w, t, bits + 64 + int(y).bit_length()) for t in clear]
    for near, far in zip(rates, rates[1:]):
        need(near == far or y * far >= near + 1, "two clocks differ by more than the ratio")
    gained = itertools.islice(gains(m, k, low, high, budget_ratio), calls)
    need(all(Q(gain, 2**96) <= d for gain in gained), "so many close calls are not shown to fit")
    return f"{calls} close call{'s' * (calls > 1)} and any number of clear answers"


def gains(m, k, low, high, y):
    """The most that P(S) - y * Q(S) can be for a set S of outcomes, where an observer watches a clock whose rate
    differs by at most r = (1 + 1/m)^k between P and Q, chooses repeatedly which of them has the faster one, and stops
    after 1, 2, 3 ... strikes.

    U_h(x) bounds it from likelihood ratio x on with h strikes left, if U_0(x) >= max(0, x - y) and, wherever U_h has a slope,

        U_{h-1}(x) <= U_h(x),    U_{h-1}(r x) <= U_h(x) + (r - 1) x slope,    r U_{h-1}(x / r) <= r U_h(x) - (r - 1) x slope.

    U_h is linear between the nodes x = (1 + 1/m)^i, to (0, 0) below them, and of slope 1 above them. In parts of 2^-96,
    u[i - low] is U(x) / x. If an inequality fails by some amount, relative to x, that is paid once per strike: U_h +
    paid * x meets it.
    """
    one, last = 2**96, high - low
    r = -(-one * (m + 1) ** k // m**k)  # rounded up by less than 1, which counts m + 1 times at most: a slope's size
    more, missing, u, turn = r - one, y * one // 1, [0] * -low, 0
    for i in range(-low, last + 1):
        u.append(max(0, one - missing))
        turn = turn or (i if i > -low and missing <= one else 0)  # the first node from y on
        missing = missing * m // (m + 1)
    need(turn, "the nodes do not reach the budget's ratio")
    near, far, total, paid = more * m, more * (m + 1), r + more * m, 0
    while True:
        beyond = [one - u[-1]]
        for _ in range(k):
            beyond.append(beyond[-1] * m // (m + 1))
        up, down = u[k:] + [one - rest for rest in beyond[1:]], u[:1] * k + u[:-k]  # u at r x and at x / r
        # any numbers would do: these make the second inequality an equation above the turn, and the third one below it
        new = [0] * (last + 1)
        new[turn] = -(-(total * r * up[turn] + near * one * down[turn - 1]) // (total**2 - near * far))
        for i in range(turn + 1, last + 1):
            new[i] = -(-(r * up[i] + near * new[i - 1]) // total)
        for i in range(turn - 1, -1, -1):
            new[i] = -(-(one * down[i] + far * new[i + 1]) // total)
        # the inequalities at each node, with the slopes on both sides of it: between two nodes all is linear
        slopes = [new[0], *((m + 1) * b - m * a for a, b in zip(new, new[1:])), one]
        second = max(r * a - one * b - more * min(s, t) for a, b, s, t in zip(up, new, slopes, slopes[1:]))
        third = max(one * a - r * b + more * max(s, t) for a, b, s, t in zip(down, new, slopes, slopes[1:]))
        fails = [0, -(-second // one), -(-third // one), *(a - b for a, b in zip(u, new))]
        fails += (a - new[0] for a in u[: k + 1])  # the second below all nodes, up to where r x is at the lowest one
        rest = one - new[-1]
        for a in u[: -k - 2 : -1]:  # the third above all nodes, down to where x / r is at the highest one
            fails.append(rest - (one - a))
            rest = -(-rest * (m + 1) // m)
        paid, u = paid + max(fails) + m + 1, new
        yield u[-low] + paid


def which(c):
    """A dataset has one of k answers, and a distance d: the people who must change before any other answer is true, less one.
    Neighbours have the same answer, and rows of distances that differ by at most 1; or other answers, and row 0, in the
    orders of preference of the two answers, whose first places are these answers. Either a row has a number for each
    place, or one for the first, which is the truth, and one for all others together, which are alike.

    In row 0 the others are alike, q each, and q is the least that privacy allows where two answers change places. From a
    row to the next each prefix sum, Pr[one of the first places], is the largest beside that of the row before.
    """
    told = c["claims"]["which"]
    need(type(told) is dict and set(told) == {"answers", "ordered"}, "other claims")
    k, ordered, one = told["answers"], told["ordered"], 2 ** c["bits"]
    need(type(k) is int and 2 <= k <= 2**16 and type(ordered) is bool, "no answers to choose from")
    columns = k if ordered or k == 2 else 2
    need(c["outcomes"] == ([str(n) for n in range(k)] if columns == k else ["0", "others"]), "other outcomes")
    need(type(c["lowest"]) is int and c["lowest"] == 0 and listed(c["rows"]), "no row of distance 0")
    need("selection" not in c, "groups are selected for yes and no alone")
    rows = [numbers(row, c) for row in c["rows"]]
    if "order" in c["privacy"]:
        need(not ordered, "answers in order under one Renyi order")
        private, most, ceiling, _ = by_powers({**c, "rows": rows + [0] * 2 * c["bits"]})
        order, price, d = c["privacy"]["order"], number(c["privacy"]["price"]), number(c["privacy"]["delta"])

        def events(p, q):
            return private(p[0], q[0])

        def swapped(t, q):
            """max(0, t - d)^order / q^(order - 1) + q^order / t^(order - 1) + (k - 2) * q is at most the price, out of ONE."""
            (top, bottom), (part, whole), n = price.as_integer_ratio(), d.as_integer_ratio(), order - 1
            parts = max(0, t * whole - part * one) ** order * t**n, whole**order * q ** (2 * n + 1)
            others = (k - 2) * whole**order * q**order * t**n
            return (sum(parts) + others) * bottom <= top * whole**order * one * q**n * t**n

        least = None
    else:
        y, above, d = definition(c["privacy"])
        a, _, b = small = smaller(y, above, d, c["bits"])
        _, most, _, _ = by_ratio(*small, one)
        _, _, ceiling, _ = by_ratio(y, above, d, one)
        left, right, room = y.denominator * d.denominator, y.numerator * d.denominator, y.denominator * d.numerator * one

        def events(p, q):
            """The worst set: what is more likely than the ratio allows."""
            ways = zip(p, q), zip(q, p)
            return all(sum(max(0, left * t - right * s) for t, s in way) <= room for way in ways)

        def swapped(t, q):
            return t - a * q <= b * one

        least = (1 - d) * one / (above + k - 1) // 1
    t = rows[0][0]
    q = (one - t) // (k - 1)
    need(0 < q <= t == one - (k - 1) * q, "the others are not alike in the first row, or likelier than the truth")
    need(columns == 2 or rows[0][1:] == [q] * (k - 1), "the others are not alike in the first row")
    need(swapped(t, q) and not swapped(t + k - 1, q - 1), "the first truth is not the largest that is private")
    need(all(events(*pair) for pair in zip(rows, rows[1:])), "two distances are not private")
    sums = [list(itertools.accumulate(row[:-1])) for row in rows]
    tops = [one - (k - 1 - n) * (q - 1 if least is None else least) for n in range(columns - 1)]
    for here, near in zip(sums, [*sums[1:], sums[-1]]):
        need(here is sums[-1] or [most(s, t) for s, t in zip(here, near)] == near, "a prefix sum is not the largest")
        need(all(top - s < one >> 60 for top, s in zip(tops, here)), "rounding costs 2^-60 or more")
        last, tops = tops, [ceiling(top, s) for top, s in zip(tops, near)]
    ends = zip(last, tops, sums[-1])  # further rows are like the last one
    need(all((was if top == was else one) - s < one >> 60 for was, top, s in ends), "rounding costs 2^-60 or more")
    if "together" in c:
        together(c["privacy"], c["together"])
    return f"answers, one among {k}, at {len(rows)} distances"


def check(c):
    need(c["certificate"] == "duotone" and type(c["version"]) is int and c["version"] == 1, "not of version 1")
    need(type(c["bits"]) is int and 64 <= c["bits"] <= 2**14, "bits are out of range")
    if c["outcomes"] == THREE_WAY:
        return close_calls(c)
    claims = c["claims"]
    need(claims["private"] is True and claims["optimal"] is True and claims["loss"] == "2^-60", "other claims")
    if "which" in claims:
        return which(c)
    need(c["outcomes"] == ["yes", "no"], "outcomes that are not known")
    one, by_order = 2 ** c["bits"], "order" in c["privacy"]
    y, above, d = map(number, map(c["privacy"].get, ("price", "price", "delta"))) if by_order else definition(c["privacy"])
    private, most, ceiling, best = by_powers(c) if by_order else by_ratio(y, above, d, one)
    left, right, room = y.denominator * d.denominator, y.numerator * d.denominator, y.denominator * d.numerator * one

    def tight(t, q, private=private):
        """t is private beside q, and t + 1 is not."""
        return private(t, q) and (t == one or not private(t + 1, q))

    def margin(yes, cap):
        """Noise, and noise moved by one, over all sets of values: worst is the set of values more likely than y allows.
        Noise without ends is clamped to the cap; then no value may need d."""
        w = [b - a for a, b in zip(yes, yes[1:])]
        need(w == [abs(n) for n in w] and (cap is None or (type(cap) is int and cap >= 1)), "no noise, or no cap")
        if yes[0] == 0 and yes[-1] == one:
            need(cap is None or cap >= max(-c["lowest"], len(yes) + c["lowest"]), "a cap within the table")
            for p, q in ([*w, 0], [0, *w]), ([0, *w], [*w, 0]):
                need(sum(max(0, left * a - right * b) for a, b in zip(p, q)) <= room, "a margin is not private")
            return
        need(cap and len(yes) == -2 * c["lowest"] == 4 * cap - 2, "noise without ends that stops before twice the cap")
        for t in w, yes, [one - t for t in yes]:
            for a, b in zip(t, t[1:]):
                need(left * a <= right * b and left * b <= right * a, "a margin is not private")

    def close(top, t):
        need(top - t < one >> 60, "rounding costs 2^-60 or more")
        return top

    def error(told, t):
        """|told - wrong/ONE| <= wrong/ONE/2^50 + 2^-1070, without denominators."""
        told, wrong = number(told), one - t
        apart = abs(told.numerator * one - wrong * told.denominator)
        need(apart * 2**1070 <= told.denominator * (wrong * 2**1020 + one), "a wrong error")

    def fixed_value(told, t, held=None, private=private):
        """A boundary value is the requested one, rounded down or held lower; returns a bound on the real one."""
        if told == "balanced":
            need(private(t, one - t) and (t == one or not private(t + 1, one - t - 1)), "not the best balanced boundary")
            return close(best(t), t)
        need(0 <= number(told) <= 1, "a boundary value is no probability")
        full = number(told) * one // 1
        need(t == full if held is None else t == held <= full, "a boundary value is not the one asked for")
        return close(-(-number(told) * one // 1), t)

    if type(c["rows"]) is list:
        red, blue = ([row[i] for row in side] for i, side in zip((1, 0), by_level(c)))
        cap, hair = c["cap"], private
        if by_order:
            need("margin" not in claims and cap is None, "other claims")
        else:
            need(claims["margin"] is True, "other claims")
            margin([*(one - t for t in red[::-1]), *blue], cap)
            hair = by_ratio(*smaller(y, above, d, c["bits"]), one)[0]
        if c["boundary"] == "selection":
            need(red[0] == one and tight(blue[0], 0, hair), "the answer about an empty group is not fixed at no")
            tops = ceiling(0, 0), one
        else:
            top = fixed_value(c["boundary"], blue[0], private=hair)
            balanced = c["boundary"] == "balanced"
            need(red[0] == blue[0] if balanced else tight(red[0], one - blue[0], hair), "the red boundary is off")
            tops = top, top if balanced else ceiling(one - blue[0], red[0])
        need(private(blue[0], one - red[0]), "the boundary is not private")
        for row, t in zip(c["rows"], [*red[::-1], *blue]):
            error(row["error"], t)
        for side, top in (blue, tops[0]), (red, tops[1]):
            need(all(tight(*pair, hair) for pair in zip(side[1:], side)), "a level is not as truthful as possible")
            for people, t in enumerate(side, 1):
                last, top = close(top, t), ceiling(top, side[min(people, len(side) - 1)])
                if people == min(cap or len(side), len(side)):  # further levels are answered like this one
                    close(last if top == last else one, t)
        said = f"{len(blue) + len(red)} levels" + ", with their margins," * (not by_order)
        if "together" in c:
            together(c["privacy"], c["together"])
        if "selection" not in c:
            return said
        chosen = c["selection"]
        own = chosen["privacy"] == c["privacy"] and chosen["outcomes"] == c["outcomes"] and "selection" not in chosen
        own = own and chosen["boundary"] == "selection"
        need(own, "groups are not selected under the definition of their answers")
        return f"{said} and {check(chosen)} that select groups"

    nodes, boundary, lowered = c["rows"], c["boundary"], c["lowered"]
    need(type(nodes) is dict and nodes and type(lowered) is dict, "no datasets, or not by name")
    colour = {n: nodes[n]["colour"] for n in nodes}
    need(set(colour.values()) <= {"blue", "red"}, "a colour is blue or red")
    t = {n: numbers(nodes[n], c)[colour[n] == "red"] for n in nodes}
    joined = {(a, b) for edge in listed(c["edges"]) for a, b in (listed(edge), edge[::-1])}
    need(all(a in t and b in t and a != b for a, b in joined), "an edge that joins no two datasets")
    used = [number(v) for v in (boundary.values() if isinstance(boundary, dict) else [boundary]) if v != "balanced"]
    longest = max([sum(map(int.bit_length, v.as_integer_ratio())) for v in used], default=0)
    size = one.bit_length() + longest + sum(n.bit_length() for v in (y, above, d) for n in v.as_integer_ratio())
    need(size <= 2**14 or size * work(c) <= 2**31, "too much work with numbers this long")

    def says(n, answer):
        return t[n] if colour[n] == answer else one - t[n]

    for a, b in joined:
        need(private(says(a, "blue"), says(b, "blue")), f"not private between {named(a)} and {named(b)}")
    fixed = {a for a, b in joined if colour[a] != colour[b] and (boundary == "balanced" or colour[a] == "blue")}
    need(not isinstance(boundary, dict) or set(boundary) == fixed, "boundary values are not those of the blue boundary")
    need(isinstance(boundary, dict) or boundary == "balanced" or 0 <= number(boundary) <= 1, "no such boundary")
    need(set(lowered) <= (fixed if isinstance(boundary, dict) else set()), "a value is lowered that was not given")
    asked = boundary if isinstance(boundary, dict) else dict.fromkeys(fixed, boundary)
    top = {}
    for n in fixed:
        held = None
        if n in lowered:  # too large beside another boundary value, along this path
            path = listed(lowered[n])
            need(path[-1] == n and len(path) > 1 and path[0] not in lowered, f"no path that lowers {named(n)}")
            steps = set(zip(path, path[1:]))
            need(steps <= joined and len(set(path)) == len(path), f"no path to {named(n)}, or it comes to a dataset twice")
            held = number(asked[path[0]]) * one // 1
            for _ in path[1:]:  # as large as is private beside the one before, rounded down
                held = most(held, held)
        top[n] = fixed_value(asked[n], t[n], held)
    for n in nodes:
        error(nodes[n]["error"], t[n])
        chain = []
        while n not in top and t[n] < one:
            w = nodes[n]["from"]
            need((n, w) in joined and len(chain) < len(nodes), f"{named(n)} has no chain to a fixed value")
            need(colour[w] == colour[n] or w in fixed, f"{named(n)} leans on the other colour")
            need(tight(t[n], says(w, colour[n])), f"{named(n)} could be more truthful")
            chain.append(n)
            n = w
        for n in reversed(chain):
            w = nodes[n]["from"]
            beside = top[w] if colour[w] == colour[n] else one - number(asked[w]) * one // 1
            top[n] = close(ceiling(beside, t[n]), t[n])
    return f"{len(nodes)} datasets"


def together(each, whole):
    """Answers under one Rényi order that share a budget: price^n·k^k is at most (delta - n·d)·(k + 1)^(k+1)·ratio^k."""
    n, k, (y, _, delta) = whole["answers"], each["order"] - 1, definition(whole)
    price, d = number(each["price"]), number(each["delta"])
    need(type(n) is int and n >= 1 and n * max(map(int.bit_length, price.as_integer_ratio())) <= 2**22, "too many answers")
    need(price**n * k**k <= (delta - n * d) * (k + 1) ** (k + 1) * y**k, "so many answers are not private together")


def budget(c):
    """What was proved: the exact numbers, or slightly larger ones if they are long."""

    def shown(text):
        if len(text) <= 40:
            return text
        rounded_up = Context(prec=12, rounding=ROUND_CEILING)
        return f"at most {rounded_up.divide(Decimal(Q(text).numerator), Decimal(Q(text).denominator))}"

    def known(privacy):
        if "order" in privacy:
            return f"order {privacy['order']}, price {shown(privacy['price'])}, delta {shown(privacy['delta'])}"
        first = "ratio" if privacy["epsilon"] is None else "epsilon"
        return f"{first} {shown(privacy[first])}, delta {shown(privacy['delta'])}"

    if c["outcomes"] != THREE_WAY:
        shared = f"; {c['together']['answers']} such answers together under {known(c['together'])}" if "together" in c else ""
        return known(c["privacy"]) + shared
    return f"{known(c['budget'])}; each question at {known(c['privacy'])}, wrong with {shown(c['wrong'])}"


if __name__ == "__main__":
    need(len(sys.argv) == 2, "give one certificate file")
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            certificate = parsed(file.read())
        proved = f"{check(certificate)} are private{' and optimal' * ('optimal' in certificate['claims'])}"
        proved += f" under {budget(certificate)}"
    except (OSError, LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError) as error:
        need(False, f"cannot be read as a certificate ({type(error).__name__})")
    print(f"PROVED: {proved}")
