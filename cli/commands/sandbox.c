// SPDX-License-Identifier: Apache-2.0
// The two processes of a sandbox. The child is restricted (sandbox_rules.c) and does the work; the parent answers the
// calls that the filter reports, counts refused calls, and removes the private directory in the end.
#include "sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/options/command.h"
#include "cli/present/terminal.h"

// ---- the private directory

static bool make_directory(struct sandbox *sandbox) {
    const char *where = getenv("TMPDIR");
    char made[SANDBOX_PATH];
    const int length = snprintf(made, sizeof made, "%s/tracesmith-sandbox-XXXXXX",
                                where && where[0] == '/' ? where : "/tmp");
    if (length < 0 || (size_t)length >= sizeof made || !mkdtemp(made))
        return false;
    char *real = realpath(made, NULL); // as the kernel names it
    const bool fits = real && strlen(real) < sizeof sandbox->directory;
    if (fits)
        memcpy(sandbox->directory, real, strlen(real) + 1);
    else
        (void)rmdir(made);
    free(real);
    return fits;
}

// By descriptors: a process that is left of the replay may still exchange what is in there.
static void remove_content(int directory, unsigned depth) {
    enum { DEEPEST = 64 };
    DIR *listing = directory >= 0 ? fdopendir(directory) : NULL;
    if (!listing && directory >= 0)
        close(directory);
    for (struct dirent *entry; listing && (entry = readdir(listing)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(listing), entry->d_name, 0) == 0 || depth == DEEPEST)
            continue;
        remove_content(openat(dirfd(listing), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                       depth + 1);
        (void)unlinkat(dirfd(listing), entry->d_name, AT_REMOVEDIR);
    }
    if (listing)
        closedir(listing);
}

static void remove_directory(const struct sandbox *sandbox) {
    remove_content(open(sandbox->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), 0);
    (void)rmdir(sandbox->directory);
}

// ---- the channel

static bool send_listener(int channel, int listener, const struct sandbox_limits *limits) {
    union {
        char bytes[CMSG_SPACE(sizeof listener)];
        struct cmsghdr aligned;
    } control = {0};
    struct sandbox_limits copy = *limits;
    struct iovec data = {&copy, sizeof copy};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (listener >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof listener);
        memcpy(CMSG_DATA(header), &listener, sizeof listener);
    }
    return sendmsg(channel, &message, MSG_NOSIGNAL) == (ssize_t)sizeof copy;
}

static bool receive_listener(int channel, int *listener, struct sandbox_limits *limits) {
    union {
        char bytes[CMSG_SPACE(sizeof *listener)];
        struct cmsghdr aligned;
    } control;
    struct iovec data = {limits, sizeof *limits};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    *listener = -1;
    if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof *limits)
        return false;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(listener, CMSG_DATA(header), sizeof *listener);
    return true;
}

// ---- the parent: calls that the filter reports

struct parent {
    const struct sandbox *sandbox;
    struct sandbox_report report;
    int listener;
    bool introduced; // the child has sent the list of restrictions
};

static void count(struct sandbox_report *report, const char *what) {
    size_t i = 0;
    while (i < report->count && strncmp(report->refusals[i].what, what, SANDBOX_WHAT - 1) != 0)
        i++;
    if (i == SANDBOX_REFUSALS) {
        report->more++;
        return;
    }
    if (i == report->count) {
        snprintf(report->refusals[i].what, sizeof report->refusals[i].what, "%.*s", SANDBOX_WHAT - 1, what);
        report->count++;
    }
    report->refusals[i].times++;
}

static bool read_path(pid_t process, uint64_t address, char *path, size_t room) {
    char memory[64];
    snprintf(memory, sizeof memory, "/proc/%d/mem", (int)process);
    const int fd = open(memory, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : pread(fd, path, room, (off_t)address);
    if (fd >= 0)
        close(fd);
    return got > 0 && memchr(path, 0, (size_t)got) != NULL;
}

// The path of an open call, absolute; false if it cannot be determined.
static bool path_of_call(const struct seccomp_notif *call, char *path, size_t room) {
    char given[SANDBOX_PATH], link[64], folder[SANDBOX_PATH];
    const bool at = call->data.nr == SYS_openat;
    if (!read_path((pid_t)call->pid, call->data.args[at ? 1 : 0], given, sizeof given))
        return false;
    const int directory = at ? (int)call->data.args[0] : AT_FDCWD;
    if (directory == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/%d/cwd", (int)call->pid);
    else
        snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)call->pid, directory);
    const ssize_t length = given[0] == '/' ? 0 : readlink(link, folder, sizeof folder - 1);
    if (length < 0)
        return false;
    folder[length] = '\0';
    const int written =
        given[0] == '/' ? snprintf(path, room, "%s", given) : snprintf(path, room, "%s/%s", folder, given);
    return written > 0 && (size_t)written < room;
}

