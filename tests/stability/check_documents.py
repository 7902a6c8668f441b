#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/stability.md promises of commands, SQL tables, events and Python still holds.

    check_documents.py SOURCE LIST [--update]

The names come from documents that other tests hold to be true: docs/commands.md and docs/events.md (cli.docs), docs/query.md (query.docs),
docs/python-api.md (python.docs). LIST has a line for each promise. A line that the documents no longer have is an error; lines that
are new are none, and --update adds them. Nothing removes a line but a person.
"""
import ast
import os
import re
import sys

NOTE = "# SPDX-License-Identifier: Apache-2.0\n# What users rely on, a promise in each line: check_documents.py says how, docs/stability.md why.\n"


def text_of(source, name):
    with open(os.path.join(source, "docs", name), encoding="utf-8") as file:
        return file.read()


def sections(text, mark):
    """(heading, text) of each section."""
    parts = re.split(r"^%s (.*)$" % mark, text, flags=re.M)
    return list(zip(parts[1::2], parts[2::2]))


def commands(text):
    """Commands, their options (which argument they take) and the words that these accept, and what the exit codes mean."""
    head = text.split("\n## ")[0]
    for code in re.findall(r"^\| (\d+) \|", head.partition("| exit code")[2], re.M):
        yield f"exit {code}"
    for name, body in [("every", head)] + sections(text, "##"):
        if name != "every":
            yield f"command {name}"
        for option, doc in re.findall(r"^\| (`-[^|]*`) \| (.*) \|$", body, re.M):
            letter = re.match(r"`-(\w)`, ", option)
            long, optional, argument = re.search(r"`--([a-z0-9-]+)(\[=)?([ A-Z][^`]*)?", option).groups()
            takes = "optional argument" if optional else "argument" if argument else "no argument"
            yield f"option {name} --{long} {takes}"
            if letter:
                yield f"option {name} -{letter.group(1)} is --{long}"
            for word in re.findall(r"<br>`([^`]+)`", doc):
                yield f"word {name} --{long} {word}"


def tables(text):
    """Tables of SQL and their columns with their types; for kinds of events those that SELECT * shows are the same as in events."""
    for name, body in sections(text.partition("\n## Tables\n")[2], "###"):
        yield f"table {name}"
        for column, kind in re.findall(r"^\| `([^`]+)` \| (\w+) \|", body, re.M):
            yield f"column {name} {column} {kind}"


def vocabulary(text):
    """Numbers and names of the tables in docs/events.md. They are in files, in JSON, CSV and SQL."""
    for heading, body in sections(text, "##"):
        table = heading.split()[0].lower()
        for number, name, rest in re.findall(r"^\| (\d+) \| `([^`]+)` \|(.*)$", body, re.M):
            # A field also has a type and a unit.
            more = " ".join(cell.strip() for cell in rest.split("|")[:2]).strip() if table == "fields" else ""
            yield f"{table} {number} {name} {more}".rstrip()


def parameters(name, call):
    """A line for each parameter of a Python call; of one that is given by its place, which place."""
    try:
        arguments = ast.parse(f"def f{call}: pass").body[0].args
    except SyntaxError:
        yield f"call {name} cannot be parsed: {call}", False
        return
    placed = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(placed) - len(arguments.defaults)) + arguments.defaults
    for place, (one, default) in enumerate(zip(placed, defaults)):
        by = "place" if place < len(arguments.posonlyargs) else "place and name"
        yield (f"parameter {name} {one.arg}: {by} {place}" + (f", default {ast.unparse(default)}" if default else ""), default is None)
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        yield f"parameter {name} {one.arg}: name" + (f", default {ast.unparse(default)}" if default else ""), default is None
    if arguments.vararg:
        yield f"parameter {name} any by place", False
    if arguments.kwarg:
        yield f"parameter {name} any by name", False


def python(text):
    """(line, whether a caller has to give it) of names, members, bases, values of enumerations and parameters."""
    module = ""
    for part in re.split(r"^(?=#{1,3} )", text, flags=re.M):
        heading = re.match(r"#{1,3} (.*)", part)
        if not heading:
            continue
        title = heading.group(1).strip()
        if part.startswith("# "):
            module = title.rpartition(" ")[2] + "." if title.startswith("Module ") else ""
            continue
        name = module + title
        yield f"python {name}", False
        for base in re.findall(r"`(\w+)`", (re.search(r"^A class; bases: (.*)\.$", part, re.M) or [""])[0]):
            yield f"base {name} {base}", False
        body = re.search(r"```text\n(.*?)\n```\n*(`.*)?", part, re.S)
        for member in re.findall(r"`(\w+)`", body.group(2) or ""):
            yield f"python {name}.{member}", False
        call = re.match(r"[\w.]+(\(.*\)(?: -> .*)?)$", body.group(1).partition("\n")[0])
        if call and body.group(1).startswith(title.rpartition(".")[2] + "("):
            yield f"call {name}", False
            yield from parameters(name, call.group(1))


def main(source, path, update):
    now = set(commands(text_of(source, "commands.md"))) | set(tables(text_of(source, "query.md"))) | set(vocabulary(text_of(source, "events.md")))
    needed = {}
    for line, must in python(text_of(source, "python-api.md")):
        now.add(line)
        if must:
            needed[line] = line.split()[1]
    promised = set()
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            promised = {line.rstrip("\n") for line in file if not line.startswith("#")}
    wrong = [f"no longer true: {line}" for line in sorted(promised - now)]
    # A new parameter must have a default, or callers that exist fail.
    wrong += [f"callers do not give this: {line}" for line, name in sorted(needed.items()) if f"call {name}" in promised and line not in promised]
    if update:
        with open(path, "w", encoding="utf-8") as file:
            file.write(NOTE + "".join(line + "\n" for line in sorted(promised | now)))
    if wrong:
        print("\n".join(wrong))
        print("docs/stability.md says what may change and how. Undo the change; or, if it is meant, add a line to CHANGELOG.md and remove the "
              f"lines from {os.path.basename(path)}.")
        return 1
    new = len(now - promised)
    if new and not update:
        print(f"{new} names are new: tests/stability/test_documents.sh --update adds them")
    kinds = [line.split()[0] for line in now]
    print(f"{len(promised)} promises; " + ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds))))
    for kind in ("command", "option", "word", "exit", "table", "column", "kinds", "fields", "operations", "reasons", "python", "base", "call", "parameter"):
        if kind not in kinds:
            print(f"the documents have no {kind} that this script finds")
            return 1
    return 0


sys.exit(main(sys.argv[1], sys.argv[2], "--update" in sys.argv[3:]))
