// SPDX-License-Identifier: Apache-2.0
// Separate libraries in one process, each with a hidden copy of wire and kit,
// meet in one channel: they are loaded late, from several threads at once, are
// closed, forked and killed, and emit from signal handlers. They meet whichever
// linker made them, and a program that contains a copy meets them, too. A
// library in another namespace of the linker, or of another build, has a
// channel of its own.
//
// The program is this file again, started as a process of its own with the name
// of what it does; mocks of agents (agents/agent.c) are the libraries. What it
// emitted is fixed; the collector here counts what arrives.
#include "agents/agent.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "tracesmith/dictionary.h"
#include "tracesmith/session.h"

enum {
    RECORDS = 2000,
    RANGES = 500,
    THREADS = 4,
    STACKS = 300,
    DEPTHS = 20,
    FLIGHTS_A = 3,
    FLIGHTS_B = 5,
    SIGNALS = 2000,
    RACES = 20,
    CHILDREN = 40
};

static uint32_t channels_in(const char *directory) {
    uint32_t count = 0;
    DIR *folder = opendir(directory);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += strstr(entry->d_name, LAYOUT_CHANNEL_SUFFIX) != NULL;
    if (folder)
        closedir(folder);
    return count;
}

// ---- the program

static void program_needs(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "test_meeting: %s: %s\n", what, dlerror());
    exit(3);
}

// The copy of this program itself.
static struct channel *own_channel;
static uint16_t own_shape;

static void own_end(void) {
    channel_close(own_channel);
}

static bool own_attach(void) {
    if (channel_open(getenv(CHANNEL_ENVIRONMENT), "program", &own_channel) != TSMITH_OK)
        return false;
    own_shape = numbered_shape(own_channel);
    return atexit(own_end) == 0;
}

static bool own_emit(uint64_t emitter, uint64_t number) {
    return numbered_emit(own_channel, own_shape, emitter, number, (uint32_t)number % 5);
}

static const void *own_ring(void) {
    return channel_ring(own_channel);
}

static const struct mock_agent own_agent = {.attach = own_attach, .emit = own_emit, .ring = own_ring};

static void *open_library(Lmid_t space, const char *name, int flags) {
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/wire/libtracesmith-meeting-%s.so", getenv("TRACESMITH_BUILD_DIR"),
             name);
    void *library = space == LM_ID_BASE ? dlopen(path, flags) : dlmopen(space, path, flags);
    program_needs(library || (flags & RTLD_NOLOAD), path);
    return library;
}

// In that namespace, which may be a new one.
static const struct mock_agent *load_in(Lmid_t *space, const char *name, int flags) {
    const struct mock_agent *agent = &own_agent;
    void *library = strcmp(name, "program") == 0 ? NULL : open_library(*space, name, RTLD_NOW | flags);
    if (library) {
        program_needs(dlinfo(library, RTLD_DI_LMID, space) == 0, "namespace");
        agent = dlsym(library, "mock_agent");
    }
    program_needs(agent && agent->attach(), "attach");
    if (library)
        dlclose(library); // as some loaders do: the agent stays
    return agent;
}

static const struct mock_agent *load(const char *name) {
    Lmid_t space = LM_ID_BASE;
    return load_in(&space, name, RTLD_LOCAL);
}

// The agents take turns: numbers of one emitter go up from record to record,
// whichever library wrote them.
static void emit_in_turn(const struct mock_agent *const agents[2], uint64_t emitter, uint64_t from,
                         uint64_t to) {
    for (uint64_t number = from; number <= to; number++)
        program_needs(agents[number % 2]->emit(emitter, number), "emit");
}

// The second library comes when the first has recorded for a while.
static void late_with(const char *first, const char *second, int flags, Lmid_t space) {
    const struct mock_agent *agents[2];
    agents[0] = agents[1] = load_in(&space, first, flags);
    emit_in_turn(agents, 1, 1, RECORDS / 2);
    agents[1] = load_in(&space, second, flags);
    emit_in_turn(agents, 1, RECORDS / 2 + 1, RECORDS);
}

