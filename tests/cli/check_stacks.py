# SPDX-License-Identifier: Apache-2.0
"""Call stacks in every answer: view, analyze callsites, query, info and the exports, of made traces."""
import collections
import csv
import io
import json
import os
import random
import subprocess
import tempfile
import xml.etree.ElementTree

from made_stacks import GUESSED, PYTHON, TRUNCATED, Made, MadeOfPython
from support import KIND, SBT_MAKE, TRACK_KIND, check, run

BEGINNINGS = ("start_thread",)  # of made_stacks.NAMES: what begins a program or thread launches nothing


def stack_shown(made, event):
    """That of the event; of a command that has none that of its call, if the calls of its number have one stack."""
    kind, correlation, stack = event[0], event[4], event[5]
    of_calls = {e[5] for e in made.events if e[0] == "api" and e[4] == correlation and e[5]}
    if stack or not correlation or kind not in ("kernel", "memcpy", "memset") or len(of_calls) != 1:
        return stack
    return of_calls.pop()


def check_view(made, path, *options):
    answer = json.loads(run("view", "-f", "json", "--stacks", *options, path).stdout)
    shown = {(e["kind"], e["start"]): e for e in answer["events"]}
    check(len(shown) == len(made.events), "events")
    for event in made.events:
        frames = shown[event[0], event[2]].get("frames")
        lines = made.lines(stack_shown(made, event))
        check((frames is None) == (not lines), event)
        for frame, (name, file, line, at, inlined) in zip(frames or [], lines, strict=True):
            check((frame.get("function"), frame.get("file", ""), frame.get("line", 0), frame["inlined"]) ==
                  (name, file, line, inlined), (frame, name, file, line, inlined))
            module = made.modules_of[at]
            check(frame.get("module") == (made.modules[module - 1][0] if module else None), frame)
            check(frame.get("address") == (None if made.flags[at] & PYTHON else made.addresses[at]), frame)
            check(frame.get("python", False) == bool(made.flags[at] & PYTHON), frame)
            check(frame.get("guessed", False) == bool(made.flags[at] & GUESSED), frame)
            check(frame.get("truncated", False) == bool(made.flags[at] & TRUNCATED), frame)
    check('"frames":' not in run("view", "-f", "json", path).stdout.decode(), "stacks that were not requested")
    rows = csv.DictReader(io.StringIO(run("view", "-f", "csv", "--stacks", *options, path).stdout.decode(), newline=""))
    paths = {(row["kind"], int(row["start"])): row["call_path"] for row in rows}
    for event in made.events:
        wanted = made.marked(stack_shown(made, event))
        check(paths[event[0], event[2]] == wanted, (paths[event[0], event[2]], wanted))


def check_view_text(made, path):
    text = run("view", "--stacks", path).stdout.decode()
    blocks, block = [], None
    for line in text.splitlines()[1:]:
        if line.startswith(" " * 11 + "#"):
            block.append(line.split(None, 1)[1])
        elif line.startswith(" " * 11 + "[truncated]"):
            block.append("[truncated]")
        else:
            block = []
            blocks.append(block)
    events = sorted(made.events, key=lambda e: e[2])
    check(len(blocks) == len(events), (len(blocks), len(events)))
    for event, block in zip(events, blocks):
        lines = made.lines(stack_shown(made, event))
        cut = bool(lines) and bool(made.flags[lines[-1][3]] & TRUNCATED)
        check((block[-1:] == ["[truncated]"]) == cut, (event, block))
        block = block[:-1] if cut else block
        check(len(block) == len(lines), (event, block))
        for shown, line in zip(block, lines):
            name = made.text(line).replace("\n", "\\n")
            check(shown.startswith(name), (shown, name))
            check(("(inlined)" in shown) == line[4], shown)
            check(("[guessed]" in shown) == bool(made.flags[line[3]] & GUESSED), shown)
            check(("(Python)" in shown) == bool(made.flags[line[3]] & PYTHON), shown)
            place = line[1] + (":%d" % line[2] if line[2] else "")
            check(not line[1] or shown.endswith(" at " + place), (shown, place))


