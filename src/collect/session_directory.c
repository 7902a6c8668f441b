// SPDX-License-Identifier: Apache-2.0
// Creates, opens, describes and removes session directories. Capture, recovery and the API for sessions call it.
#include "collect/session_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/names.h"
#include "base/other_root.h"
#include "base/sized.h"
#include "base/status.h"
#include "tracesmith/version.h"
#include "wire/ring.h"

NAMES_DEFINE(tsmith_overflow_name, tsmith_overflow, TSMITH_OVERFLOW_TABLE, NAMES_NAME, NULL)

int tsmith_overflow_find(const char *name, tsmith_overflow *out) {
#define NAME_TEST(NAME, number, text, doc)                                                                   \
    if (strcmp(name, text) == 0) {                                                                           \
        *out = TSMITH_OVERFLOW_##NAME;                                                                       \
        return 1;                                                                                            \
    }
    TSMITH_OVERFLOW_TABLE(NAME_TEST)
#undef NAME_TEST
    return 0;
}

// A ring takes memory only when the collector falls behind: room for a second or so of the fastest program.
static const uint64_t DEFAULT_RING = 64u << 20;
static const uint64_t ROOM_WANTED = 16u << 20;    // a root with less is the second choice
static const int64_t COLLECTOR_GONE = 5000000000; // ns of silence

static void read_boot_id(char out[40]) {
    memset(out, 0, 40);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t length = read(fd, out, 39);
    close(fd);
    if (length > 0 && out[length - 1] == '\n')
        out[length - 1] = '\0';
}

bool session_directory_same_boot(const struct session_directory *directory) {
    char boot_id[40];
    read_boot_id(boot_id);
    return boot_id[0] && memcmp(boot_id, directory->control->boot_id, sizeof boot_id) == 0;
}

static bool has_room(const char *root) {
    struct statvfs status;
    return statvfs(root, &status) == 0 && (uint64_t)status.f_bavail * status.f_frsize >= ROOM_WANTED;
}

// Tries one root; 0, or errno.
static int make_in(struct session_directory *directory, const char *root) {
    int length =
        snprintf(directory->path, sizeof directory->path, "%s/" SESSION_DIRECTORY_PREFIX "XXXXXX", root);
    if (length < 0 || (size_t)length >= sizeof directory->path - 256)
        return ENAMETOOLONG;
    return mkdtemp(directory->path) ? 0 : errno; // 0700
}

// In a folder of a process that sees other files; 0, or errno. Programs in it load the agents from there.
static int make_there(struct session_directory *directory, uint32_t pid, const char *folder) {
    char root[64];
    struct statvfs status;
    directory->parent = other_root_folder(pid, folder);
    if (directory->parent < 0)
        return errno;
    snprintf(root, sizeof root, "/proc/self/fd/%d", directory->parent);
    int failure = EACCES;
    if (fstatvfs(directory->parent, &status) == 0 && !(status.f_flag & (ST_NOEXEC | ST_RDONLY)))
        failure = has_room(root) ? make_in(directory, root) : ENOSPC;
    if (failure) {
        close(directory->parent);
        directory->parent = -1;
        return failure;
    }
    const char *name = directory->path + strlen(root);
    snprintf(directory->there, sizeof directory->there, "%s%s", folder, name);
    snprintf(directory->shown, sizeof directory->shown, "/proc/%u/root%s", (unsigned)pid, directory->there);
    return 0;
}

// Of the failures of several folders, the one to report: a folder without room says more than one that is not there.
static int more_telling(int failure, int other) {
    static const int order[] = {ENOSPC, EACCES, EROFS};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (failure == order[i] || other == order[i])
            return order[i];
    return failure && failure != ENOENT ? failure : other;
}

static tsmith_status make_for(struct session_directory *directory, uint32_t pid, tsmith_error *error) {
    static const char *const folders[] = {"/dev/shm", "/tmp", "/var/tmp", "/run"};
    int failure = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const int one = make_there(directory, pid, folders[i]);
        if (!one)
            return TSMITH_OK;
        failure = more_telling(failure, one);
    }
    errno = failure;
    return status_set_errno(
        error,
        "process %u sees other files (a container), and its /dev/shm, /tmp, /var/tmp and /run "
        "have no room of %u MiB in which programs can be run",
        (unsigned)pid, (unsigned)(ROOM_WANTED >> 20));
}

