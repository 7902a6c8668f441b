// SPDX-License-Identifier: Apache-2.0
// Opens the additional sources of `profile` (XRay, scheduling, driver calls, probes), joins them with the capture and
// reports on them.
#include "sources.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/quantity.h"
#include "cli/present/terminal.h"

// ---- XRay

static int open_xray(struct sources *sources, const char *program, tsmith_xray_mode mode,
                     tsmith_capture_options *capture) {
    const tsmith_xray_options options = {.size = sizeof options, .program = program, .mode = mode};
    tsmith_error error;
    if (tsmith_xray_create(&options, &sources->xray, &error) < 0) {
        complain("%s", error.message);
        return EXIT_LACKING;
    }
    capture->environment = tsmith_xray_environment(sources->xray);
    return EXIT_DONE;
}

static void report_xray(const struct sources *sources) {
    tsmith_error error;
    size_t unreadable = 0;
    if (tsmith_xray_logs(sources->xray, &unreadable, &error) == 0)
        complain("--xray: the program logged no function: it must be built with clang -fxray-instrument, and "
                 "a process that is killed logs nothing more");
    if (unreadable)
        complain("--xray: %zu logs could not be read: %s", unreadable, error.message);
}

// ---- the kernel

// FILE:FUNCTION, at the last colon that is none of two ("shop::total").
static bool read_probe(const char *word, tsmith_probe *probe) {
    const char *colon = NULL;
    for (const char *at = word; (at = strchr(at, ':')) && *at; at++) {
        if (at[1] == ':')
            at++;
        else
            colon = at;
    }
    if (!colon || colon == word || !colon[1]) {
        complain("--probe: '%s' is not FILE:FUNCTION or kernel:FUNCTION", word);
        return false;
    }
    probe->file = strndup(word, (size_t)(colon - word));
    probe->function = colon + 1;
    return probe->file != NULL;
}

static bool is_of_kernel(const char *word) {
    return strncmp(word, "kernel:", strlen("kernel:")) == 0;
}

// A probe is measured before it is used, so that the user knows the cost before the program runs.
static void tell_cost(struct sources *sources, size_t index) {
    tsmith_error error;
    const char *site = "";
    if (tsmith_watch_probe_cost(sources->watch, index, &sources->probes[index].ns, &site, &error) < 0)
        complain("--probe %s: %s", sources->probes[index].word, error.message);
    else
        complain("--probe %s: each call will take %.2f us more (measured; it %s %s)",
                 sources->probes[index].word, sources->probes[index].ns / 1000,
                 is_of_kernel(sources->probes[index].word) ? "is" : "begins with", site);
}

static int read_nodes(const struct invocation *invocation, const char **nodes, size_t *count) {
    size_t cursor = 0;
    const char *word;
    while ((word = invocation_next(invocation, "driver", &cursor))) {
        if (!*word)
            continue; // those of GPUs, and no other
        if (*count == NODES_MOST) {
            complain("--driver: at most %d nodes can be named", NODES_MOST);
            return EXIT_USAGE;
        }
        nodes[(*count)++] = word;
    }
    return EXIT_DONE;
}

// What watches, as people asked for it.
static const char *watch_word(const struct sources *sources) {
    return sources->sched ? "--sched" : sources->driver ? "--driver" : "--probe";
}

static int open_watch(struct sources *sources, const struct invocation *invocation) {
    tsmith_probe probes[PROBES_MOST] = {{0}};
    tsmith_error error;
    size_t cursor = 0;
    const char *word, *nodes[NODES_MOST];
    size_t node_count = 0;
    int code = read_nodes(invocation, nodes, &node_count);
    while (code == EXIT_DONE && (word = invocation_next(invocation, "probe", &cursor))) {
        if (sources->probe_count == PROBES_MOST)
            complain("--probe: at most %d functions can be probed", PROBES_MOST);
        if (sources->probe_count == PROBES_MOST || !read_probe(word, &probes[sources->probe_count]))
            code = EXIT_USAGE;
        else
            sources->probes[sources->probe_count++].word = word;
    }
    const tsmith_watch_options options = {.size = sizeof options,
                                          .sched = sources->sched,
                                          .stacks = invocation_flag(invocation, "stacks"),
                                          .probes = probes,
                                          .probe_count = sources->probe_count,
                                          .driver = sources->driver,
                                          .nodes = nodes,
                                          .node_count = node_count};
    if (code == EXIT_DONE && tsmith_watch_create(&options, &sources->watch, &error) < 0) {
        complain("%s: %s", watch_word(sources), error.message);
        code = error.status == TSMITH_ERROR_NOT_FOUND ? EXIT_USAGE : EXIT_LACKING;
    }
    if (code == EXIT_DONE && sources->driver && tsmith_watch_lacks(sources->watch)[0])
        complain("--driver: this kernel does not provide %s", tsmith_watch_lacks(sources->watch));
    for (size_t i = 0; code == EXIT_DONE && i < sources->probe_count; i++)
        tell_cost(sources, i);
    for (size_t i = 0; i < PROBES_MOST; i++)
        free((char *)(uintptr_t)probes[i].file);
    return code;
}

