# SPDX-License-Identifier: Apache-2.0
"""watch.py SECONDS COMMAND...: runs COMMAND with its exit status. If it is not done in time, prints where each of its processes
and threads is (what the system knows, native stacks with gdb or eu-stack, the stacks of Python), ends them and fails. Without
this a test that hangs ends by ctest's timeout, which says nothing."""
import glob
import os
import shutil
import signal
import subprocess
import sys


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def family(root):
    """Process ids of `root`, its descendants and its session, the oldest first."""
    parents, sessions = {}, {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        fields = read(path).rpartition(")")[2].split()
        if len(fields) > 3:
            pid = int(path.split("/")[2])
            parents[pid], sessions[pid] = int(fields[1]), int(fields[3])
    found = {pid for pid, session in sessions.items() if session == root} | {root}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return sorted(found & parents.keys())
        found |= more


def show(pid):
    """`system call` is its number with arguments, as in /proc/PID/syscall."""
    print(f"== process {pid}: {read(f'/proc/{pid}/cmdline')[:1000]}")
    for task in sorted(glob.glob(f"/proc/{pid}/task/*")):
        state = read(task + "/stat").rpartition(")")[2].split()[:1]
        print(f"thread {os.path.basename(task)} {read(task + '/comm')}, state {' '.join(state)}, waits in "
              f"{read(task + '/wchan') or '?'}, system call {read(task + '/syscall') or '?'}")
    for command in (["gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-ex", "thread apply all bt 30", "-p", str(pid)],
                    ["eu-stack", "-n", "30", "-p", str(pid)]):
        if shutil.which(command[0]):
            try:
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
                print(done.stdout.decode(errors="replace"))
            except subprocess.TimeoutExpired:
                print(f"{command[0]} did not answer")
            return


def end(child, signals=(signal.SIGABRT, signal.SIGKILL)):
    """Ends the youngest first, so that the stack of a parent that waits for it is printed as well."""
    for number in signals:
        for pid in reversed(family(child.pid)):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            pass


def main():
    # Python prints the stacks of all its threads when SIGABRT ends it, in every process.
    child = subprocess.Popen(sys.argv[2:], env={**os.environ, "PYTHONFAULTHANDLER": "1"}, start_new_session=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        return child.wait(float(sys.argv[1]))
    except subprocess.TimeoutExpired:
        print(f"not done after {sys.argv[1]} s; processes and threads:")
        for pid in family(child.pid):
            show(pid)
        sys.stdout.flush()
        end(child)
        return 1
    finally:
        if child.poll() is None:
            end(child, (signal.SIGKILL,))


if __name__ == "__main__":
    status = main()
    sys.exit(status if status >= 0 else 128 - status)