static tsmith_status make_directory(struct session_directory *directory, const char *wanted,
                                    tsmith_error *error) {
    const char *tmpdir = getenv("TMPDIR");
    const char *roots[] = {"/dev/shm", tmpdir && tmpdir[0] == '/' ? tmpdir : "/tmp", "/tmp"};
    if (wanted) {
        errno = make_in(directory, wanted);
        return errno ? status_set_errno(error, "cannot create a session directory in %s", wanted) : TSMITH_OK;
    }
    // First where there is plenty of room, then anywhere.
    int failure = 0;
    for (int plenty = 1; plenty >= 0; plenty--)
        for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
            if (plenty && !has_room(roots[i]))
                continue;
            const int one = make_in(directory, roots[i]);
            if (!one)
                return TSMITH_OK;
            failure = more_telling(failure, one);
        }
    errno = failure;
    return status_set_errno(error, "cannot create a session directory in /dev/shm, TMPDIR or /tmp");
}

static void choose_sizes(struct layout_control *control, size_t buffer_bytes) {
    uint64_t ring = buffer_bytes ? buffer_bytes : DEFAULT_RING;
    uint64_t least = 2 * 8 * RECORD_MAX_WORDS; // so that the longest record fills half a sub-buffer
    // A sixteenth of the ring, as the owner and the collector each have a few; small enough to stay in a cache.
    uint64_t sub = least;
    while (sub < ring / 16 && sub < 256 * 1024)
        sub *= 2;
    while (ring / sub > RING_QUOTA_MAX && sub < (1u << 30))
        sub *= 2;
    uint64_t count = ring / sub;
    control->sub_buffer_bytes = (uint32_t)sub;
    control->ring_sub_buffers = (uint32_t)(count < 2 ? 2 : count > RING_QUOTA_MAX ? RING_QUOTA_MAX : count);
}

static int64_t block_timeout_of(double seconds) {
    if (seconds < 0 || seconds > 1e9)
        return INT64_MAX;
    return seconds > 0 ? (int64_t)(seconds * 1e9) : COLLECTOR_GONE;
}

static tsmith_status make_control(struct session_directory *directory, const tsmith_capture_options *options,
                                  tsmith_error *error) {
    const size_t bytes = sizeof(struct layout_control);
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a session");
    struct layout_control *control = at;
    directory->control = control;
    control->version = LAYOUT_VERSION;
    control->bytes = (uint32_t)bytes;
    control->overflow = (uint32_t)options->overflow;
    control->tick_is_tsc = clock_tick_is_tsc();
    control->block_timeout = block_timeout_of(options->block_timeout);
    if (options->stacks)
        control->stacks = options->stack_frames ? options->stack_frames : TSMITH_STACK_FRAMES_DEFAULT;
    control->aggregate = options->aggregate;
    choose_sizes(control, options->buffer_bytes);
    control->started = clock_trace_now();
    control->started_realtime = clock_now(CLOCK_REALTIME);
    read_boot_id(control->boot_id);
    atomic_store(&control->collector_pid, (uint32_t)getpid());
    atomic_store(&control->heartbeat, control->started);
    atomic_store(&control->armed, !options->armed);
    atomic_store(&control->state, LAYOUT_SESSION_OPEN);
    control->magic = LAYOUT_CONTROL_MAGIC;
    if (!control_file_create(&directory->file, directory->fd, control))
        return status_set_errno(error, "cannot create the session's control file in %s", directory->path);
    return TSMITH_OK;
}

// A process in the container can put another directory in the place of the one that was made.
static bool is_ours(const struct session_directory *directory) {
    struct stat status;
    return directory->parent < 0 || (fstat(directory->fd, &status) == 0 && status.st_uid == geteuid() &&
                                     (status.st_mode & 0777) == 0700);
}

