// SPDX-License-Identifier: Apache-2.0
// The restrictions of a sandbox. All of them hold for every process that the restricted one starts, and none can be undone.
//
// Files: Landlock refuses every way to write, make, rename or remove one outside the private directory; where the kernel has
// no Landlock, a mount namespace in which all file systems are read-only. Network, signals, modes and owners of files, other
// processes' memory: a seccomp filter.
//
// Drivers need: device files (GPUs), processes of their own (PoCL links kernels with ld), threads, memory files.
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// ---- Landlock, by the kernel's numbers: headers are often older than the kernel

enum { LANDLOCK_CREATE = 444, LANDLOCK_ADD, LANDLOCK_RESTRICT };
enum { LANDLOCK_VERSION_ASKED = 1, LANDLOCK_BENEATH = 1 };
enum {
    LANDLOCK_WRITES =
        1 << 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12,
    LANDLOCK_WRITE_FILE = 1 << 1,
    LANDLOCK_REFER = 1 << 13,         // version 2
    LANDLOCK_TRUNCATE = 1 << 14,      // 3
    LANDLOCK_TCP = 1 << 0 | 1 << 1,   // 4
    LANDLOCK_SCOPES = 1 << 0 | 1 << 1 // 6: abstract sockets, signals
};
struct landlock_rules {
    uint64_t files, network, scopes;
};
struct landlock_beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

// What drivers write to. GPUs are reached through these.
static const char *const devices[] = {"/dev/null",
                                      "/dev/zero",
                                      "/dev/full",
                                      "/dev/dri",
                                      "/dev/kfd",
                                      "/dev/nvidiactl",
                                      "/dev/nvidia-uvm",
                                      "/dev/nvidia-uvm-tools",
                                      "/dev/nvidia-modeset",
                                      "/dev/nvidia0",
                                      "/dev/nvidia1",
                                      "/dev/nvidia2",
                                      "/dev/nvidia3",
                                      "/dev/nvidia4",
                                      "/dev/nvidia5",
                                      "/dev/nvidia6",
                                      "/dev/nvidia7",
                                      "/dev/accel",
                                      "/dev/dxg"};

static bool is_within(const char *path, const char *folder) {
    const size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || !path[length]);
}

bool sandbox_may_write(const char *directory, const char *path) {
    if (strstr(path, "/../") || !*path)
        return false;
    bool may = is_within(path, directory);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        may |= is_within(path, devices[i]);
    return may;
}

static bool allow(int rules, const char *path, uint64_t what) {
    struct stat status;
    const int fd = open(path, O_PATH | O_CLOEXEC);
    bool allowed = false;
    if (fd >= 0 && fstat(fd, &status) == 0) {
        const struct landlock_beneath beneath = {
            S_ISDIR(status.st_mode) ? what : what & (LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE), fd};
        allowed = syscall(LANDLOCK_ADD, rules, LANDLOCK_BENEATH, &beneath, 0) == 0;
    }
    if (fd >= 0)
        close(fd);
    return allowed;
}

static void restrict_by_landlock(const char *directory, struct sandbox_limits *limits) {
    const long version = syscall(LANDLOCK_CREATE, NULL, 0, LANDLOCK_VERSION_ASKED);
    if (version < 1)
        return;
    struct landlock_rules rules = {.files = LANDLOCK_WRITES};
    size_t size = sizeof rules.files;
    if (version >= 2)
        rules.files |= LANDLOCK_REFER;
    if (version >= 3)
        rules.files |= LANDLOCK_TRUNCATE;
    if (version >= 4) {
        rules.network = LANDLOCK_TCP;
        size += sizeof rules.network;
    }
    if (version >= 6) {
        rules.scopes = LANDLOCK_SCOPES;
        size += sizeof rules.scopes;
    }
    const int fd = (int)syscall(LANDLOCK_CREATE, &rules, size, 0);
    if (fd < 0)
        return;
    bool made = allow(fd, directory, rules.files);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        (void)allow(fd, devices[i], LANDLOCK_WRITE_FILE | (rules.files & LANDLOCK_TRUNCATE));
    made = made && syscall(LANDLOCK_RESTRICT, fd, 0) == 0;
    close(fd);
    limits->writes = made;
    limits->truncates = made && version >= 3;
}

