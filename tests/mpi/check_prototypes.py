# SPDX-License-Identifier: Apache-2.0
"""The parameters of the functions in agents/mpi/calls.h against those of an MPI's header, both preprocessed.

    check_prototypes.py HEADER TABLE MPI
"""
import re
import sys

header, table, mpi = open(sys.argv[1], encoding="utf-8").read(), open(sys.argv[2], encoding="utf-8").read(), sys.argv[3]


def kind(parameter):
    """How a parameter is passed: int, a word of 64 bits, a pointer, or a handle, which is one of the two."""
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)\)*", "", parameter).strip()
    if text == "void":
        return None
    if "*" in text or "[" in text:
        return "pointer"
    words = [w for w in re.findall(r"\w+", text) if w != "const"]
    name = words[0]
    if name in ("mpi_handle", "int", "..."):
        return "handle" if name == "mpi_handle" else "int"
    if name in ("MPI_Aint", "MPI_Count", "MPI_Offset", "int64_t"):
        return "word"
    if name.startswith("MPI_"):
        return "handle"
    raise SystemExit(f"FAILED: unknown type in '{parameter}'")


def split(text):
    """At the commas outside of parentheses."""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += c
    return parts + [part]


def kinds(text):
    return [k for k in map(kind, split(text)) if k]


def closing(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    raise SystemExit("FAILED: no closing parenthesis")


prototypes = {}
for found in re.finditer(r"\bint\s+(MPI_\w+)\s*\(", header):
    end = closing(header, found.end() - 1)
    prototypes.setdefault(found[1], header[found.end():end])
rows = 0
missing = []
for found in re.finditer(r"row\s+(MPI_\w+)\s*\(", table):
    end = closing(table, found.end() - 1)
    mine = table[found.end():end]
    args = table[table.index("(", end) + 1:closing(table, table.index("(", end))]
    if found[1] not in prototypes:
        missing.append(found[1])
        continue
    rows += 1
    if kinds(mine) != kinds(prototypes[found[1]]):
        raise SystemExit(f"FAILED: {mpi}: {found[1]}({mine})\n  header: ({prototypes[found[1]]})\n  {kinds(mine)}\n  {kinds(prototypes[found[1]])}")
    # The arguments are the parameters, in their order.
    names = [re.findall(r"\w+", p)[-1] for p in split(mine) if p.strip() not in ("", "void")]
    passed = [re.sub(r"STATUS\((\w+)\)", r"\1", a).strip() for a in split(args) if a.strip()]
    if names != passed:
        raise SystemExit(f"FAILED: {found[1]} passes on {passed} of {names}")
plain = [name for name in missing if not name.endswith("_c")]
if plain or rows < 100:
    raise SystemExit(f"FAILED: {mpi}: {rows} functions, not in its header: {plain}")
print(f"{mpi}: {rows} functions as in its header, {len(missing)} not in this version")
