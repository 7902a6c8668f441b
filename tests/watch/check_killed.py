# SPDX-License-Identifier: Apache-2.0
"""Tracesmith is killed while it watches: recover finds what the kernel had told by then, with its stacks, says that the rest is
lost, and leaves nothing behind; the program goes on. The same of logs of XRay, whose folder the session names."""
import glob
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

TRACESMITH, BUILD = os.environ["TRACESMITH"], os.environ["TRACESMITH_BUILD_DIR"]
WAITS = os.path.join(BUILD, "tests", "programs", "waits")
OFF_CPU = 1  # the type of a record
CLOCK_NANOSLEEP = (230, 115)  # its number, on x86-64 and aarch64


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def run(*arguments):
    return subprocess.run([TRACESMITH, *arguments], stdout=subprocess.PIPE, check=True).stdout


class Killed:
    """A recording of `program` that waits after it, to be killed. `heard` is given each line that the program says."""

    def __init__(self, path, options, *program, heard=lambda recording, line: None):
        script = 'echo "$TRACESMITH_SESSION"; "$@" || exit 1; echo; echo done; read line; echo went on'
        self.profile = subprocess.Popen([TRACESMITH, "profile", *options, "-o", path, "sh", "-c", script, "sh", *program],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.session = self.profile.stdout.readline().decode().strip()
        if not self.session:
            error = self.profile.communicate()[1].decode()
            if self.profile.returncode == 4:
                skip(error)
            raise AssertionError(error)
        self.said = []
        while not self.said or self.said[-1] != b"done\n":
            self.said.append(self.profile.stdout.readline())
            assert self.said[-1], self.said
            heard(self, self.said[-1])

    def tell(self, what):
        self.profile.stdin.write(what)
        self.profile.stdin.flush()

    def kill(self):
        self.profile.kill()
        self.profile.wait()
        self.tell(b"go\n")
        assert self.profile.stdout.readline() == b"went on\n", "the program does not go on"
        self.profile.stdout.read()  # until it has ended
        assert os.path.isdir(self.session), "the session is gone"

    def recover(self, path):
        run("recover", self.session, "-o", path)
        if os.path.exists(self.session):
            run("recover", "--remove", self.session)
        assert not os.path.exists(self.session), "the session was left behind"


def sleeps_in(path):
    """How many sleeps of the clock each thread has in the spool."""
    found, at = {}, 0
    with open(path, "rb") as file:
        data = file.read()
    while at + 8 <= len(data):
        size = struct.unpack_from("<I", data, at)[0]
        at += 8
        if at + size > len(data):
            break
        kind, _, tid = struct.unpack_from("<III", data, at)
        if kind == OFF_CPU:
            state, call = struct.unpack_from("<Ii", data, at + 40)
            found[tid] = found.get(tid, 0) + (state != 0 and call in CLOCK_NANOSLEEP)
        at += size
    return found


def check_watch(work):
    said, slept_of = {}, {}

    # The kernel's records come into the file while the program runs. The code of a process can be looked up only
    # while it exists: it is held until all of its stacks are in the file.
    def wait_for_stacks(recording, line):
        if b"sleeps" not in line:
            return
        ((name, role),) = json.loads(line.rstrip(b",\n") + b"}" if line.startswith(b"{") else b"{" + line).items()
        said[name] = role
        # The kernel's own count of a thread's waits, which is less than its sleeps where one was over before it began.
        slept_of[role["tid"]] = sum(wait[2] for wait in role["sleeps"])
        spool, until = os.path.join(recording.session, "kernel.watch"), time.monotonic() + 60
        while sleeps_in(spool).get(role["tid"], 0) < slept_of[role["tid"]]:
            assert time.monotonic() < until, sleeps_in(spool)
            time.sleep(0.02)
        recording.tell(b"x")

    recording = Killed(os.path.join(work, "w.sbt"), ("--sched", "--stacks"), WAITS, "--hold", heard=wait_for_stacks)
    assert set(said) == {"child", "parent"}, said.keys()
    recording.kill()
    recovered = os.path.join(work, "w.recovered.sbt")
    recording.recover(recovered)
    trace = json.loads(run("view", "--stacks", "-f", "json", recovered))
    tids = {track["id"]: track.get("tid") for track in trace["tracks"]}
    for role in said.values():
        slept = sorted((e for e in trace["events"] if e["kind"] == "off_cpu" and tids[e["track"]] == role["tid"]
                        and e.get("name") == "clock_nanosleep" and e["operation"] == "sleeping"),
                       key=lambda e: e["start"])
        assert len(slept) == slept_of[role["tid"]] > 0, (len(slept), slept_of)
        for event in slept:
            end = event["start"] + event["duration"]
            assert any(before - 2000 <= event["start"] <= after and (end <= after + 2000 or event.get("certainty") == "inferred")
                       for before, after, _, _ in role["sleeps"]), (event, role["sleeps"])
            names = [frame.get("function", "") for frame in event.get("frames", [])]
            if os.uname().machine == "x86_64":
                assert "run" in names and "main" in names, names
    assert [e for e in trace["events"] if e["kind"] == "loss" and e["reason"] == "process_died"]


def build_steps(work):
    source, program = os.path.join(work, "steps.c"), os.path.join(work, "steps")
    with open(source, "w") as file:
        file.write("__attribute__((noinline, xray_always_instrument)) int step(int x) { return x * 3; }\n"
                   "int main(void) { int sum = 0; for (int i = 0; i < 500; i++) sum += step(i); return sum == 1; }\n")
    for clang in ("clang", "clang-14"):
        if shutil.which(clang) and subprocess.run(
                [clang, "-O1", "-fxray-instrument", "-fxray-instruction-threshold=1000", "-fxray-ignore-loops",
                 "-o", program, source], stderr=subprocess.DEVNULL).returncode == 0:
            return program
    return None


def check_xray(work):
    program = build_steps(work)
    if not program:
        return False
    os.environ["TMPDIR"] = work
    recording = Killed(os.path.join(work, "x.sbt"), ("--xray",), program)
    recording.kill()
    recovered = os.path.join(work, "x.recovered.sbt")
    recording.recover(recovered)
    calls = [e for e in json.loads(run("view", "-f", "json", recovered))["events"] if e["kind"] == "host_function"]
    assert len(calls) == 500, len(calls)
    left = glob.glob(os.path.join(work, "tracesmith-xray-*"))
    assert not left, left
    return True


def main():
    with tempfile.TemporaryDirectory() as work:
        logged = check_xray(work)
        if os.path.exists(os.path.join(BUILD, "lib", "tracesmith", "libtracesmith-bpf.so")):
            check_watch(work)
        elif not logged:
            skip("built without libbpf, and no clang with the runtime of XRay")


main()