// ---- without it: every file system read-only, in a mount namespace

enum { MOUNT_SETATTR = 442, MOUNT_RECURSIVE = 0x8000, MOUNT_READ_ONLY = 1 };
struct mount_change {
    uint64_t set, clear, propagation, namespace;
};

static bool write_map(const char *path, const char *text) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return written;
}

static bool enter_mount_namespace(void) {
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(groups, sizeof groups, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    if (unshare(CLONE_NEWNS) == 0)
        return true;
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_map("/proc/self/setgroups", "deny") &&
           write_map("/proc/self/uid_map", users) && write_map("/proc/self/gid_map", groups);
}

static void restrict_by_mounts(const char *directory, struct sandbox_limits *limits) {
    const struct mount_change all = {.set = MOUNT_READ_ONLY}, one = {.clear = MOUNT_READ_ONLY};
    if (!enter_mount_namespace() || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount(directory, directory, NULL, MS_BIND, NULL) ||
        syscall(MOUNT_SETATTR, AT_FDCWD, "/", MOUNT_RECURSIVE, &all, sizeof all) ||
        syscall(MOUNT_SETATTR, AT_FDCWD, directory, 0, &one, sizeof one))
        return;
    limits->writes = limits->truncates = true;
}

// ---- system calls

#if defined __x86_64__
#define FILTER_PROCESSOR AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define FILTER_PROCESSOR AUDIT_ARCH_AARCH64
#endif

#ifdef FILTER_PROCESSOR

enum rule_when { ALWAYS, IF_BITS, IF_EQUAL, UNLESS_EQUAL };
enum { WRITING = O_ACCMODE | O_CREAT | O_TRUNC, NAMESPACES = 0x7e020080 };

#define REFUSE (SECCOMP_RET_ERRNO | EPERM)
#define ABSENT (SECCOMP_RET_ERRNO | ENOSYS) // callers have another way, which can be looked at
#define TELL SECCOMP_RET_USER_NOTIF

struct rule {
    long call;
    enum rule_when when;
    unsigned argument;
    uint32_t value, answer;
};

static const struct rule rules[] = {
    // network; with sendmsg an address can be reached from a pair, too
    {SYS_socket, ALWAYS, 0, 0, TELL},
    {SYS_socketpair, ALWAYS, 0, 0, TELL},
    {SYS_connect, ALWAYS, 0, 0, REFUSE},
    {SYS_bind, ALWAYS, 0, 0, REFUSE},
    {SYS_listen, ALWAYS, 0, 0, REFUSE},
    {SYS_io_uring_setup, ALWAYS, 0, 0, ABSENT},
    // files: the name of the file to be written is read, to be counted
    {SYS_openat, IF_BITS, 2, WRITING, TELL},
    {437, ALWAYS, 0, 0, ABSENT}, // openat2
#ifdef SYS_open
    {SYS_open, IF_BITS, 1, WRITING, TELL},
    {SYS_creat, ALWAYS, 0, 0, TELL},
    {SYS_chmod, ALWAYS, 0, 0, REFUSE},
    {SYS_chown, ALWAYS, 0, 0, REFUSE},
    {SYS_lchown, ALWAYS, 0, 0, REFUSE},
    {SYS_utime, ALWAYS, 0, 0, REFUSE},
    {SYS_utimes, ALWAYS, 0, 0, REFUSE},
    {SYS_futimesat, ALWAYS, 0, 0, REFUSE},
#endif
    {SYS_fchmodat, ALWAYS, 0, 0, REFUSE},
    {452, ALWAYS, 0, 0, REFUSE}, // fchmodat2
    {SYS_fchmod, ALWAYS, 0, 0, REFUSE},
    {SYS_fchown, ALWAYS, 0, 0, REFUSE},
    {SYS_fchownat, ALWAYS, 0, 0, REFUSE},
    {SYS_utimensat, ALWAYS, 0, 0, REFUSE},
    {SYS_setxattr, ALWAYS, 0, 0, REFUSE},
    {SYS_lsetxattr, ALWAYS, 0, 0, REFUSE},
    {SYS_fsetxattr, ALWAYS, 0, 0, REFUSE},
    {463, ALWAYS, 0, 0, REFUSE}, // setxattrat
    {SYS_removexattr, ALWAYS, 0, 0, REFUSE},
    {SYS_lremovexattr, ALWAYS, 0, 0, REFUSE},
    {SYS_fremovexattr, ALWAYS, 0, 0, REFUSE},
    {466, ALWAYS, 0, 0, REFUSE}, // removexattrat
    {SYS_open_by_handle_at, ALWAYS, 0, 0, REFUSE},
    // mounts and namespaces
    {SYS_mount, ALWAYS, 0, 0, REFUSE},
    {SYS_umount2, ALWAYS, 0, 0, REFUSE},
    {SYS_pivot_root, ALWAYS, 0, 0, REFUSE},
    {SYS_chroot, ALWAYS, 0, 0, REFUSE},
    {428, ALWAYS, 0, 0, REFUSE}, // open_tree
    {429, ALWAYS, 0, 0, REFUSE}, // move_mount
    {430, ALWAYS, 0, 0, REFUSE}, // fsopen
    {433, ALWAYS, 0, 0, REFUSE}, // fspick
    {MOUNT_SETATTR, ALWAYS, 0, 0, REFUSE},
    {SYS_unshare, ALWAYS, 0, 0, REFUSE},
    {SYS_setns, ALWAYS, 0, 0, REFUSE},
    {SYS_clone, IF_BITS, 0, NAMESPACES, REFUSE},
    {435, ALWAYS, 0, 0, ABSENT}, // clone3
    // other processes, and the terminal
    {SYS_ptrace, ALWAYS, 0, 0, REFUSE},
    {SYS_process_vm_writev, ALWAYS, 0, 0, REFUSE},
    {SYS_process_vm_readv, ALWAYS, 0, 0, REFUSE},
    {424, ALWAYS, 0, 0, REFUSE}, // pidfd_send_signal
    {438, ALWAYS, 0, 0, REFUSE}, // pidfd_getfd
    {SYS_ioctl, IF_EQUAL, 1, TIOCSTI, REFUSE},
    // the system
    {SYS_bpf, ALWAYS, 0, 0, REFUSE},
    {SYS_perf_event_open, ALWAYS, 0, 0, REFUSE},
    {SYS_userfaultfd, ALWAYS, 0, 0, REFUSE},
    {SYS_keyctl, ALWAYS, 0, 0, REFUSE},
    {SYS_add_key, ALWAYS, 0, 0, REFUSE},
    {SYS_request_key, ALWAYS, 0, 0, REFUSE},
    {SYS_init_module, ALWAYS, 0, 0, REFUSE},
    {SYS_finit_module, ALWAYS, 0, 0, REFUSE},
    {SYS_delete_module, ALWAYS, 0, 0, REFUSE},
    {SYS_kexec_load, ALWAYS, 0, 0, REFUSE},
    {SYS_reboot, ALWAYS, 0, 0, REFUSE},
    {SYS_sethostname, ALWAYS, 0, 0, REFUSE},
    {SYS_setdomainname, ALWAYS, 0, 0, REFUSE},
    {SYS_settimeofday, ALWAYS, 0, 0, REFUSE},
    {SYS_clock_settime, ALWAYS, 0, 0, REFUSE},
    {SYS_swapon, ALWAYS, 0, 0, REFUSE},
    {SYS_swapoff, ALWAYS, 0, 0, REFUSE},
    {SYS_acct, ALWAYS, 0, 0, REFUSE},
    {SYS_quotactl, ALWAYS, 0, 0, REFUSE},
    {SYS_mknodat, ALWAYS, 0, 0, REFUSE},
};

enum { RULE_WORDS = 5, FILTER_WORDS = 8 + RULE_WORDS * (sizeof rules / sizeof *rules + 2) };

struct filter {
    struct sock_filter words[FILTER_WORDS];
    unsigned short count;
};

static void add_word(struct filter *filter, uint16_t code, uint8_t yes, uint8_t no, uint32_t value) {
    filter->words[filter->count++] = (struct sock_filter){code, yes, no, value};
}

static void add_return(struct filter *filter, uint32_t answer) {
    add_word(filter, BPF_RET | BPF_K, 0, 0, answer);
}

static void add_rule(struct filter *filter, const struct rule *rule, bool tells) {
    // Without a process to notify, files are left to Landlock, and other reported calls are refused.
    const uint32_t answer = rule->answer != TELL || tells                              ? rule->answer
                            : rule->call == SYS_socket || rule->call == SYS_socketpair ? REFUSE
                                                                                       : SECCOMP_RET_ALLOW;
    const uint8_t skip = rule->when == ALWAYS ? 1 : 4;
    add_word(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, skip, (uint32_t)rule->call);
    if (rule->when != ALWAYS) {
        const uint16_t test = rule->when == IF_BITS ? BPF_JSET : BPF_JEQ;
        const bool unless = rule->when == UNLESS_EQUAL;
        add_word(
            filter, BPF_LD | BPF_W | BPF_ABS, 0, 0,
            (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (size_t)rule->argument)); // the low half
        add_word(filter, BPF_JMP | test | BPF_K, unless, !unless, rule->value);
        add_return(filter, answer);
        add_return(filter, SECCOMP_RET_ALLOW);
        return;
    }
    add_return(filter, answer);
}

static long install(const struct filter *filter, unsigned flags) {
    const struct sock_fprog program = {filter->count, (struct sock_filter *)(uintptr_t)filter->words};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void make_filter(struct filter *filter, bool tells) {
    // Signals only to the process itself (and its group, as 0); those it starts have numbers of their own.
    const struct rule own[] = {{SYS_kill, UNLESS_EQUAL, 0, (uint32_t)getpid(), REFUSE},
                               {SYS_tgkill, UNLESS_EQUAL, 0, (uint32_t)getpid(), REFUSE}};
    filter->count = 0;
    add_word(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
    add_word(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, FILTER_PROCESSOR);
    add_return(filter, SECCOMP_RET_KILL_PROCESS);
    add_word(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    enum { X32 = 0x40000000 };
    add_word(filter, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32);
    add_return(filter, REFUSE);
#endif
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        add_rule(filter, &rules[i], tells);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        add_rule(filter, &own[i], tells);
    add_return(filter, SECCOMP_RET_ALLOW);
}

static int restrict_calls(struct sandbox_limits *limits) {
    struct filter filter;
    make_filter(&filter, true);
    const long listener = install(&filter, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    limits->counted = limits->filtered = listener >= 0;
    if (listener >= 0)
        return (int)listener;
    make_filter(&filter, false);
    limits->filtered = install(&filter, 0) == 0;
    return -1;
}

#else

static int restrict_calls(struct sandbox_limits *limits) {
    (void)limits;
    return -1;
}

#endif

int sandbox_restrict(const char *directory, struct sandbox_limits *limits) {
    *limits = (struct sandbox_limits){0};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    restrict_by_landlock(directory, limits);
    if (!limits->writes)
        restrict_by_mounts(directory, limits);
    return restrict_calls(limits);
}
