// SPDX-License-Identifier: Apache-2.0
// The library that `tracesmith attach` makes a running program load (src/inject/). It loads the agents, on a thread of its own, and
// tells them to leave when the recording has ended or its collector is gone. Orders: wire/attach_order.h.
//
// Rules: agentkit/agent.h. In addition: the thread that was borrowed from the program does no more here than to start a thread, and
// keeps its errno. The library stays loaded, as threads may be inside the agents; without an order it has no thread.
//
//     IDLE --order--> RUNNING --the order is done--> IDLE
//                        \--another order--> NEXT --the first is done--> RUNNING
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agentkit/agent.h"
#include "agentkit/thread.h"
#include "base/clock.h"
#include "wire/attach_order.h"
#include "wire/layout.h"

enum { AGENTS_MOST = 8, DIRECTORY_BYTES = 4096 };
enum starter_state { IDLE, RUNNING, BETWEEN, NEXT };
static const int64_t SILENCE = 5000000000; // ns without a heartbeat of the collector

static _Atomic uint32_t state;
static char next_directory[DIRECTORY_BYTES];

struct work {
    char directory[DIRECTORY_BYTES];
    struct attach_order *order;
    struct layout_control *control;
    const struct agent_late *agents[AGENTS_MOST];
    size_t count;
    char options[sizeof((struct attach_order *)0)->options]; // stays: the agents look into it
};
static struct work work;
// Agents that were loaded, from now on: the files of a session in a container are gone with it, and loading others would take memory
// for each recording.
static struct {
    char name[32];
    const struct agent_late *late;
} loaded_agents[AGENTS_MOST];

// A file of the session, mapped; NULL: it is not there, another user's, or shorter.
static void *map_file(const char *name, size_t bytes) {
    char path[DIRECTORY_BYTES + 32];
    struct stat status;
    const int length = snprintf(path, sizeof path, "%s/%s", work.directory, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return NULL;
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    void *at = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        status.st_size >= (off_t)bytes)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return at == MAP_FAILED ? NULL : at;
}

static bool is_over(void) {
    const struct layout_control *control = work.control;
    const int64_t heartbeat = atomic_load(&control->heartbeat);
    return atomic_load(&control->state) != LAYOUT_SESSION_OPEN ||
           (heartbeat && clock_trace_now() - heartbeat > SILENCE);
}

static void answer(uint32_t to) {
    atomic_store_explicit(&work.order->state, to, memory_order_release);
}

static void answer_text(const char *text) {
    const size_t length = strnlen(work.order->text, sizeof work.order->text - 1);
    snprintf(work.order->text + length, sizeof work.order->text - length, "%s%s", length ? "; " : "", text);
}

static const struct agent_late *open_agent(const char *name, void **library) {
    char path[DIRECTORY_BYTES + 96];
    size_t i = 0;
    for (; i < AGENTS_MOST && loaded_agents[i].late; i++)
        if (strcmp(loaded_agents[i].name, name) == 0)
            return loaded_agents[i].late;
    const int length =
        snprintf(path, sizeof path, "%s/libtracesmith-%s.so", work.order->agent_directory, name);
    *library = length > 0 && (size_t)length < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const struct agent_late *late = *library ? dlsym(*library, AGENT_LATE_SYMBOL) : NULL;
    if (late && i < AGENTS_MOST && strlen(name) < sizeof loaded_agents[i].name) {
        memcpy(loaded_agents[i].name, name, strlen(name) + 1);
        loaded_agents[i].late = late;
    }
    return late;
}

static void load(const char *name) {
    char text[sizeof work.order->text] = "";
    void *library = NULL;
    const struct agent_late *late = open_agent(name, &library);
    if (!late) {
        const char *why = library ? NULL : dlerror();
        snprintf(text, sizeof text, "the agent %s cannot be used: %.400s", name,
                 why ? why : "it is of another version");
    } else if (work.count < AGENTS_MOST && late->begin(work.directory, work.options, text, sizeof text)) {
        work.agents[work.count++] = late;
    }
    if (text[0])
        answer_text(text);
}

static void load_all(void) {
    char names[sizeof work.order->agents], *rest = names;
    memcpy(names, work.order->agents, sizeof names);
    names[sizeof names - 1] = '\0';
    work.order->agent_directory[sizeof work.order->agent_directory - 1] = '\0';
    memcpy(work.options, work.order->options, sizeof work.options - 1);
    for (char *name; (name = strsep(&rest, ","));)
        if (*name)
            load(name);
}

