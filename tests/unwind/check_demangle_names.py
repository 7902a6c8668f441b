#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_demangle_names.py LANGUAGE DEMANGLED PROGRAM: what DEMANGLED makes of a program's names, and what its compiler calls them."""
import re
import subprocess
import sys

language, demangled, program = sys.argv[1:]


def output(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.splitlines()


def bare(name):
    """Without what stands in brackets."""
    shorter = re.sub(r"\([^()]*\)", "", name)
    return name if shorter == name else bare(shorter)


symbols = [line.split()[-1] for line in output("nm", program) if line.split()[-2] in "TtWw"]
names = dict(zip(symbols, output(demangled, text="\n".join(symbols) + "\n"), strict=True))
if language == "rust":
    for said in output(program):
        assert said in names.values() and not said.isascii(), (said, [name for name in names.values() if "$" in name])
elif language == "d":
    said = dict(line.split("\t") for line in output(program))
    assert len(said) == 4, said
    for mangled, name in said.items():
        mine = names[mangled]
        # Its context and its own name are the compiler's; arguments of functions and templates are written in other
        # ways.
        assert bare(mine) == bare(name), (mangled, mine, name)
        assert mine.startswith("app.physics.") and mine.endswith(")"), mine
else:
    # The language has no capitals: the compiler writes all in small letters.
    for name in ("physics_2d::time_step", "physics_2d::energy"):
        assert name in names.values(), (name, names)
assert names["main"] == "main"
print("%s: names are as the compiler has them" % language)