tsmith_status session_directory_create(struct session_directory *directory,
                                       const tsmith_capture_options *options, tsmith_error *error) {
    tsmith_capture_options chosen = {0};
    tsmith_status status = sized_take(tsmith_capture_options, options, &chosen, error);
    if (status != TSMITH_OK)
        return status;
    memset(directory, 0, sizeof *directory);
    directory->parent = directory->fd = directory->file.fd = directory->file.kept = -1;
    directory->owner = getpid();
    if (!tsmith_overflow_name(chosen.overflow))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "unknown overflow policy %d",
                          (int)chosen.overflow);
    status = chosen.attach_pid && other_root_is(chosen.attach_pid)
                 ? make_for(directory, chosen.attach_pid, error)
                 : make_directory(directory, chosen.session_root, error);
    if (status)
        return status;
    directory->fd = open(directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (directory->fd >= 0 && !is_ours(directory)) {
        close(directory->fd); // nothing in it is removed
        directory->fd = -1;
        errno = EPERM;
    }
    status = directory->fd < 0
                 ? status_set_errno(error, "cannot open the session directory %s", directory->path)
                 : make_control(directory, &chosen, error);
    if (status)
        session_directory_remove(directory);
    return status;
}

static tsmith_status check_control(const struct session_directory *directory, tsmith_error *error) {
    const struct layout_control *control = directory->control;
    if (control->magic != LAYOUT_CONTROL_MAGIC)
        return status_set(error, TSMITH_ERROR_FORMAT, "%s is not a session directory", directory->path);
    if (control->version != LAYOUT_VERSION)
        return status_set(
            error, TSMITH_ERROR_UNSUPPORTED,
            "the session in %s was made by another version of TraceSmith (layout %u, this one has %u)",
            directory->path, control->version, LAYOUT_VERSION);
    if (control->sub_buffer_bytes % LAYOUT_PAGE || control->sub_buffer_bytes < 2 * 8 * RECORD_MAX_WORDS ||
        control->sub_buffer_bytes > 1u << 30 || control->ring_sub_buffers < 2 ||
        control->ring_sub_buffers > RING_QUOTA_MAX)
        return status_set(error, TSMITH_ERROR_CORRUPT, "the control file of the session in %s is damaged",
                          directory->path);
    return TSMITH_OK;
}

bool session_directory_collected(const struct session_directory *directory) {
    const struct layout_control *control = directory->control;
    int64_t silent = clock_trace_now() - atomic_load(&control->heartbeat);
    pid_t pid = (pid_t)atomic_load(&control->collector_pid);
    return session_directory_same_boot(directory) && silent >= 0 && silent < COLLECTOR_GONE && pid > 0 &&
           kill(pid, 0) == 0;
}

// The clocks as they are now, for what was recorded after the last comparison; kept for the next recovery. A directory
// that cannot be written to is recovered all the same.
static void compare_finally(struct session_directory *directory) {
    struct layout_control *control = directory->control;
    if (control->final_tick || !session_directory_same_boot(directory))
        return;
    struct clock_sample now = clock_sample_take(control->tick_is_tsc != 0);
    control->final_tick = now.tick;
    control->final_trace = now.trace;
    int fd = openat(directory->fd, LAYOUT_CONTROL_NAME, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    const size_t at = offsetof(struct layout_control, final_tick);
    (void)!pwrite(fd, (const char *)control + at, sizeof *control - at, (off_t)at);
    close(fd);
}

tsmith_status session_directory_look(struct session_directory *directory, const char *path,
                                     tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    memset(directory, 0, sizeof *directory);
    directory->private_copy = true;
    directory->parent = directory->fd = directory->file.fd = directory->file.kept = -1;
    if (strlen(path) >= sizeof directory->path)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "the name of the session directory is too long");
    memcpy(directory->path, path, strlen(path) + 1);
    directory->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory->fd < 0)
        return status_set_errno(error, "cannot open the session directory %s", path);
    struct stat info;
    if (fstat(directory->fd, &info) == 0) {
        directory->user = info.st_uid;
        directory->control = control_file_copy(directory->fd, info.st_uid);
    }
    if (!directory->control)
        status = status_set(error, TSMITH_ERROR_FORMAT,
                            "%s is not a session directory: it has no control file of its owner", path);
    else
        status = check_control(directory, error);
    if (status) {
        session_directory_close(directory);
        return status;
    }
    directory->control->output[LAYOUT_TEXT - 1] = '\0';
    directory->control->command[LAYOUT_TEXT - 1] = '\0';
    // As the processes that record into it know it. The path of one in a container (/proc/PID/root/...) has no other form.
    char whole[PATH_MAX];
    struct stat found;
    if (realpath(path, whole) && strlen(whole) < sizeof directory->path && stat(whole, &found) == 0 &&
        found.st_dev == info.st_dev && found.st_ino == info.st_ino)
        memcpy(directory->path, whole, strlen(whole) + 1);
    return TSMITH_OK;
}

