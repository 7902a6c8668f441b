// SPDX-License-Identifier: Apache-2.0
// The life of an agent in the profiled process. An agent describes itself once (struct agent_spec) and calls
// agent_attach where its API begins; the rest is the same for all agents and is here:
//
//     (no session) --agent_attach--> RECORDING --library unloaded, process ends--> OVER
//                                        |  \--session over, or the API is lost--> OVER
//                                        \--fork--> child: RECORDING with a channel of its own, or OVER
//
// Rules inside the profiled process, for every agent
//   1. Nothing that the program can see changes: no result, error, output, object, property or order.
//   2. The driver is sent no command, flush or wait that the program did not send.
//   3. The event path takes no lock, allocates nothing, makes no system call and prints nothing. Creating objects may.
//   4. Nothing ends the process, or raises or handles a signal. What cannot be recorded is counted (channel_lose), and the
//      call continues as if there were no agent.
//   5. The driver is called only where the program has just called it, or from a thread of the agent (control.h,
//      thread.h): never from a destructor, when the driver may be gone, and never from an exit handler on the program's
//      thread, whose thread-local objects are destroyed by then.
//   6. After fork the child owns nothing of the parent's: what was in flight is forgotten.
//   7. A tool that was to be injected first is called first (injection.h).
//
// One agent per library; all symbols are hidden in it.
#ifndef AGENTKIT_AGENT_H
#define AGENTKIT_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "wire/channel.h"

#define AGENT_EXPORT __attribute__((visibility("default")))

// Where the session wants sums in place of events (sums.h).
enum agent_sums {
    AGENT_SUMS_NONE,      // all its events are recorded
    AGENT_SUMS_OWN,       // it adds up by itself
    AGENT_SUMS_OF_RECORDS // the kit adds up what it records
};

// What makes one agent different from another. Functions may be NULL.
struct agent_spec {
    const char *api; // "opencl": names its channel
    // Before the channel is opened: memory, keys of threads. Once: a later attempt uses what it made. False: nothing is recorded.
    bool (*prepare)(void);
    // agent.channel is open, nothing is recorded yet: registers shapes and fields, starts what the agent uses of stacks.h
    // and overhead.h.
    void (*begin)(void);
    // In a forked child, right after the fork: forgets what is the parent's, and makes locks anew. Overhead, the control
    // thread and stacks do so themselves.
    void (*fork_child)(void);
    // The library is being unloaded. Calls no driver.
    void (*end)(void);
    // After that: how many events are in flight. They are counted as no_completion. Calls no driver.
    uint64_t (*in_flight)(void);
    // Attached again, to another session: what was known of the program's objects is out of date. NULL: never.
    void (*again)(void);
    bool not_in_children; // the API does not work in forked children: they record nothing
    uint8_t sums;         // enum agent_sums
};

// The process's one agent. `channel` and `tsc` are written while it attaches, before any call of the API is recorded, and
// only read afterwards.
struct agent {
    struct channel *channel;     // NULL: no session
    bool tsc;                    // ticks are the TSC
    atomic_bool over;            // nothing is recorded any more
    _Atomic uint32_t generation; // grows in the child with every fork
};
extern struct agent agent __attribute__((visibility("hidden")));

// What each thread has of its own.
struct agent_thread {
    uint32_t busy;        // calls that arrive now come from the agent itself: they are passed on unrecorded
    uint64_t correlation; // the next one, and the end of those that the thread has taken
    uint64_t correlation_end;
};
extern __thread struct agent_thread agent_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Attaches the process to the session that the environment names, at the first call; later calls only return whether
// it is attached and not over. Any thread. The spec stays.
bool agent_attach(const struct agent_spec *spec);

// The same in a program that runs already (`tracesmith attach`): the session and the options of agents are given. After
// agent_leave and agent_park it can be called again: `spec->again` is called in place of `prepare` and `begin`, and ids that
// were registered stay valid. One thread calls these functions.
bool agent_attach_late(const struct agent_spec *spec, const char *session_directory, const char *options);
// False: it would refuse, as the agent was loaded in another way or has not been parked.
bool agent_is_free(void);
// Nothing is recorded from now on, and the collector has all that was. Commands in flight are the agent's own concern.
void agent_leave(void);
// The collector needs nothing more: gives back the memory of the session. If a thread of the kit did not end in time, it does nothing, and the
// agent is not attached again.
void agent_park(void);

// Attached, and not over.
static inline bool agent_recording(void) {
    return agent.channel && !atomic_load_explicit(&agent.over, memory_order_relaxed);
}

// Whether this call is to be recorded: the whole cost of an idle agent. Only once attached.
static inline bool agent_on(void) {
    return channel_armed(agent.channel) && !agent_thread.busy;
}

static inline uint64_t agent_tick(void) {
    return clock_tick(agent.tsc);
}

// A correlation id, from the thread's own store, so that threads do not contend for it. The first form only looks.
static inline uint64_t agent_correlation_next(void) {
    enum { STORE = 256 };
    if (__builtin_expect(agent_thread.correlation == agent_thread.correlation_end, 0)) {
        agent_thread.correlation = channel_correlations(agent.channel, STORE);
        agent_thread.correlation_end = agent_thread.correlation + STORE;
    }
    return agent_thread.correlation;
}
static inline uint64_t agent_correlation(void) {
    agent_correlation_next();
    return agent_thread.correlation++;
}

// The value of an option of this agent (wire/agent_options.h), which ends at ',' or '\0'; NULL: the user did not give it. Not
// for the event path.
const char *agent_option(const char *api, const char *key);

// Leaves a message for the reader of the trace, in one line: what happened, and what to do. It becomes the attribute
// notice.API, which `profile` prints at the end. The last one applies.
void agent_notice(const char *text);
// Adds to the attribute API.not_recorded what the driver refused to record: a few words. While the agent attaches.
void agent_not_recorded(const char *what);
// A notice where the API is not recorded, or not all of it, which is counted.
void agent_untraced(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
