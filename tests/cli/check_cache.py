# SPDX-License-Identifier: Apache-2.0
"""The cache of imported traces: answers with it are those without it, and a cache that is wrong in any way only costs time.

A run whose TMPDIR is not there cannot import: what it answers all the same came out of the cache.
"""
import glob
import json
import os
import shutil
import stat
import subprocess
import tempfile

from support import TRACESMITH, check, run

QUESTIONS = (["view", "--stats", "--json"], ["view", "-f", "csv"], ["info", "--json"], ["analyze", "--json"])


def write(path, events, scale):
    with open(path, "w") as out:
        json.dump({"traceEvents": [
            {"ph": "X", "cat": "kernel", "name": "k%02d" % (i % 23), "pid": 1, "tid": i % 4, "ts": 10 * i,
             "dur": 1 + (i * scale) % 9, "args": {"stream": i % 4, "n": "%06d" % (i * scale % 1000003)}}
            for i in range(events)]}, out)


class Case:
    def __init__(self, directory):
        self.home = os.path.join(directory, "cache")
        self.folder = os.path.join(self.home, "tracesmith", "imports")
        self.trace = os.path.join(directory, "trace.json")
        self.nowhere = os.path.join(directory, "nowhere")

    def environment(self, **more):
        return dict({"TRACESMITH_NO_CACHE": "", "XDG_CACHE_HOME": self.home}, **more)

    def ask(self, question, *options, **more):
        done = run(question[0], self.trace, *question[1:], *options, env=self.environment(**more))
        return done.stdout

    def entries(self):
        return sorted(glob.glob(os.path.join(self.folder, "*")))

    def check_right(self, what):
        """What is answered is what an import answers."""
        for question in QUESTIONS:
            check(self.ask(question) == self.ask(question, "--no-cache"), "%s: %s" % (what, question))

    def check_kept(self, what):
        done = run("view", self.trace, "--stats", code=None, env=self.environment(TMPDIR=self.nowhere))
        check(done.returncode == 0, what + ": the answer comes from the cache: " + repr(done.stderr))

    def check_not_kept(self, what, *options, **more):
        done = run("view", self.trace, "--stats", *options, code=None,
                   env=self.environment(TMPDIR=self.nowhere, **more))
        check(done.returncode != 0 and b"temporary file" in done.stderr, what + ": the trace is imported")

    def fresh(self):
        shutil.rmtree(self.home, ignore_errors=True)


def check_answers(case):
    without = [case.ask(question, "--no-cache") for question in QUESTIONS]
    case.check_not_kept("at first")
    check(case.entries() == [], "a failed import leaves nothing in the cache")
    check([case.ask(question) for question in QUESTIONS] == without, "the first answers")
    check([case.ask(question) for question in QUESTIONS] == without, "the answers from the cache")
    case.check_kept("afterwards")
    case.check_not_kept("--no-cache", "--no-cache")
    case.check_not_kept("TRACESMITH_NO_CACHE", TRACESMITH_NO_CACHE="1")
    check(len(case.entries()) == 1, "one entry")
    check(stat.S_IMODE(os.stat(case.entries()[0]).st_mode) == 0o600, "entries are the user's own")
    check(stat.S_IMODE(os.stat(case.folder).st_mode) == 0o700, "and so is the folder")


