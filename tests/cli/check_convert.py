# SPDX-License-Identifier: Apache-2.0
"""import and export: any format from anywhere gives the same events; every option does what it says."""
import csv
import gzip
import io
import json
import os
import random
import signal
import subprocess
import sys
import tempfile

from support import TRACESMITH, check, run

START = 5_000_000  # us


def chrome(rng, count):
    """A trace as Kineto writes it, by hand."""
    events = [{"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python"}}]
    for i in range(count):
        kernel = rng.random() < 0.5
        events.append({
            "ph": "X", "cat": "kernel" if kernel else "cpu_op", "name": "k%d" % rng.randrange(9),
            "pid": 0 if kernel else 7, "tid": 3 if kernel else 11,
            "ts": START + rng.randrange(1000 * count) / 1000, "dur": rng.randrange(1, 9000) / 1000,
            "args": {"External id": i, "note": rng.choice(["a", "ü", "b,\"c\""])},
        })
    return {"schemaVersion": 1, "traceEvents": events}


def slices(document):
    return sorted((e["name"], e["cat"], round(e["ts"] * 1000), round(e["dur"] * 1000), json.dumps(e["args"], sort_keys=True))
                  for e in document["traceEvents"] if e["ph"] == "X")


def events_of(path, *options, **how):
    answer = json.loads(run("view", path, "-f", "json", *options, **how).stdout)
    return [json.dumps(e, sort_keys=True) for e in answer["events"]], answer


def check_sources(path, document):
    """A file, its gzip, a pipe, standard input: one answer."""
    with open(path, "rb") as f:
        data = f.read()
    packed = path + ".anything"
    with open(packed, "wb") as f:
        f.write(gzip.compress(data))
    events, answer = events_of(path)
    check(answer["complete"] is True, "a whole JSON is complete")
    check(len([e for e in events if '"duration"' in e]) == len(slices(document)), "as many slices as were written")
    check(events_of(packed)[0] == events, "gzip, whatever the name")
    with open(path, "rb") as f:
        check(events_of("-", stdin=f)[0] == events, "standard input, a file")
    check(events_of("-", input=data)[0] == events, "standard input, a pipe")
    check(events_of("-", input=gzip.compress(data))[0] == events, "gzip out of a pipe")
    sbt = path + ".sbt"
    run("import", path, "-o", sbt)
    check(events_of(sbt)[0] == events, "imported")
    with open(sbt, "rb") as f:
        check(events_of("-", input=f.read())[0] == events, ".sbt out of a pipe")
    pipe = path + ".pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", 'cat "$1" >"$2"', "sh", path, pipe]):
        check(events_of(pipe)[0] == events, "a named pipe")
    return sbt


def check_messages(directory, path, sbt):
    """What is refused says what it is and what to do; numbers are as the file has them."""
    packed, broken = os.path.join(directory, "packed.sbt.gz"), os.path.join(directory, "broken.gz")
    with open(sbt, "rb") as f, open(packed, "wb") as out:
        out.write(gzip.compress(f.read()))
    with open(broken, "wb") as f:
        f.write(b"\x1f\x8b\x08\x00" + b"garbage" * 100)
    check(b"decompress it first" in run("view", packed, code=3).stderr, "a compressed .sbt")
    check(b"empty" not in run("view", broken, code=3).stderr, "broken gzip is not empty")
    check(b"directory" in run("import", directory, "-o", packed + ".sbt", code=3).stderr, "a directory")
    said = run("diff", sbt, broken, code=3).stderr.decode()
    check(said.count("broken.gz") == 1, "the path is said once: " + said)
    odd = os.path.join(directory, "odd.json")
    with open(odd, "w") as f:
        json.dump({"traceEvents": [{"ph": "X", "name": "a", "pid": -1, "tid": -1107294656, "ts": 1, "dur": 1}]}, f)
    for options in ([], ["--json"]):
        text = run("info", odd, *options).stdout.decode()
        check("1844674407" not in text and "-1" in text and "-1107294656" in text, "as the file says: " + text)
    with open(odd + "2", "w") as f:
        f.write('{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":2,"ts":1e400,"dur":1},'
                '{"ph":"X","name":"b","pid":1,"tid":2,"ts":9999999999999999999999,"dur":1}]}')
    with open(odd + "3", "w") as f:  # larger than an event may be, and the last; the file is whole
        f.write('{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":1},'
                '{"ph":"X","pid":1,"tid":2,"ts":1,"dur":1,"name":"%s"}]}' % ("n" * (65 << 20)))
    said = run("view", odd + "3").stderr.decode()
    check("1 event was not recorded: 1 table_full" in said and "early" not in said, "too large an event: " + said)
    check(any(line.split()[:5] == ["import", "2", "points", "in", "time"] for line in
              run("info", odd + "2").stdout.decode().splitlines()), "what was repaired is counted")
    check(b"times larger" in run("import", odd, "-o", odd + ".sbt").stdout, "larger")
    with open(odd, "w") as f:
        f.write("[]")
    check(b"has no events" in run("view", odd).stderr, "no events at all")