static void wait_moment(void) {
    const struct timespec moment = {.tv_nsec = 10000000};
    nanosleep(&moment, NULL);
}

static void record(void) {
    uint32_t taken = ATTACH_TAKEN;
    work.count = 0;
    load_all();
    // Otherwise it was canceled meanwhile.
    const bool wanted =
        atomic_compare_exchange_strong(&work.order->state, &taken, work.count ? ATTACH_READY : ATTACH_FAILED);
    while (wanted && work.count && !is_over() && atomic_load(&work.control->armed)) {
        wait_moment();
        for (size_t i = 0; i < work.count; i++)
            if (work.agents[i]->look)
                work.agents[i]->look();
    }
    for (size_t i = work.count; i-- > 0;)
        work.agents[i]->leave();
    if (wanted && work.count)
        answer(ATTACH_LEFT);
    // The collector reads what was recorded until it says that it has everything.
    while (!is_over())
        wait_moment();
    for (size_t i = work.count; i-- > 0;)
        work.agents[i]->park();
}

static void carry_out(void) {
    uint32_t waiting = ATTACH_WAITING;
    work.order = map_file(ATTACH_ORDER_NAME, sizeof *work.order);
    work.control = map_file(LAYOUT_CONTROL_NAME, LAYOUT_PAGE);
    if (work.order && work.control && work.order->magic == ATTACH_ORDER_MAGIC &&
        work.order->bytes == sizeof *work.order && work.control->magic == LAYOUT_CONTROL_MAGIC &&
        work.control->version == LAYOUT_VERSION &&
        atomic_compare_exchange_strong(&work.order->state, &waiting, ATTACH_TAKEN))
        record();
    if (work.order)
        munmap(work.order, sizeof *work.order);
    if (work.control)
        munmap(work.control, LAYOUT_PAGE);
}

static void *run(void *unused) {
    (void)unused;
    prctl(PR_SET_NAME, "tracesmith");
    for (uint32_t running = RUNNING;; running = RUNNING) {
        memcpy(work.directory, next_directory, sizeof work.directory);
        atomic_store(&state, RUNNING);
        carry_out();
        while (!atomic_compare_exchange_strong(&state, &running, IDLE) && running != NEXT)
            running = RUNNING;
        if (running == RUNNING)
            return NULL;
    }
}

static void after_fork_child(void) {
    atomic_store(&state, IDLE);
}

// On the program's thread.
static void take_order(const char *directory) {
    static atomic_bool handles_forks;
    uint32_t now = IDLE;
    const size_t length = strnlen(directory, DIRECTORY_BYTES);
    const bool is_first = atomic_compare_exchange_strong(&state, &now, BETWEEN);
    if (length >= DIRECTORY_BYTES ||
        (!is_first && (now != RUNNING || !atomic_compare_exchange_strong(&state, &now, BETWEEN))))
        return; // the order stays as it is, which the command sees
    memcpy(next_directory, directory, length + 1);
    if (!is_first) {
        atomic_store(&state, NEXT);
        return;
    }
    if (!atomic_exchange(&handles_forks, true))
        pthread_atfork(NULL, NULL, after_fork_child);
    atomic_store(&state, NEXT);
    if (!agent_thread_start(run, NULL))
        atomic_store(&state, IDLE);
}

AGENT_EXPORT void tracesmith_attach_enter(const char *directory, int errno_before);
void tracesmith_attach_enter(const char *directory, int errno_before) {
    take_order(directory);
    errno = errno_before;
}

// The path by which it was loaded says whose order it is, and the slashes what errno was.
__attribute__((constructor)) static void loaded(void) {
    static const char own;
    Dl_info self;
    char directory[DIRECTORY_BYTES];
    if (!dladdr(&own, &self) || !self.dli_fname)
        return;
    const char *slash = strrchr(self.dli_fname, '/');
    size_t length = slash ? (size_t)(slash - self.dli_fname) : 0, slashes = 0;
    if (!length || length >= sizeof directory || strcmp(slash + 1, ATTACH_LINK) != 0)
        return;
    for (; length && self.dli_fname[length - 1] == '/'; length--)
        slashes++;
    memcpy(directory, self.dli_fname, length);
    directory[length] = '\0';
    tracesmith_attach_enter(directory, (int)slashes);
}
