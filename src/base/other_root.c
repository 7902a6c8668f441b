// SPDX-License-Identifier: Apache-2.0
// Opens what another process sees. `attach` and the readers of another process's code call it.
#include "base/other_root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef SYS_openat2
#include <linux/openat2.h>
#endif

#include "base/file.h"

static bool is_same(const char *ours, const char *theirs) {
    struct stat one, other;
    return stat(ours, &one) || stat(theirs, &other) ||
           (one.st_ino == other.st_ino && one.st_dev == other.st_dev);
}

bool other_root_is(uint32_t pid) {
    char space[48], root[48];
    snprintf(space, sizeof space, "/proc/%u/ns/mnt", (unsigned)pid);
    snprintf(root, sizeof root, "/proc/%u/root", (unsigned)pid);
    return !is_same("/proc/self/ns/mnt", space) || !is_same("/", root);
}

int other_root_folder(uint32_t pid, const char *path) {
    char name[256];
    snprintf(name, sizeof name, "/proc/%u/root", (unsigned)pid);
    int at = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (path += strspn(path, "/"); at >= 0 && *path; path += strspn(path, "/")) {
        const size_t length = strcspn(path, "/");
        const int before = at;
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        at = openat(before, name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        const int failure = errno;
        close(before);
        errno = failure;
        path += length;
    }
    return at;
}

// The path as the process sees it. The kernel writes it from the root of the mount namespace on, so that of a process in a chroot
// begins with the path of its root.
static const char *inside(const char *root, const char *path) {
    char text[4096];
    const ssize_t length = readlink(root, text, sizeof text);
    return length > 1 && (size_t)length < sizeof text && strncmp(path, text, (size_t)length) == 0 &&
                   path[length] == '/'
               ? path + length
               : path;
}

// With its root as the root of all links, as O_PATH. -1, and errno ENOSYS or EPERM where the kernel or a filter of system calls has no
// openat2.
static int find_in_root(const char *root, const char *path) {
#ifdef SYS_openat2
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    const int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int found = folder < 0 ? -1 : (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
    const int failure = errno;
    if (folder >= 0)
        close(folder);
    errno = failure;
    return found;
#else
    (void)root;
    (void)path;
    errno = ENOSYS;
    return -1;
#endif
}

int other_root_mapped(uint32_t pid, const char *path) {
    char root[48], whole[4096 + 48];
    snprintf(root, sizeof root, "/proc/%u/root", (unsigned)pid);
    const char *there = inside(root, path);
    int found = find_in_root(root, there);
    const int length = snprintf(whole, sizeof whole, "%s%s", root, there);
    // A link with an absolute path leads to a file of ours here, which has another build id.
    if (found < 0 && (errno == ENOSYS || errno == EPERM) && length > 0 && (size_t)length < sizeof whole)
        found = open(whole, O_PATH | O_CLOEXEC);
    const int fd = file_read_regular(found);
    return fd >= 0 ? fd : file_open_regular(path);
}