def check_many(directory):
    """10^5 threads, and as many processes with a GPU each: every event comes through."""
    path, out = os.path.join(directory, "many.json"), os.path.join(directory, "many.sbt")
    for what in ({"cat": "cpu_op", "pid": 7}, {"cat": "kernel", "tid": 3}):
        with open(path, "w") as f:
            json.dump({"traceEvents": [dict({"ph": "X", "name": "op", "pid": i, "tid": i, "ts": START + i, "dur": 1}, **what)
                                       for i in range(100_000)]}, f)
        answer = json.loads(run("import", path, "-o", out, "--json").stdout)
        check(answer["events"] == 100_000 and answer["complete"], "of 100,000 tracks: %s" % answer)
        check(json.loads(run("info", "--json", out).stdout)["lost"]["total"] == 0, "nothing is lost")


def check_losses_said(directory):
    """import and export say what the source has lost, as the commands do that answer."""
    path = os.path.join(directory, "lossy.json")
    event = '{"ph":"X","name":"a","pid":1,"tid":2,"ts":%d,"dur":1}'
    with open(path, "w") as f:
        f.write('{"traceEvents":[%s,{"ph":"X","ts":!,"pid":1},%s]}' % (event % 1, event % 3))
    for command in (["view"], ["import", "-o", path + ".sbt"], ["export", "-f", "chrome", "-o", path + ".out"]):
        stderr = run(command[0], path, *command[1:]).stderr.decode()
        check("1 event was not recorded" in stderr and "lossy.json" in stderr, "%s says it: %s" % (command[0], stderr))


def check_own_fields(path):
    """Arguments that are called like fields of an event: neither hides the other."""
    own = [{"kind": "mine", "start": 5, "track": "x", "name": "n,1", "stream": 7}, {"stream": "seven"}, {}]
    with open(path, "w") as f:
        json.dump({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k%d" % i, "pid": 0, "tid": 3,
                                    "ts": START + i, "dur": 1, "args": args} for i, args in enumerate(own)]}, f)

    def once(pairs):
        check(len({name for name, _ in pairs}) == len(pairs), "a key is there once: %s" % pairs)
        return dict(pairs)

    events = json.loads(run("view", path, "-f", "json").stdout, object_pairs_hook=once)["events"]
    rows = list(csv.reader(io.StringIO(run("view", path, "-f", "csv").stdout.decode(), newline="")))
    exported = list(csv.reader(io.StringIO(run("export", path, "-f", "csv", "-o", "-").stdout.decode(), newline="")))
    head = rows[0]
    check(len(set(head)) == len(head), "a column is there once: %s" % head)
    check(exported[0][-1] == "other", "export writes CSV")
    for i, args in enumerate(own):
        check((events[i]["kind"], events[i]["name"]) == ("kernel", "k%d" % i), "the event's fields are its own")
        have = events[i].get("args", {})
        check({name: have.get(name) for name in args} == args, "args are what the file has: %s" % have)
        row = dict(zip(head, rows[i + 1]))
        check((row["kind"], row["name"]) == ("kernel", "k%d" % i), "CSV: the event's fields")
        check(all(row["args." + name] == str(value) for name, value in args.items()), "CSV: args %s" % row)
        row = set(zip(exported[0], exported[i + 1]))
        check({("kind", "kernel"), *(("args." + name, str(value)) for name, value in args.items())} <= row,
              "export: args %s" % row)


