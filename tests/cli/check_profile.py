# SPDX-License-Identifier: Apache-2.0
"""profile: the program runs as it would alone, and what came of it is said."""
import ctypes
import json
import os
import select
import signal
import stat
import subprocess
import sys
import tempfile

from support import BUILD, TRACESMITH, check, run, skip

LOOP = os.path.join(BUILD, "tests", "programs", "cl_launch_loop")


def profile(*args, code, **options):
    return run("profile", *args, code=code, **options)


def check_exit_codes(directory):
    done = profile("sh", "-c", "exit 7", code=7, cwd=directory)
    check(b"used none of the recorded GPU APIs" in done.stderr and b"(OpenCL, CUDA, ROCm, Vulkan, OpenMP offloading, OpenACC)" in done.stderr, "says that no GPU API was seen in use")
    try:
        driver = ctypes.CDLL("libcuda.so.1") is not None
    except OSError:
        driver = False
    check((b"libcuda.so.1" in done.stderr) is not driver, "and whether there is a driver: %s" % done.stderr)
    check(all(reason in done.stderr for reason in (b"env -i", b"setpriv", b"set-user-ID")), "and what keeps one from being seen")
    check(os.path.exists(os.path.join(directory, "trace.sbt")), "trace.sbt is the default")
    check(run("info", "--json", os.path.join(directory, "trace.sbt")), "its trace is whole")
    done = profile("--json", "sh", "-c", "kill -9 $$", code=137, cwd=directory)
    summary = json.loads(done.stderr)
    check(summary["exit_code"] == 137 and summary["used_gpu_api"] is False, "JSON summary")
    done = profile("--", "cat", code=0, cwd=directory, input=b"through\n")
    check(done.stdout == b"through\n", "standard input and output are the program's")


def check_untouched(directory):
    """Signals, descriptors and the environment are as without us, but for the injection."""
    for command in (["grep", "^Sig[BIC]", "/proc/self/status"], ["sh", "-c", "ls /proc/self/fd"]):
        bare = subprocess.run(command, stdout=subprocess.PIPE, cwd=directory, stdin=subprocess.DEVNULL).stdout
        traced = profile(*command, code=0, cwd=directory, stdin=subprocess.DEVNULL).stdout
        check(bare == traced, "%s: %r and not %r" % (command, traced, bare))
    names = {line.split(b"=")[0] for line in profile("env", code=0, cwd=directory).stdout.splitlines()}
    added = names - {name.encode() for name in os.environ}
    for name in added - {b"_"}:
        check(name.startswith((b"TRACESMITH_", b"OPENCL_LAYERS", b"LD_PRELOAD", b"NVTX_INJECTION64_PATH", b"NCCL_PROFILER_PLUGIN", b"CUDA_INJECTION64_PATH", b"MUSA_INJECTION64_PATH", b"OMP_TOOL_LIBRARIES", b"ACC_PROFLIB", b"VK_INSTANCE_LAYERS", b"VK_ADD_LAYER_PATH")), "added to the environment: %r" % name)


def check_signals(directory):
    # Blocked until it is waited for: one that comes before that is not slept through.
    program = ("import os, signal, sys\n"
               "signal.pthread_sigmask(signal.SIG_BLOCK, {int(sys.argv[1])})\n"
               "print('ready', flush=True)\n"
               "os._exit(9 if signal.sigwait({int(sys.argv[1])}) == int(sys.argv[1]) else 1)\n")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        child = subprocess.Popen([TRACESMITH, "profile", sys.executable, "-c", program, str(int(number))],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=directory)
        check(child.stdout.readline() == b"ready\n", "the program is ready")
        child.send_signal(number)
        child.communicate(timeout=60)
        check(child.returncode == 9, "signal %d is handed on: %d" % (number, child.returncode))


