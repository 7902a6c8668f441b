// SPDX-License-Identifier: Apache-2.0
// The life of a channel in its process: open, threads coming and going, fork, close.
//
//     OPEN --fork, in the child--> FORKED --first use--> OPEN (own files, same ids) or DEAD
//     OPEN --close--> CLOSED --detach--> CLOSED, without memory in the session
//
// Locks: registry_lock, then a channel's lock. The event path takes neither. A struct channel is never freed:
// a thread may be about to look at its gate.
#include "wire/channel_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "tracesmith/capture.h"
#include "wire/process.h"

__thread struct channel_here channel_here __attribute__((tls_model("initial-exec"), visibility("hidden")));

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct channel *registry;
static struct channel *retired; // detached; kept, as a thread may still look at a gate
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static bool thread_key_made;
static _Atomic uint64_t last_id;

static const uint32_t RING_BACKOFF = 1024; // calls

// ---- locks

// Every lock of a channel is taken through these. A signal handler that emits while its thread has one, or waits for
// one, sees `inside` and is refused: it would wait for its own thread.
static void lock(struct channel *channel) {
    channel_here.inside++;
    atomic_signal_fence(memory_order_seq_cst);
    pthread_mutex_lock(&channel->lock);
}

static void unlock(struct channel *channel) {
    pthread_mutex_unlock(&channel->lock);
    atomic_signal_fence(memory_order_seq_cst);
    channel_here.inside--;
}

// ---- threads

// Under the channel's lock. The ring is the calling thread's.
static void ring_part(struct ring_owner *owner) {
    struct channel *channel = owner->channel;
    channel->threads--;
    if (channel->state == CHANNEL_OPEN) {
        ring_leave(&owner->ring);
        return;
    }
    ring_free(&owner->ring);
    if (channel->detached && channel->threads == 0)
        ring_pool_unmap(&channel->pool);
}

static void thread_end(void *unused) {
    (void)unused;
    struct ring_owner *owner = channel_here.owners;
    memset(&channel_here, 0, sizeof channel_here);
    while (owner) {
        struct ring_owner *next = owner->next;
        struct channel *channel = owner->channel;
        lock(channel);
        ring_part(owner);
        unlock(channel);
        owner = next;
    }
}

// Rings of this thread whose channel is over.
static void drop_stale_rings(void) {
    struct ring_owner **at = &channel_here.owners;
    while (*at) {
        struct ring_owner *owner = *at;
        struct channel *channel = owner->channel;
        lock(channel);
        bool stale = owner->channel_id != atomic_load(&channel->gate.id);
        if (stale) {
            *at = owner->next;
            ring_part(owner);
        }
        unlock(channel);
        if (!stale)
            at = &owner->next;
    }
}

// ---- fork

static void before_fork(void) {
    channel_here.inside++;
    pthread_mutex_lock(&registry_lock);
    for (struct channel *channel = registry; channel; channel = channel->next)
        if (!channel->not_in_children)
            pthread_mutex_lock(&channel->lock);
}

static void after_fork_parent(void) {
    for (struct channel *channel = registry; channel; channel = channel->next)
        if (!channel->not_in_children)
            pthread_mutex_unlock(&channel->lock);
    pthread_mutex_unlock(&registry_lock);
    channel_here.inside--;
}

static void after_fork_child(void) {
    // The rings of all threads are the parent's; this process must not touch them again.
    memset(&channel_here, 0, sizeof channel_here);
    for (struct channel *channel = registry; channel; channel = channel->next) {
        if (channel->not_in_children) { // the thread that held the lock does not exist in this process
            pthread_mutex_init(&channel->lock, NULL);
            channel->state = CHANNEL_DEAD;
            atomic_store(&channel->gate.id, CHANNEL_FORKED_ID);
            continue;
        }
        if (channel->state == CHANNEL_OPEN) {
            channel->state = CHANNEL_FORKED;
            channel->threads = 0;
            atomic_store(&channel->gate.id, CHANNEL_FORKED_ID);
        }
        pthread_mutex_unlock(&channel->lock);
    }
    pthread_mutex_unlock(&registry_lock);
}