def check_info(path, sbt):
    text = run("info", path).stdout.decode()
    check("chrome-json" in text.splitlines()[0] and "SBT" not in text, "info says the format: " + text.splitlines()[0])
    answer = json.loads(run("info", "--json", path).stdout)
    check(answer["format"] == "chrome-json" and answer["bytes"] == os.path.getsize(path), "and in JSON")
    check("version" not in answer, "of the file, not of what it became")
    check("imported from chrome-json" in run("info", sbt).stdout.decode(), "an .sbt says where it came from")
    check(json.loads(run("info", "--json", sbt).stdout)["format"] == "sbt", "sbt")
    long = "n" * 40
    with open(path + "2", "w") as f:
        json.dump({"traceEvents": [{"ph": "M", "name": "thread_name", "pid": 7, "tid": 1, "args": {"name": long}},
                                   {"ph": "X", "name": "a", "pid": 7, "tid": 1, "ts": 1, "dur": 1}]}, f)
    check(long not in run("info", path + "2", env={"COLUMNS": "80"}).stdout.decode(), "a long name is cut")
    check(long in run("info", path + "2", env={"COLUMNS": "160"}).stdout.decode(), "and is not on a wide terminal")


def check_old_kineto(directory):
    path = os.path.join(directory, "old.json")
    with open(path, "w") as f:
        json.dump({"traceEvents": [{"ph": "X", "cat": "Kernel", "name": "k", "pid": 1, "tid": "stream 7", "ts": 1 + i * 4,
                                    "dur": 2, "args": {"device": 1, "stream": 7}} for i in range(3)]}, f)
    picture = run("view", path, "--timeline").stdout.decode()
    check("device 1  GPU 1  busy 60.0%, idle 40.0%" in picture and "stream 7" in picture, "the stream is of a device: " + picture)


def check_import(directory, path, sbt):
    done = run("import", path, "-o", "-")
    with open(sbt, "rb") as f:
        check(done.stdout == f.read(), "-o -: the same bytes on standard output")
    answer = json.loads(run("import", path, "-o", sbt, "--json").stdout)
    check(answer["format"] == "chrome-json" and answer["complete"] and answer["bytes"] == os.path.getsize(sbt), "--json")
    check(json.loads(run("import", sbt, "-o", sbt + "2", "--json").stdout)["format"] == "sbt", "of an .sbt")
    run("import", path, "-o", sbt + "2", "--level", "19")
    check(os.path.getsize(sbt + "2") < os.path.getsize(sbt), "--level 19 is smaller")
    check(events_of(sbt + "2")[0] == events_of(sbt)[0], "--level 19 is the same")
    run("import", path, "--level", "20", code=2)
    run("import", path, "-o", path, code=2)
    run("import", sbt, "-o", sbt, code=2)
    folder = os.path.join(directory, "folder")
    os.mkdir(folder)
    other = os.path.join(directory, "other.pt.trace.json.gz")
    with open(other, "wb") as f, open(path, "rb") as g:
        f.write(gzip.compress(g.read()))
    run("import", path, other, "-o", folder)
    check(sorted(os.listdir(folder)) == ["other.pt.trace.sbt", "t.sbt"], "several into a folder: %s" % os.listdir(folder))
    run("import", path, other, "-o", sbt, code=2)
    run("import", path, cwd=folder + "/..")
    check(os.path.exists(os.path.join(directory, "t.sbt")), "the name when none is given")


