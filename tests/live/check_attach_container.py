# SPDX-License-Identifier: Apache-2.0
"""attach: programs in containers. cl_steps makes a step for each byte that it reads, and the launches of a step have its number as their
size, so a file shows exactly which steps were recorded."""
import json
import os
import shutil
import subprocess
import sys

from attach_steps import Agents, Attached, Steps, check_file, own_libraries, threads, wait_for
from support import check, run, top_once

PROGRAMS, WORK = sys.argv[1:3]
ENTER = ["unshare", "-Ur", "--mount", "--pid", "--fork", "sh",
         os.path.join(os.path.dirname(os.path.abspath(__file__)), "container.sh")]


def inner(pid):
    """The process in the container: the child of unshare, which has become the program."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as children:
        return int(children.read().split()[0])


class Contained(Steps):
    def __init__(self, name, steps, prefix=None, **environment):
        self.root = os.path.join(WORK, name)
        for folder in (self.root, self.root + ".files"):
            os.mkdir(folder)
        shutil.copy(os.path.join(PROGRAMS, "cl_steps"), self.root + ".files")
        super().__init__(steps, prefix or [*ENTER, self.root], "/opt/cl_steps",
                         {**os.environ, "PROGRAMS_FOR_CONTAINER": self.root + ".files", **environment})
        self.pid = inner(self.process.pid)

    def sessions(self):
        return [os.path.join(folder, name) for folder in ("dev/shm", "tmp", "var/tmp", "run")
                for name in self.names("/proc/%d/root/%s" % (self.pid, folder)) if name.startswith("tracesmith")]

    @staticmethod
    def names(folder):
        return os.listdir(folder) if os.path.isdir(folder) else []


def check_recording(program, name, known_as):
    path = os.path.join(WORK, name)
    first = program.made + 1
    attached = Attached(program.pid, path)
    program.step(5)
    totals = top_once(attached.process, "--json", attached.process.pid)
    check("/root/" in json.loads(totals.stdout)["session"], totals.stdout)
    result = attached.stop()
    check_file(path, first, first + 4)
    check(result["pid"] == program.pid and result["how"] == "borrowed thread", result)
    processes = json.loads(run("info", "--json", path).stdout)["processes"]
    check([process["pid"] for process in processes] == [known_as], processes)
    check(program.sessions() == [], "what is left in the container: %s" % program.sessions())


def mappings(pid):
    with open("/proc/%d/maps" % pid) as maps:
        return sum("tracesmith" in line for line in maps)


def container():
    program = Contained("plain", 40)
    before = threads(program.pid)
    program.step(3)
    loaded = []
    for time in range(3):
        check_recording(program, "container.%d.sbt" % time, 1)
        wait_for(program.process, "no thread of ours is left", lambda: threads(program.pid) == before)
        loaded.append(mappings(program.pid))
        program.step(2)
    check(loaded[0] > 0 and loaded == loaded[:1] * 3, "libraries that stay loaded, after each recording: %s" % loaded)
    program.finish()


def updated():
    """The copies that stay loaded are of an earlier build."""
    program, agents = Contained("updated", 20), Agents(os.path.join(WORK, "agents"))
    path, loaded = os.path.join(WORK, "updated.sbt"), []
    for first in (1, 3, 5, 7):
        attached = Attached(program.pid, path, environment=agents.environment)
        program.step()
        attached.stop()
        check_file(path, first, first)
        program.step()
        loaded.append(own_libraries(program.pid))
        if first == 3:
            agents.update()
    check(loaded == [2, 2, 4, 4], "the copies of each build are loaded once: %s" % loaded)
    program.finish()


def no_programs_in_shared_memory():
    """As container engines mount it."""
    program = Contained("noexec", 10, SHM_OPTIONS=",noexec")
    program.step(2)
    attached = Attached(program.pid, os.path.join(WORK, "noexec.sbt"))
    check([os.path.dirname(path) for path in program.sessions()] == ["tmp"], program.sessions())
    program.step(3)
    attached.stop()
    check_file(os.path.join(WORK, "noexec.sbt"), 3, 5)
    program.finish()


def ends_meanwhile():
    """With its root and its mounts."""
    program = Contained("ends", 10)
    program.step(4)
    path = os.path.join(WORK, "ends.sbt")
    attached = Attached(program.pid, path)
    program.finish()
    attached.wait()
    check_file(path, 5, 10)
    ledger = json.loads(run("info", "--json", path).stdout)
    check("session directory" not in json.dumps(ledger), ledger)


def no_place():
    """A folder that is a link leads out of the container: it is not followed."""
    program = Contained("links", 3, LINKS="yes")
    path = os.path.join(WORK, "links.sbt")
    done = run("attach", program.pid, "-o", path, "-d", "0.1", code=4)
    check(b"sees other files (a container)" in done.stderr, done.stderr)
    check(not os.path.exists(path), "no file")
    program.finish()


container()
if not os.environ.get("TRACESMITH_SANITIZE"):  # which allows one copy of a library in a process
    updated()
no_programs_in_shared_memory()
ends_meanwhile()
no_place()
