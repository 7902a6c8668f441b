#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_symbols.py NAMES FILE [DEBUG]: what NAMES says of addresses in the functions of FILE, against addr2line, llvm-symbolizer
(where it is there) and nm. FILE has lines; DEBUG, where it is given, is what the others are asked about instead.

check_symbols.py --stripped NAMES FILE: of a file without lines, against the table of symbols as nm has it."""
import json
import os
import random
import re
import shutil
import subprocess
import sys

LIMIT = 12000


def output(command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def functions(path, *options):
    """(start, size, name) of the functions that have a size."""
    found = []
    for line in output(["nm", "--defined-only", "-S", *options, path]).splitlines():
        parts = line.split(None, 3)
        if len(parts) == 4 and parts[2] in "TtWwiu" and int(parts[1], 16):
            found.append((int(parts[0], 16), int(parts[1], 16), parts[3].split("@")[0]))
    return found


def addresses_in(found):
    addresses = sorted({a for start, size, _ in found for a in range(start, start + size)})
    random.seed(7)
    return sorted(random.sample(addresses, LIMIT)) if len(addresses) > LIMIT else addresses


def ours(names, path, addresses):
    lines = output([names, path], "".join("%x\n" % a for a in addresses)).splitlines()
    assert lines[-1] == "found whole", lines[-1]
    chains = {}
    for line in lines[:-1]:
        address, function, file, number = line.split("\t")
        chains.setdefault(int(address, 16), []).append((function, file, int(number)))
    return chains


def addr2line(path, addresses):
    lines = output(["addr2line", "-a", "-i", "-f", "-C", "-e", path], "".join("%x\n" % a for a in addresses))
    chains, pending = {}, None
    for line in lines.splitlines():
        if line.startswith("0x") and pending is None:
            chain = chains[int(line, 16)] = []
        elif pending is None:
            pending = line
        else:
            chain.append(pending.replace("??", "?"))
            pending = None
    return chains


def symbolizer(path, addresses):
    tool = shutil.which("llvm-symbolizer") or shutil.which("llvm-symbolizer-14")
    if not tool:
        return None
    command = [tool, "--obj=" + path, "--output-style=JSON", "-i", "-f", "-C"]
    chains = {}
    for line in output(command, "".join("0x%x\n" % a for a in addresses)).splitlines():
        answer = json.loads(line)
        chains[int(answer["Address"], 16)] = [
            (one["FunctionName"] or "?", one["FileName"] or "?", one["Line"]) for one in answer["Symbol"]
        ]
    return chains


def same_name(ours, theirs):
    """They leave a function that only its file sees bare; what is right before it check_scopes.py knows."""
    ours, theirs = ours.replace(" ", ""), theirs.replace(" ", "")
    return ours == theirs or ours.endswith("::" + theirs)


def place(file, line):
    # Without a line some tools print the unit's name, which is not a place.
    return (os.path.normpath(file), line) if line else None


def check_lines(names, path, debug):
    found = functions(debug)
    addresses = addresses_in(found)
    mine, binutils, llvm = ours(names, path, addresses), addr2line(debug, addresses), symbolizer(debug, addresses)
    inlined = bad = 0
    for address in addresses:
        chain, reasons = mine[address], []
        other = llvm[address] if llvm else None
        inlined += len(chain) > 1
        if other and [place(f, n) for _, f, n in chain] != [place(f, n) for _, f, n in other]:
            reasons.append("lines")
        if not other and len(chain) != len(binutils[address]):
            reasons.append("depth")
        for i, (function, _, _) in enumerate(chain):
            said = {one[i] for one in (binutils[address],) if i < len(one)}
            said |= {other[i][0]} if other and i < len(other) else set()
            if not any(same_name(function, one) for one in said):
                reasons.append("%s is none of %s" % (function, said))
        if reasons:
            bad += 1
            if bad <= 3:
                print("0x%x" % address, reasons, chain, other, binutils[address], sep="\n  ")
    print("%s: %d addresses, %d with inlined functions, %d wrong" % (os.path.basename(path), len(addresses), inlined, bad))
    # addr2line takes the name of some lambdas from the function that they are in; LLVM's output shows that.
    assert addresses and (bad == 0 if llvm else bad * 1000 < len(addresses))
    return inlined


def demangled(found):
    text = output(["c++filt"], "\n".join(name for _, _, name in found) + "\n").splitlines()
    return [(start, size, name) for (start, size, _), name in zip(found, text)]


def check_stripped(names, path):
    found = functions(path, "-D")
    addresses = addresses_in(found)
    mine, bad = ours(names, path, addresses), 0
    there = demangled(found)
    by_address = {}
    for start, size, name in there:
        for address in range(start, start + size):
            by_address.setdefault(address, []).append((start, name))
    for address in addresses:
        latest = max(start for start, _ in by_address[address])
        said = {re.sub(r"\s", "", name) for start, name in by_address[address] if start == latest}
        (function, file, line), = mine[address]
        if re.sub(r"\s", "", function) not in said or file != "?" or line:
            bad += 1
            print("0x%x" % address, function, said)
    print("%s: %d addresses, %d wrong" % (os.path.basename(path), len(addresses), bad))
    assert addresses and not bad


if sys.argv[1] == "--stripped":
    check_stripped(*sys.argv[2:4])
else:
    DEEP = check_lines(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else sys.argv[2])
    assert DEEP > 100, DEEP
