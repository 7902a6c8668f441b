# SPDX-License-Identifier: Apache-2.0
"""XRay logs of every version against tests/reference/xray.py, and real ones against llvm-xray."""
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "reference"))
import xray  # noqa: E402

TRACESMITH = os.environ["TRACESMITH"]
EVERY = 4 if os.environ.get("TRACESMITH_SANITIZE") else 1  # as in tests/cli/support.py
FOLDER = tempfile.mkdtemp()
KINDS = {"function-enter": xray.ENTER, "function-exit": xray.EXIT, "function-tail-exit": xray.TAIL_EXIT,
         "function-enter-arg": xray.ENTER_ARGUMENT, "custom-event": xray.CUSTOM, "typed-event": xray.TYPED}


def check(right, *what):
    if not right:
        print("not true:", *what)
        sys.exit(1)


def check_option(path, binary, environment):
    """--binary does what the variable does, and goes before it."""
    outcomes = []
    for options, variable in (([], binary), (["--binary", binary], None), (["--binary", binary], "/nonexistent/other")):
        changed = {**{k: v for k, v in environment.items() if k != "TRACESMITH_BINARY"},
                   **({"TRACESMITH_BINARY": variable} if variable else {})}
        for command in (["export", "-f", "chrome"], ["info"], ["import", "-o", "-"]):
            done = subprocess.run([TRACESMITH, *command, *options, path], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=240, env=changed, stdin=subprocess.DEVNULL)
            outcomes.append((command[0], done.returncode, done.stdout, done.stderr))
    check(outcomes[:3] == outcomes[3:6] == outcomes[6:], "--binary", binary)


