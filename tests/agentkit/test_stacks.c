// SPDX-License-Identifier: Apache-2.0
// Call stacks from the call to the dictionary: each event has the path that its functions record themselves, in a
// forked child too; where there is no room for more, every call without a stack is counted; and the collector
// continues to read, whatever bytes a process writes over its file.
#include "support/numbered.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "agentkit/stacks.h"

#if defined(__x86_64__)
enum {
    FUNCTIONS = 8,
    STEPS = 12,
    DIGITS = 6,
    PATHS = 3 << 14, // half as much again as the file may hold
    CHILD = 200,
    THREADS = 3,
    EACH = 3000,
    RETURNS = STEPS + 2
};

enum { OF_THREADS = PATHS + CHILD, NUMBERS = OF_THREADS + THREADS * EACH };

struct path {
    uint64_t number;
    uint32_t step, depth, stack;
    const char *returns[RETURNS];
};

#define ON_PATH __attribute__((noinline)) static void
#define CALLED(path) ((path)->returns[(path)->depth++] = __builtin_return_address(0))

static struct channel *channel;
static uint16_t shape;
static uint64_t load_bias;
static uint64_t (*truth)[RETURNS]; // by number: innermost first, in shared memory

ON_PATH take(struct path *path) {
    CALLED(path);
    path->stack = stacks_capture();
    for (uint32_t i = 0; i < path->depth; i++)
        truth[path->number][i] = (uint64_t)(uintptr_t)path->returns[path->depth - 1 - i] - 1 - load_bias;
    path->depth -= 1u + (path->stack == UINT32_MAX);
}

typedef void path_function(struct path *path);
static path_function *const functions[FUNCTIONS];

__attribute__((always_inline)) static inline void call_next(struct path *path) {
    if (path->step == STEPS)
        take(path);
    else
        functions[path->number >> 3 * (path->step++ % DIGITS) & (FUNCTIONS - 1)](path);
}

#define PATH_FUNCTION(n)                                                                                     \
    ON_PATH path_##n(struct path *path) {                                                                    \
        CALLED(path);                                                                                        \
        call_next(path);                                                                                     \
        path->depth -= 1u + (path->number == UINT64_MAX - (n));                                              \
    }
PATH_FUNCTION(0)
PATH_FUNCTION(1)
PATH_FUNCTION(2)
PATH_FUNCTION(3)
PATH_FUNCTION(4)
PATH_FUNCTION(5)
PATH_FUNCTION(6)
PATH_FUNCTION(7)
static path_function *const functions[FUNCTIONS] = {path_0, path_1, path_2, path_3,
                                                    path_4, path_5, path_6, path_7};

// Events with the numbers from `first` on. How many have no stack.
__attribute__((noinline)) static uint32_t emit(uint64_t first, uint64_t count) {
    uint32_t without = 0;
    struct path path = {.depth = 0};
    CALLED(&path);
    for (path.number = first; path.number < first + count; path.number++) {
        path.step = 0;
        call_next(&path);
        without += path.stack == 0;
        struct ring *ring = channel_ring(channel);
        uint64_t *at = ring_reserve(ring, 4);
        assert_non_null(at);
        at[0] = record_head(shape, 4, 0);
        at[1] = clock_tick(ring->tick_is_tsc);
        at[2] = path.number + 1;
        at[3] = path.stack;
        ring_commit(ring, 4);
    }
    return without;
}

static _Atomic bool threads_done;

static void *emit_in_thread(void *index) {
    uint64_t first = OF_THREADS + (uintptr_t)index * EACH;
    return (void *)(uintptr_t)emit(first, EACH);
}

static void *refresh_in_thread(void *unused) {
    while (!atomic_load(&threads_done))
        stacks_refresh();
    return unused;
}

// Side by side, while modules are examined all the time.
static void emit_in_threads(void) {
    pthread_t threads[THREADS], refresher;
    void *without;
    assert_int_equal(pthread_create(&refresher, NULL, refresh_in_thread, NULL), 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_in_thread, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &without), 0);
        assert_null(without);
    }
    atomic_store(&threads_done, true);
    assert_int_equal(pthread_join(refresher, NULL), 0);
}

// ---- what became of it

struct seen {
    uint32_t events, with, right, lost;
};

static bool is_right(const tsmith_dictionary *dictionary, uint64_t id, uint64_t number) {
    const tsmith_stack *stack = tsmith_dictionary_stack(dictionary, (uint32_t)id);
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self);
    uint32_t at = 0;
    // take() itself, then who called: all in this program, before libc.
    for (bool is_first = true; stack; is_first = false) {
        const tsmith_frame *frame = tsmith_dictionary_frame(dictionary, stack->frame);
        const tsmith_module *module = tsmith_dictionary_module(dictionary, frame->module);
        tsmith_string path = tsmith_dictionary_string(dictionary, module ? module->path : 0);
        bool is_ours = length > 0 && path.length == (size_t)length && !memcmp(path.bytes, self, path.length);
        if (at < RETURNS && truth[number][at] && !is_first &&
            (!is_ours || frame->address != truth[number][at++]))
            return false;
        if (frame->flags || (is_first && !is_ours))
            return false;
        stack = tsmith_dictionary_stack(dictionary, stack->parent);
    }
    return at == STEPS + 2;
}