static void prepare_process(void) {
    thread_key_made = pthread_key_create(&thread_key, thread_end) == 0;
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

// ---- files

static struct layout_control *map_control(const char *directory) {
    struct layout_control *control = NULL;
    char path[PATH_BYTES];
    struct stat status;
    int fd = -1;
    if ((size_t)snprintf(path, sizeof path, "%s/" LAYOUT_CONTROL_NAME, directory) < sizeof path)
        fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &status) || status.st_size < (off_t)LAYOUT_PAGE)
        goto done;
    // The first page has all that the recording side reads.
    void *at = mmap(NULL, LAYOUT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        goto done;
    control = at;
    if (control->magic != LAYOUT_CONTROL_MAGIC || control->version != LAYOUT_VERSION ||
        atomic_load_explicit(&control->state, memory_order_acquire) != LAYOUT_SESSION_OPEN ||
        control->sub_buffer_bytes % LAYOUT_PAGE || control->sub_buffer_bytes < 2 * 8 * RECORD_MAX_WORDS ||
        control->ring_sub_buffers < 2 || control->ring_sub_buffers > RING_QUOTA_MAX) {
        munmap(at, LAYOUT_PAGE);
        control = NULL;
    }
done:
    if (fd >= 0)
        close(fd);
    return control;
}

const _Atomic uint32_t *channel_trigger(const char *session_directory) {
    const struct layout_control *control = map_control(session_directory);
    return control ? &control->trigger : NULL;
}

static void forget_paths(struct channel *channel) {
    free(channel->path);
    free(channel->rings_path);
    channel->path = NULL;
    channel->rings_path = NULL;
}

// One attempt at names and files; EEXIST when somebody has the name.
static int make_named_files(struct channel *channel, unsigned long long start, unsigned attempt) {
    forget_paths(channel);
    if (asprintf(&channel->path, "%s/%d-%llu-%s-%u" LAYOUT_CHANNEL_SUFFIX, channel->directory, (int)getpid(),
                 start, channel->api, attempt) < 0)
        channel->path = NULL;
    if (asprintf(&channel->rings_path, "%s/%d-%llu-%s-%u" LAYOUT_RINGS_SUFFIX, channel->directory,
                 (int)getpid(), start, channel->api, attempt) < 0)
        channel->rings_path = NULL;
    if (!channel->path || !channel->rings_path)
        return ENOMEM;
    if (!ring_pool_open(&channel->pool, channel->rings_path, channel->control))
        return errno;
    if (channel_table_create(channel)) {
        // A program that replaced itself by exec is the same process: its new image must not number its calls from 1
        // again (tests/opencl/test_processes.sh).
        atomic_store(&channel->correlation, (uint64_t)attempt << 36);
        return 0;
    }
    ring_pool_unmap(&channel->pool);
    unlink(channel->rings_path);
    return ENOSPC;
}

// Makes the two files under a name nobody has. Sets head, pool and the paths.
static bool make_files(struct channel *channel) {
    unsigned long long start = process_start_time();
    int failure = EEXIST;
    for (unsigned attempt = 0; failure == EEXIST && attempt < 1000; attempt++)
        failure = make_named_files(channel, start, attempt);
    if (failure)
        return false;
    channel->head->version = LAYOUT_VERSION;
    channel->head->bytes = sizeof(struct layout_channel);
    channel->head->pid = (uint64_t)getpid();
    channel->head->parent_pid = (uint64_t)getppid();
    channel->head->start_time = start;
    channel->head->pid_namespace = process_namespace();
    channel->head->attached = clock_trace_now();
    memcpy(channel->head->api, channel->api, sizeof channel->head->api);
    atomic_store(&channel->head->state, LAYOUT_CHANNEL_OPEN);
    return true;
}