static void late(const char *first, const char *second) {
    late_with(first, second, RTLD_LOCAL, LM_ID_BASE);
}

// The first one in the order of loading is closed before the second comes. In a namespace, as this program has a copy itself.
static void gone(void) {
    const struct mock_agent *agents[2];
    Lmid_t space = LM_ID_NEWLM;
    void *idle = open_library(space, "leaving", RTLD_NOW | RTLD_LOCAL);
    program_needs(dlinfo(idle, RTLD_DI_LMID, &space) == 0, "namespace");
    agents[0] = agents[1] = load_in(&space, "first", RTLD_LOCAL);
    emit_in_turn(agents, 1, 1, RECORDS / 2);
    dlclose(idle);
    program_needs(!open_library(space, "leaving", RTLD_NOW | RTLD_NOLOAD), "unloaded");
    agents[1] = load_in(&space, "second", RTLD_LOCAL);
    emit_in_turn(agents, 1, RECORDS / 2 + 1, RECORDS);
}

static bool is_unchanged(void *other, const char *name) {
    bool (*unchanged)(void) = NULL;
    *(void **)&unchanged = dlsym(other, name);
    return unchanged && unchanged();
}

// Next to libraries that only look as if they had a meeting point, and that come first.
static void next_to_others_in(Lmid_t space) {
    const struct mock_agent *agents[2];
    void *older = open_library(space, "older", RTLD_NOW | RTLD_LOCAL);
    program_needs(dlinfo(older, RTLD_DI_LMID, &space) == 0, "namespace");
    void *garbage = open_library(space, "garbage", RTLD_NOW | RTLD_LOCAL);
    agents[0] = load_in(&space, "first", RTLD_LOCAL);
    agents[1] = load_in(&space, "second", RTLD_LOCAL);
    emit_in_turn(agents, 1, 1, RECORDS);
    program_needs(is_unchanged(garbage, "garbage_is_unchanged"), "nothing written to what is no point");
    program_needs(is_unchanged(older, "older_is_unchanged"), "nothing written to the older point");
}

static void next_to_others(void) {
    next_to_others_in(LM_ID_BASE);
}

// Without a copy in the program.
static void next_to_others_alone(void) {
    next_to_others_in(LM_ID_NEWLM);
}

struct user {
    const struct mock_agent *agents[2];
    uint64_t emitter;
};

static void *use(void *self) {
    const struct user *user = self;
    emit_in_turn(user->agents, user->emitter, 1, RECORDS);
    program_needs(user->agents[0]->ring() == user->agents[1]->ring(), "one ring");
    return NULL;
}

// One thread after the other: each has one ring, and leaves it to the next.
static void threads(void) {
    struct user user = {{load("first"), load("second")}, 0};
    pthread_t thread;
    for (user.emitter = 1; user.emitter <= THREADS; user.emitter++) {
        program_needs(!pthread_create(&thread, NULL, use, &user), "thread");
        pthread_join(thread, NULL);
    }
}

// Calls both libraries from one place, at several depths.
static volatile uint64_t libraries = 2; // so that the loop stays one
static __attribute__((noinline)) void call_both(const struct mock_agent *const agents[2], uint64_t first,
                                                uint64_t depth) {
    if (depth > 0)
        call_both(agents, first, depth - 1);
    else
        for (uint64_t i = 0; i < libraries; i++)
            program_needs(agents[i]->emit_stack(i, first), "emit with a stack");
    __asm__ volatile("" ::: "memory"); // no tail call
}

// The second comes when the first has taken stacks, and code is loaded between
// calls.
static void stacks(void) {
    const struct mock_agent *agents[2];
    agents[0] = load("first");
    for (uint64_t number = 1; number <= STACKS; number++)
        program_needs(agents[0]->emit_stack(2, number), "emit with a stack");
    agents[1] = load("second");
    for (uint64_t number = 1; number <= STACKS; number++) {
        if (number == STACKS / 2)
            (void)load("other");
        call_both(agents, number, number % DEPTHS);
    }
}

