#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which structs the functions of the public headers fill for their callers, and whether they can grow: a struct begins with its
size, or is one of those that never change (below, each with its reason). Prints those that do neither; exit status 1 if there
are any."""
import glob
import os
import re
import sys

NEVER_CHANGES = {
    "tsmith_column": "a part of a batch; inline functions read it",
    "tsmith_view": "a part of a batch; inline functions read it",
    "tsmith_field_info": "a row of the table of fields",
    "tsmith_stack_line": "an element of the caller's array",
    "tsmith_aggregate": "an element of an array of the library",
    "tsmith_interval": "two times",
    "tsmith_recording_writer": "two handles",
    "tsmith_error": "its size is that of every program's own errors",
}


def main(folder):
    sized, functions = {}, []
    for path in sorted(glob.glob(os.path.join(folder, "tracesmith", "*.h"))):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"//[^\n]*", "", file.read())
        for name, body in re.findall(r"typedef struct (tsmith_\w+) \{(.*?)\n\} \1;", text, re.S):
            sized[name] = body.strip().startswith("size_t size;")
        functions += [" ".join(found.split()) for found in re.findall(r"TSMITH_API\s+(.*?);", text, re.S)]
    wrong, seen = [], set()
    for function in functions:
        for const, name in re.findall(r"[(,] ?(const )?(tsmith_\w+) \*", function):
            if not const and name in sized:
                seen.add(name)
                if not sized[name] and name not in NEVER_CHANGES:
                    wrong.append("%s has no size and is filled by: %s" % (name, function))
    if len(seen) < 20:
        wrong.append("only %d structs are filled: the headers were not understood" % len(seen))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