static void see(const tsmith_dictionary *dictionary, const tsmith_batch *batch, struct seen *seen) {
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        uint64_t kind = 0, number = 0, stack = 0, reason = 0, lost = 0;
        (void)tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind);
        if (kind == TSMITH_KIND_LOSS && tsmith_batch_get(batch, TSMITH_FIELD_REASON, row, &reason) &&
            reason == TSMITH_REASON_NO_STACK && tsmith_batch_get(batch, TSMITH_FIELD_LOST, row, &lost))
            seen->lost += (uint32_t)lost;
        if (kind != TSMITH_KIND_MARKER)
            continue;
        assert_true(tsmith_batch_get(batch, TSMITH_FIELD_CORRELATION, row, &number));
        seen->events++;
        if (!tsmith_batch_get(batch, TSMITH_FIELD_STACK, row, &stack))
            continue;
        seen->with++;
        seen->right += number <= NUMBERS && is_right(dictionary, stack, number - 1);
    }
}

static struct collect_totals drain(const struct session_directory *directory, enum collect_mode mode,
                                   struct seen *seen) {
    struct collector *collector;
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    *seen = (struct seen){0};
    assert_int_equal(collector_create(directory, mode, &collector, &error), TSMITH_OK);
    collector_set_closing(collector, true);
    while ((status = collector_next(collector, &batch, &error)) == TSMITH_OK)
        see(collector_dictionary(collector), batch, seen);
    assert_int_equal(status, TSMITH_END);
    struct collect_totals totals = collector_totals(collector);
    collector_destroy(collector);
    return totals;
}

// ---- the session

static int find_load_bias(struct dl_phdr_info *program, size_t size, void *unused) {
    (void)size, (void)unused;
    load_bias = program->dlpi_addr;
    return 1;
}

static struct session_directory begin(void) {
    const tsmith_capture_options options = {.size = sizeof options,
                                            .buffer_bytes = 4 << 20,
                                            .overflow = TSMITH_OVERFLOW_DROP_NEWEST,
                                            .stacks = 1};
    const struct record_shape record = {.kind = TSMITH_KIND_MARKER,
                                        .role = RECORD_EVENT,
                                        .subject = RECORD_SUBJECT_NAME,
                                        .field_count = 3,
                                        .fields = {{TSMITH_FIELD_START, RECORD_TICK, 0},
                                                   {TSMITH_FIELD_CORRELATION, RECORD_VALUE, 0},
                                                   {TSMITH_FIELD_STACK, RECORD_STACK, 0}}};
    struct session_directory directory;
    tsmith_error error;
    dl_iterate_phdr(find_load_bias, NULL);
    truth = mmap(NULL, NUMBERS * sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(truth, MAP_FAILED);
    assert_int_equal(session_directory_create(&directory, &options, &error), TSMITH_OK);
    assert_int_equal(channel_open(directory.path, "test", &channel), TSMITH_OK);
    shape = channel_shape(channel, &record);
    assert_true(stacks_start(channel));
    return directory;
}

static void scribble(const struct session_directory *directory, uint64_t seed) {
    DIR *folder = opendir(directory->path);
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        struct stat status;
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, LAYOUT_STACKS_SUFFIX) != 0)
            continue;
        int fd = openat(directory->fd, entry->d_name, O_RDWR);
        assert_true(fd >= 0 && fstat(fd, &status) == 0);
        for (int i = 0; i < 2000; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t word = i % 3 == 0 ? seed : i % 3 == 1 ? seed >> 40 : UINT64_C(0xfd) << 56 | seed >> 30;
            off_t at = (off_t)(seed >> 20) % (status.st_size / 8) * 8;
            assert_int_equal(pwrite(fd, &word, sizeof word, at), sizeof word);
        }
        if (seed % 4 == 0)
            assert_int_equal(ftruncate(fd, status.st_size / 2 + (off_t)(seed >> 50)), 0);
        close(fd);
    }
    closedir(folder);
}

// One process can capture for one session only: all of it is one test.
static void from_the_call_to_the_dictionary(void **state) {
    (void)state;
    struct session_directory directory = begin();
    struct seen seen;
    struct rlimit limit;
    assert_int_equal(emit(0, 1000), 0);
    emit_in_threads();
    pid_t child = fork();
    if (child == 0)
        _exit(emit(PATHS, CHILD) != 0);
    int status;
    assert_true(waitpid(child, &status, 0) == child && status == 0);
    // Room for two thirds of them, for every layout of this process.
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 9 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    uint32_t without = emit(1000, PATHS - 1000);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_true(without > 0 && without < PATHS - 1000);
    channel_close(channel);
    // Twice: what is read does not depend on who reads it.
    for (int i = 0; i < 2; i++) {
        struct collect_totals totals = drain(&directory, COLLECT_DEAD, &seen);
        assert_int_equal(seen.events, NUMBERS);
        assert_int_equal(seen.lost, without);
        assert_int_equal(seen.with, NUMBERS - without);
        assert_int_equal(seen.right, seen.with);
        assert_int_equal(totals.asked, NUMBERS);
        assert_int_equal(totals.dropped, 0);
    }
    for (uint64_t seed = 1; seed <= 5; seed++) {
        scribble(&directory, seed);
        drain(&directory, COLLECT_DEAD, &seen);
        assert_int_equal(seen.events, NUMBERS);
        assert_int_equal(seen.with + seen.lost, NUMBERS);
    }
    session_directory_end(&directory);
    session_directory_remove(&directory);
    munmap(truth, NUMBERS * sizeof *truth);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(from_the_call_to_the_dictionary)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) {
    puts("skipped: of other processors the walk alone is tested (stack.aarch64)");
    return 77;
}
#endif
