// SPDX-License-Identifier: Apache-2.0
// What cannot be done safely is refused here, with what the user can do about it. inject.c calls it.
#include "inject/check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/status.h"
#include "inject/frame.h"

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#else
enum { OWN_MACHINE = EM_NONE };
#endif

// ---- /proc

static bool read_text(pid_t pid, const char *what, char *text, size_t room) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    FILE *file = fopen(path, "re");
    const size_t length = file ? fread(text, 1, room - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    return length > 0;
}

// The number in a field of its stat (proc_pid_stat(5)); the state, field 3, is a letter.
static bool read_stat_field(pid_t pid, int wanted, char *state, uint64_t *out) {
    char text[1024];
    if (!read_text(pid, "stat", text, sizeof text))
        return false;
    const char *at = strrchr(text, ')');
    if (!at || strlen(at) < 3)
        return false;
    *state = at[2];
    for (int field = 2; at && field < wanted; field++)
        at = strchr(at + 1, ' ');
    *out = at ? strtoull(at, NULL, 10) : 0;
    return at != NULL;
}

static bool read_stat(pid_t pid, char *state, uint64_t *start) {
    return read_stat_field(pid, 22, state, start) && *start != 0;
}

bool check_is_kernel_thread(pid_t pid) {
    const uint64_t kernel_thread = 0x00200000; // PF_KTHREAD of include/linux/sched.h
    uint64_t flags = 0;
    char state;
    return read_stat_field(pid, 9, &state, &flags) && (flags & kernel_thread);
}

// Whether real, effective, saved and file system ids of the line are all `own`.
static bool ids_are(pid_t pid, const char *key, unsigned own) {
    char text[8192];
    if (!read_text(pid, "status", text, sizeof text))
        return false;
    const char *line = strstr(text, key);
    char *at = line ? text + (line - text) + strlen(key) : NULL;
    for (int i = 0; at && i < 4; i++) {
        const char *before = at;
        if (strtoull(before, &at, 10) != own || at == before)
            return false;
    }
    return at != NULL;
}

static bool has_shadow_stack(pid_t pid) {
    char text[8192];
    const char *line =
        read_text(pid, "status", text, sizeof text) ? strstr(text, "x86_Thread_features:") : NULL;
    const char *end = line ? strchr(line, '\n') : NULL;
    const char *found = line ? strstr(line, "shstk") : NULL;
    return found && (!end || found < end);
}

// The program file's machine and class; and the loader that it names, "": none.
static bool read_program(pid_t pid, Elf64_Ehdr *head, char *loader, size_t room) {
    char path[64];
    Elf64_Phdr segment;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool read = fd >= 0 && pread(fd, head, sizeof *head, 0) == (ssize_t)sizeof *head &&
                      memcmp(head->e_ident, ELFMAG, SELFMAG) == 0;
    ssize_t length = 0;
    for (uint32_t i = 0; read && head->e_ident[EI_CLASS] == ELFCLASS64 && i < head->e_phnum; i++)
        if (pread(fd, &segment, sizeof segment, (off_t)(head->e_phoff + i * sizeof segment)) ==
                (ssize_t)sizeof segment &&
            segment.p_type == PT_INTERP)
            length = pread(fd, loader, segment.p_filesz < room - 1 ? segment.p_filesz : room - 1,
                           (off_t)segment.p_offset);
    loader[length > 0 ? length : 0] = '\0';
    if (fd >= 0)
        close(fd);
    return read;
}

static bool same_namespace(pid_t pid, const char *name) {
    char path[64];
    struct stat own, theirs;
    snprintf(path, sizeof path, "/proc/self/ns/%s", name);
    const bool read = stat(path, &own) == 0;
    snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, name);
    return !read || (stat(path, &theirs) == 0 && own.st_ino == theirs.st_ino && own.st_dev == theirs.st_dev);
}

// ---- what the process is

#define REFUSE(status, ...) return status_set(error, TSMITH_ERROR_##status, __VA_ARGS__)

static tsmith_status check_permission(pid_t pid, tsmith_error *error) {
    char scope[16] = "";
    struct stat memory;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    // The kernel asks the same as for ptrace.
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return TSMITH_OK;
    }
    const int scope_fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (scope_fd >= 0) {
        const ssize_t got = read(scope_fd, scope, sizeof scope - 1);
        scope[got > 0 ? got : 0] = '\0';
        close(scope_fd);
    }
    if (scope[0] == '3')
        REFUSE(PERMISSION,
               "this system allows no process to attach to another one (kernel.yama.ptrace_scope is 3)");
    if (scope[0] == '1' || scope[0] == '2')
        REFUSE(PERMISSION,
               "process %d may not be attached to: kernel.yama.ptrace_scope is %c. Run 'tracesmith attach' "
               "as root (or with "
               "CAP_SYS_PTRACE), or set it to 0: sysctl kernel.yama.ptrace_scope=0",
               (int)pid, scope[0]);
    REFUSE(PERMISSION, "process %d may not be attached to%s", (int)pid,
           stat(path, &memory) == 0 && memory.st_uid != geteuid()
               ? ": it has changed its user or has more rights than you (setuid, capabilities)"
               : " (in a container: --cap-add SYS_PTRACE)");
}

