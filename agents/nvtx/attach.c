// SPDX-License-Identifier: Apache-2.0
// The entry point that NVTX calls, the attachment to a session, and the tool that was to be injected first. Rules: agent.h.
//
// Every library with an NVTX of its own calls InitializeInjectionNvtx2, each with its own tables: ours are the same
// functions for all of them. The next tool (the library that NVTX_INJECTION64_PATH named before, kept for us in
// TRACESMITH_NVTX_NEXT) is called as often, and is handed tables of ours in the place of the program's: what it puts
// there is what we call. Modules that we do not know it gets from the program directly.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "agentkit/injection.h"
#include "payload.h"

bool nvtx_chained;
nvtx_function *nvtx_next[NVTX_NUMBER_LIMIT];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// ---- tables

#define PLACE(name, type, arguments) {(nvtx_function *)nvtx_##name, NUMBER_##name},
#define PLACE_NAMES(name, type, what)                                                                        \
    {(nvtx_function *)nvtx_Name##name##A, NUMBER_Name##name##A},                                             \
        {(nvtx_function *)nvtx_Name##name##W, NUMBER_Name##name##W},

struct place {
    nvtx_function *function;
    enum nvtx_function_number number;
};
// By module, in the order of their numbers, from 1.
static const struct place core[] = {NVTX_CORE(PLACE)};
static const struct place core2[] = {NVTX_CORE2(PLACE)};
static const struct place cuda[] = {NVTX_CUDA_NAMES(PLACE_NAMES)};
static const struct place opencl[] = {NVTX_OPENCL_NAMES(PLACE_NAMES)};
static const struct place cudart[] = {NVTX_CUDART_NAMES(PLACE_NAMES)};

static const struct module {
    int number;
    const struct place *places;
    unsigned count;
} modules[] = {
    {NVTX_MODULE_CORE, core, sizeof core / sizeof core[0]},
    {NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof core2[0]},
    {NVTX_MODULE_CUDA, cuda, sizeof cuda / sizeof cuda[0]},
    {NVTX_MODULE_OPENCL, opencl, sizeof opencl / sizeof opencl[0]},
    {NVTX_MODULE_CUDART, cudart, sizeof cudart / sizeof cudart[0]},
};
enum { MODULES = sizeof modules / sizeof modules[0], MODULE_LARGEST = 16 };

static const struct nvtx_callbacks *callbacks_of(nvtx_get_table *get) {
    const struct nvtx_callbacks *callbacks = get ? get(NVTX_TABLE_CALLBACKS) : NULL;
    return callbacks && callbacks->size >= sizeof *callbacks && callbacks->module ? callbacks : NULL;
}

static bool fill(const struct nvtx_callbacks *callbacks) {
    bool any = false;
    for (size_t i = 0; i < MODULES; i++) {
        nvtx_function ***table = NULL;
        unsigned size = 0;
        if (!callbacks->module(modules[i].number, &table, &size) || !table)
            continue;
        for (unsigned number = 1; number < size && number <= modules[i].count; number++)
            if (table[number]) {
                *table[number] = modules[i].places[number - 1].function;
                any = true;
            }
    }
    return any;
}

// ---- the next tool

static nvtx_initialize *next_initialize;
static nvtx_get_table *program_tables; // of the instance being initialized, under the lock

static int module_for_next(int number, nvtx_function ****table, unsigned *size) {
    static nvtx_function **places[MODULES][MODULE_LARGEST + 1];
    const struct nvtx_callbacks *callbacks = callbacks_of(program_tables);
    for (size_t i = 0; i < MODULES; i++) {
        if (modules[i].number != number)
            continue;
        for (unsigned at = 0; at < modules[i].count; at++)
            places[i][at + 1] = &nvtx_next[modules[i].places[at].number];
        if (table)
            *table = places[i];
        if (size)
            *size = modules[i].count + 1;
        return 1;
    }
    return callbacks ? callbacks->module(number, table, size) : 0;
}

static const void *table_for_next(uint32_t table) {
    static const struct nvtx_callbacks callbacks = {sizeof callbacks, module_for_next};
    return table == NVTX_TABLE_CALLBACKS ? &callbacks : program_tables ? program_tables(table) : NULL;
}

static void find_next(void) {
    void *library = injection_open_next(INJECTION_NVTX_NEXT, (const void *)(uintptr_t)find_next);
    if (library)
        *(void **)&next_initialize = dlsym(library, "InitializeInjectionNvtx2");
}

static bool initialize_next(nvtx_get_table *get) {
    program_tables = get;
    nvtx_chained = next_initialize && next_initialize(table_for_next) != 0;
    if (!nvtx_chained)
        memset(nvtx_next, 0, sizeof nvtx_next);
    return nvtx_chained;
}

// ---- the session

static void after_fork_child(void) {
    pthread_mutex_init(&lock, NULL); // its holder is not in this process
    threads_after_fork_child();
    names_after_fork_child();
}

static void end(void) {
    started_over();
    threads_over();
}

static bool prepare(void) {
    return threads_init() && names_init();
}

static const struct agent_spec spec = {
    .api = "nvtx", .prepare = prepare, .begin = record_init, .fork_child = after_fork_child, .end = end};

// Without a session, and where the program's tables are not as we know them, the program's calls go to the next
// tool, or nowhere.
AGENT_EXPORT nvtx_initialize InitializeInjectionNvtx2;
AGENT_EXPORT int InitializeInjectionNvtx2(nvtx_get_table *get) {
    static bool tried;
    const struct nvtx_callbacks *callbacks = callbacks_of(get);
    if (!callbacks)
        return 0;
    pthread_mutex_lock(&lock);
    if (!tried) {
        find_next();
        (void)agent_attach(&spec);
        tried = true;
    }
    int done = 0;
    if (!agent.channel)
        done = next_initialize ? next_initialize(get) : 0;
    else
        done = fill(callbacks) + initialize_next(get) > 0;
    pthread_mutex_unlock(&lock);
    return done;
}

// ---- the extension for structured payloads

struct payload_next payload_next;

static void (*const payload_functions[])(void) = {
#define PAYLOAD_PLACE(name, type, arguments) (void (*)(void)) nvtx_##name,
    NVTX_PAYLOAD_FUNCTIONS(PAYLOAD_PLACE)
#undef PAYLOAD_PLACE
};
enum { PAYLOAD_FUNCTIONS = sizeof payload_functions / sizeof *payload_functions, SLOTS_MAX = 64 };

// The next tool fills slots of ours; those of our functions are what we call. Others take handles, which they
// would not know: the program makes no call there.
typedef int extension_initialize(struct nvtx_module_info *module);

static extension_initialize *find_next_extension(void) {
    extension_initialize *initialize = NULL;
    void *library = injection_open_next(INJECTION_NVTX_NEXT, (const void *)(uintptr_t)find_next);
    if (library)
        *(void **)&initialize = dlsym(library, "InitializeInjectionNvtxExtension");
    return initialize;
}

static void initialize_next_extension(const struct nvtx_module_info *given) {
    static intptr_t slots[SLOTS_MAX];
    extension_initialize *initialize = find_next_extension();
    struct nvtx_segment segment = given->segments[0];
    struct nvtx_module_info info = *given;
    segment.slots = slots;
    segment.count = segment.count < SLOTS_MAX ? segment.count : SLOTS_MAX;
    info.size = sizeof info;
    info.segments = &segment;
    info.segment_count = 1;
    memset(slots, 0, sizeof slots);
    if (initialize && nvtx_chained && initialize(&info) != 0)
        memcpy(&payload_next, slots, sizeof payload_next);
}

// Structured payloads are decoded here; other extensions (counters) are refused while the agent is loaded: they would
// get the agent's handles.
AGENT_EXPORT int InitializeInjectionNvtxExtension(struct nvtx_module_info *module);
AGENT_EXPORT int InitializeInjectionNvtxExtension(struct nvtx_module_info *module) {
    extension_initialize *next = agent.channel ? NULL : find_next_extension();
    if (!agent.channel)
        return next ? next(module) : 0;
    if (!module || module->module != NVTX_EXTENSION_PAYLOAD || module->size < sizeof *module ||
        module->segment_count < 1 || !module->segments[0].slots)
        return 0;
    pthread_mutex_lock(&lock);
    initialize_next_extension(module);
    for (size_t i = 0; i < PAYLOAD_FUNCTIONS && i < module->segments[0].count; i++)
        module->segments[0].slots[i] = (intptr_t)payload_functions[i];
    pthread_mutex_unlock(&lock);
    return 1;
}