def callsites(made, skip=()):
    """By the definitions of docs/analyses.md, command by command."""
    total, self_time, count, sites = (collections.Counter() for _ in range(4))
    tree = collections.Counter()
    own = collections.defaultdict(lambda: [0, 0])
    for event in made.work():
        lines = [line for line in reversed(made.lines(made.stack_of(event)))]
        if not lines:
            continue
        duration, keys = event[3], [key for key, _, _ in made.path(made.stack_of(event))]
        innermost = keys[-1][0]
        check(innermost == (lines[-1][0] if lines[-1][0] is not None else (lines[-1][3],)), "folding hides who launched")
        for key in {key[0] for key in keys}:
            total[key] += duration
        self_time[innermost] += duration
        count[innermost] += 1
        for depth in range(1, len(keys) + 1):
            tree[tuple(keys[:depth])] += duration
        own[tuple(keys)][0] += duration
        own[tuple(keys)][1] += 1
        named = [line for line in made.places(lines[::-1]) if line[0] not in BEGINNINGS and line[0] not in skip]
        where = next((line for line in named if line[2]), next((line for line in named if line[0]), lines[-1]))
        sites[made.text(where), where[1], where[2]] += duration
    return total, self_time, count, tree, own, sites


def check_callsites(made, path, *options):
    answer = json.loads(run("analyze", path, "callsites", *options, "--json").stdout)["traces"][0]["reports"][0]
    total, self_time, count, tree, own, sites = callsites(made)
    text, of_function = {}, {}
    for stack in range(1, len(made.stacks)):
        for key, shown, name in made.path(stack):
            text[key], of_function[key[0]] = shown, name
    everything = sum(event[3] for event in made.work())
    rows = answer["tables"]["functions"]
    wanted = sorted((of_function[key], total[key], self_time[key], count[key]) for key in total)
    check(sorted((r["function"], r["total_ns"], r["self_ns"], r["commands"]) for r in rows) == wanted, "functions")
    check([r["total_ns"] for r in rows] == sorted((r["total_ns"] for r in rows), reverse=True), "order of functions")
    check(all(abs(r["share"] - r["total_ns"] / everything) < 1e-6 for r in rows), "shares")
    shown, at = [], []
    for row in answer["tables"]["paths"]:
        at = at[:row["depth"]] + [row["function"].lstrip(" ")]
        check(row["function"] == " " * min(2 * row["depth"], 60) + at[-1], row)
        shown.append((" > ".join(at), row["depth"], row["total_ns"], row["self_ns"], row["commands"]))
    # A function that launches nothing and always calls the same one is in the row of that one.
    branches = collections.Counter(keys[:-1] for keys in tree)
    passed = {keys for keys in tree if not own.get(keys, (0, 0))[1] and branches[keys] == 1}
    wanted = [(" > ".join(text[key] for key in keys), sum(keys[:n] not in passed for n in range(1, len(keys))),
               time, *own.get(keys, (0, 0))) for keys, time in tree.items() if keys not in passed]
    check(sorted(shown) == sorted(wanted), "paths")
    rows = [((r["function"], r["file"], r["line"] or 0), r["total_ns"]) for r in answer["tables"]["sites"]]
    check(sorted(rows) == sorted(sites.items()), "sites")
    without = sum(1 for event in made.work() if not made.lines(made.stack_of(event)))
    check(not without or any("%d of %d commands" % (without, len(made.work())) in note for note in answer["notes"]), answer["notes"])
    skip = ("main", "launch")
    answer_without = json.loads(run("analyze", path, "callsites", "--skip", "main", "--skip", "launch", "--skip", "no_such",
                                    *options, "--json").stdout)["traces"][0]["reports"][0]
    rows = [((r["function"], r["file"], r["line"] or 0), r["total_ns"]) for r in answer_without["tables"]["sites"]]
    check(sorted(rows) == sorted(callsites(made, skip)[5].items()), "sites without two functions")
    check(sum("is on these paths" in note and "no_such" in note for note in answer_without["notes"]) == 1, answer_without["notes"])
    check(sorted(map(str, answer_without["tables"]["functions"])) == sorted(map(str, answer["tables"]["functions"])), "functions change")
    run("analyze", path, "kernels", "--skip", "main", code=2)
    top = max(sites.values())
    check(any(name in answer["finding"] for (name, _, _), time in sites.items() if time == top), answer["finding"])
    return len(passed)


