// SPDX-License-Identifier: Apache-2.0
// `tracesmith attach`, the last step of its ladder: makes a program load libtracesmith-attach.so (src/inject/), which carries out the
// order in the session directory (agents/attach/starter.c). capture.c calls it.
#include "api/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "api/attach_python.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/other_root.h"
#include "base/sized.h"
#include "base/status.h"
#include "inject/inject.h"
#include "launch/launch_agents.h"

// ns until the agents are in place: two seconds with what comes before and after, also where 30 threads wait for two processors. Half
// of it is for finding a thread.
static const int64_t PATIENCE = 1500000000;

tsmith_status attach_select(const tsmith_capture_options *options, struct attach_what *out,
                            tsmith_error *error) {
    const struct agent_row *agent;
    char all[256] = "", path[4096];
    size_t used = 0, listed = 0;
    out->patience = options->attach_patience > 0 ? options->attach_patience : PATIENCE;
    for (size_t i = 0; (agent = agent_row_at(i)); i++) {
        if (!agent->comes_late)
            continue;
        listed += (size_t)snprintf(all + listed, sizeof all - listed, "%s%s", listed ? ", " : "", agent->api);
        if (agent_is_selected(options, agent->api) &&
            launch_agent_path(out->agent_directory, agent->api, path, sizeof path))
            used += (size_t)snprintf(out->agents + used, sizeof out->agents - used, "%s%s", used ? "," : "",
                                     agent->api);
    }
    if (!used)
        return status_set(error, TSMITH_ERROR_MISSING,
                          "no selected API can be recorded in a program that runs already; possible: %s",
                          all);
    return agent_options_write(options, out->options, sizeof out->options, error);
}

// Only the agents of APIs that the program has loaded. MISSING: none.
static tsmith_status choose_agents(struct attach_what *what, const struct inject_target *target,
                                   tsmith_error *error) {
    char names[sizeof what->agents], missing[256] = "", *rest = names;
    size_t used = 0, listed = 0;
    memcpy(names, what->agents, sizeof names);
    what->agents[0] = '\0';
    for (char *name; (name = strsep(&rest, ","));) {
        const struct agent_row *agent = NULL;
        (void)agent_row_find(name, &agent, NULL);
        if (agent && inject_has_library(target, agent->comes_late))
            used += (size_t)snprintf(what->agents + used, sizeof what->agents - used, "%s%s", used ? "," : "",
                                     name);
        else if (agent)
            listed += (size_t)snprintf(missing + listed, sizeof missing - listed, "%s%s (%s)",
                                       listed ? " or " : "", name, agent->comes_late);
    }
    return used ? TSMITH_OK
                : status_set(error, TSMITH_ERROR_MISSING,
                             "process %d cannot be recorded: it has not loaded %s", (int)what->pid, missing);
}

// ---- the order