static void killed(void) {
    const struct mock_agent *agents[2] = {load("first"), load("second")};
    agents[0]->flight(FLIGHTS_A + 4, 4);
    agents[1]->flight(FLIGHTS_B, 0);
    emit_in_turn(agents, 1, 1, RECORDS);
    kill(getpid(), SIGKILL);
}

// Both children use one library first: the one the first, the other the second.
static void forked(void) {
    const struct mock_agent *agents[2] = {load("first"), load("second")};
    int status;
    emit_in_turn(agents, 1, 1, RECORDS);
    for (uint64_t child = 0; child < 2; child++) {
        const pid_t pid = fork();
        if (pid == 0) {
            emit_in_turn(agents, 2 + child, 1 + child, RECORDS);
            program_needs(agents[0]->ring() == agents[1]->ring(), "one ring of the child");
            exit(0);
        }
        program_needs(waitpid(pid, &status, 0) == pid && status == 0, "child");
    }
    emit_in_turn(agents, 1, RECORDS + 1, RECORDS + 10);
}

static _Atomic bool ends;

static void *load_again_and_again(void *unused) {
    while (!atomic_load(&ends))
        dlclose(open_library(LM_ID_BASE, "leaving", RTLD_NOW | RTLD_LOCAL));
    return unused;
}

// Children are the first to use a library of their parent, of which a thread has the loader's locks now and then.
static void first_used_in_children(void) {
    const struct mock_agent *agent =
        dlsym(open_library(LM_ID_BASE, "first", RTLD_NOW | RTLD_LOCAL), "mock_agent");
    pthread_t thread;
    int status;
    program_needs(agent && !pthread_create(&thread, NULL, load_again_and_again, NULL), "thread");
    for (uint64_t child = 1; child <= CHILDREN; child++) {
        const pid_t pid = fork();
        if (pid == 0) {
            alarm(60); // kills one that waits for ever
            _exit(!agent->attach() || !agent->emit(1, child));
        }
        program_needs(waitpid(pid, &status, 0) == pid && status == 0, "child");
    }
    atomic_store(&ends, true);
    pthread_join(thread, NULL);
}

struct loader {
    const char *name;
    Lmid_t space;
    pthread_barrier_t *start;
    const struct mock_agent *agent;
};

static void *load_at_once(void *self) {
    struct loader *loader = self;
    pthread_barrier_wait(loader->start);
    loader->agent = load_in(&loader->space, loader->name, RTLD_LOCAL);
    return NULL;
}

// In the program's namespace, or in one without a copy of the program's.
static void raced(const char *one, const char *other, Lmid_t space) {
    pthread_barrier_t start;
    if (space != LM_ID_BASE)
        program_needs(dlinfo(open_library(space, "older", RTLD_NOW), RTLD_DI_LMID, &space) == 0, "namespace");
    struct loader first = {one, space, &start, NULL}, second = {other, space, &start, NULL};
    pthread_t thread;
    pthread_barrier_init(&start, NULL, 2);
    program_needs(!pthread_create(&thread, NULL, load_at_once, &second), "thread");
    load_at_once(&first);
    pthread_join(thread, NULL);
    const struct mock_agent *agents[2] = {first.agent, second.agent};
    emit_in_turn(agents, 1, 1, 10);
}

static const struct mock_agent *handlers_agent;
static _Atomic uint32_t signals;

// Refused where it interrupts a call of its thread, whichever library that is
// in; it must not wait for its own thread.
static void on_signal(int number) {
    char text[32];
    (void)number;
    const uint32_t count = atomic_fetch_add(&signals, 1) + 1;
    snprintf(text, sizeof text, "signal %u", count);
    (void)handlers_agent->text(text);
    (void)handlers_agent->emit(2, count);
}