tsmith_status session_directory_open(struct session_directory *directory, const char *path,
                                     tsmith_error *error) {
    tsmith_status status = session_directory_look(directory, path, error);
    if (!status && session_directory_collected(directory)) {
        status = status_set(
            error, TSMITH_ERROR_BUSY,
            "the session in %s is still being collected by process %u; wait for it, or end it first", path,
            atomic_load(&directory->control->collector_pid));
        session_directory_close(directory);
    }
    if (!status)
        compare_finally(directory);
    return status;
}

void session_directory_set_output(struct session_directory *directory, const char *path) {
    char whole[PATH_MAX];
    struct stat status;
    size_t length = realpath(path, whole) ? strlen(whole) : 0;
    if (length > 0 && length < LAYOUT_TEXT && stat(whole, &status) == 0 && S_ISREG(status.st_mode))
        memcpy(directory->control->output, whole, length + 1);
    CONTROL_FILE_WRITE(&directory->file, output);
}

void session_directory_set_command(struct session_directory *directory, const char *text) {
    size_t length = strnlen(text, LAYOUT_TEXT - 1);
    memcpy(directory->control->command, text, length);
    directory->control->command[length] = '\0';
    CONTROL_FILE_WRITE(&directory->file, command);
}

bool session_directory_is_of_parent(const struct session_directory *directory) {
    return directory->owner && directory->owner != getpid();
}

void session_directory_end(struct session_directory *directory) {
    if (!directory->control || directory->private_copy || session_directory_is_of_parent(directory))
        return;
    atomic_store(&directory->control->armed, 0);
    atomic_store(&directory->control->state, LAYOUT_SESSION_CLOSED);
    CONTROL_FILE_WRITE(&directory->file, armed);
    CONTROL_FILE_WRITE(&directory->file, state);
}

void session_directory_arm(const struct session_directory *directory, bool on) {
    atomic_store(&directory->control->armed, on);
    CONTROL_FILE_WRITE(&directory->file, armed);
}

void session_directory_trigger(const struct session_directory *directory) {
    atomic_fetch_add(&directory->control->trigger, 1);
    CONTROL_FILE_WRITE(&directory->file, trigger);
}

void session_directory_close(struct session_directory *directory) {
    control_file_close(&directory->file);
    if (directory->control)
        munmap(directory->control, sizeof *directory->control);
    if (directory->fd >= 0)
        close(directory->fd);
    if (directory->parent >= 0)
        close(directory->parent);
    directory->control = NULL;
    directory->parent = directory->fd = -1;
}

static DIR *list(const struct session_directory *directory) {
    int fd = directory->fd >= 0 ? openat(directory->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
    if (!listing && fd >= 0)
        close(fd);
    return listing;
}

uint32_t session_directory_unrecorded(const struct session_directory *directory) {
    const size_t suffix = sizeof LAYOUT_UNRECORDED_SUFFIX - 1;
    uint32_t count = 0;
    DIR *listing = list(directory);
    for (struct dirent *entry = listing ? readdir(listing) : NULL; entry; entry = readdir(listing)) {
        size_t length = strlen(entry->d_name);
        count += length > suffix && strcmp(entry->d_name + length - suffix, LAYOUT_UNRECORDED_SUFFIX) == 0;
    }
    if (listing)
        closedir(listing);
    return count;
}

uint64_t session_directory_bytes(const struct session_directory *directory) {
    uint64_t bytes = 0;
    struct stat status;
    DIR *listing = list(directory);
    for (struct dirent *entry = listing ? readdir(listing) : NULL; entry; entry = readdir(listing))
        if (fstatat(directory->fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode))
            bytes += (uint64_t)status.st_blocks * 512;
    if (listing)
        closedir(listing);
    return bytes;
}

// What the link of the session names, if that is a folder of ours, and what is in it.
static void remove_logs(const struct session_directory *directory) {
    static const char ours[] = "/tracesmith-xray-";
    char path[4096];
    struct stat status, session;
    const ssize_t length = readlinkat(directory->fd, LAYOUT_LOGS_NAME, path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = '\0';
    const char *name = strrchr(path, '/');
    if (!name || strncmp(name, ours, sizeof ours - 1) != 0)
        return;
    // The link is untrusted: any process that can write to the session directory can change it. Only a folder of the same
    // user is accepted.
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &status) || fstat(directory->fd, &session) || status.st_uid != geteuid() ||
        session.st_uid != geteuid()) {
        if (fd >= 0)
            close(fd);
        return;
    }
    DIR *folder = fdopendir(fd);
    if (!folder)
        close(fd);
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(path);
}

