# SPDX-License-Identifier: Apache-2.0
"""check_scopes.py NAMES PROGRAM: inlined functions have the namespaces, classes and functions around them in their names, as
the program says of itself (__PRETTY_FUNCTION__)."""
import re
import subprocess
import sys


def scopes(name):
    """Without types and parameters; closures have many names."""
    name = name.replace("{anonymous}", "(anonymous namespace)").replace("(anonymous namespace)", "ANONYMOUS")
    name = re.sub(r"<lambda\(.*?\)>", "CLOSURE::CALL", name)
    name = re.sub(r"\$_\d+|\{lambda(\(.*?\)#\d+)?\}|\(anonymous class\)", "CLOSURE", name).replace("operator()", "CALL")
    return re.sub(r"\(.*?\)", "", name).replace(" const", "").split(" ")[-1]


def main():
    names, program = sys.argv[1:]
    told = subprocess.run(["./" + program], check=True, capture_output=True, text=True).stdout
    truth = [line.split(" ", 1) for line in told.splitlines()]
    out = subprocess.run([names, program], input="\n".join(address for address, _ in truth), check=True, capture_output=True,
                         text=True).stdout
    innermost = {}
    for line in out.splitlines()[:-1]:
        address, name = line.split("\t")[:2]
        innermost.setdefault(address, name)
    wrong = [f"{innermost.get(address)}, not {name}" for address, name in truth
             if scopes(innermost.get(address, "?")) != scopes(name)]
    if wrong or len(truth) < 110:
        sys.exit(f"{program}: {len(truth)} functions: {wrong}")
    print(f"{program}: {len(truth)} inlined functions")


if __name__ == "__main__":
    main()
