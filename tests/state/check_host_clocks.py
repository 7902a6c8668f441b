# SPDX-License-Identifier: Apache-2.0
"""check_host_clocks.py PROGRAM: random conditions of the clocks of several machines. `PROGRAM solve` must find the same offsets as this,
which tries every pair of limits of a line in exact fractions and every path between clocks, and the same contradictions."""
import itertools
import random
import subprocess
import sys
from fractions import Fraction

NONE_LOW, NONE_HIGH = -2**63, 2**63 - 1
RATE = Fraction(1, 1000)
SECOND = 10**9


def make(chance, consistent):
    """Clocks with constant rates, and conditions that hold for them, or (not consistent) one that does not."""
    count = chance.choice((2, 3, 3, 4))
    offsets = [chance.randrange(10**12) for _ in range(count)]
    rates = [Fraction(chance.randrange(-100, 101), 10**6) for _ in range(count)]
    length = chance.randrange(1, 15) * SECOND
    conditions = []
    pairs = [pair for pair in itertools.combinations(range(count), 2) if chance.random() < 0.8] or [(0, 1)]
    for a, b in pairs:
        for _ in range(chance.randrange(2, 7)):
            moment = chance.randrange(length)
            at = [int(offsets[i] + moment * (1 + rates[i])) for i in (a, b)]
            offset = at[1] - at[0]
            below, above = chance.randrange(2, 20000), chance.randrange(2, 20000)
            low, high = chance.choice(((offset - below, offset + above),) * 3 + ((NONE_LOW, offset + above), (offset - below, NONE_HIGH)))
            conditions.append((*((a, b, 1, at[0], at[1], low, high) if chance.random() < 0.5 else
                                 (b, a, 2, at[1], at[0], -high if high != NONE_HIGH else NONE_LOW, -low if low != NONE_LOW else NONE_HIGH)),))
    if not consistent:
        a, b = pairs[0]
        at = [offsets[a] + length // 2, offsets[b] + length // 2]
        low = at[1] - at[0] + 10**8
        conditions.append((a, b, 4, at[0], at[1], low, low + 10000))
    return count, offsets[0], int(offsets[0] + length * (1 + rates[0])), conditions


def oriented(conditions, count):
    hops = [0] + [count + 1] * (count - 1)
    for _ in range(count):
        for a, b, *_ in conditions:
            hops[b] = min(hops[b], hops[a] + 1)
            hops[a] = min(hops[a], hops[b] + 1)
    result = {}
    for a, b, _, at_a, at_b, low, high in conditions:
        if (hops[a], a) > (hops[b], b):
            a, b, at_a = b, a, at_b
            low, high = -high if high != NONE_HIGH else NONE_LOW, -low if low != NONE_LOW else NONE_HIGH
        result.setdefault((hops[a], a, b), []).append((at_a, low, high))
    return result


def contradiction(gates):
    return max((low - high - RATE * abs(t - u) for t, low, _ in gates for u, _, high in gates
                if low != NONE_LOW and high != NONE_HIGH), default=Fraction(-1))


def corners(gates, origin):
    """Every crossing of two limits that satisfies all limits: offset at origin, rate."""
    limits = [(t - origin, bound) for t, low, high in gates for bound in (low, high) if bound not in (NONE_LOW, NONE_HIGH)]
    lines = []
    for (x, p), (y, q) in itertools.combinations(limits, 2):
        if x != y:
            rate = Fraction(q - p, y - x)
            lines.append((p - rate * x, rate))
    lines += [(p - rate * x, rate) for x, p in limits for rate in (RATE, -RATE)]
    return [(offset, rate) for offset, rate in lines if abs(rate) <= RATE and
            all((low == NONE_LOW or offset + rate * (t - origin) >= low) and (high == NONE_HIGH or offset + rate * (t - origin) <= high)
                for t, low, high in gates)]


def solve(count, begin, end, conditions, slack):
    """The offsets at five moments if every bound is loosened by slack, and the contradictions."""
    pairs, found = {}, []
    for (_, a, b), gates in sorted(oriented(conditions, count).items()):
        by = contradiction(gates)
        if by > 2:
            found.append((a, b, by))
        elif any(low != NONE_LOW for _, low, _ in gates) and any(high != NONE_HIGH for _, _, high in gates):
            pairs[a, b] = [(at, low - slack if low != NONE_LOW else low, high + slack if high != NONE_HIGH else high) for at, low, high in gates]
    lines = {pair: corners(gates, gates[0][0]) for pair, gates in pairs.items()}
    if not all(lines.values()):
        return None, found  # no constant rates: what is done then is not computed here
    moments = []
    for moment in (begin + (end - begin) // 4 * i for i in range(5)):
        first = {0: (Fraction(0), Fraction(0))}
        ranges = {}
        for (a, b), gates in pairs.items():
            if a not in first:
                continue
            values = [offset + rate * (moment + at - gates[0][0]) for offset, rate in lines[a, b] for at in first[a]]
            ranges[a, b] = min(values), max(values)
            first.setdefault(b, (first[a][0] + min(values), first[a][1] + max(values)))
        # Every path: from each clock to each, over all others.
        longest = {(i, j): (0 if i == j else None) for i in range(count) for j in range(count)}
        for (a, b), (low, high) in ranges.items():
            longest[a, b], longest[b, a] = high, -low
        for k, i, j in itertools.product(range(count), repeat=3):
            if longest[i, k] is not None and longest[k, j] is not None:
                way = longest[i, k] + longest[k, j]
                if longest[i, j] is None or way < longest[i, j]:
                    longest[i, j] = way
        moments.append([None if longest[0, i] is None else (-longest[i, 0], longest[0, i]) for i in range(count)])
    return moments, found


def main():
    chance = random.Random(20)
    compared = contradictions = 0
    for trial in range(200):
        count, begin, end, conditions = make(chance, trial % 4)
        text = "%d %d %d\n" % (count, begin, end) + "".join("%d %d %d %d %d %d %d\n" % one for one in conditions)
        out = subprocess.run([sys.argv[1], "solve"], input=text.encode(), stdout=subprocess.PIPE, check=True, timeout=60).stdout.decode().splitlines()
        answer = [tuple(map(int, line.split())) for line in out if not line.startswith("c")]
        said = sorted(tuple(map(int, line.split()[2:])) for line in out if line.startswith("c") and line.split()[1] == "2")
        moments, found = solve(count, begin, end, conditions, 0)
        loose, _ = solve(count, begin, end, conditions, 1)
        contradictions += len(found)
        assert len(said) == len(found) and all(one[:2] == other[:2] and abs(one[2] - other[2]) < 2 for one, other in zip(said, sorted(found))), (trial, said, found)
        assert bool(found) == (trial % 4 == 0), (trial, found)
        for number, wanted in enumerate(moments or []):
            for clock, interval in enumerate(wanted):
                known, low, high = answer[number * count + clock]
                assert known == (interval is not None), (trial, number, clock, known, interval)
                if known:
                    # The program loosens every bound by 1 ns and rounds outward.
                    widest = loose[number][clock]
                    assert widest[0] - 4 <= low <= interval[0] and interval[1] <= high <= widest[1] + 4, (trial, number, clock, low, high, [float(x) for x in (*interval, *widest)])
                    compared += clock > 0
    print("%d offsets and %d contradictions are the same" % (compared, contradictions))
    assert compared > 500 and contradictions == 50


main()