void session_directory_remove(struct session_directory *directory) {
    if (session_directory_is_of_parent(directory)) {
        session_directory_close(directory);
        return;
    }
    remove_logs(directory);
    DIR *listing = list(directory);
    // Removes its control file and its journal last, so that the remaining files can be identified until then.
    for (struct dirent *entry = listing ? readdir(listing) : NULL; entry; entry = readdir(listing))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, LAYOUT_CONTROL_NAME) != 0 &&
            strcmp(entry->d_name, LAYOUT_CONTROL_KEPT_NAME) != 0 &&
            strcmp(entry->d_name, LAYOUT_JOURNAL_NAME) != 0 && unlinkat(directory->fd, entry->d_name, 0))
            unlinkat(directory->fd, entry->d_name, AT_REMOVEDIR);
    if (listing)
        closedir(listing);
    unlinkat(directory->fd, LAYOUT_CONTROL_NAME, 0);
    unlinkat(directory->fd, LAYOUT_CONTROL_KEPT_NAME, 0);
    unlinkat(directory->fd, LAYOUT_JOURNAL_NAME, 0);
    if (directory->parent >= 0)
        unlinkat(directory->parent, strrchr(directory->path, '/') + 1, AT_REMOVEDIR);
    else
        rmdir(directory->path);
    session_directory_close(directory);
}

// MONOTONIC_RAW is the clock of a boot of a machine and of a time namespace.
static void describe_clock(tsmith_dictionary *dictionary) {
    char boot[64] = "", space[64] = "", text[160];
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd >= 0 ? read(fd, boot, sizeof boot - 1) : -1;
    if (fd >= 0)
        close(fd);
    boot[length > 0 ? strcspn(boot, "\n") : 0] = '\0';
    const ssize_t named = readlink("/proc/self/ns/time", space, sizeof space - 1);
    space[named > 0 ? named : 0] = '\0';
    snprintf(text, sizeof text, "raw:%s:%s", boot, space);
    if (*boot)
        tsmith_dictionary_set_attribute(dictionary, TSMITH_CLOCK_ATTRIBUTE, text);
}

void session_directory_describe(const struct session_directory *directory, tsmith_dictionary *dictionary) {
    const struct layout_control *control = directory->control;
    char text[256];
    tsmith_dictionary_set_attribute(dictionary, "tool.name", "tracesmith");
    tsmith_dictionary_set_attribute(dictionary, "tool.version", TSMITH_VERSION_STRING);
    if (gethostname(text, sizeof text) == 0) {
        text[sizeof text - 1] = '\0';
        tsmith_dictionary_set_attribute(dictionary, "host", text);
    }
    describe_clock(dictionary);
    // Where everything still is if this file is never finished; gone when it is.
    tsmith_dictionary_set_attribute(dictionary, "session.directory",
                                    directory->shown[0] ? directory->shown : directory->path);
    snprintf(text, sizeof text, "%lld", (long long)control->started_realtime);
    tsmith_dictionary_set_attribute(dictionary, "wall_clock_start_ns", text);
    snprintf(text, sizeof text, "%lld", (long long)control->started);
    tsmith_dictionary_set_attribute(dictionary, "trace_clock_start_ns", text);
    snprintf(text, sizeof text, "%lld", (long long)control->aggregate);
    if (control->aggregate > 0)
        tsmith_dictionary_set_attribute(dictionary, "aggregate.period_ns", text);
}
