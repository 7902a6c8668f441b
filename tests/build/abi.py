#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what a program that was built against the headers relies on, a line each: functions with the types of their parameters, the
size and members of structs, the values of enumerations.

    abi.py HEADERS CC

A C program is generated from the preprocessed headers and tells what the compiler made of them. Of a struct that begins
with its size the size itself is left out: it may grow (include/tracesmith/tracesmith.h). So is what is one past the last
value of an enumeration.
"""
import os
import re
import subprocess
import sys
import tempfile


def declarations(headers, cc):
    names = sorted(os.listdir(os.path.join(headers, "tracesmith")))
    ours = "".join("#include <tracesmith/%s>\n" % name for name in names if name.endswith(".h"))
    out = subprocess.run([cc, "-std=c11", "-E", "-I" + headers, "-x", "c", "-"], input=ours, text=True, check=True,
                         stdout=subprocess.PIPE).stdout
    kept, inside = [], False
    for line in out.splitlines():
        place = re.match(r'# \d+ "([^"]*)"', line)
        if place:
            inside = "/tracesmith/" in place.group(1) and place.group(1).startswith(headers)
        elif inside and not line.startswith("#"):
            kept.append(line)
    return " ".join(" ".join(kept).split())


def close_of(text, at):
    """Where the brace that opens at `at` is closed."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError("a brace is not closed")


def members(body):
    """The names of a struct's members; those of a union or struct within it by that one's name, of a bit-field "name : width"."""
    body = re.sub(r"\{[^{}]*\}", " ", body)
    for part in body.split(";"):
        part = re.sub(r"\[[^\]]*\]", "", part).strip()
        function = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", part)
        if function:
            yield function.group(1)
        elif part:
            for declared in part.split(","):
                yield re.search(r"(\w+( : \d+)?)\s*$", declared).group(1)


def arguments(text):
    """What is between the commas of a list, without those in parentheses."""
    parts, depth = [""], 0
    for sign in text:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def without_name(parameter):
    """The type of a parameter, whose name may change."""
    pointer = re.match(r"(.*\(\*)\s*\w*\s*\)\s*\((.*)\)$", parameter)
    if pointer:
        return pointer.group(1) + ")(" + ", ".join(map(without_name, arguments(pointer.group(2)))) + ")"
    named = re.match(r"(.*[\w*] ?)\b\w+((?:\[[^\]]*\])*)$", parameter)
    return (named.group(1).strip() + named.group(2)) if named and " " in parameter else parameter


def prototypes(text):
    """{function: its type}."""
    found = {}
    for result, name, parameters in re.findall(r'visibility\("default"\)\)\)([^(;{]*?)\b(tsmith_\w+) ?\(([^;{]*)\)\s*;', text):
        parameters = re.sub(r"\)\s*__attribute__.*", "", parameters)
        found[name] = "%s(%s)" % (result.strip(), ", ".join(map(without_name, arguments(parameters))))
    return found


def main():
    headers, cc = sys.argv[1], sys.argv[2]
    text = declarations(headers, cc)
    lines = []
    for match in re.finditer(r"\btypedef struct (tsmith_\w+) \{", text):
        name, begin = match.group(1), match.end() - 1
        names = list(members(text[begin + 1:close_of(text, begin)]))
        if names[0] != "size":
            lines.append('printf("struct %s size %%zu\\n", sizeof(%s));' % (name, name))
        for member in names:
            if " : " in member:
                member, width = member.split(" : ")
                lines.append('{ %s one; memset(&one, 0, sizeof one); one.%s = 1; printf("member %s.%s bit %%zu width %s\\n", '
                             'first_bit(&one, sizeof one)); }' % (name, member, name, member, width))
                continue
            lines.append('printf("member %s.%s offset %%zu size %%zu\\n", offsetof(%s, %s), sizeof(((%s *)0)->%s));'
                         % (name, member, name, member, name, member))
    for match in re.finditer(r"\benum (?:tsmith_\w+ )?\{", text):
        begin = match.end() - 1
        for part in text[begin + 1:close_of(text, begin)].split(","):
            value = re.match(r"\s*(TSMITH_\w+)", part)
            if value and not value.group(1).endswith("_LIMIT"):
                lines.append('printf("value %s %%lld\\n", (long long)%s);' % (value.group(1), value.group(1)))
    functions = sorted(set(re.findall(r'visibility\("default"\)\)\)[^(;{]*?\b(tsmith_\w+) ?\(', text)))
    if not lines or not functions:
        sys.exit("the headers declare nothing that this script finds")
    with tempfile.TemporaryDirectory() as work:
        source, program = os.path.join(work, "dump.c"), os.path.join(work, "dump")
        with open(source, "w") as out:
            out.write("#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\n#include <tracesmith/tracesmith.h>\n")
            for name in sorted(os.listdir(os.path.join(headers, "tracesmith"))):
                out.write("#include <tracesmith/%s>\n" % name)
            out.write("static size_t first_bit(const void *one, size_t size) { size_t at = 0; const unsigned char *bytes = one;\n"
                      "while (at < 8 * size && !(bytes[at / 8] >> at % 8 & 1)) at++;\nreturn at; }\n")
            out.write("int main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
        subprocess.run([cc, "-std=c11", "-I" + headers, source, "-o", program], check=True)
        told = subprocess.run([program], check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
    typed = {"type %s %s" % (name, of) for name, of in prototypes(text).items()}
    print("\n".join(sorted(set(told) | typed | {"function " + name for name in functions})))


main()