def check_query(made, path):
    def rows(statement):
        return [tuple(row.values()) for row in json.loads(run("query", path, statement, "--json").stdout)["results"][0]["rows"]]

    check(rows("SELECT id, path, build_id, process, generated FROM modules") ==
          [(i, p, b or None, 1, 0) for i, (p, b) in enumerate(made.modules, 1)], "modules")
    wanted = []
    for i in range(1, len(made.frames)):
        names = [(name, file, line, i, False) for name, file, line in made.frames[i] or [(None, "", 0)]]
        python = bool(made.flags[i] & PYTHON)
        wanted.append((i, made.modules_of[i] or None, None if python else made.addresses[i], made.text(names[0]),
                       names[0][1] or None, names[0][2] or None, len(names) - 1, made.text(names[-1]), int(python),
                       made.flags[i] & GUESSED, made.flags[i] // TRUNCATED))
    got = rows("SELECT id, module, address, function, file, line, inlined, outermost, python, guessed, truncated FROM frames")
    check(got == wanted, [pair for pair in zip(got, wanted) if pair[0] != pair[1]][:2])
    wanted = []
    for i, (parent, frame) in enumerate(made.stacks[1:], 1):
        at, depth = i, 0
        while at:
            at, depth = made.stacks[at][0], depth + 1
        wanted.append((i, parent or None, frame, depth, made.marked(i)))
    check(rows("SELECT id, parent, frame, depth, path FROM stacks") == wanted, "stacks")
    wanted = collections.Counter()
    for event in made.work():
        wanted[made.stack_of(event)] += event[3]
    got = rows("SELECT coalesce(k.stack, a.stack, 0), sum(k.duration) FROM events k LEFT JOIN api a ON "
               "a.correlation = k.correlation WHERE k.kind IN ('kernel', 'memcpy') GROUP BY 1")
    check(dict(got) == dict(wanted), "time by stack")


def check_info(made, path):
    wanted = {"paths": len(made.stacks) - 1, "frames": len(made.frames) - 1,
              "frames_named": sum(1 for names in made.frames[1:] if names), "modules": len(made.modules)}
    check(json.loads(run("info", "--json", path).stdout)["stacks"] == wanted, wanted)
    line = next(line for line in run("info", path).stdout.decode().splitlines() if line.startswith("call stacks"))
    unnamed = wanted["frames"] - wanted["frames_named"]
    check("%d path%s of %d frames in 3 modules" % (wanted["paths"], "s" * (wanted["paths"] != 1), wanted["frames"]) in line, line)
    check(("%d of them without a name" % unnamed in line) == bool(unnamed), line)


def clean(name):
    return "".join(":" if c == ";" else " " if c < " " else c for c in name)


def folded(made):
    """Paths by their names, from the process to the command."""
    wanted = collections.Counter()
    for event in made.work():
        names = [text for _, text, _ in made.path(made.stack_of(event))] or ["queue"]
        wanted[tuple(clean(name) for name in ("app 7", *names, "blur"))] += event[3]
    return wanted


def check_folded(made, path, to, *options):
    run("export", path, "-f", "folded", *options, "-o", to)
    got = collections.Counter()
    with open(to, encoding="utf-8") as file:
        for line in file.read().splitlines():
            names, time = line.rsplit(" ", 1)
            got[tuple(names.split(";"))] += int(time)
    check(got == folded(made), (list((got - folded(made)).items())[:3], list((folded(made) - got).items())[:3]))


def tree_of(paths):
    """Time by path and by every path that it begins with."""
    tree = collections.Counter()
    for names, time in paths.items():
        for depth in range(1, len(names) + 1):
            tree[names[:depth]] += time
    return tree


def check_flamegraph(made, path, to, *options):
    """Frames lie above what called them, as wide as their time; names are those of the trace."""
    run("export", path, *options, "-o", to)
    root = xml.etree.ElementTree.parse(to).getroot()
    space = "{http://www.w3.org/2000/svg}"
    frames = []
    for group in root.iter(space + "g"):
        rect, title = group.find(space + "rect"), group.find(space + "title").text
        frames.append((int(group.get("data-d")), float(group.get("data-x")), float(group.get("data-w")),
                       title.rsplit("\n", 1)[0], float(rect.get("y")), float(rect.get("x"))))
    wanted = tree_of({tuple(name.replace("a:b", "a;b") for name in names): time
                      for names, time in folded(made).items()})
    total = sum(time for names, time in wanted.items() if len(names) == 1)
    pixels = {names: time / total * 1180 for names, time in wanted.items()}
    got = {}
    for depth, x, width, name, y, left in frames:
        below = [f for f in frames if f[0] < depth and f[1] <= x + 0.02 and f[1] + f[2] >= x + width - 0.02]
        check(sorted(f[0] for f in below) == list(range(depth)), (depth, x, name))
        check(all(f[4] > y for f in below) and abs(left - 10 - x) < 0.02, "places")
        got[tuple(f[3] for f in sorted(below)) + (name,)] = width
    for names, width in pixels.items():
        check(names in got if width > 0.21 else True, names)
    for names, width in got.items():
        check(names in pixels and abs(width - pixels[names]) < 0.01, (names, width, pixels.get(names)))


def check_chrome(made, path, to):
    """As the format has it: "sf" of an event, whose frames are in "stackFrames", each with its parent."""
    run("export", path, "-o", to)
    with open(to, encoding="utf-8") as file:
        trace = json.load(file)
    kinds = {"api": 0, "kernel": 0, "memcpy": 0}
    by_start = {(event["cat"].removeprefix("gpu_"), event["ts"]): event for event in trace["traceEvents"]
                if event.get("cat", "").removeprefix("gpu_") in kinds}
    for event in made.events:
        shown, lines = by_start[event[0], event[2] / 1000], []
        at = str(shown["sf"]) if "sf" in shown else None
        while at is not None:
            frame = trace["stackFrames"][at]
            lines.append((frame["name"], frame.get("file", ""), frame.get("line", 0)))
            at = frame.get("parent")
        wanted = [(made.text(line), line[1], line[2]) for line in made.lines(event[5])]
        check(lines == wanted, (event, lines, wanted))


def check_perfetto(made, path, to):
    """As read back: who called whom, by the names that the trace had."""
    run("export", path, "-o", to)
    shown = {(e["kind"], e["start"]): e for e in json.loads(run("view", "-f", "json", "--stacks", to).stdout)["events"]}
    check(len(shown) == len(made.events), "events")
    before = {(e["kind"], e["start"]): e for e in json.loads(run("view", "-f", "json", "--stacks", path).stdout)["events"]}
    for event in made.events:
        key = event[0], event[2]
        frames, wanted = shown[key].get("frames", []), before[key].get("frames", [])
        shared = False
        for one, other in zip(frames, wanted):
            # Functions that were inlined are frames of their own then, at no address; all else is as it was.
            one.pop("inlined")
            shared, before_it = other.pop("inlined"), shared
            if shared or before_it:
                one.pop("address", None), other.pop("address", None)
            if one.get("python"):
                one.pop("module", None), other.pop("module", None)  # which is its file
        check(len(frames) == len(wanted), (event, frames, wanted))
        for one, other in zip(frames, wanted):
            check(one == other, (event, one, other))


def check_tall(path, to):
    """A stack of so many different functions that a picture of all of them would be no picture: it is cut, and says so."""
    made = Made(random.Random(1), 1, 1)
    for i in range(600):
        made.frames.append([("function_%d" % i, "", 0)])
        made.flags.append(0), made.modules_of.append(0), made.addresses.append(i + 1)
        made.stacks.append((len(made.stacks) - 1 if i else 0, len(made.frames) - 1))
    made.events = [("kernel", 3, 1000, 100, 0, len(made.stacks) - 1)]
    made.write(path)
    run("export", path, "-o", to)
    with open(to, encoding="utf-8") as file:
        picture = file.read()
    root = xml.etree.ElementTree.fromstring(picture)
    drawn = [group.find("{http://www.w3.org/2000/svg}title").text for group in root.iter("{http://www.w3.org/2000/svg}g")]
    check(len(drawn) == 256 and float(root.get("height")) < 256 * 17 + 200, (len(drawn), root.get("height")))
    check("only the outermost 256 levels are drawn" in picture, "a picture that is cut and does not say so")
    check([name for name in drawn if "what it called is not drawn" in name] == drawn[-1:], drawn[-1])
    check("levels are drawn" not in picture.replace("only the outermost 256 levels are drawn", ""), "twice")
    del made.stacks[250:]
    made.events = [("kernel", 3, 1000, 100, 0, len(made.stacks) - 1)]
    made.write(path)
    run("export", path, "-o", to)
    with open(to, encoding="utf-8") as file:
        check("drawn" not in file.read(), "a whole picture says that it is cut")


def check_interpreter(rng, folder):
    """--hide-interpreter hides the interpreter's functions in the stacks that have Python functions, and in no other of the trace."""
    path, both, innermost = os.path.join(folder, "python.sbt"), 0, 0
    for stacks, events in ((6, 30), (60, 200), (400, 600)):
        made = MadeOfPython(rng, stacks, events)
        made.write(path)
        check_view(made, path, "--hide-interpreter")
        check_callsites(made, path, "--hide-interpreter")
        check_folded(made, path, os.path.join(folder, "python.folded"), "--hide-interpreter")
        check_flamegraph(made, path, os.path.join(folder, "python.svg"), "--hide-interpreter")
        made.shows = True
        check_callsites(made, path)
        made.shows = False
        both += made.has_both()
        innermost += made.is_innermost_hidden()
    check(both and innermost, "no frame is hidden in one stack and shown in another")


def check_interpreter_samples(folder):
    """Samples in a gap of the device: of the interpreter alone, of a Python function that it runs, of both; and of libffi, which calls
    C functions for the interpreter, and for programs without Python."""
    path = os.path.join(folder, "samples.sbt")
    for alone, named, caller, says in ((8, 0, "", True), (4, 4, "", True), (3, 5, "", False), (0, 8, "", False),
                                       (8, 0, "/usr/bin/python3.11", True), (8, 0, "/usr/bin/ruby3.1", False)):
        innermost, function = ("libffi.so.8.1.2", "ffi_call") if caller else ("python3.11", "_PyEval_EvalFrameDefault")
        lines = ["process 7 app", "device GPU test gpu", "track %d main 1 0" % TRACK_KIND["thread"],
                 "track %d queue 1 1" % TRACK_KIND["queue"], "module /usr/lib/%s - 1 0" % innermost, "module %s - 1 0" % (caller or "/opt/app"),
                 "frame 1 0 100", "frame 0 %d 0" % PYTHON, "frame 2 0 100", "stack 0 3", "stack 0 2", "stack 1 1", "stack 2 1",
                 "symbol 1 %s ceval.c 5" % function, "symbol 2 train train.py 7", "symbol 3 main main.c 3"]
        for at in (0, 100000):
            lines.append("event 1 %d %d duration=100 name=enqueue correlation=%d" % (KIND["api"], at, at + 1))
            lines.append("event 2 %d %d duration=1000 name=blur correlation=%d" % (KIND["kernel"], at + 200, at + 1))
        for i in range(alone + named):
            lines.append("event 1 %d %d stack=%d" % (KIND["sample"], 10000 + 1000 * i, 3 if i < alone else 4))
        subprocess.run([SBT_MAKE, path], input="\n".join(lines).encode() + b"\n", check=True)
        said = b" ".join(run("analyze", path).stdout.split()).decode()
        sentence = "In %d of the 8 samples the interpreter of Python runs a function that is not known" % alone
        check((sentence in said) == says, (alone, named, said))
        code = "train" if named > alone else function
        check(named == alone or "the host runs %s" % code in said, (code, said))


def main():
    rng = random.Random(11)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "made.sbt")
        passed = 0
        for stacks, events in ((1, 3), (6, 30), (60, 200), (400, 600)):
            made = Made(rng, stacks, events)
            made.write(path)
            check_view(made, path)
            check_view_text(made, path)
            passed += check_callsites(made, path)
            check_query(made, path)
            check_info(made, path)
            check_folded(made, path, os.path.join(folder, "made.folded"))
            check_chrome(made, path, os.path.join(folder, "made.json"))
            check_perfetto(made, path, os.path.join(folder, "made.pftrace"))
            check_flamegraph(made, path, os.path.join(folder, "made.svg"))
        check(passed, "no function shares a row")
        check_interpreter(rng, folder)
        check_interpreter_samples(folder)
        check_tall(path, os.path.join(folder, "tall.svg"))
        none = Made(rng, 1, 5)
        none.events = [event[:5] + (0,) for event in none.events]
        none.write(path)
        answer = json.loads(run("analyze", path, "callsites", "--json").stdout)["traces"][0]["reports"][0]
        check("profile --stacks" in answer["finding"] and not answer["tables"]["paths"], answer)


main()
