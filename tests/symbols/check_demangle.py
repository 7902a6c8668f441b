#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_demangle.py DEMANGLED FILE...: what DEMANGLED makes of the functions of the files, against c++filt and, where it is
there, LLVM's demangler, which is other people's code. Where the two write the same thing in two ways both are brought to one."""
import re
import shutil
import subprocess
import sys

LLVM = next((tool for tool in ("llvm-cxxfilt", "llvm-cxxfilt-14") if shutil.which(tool)), None)
# Lambdas and what has no name are numbered in ways of their own, expressions of types bracketed, and nullptr_t has two names.
STYLES = re.compile(r"lambda|unnamed|decltype|\{default arg|nullptr|'block|\bauto\b|\{parm")


def output(command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.splitlines()


def symbols(path):
    names = set()
    for option in ([], ["-D"]):
        for line in subprocess.run(["nm", *option, path], capture_output=True, text=True).stdout.splitlines():
            parts = line.split()
            name = parts[-1].split("@")[0]
            if len(parts) == 3 and parts[1] in "TtWwi" and name.startswith(("_Z", "_R")):
                names.add(name)
    return sorted(names)


def plain(name):
    # Copies that a compiler makes of a function: `f() [clone .cold]`, `f() (.cold)`; Rust's names have no more data.
    # LLVM's says const twice where a const argument was given for T in `T const`.
    name = name.replace(" const const", " const")
    return re.sub(r"\[clone[^]]*\]|\(\.[^)]*\)|\s", "", name)


demangled, files, total, wrong, compared = sys.argv[1], sys.argv[2:], 0, 0, 0
for path in files:
    names = symbols(path)
    text = "\n".join(names) + "\n"
    ours, gnu = output([demangled], text), output(["c++filt", "-i"], text)
    llvm = output([LLVM], text) if LLVM else [None] * len(names)
    assert len(ours) == len(gnu) == len(llvm) == len(names), path
    for name, mine, one, other in zip(names, ours, gnu, llvm):
        bad = mine != one or (mine == name and one != name)
        if other and other != name and not STYLES.search(mine) and not STYLES.search(other) and "$" not in other:
            compared += 1
            # The older mangling of Rust is C++ to LLVM, a hash behind it; and it forgets constructors of what has an ABI tag.
            bad |= plain(mine) != plain(other) and not re.search(r"::h[0-9a-f]{16}$|\]::~?\(", other)
        if bad and wrong < 5:
            print(name, mine, one, other, sep="\n  ")
        wrong += bad
    mangled = sum(mine == name for name, mine in zip(names, ours))
    print("%s: %d names, %d that none takes apart" % (path, len(names), mangled))
    assert names and mangled * 100 <= len(names), path
    total += len(names)
print("%d names, %d compared with LLVM's, %d wrong" % (total, compared, wrong))
assert total > 1000 and not wrong