def check_lost_file(directory):
    """A program that removes the trace, or puts something else in its place: the trace is not announced."""
    path = os.path.join(directory, "lost.sbt")
    for command, left in (("rm lost.sbt", None), ("rm lost.sbt; echo mine >lost.sbt", b"mine\n"),
                          ("echo mine >other; mv other lost.sbt", b"mine\n")):
        done = profile("-o", path, "--", "sh", "-c", command, code=4, cwd=directory)
        check(b"lost.sbt was removed or replaced" in done.stderr and b"nothing lost" not in done.stderr, done.stderr)
        check(b"recover" not in done.stderr, "there is nothing to recover")
        if left:
            with open(path, "rb") as file:
                check(file.read() == left, "what is in its place is the program's")
            os.remove(path)
    profile("-o", path, "--", "mv", "lost.sbt", "kept.sbt", code=0, cwd=directory)
    check(run("info", "--json", os.path.join(directory, "kept.sbt")), "a trace that was moved is whole")


def check_refusals(directory):
    ran = os.path.join(directory, "ran")
    for output, code in ((os.path.join(directory, "missing", "t.sbt"), 4), (directory, 2), ("/dev/full", 4)):
        done = profile("-o", output, "touch", ran, code=code)
        check(not os.path.exists(ran), "nothing is run when %s cannot be written" % output)
        check(done.stderr.startswith(b"tracesmith: "), "a message")
    done = profile("-o", "/dev/null", "true", code=0)
    check(b"/dev/null: recorded" in done.stderr, "a summary where nothing can be read again: %s" % done.stderr)
    if os.geteuid() != 0:
        os.mkdir(os.path.join(directory, "read-only"), 0o500)
        profile("-o", os.path.join(directory, "read-only", "t.sbt"), "touch", ran, code=4)
        check(not os.path.exists(ran), "nothing is run when the directory is read-only")
    keep = os.path.join(directory, "keep.sbt")
    profile("-o", keep, "true", code=0)
    with open(keep, "rb") as file:
        before = file.read()
    profile("-o", keep, "tracesmith-no-such-program", code=127)
    # What was no file before is there afterwards: a link to a device here, and the device behind it. A link to a file
    # stays, and the file goes that was begun for nothing.
    link, device = os.path.join(directory, "link"), os.path.join(directory, "device")
    os.symlink("/dev/null", device)
    profile("-o", device, "tracesmith-no-such-program", code=127)
    check(os.path.islink(device) and stat.S_ISCHR(os.stat(device).st_mode), "a device was removed")
    os.symlink("begun.sbt", link)
    profile("-o", link, "tracesmith-no-such-program", code=127)
    check(os.path.islink(link) and not os.path.exists(link), "what was begun for nothing is left")
    with open(keep, "rb") as file:
        check(file.read() == before, "a misspelled program does not replace an earlier trace")


def check_launches(directory):
    path = os.path.join(directory, "loop.sbt")
    done = profile("-o", path, LOOP, "-n", "3000", code=None)
    if done.returncode == 4:
        print("no OpenCL device: the launches were not checked")
        return False
    check(done.returncode == 0, "the loop runs")
    truth = json.loads(done.stdout)
    info = json.loads(run("info", "--json", path).stdout)
    check(info["kinds"]["kernel"] == truth["launches"], "every launch is recorded")
    check(info["lost"]["total"] == 0, "nothing is lost")
    check(b"next: tracesmith view" in done.stderr, "says what to do next")
    events = json.loads(run("view", path, "-f", "json", "-t", "kernel").stdout)["events"]
    check(len(events) == truth["launches"] and {e["name"] for e in events} == {"tick"}, "by name")
    check("kernel" in run("view", path, "--timeline").stdout.decode(), "a timeline is drawn")
    return True