static void report_watch(const struct sources *sources) {
    for (size_t i = 0; i < sources->probe_count; i++) {
        const uint64_t hits = tsmith_watch_probe_hits(sources->watch, i);
        complain("--probe %s: %" PRIu64 " %s, which added about %.3f ms to the program's run time",
                 sources->probes[i].word, hits, plural(hits, "call", "calls"),
                 (double)hits * sources->probes[i].ns / 1e6);
    }
}

// ---- samples

static int open_sampler(struct sources *sources, const struct invocation *invocation) {
    const char *word = invocation_value(invocation, "sample");
    tsmith_host_sampler_options options = {.size = sizeof options, .no_off_cpu = sources->sched};
    uint64_t rate = 0;
    tsmith_error error;
    if (word && *word && (!quantity_count(word, &rate) || rate < 1 || rate > TSMITH_SAMPLE_RATE_MOST)) {
        complain("--sample: '%s' is not a rate; available: 1 to %d per second", word,
                 TSMITH_SAMPLE_RATE_MOST);
        return EXIT_USAGE;
    }
    options.rate = (uint32_t)rate;
    if (tsmith_host_sampler_create(&options, &sources->sampler, &error) < 0) {
        complain("--sample: %s", error.message);
        return EXIT_LACKING;
    }
    if (tsmith_host_sampler_refusal(sources->sampler)[0])
        complain("--sample: no samples are recorded: %s", tsmith_host_sampler_refusal(sources->sampler));
    return EXIT_DONE;
}

static void report_sampler(const struct sources *sources) {
    tsmith_host_sampler_totals totals = {.size = sizeof totals};
    tsmith_host_sampler_total(sources->sampler, &totals);
    if (!tsmith_host_sampler_refusal(sources->sampler)[0])
        complain("--sample: %" PRIu64 " %s of %.3f s of CPU time%s", totals.samples,
                 plural(totals.samples, "sample", "samples"), (double)totals.cpu_ns / 1e9,
                 totals.without_kernel
                     ? "; time in system calls was not sampled (kernel.perf_event_paranoid is above 1)"
                     : "");
}

// ---- all of them

int sources_open(struct sources *sources, const struct invocation *invocation, const char *program,
                 tsmith_capture_options *capture) {
    *sources = (struct sources){.sched = invocation_flag(invocation, "sched"),
                                .driver = invocation_flag(invocation, "driver")};
    int code = EXIT_DONE;
    if (sources->sched || sources->driver || invocation_value(invocation, "probe"))
        code = open_watch(sources, invocation);
    if (code == EXIT_DONE && invocation_flag(invocation, "sample"))
        code = open_sampler(sources, invocation);
    if (code == EXIT_DONE && invocation_flag(invocation, "xray")) {
        const char *mode = invocation_value(invocation, "xray");
        code = open_xray(sources, program, strcmp(mode, "fdr") == 0 ? TSMITH_XRAY_FDR : TSMITH_XRAY_BASIC,
                         capture);
    }
    if (code != EXIT_DONE)
        complain("%s was not run", invocation->operands[0]);
    return code;
}

tsmith_status sources_join(void *context, tsmith_capture *capture, tsmith_error *error) {
    const struct sources *sources = context;
    tsmith_status status = sources->xray ? tsmith_xray_join(sources->xray, capture, error) : TSMITH_OK;
    if (status >= 0 && sources->watch)
        status = tsmith_watch_join(sources->watch, capture, error);
    if (status >= 0 && sources->sampler)
        status = tsmith_host_sampler_join(sources->sampler, capture, error);
    return status;
}

void sources_report(const struct sources *sources) {
    if (sources->xray)
        report_xray(sources);
    if (sources->watch)
        report_watch(sources);
    if (sources->sampler)
        report_sampler(sources);
}

void sources_close(struct sources *sources) {
    tsmith_xray_destroy(sources->xray);
    tsmith_watch_destroy(sources->watch);
    tsmith_host_sampler_destroy(sources->sampler);
    *sources = (struct sources){0};
}