def check_changed(case):
    case.ask(QUESTIONS[0])
    before = os.stat(case.trace)
    old = case.ask(QUESTIONS[0])
    with open(case.trace, "r+b") as file:
        text = file.read()
        at = text.index(b'"name": "k05"')
        file.seek(at)
        file.write(b'"name": "zzz"')
    os.utime(case.trace, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = os.stat(case.trace)
    check((before.st_size, before.st_mtime_ns, before.st_ino) == (after.st_size, after.st_mtime_ns, after.st_ino),
          "only the content tells the change")
    check(case.ask(QUESTIONS[0]) != old, "a changed file is not answered from the entry of the old one")
    case.check_right("changed")


def check_damaged(case):
    for damage in ("byte", "cut", "empty"):
        case.fresh()
        case.ask(QUESTIONS[0])
        (entry,) = case.entries()
        size = os.path.getsize(entry)
        with open(entry, "r+b") as file:
            if damage == "byte":
                file.seek(size // 2)
                byte = file.read(1)[0]
                file.seek(size // 2)
                file.write(bytes([byte ^ 1]))
            else:
                file.truncate(size // 2 if damage == "cut" else 0)
        case.check_not_kept("entry damaged: " + damage)
        case.check_right("entry damaged: " + damage)
        case.check_kept("entry replaced: " + damage)


def check_unusable(case):
    case.fresh()
    with open(case.home, "w"):
        pass
    case.check_right("the cache is a file")
    os.unlink(case.home)
    os.makedirs(case.folder)
    os.chmod(case.folder, 0o755)
    case.check_right("others may read the cache")
    check(case.entries() == [], "nothing is put where others can read it")
    os.rmdir(case.folder)
    elsewhere = case.home + "-elsewhere"
    os.mkdir(elsewhere, 0o700)
    os.symlink(elsewhere, case.folder)
    case.check_right("the cache is a link")
    check(os.listdir(elsewhere) == [], "a link is not followed")
    os.unlink(case.folder)
    os.mkdir(case.folder, 0o500)
    case.check_right("the cache cannot be written to")  # by users; root can
    os.chmod(case.folder, 0o700)
    case.fresh()


def check_full(case):
    """A file system with no room, where one can be mounted."""
    case.fresh()
    os.makedirs(case.folder)
    script = 'mount -t tmpfs -o size=16k,mode=0700 none "$1" && shift && exec "$@"'
    mount = ["unshare", "-rm", "sh", "-c", script, "sh", case.folder]
    if not shutil.which("unshare") or subprocess.run([*mount, "true"], stderr=subprocess.DEVNULL).returncode:
        print("not tried: a full disk (no mount namespaces here)")
        return
    environment = dict(os.environ, **case.environment())
    done = subprocess.run([*mount, TRACESMITH, "view", case.trace, "--stats", "--json"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode == 0 and done.stderr == b"", "a full cache is no failure: " + repr(done.stderr))
    check(done.stdout == case.ask(QUESTIONS[0], "--no-cache"), "a full cache: the answer")


def check_together(case):
    case.fresh()
    expected = case.ask(QUESTIONS[0], "--no-cache")
    environment = dict(os.environ, **case.environment())
    running = [subprocess.Popen([TRACESMITH, "view", case.trace, "--stats", "--json"], env=environment,
                                stdout=subprocess.PIPE) for _ in range(6)]
    answers = [process.communicate()[0] for process in running]
    check(all(answer == expected for answer in answers), "runs at once all have the answer")
    check(len(case.entries()) == 1, "and leave one entry: " + repr(case.entries()))
    case.check_kept("after runs at once")


def check_left(case):
    """What a killed run left is removed by the next one that keeps something, other people's files are not."""
    case.fresh()
    os.makedirs(case.folder, mode=0o700)
    old, other = (os.path.join(case.folder, name) for name in ("unfinished-0123456789abcdef", "notes.txt"))
    for path in (old, other):
        with open(path, "w") as file:
            file.write("x")
        os.utime(path, (1, 1))
    case.ask(QUESTIONS[0])
    check(not os.path.exists(old) and os.path.exists(other), "what a killed run left")
    check(len(case.entries()) == 2, "and the entry is there")


def main():
    with tempfile.TemporaryDirectory() as directory:
        case = Case(directory)
        write(case.trace, 12_000, 7)
        check(os.path.getsize(case.trace) > 1 << 20, "the trace is large enough to be kept")
        check_answers(case)
        check_changed(case)
        check_damaged(case)
        check_unusable(case)
        check_full(case)
        check_together(case)
        check_left(case)


main()
