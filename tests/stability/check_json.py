#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON that commands write of the committed files (inputs/, made once by make_inputs.py) still has every key, of the same type, that
json.txt lists. A key that is gone and a value of another type are errors; a key that is new is none, and --update adds it. Each line is

    COMMAND PATH TYPE       where [] is each element of an array, [NAME] the report of that name, and TYPE null, boolean, number, string,
                            array or object; a value with several types has a line for each

    check_json.py FOLDER PART [--update]    PART: files (needs no device) or opencl (runs on an OpenCL device)
"""
import copy
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
from support import run  # noqa: E402

NOTE = "# SPDX-License-Identifier: Apache-2.0\n# The keys of JSON outputs that users rely on: check_json.py says how, docs/stability.md why.\n"
# {name: (arguments, exit code)}; IN/ is the folder of inputs, OUT/ a folder for results.
FILES = {
    "info": ("info IN/a.sbt", 0),
    "info-ranks": ("info IN/rank0.json", 0),
    "view": ("view IN/a.sbt", 0),
    "view-stats": ("view --stats IN/a.sbt", 0),
    "analyze": ("analyze --all IN/a.sbt", 0),
    "analyze-kineto": ("analyze --all IN/rank0.json", 0),
    "analyze-ranks": ("analyze --ranks IN/rank0.json IN/rank1.json", 0),
    "diff": ("diff --gate launch_count<=+0 IN/a.sbt IN/b.sbt", 0),
    "diff-runs": ("diff IN/a.sbt IN/b.sbt -- IN/b.sbt IN/a.sbt", 0),
    "simulate": ("simulate --scale kernel=gemm:0.5 IN/rank0.json", 0),
    "query": ("query IN/a.sbt SELECT+kind,count(*),1.5,NULL+FROM+events+GROUP+BY+kind", 0),
    "query-tables": ("query IN/a.sbt .tables", 0),
    "query-schema": ("query IN/a.sbt .schema", 0),
    "import": ("import -o OUT/i.sbt IN/rank0.json", 0),
    "split": ("split -o OUT/s.%p.sbt IN/a.sbt", 0),
    "merge": ("merge -o OUT/m.sbt IN/rank0.json IN/rank1.json", 0),
    "recover": ("recover -o OUT/r.sbt IN/a.sbt", 0),
    "replay-dry-run": ("replay --mode dry-run IN/capture.sbt", 0),
    "replay-hazards": ("replay --hazards IN/race.sbt", 1),
    "version": ("version", 0),
    "profile": ("profile -o OUT/p.sbt -- true", 0),
}
OPENCL = {
    "replay": ("replay IN/capture.sbt", 0),
    "devices": ("devices", 0),
}


def walk(value, path, lines):
    if isinstance(value, dict):
        lines.add((path, "object"))
        for key, inner in value.items():
            walk(inner, path + "." + key, lines)
    elif isinstance(value, list):
        lines.add((path, "array"))
        for inner in value:
            named = isinstance(inner, dict) and isinstance(inner.get("report"), str)
            walk(inner, path + ("[%s]" % inner["report"] if named else "[]"), lines)
    else:
        kind = {type(None): "null", bool: "boolean", str: "string"}.get(type(value), "number")
        lines.add((path, kind))


def answer(arguments, code, folder, out):
    """The JSON of a command. `profile` writes it to standard error, where its program's own output is not."""
    words = [word.replace("+", " ") if word.startswith("SELECT") else word for word in arguments.split()]
    words = [word.replace("IN/", folder + "/").replace("OUT/", out + "/") for word in words]
    done = run(words[0], "--json", *words[1:], code=code)
    return json.loads(done.stderr.decode().splitlines()[-1] if words[0] == "profile" else done.stdout)


def types(lines):
    """{path: types} of (path, type)."""
    found = {}
    for path, kind in lines:
        found.setdefault(path, set()).add(kind)
    return found


def wrong_with(promised, values, loose):
    """What is promised and does not hold; and what is there. null is a value that is not known: where nothing else is promised, a later
    version may know it. `loose`: what is known differs between machines, so that an array may be empty and a value null."""
    wrong, everything = [], set()
    for name, value in values.items():
        lines = set()
        walk(value, "", lines)
        everything |= {(name, path, kind) for path, kind in lines}
        now, before = types(lines), types(line[1:] for line in promised if line[0] == name)
        for path, kinds in sorted(before.items()):
            shown = f"{name}: {path or 'the document'}"
            if path not in now:
                if not (loose and "[]" in path and path[:path.rindex("[]") + 2] not in now):
                    wrong.append(f"{shown} is gone")
            elif kinds != {"null"} and now[path] != kinds and not (loose and now[path] <= kinds | {"null"}):
                wrong.append(f"{shown} was {' or '.join(sorted(kinds))}, and is {' or '.join(sorted(now[path]))}")
    return wrong, everything


def check_itself(promised, values, loose):
    """A key that goes and a type that changes are found; a key that comes is accepted."""
    name, value = next((name, value) for name, value in values.items() if isinstance(value, dict))
    for change, found in (("gone", True), ("type", True), ("new", False)):
        other = copy.deepcopy(value)
        key = next(iter(other))
        if change == "gone":
            del other[key]
        elif change == "type":
            other[key] = {"of": other[key]} if isinstance(other[key], list) else [other[key]]
        else:
            other["a new key"] = {"with": 1}
        if bool(wrong_with(promised, {**values, name: other}, loose)[0]) != found:
            sys.exit(f"the check itself: '{change}' of {name}.{key} is " + ("not found" if found else "refused"))


def main(folder, part, update):
    path = os.path.join(folder, "json.txt")
    promised = set()
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            promised = {tuple((line.rstrip("\n") + " ").split(" ")[0:1]) + tuple(line.rstrip("\n").split(" ", 1)[1].rsplit(" ", 1))
                        for line in file if not line.startswith("#")}
    commands = FILES if part == "files" else OPENCL
    with tempfile.TemporaryDirectory() as out:
        values = {name: answer(arguments, code, os.path.join(folder, "inputs"), out) for name, (arguments, code) in commands.items()}
    loose = part == "opencl"
    wrong, now = wrong_with(promised, values, loose)
    if update:
        with open(path, "w", encoding="utf-8") as file:
            file.write(NOTE + "".join(" ".join(line) + "\n" for line in sorted(promised | now)))
        return 0
    for name in commands:
        if not any(line[0] == name for line in promised):
            wrong.append(f"json.txt has nothing of '{name}': tests/stability/test_json.sh --update")
    if wrong:
        print("\n".join(wrong))
        print("docs/stability.md says what may change and how. Undo the change; or, if it is meant, add a line to CHANGELOG.md and remove the "
              "lines from json.txt.")
        return 1
    check_itself(promised, values, loose)
    new = len(now - promised)
    print(f"{len([line for line in promised if line[0] in commands])} keys and types" + (f"; {new} are new: test_json.sh --update" if new else ""))
    return 0


sys.exit(main(sys.argv[1], sys.argv[2], "--update" in sys.argv[3:]))