static void interrupted(void) {
    const struct mock_agent *first = load("first");
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    char text[32];
    handlers_agent = load("second");
    signal(SIGALRM, on_signal);
    setitimer(ITIMER_REAL, &often, NULL);
    for (uint64_t number = 1; atomic_load(&signals) < SIGNALS; number++) {
        snprintf(text, sizeof text, "text %llu", (unsigned long long)number % 5000);
        (void)first->text(text);
        (void)first->emit(1, number);
    }
    setitimer(ITIMER_REAL, &never, NULL);
}

// libtracesmith.so as a program has it that is linked with it.
static void *library;

static void *find(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/lib/libtracesmith.so.0", getenv("TRACESMITH_BUILD_DIR"));
    library = library ? library : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, name) : NULL;
    program_needs(function != NULL, name);
    return function;
}

static void emit_with(tsmith_session *session, const struct mock_agent *agent) {
    __typeof__(tsmith_emit) *const emit = (__typeof__(emit))(uintptr_t)find("tsmith_emit");
    __typeof__(tsmith_session_now) *const now = (__typeof__(now))(uintptr_t)find("tsmith_session_now");
    for (uint64_t number = 1; number <= RECORDS; number++) {
        program_needs(agent->emit(1, number), "emit");
        if (number % (RECORDS / RANGES) == 0)
            emit(session, TSMITH_KIND_RANGE, 0, 0, now(session), 1, NULL, 0);
    }
}

static void attached(bool agent_first) {
    __typeof__(tsmith_session_attach) *const attach =
        (__typeof__(attach))(uintptr_t)find("tsmith_session_attach");
    __typeof__(tsmith_session_stop) *const leave = (__typeof__(leave))(uintptr_t)find("tsmith_session_stop");
    const struct mock_agent *agent = agent_first ? load("first") : NULL;
    tsmith_session *session;
    tsmith_error error;
    program_needs(attach(&session, &error) == TSMITH_OK, error.message);
    agent = agent_first ? agent : load("first");
    emit_with(session, agent);
    program_needs(leave(session, NULL, &error) == TSMITH_OK, "detach from the session");
    program_needs(agent->emit(1, RECORDS + 1), "emit");
}

// The program records itself: the channel is its session's, and the agent joins
// it.
static void recorded_by_itself(void) {
    __typeof__(tsmith_session_start) *const start =
        (__typeof__(start))(uintptr_t)find("tsmith_session_start");
    __typeof__(tsmith_session_stop) *const leave = (__typeof__(leave))(uintptr_t)find("tsmith_session_stop");
    char file[] = "/tmp/tracesmith-meeting-XXXXXX";
    const char *const apis[] = {"nvtx"};
    const tsmith_capture_options agents = {.size = sizeof agents, .apis = apis, .api_count = 1};
    const tsmith_session_options options = {.size = sizeof options, .path = file, .agents = &agents};
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    tsmith_session *session;
    tsmith_error error;
    unsetenv(CHANNEL_ENVIRONMENT);
    close(mkstemp(file));
    program_needs(start(&options, &session, &error) == TSMITH_OK, error.message);
    emit_with(session, load("first"));
    program_needs(channels_in(getenv(CHANNEL_ENVIRONMENT)) == 1, "one channel");
    program_needs(leave(session, &statistics, &error) == TSMITH_OK, "stop of the session");
    unlink(file);
    program_needs(statistics.kept == RECORDS + RANGES && statistics.dropped == 0, "all kept");
    program_needs(statistics.threads == 1, "one ring");
}

// Two libraries in another namespace, and one in the program's.
static void namespaces(void) {
    Lmid_t base = LM_ID_BASE, other = LM_ID_NEWLM;
    const struct mock_agent *here = load_in(&base, "first", RTLD_LOCAL);
    const struct mock_agent *agents[2] = {load_in(&other, "first", RTLD_LOCAL),
                                          load_in(&other, "second", RTLD_LOCAL)};
    emit_in_turn(agents, 1, 1, RECORDS);
    program_needs(here->emit(2, 1), "emit");
    program_needs(agents[0]->ring() == agents[1]->ring() && here->ring() != agents[0]->ring(), "rings");
}