static const char *family_name(uint64_t family) {
    switch (family) {
    case AF_UNIX:
        return "AF_UNIX";
    case AF_INET:
        return "AF_INET";
    case AF_INET6:
        return "AF_INET6";
    case AF_NETLINK:
        return "AF_NETLINK";
    default:
        return "another family";
    }
}

// Whether the call may go on. The kernel's own rules still hold for it: this is to know of it, and cannot be relied on.
static bool judge_call(struct parent *parent, const struct seccomp_notif *call) {
    char path[2 * SANDBOX_PATH] = "a path that cannot be read", what[sizeof path + 32];
    if (call->data.nr == SYS_socket || call->data.nr == SYS_socketpair) {
        snprintf(what, sizeof what, "%s of %s",
                 call->data.nr == SYS_socket ? "a socket" : "a pair of sockets",
                 family_name(call->data.args[0]));
    } else {
        if (path_of_call(call, path, sizeof path) && sandbox_may_write(parent->sandbox->directory, path))
            return true;
        snprintf(what, sizeof what, "to open %s for writing", path);
    }
    count(&parent->report, what);
    return false;
}

static void answer(struct parent *parent) {
    union {
        struct seccomp_notif call;
        char room[1024]; // a later kernel's is longer
    } in;
    union {
        struct seccomp_notif_resp answer;
        char room[1024];
    } out;
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    if (ioctl(parent->listener, SECCOMP_IOCTL_NOTIF_RECV, &in.call))
        return;
    const bool may = judge_call(parent, &in.call);
    out.answer.id = in.call.id;
    out.answer.error = may ? 0 : -EACCES;
    out.answer.flags = may ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
    (void)ioctl(parent->listener, SECCOMP_IOCTL_NOTIF_SEND, &out.answer);
}

// The child sends the list of restrictions, and requests the report when it writes its answer. False: it has closed the channel.
static bool serve_child(struct parent *parent) {
    char question;
    if (!parent->introduced) {
        parent->introduced = true;
        return receive_listener(parent->sandbox->channel, &parent->listener, &parent->report.limits);
    }
    return recv(parent->sandbox->channel, &question, 1, 0) == 1 &&
           send(parent->sandbox->channel, &parent->report, sizeof parent->report, MSG_NOSIGNAL) > 0;
}

static int wait_for_child(struct parent *parent, pid_t child) {
    enum { LOOK_EVERY = 50 }; // ms, if the child's end is not reported
    int status = 0;
    bool open = true;
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct pollfd both[2] = {{open ? parent->sandbox->channel : -1, POLLIN, 0},
                                 {parent->listener, POLLIN, 0}};
        (void)poll(both, 2, LOOK_EVERY);
        if (both[1].revents & POLLIN)
            answer(parent);
        else if (both[0].revents && !serve_child(parent))
            open = false;
    }
    return status;
}

static int end_parent(struct parent *parent, pid_t child) {
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGINT, &ignore,
                    NULL); // it goes to the child as well, and the directory is ours to remove
    const int status = wait_for_child(parent, child);
    remove_directory(parent->sandbox);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    complain("the sandboxed process was ended by signal %d", WTERMSIG(status));
    for (size_t i = 0; i < parent->report.count; i++)
        complain("the sandbox refused %s", parent->report.refusals[i].what);
    return EXIT_LACKING;
}

// ---- the child

