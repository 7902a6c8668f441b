// SPDX-License-Identifier: Apache-2.0
// The way in, and the callbacks of the runtime. Rules: agent.h.
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "agent.h"
#include "agentkit/stacks.h"
#include "agentkit/texts.h"

enum opened_kind { OPENED_SUBMISSION, OPENED_WAIT };

static struct {
#define POINTER(name, type, ...) type (*name)(__VA_ARGS__);
    XPTI_FUNCTIONS(POINTER)
    XPTI_LATER_FUNCTIONS(POINTER)
#undef POINTER
} xpti;

// ---- names

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

// A kernel is named by the type that is its name in SYCL, as the demangler writes that.
static uint32_t submission_name(const struct xpti_payload *payload) {
    static const char prefix[] = "typeinfo name for ";
    const char *name = payload && payload->name && *payload->name ? payload->name : "SYCL command";
    return texts_id(starts_with(name, prefix) ? name + strlen(prefix) : name);
}

// "queue.wait[55b466b817d0]": the object is not of the name.
static uint32_t wait_name(const char *what) {
    static const char *const names[] = {"queue.wait", "event.wait"};
    for (size_t i = 0; what && i < sizeof names / sizeof *names; i++)
        if (starts_with(what, names[i]))
            return texts_id(names[i]);
    return texts_id("SYCL wait");
}

// The runtime stashes the number of the queue, which counts from 1, for the time of a callback.
static int64_t current_queue(void) {
    char *key = NULL;
    uint64_t value = 0;
    if (!xpti.GetStashedTuple || xpti.GetStashedTuple(&key, &value) != XPTI_OK || !key ||
        strcmp(key, "queue_id") != 0 || value > INT64_MAX)
        return -1;
    return (int64_t)value;
}

// ---- callbacks, on the thread that submits or waits

static void on_task(uint16_t point, struct xpti_event *parent, struct xpti_event *event, uint64_t instance,
                    const void *data) {
    (void)parent, (void)data;
    const uint64_t now = agent_tick();
    if (point == XPTI_TASK_BEGIN) {
        nesting_begin(OPENED_SUBMISSION, instance, current_queue());
        return;
    }
    const struct nesting opened = nesting_end(OPENED_SUBMISSION, instance);
    if (!opened.start)
        return;
    const struct xpti_payload *payload = event ? xpti.QueryPayload(event) : NULL;
    const bool is_placed = payload && payload->file && *payload->file && *payload->file != '<' &&
                           payload->line != (uint32_t)XPTI_NO_LINE;
    record_submission(&opened, now, submission_name(payload), is_placed ? texts_id(payload->file) : 0,
                      is_placed ? payload->line : 0, opened.value);
}

static void on_wait(uint16_t point, struct xpti_event *parent, struct xpti_event *event, uint64_t instance,
                    const void *data) {
    (void)parent, (void)event;
    const uint64_t now = agent_tick();
    if (point == XPTI_WAIT_BEGIN) {
        nesting_begin(OPENED_WAIT, instance, -1);
        return;
    }
    const struct nesting opened = nesting_end(OPENED_WAIT, instance);
    if (opened.start)
        record_wait(&opened, now, wait_name(data));
}

// ---- attaching

static void attached(void) {
    record_init();
    (void)stacks_start(agent.channel);
}

static const struct agent_spec spec = {.api = "sycl", .begin = attached, .sums = AGENT_SUMS_OF_RECORDS};

static bool find_functions(void *framework) {
    bool all = true;
#define FIND(name, ...)                                                                                      \
    *(void **)&xpti.name = dlsym(framework, "xpti" #name);                                                   \
    all = all && xpti.name;
    XPTI_FUNCTIONS(FIND)
#undef FIND
#define FIND(name, ...) *(void **)&xpti.name = dlsym(framework, "xpti" #name);
    XPTI_LATER_FUNCTIONS(FIND)
#undef FIND
    return all;
}

static bool subscribe(void) {
    static const struct {
        uint16_t point;
        xpti_callback *callback;
    } wanted[] = {{XPTI_TASK_BEGIN, on_task},
                  {XPTI_TASK_END, on_task},
                  {XPTI_WAIT_BEGIN, on_wait},
                  {XPTI_WAIT_END, on_wait}};
    const uint8_t stream = xpti.RegisterStream("sycl");
    bool all = true;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        all &= xpti.RegisterCallback(stream, wanted[i].point, wanted[i].callback) == XPTI_OK;
    return all;
}

static void listen(void *framework) {
    if (framework && dlsym(framework, "tracesmith_simulated"))
        channel_attribute(
            agent.channel, "simulated",
            "sycl: the runtime and XPTI's framework were a program and a mock library of the tests");
    if (framework && find_functions(framework) && subscribe())
        return;
    agent_untraced("SYCL is not recorded: XPTI's framework lacks functions, or refused the agent");
}

// The framework is not among the libraries that every library sees: it is the one that calls. It stays loaded for as long as the runtime
// needs it, not longer because of the agent: it calls only until then.
static void start(const void *caller, const char *version) {
    Dl_info info;
    if (!agent_attach(&spec))
        return;
    void *framework =
        dladdr(caller, &info) && info.dli_fname ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
    channel_attribute(agent.channel, "sycl.runtime", version ? version : "unknown");
    listen(framework);
    if (framework)
        dlclose(framework);
    (void)dlerror(); // what was looked for in vain is no error of the program's
}

AGENT_EXPORT void xptiTraceInit(unsigned int major, unsigned int minor, const char *version,
                                const char *stream);
AGENT_EXPORT void xptiTraceInit(unsigned int major, unsigned int minor, const char *version,
                                const char *stream) {
    static atomic_flag is_done = ATOMIC_FLAG_INIT;
    (void)major, (void)minor;
    if (stream && strcmp(stream, "sycl") == 0 && !atomic_flag_test_and_set(&is_done))
        start(__builtin_return_address(0), version);
}

AGENT_EXPORT void xptiTraceFinish(const char *stream);
AGENT_EXPORT void xptiTraceFinish(const char *stream) {
    (void)stream; // the library's destructor ends the recording
}