static tsmith_status make_order(const struct attach_what *what, struct attach_order **out,
                                tsmith_error *error) {
    struct attach_order order = {.magic = ATTACH_ORDER_MAGIC, .bytes = sizeof order, .state = ATTACH_WAITING};
    void *at = MAP_FAILED;
    (void)snprintf(order.agents, sizeof order.agents, "%s", what->agents);
    (void)snprintf(order.agent_directory, sizeof order.agent_directory, "%s",
                   what->there ? what->there : what->session_directory);
    (void)snprintf(order.options, sizeof order.options, "%s", what->options);
    const int fd =
        openat(what->session, ATTACH_ORDER_NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && file_write(fd, &order, sizeof order))
        at = mmap(NULL, sizeof order, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int failure = errno;
    if (fd >= 0)
        close(fd);
    errno = failure;
    if (at == MAP_FAILED)
        return status_set_errno(error, "cannot write %s/" ATTACH_ORDER_NAME, what->session_directory);
    *out = at;
    return TSMITH_OK;
}

// Until the library has answered. When it takes too long, the order is canceled; the state that it was canceled in.
static uint32_t wait_for_answer(struct attach_order *order, int64_t until) {
    const struct timespec moment = {.tv_nsec = 500000};
    for (;;) {
        uint32_t state = atomic_load_explicit(&order->state, memory_order_acquire);
        if (state != ATTACH_WAITING && state != ATTACH_TAKEN)
            return state;
        if (clock_trace_now() >= until &&
            atomic_compare_exchange_strong(&order->state, &state, ATTACH_CANCELED))
            return state;
        nanosleep(&moment, NULL);
    }
}

// ---- the libraries

struct own_path {
    char bytes[4096 + 128];
};

static struct own_path own_library(const struct attach_what *what, const char *name) {
    struct own_path path;
    (void)snprintf(path.bytes, sizeof path.bytes, "%s/%s", what->agent_directory, name);
    return path;
}

static bool copy_bytes(int from, int to) {
    enum { PIECE = 65536 };
    char *bytes = malloc(PIECE);
    ssize_t got = bytes ? 1 : -1;
    while (got > 0) {
        got = read(from, bytes, PIECE);
        if (got > 0 && !file_write(to, bytes, (size_t)got))
            got = -1;
    }
    const int failure = errno;
    free(bytes);
    errno = failure;
    return got == 0;
}

static bool copy_file(const struct attach_what *what, const char *from, const char *name) {
    const int source = open(from, O_RDONLY | O_CLOEXEC),
              target = source < 0 ? -1
                                  : openat(what->session, name,
                                           O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0700);
    const bool copied = target >= 0 && copy_bytes(source, target);
    const int failure = errno;
    if (source >= 0)
        close(source);
    if (target >= 0)
        close(target);
    errno = failure;
    return copied;
}

// A library of ours into the session directory, under its own name: a copy for a container, else a link. By the path of the link the
// loader does not take it for an older one that was loaded from the same path.
static tsmith_status give_library(const struct attach_what *what, const char *name, tsmith_error *error) {
    const struct own_path from = own_library(what, name);
    if (what->there)
        return copy_file(what, from.bytes, name)
                   ? TSMITH_OK
                   : status_set_errno(error, "cannot copy %s into the container", from.bytes);
    if (access(from.bytes, R_OK) != 0)
        return status_set_errno(error, "cannot use %s", from.bytes);
    return symlinkat(from.bytes, what->session, name) == 0
               ? TSMITH_OK
               : status_set_errno(error, "cannot make %s/%s", what->session_directory, name);
}

// What the process has loaded for an earlier session stays loaded, and is used again if it is the same as ours, so that it is not copied.
// `starter_stays`: that is so for the library that loads the agents. Another one does not know what was loaded.
static tsmith_status give_libraries(const struct attach_what *what, const struct inject_target *target,
                                    bool starter_stays, tsmith_error *error) {
    char names[sizeof what->agents], *rest = names, library[128];
    tsmith_status status = TSMITH_OK;
    memcpy(names, what->agents, sizeof names);
    for (char *name; !status && (name = strsep(&rest, ","));) {
        (void)snprintf(library, sizeof library, "libtracesmith-%.64s.so", name);
        if (*name &&
            !(what->there && starter_stays && inject_has_same(target, own_library(what, library).bytes)))
            status = give_library(what, library, error);
    }
    if (!status && !starter_stays)
        status = give_library(what, ATTACH_LIBRARY, error);
    if (!status && !starter_stays && symlinkat(ATTACH_LIBRARY, what->session, ATTACH_LINK) != 0)
        status = status_set_errno(error, "cannot make %s/" ATTACH_LINK, what->session_directory);
    return status;
}

// ---- the call

static tsmith_status call(const struct attach_what *what, struct inject_target *target, bool starter_stays,
                          struct inject_report *report, tsmith_error *error) {
    enum { LOAD_NOW = 2 }; // RTLD_NOW of glibc, and local
    const struct own_path library = own_library(what, ATTACH_LIBRARY);
    const char *session = what->there ? what->there : what->session_directory;
    const struct inject_call load = {
        .function = "dlopen", .text = session, .then = ATTACH_LINK, .number = LOAD_NOW};
    const struct inject_call enter = {
        .file = library.bytes, .function = ATTACH_ENTER_SYMBOL, .text = session};
    return inject_call(target, starter_stays ? &enter : &load, what->patience / 2, report, error);
}

static tsmith_status wait_for_agents(const struct attach_what *what, struct attach_order *order,
                                     int64_t until, tsmith_error *error) {
    const uint32_t state = wait_for_answer(order, until);
    if (state == ATTACH_WAITING)
        return status_set(
            error, TSMITH_ERROR_BUSY,
            "process %d has not loaded the agent in time (it may be busy loading something "
            "else, have no room for it, "
            "or still finish an earlier recording). Nothing is recorded: try again, or with --patience 10s",
            (int)what->pid);
    order->text[sizeof order->text - 1] = '\0';
    if (state == ATTACH_READY)
        return TSMITH_OK;
    return status_set(
        error, state == ATTACH_FAILED ? TSMITH_ERROR_MISSING : TSMITH_ERROR_BUSY,
        "process %d cannot be recorded: %s", (int)what->pid,
        state == ATTACH_FAILED && order->text[0]
            ? order->text
            : "its agents were not loaded in time, and leave it again. Try again, or with --patience 10s");
}

tsmith_status attach_run(struct attach_what *what, tsmith_attach_report *out, tsmith_error *error) {
    const int64_t begun = clock_trace_now();
    struct inject_target *target = NULL;
    struct attach_order *order = NULL;
    struct inject_report report = {0};
    bool starter_stays = false, is_remote = false;
    char not_remote[sizeof out->not_remote] = "";
    tsmith_status status = inject_open(what->pid, &target, error);
    if (!status && !what->there && other_root_is((uint32_t)what->pid))
        status =
            status_set(error, TSMITH_ERROR_UNSUPPORTED,
                       "process %d sees other files (a container), and the session was not created for it "
                       "(attach_pid of tsmith_capture_options)",
                       (int)what->pid);
    if (!status)
        status = choose_agents(what, target, error);
    if (!status) {
        starter_stays = inject_has_same(target, own_library(what, ATTACH_LIBRARY).bytes);
        status = make_order(what, &order, error);
    }
    if (!status)
        status = give_libraries(what, target, starter_stays, error);
    if (!status) {
        is_remote = attach_python(
            what, target, starter_stays ? own_library(what, ATTACH_LIBRARY).bytes : NULL, order, not_remote);
        if (!is_remote)
            status = call(what, target, starter_stays, &report, error);
    }
    if (!status)
        status = wait_for_agents(what, order, begun + what->patience, error);
    tsmith_attach_report made = {.size = sizeof made,
                                 .thread = (uint32_t)report.thread,
                                 .threads_tried = report.threads_tried,
                                 .stopped_ns = report.stopped_ns,
                                 .longest_stop_ns = report.longest_ns,
                                 .ready_ns = clock_trace_now() - begun};
    (void)snprintf(made.way, sizeof made.way, "%s", is_remote ? "remote execution" : "borrowed thread");
    memcpy(made.not_remote, not_remote, sizeof made.not_remote);
    if (!status)
        memcpy(made.text, order->text, sizeof made.text);
    sized_give(tsmith_attach_report, &made, out);
    if (order)
        munmap(order, sizeof *order);
    inject_close(target);
    return status;
}
