# SPDX-License-Identifier: Apache-2.0
"""check_stacks_named.py TRACE FOLDER MODULE...: every frame in these modules has, in the file itself, the name that
FOLDER/MODULE.nm has for its address."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "sbt"))
import sbt_reader  # noqa: E402

trace, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:]
functions = {}
for name in names:
    spans = functions[os.path.realpath(os.path.join(folder, name))] = []
    for words in map(str.split, open(os.path.join(folder, name + ".nm"))):
        if len(words) == 4 and words[2] in "tTwW":
            spans.append((int(words[0], 16), int(words[0], 16) + int(words[1], 16), words[3]))
with open(trace, "rb") as source:
    _, dictionary, _, _ = sbt_reader.read_trace(source.read())
modules, frames, symbols = (dictionary.tables[n] for n in (10, 11, 13))
paths = [os.path.realpath(dictionary.strings[m[0]].decode()) if m else "" for m in modules]
outermost = {row[0]: dictionary.strings[row[1]].decode() for row in symbols if row}  # the last one of a frame
checked = {path: 0 for path in functions}
for number, frame in enumerate(frames):
    path = paths[frame[0]] if frame else None
    if path not in functions:
        continue
    wanted = {name for begin, end, name in functions[path] if begin <= frame[2] < end}
    got = outermost.get(number)
    if not wanted or got not in wanted:
        sys.exit("FAILED: %s+%x is %s, and in the file %s" % (path, frame[2], wanted, got))
    checked[path] += 1
if not all(checked.values()):
    sys.exit("FAILED: a module without frames: %s" % checked)
print("%d frames named" % sum(checked.values()))
