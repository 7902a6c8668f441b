// SPDX-License-Identifier: Apache-2.0
// The files of a process in a session, and what is said of it there; channel.c calls it when a channel is opened.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/channel_private.h"
#include "wire/launcher.h"
#include "wire/process.h"

// `place`: a page that is to be replaced by it, NULL: any. It stays as it is where the result is NULL.
struct layout_control *channel_map_control(const char *directory, struct layout_control *place) {
    struct layout_control *control = NULL;
    char path[PATH_BYTES];
    struct stat status;
    int fd = -1;
    if ((size_t)snprintf(path, sizeof path, "%s/" LAYOUT_CONTROL_NAME, directory) < sizeof path)
        fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &status) || status.st_size < (off_t)LAYOUT_PAGE)
        goto done;
    // The first page has all that the recording side reads.
    void *at = mmap(place, LAYOUT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | (place ? MAP_FIXED : 0), fd, 0);
    if (at == MAP_FAILED)
        goto done;
    control = at;
    if (control->magic != LAYOUT_CONTROL_MAGIC || control->version != LAYOUT_VERSION ||
        atomic_load_explicit(&control->state, memory_order_acquire) != LAYOUT_SESSION_OPEN ||
        control->sub_buffer_bytes % LAYOUT_PAGE || control->sub_buffer_bytes < 2 * 8 * RECORD_MAX_WORDS ||
        control->ring_sub_buffers < 2 || control->ring_sub_buffers > RING_QUOTA_MAX) {
        if (place)
            ring_pool_make_private(at, LAYOUT_PAGE);
        else
            munmap(at, LAYOUT_PAGE);
        control = NULL;
    }
done:
    if (fd >= 0)
        close(fd);
    return control;
}

const _Atomic uint32_t *channel_trigger(const char *session_directory) {
    const struct layout_control *control = channel_map_control(session_directory, NULL);
    return control ? &control->trigger : NULL;
}

static bool name_file(const struct channel_process *process, unsigned long long start, unsigned attempt,
                      const char *suffix, char path[PATH_BYTES]) {
    const int length = snprintf(path, PATH_BYTES, "%s/%d-%llu-%s-%u%s", process->directory, (int)getpid(),
                                start, process->api, attempt, suffix);
    return length > 0 && length < PATH_BYTES;
}

// One attempt at names and files; EEXIST if another process has the name.
static int make_named_files(struct channel_process *process, unsigned long long start, unsigned attempt) {
    if (!name_file(process, start, attempt, LAYOUT_CHANNEL_SUFFIX, process->path) ||
        !name_file(process, start, attempt, LAYOUT_RINGS_SUFFIX, process->rings_path))
        return ENAMETOOLONG;
    if (!ring_pool_open(&process->pool, process->rings_path, process->control))
        return errno;
    if (channel_table_create(process)) {
        // A program that replaced itself by exec is the same process: its new image must not number its calls from 1
        // again (tests/opencl/test_processes.sh).
        atomic_store(&process->correlation, (uint64_t)attempt << 36);
        return 0;
    }
    ring_pool_unmap(&process->pool);
    unlink(process->rings_path);
    return ENOSPC;
}

// Makes the two files under an unused name. Sets head, pool and the paths. No API has joined.
bool channel_make_files(struct channel_process *process) {
    unsigned long long start = process_start_time();
    int failure = EEXIST;
    for (unsigned attempt = 0; failure == EEXIST && attempt < 1000; attempt++)
        failure = make_named_files(process, start, attempt);
    if (failure)
        return false;
    process->head->version = LAYOUT_VERSION;
    process->head->bytes = sizeof(struct layout_channel);
    process->head->pid = (uint64_t)getpid();
    process->head->parent_pid = (uint64_t)getppid();
    process->head->start_time = start;
    process->head->pid_namespace = process_namespace();
    process->head->attached = clock_trace_now();
    atomic_store(&process->head->state, LAYOUT_CHANNEL_OPEN);
    return true;
}

static uint32_t read_string(struct channel *channel, const char *path) {
    char text[PATH_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0)
        close(fd);
    while (length > 0 && text[length - 1] == '\0')
        length--;
    for (ssize_t i = 0; i < length; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return length > 0 ? channel_table_string(channel, text, (size_t)length) : 0;
}

static const char *look_in_environment(const void *context, const char *name) {
    (void)context;
    return getenv(name);
}

static uint32_t plus_one(int64_t number) {
    return (uint32_t)(number + 1);
}

// The launcher of a distributed run stated it in the environment. Also after torch.multiprocessing has set it: the channel is made
// when the API is first used.
static void describe_rank(struct channel *channel) {
    tsmith_launch launch;
    if (!launcher_read(look_in_environment, NULL, &launch))
        return;
    const tsmith_rank rank = {.rank = plus_one(launch.rank),
                              .world = launch.world < 0 ? 0 : (uint32_t)launch.world,
                              .local_rank = plus_one(launch.local_rank),
                              .local_world = launch.local_world < 0 ? 0 : (uint32_t)launch.local_world,
                              .node = plus_one(launch.node),
                              .launcher =
                                  channel_table_string(channel, launch.launcher, strlen(launch.launcher)),
                              .job = channel_table_string(channel, launch.job, strlen(launch.job))};
    channel_table_add(channel, LAYOUT_ENTRY_RANK, &rank, sizeof rank);
}

void channel_describe(struct channel *channel) {
    char text[PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", text, sizeof text);
    channel->process->head->name = length > 0 ? channel_table_string(channel, text, (size_t)length) : 0;
    channel->process->head->command_line = read_string(channel, "/proc/self/cmdline");
    if (gethostname(text, sizeof text) == 0)
        channel->process->head->host = channel_table_string(channel, text, strnlen(text, sizeof text));
    describe_rank(channel);
}

// A process that may open no more files can still make a folder, whose name records who is missing from the trace.
void channel_leave_word(const char *session_directory) {
    char path[PATH_BYTES];
    int length =
        snprintf(path, sizeof path, "%s/%d" LAYOUT_UNRECORDED_SUFFIX, session_directory, (int)getpid());
    if (length > 0 && (size_t)length < sizeof path)
        (void)mkdir(path, 0700); // the session is gone: nothing to report to
}

// Two versions of TraceSmith cannot share a channel: the reader of the trace should know.
void channel_note_other_builds(struct channel *channel, const char *api) {
    char key[64], text[256];
    const char *other = meeting_other_build();
    if (!other)
        return;
    snprintf(key, sizeof key, "notice.%s-build", api);
    snprintf(
        text, sizeof text,
        "process %d has libraries of two builds of TraceSmith (%.48s and %.48s), which record separately: "
        "install one of them only",
        (int)getpid(), meeting_build(), other);
    channel_attribute(channel, key, text);
}