def view(path, binary=None, code=0, stdin=None):
    environment = {k: v for k, v in os.environ.items() if k != "TRACESMITH_BINARY"}
    if binary:
        environment["TRACESMITH_BINARY"] = binary
        check_option(path, binary, environment)
    done = subprocess.run([TRACESMITH, "view", "-f", "json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=240, env=environment, stdin=stdin)
    check(code is None or done.returncode == code, path, "gave", done.returncode, done.stderr.decode())
    check(done.returncode in range(64), path, "gave", done.returncode)
    return (json.loads(done.stdout) if done.stdout else None), done.stderr.decode()


def texts(document):
    return "\n".join(e.get("text", "") for e in document["events"] if e["kind"] == "loss")


def write(name, content):
    path = os.path.join(FOLDER, name)
    with open(path, "wb") as out:
        out.write(content)
    return path


def compare(path, records, frequency, names=None, binary=None):
    document, _ = view(path, binary)
    wanted, entries, orphans = xray.events(records, frequency, names)
    got = xray.actual(document)
    check(wanted == got, path, "lacks", [sorted(map(str, e)) for e in list(wanted - got)[:2]], "\nhas too much",
          [sorted(map(str, e)) for e in list(got - wanted)[:2]])
    said = texts(document)
    check(("%d calls that were entered and not left" % entries in said) == (entries > 0), entries, said)
    check(("%d exits of functions" % orphans in said) == (orphans > 0), orphans, said)
    return document


def make(seed, version, kind, threads=3, calls=60):
    """Buffers of records: nested calls, tail exits, moves between processors, long pauses, calls that never end."""
    r = random.Random(seed)
    buffers, tsc = [], 10**12
    pid = 4242 if version >= 3 else 0
    for tid in range(7000, 7000 + threads):
        for _ in range(2 if kind else 1):
            records, stack, cpu = [], [], r.randrange(64)
            for _ in range(calls):
                tsc += r.choice([1, 7, 1000, 2**33 if r.random() < 0.05 else 3])
                cpu = r.randrange(64) if r.random() < 0.1 else cpu
                choice = r.random()
                if choice < 0.05:
                    # A function of its own: an exit without an entry.
                    records.append(xray.Record(xray.EXIT, 900, tsc, cpu, pid, tid))
                elif choice < 0.1 and kind:
                    # Typed events are new in version 5.
                    typed = version >= 5 and r.random() < 0.5
                    records.append(xray.Record(xray.TYPED if typed else xray.CUSTOM, 0, tsc, cpu if version >= 4 or typed
                                               else cpu, pid, tid, [], b"event %d" % tsc, 77 if typed else 0))
                elif choice < 0.55 or not stack:
                    function = r.randrange(1, 30)
                    args = [r.randrange(2**64)] if r.random() < 0.2 and version >= 2 else []
                    records.append(xray.Record(xray.ENTER_ARGUMENT if args else xray.ENTER, function, tsc, cpu, pid, tid,
                                               args))
                    stack.append(function)
                else:
                    skip = 1 if len(stack) > 1 and r.random() < 0.05 else 0
                    del stack[len(stack) - skip:]
                    records.append(xray.Record(r.choice([xray.EXIT, xray.EXIT, xray.TAIL_EXIT]), stack.pop(), tsc, cpu,
                                               pid, tid))
            buffers.append(records)
    return buffers


def test_versions():
    for version, kind in [(v, 0) for v in (1, 2, 3)] + [(v, 1) for v in (1, 2, 3, 4, 5)]:
        for frequency in (2300000000, 1000000000, 0):
            buffers = make(version * 10 + kind, version, kind)
            records = [record for buffer in buffers for record in buffer]
            if kind:
                order = list(buffers)
                random.Random(5).shuffle(order)  # the queue's order is not that of time
                log = xray.recorder(version, frequency, order, 4096)
            else:
                records.sort(key=lambda record: record.tsc)
                log = xray.basic(version, frequency, records)
            path = write("log-%d-%d" % (version, kind), log)
            document = compare(path, records, frequency)
            check("functions are numbers" in texts(document), texts(document))
            check(("times are its ticks" in texts(document)) == (frequency == 0), texts(document))
            if frequency and kind == 0:
                written = [record for record in convert(path)[0]] if shutil.which("llvm-xray-14") else None
                check(written is None or strip(written) == strip(records), "llvm-xray reads what was written")


def strip(records):
    return [(r.kind, r.function, r.tsc, r.cpu, r.tid, r.args) for r in records]


def test_damage():
    buffers = make(1, 5, 1)
    log = xray.recorder(5, 2300000000, buffers)
    whole = xray.actual(view(write("whole", log))[0])
    for cut in (33, 40, 100, 1000, len(log) - 1):
        document, said = view(write("cut", log[:cut]), code=None)
        check(document and "ends within" in said + texts(document), cut, said)
        check(sum(xray.actual(document).values()) <= sum(whole.values()), cut)
    basic = xray.basic(3, 10**9, make(2, 3, 0)[0])
    document, said = view(write("cut", basic[:-5]), code=None)
    check("ends within" in said + texts(document), said)
    # Garbage between two buffers is passed over; an unknown record ends its buffer and is counted.
    content = xray.recorder(5, 10**9, buffers[:1]) + b"\x00\x02\x04" * 9 + xray.recorder(5, 10**9, buffers[1:])[32:]
    document, _ = view(write("garbage", content))
    wanted, _, _ = xray.events([r for b in buffers for r in b], 10**9)
    check(xray.actual(document) == wanted and "could not be read" in texts(document), "garbage", texts(document))
    state = random.Random(3)
    for source in (log, basic, xray.recorder(1, 10**9, make(4, 1, 1), 4096)):
        for _ in range(15 // EVERY):
            damaged = bytearray(source)
            for _ in range(10):
                damaged[state.randrange(32, len(damaged))] = state.randrange(256)
            view(write("damaged", damaged), code=None)
    document, said = view(write("empty-log", log[:32]))
    check(not xray.actual(document), said)
    for text in (b"\x01\x00\x00\x00", b"\x09\x00\x01\x00" + b"\0" * 60, b"\x05\x00\x01\x00" + b"\xff" * 60):
        document, said = view(write("none", text), code=None)
        check(document is None and "none" in said, text, said)


def test_pipe():
    path = write("piped", xray.recorder(5, 10**9, make(9, 5, 1)))
    with open(path, "rb") as data:
        cat = subprocess.Popen(["cat"], stdin=data, stdout=subprocess.PIPE)
        document, _ = view("-", stdin=cat.stdout)
        cat.wait()
    check(xray.actual(document) == xray.actual(view(path)[0]), "the same out of a pipe")


def test_no_map():
    path = write("log", xray.basic(3, 10**9, make(2, 3, 0)[0]))
    for binary, why in ((path + ".nonexistent", "nonexistent"), (path, "not a 64-bit ELF"), ("/bin/sh", "instrumentation map")):
        document, said = view(path, binary, code=None)
        check(document is None and why in said, binary, said)


def elf(functions, relocated):
    """A program with a map of the old form (absolute addresses, or zeros with relocations) and symbols."""
    strings = b"\0" + b"".join(name.encode() + b"\0" for name, _ in functions)
    names = b"\0xray_instr_map\0.rela.dyn\0.symtab\0.strtab\0.shstrtab\0"
    sleds, relocations, symbols, at = b"", b"", bytes(24), 1
    for name, address in functions:
        for kind in (0, 1):
            place = 0x5000 + len(sleds)
            sleds += struct.pack("<QQBBB13x", address + kind, 0 if relocated else address, kind, 1, 0)
            relocations += struct.pack("<QQq", place + 8, 8, address)  # R_X86_64_RELATIVE
        symbols += struct.pack("<IBBHQQ", at, 2, 0, 1, address, 16)
        at += len(name) + 1
    contents = [b"", sleds, relocations if relocated else b"", symbols, strings, names]
    types = [0, 1, 4, 2, 3, 3]
    out, heads, offset = b"", b"", 64
    for index, (content, kind) in enumerate(zip(contents, types)):
        title = names.index([b"\0", b"xray_instr_map", b".rela.dyn", b".symtab", b".strtab", b".shstrtab"][index])
        heads += struct.pack("<IIQQQQIIQQ", title, kind, 2, 0x5000 if index == 1 else 0, offset, len(content),
                             4 if index == 3 else 0, 0, 8, 24)
        out += content
        offset += len(content)
    return struct.pack("<4sBBB9xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 3, 62, 1, 0, 0, offset, 0, 64, 56, 0, 64,
                       len(contents), 5) + out + heads


def test_old_map():
    functions = [("first", 0x1000), ("second", 0x1040), ("_Z5thirdv", 0x1100)]
    records = [r for r in make(2, 3, 0, calls=200)[0]]
    path = write("log", xray.basic(3, 10**9, records))
    for relocated in (False, True):
        program = write("program", elf(functions, relocated))
        names = {i + 1: name for i, name in enumerate(("first", "second", "third()"))}
        compare(path, records, 10**9, names, program)
    whole = elf(functions, True)
    state = random.Random(8)
    for _ in range(60 // EVERY):
        damaged = bytearray(whole[:state.randrange(64, len(whole))] if state.random() < 0.3 else whole)
        for _ in range(6):
            damaged[state.randrange(len(damaged))] = state.randrange(256)
        view(path, write("program", damaged), code=None)


def convert(path, binary=None):
    """Records and frequency of a log as llvm-xray reads it."""
    command = ["llvm-xray-14", "convert", "-f", "yaml", path] + (["-m", binary, "-symbolize"] if binary else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)
    check(done.returncode == 0, command, done.stderr.decode()[-500:])
    text = done.stdout.decode()
    frequency = int(re.search(r"cycle-frequency: (\d+)", text).group(1))
    records = []
    for line in text.splitlines():
        found = re.match(r"\s*- \{ type: (\d+), func-id: (-?\d+), function: (.*?), (?:args: \[ (.*?) \], )?cpu: (\d+), "
                         r"thread: (\d+), (?:process: (\d+), )?kind: ([a-z-]+), tsc: (\d+), data: '?(.*?)'? \}$", line)
        if not found:
            check("func-id" not in line, "not understood:", line)
            continue
        kind, function, _, args, cpu, tid, pid, what, tsc, data = found.groups()
        records.append(xray.Record(KINDS[what], int(function), int(tsc), int(cpu), int(pid or 0), int(tid),
                                   [int(a) for a in args.split(", ")] if args else [], data.encode(), int(kind)))
    return records, frequency


def names_of(program):
    """Function ids to symbols, as llvm-xray extracts and nm names them."""
    done = subprocess.run(["llvm-xray-14", "extract", program], stdout=subprocess.PIPE, check=True)
    symbols = {}
    for line in subprocess.run(["nm", "-C", program], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines():
        parts = line.split(None, 2)
        if len(parts) == 3 and parts[1] in "tTwW":
            symbols.setdefault(int(parts[0], 16), set()).add(parts[2])
    names = {}
    for line in done.stdout.decode().splitlines():
        found = re.match(r"- \{ id: (\d+), address: \w+, function: (\w+),", line.strip())
        if found:
            names[int(found.group(1))] = symbols[int(found.group(2), 16)]
    return names


def test_real():
    program = os.path.join(FOLDER, "program")
    source = os.path.join(SOURCE, "tests", "import", "xray_program.cc")
    for flags in ([], ["-fno-pie", "-no-pie"], ["-O2"]):
        built = subprocess.run(["clang++-14", "-fxray-instrument", "-fxray-modes=xray-basic,xray-fdr", *flags, source,
                                "-o", program, "-pthread"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if built.returncode:
            print("skipped: clang++-14 cannot build with XRay's runtime:", built.stdout.decode()[-300:])
            sys.exit(77)
        names = names_of(program)
        check(all(len(found) == 1 for found in names.values()) and len(names) > 4, names)
        names = {function: next(iter(found)) for function, found in names.items()}
        for mode in ("xray-basic", "xray-fdr"):
            done = subprocess.run([program, mode, "40"], cwd=FOLDER, stderr=subprocess.PIPE, timeout=240,
                                  env=dict(os.environ, XRAY_OPTIONS="patch_premain=false xray_logfile_base=%s-" % mode))
            check(done.returncode == 0, mode, "gave", done.returncode, done.stderr.decode())
            path = next(os.path.join(FOLDER, f) for f in sorted(os.listdir(FOLDER)) if f.startswith(mode))
            records, frequency = convert(path)
            check(len(records) > 500, mode, len(records))
            compare(path, records, frequency, names, program)
            compare(path, records, frequency)
            os.unlink(path)


def main():
    try:
        if sys.argv[1:] == ["real"]:
            for tool in ("clang++-14", "llvm-xray-14", "nm"):
                if not shutil.which(tool):
                    print("skipped: no", tool)
                    sys.exit(77)
            test_real()
            return
        for name, test in sorted(globals().items()):
            if name.startswith("test_") and name != "test_real":
                test()
    finally:
        shutil.rmtree(FOLDER)


main()