// Whether a filter of system calls refuses to this process what it needs; /proc was open to it, so it has the right.
static tsmith_status check_own_filter(pid_t pid, tsmith_error *error) {
    char byte;
    const struct iovec own = {&byte, 1}, nothing = {NULL, 1};
    // Neither does anything: nothing is at the address 0, and the process is not traced.
    errno = 0;
    const bool reads =
        process_vm_readv(pid, &own, 1, &nothing, 1, 0) >= 0 || (errno != EPERM && errno != ENOSYS);
    errno = 0;
    const bool traces = ptrace(PTRACE_PEEKDATA, pid, NULL, NULL) != -1 || (errno != EPERM && errno != ENOSYS);
    if (reads && traces)
        return TSMITH_OK;
    REFUSE(
        PERMISSION,
        "'tracesmith attach' may not use %s: a filter of system calls (seccomp) forbids it, as container "
        "engines "
        "set it. Start the container with --cap-add SYS_PTRACE or --security-opt seccomp=unconfined (Docker, "
        "Podman; Kubernetes: capabilities.add SYS_PTRACE, or seccompProfile Unconfined), or run 'tracesmith "
        "attach' outside of it",
        reads ? "ptrace" : "process_vm_readv");
}

static tsmith_status check_tracer(const struct inject_target *target, tsmith_error *error) {
    uint64_t tracer = 0;
    if (target_status(target->pid, target->pid, "TracerPid:", 10, &tracer) && tracer)
        REFUSE(STATE, "process %d is being traced by process %llu already (a debugger, strace)",
               (int)target->pid, (unsigned long long)tracer);
    return TSMITH_OK;
}

static tsmith_status check_program(pid_t pid, tsmith_error *error) {
    Elf64_Ehdr head;
    char loader[256];
    if (!read_program(pid, &head, loader, sizeof loader))
        REFUSE(PERMISSION, "the program of process %d cannot be read", (int)pid);
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != OWN_MACHINE)
        REFUSE(UNSUPPORTED, "process %d is of another architecture than tracesmith", (int)pid);
    if (!loader[0])
        REFUSE(
            UNSUPPORTED,
            "process %d is statically linked: it cannot load a library. Start it with 'tracesmith profile'",
            (int)pid);
    if (strstr(loader, "/ld-musl-"))
        REFUSE(UNSUPPORTED,
               "process %d uses musl: only programs with glibc can be attached to. Start it with 'tracesmith "
               "profile'",
               (int)pid);
    return TSMITH_OK;
}

tsmith_status check_process(struct inject_target *target, tsmith_error *error) {
    const pid_t pid = target->pid;
    uint64_t seccomp = 0;
    char state;
    if (!FRAME_SUPPORTED)
        REFUSE(
            UNSUPPORTED,
            "attaching to a program that was not armed is possible on x86-64 only. Start it with 'tracesmith "
            "profile --armed'");
    if (pid == getpid() || pid <= 1)
        REFUSE(INVALID_ARGUMENT, "process %d cannot be attached to", (int)pid);
    if (!read_stat(pid, &state, &target->start_time) || state == 'Z' || state == 'X')
        REFUSE(NOT_FOUND, "there is no process %d", (int)pid);
    if (!ids_are(pid, "\nUid:", geteuid()) || !ids_are(pid, "\nGid:", getegid()))
        REFUSE(PERMISSION,
               "process %d is another user's, or has changed its user (setuid): run 'tracesmith attach' as "
               "that user",
               (int)pid);
    tsmith_status status = check_tracer(target, error);
    if (!status)
        status = check_permission(pid, error);
    if (!status)
        status = check_own_filter(pid, error);
    if (!status)
        status = check_program(pid, error);
    if (status)
        return status;
    if (state == 'T' || state == 't')
        REFUSE(STATE, "process %d is stopped (SIGSTOP): continue it first", (int)pid);
    if (target_status(pid, pid, "Seccomp:", 10, &seccomp) && seccomp)
        REFUSE(
            UNSUPPORTED,
            "process %d has a filter of system calls (seccomp), which may end it when it loads a library. "
            "Start it with 'tracesmith profile --armed'; a container, whose engine sets such a filter, with "
            "--security-opt seccomp=unconfined (Docker, Podman; Kubernetes: seccompProfile Unconfined)",
            (int)pid);
    if (has_shadow_stack(pid))
        REFUSE(UNSUPPORTED,
               "process %d has a shadow stack, which would end it on a call that it did not make", (int)pid);
    if (!same_namespace(pid, "time"))
        REFUSE(UNSUPPORTED,
               "process %d is in another time namespace, and its clocks cannot be compared: run 'tracesmith "
               "attach' in its container",
               (int)pid);
    return TSMITH_OK;
}

tsmith_status check_again(const struct inject_target *target, tsmith_error *error) {
    uint64_t start = 0;
    char state;
    if (!read_stat(target->pid, &state, &start) || state == 'Z' || state == 'X' ||
        start != target->start_time)
        REFUSE(STATE, "process %d has ended", (int)target->pid);
    return check_tracer(target, error);
}

// ---- what it has loaded

tsmith_status check_libraries(struct inject_target *target, tsmith_error *error) {
    target->libc = target_file(target, "libc.so.6");
    target->loader = target_file(target, "ld-linux-x86-64.so.2");
    if (!target->libc || !target->loader)
        REFUSE(UNSUPPORTED, "process %d has no glibc that is known (libc.so.6, ld-linux-x86-64.so.2)",
               (int)target->pid);
    if (!target_is_mapped(target, target->libc) || !target_is_mapped(target, target->loader) ||
        !exports_read(&target->exports, target, target->libc))
        REFUSE(UNSUPPORTED,
               "the libc of process %d is not the file %s any more: it was replaced since the process was "
               "started",
               (int)target->pid, target->libc->path);
    if (!exports_find(&target->exports, "dlopen"))
        REFUSE(UNSUPPORTED, "the glibc of process %d is older than 2.34: it cannot be made to load a library",
               (int)target->pid);
    target->return_code = frame_find_return(target);
    if (!target->return_code)
        REFUSE(UNSUPPORTED, "the libc of process %d has no known way back from a signal handler",
               (int)target->pid);
    return TSMITH_OK;
}