static bool begin_child(struct sandbox *sandbox, pid_t parent) {
    static const char *const folders[] = {"TMPDIR",
                                          "TMP",
                                          "TEMP",
                                          "XDG_CACHE_HOME",
                                          "POCL_CACHE_DIR",
                                          "MESA_SHADER_CACHE_DIR",
                                          "MESA_GLSL_CACHE_DIR",
                                          "CUDA_CACHE_PATH"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (setenv(folders[i], sandbox->directory, 1))
            return false;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
        return false;
    const int listener = sandbox_restrict(sandbox->directory, &sandbox->limits);
    const bool told = send_listener(sandbox->channel, listener, &sandbox->limits);
    if (listener >= 0)
        close(listener);
    return told && (sandbox->limits.filtered || sandbox->limits.writes);
}

bool sandbox_enter(struct sandbox *sandbox, int *code) {
    int channel[2];
    *code = EXIT_LACKING;
    if (!make_directory(sandbox)) {
        complain("--sandbox: cannot create a private directory: %s (TMPDIR selects the location)",
                 strerror(errno));
        return false;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel)) {
        complain("--sandbox: %s", strerror(errno));
        remove_directory(sandbox);
        return false;
    }
    const pid_t self = getpid(), child = fork();
    sandbox->channel = channel[child == 0];
    if (child >= 0)
        close(channel[child != 0]);
    if (child == 0) {
        if (begin_child(sandbox, self))
            return true;
        complain("--sandbox: this kernel can restrict nothing; nothing was run");
        _exit(EXIT_LACKING);
    }
    if (child < 0) {
        complain("--sandbox: cannot start a process: %s", strerror(errno));
        close(channel[1]);
        remove_directory(sandbox);
    } else {
        struct parent parent = {.sandbox = sandbox, .listener = -1};
        *code = end_parent(&parent, child);
    }
    close(channel[0]);
    return false;
}

// ---- the report

static const struct {
    size_t offset;
    const char *name;
} parts[] = {{offsetof(struct sandbox_limits, filtered), "network"},
             {offsetof(struct sandbox_limits, filtered), "signals to other processes"},
             {offsetof(struct sandbox_limits, writes), "files outside its private directory"},
             {offsetof(struct sandbox_limits, truncates), "truncation of files"},
             {offsetof(struct sandbox_limits, counted), "counting what is refused"}};

static void add_parts(struct text *text, const struct sandbox_limits *limits, bool held, bool json) {
    bool first = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool value;
        memcpy(&value, (const char *)limits + parts[i].offset, sizeof value);
        if (value != held)
            continue;
        text_add_cstr(text, first ? "" : json ? "," : ", ");
        first = false;
        json ? text_add_json_cstr(text, parts[i].name) : text_add_cstr(text, parts[i].name);
    }
}

static void add_json(struct text *text, const struct sandbox *sandbox, const struct sandbox_report *report) {
    text_add_cstr(text, ",\"sandbox\":{\"restricted\":[");
    add_parts(text, &sandbox->limits, true, true);
    text_add_cstr(text, "],\"unrestricted\":[");
    add_parts(text, &sandbox->limits, false, true);
    text_add_cstr(text, "],\"refused\":[");
    for (size_t i = 0; i < report->count; i++) {
        text_add_cstr(text, i ? ",{\"what\":" : "{\"what\":");
        text_add_json_cstr(text, report->refusals[i].what);
        text_add_format(text, ",\"times\":%" PRIu64 "}", report->refusals[i].times);
    }
    text_add_format(text, "],\"refused_more\":%" PRIu64 "}", report->more);
}

void sandbox_add_report(struct text *text, const struct sandbox *sandbox, bool json) {
    struct sandbox_report report = {0};
    if (send(sandbox->channel, "?", 1, MSG_NOSIGNAL) != 1 ||
        recv(sandbox->channel, &report, sizeof report, 0) != (ssize_t)sizeof report)
        report = (struct sandbox_report){0};
    if (json) {
        add_json(text, sandbox, &report);
        return;
    }
    text_add_cstr(text, "sandbox restricts: ");
    add_parts(text, &sandbox->limits, true, false);
    if (!sandbox->limits.filtered || !sandbox->limits.counted || !sandbox->limits.writes ||
        !sandbox->limits.truncates) {
        text_add_cstr(text, "\nsandbox could not restrict: ");
        add_parts(text, &sandbox->limits, false, false);
    }
    text_add_char(text, '\n');
    for (size_t i = 0; i < report.count; i++) {
        text_add_cstr(text, "sandbox refused ");
        text_add_safe(text, text_string(report.refusals[i].what), SANDBOX_WHAT);
        text_add_cstr(text, " (");
        text_add_times(text, report.refusals[i].times);
        text_add_cstr(text, ")\n");
    }
    if (report.more) {
        text_add_cstr(text, "sandbox also refused other kinds of operations (");
        text_add_times(text, report.more);
        text_add_cstr(text, ")\n");
    }
}