def check_export(directory, document, path, sbt):
    out = os.path.join(directory, "out.json")
    for source in (path, sbt):
        run("export", source, "-o", out)
        with open(out) as f:
            check(slices(json.load(f)) == slices(document), "export gives back what was there")
    whole = run("export", sbt, "-f", "chrome").stdout
    check(json.loads(whole) == json.load(open(out)), "standard output is the default")
    check(run("export", sbt, "-f", "chrome", "-o", "-").stdout == whole, "-o -")
    check(gzip.decompress(run("export", sbt, "-f", "chrome", "--gzip").stdout) == whole, "--gzip")
    run("export", sbt, "-o", out + ".gz")
    check(gzip.open(out + ".gz").read() == whole, ".gz")
    first = min(e[2] for e in slices(document))
    low, high = 100_000, 300_000
    expected = [e for e in slices(document)
                if e[2] - first < high and (e[2] - first >= low or e[2] + e[3] - first > low)]
    check(0 < len(expected) < len(slices(document)), "the window is one")
    for source in (path, sbt):
        part = json.loads(run("export", source, "-f", "chrome", "--from", "%dns" % low, "--to", "%dns" % high).stdout)
        check(slices(part) == expected, "a window: %d and not %d" % (len(slices(part)), len(expected)))
        part = json.loads(run("export", source, "-f", "chrome", "-t", "kernel").stdout)
        check(slices(part) == [e for e in slices(document) if e[1] == "kernel"], "--type")
    graph = run("export", path, "-f", "dot", "--from", "100us", "--to", "300us").stdout.decode()
    check("digraph" in graph and "k1" in graph and graph.rstrip().endswith("}"), "dot")
    check(len(graph) < len(run("export", path, "-f", "dot").stdout), "a window of dot is less")
    run("export", sbt, code=2)
    run("export", sbt, "-o", "x.unknown", code=2)
    run("export", sbt, "-f", "chrome", "-o", sbt, code=2)
    run("export", path, "-f", "chrome", "-o", sbt, code=2)
    run("export", sbt, "-f", "chrome", "-o", "", code=2)
    run("export", sbt, "-f", "dot", "-t", "kernel", code=2)
    run("export", sbt, "-f", "dot", "--gzip", code=2)
    run("export", sbt, "-f", "chrome", "-o", directory + "/no/such/folder", code=4)


def check_closed(sbt):
    """A reader that has had enough is no failure; a device that is full is one."""
    for command in (["export", sbt, "-f", "chrome"], ["export", sbt, "-f", "dot"], ["import", sbt, "-o", "-"],
                    ["analyze", sbt, "--all"]):
        with subprocess.Popen([TRACESMITH] + command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            child.stdout.read(1)
            child.stdout.close()
            said = child.stderr.read()
        check(child.returncode == 0 and said == b"", "%s into a closed pipe: %d, %s" % (command, child.returncode, said))
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TRACESMITH] + command, stdout=full, stderr=subprocess.PIPE)
        check(done.returncode == 4 and b"No space left" in done.stderr, "%s into a full one: %s" % (command, done.stderr))