static void publish(struct channel *channel) {
    // The magic makes the file valid; before, the collector passes over it.
    atomic_thread_fence(memory_order_release);
    *(volatile uint64_t *)&channel->head->magic = LAYOUT_CHANNEL_MAGIC;
    atomic_fetch_add_explicit(&channel->control->generation, 1, memory_order_release);
    atomic_store(&channel->gate.id, atomic_fetch_add(&last_id, 1) + 1);
    channel->state = CHANNEL_OPEN;
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

static void describe_process(struct channel *channel) {
    char text[PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", text, sizeof text);
    channel->head->name = length > 0 ? channel_table_string(channel, text, (size_t)length) : 0;
    channel->head->command_line = read_string(channel, "/proc/self/cmdline");
    if (gethostname(text, sizeof text) == 0)
        channel->head->host = channel_table_string(channel, text, strnlen(text, sizeof text));
}

// A process that may open no more files can still make a folder, whose name says who is missing from the trace.
static void leave_word(const char *session_directory) {
    char path[PATH_BYTES];
    int length =
        snprintf(path, sizeof path, "%s/%d" LAYOUT_UNRECORDED_SUFFIX, session_directory, (int)getpid());
    if (length > 0 && (size_t)length < sizeof path)
        (void)mkdir(path, 0700); // no session there any more: nobody to tell
}

tsmith_status channel_open(const char *session_directory, const char *api, struct channel **out) {
    tsmith_status status = TSMITH_ERROR_STATE;
    int saved = errno;
    *out = NULL;
    pthread_once(&once, prepare_process);
    struct channel *channel = calloc(1, sizeof *channel);
    if (!channel)
        return TSMITH_ERROR_NO_MEMORY;
    pthread_mutex_init(&channel->lock, NULL);
    channel->control = map_control(session_directory);
    if (!thread_key_made || !channel->control || strlen(api) >= sizeof channel->api)
        goto fail;
    channel->gate.armed = &channel->control->armed;
    memcpy(channel->api, api, strlen(api));
    channel->directory = strdup(session_directory);
    if (!channel->directory)
        goto fail;
    status = TSMITH_ERROR_NO_SPACE;
    if (!make_files(channel))
        goto fail;
    describe_process(channel);
    pthread_mutex_lock(&registry_lock);
    publish(channel);
    channel->next = registry;
    registry = channel;
    pthread_mutex_unlock(&registry_lock);
    *out = channel;
    errno = saved;
    return TSMITH_OK;
fail:
    leave_word(session_directory);
    if (channel->control)
        munmap(channel->control, LAYOUT_PAGE);
    free(channel->directory);
    forget_paths(channel);
    free(channel);
    errno = saved;
    return status;
}

// In a child, at its first use, under the lock: own files, with the entries that its objects already refer
// to.
static void revive(struct channel *channel) {
    channel->state = CHANNEL_DEAD;
    ring_pool_unmap(&channel->pool);
    struct layout_channel *parent = channel->head;
    channel->head = NULL;
    if (atomic_load(&channel->control->state) != LAYOUT_SESSION_OPEN || !make_files(channel)) {
        channel->head = parent; // for counting; shared with the parent, whose loss it is then
        return;
    }
    channel->head->name = parent->name;
    channel->head->command_line = parent->command_line;
    channel->head->host = parent->host;
    munmap(parent, LAYOUT_PAGE);
    publish(channel);
}

bool channel_lock(struct channel *channel) {
    if (channel_here.inside) {
        channel_here.inside++;
        return false;
    }
    lock(channel);
    if (channel->state == CHANNEL_FORKED)
        revive(channel);
    return channel->state == CHANNEL_OPEN;
}

void channel_unlock(struct channel *channel) {
    if (channel_here.inside == 1)
        unlock(channel);
    else
        channel_here.inside--;
}

void channel_not_in_children(struct channel *channel) {
    pthread_mutex_lock(&registry_lock);
    channel->not_in_children = true;
    pthread_mutex_unlock(&registry_lock);
}

void channel_close(struct channel *channel) {
    if (!channel)
        return;
    lock(channel);
    if (channel->state == CHANNEL_OPEN) {
        // The calling thread's ring is handed over; those of others stay as they are and are read up to what
        // they have committed: their threads may be writing right now.
        if (channel_here.id == atomic_load(&channel->gate.id) && channel_here.ring)
            ring_finish(channel_here.ring);
        for (struct ring_owner *idle = channel->pool.idle; idle; idle = idle->next)
            ring_finish(&idle->ring);
        atomic_store(&channel->gate.id, CHANNEL_CLOSED_ID);
        atomic_store_explicit(&channel->head->state, LAYOUT_CHANNEL_CLOSED, memory_order_release);
        channel->state = CHANNEL_CLOSED;
    } else if (channel->state == CHANNEL_FORKED) {
        channel->state = CHANNEL_DEAD; // never used in this process: the files are the parent's
    }
    unlock(channel);
}

static void retire(struct channel *channel) {
    struct channel **at = &registry;
    pthread_mutex_lock(&registry_lock);
    while (*at && *at != channel)
        at = &(*at)->next;
    if (*at) {
        *at = channel->next;
        channel->next = retired;
        retired = channel;
    }
    pthread_mutex_unlock(&registry_lock);
}

void channel_detach(struct channel *channel) {
    lock(channel);
    bool first = channel->state == CHANNEL_CLOSED && !channel->detached;
    if (first) {
        channel->detached = true;
        while (channel->pool.idle) {
            struct ring_owner *idle = channel->pool.idle;
            channel->pool.idle = idle->next;
            ring_free(&idle->ring);
        }
        channel_table_detach(channel);
        if (channel->threads == 0)
            ring_pool_unmap(&channel->pool);
        else
            ring_pool_detach(&channel->pool);
        // Read by late emitters: a page of zeros says closed, disarmed.
        ring_pool_make_private(channel->control, LAYOUT_PAGE);
        free(channel->directory);
        channel->directory = NULL;
    }
    unlock(channel);
    if (first)
        retire(channel);
}

bool channel_live(const struct channel *channel) {
    return atomic_load(&channel->control->state) == LAYOUT_SESSION_OPEN;
}

bool channel_tick_is_tsc(const struct channel *channel) {
    return channel->control->tick_is_tsc != 0;
}

uint64_t channel_tick_scale(const struct channel *channel) {
    const struct layout_control *control = channel->control;
    return atomic_load_explicit(&control->segment_count, memory_order_acquire) ? control->segments[0].scale
                                                                               : 0;
}

uint64_t channel_correlations(struct channel *channel, uint64_t count) {
    return atomic_fetch_add_explicit(&channel->correlation, count, memory_order_relaxed) + 1;
}

// ---- the thread's ring

// All under the lock.

static uint32_t add_thread_track(struct channel *channel, uint32_t tid, const char *name, size_t length) {
    tsmith_track track = {
        .kind = TSMITH_TRACK_THREAD, .name = channel_table_string(channel, name, length), .tid = tid};
    return channel_table_add(channel, LAYOUT_ENTRY_TRACK, &track, sizeof track);
}

// The place of a thread id, or the empty one where it belongs; NULL without places.
static struct channel_thread *find_thread(const struct channel_threads *threads, uint32_t tid) {
    if (!threads->places)
        return NULL;
    size_t at = (tid * UINT32_C(2654435761)) & (threads->places - 1);
    while (threads->items[at].tid && threads->items[at].tid != tid)
        at = (at + 1) & (threads->places - 1);
    return &threads->items[at];
}

static bool grow_threads(struct channel_threads *threads) {
    struct channel_threads grown = {.places = threads->places ? 2 * threads->places : 64,
                                    .count = threads->count};
    if (2 * (threads->count + 1) <= threads->places)
        return true;
    grown.items = calloc(grown.places, sizeof *grown.items);
    if (!grown.items)
        return false;
    for (size_t i = 0; i < threads->places; i++)
        if (threads->items[i].tid)
            *find_thread(&grown, threads->items[i].tid) = threads->items[i];
    free(threads->items);
    *threads = grown;
    return true;
}

static void remember_thread(struct channel *channel, uint32_t tid, uint32_t track, bool taken) {
    if (!track || !grow_threads(&channel->threads_known))
        return;
    struct channel_thread *place = find_thread(&channel->threads_known, tid);
    channel->threads_known.count += place->tid == 0;
    *place = (struct channel_thread){.tid = tid, .track = track, .taken = taken};
}

// The track of a ring that the calling thread makes.
static uint32_t make_thread_track(struct channel *channel) {
    char name[17] = {0};
    const uint32_t tid = (uint32_t)syscall(SYS_gettid);
    const struct channel_thread *known = find_thread(&channel->threads_known, tid);
    uint32_t track = known && known->tid && !known->taken ? known->track : 0;
    if (!track) {
        prctl(PR_GET_NAME, name, 0, 0, 0);
        track = add_thread_track(channel, tid, name, strnlen(name, sizeof name));
    }
    remember_thread(channel, tid, track, true);
    return track;
}

static uint32_t thread_track(struct channel *channel, uint32_t tid) {
    char path[64], name[64];
    const struct channel_thread *known = find_thread(&channel->threads_known, tid);
    if (known && known->tid)
        return known->track;
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, name, sizeof name) : -1;
    if (fd >= 0)
        close(fd);
    length -= length > 0 && name[length - 1] == '\n';
    const uint32_t track = add_thread_track(channel, tid, name, length > 0 ? (size_t)length : 0);
    remember_thread(channel, tid, track, false);
    return track;
}

uint32_t channel_thread(struct channel *channel, uint32_t tid) {
    int saved = errno;
    uint32_t track = channel_lock(channel) ? thread_track(channel, tid) : 0;
    channel_unlock(channel);
    errno = saved;
    return track;
}

static struct ring *make_ring(struct channel *channel) {
    struct ring *ring = NULL;
    channel_here.inside++;
    drop_stale_rings();
    channel_here.inside--;
    if (!channel_lock(channel))
        goto done;
    uint64_t id = atomic_load(&channel->gate.id);
    for (struct ring_owner *owner = channel_here.owners; owner && !ring; owner = owner->next)
        if (owner->channel == channel)
            ring = &owner->ring;
    if (!ring) {
        ring = ring_open(&channel->pool, make_thread_track(channel));
        if (!ring)
            goto done;
        ring->owner->channel = channel;
        ring->owner->channel_id = id;
        ring->owner->next = channel_here.owners;
        channel_here.owners = ring->owner;
        channel->threads++;
        pthread_setspecific(thread_key, channel); // any value: it makes thread_end run
    }
    // A signal handler must not find the id of one channel with the ring of another.
    channel_here.id = 0;
    atomic_signal_fence(memory_order_seq_cst);
    channel_here.ring = ring;
    atomic_signal_fence(memory_order_seq_cst);
    channel_here.id = id;
done:
    channel_unlock(channel);
    return ring;
}

struct ring *channel_ring_slow(struct channel *channel) {
    int saved = errno;
    struct ring *ring = NULL;
    tsmith_reason reason = TSMITH_REASON_NO_MEMORY;
    if (atomic_load_explicit(&channel->gate.id, memory_order_relaxed) == CHANNEL_CLOSED_ID) {
        // Late: nothing to make.
    } else if (channel_here.inside > 0) {
        reason = TSMITH_REASON_INTERRUPTED; // in a signal handler
    } else if (channel_here.backoff > 0) {
        channel_here.backoff--;
    } else {
        ring = make_ring(channel);
        channel_here.backoff = ring ? 0 : RING_BACKOFF;
    }
    if (!ring)
        channel_lose(channel, reason, 1);
    errno = saved;
    return ring;
}

void channel_rest(struct channel *channel, bool resting) {
    if (channel_here.id == atomic_load_explicit(&channel->gate.id, memory_order_relaxed) && channel_here.ring)
        ring_rest(channel_here.ring, resting);
}

struct ring_pool *channel_local_pool(uint64_t device, uint64_t inode) {
    struct ring_pool *found = NULL;
    pthread_mutex_lock(&registry_lock);
    for (struct channel *channel = registry; channel && !found; channel = channel->next) {
        pthread_mutex_lock(&channel->lock);
        bool mapped =
            channel->state == CHANNEL_OPEN || (channel->state == CHANNEL_CLOSED && !channel->detached);
        if (mapped && channel->pool.device == device && channel->pool.inode == inode)
            found = &channel->pool;
        pthread_mutex_unlock(&channel->lock);
    }
    pthread_mutex_unlock(&registry_lock);
    return found;
}