static void agent_and_library(void) {
    attached(true);
}

static void library_and_agent(void) {
    attached(false);
}

static int be_program(const char *what) {
    static const struct {
        const char *name;
        void (*run)(void);
    } programs[] = {{"threads", threads},
                    {"stacks", stacks},
                    {"killed", killed},
                    {"forked", forked},
                    {"first used in children", first_used_in_children},
                    {"interrupted", interrupted},
                    {"agent and library", agent_and_library},
                    {"library and agent", library_and_agent},
                    {"itself", recorded_by_itself},
                    {"namespaces", namespaces},
                    {"gone", gone},
                    {"next to others", next_to_others},
                    {"next to others alone", next_to_others_alone}};
    char first[32], second[32];
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (strcmp(what, programs[i].name) == 0)
            programs[i].run();
    if (sscanf(what, "late %31s %31s", first, second) == 2)
        late(first, second);
    else if (sscanf(what, "global %31s %31s", first, second) == 2)
        late_with(first, second, RTLD_GLOBAL, LM_ID_BASE);
    else if (sscanf(what, "deepbind %31s %31s", first, second) == 2)
        late_with(first, second, RTLD_LOCAL | RTLD_DEEPBIND, LM_ID_BASE);
    else if (sscanf(what, "alone %31s %31s", first, second) == 2)
        late_with(first, second, RTLD_LOCAL, LM_ID_NEWLM); // there is no copy of the program's
    else if (sscanf(what, "raced alone %31s %31s", first, second) == 2)
        raced(first, second, LM_ID_NEWLM);
    else if (sscanf(what, "raced %31s %31s", first, second) == 2)
        raced(first, second, LM_ID_BASE);
    return 0;
}

// ---- what arrives

struct outcome {
    struct numbered_seen seen;
    struct collect_totals totals;
    uint32_t channels, processes, apis, ranges;
    char notice[512];
    uint64_t stack_of[2][STACKS + 1]; // by library and number; 0: it has none
    uint32_t depth_of[STACKS + 1], strange_frames;
};

static void find_notice(const tsmith_dictionary *dictionary, char *text, size_t room) {
    for (uint32_t id = 1; id < tsmith_dictionary_attribute_count(dictionary); id++) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(dictionary, id);
        const tsmith_string key = tsmith_dictionary_string(dictionary, attribute->key);
        if (memmem(key.bytes, key.length, "-build", 6))
            snprintf(text, room, "%.*s", (int)tsmith_dictionary_string(dictionary, attribute->value).length,
                     tsmith_dictionary_string(dictionary, attribute->value).bytes);
    }
}

static uint32_t ranges_of(const tsmith_batch *batch) {
    uint32_t count = 0;
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        uint64_t kind = 0;
        (void)tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind);
        count += kind == TSMITH_KIND_RANGE;
    }
    return count;
}

// The program's own module, and those of the system that started it.
static bool is_of_program(const tsmith_dictionary *dictionary, uint32_t frame) {
    const tsmith_frame *of = tsmith_dictionary_frame(dictionary, frame);
    const tsmith_module *module = of ? tsmith_dictionary_module(dictionary, of->module) : NULL;
    const tsmith_string path = tsmith_dictionary_string(dictionary, module ? module->path : 0);
    return memmem(path.bytes, path.length, "test_meeting", 12) ||
           memmem(path.bytes, path.length, "libc.so", 7);
}

static void note_stacks(struct outcome *outcome, const tsmith_dictionary *dictionary,
                        const tsmith_batch *batch) {
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        uint64_t emitter = 0, number = 0, stack = 0;
        if (!tsmith_batch_get(batch, TSMITH_FIELD_STACK, row, &stack) ||
            !tsmith_batch_get(batch, TSMITH_FIELD_OBJECT, row, &emitter) || emitter > 1 ||
            !tsmith_batch_get(batch, TSMITH_FIELD_CORRELATION, row, &number) || number > STACKS)
            continue;
        outcome->stack_of[emitter][number] = stack;
        outcome->depth_of[number] = 0;
        for (const tsmith_stack *at = tsmith_dictionary_stack(dictionary, (uint32_t)stack); at;
             at = tsmith_dictionary_stack(dictionary, at->parent)) {
            outcome->depth_of[number]++;
            outcome->strange_frames += !is_of_program(dictionary, at->frame);
        }
    }
}

