# SPDX-License-Identifier: Apache-2.0
"""attach and programs that it must not touch, or that change under its hands: each is refused with what can be done, and ends as it would have
without; and what happens to a program whose recorder is killed."""
import ctypes
import os
import shutil
import signal
import subprocess
import sys

from support import TRACESMITH, check, run

PROGRAMS, WORK = sys.argv[1:3]
SANITIZED = bool(os.environ.get("TRACESMITH_SANITIZE"))
PATIENCE = ["--patience", "120s"]  # where only one outcome is right
TRIES = 6

# What it waits in is a word of its command line; "done" at the end of its input.
WAITS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void wait_for_input(int unused) {
    char byte;
    (void)unused;
    puts("waits");
    fflush(stdout);
    while (read(0, &byte, 1) == 1)
        ;
}

static int compare(const void *one, const void *other) {
    static int asked;
    if (!asked++)
        wait_for_input(0);
    return *(const int *)one - *(const int *)other;
}

static void filter(void) {
    struct sock_filter all[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    struct sock_fprog program = {1, all};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(3);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int numbers[] = {3, 1, 2};
    if (strcmp(how, "filter") == 0)
        filter();
    if (strcmp(how, "undumpable") == 0)
        prctl(PR_SET_DUMPABLE, 0);
    if (strcmp(how, "setuid") == 0 && setresuid(0, 65534, 0))
        return 3;
    if (strcmp(how, "handler") == 0) {
        signal(SIGUSR1, wait_for_input);
        raise(SIGUSR1);
    } else if (strcmp(how, "libc") == 0) {
        qsort(numbers, 3, sizeof *numbers, compare);
    } else if (strcmp(how, "loader") == 0) {
        if (!dlopen(argv[2], RTLD_NOW))
            return 3;
    } else if (strcmp(how, "exec") == 0) {
        for (int i = atoi(argv[2]); i > 0; i--) {
            char left[16];
            snprintf(left, sizeof left, "%d", i - 1);
            execl(argv[0], argv[0], "exec", left, (char *)NULL);
        }
        wait_for_input(0);
    } else {
        wait_for_input(0);
    }
    puts("done");
    return 0;
}
"""
# Runs a command that gets EPERM for the system call of this number, as from the filters of container engines.
FORBIDS = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv) {
    struct sock_filter all[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argc > 2 ? atoi(argv[1]) : 0, 0, 1),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof all / sizeof *all, all};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 3;
    execv(argv[2], argv + 2);
    return 3;
}
"""
CONSTRUCTOR = r"""
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void) {
    char byte;
    puts("waits");
    fflush(stdout);
    while (read(0, &byte, 1) == 1)
        ;
}
"""

# The driver's table of functions is read-only, and stays so until a byte comes.
READ_ONLY = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern int clGetPlatformIDs(unsigned, void *, void *);
static uintptr_t from;
static size_t size;
static int refuses;
enum { PAGE = 4096, TABLE_MOST = 2048 };

int mprotect(void *at, size_t bytes, int how) {
    if (refuses && (how & PROT_WRITE) && (uintptr_t)at < from + size && from < (uintptr_t)at + bytes)
        return errno = EACCES, -1;
    return syscall(SYS_mprotect, at, bytes, how);
}

int main(void) {
    void **platform;
    char byte;
    if (clGetPlatformIDs(1, &platform, 0))
        return 3;
    from = (uintptr_t)*platform & ~(uintptr_t)(PAGE - 1);
    size = (((uintptr_t)*platform + TABLE_MOST - from) | (PAGE - 1)) + 1;
    if (mprotect((void *)from, size, PROT_READ))
        return 3;
    refuses = 1;
    for (int i = 0; i < 2; i++) {
        puts("waits");
        fflush(stdout);
        if (read(0, &byte, 1) != 1)
            return 3;
        refuses = 0;
        mprotect((void *)from, size, PROT_READ | PROT_WRITE);
    }
    puts("done");
    return 0;
}
"""


def build(name, source, *options, compiler="cc"):
    path = os.path.join(WORK, name)
    with open(path + ".c", "w") as file:
        file.write(source)
    done = subprocess.run([compiler, "-O1", "-o", path, path + ".c", *options], stderr=subprocess.DEVNULL)
    return path if done.returncode == 0 else None


class Waiting:
    def __init__(self, *command, prefix=(), **options):
        self.process = subprocess.Popen([*prefix, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        self.pid = self.process.pid
        line = self.process.stdout.readline()
        check(line == b"waits\n", "%s waits: %r" % (command, line))

    def end(self):
        out, _ = self.process.communicate(timeout=120)
        check(self.process.returncode == 0 and out == b"done\n",
              "the program is unharmed: %s %s" % (self.process.returncode, out))


def refuse(program, *words, patience=PATIENCE, pid=None):
    path = os.path.join(WORK, "refused.sbt")
    done = run("attach", pid or program.pid, "-o", path, *patience, code=4)
    for word in words:
        check(word.encode() in done.stderr, "attach says %s, not '%s'" % (done.stderr, word))
    check(not os.path.exists(path), "no file")
    program.end()


def asleep(program):
    """The program, once its only thread waits: on a loaded machine that may be long after it said so."""
    state = "R"
    while state == "R" and program.process.poll() is None:
        os.sched_yield()
        with open("/proc/%d/stat" % program.pid) as file:
            state = file.read().rpartition(")")[2].split()[0]
    return program


def left_out(what):
    print("skipped: %s" % what)


# ---- what a program is


def kinds(plain):
    refuse(Waiting(plain, "filter"), "filter of system calls", "profile --armed", "seccomp=unconfined")
    refuse(Waiting(plain, "undumpable"), "may not be attached to") if os.geteuid() else None
    if os.geteuid() == 0:
        refuse(Waiting(plain, "setuid"), "has changed its user", "as that user")
    constructor = build("constructor.so", CONSTRUCTOR, "-shared", "-fPIC")
    short = ["--patience", "300ms"]
    refuse(asleep(Waiting(plain, "loader", constructor)), "it is in the loader", "try again", patience=short)
    refuse(asleep(Waiting(plain, "handler")), "signal handler", patience=short)
    refuse(asleep(Waiting(plain, "libc")), "libc has called the program", patience=short)
    musl = shutil.which("musl-gcc") and build("musl", WAITS.replace("#include <linux/filter.h>", "#define MUSL")
                                             .replace("#include <linux/seccomp.h>", "")
                                             .replace("    struct sock_filter all[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};\n"
                                                      "    struct sock_fprog program = {1, all};\n", "")
                                             .replace("if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, "
                                                      "SECCOMP_MODE_FILTER, &program))\n        _exit(3);", "_exit(3);"),
                                             compiler="musl-gcc")
    if musl:
        refuse(Waiting(musl), "uses musl", "profile")
    else:
        left_out("no musl-gcc (on Debian: apt install musl-tools)")


def forbidden(plain):
    """attach itself in a container whose filter refuses what it needs: the message names the option of the engine."""
    forbids, path = build("forbids", FORBIDS), os.path.join(WORK, "forbidden.sbt")
    for name, number in (("ptrace", 101), ("process_vm_readv", 310)):  # of x86-64, where alone attach can do it
        program = Waiting(plain)
        done = subprocess.run([forbids, str(number), TRACESMITH, "attach", str(program.pid), "-o", path, *PATIENCE], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode == 3:
            left_out("no filters of system calls here")
        else:
            check(done.returncode == 4 and b"may not use %s" % name.encode() in done.stderr and b"--cap-add SYS_PTRACE" in done.stderr, done.stderr)
        check(not os.path.exists(path), "no file")
        program.end()


def has_namespaces(prefix):
    found = shutil.which("unshare") and subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL).returncode == 0
    if not found:
        left_out("no namespace: %s" % " ".join(prefix))
    return found


def namespaces(plain):
    """With other rights or mounts a program is recorded; test_attach_container.sh has whole containers. Not where it has other clocks."""
    for prefix in (["unshare", "-U"], ["unshare", "-m"]):
        if has_namespaces(prefix):
            program = Waiting(plain, prefix=prefix)
            run("attach", program.pid, "-o", os.path.join(WORK, "namespace.sbt"), "-d", "0.1", *PATIENCE)
            program.end()
    prefix = ["unshare", "-T", "--fork"]
    if has_namespaces(prefix):
        program = Waiting(plain, prefix=prefix)
        with open("/proc/%d/task/%d/children" % (program.pid, program.pid)) as children:
            refuse(program, "time namespace", "in its container", pid=int(children.read()))


# ---- what happens to it meanwhile


def either(process, what):
    """Recorded or refused: it ends, and says which."""
    _, errors = process.communicate(timeout=120)
    check(process.returncode in (0, 4), "%s: attach gave %d: %s" % (what, process.returncode, errors))
    return errors


def execs(plain):
    """Replaces its program fifty times while attach looks at it."""
    path = os.path.join(WORK, "execs.sbt")
    for _ in range(TRIES):
        process = subprocess.Popen([plain, "exec", "50"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        attached = subprocess.Popen([TRACESMITH, "attach", str(process.pid), "-o", path, "-d", "0.3"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(process.stdout.readline() == b"waits\n", "it goes on")
        either(attached, "a program that replaces itself")
        out, _ = process.communicate(timeout=120)
        check(process.returncode == 0 and out == b"done\n", "unharmed: %s" % out)


class Steps:
    """cl_stress, which answers each byte once all of its threads have gone on."""

    def __init__(self, prefix=()):
        self.process = subprocess.Popen([*prefix, os.path.join(PROGRAMS, "cl_stress"), "-t", "4", "--rest", "5000"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        self.pid = self.process.pid
        self.process.stdout.readline()

    def go_on(self):
        self.process.stdin.write(b"x")
        check(self.process.stdout.readline().strip().isdigit(), "the program goes on")

    def threads(self):
        return sorted(os.listdir("/proc/%d/task" % self.pid))

    def until(self, condition):
        while self.process.poll() is None and not condition():
            os.sched_yield()
        check(self.process.poll() is None, "the program lives")

    def end(self):
        out, _ = self.process.communicate(timeout=120)
        check(self.process.returncode == 0 and out.endswith(b"all right\n"), "its results are right: %s" % out)


def dies():
    """Killed somewhere between the start of attach and its first events."""
    path = os.path.join(WORK, "dies.sbt")
    for number in range(TRIES):
        program = Steps()
        attached = subprocess.Popen([TRACESMITH, "attach", str(program.pid), "-o", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(number * number * 250):
            os.getppid()
        program.process.kill()
        program.process.wait()
        errors = either(attached, "a program that dies")
        check(b"recording" in errors or b"ended" in errors or b"no process" in errors or b"cannot be" in errors or b"borrowed" in errors or
              b"in time" in errors, errors)


def start(program, name):
    return subprocess.Popen([TRACESMITH, "attach", str(program.pid), "-o", os.path.join(WORK, name), *PATIENCE], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def read_only():
    """A table that cannot be written to: attach can be tried again."""
    program_path = build("read_only", READ_ONLY, "-rdynamic", "-l:libOpenCL.so.1")
    path = os.path.join(WORK, "read_only.sbt")
    program = Waiting(program_path)
    for _ in range(2):
        refused = run("attach", program.pid, "-o", path, *PATIENCE, code=4)
        check(b"cannot be written to" in refused.stderr, refused.stderr)
    program.process.stdin.write(b"x")
    program.process.stdin.flush()
    check(program.process.stdout.readline() == b"waits\n", "the program goes on")
    run("attach", program.pid, "-o", path, "-d", "0.2", *PATIENCE)
    program.process.stdin.write(b"x")
    program.end()


def two_at_once():
    program = Steps()
    before = program.threads()
    for _ in range(5):
        all_of_them = [subprocess.Popen([TRACESMITH, "attach", str(program.pid), "-o", os.path.join(WORK, "two%d.sbt" % i), "-d", "0.2"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE) for i in range(4)]
        for one in all_of_them:
            either(one, "several at once")
        program.go_on()
    program.until(lambda: program.threads() == before)
    program.end()


def owner_killed():
    program = Steps()
    before = program.threads()
    for name in ("killed.sbt", "again.sbt"):
        attached = start(program, name)
        check(b"recording" in attached.stderr.readline(), "it records")
        program.go_on()
        attached.kill()
        attached.wait()
        program.go_on()
        program.until(lambda: program.threads() == before)
        program.go_on()
    attached = start(program, "after.sbt")
    check(b"recording" in attached.stderr.readline(), "it records again")
    program.go_on()
    attached.send_signal(signal.SIGINT)
    either(attached, "after an owner that was killed")
    check(b'"add"' in run("view", "-f", "json", os.path.join(WORK, "after.sbt")).stdout, "kernels are in the file")
    program.end()


def replaced_while_recorded():
    """Another program in the same process has no agent: the recording ends by itself."""
    script = "import os\nos.read(0, 1)\nos.execv(%r, [%r, '-t', '4'])\n" % ((os.path.join(PROGRAMS, "cl_stress"),) * 2)
    source = "import ctypes; ctypes.CDLL('libOpenCL.so.1').clGetPlatformIDs(0, None, ctypes.byref(ctypes.c_uint())); print('ready', flush=True)\n"
    process = subprocess.Popen([sys.executable, "-c", source + script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    check(process.stdout.readline() == b"ready\n", "it is ready")
    attached = start(process, "replaced.sbt")
    check(b"recording" in attached.stderr.readline(), "it records")
    process.stdin.write(b"x")
    check(process.stdout.readline().strip().isdigit(), "the new program runs")
    errors = either(attached, "a program that is replaced")
    check(b"replaced" in run("info", "--json", os.path.join(WORK, "replaced.sbt")).stdout, errors)
    out, _ = process.communicate(timeout=120)
    check(process.returncode == 0 and out.endswith(b"all right\n"), out)


def other_process_numbers():
    """In a PID namespace, where it has another number."""
    prefix = ["unshare", "-pf"]
    if not shutil.which("unshare") or subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL).returncode:
        left_out("no namespace: unshare -pf")
        return
    program = Steps(prefix)
    with open("/proc/%d/task/%d/children" % (program.pid, program.pid)) as children:
        program.pid = int(children.read())
    attached = start(program, "numbers.sbt")
    check(b"recording" in attached.stderr.readline(), "it records")
    program.go_on()
    attached.send_signal(signal.SIGINT)
    either(attached, "in a PID namespace")
    check(b'"add"' in run("view", "-f", "json", os.path.join(WORK, "numbers.sbt")).stdout, "kernels are in the file")
    program.end()


plain_program = None if SANITIZED else build("waits", WAITS, "-Wl,--no-as-needed", "-l:libOpenCL.so.1")
if plain_program:
    os.chmod(WORK, 0o755)
    kinds(plain_program)
    forbidden(plain_program)
    namespaces(plain_program)
    execs(plain_program)
    read_only()
dies()
two_at_once()
owner_killed()
if not SANITIZED:
    replaced_while_recorded()
other_process_numbers()
print("attach, refusals: ok")
