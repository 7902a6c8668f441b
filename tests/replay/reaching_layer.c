// SPDX-License-Identifier: Apache-2.0
// A driver layer that reaches out, as native code of a hostile recording would. At the first launch of a kernel it tries,
// against files in REACH (a folder), everything that a sandbox is to refuse, and writes "NAME yes" or "NAME errno" for each to
// standard error; and what a driver needs, which a sandbox is to allow.
#define _GNU_SOURCE
#include "../opencl/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *in(const char *folder, const char *file) {
    static char paths[4][512];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, file);
    return path;
}

static void say(const char *name, long result) {
    const int error = errno;
    if (result >= 0)
        fprintf(stderr, "%s yes\n", name);
    else
        fprintf(stderr, "%s %s\n", name, strerrorname_np(error));
}

static int close_it(int fd) {
    if (fd >= 0)
        close(fd);
    return fd;
}

static void reach_files(const char *reach) {
    say("write", close_it(open(in(reach, "written"), O_WRONLY | O_CREAT, 0600)));
    say("truncate-open", close_it(open(in(reach, "kept"), O_WRONLY | O_TRUNC)));
    say("truncate", truncate(in(reach, "kept"), 0));
    say("remove", unlink(in(reach, "removed")));
    say("folder", mkdir(in(reach, "folder"), 0700));
    say("rename", rename(in(reach, "renamed"), in(reach, "renamed.now")));
    say("link", link(in(reach, "kept"), in(reach, "linked")));
    say("symlink", symlink("kept", in(reach, "symlinked")));
    say("mode", chmod(in(reach, "kept"), 0644));
    const int fd = open(in(reach, "kept"), O_RDONLY);
    say("mode-of-open", fchmod(fd, 0640));
    say("read", close_it(fd));
}

static void reach_others(void) {
    int pair[2];
    say("internet", close_it(socket(AF_INET, SOCK_STREAM, 0)));
    say("local-socket", close_it(socket(AF_UNIX, SOCK_STREAM, 0)));
    say("socket-pair", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    say("signal", kill(getppid(), 0));
    say("own-signal", kill(getpid(), 0));
}

static void reach_needed(void) {
    const char *private = getenv("TMPDIR");
    if (private) {
        say("private", close_it(open(in(private, "reached"), O_WRONLY | O_CREAT, 0600)));
        (void)unlink(in(private, "reached"));
    }
    say("null", close_it(open("/dev/null", O_RDWR)));
    say("memory-file", close_it(memfd_create("reach", 0)));
    const pid_t child = fork();
    if (child == 0)
        execl("/bin/true", "true", (char *)NULL);
    int status = -1;
    waitpid(child, &status, 0);
    errno = ECHILD;
    say("process", status == 0 ? 0 : -1);
}

static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                     const size_t *global, const size_t *local, cl_uint count, const cl_event *waits,
                     cl_event *event) {
    static bool reached;
    const char *reach = getenv("REACH");
    if (reach && !reached) {
        reached = true;
        reach_files(reach);
        reach_others();
        reach_needed();
    }
    return next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, waits,
                                        event);
}

static void layer_begin(void) {
    layer.clEnqueueNDRangeKernel = launch;
}