def check_damaged(directory, path):
    """What is cut off is answered from and said; what is no trace is refused and replaces nothing."""
    with open(path, "rb") as f:
        data = f.read()
    cut, out = os.path.join(directory, "cut"), os.path.join(directory, "cut.sbt")
    whole_event = data.index(b"}}", len(data) // 2) + 2  # nothing is half written: the ledger must still have it
    for damaged in (data[:len(data) // 2], gzip.compress(data)[:-2000], data[:whole_event]):
        with open(cut, "wb") as f:
            f.write(damaged)
        done = run("view", cut, "-f", "json", code=3)
        check(b"ends early" in done.stderr, "said: %s" % done.stderr)
        answer = json.loads(done.stdout)
        check(answer["complete"] is False and len(answer["events"]) > 10, "and answered")
        done = run("import", cut, "-o", out, "--json", code=3)
        check(json.loads(done.stdout)["complete"] is False, "imported as far as it goes")
        # The file is whole; that something is missing is in its ledger.
        kept = json.loads(run("view", out, "-f", "json", code=None).stdout)
        check(kept["event_count"] >= len(answer["events"]), "all of it")
        losses = [e for e in kept["events"] if e["kind"] == "loss"]
        check(len(losses) == 1 and losses[0]["reason"] == "corrupt" and "lost" not in losses[0],
              "how many followed is not known: %s" % losses)
        check(kept["lost"]["total"] == 0 and kept["lost"]["uncounted"] == 1, "nor told: %s" % kept["lost"])
    for bad in (b"", b"{", b'{"a": 1}', b"\0" * 100, b"garbage", gzip.compress(b"nothing")):
        with open(cut, "wb") as f:
            f.write(bad)
        for command in (["view", cut], ["info", cut], ["export", cut, "-f", "chrome"], ["import", cut, "-o", out + "3"]):
            done = run(*command, code=3)
            check(done.stderr.startswith(b"tracesmith: ") and b"cut" in done.stderr, "%s: %s" % (bad, done.stderr))
        check(not os.path.exists(out + "3"), "nothing is written of %s" % bad)
    run("view", directory, code=3)
    run("import", directory, "-o", out, code=3)
    run("export", os.path.join(directory, "missing"), "-f", "chrome", code=3)


def check_growing(directory, path):
    """Read while it is written: as far as it was there, and no hang."""
    growing = os.path.join(directory, "growing")
    script = 'while :; do cat "$1"; done >"$2" & echo started; wait'
    for command in (["view", "-f", "csv"], ["analyze"], ["export", "-f", "chrome"]):
        with subprocess.Popen(["sh", "-c", script, "sh", path, growing], stdout=subprocess.PIPE,
                              start_new_session=True) as child:
            try:
                child.stdout.readline()
                while not os.path.exists(growing) or os.path.getsize(growing) < 100000:
                    check(child.poll() is None, "the writer writes")
                done = run(command[0], growing, *command[1:], code=None)
            finally:
                os.killpg(child.pid, signal.SIGKILL)
        check(done.returncode in (0, 3) and len(done.stdout) > 100, "a growing file: %d" % done.returncode)
        os.unlink(growing)


def check_temporary(directory, path):
    """The temporary file is where TMPDIR says, and gone."""
    run("info", path, env={"TMPDIR": os.path.join(directory, "nowhere")}, code=None)
    done = run("info", path, env={"TMPDIR": os.path.join(directory, "nowhere")}, code=3)
    check(b"TMPDIR" in done.stderr, "what to do: %s" % done.stderr)
    place = os.path.join(directory, "temporary")
    os.mkdir(place)
    run("info", path, env={"TMPDIR": place})
    check(os.listdir(place) == [], "nothing is left")
    limit = ["sh", "-c", 'ulimit -f 8 && exec "$0" "$@"', TRACESMITH]
    for command, said in ((["view", path], b"TMPDIR"), (["import", path, "-o", os.path.join(directory, "full.sbt")], b"full.sbt"),
                          (["export", path, "-o", os.path.join(directory, "full.json")], b"full.json")):
        done = subprocess.run(limit + command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        check(done.returncode == 4 and said in done.stderr and b"not an SBT" not in done.stderr,
              "no room: %s gave %d, %s" % (command, done.returncode, done.stderr))


def check_origin(directory, path):
    """A file is called what it is; what the trace was before stays known."""
    perfetto, back = os.path.join(directory, "origin.pftrace"), os.path.join(directory, "origin.sbt")
    run("export", path, "-f", "perfetto", "-o", perfetto)
    answer = json.loads(run("import", perfetto, "-o", back, "--json").stdout)
    check((answer["format"], answer["origin"]) == ("perfetto-tracesmith", "chrome-json"), answer)
    check(b"events from perfetto-tracesmith (from chrome-json at first)" in run("import", perfetto, "-o", back).stdout, "said")
    check(json.loads(run("info", perfetto, "--json").stdout)["format"] == "perfetto-tracesmith", "info of the file")
    for one in (perfetto, back):
        check(b"chrome-json" in run("info", one).stdout, "where it comes from")
    answer = json.loads(run("import", path, "-o", back, "--json").stdout)
    check(answer["format"] == "chrome-json" and "origin" not in answer, answer)


def main():
    rng = random.Random(3)
    with tempfile.TemporaryDirectory() as directory:
        document = chrome(rng, 3000)
        path = os.path.join(directory, "t.json")
        with open(path, "w") as f:
            json.dump(document, f)
        sbt = check_sources(path, document)
        check_info(path, sbt)
        check_many(directory)
        check_messages(directory, path, sbt)
        check_losses_said(directory)
        check_own_fields(os.path.join(directory, "own.json"))
        check_old_kineto(directory)
        check_import(directory, path, sbt)
        check_origin(directory, path)
        check_export(directory, document, path, sbt)
        check_closed(sbt)
        check_damaged(directory, path)
        check_growing(directory, path)
        check_temporary(directory, path)
        done = subprocess.run([TRACESMITH, "export", sbt, "-f", "chrome"], stdout=subprocess.DEVNULL)
        check(done.returncode == 0, "to /dev/null")


main()