def check_left_behind(directory):
    """A process that outlives the program is recorded on, it is said, and a signal ends the recording."""
    path = os.path.join(directory, "left.sbt")
    stop, launched, lives = (os.path.join(directory, name) for name in ("stop", "launched", "lives"))
    os.mkfifo(launched)
    os.mkfifo(lives)
    script = ("(exec 9>'%s'; while '%s' -n 100 && [ -d '%s' ]; do echo 1<>'%s'; [ ! -e '%s' ] || exit 0; done) >/dev/null 2>&1 & exit 3" %
              (lives, LOOP, directory, launched, stop))
    told, ended = (os.open(name, os.O_RDONLY | os.O_NONBLOCK) for name in (launched, lives))
    child = subprocess.Popen([TRACESMITH, "profile", "-o", path, "sh", "-c", script], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
    try:
        said = child.stderr.readline()
        check(b"still recording" in said, "says what it waits for: %r" % said)
        check(select.select([told], [], [], 60)[0], "the loop has run once")
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
    finally:
        with open(stop, "w"):
            pass
        # It must not write into the folder that is removed next: its end closes the last writer.
        check(select.select([ended], [], [], 60)[0], "the loop ends")
        os.close(told)
        os.close(ended)
    check(child.returncode == 3, "the exit code is the program's: %d" % child.returncode)
    info = json.loads(run("info", "--json", path).stdout)
    check(info["complete"] is True and info["kinds"]["kernel"] > 100, "what it did until then is there")


def check_file_limit(directory):
    """A limit of file sizes that leaves no room for the session is named, and kills no process."""
    path, limited = os.path.join(directory, "limited.sbt"), ["sh", "-c", 'ulimit -f 8 && exec "$0" "$@"', TRACESMITH]
    done = subprocess.run(limited + ["profile", "-o", path, "true"], capture_output=True)
    check(done.returncode == 4 and b"RLIMIT_FSIZE" in done.stderr and b"ulimit -f" in done.stderr,
          "%d: %s" % (done.returncode, done.stderr))


def check_full_disk(directory):
    """The program goes on, keeps its exit code, what was written is readable, and no event is missing from the count."""
    small = os.path.join(directory, "small")
    os.mkdir(small)
    script = ("mount -t tmpfs -o size=64k none '%s' && cd '%s' || exit 77\n"
              "for policy in drop-newest block; do\n"
              "    '%s' profile --overflow $policy -o t.sbt sh -c \"'%s' -n 60000 >&2; exit 6\" 2>../err\n"
              "    echo code $?\n"
              "    grep -c 'No space left' ../err\n"
              "    '%s' info --json t.sbt 2>/dev/null || true\n"
              "    rm t.sbt\n"
              "done\n") % (small, small, TRACESMITH, LOOP, TRACESMITH)
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = done.stdout.decode().splitlines()
    if "code 6" not in lines:
        print("no mount of our own here: the full disk was not checked")
        return
    check(lines.count("code 6") == 2, "the program keeps its exit code: %s" % lines)
    check(lines.count("0") == 0, "the full disk is named")
    check(done.stdout.count(b'"complete":false') == 2, "the file says that it is not complete")
    check_full_disk_counts(directory, small)


def check_full_disk_counts(directory, small):
    """Events in the file and events that could not be written are together what the program makes where there is room."""
    def events_of(text):
        said = json.loads([line for line in text.splitlines() if line.startswith(b'{"trace"')][-1])
        check(said["lost"] == 0, "nothing was dropped: %s" % said)
        return said["events"] + said["unwritten"], said["unwritten"]

    record = "'%s' profile --json --overflow block -o t.sbt '%s' -n 60000" % (TRACESMITH, LOOP)
    whole = subprocess.run(["sh", "-c", "cd '%s' && %s" % (directory, record)], capture_output=True)
    made, unwritten = events_of(whole.stderr)
    check(unwritten == 0 and made > 60000, "a whole recording: %d events, %d unwritten" % (made, unwritten))
    for size in ("40k", "64k", "100k"):
        script = "mount -t tmpfs -o size=%s none '%s' && cd '%s' && %s" % (size, small, small, record)
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True)
        counted, unwritten = events_of(done.stderr)
        # A wait that finds its work done is no event: a few come and go from run to run. A batch has thousands of events.
        check(unwritten > 0 and abs(counted - made) <= 64, "disk of %s: %d events of %d, %d unwritten" %
              (size, counted, made, unwritten))


def main():
    with tempfile.TemporaryDirectory() as directory:
        check_exit_codes(directory)
        check_untouched(directory)
        check_signals(directory)
        check_lost_file(directory)
        check_refusals(directory)
        if not os.access(LOOP, os.X_OK):
            skip("no OpenCL test programs: only the rest was checked")
        if check_launches(directory):
            check_left_behind(directory)
        check_full_disk(directory)
        check_file_limit(directory)


main()