// Takes what there is. The collector updates its heartbeat.
static tsmith_status take(struct collector *collector, struct outcome *outcome) {
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    while ((status = collector_next(collector, &batch, &error)) == TSMITH_OK) {
        numbered_see(&outcome->seen, batch);
        outcome->ranges += ranges_of(batch);
        note_stacks(outcome, collector_dictionary(collector), batch);
    }
    return status;
}

// Runs the program to its end, and takes everything that it left.
static struct outcome run(const char *what, int expected) {
    struct outcome outcome = {.channels = 0};
    struct session_directory directory = numbered_session(16u << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    struct collector *collector;
    const char *api;
    tsmith_error error;
    int status;
    assert_int_equal(collector_create(&directory, COLLECT_SESSION, &collector, &error), TSMITH_OK);
    atomic_store(&directory.control->collector_pid, (uint32_t)getpid());
    CONTROL_FILE_WRITE(&directory.file, collector_pid);
    directory.control->stacks = strcmp(what, "stacks") == 0 ? 64 : 0;
    CONTROL_FILE_WRITE(&directory.file, stacks);
    (void)take(collector, &outcome);
    const pid_t program = fork();
    if (program == 0) {
        setenv(CHANNEL_ENVIRONMENT, directory.path, 1);
        execl("/proc/self/exe", "meeting", what, (char *)NULL);
        _exit(4);
    }
    collector_program_started(collector, (uint64_t)program);
    while (waitpid(program, &status, WNOHANG) == 0)
        (void)take(collector, &outcome);
    assert_int_equal(status, expected);
    collector_program_ended(collector, status);
    outcome.channels = channels_in(directory.path);
    collector_set_closing(collector, true);
    assert_int_equal(take(collector, &outcome), TSMITH_END);
    outcome.totals = collector_totals(collector);
    outcome.processes = tsmith_dictionary_process_count(collector_dictionary(collector)) - 1;
    for (uint32_t unused = 0; collector_api(collector, outcome.apis, &api, &unused);)
        outcome.apis++;
    find_notice(collector_dictionary(collector), outcome.notice, sizeof outcome.notice);
    assert_false(outcome.seen.wrong);
    assert_int_equal(outcome.totals.asked, outcome.totals.kept + outcome.totals.dropped);
    assert_int_equal(outcome.totals.kept, numbered_total(&outcome.seen) + outcome.ranges);
    collector_destroy(collector);
    session_directory_remove(&directory);
    return outcome;
}

static void check_in_order(const struct outcome *outcome) {
    assert_false(outcome->seen.twice || outcome->seen.out_of_order);
}

// The program's two libraries have one channel, and its thread one ring.
static void check_one_channel(const char *what) {
    const struct outcome outcome = run(what, 0);
    check_in_order(&outcome);
    assert_int_equal(outcome.seen.count[1], RECORDS);
    assert_int_equal(numbered_lost(&outcome.seen), 0);
    assert_int_equal(outcome.channels, 1);
    assert_int_equal(outcome.processes, 1);
    assert_int_equal(outcome.apis, 2);
    assert_int_equal(outcome.totals.rings, 1);
    assert_string_equal(outcome.notice, "");
}

static void late_library_joins(void **unused) {
    (void)unused;
    check_one_channel("late first second");
}

static bool with_sanitizers(void) {
    const char *sanitizer = getenv("TRACESMITH_SANITIZE");
    return sanitizer && *sanitizer;
}

static void any_linker(void **unused) {
    (void)unused;
    static const char *const linkers[] = {"bfd", "gold", "lld", "mold"};
    char path[4096], what[128];
    for (size_t i = 0; i < sizeof linkers / sizeof *linkers; i++) {
        snprintf(path, sizeof path, "%s/tests/wire/libtracesmith-meeting-second-%s.so",
                 getenv("TRACESMITH_BUILD_DIR"), linkers[i]);
        if (access(path, R_OK) != 0) {
            print_message("not tried with %s: the compiler cannot use it as its linker\n", linkers[i]);
            continue;
        }
        const char *how = with_sanitizers() ? "late" : "alone";
        snprintf(what, sizeof what, "%s first-%s second", how, linkers[i]);
        check_one_channel(what);
        snprintf(what, sizeof what, "%s first-%s second-%s", how, linkers[i], linkers[i]);
        check_one_channel(what);
    }
}

static void any_scope(void **unused) {
    (void)unused;
    check_one_channel("global first second");
    if (with_sanitizers())
        return (void)print_message("not tried with RTLD_DEEPBIND: sanitizers refuse it\n");
    check_one_channel("deepbind first second");
}

static void program_has_a_copy(void **unused) {
    (void)unused;
    check_one_channel("late program second");
    check_one_channel("late first program");
}

// Without -z nodelete: the first stays by itself when it is closed, as its memory is everybody's.
static void library_that_may_leave(void **unused) {
    (void)unused;
    check_one_channel("late leaving second");
    check_one_channel("late second leaving");
    if (!with_sanitizers())
        check_one_channel("gone");
}

static void next_to_other_libraries(void **unused) {
    (void)unused;
    check_one_channel("next to others");
    if (!with_sanitizers())
        check_one_channel("next to others alone");
}

static void threads_have_one_ring(void **unused) {
    (void)unused;
    const struct outcome outcome = run("threads", 0);
    check_in_order(&outcome);
    for (int emitter = 1; emitter <= THREADS; emitter++)
        assert_int_equal(outcome.seen.count[emitter], RECORDS);
    assert_int_equal(outcome.channels, 1);
    assert_int_equal(outcome.totals.rings, 1);
}

// Both know the same stacks by numbers of one file, and the same modules.
static void stacks_of_both(void **unused) {
    (void)unused;
    static struct outcome outcome;
    outcome = run("stacks", 0);
    assert_int_equal(outcome.channels, 2); // that of the other build, too
    assert_int_equal(numbered_lost(&outcome.seen), 0);
    assert_int_equal(outcome.seen.count[2], STACKS);
    assert_int_equal(outcome.strange_frames, 0);
    for (uint32_t number = 1; number <= STACKS; number++) {
        assert_int_not_equal(outcome.stack_of[0][number], 0);
        assert_int_equal(outcome.depth_of[number], outcome.depth_of[DEPTHS] + number % DEPTHS);
        assert_int_equal(outcome.stack_of[0][number], outcome.stack_of[1][number]);
    }
}

static void death_is_counted_once(void **unused) {
    (void)unused;
    const struct outcome outcome = run("killed", SIGKILL);
    check_in_order(&outcome);
    assert_int_equal(outcome.seen.count[1], RECORDS);
    assert_int_equal(outcome.channels, 1);
    assert_int_equal(outcome.seen.lost[TSMITH_REASON_NO_COMPLETION], FLIGHTS_A + FLIGHTS_B);
    assert_int_equal(outcome.seen.lost[TSMITH_REASON_PROCESS_DIED],
                     1); // what its one thread was about to write
    assert_int_equal(numbered_lost(&outcome.seen), FLIGHTS_A + FLIGHTS_B + 1);
}

static void children_have_one_each(void **unused) {
    (void)unused;
    const struct outcome outcome = run("forked", 0);
    check_in_order(&outcome);
    assert_int_equal(outcome.seen.count[1], RECORDS + 10);
    assert_int_equal(outcome.seen.count[2], RECORDS);
    assert_int_equal(outcome.seen.count[3], RECORDS - 1);
    assert_int_equal(numbered_lost(&outcome.seen), 0);
    assert_int_equal(outcome.channels, 3);
    assert_int_equal(outcome.processes, 3);
    assert_int_equal(outcome.totals.rings, 3);
}

static void children_do_not_wait(void **unused) {
    (void)unused;
    if (with_sanitizers())
        return (void)print_message("a sanitizer's own locks are not safe at fork\n");
    const struct outcome outcome = run("first used in children", 0);
    assert_int_equal(outcome.seen.count[1], CHILDREN);
    assert_int_equal(outcome.processes, CHILDREN);
}

static void loaded_at_once(void **unused) {
    (void)unused;
    static const char *const pairs[] = {"raced first second", "raced leaving second", "raced program first",
                                        "raced alone first second", "raced alone leaving second"};
    const int kinds = with_sanitizers() ? 3 : 5;
    for (int race = 0; race < RACES; race++) {
        const struct outcome outcome = run(pairs[race % kinds], 0);
        check_in_order(&outcome);
        assert_int_equal(outcome.seen.count[1], 10);
        assert_int_equal(outcome.channels, 1);
    }
}

static void handlers_do_not_wait(void **unused) {
    (void)unused;
    const struct outcome outcome = run("interrupted", 0);
    check_in_order(&outcome);
    assert_int_equal(outcome.channels, 1);
    assert_true(outcome.seen.count[1] > 0 && outcome.seen.count[2] > 0);
}

static void library_and_agents(void **unused) {
    (void)unused;
    static const char *const orders[] = {"agent and library", "library and agent"};
    for (int order = 0; order < 2; order++) {
        const struct outcome outcome = run(orders[order], 0);
        check_in_order(&outcome);
        assert_int_equal(outcome.seen.count[1], RECORDS + 1);
        assert_int_equal(outcome.ranges, RANGES);
        assert_int_equal(numbered_lost(&outcome.seen), 0);
        assert_int_equal(outcome.channels, 1);
        assert_int_equal(outcome.totals.rings, 1);
    }
}

static void program_records_itself(void **unused) {
    (void)unused;
    const struct outcome outcome = run("itself", 0);
    assert_int_equal(outcome.channels, 0); // all is in its own session
}

static void other_namespace(void **unused) {
    (void)unused;
    if (with_sanitizers())
        return (void)print_message("sanitizers do not work in another namespace\n");
    const struct outcome outcome = run("namespaces", 0);
    assert_int_equal(outcome.seen.count[1], RECORDS);
    assert_int_equal(outcome.seen.count[2], 1);
    assert_int_equal(numbered_lost(&outcome.seen), 0);
    assert_int_equal(outcome.channels, 2);
    assert_int_equal(outcome.processes, 1);
}

// The reader is notified.
static void other_build(void **unused) {
    (void)unused;
    const struct outcome outcome = run("late first other", 0);
    assert_int_equal(outcome.seen.count[1], RECORDS);
    assert_int_equal(numbered_lost(&outcome.seen), 0);
    assert_int_equal(outcome.channels, 2);
    assert_int_equal(outcome.processes, 1);
    assert_non_null(strstr(outcome.notice, "two builds of TraceSmith"));
    assert_non_null(strstr(outcome.notice, "(another and "));
}

int main(int argc, char **argv) {
    if (argc > 1)
        return be_program(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_library_joins),
        cmocka_unit_test(any_linker),
        cmocka_unit_test(any_scope),
        cmocka_unit_test(program_has_a_copy),
        cmocka_unit_test(library_that_may_leave),
        cmocka_unit_test(next_to_other_libraries),
        cmocka_unit_test(threads_have_one_ring),
        cmocka_unit_test(stacks_of_both),
        cmocka_unit_test(death_is_counted_once),
        cmocka_unit_test(children_have_one_each),
        cmocka_unit_test(children_do_not_wait),
        cmocka_unit_test(loaded_at_once),
        cmocka_unit_test(handlers_do_not_wait),
        cmocka_unit_test(library_and_agents),
        cmocka_unit_test(program_records_itself),
        cmocka_unit_test(other_namespace),
        cmocka_unit_test(other_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
