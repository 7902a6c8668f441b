// SPDX-License-Identifier: Apache-2.0
// Reads the trace of the launch loop and checks each launch's stack. `benchmark` calls it after each recorded run.
#include "benchmark_trace.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/launch_loop/report.h"
#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/present/terminal.h"

static const char program[] = "tracesmith-launch-loop";

// A call stack: its path as the loop reports it, and its number of frames. `frames` 0: not checked yet.
struct known_stack {
    uint64_t path;
    uint32_t frames;
};

struct reading {
    struct trace trace;
    const struct loop_paths *paths;
    struct known_stack *stacks; // by id
    uint32_t stack_count;
    struct trace_report *out;
};

static bool is_string(const struct trace *trace, uint64_t id, const char *name) {
    tsmith_string string = trace_string(trace, (uint32_t)id);
    return string.length == strlen(name) && memcmp(string.bytes, name, string.length) == 0;
}

static bool is_of_loop(const struct trace *trace, uint32_t module) {
    const tsmith_module *entry = tsmith_dictionary_module(trace->dictionary, module);
    tsmith_string path = entry ? trace_string(trace, entry->path) : (tsmith_string){"", 0};
    const size_t length = sizeof program - 1;
    return path.length > length && memcmp(path.bytes + path.length - length, program, length) == 0;
}

// From the innermost frame on: the loader's, the call itself, the callers in the loop's program, the rest.
static void look_at(const struct reading *reading, uint32_t id, struct known_stack *known) {
    const tsmith_dictionary *dictionary = reading->trace.dictionary;
    uint32_t own = 0;
    bool ended = false;
    known->path = LOOP_PATH_START;
    for (const tsmith_stack *stack = tsmith_dictionary_stack(dictionary, id); stack;
         stack = tsmith_dictionary_stack(dictionary, stack->parent)) {
        const tsmith_frame *frame = tsmith_dictionary_frame(dictionary, stack->frame);
        bool is_own = frame && is_of_loop(&reading->trace, frame->module);
        if (is_own && !ended && own++)
            known->path = loop_path_add(known->path, frame->address);
        ended |= own && !is_own;
        known->frames++;
    }
}

static void count_stack(struct reading *reading, uint64_t id) {
    struct trace_report *out = reading->out;
    if (id == 0 || id >= reading->stack_count)
        return;
    struct known_stack *known = &reading->stacks[id];
    if (!known->frames) {
        look_at(reading, (uint32_t)id, known);
        out->different++;
    }
    out->stacks++;
    out->frames += known->frames;
    // The first launch, which compiles, is outside of the loop.
    uint64_t launch = out->launches - 1;
    if (launch > 0 && launch <= reading->paths->count)
        out->right += known->path == reading->paths->paths[launch - 1];
}

static const uint32_t fields[] = {TSMITH_FIELD_KIND, TSMITH_FIELD_NAME, TSMITH_FIELD_DURATION,
                                  TSMITH_FIELD_STACK};

static void count_batch(struct reading *reading, const tsmith_batch *batch) {
    enum { KIND, NAME, DURATION, STACK, FIELDS };
    tsmith_view views[FIELDS];
    tsmith_view_batch(batch, fields, FIELDS, views);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        const uint8_t kind = tsmith_view_word(&views[KIND], row);
        const uint32_t name = tsmith_view_id(&views[NAME], row), stack = tsmith_view_id(&views[STACK], row);
        if (kind == TSMITH_KIND_API && is_string(&reading->trace, name, "clEnqueueNDRangeKernel")) {
            reading->out->launches++;
            if (stack)
                count_stack(reading, stack);
        } else if (kind == TSMITH_KIND_KERNEL && is_string(&reading->trace, name, "tick")) {
            reading->out->completions += tsmith_view_has(&views[DURATION], row) != 0;
        }
    }
}

static tsmith_status read_events(struct reading *reading) {
    const tsmith_scan scan = {.size = sizeof scan,
                              .fields = fields,
                              .field_count = sizeof fields / sizeof fields[0],
                              .kinds =
                                  TSMITH_KIND_BIT(TSMITH_KIND_API) | TSMITH_KIND_BIT(TSMITH_KIND_KERNEL)};
    tsmith_source *source = NULL;
    tsmith_error error;
    const tsmith_batch *batch;
    tsmith_status status = tsmith_sbt_scan(reading->trace.file, &scan, &source, &error);
    while (status == TSMITH_OK) {
        status = tsmith_source_next(source, &batch, &error);
        if (status == TSMITH_OK)
            count_batch(reading, batch);
    }
    if (status < 0)
        complain("%s", error.message);
    tsmith_source_destroy(source);
    return status;
}

int benchmark_read_trace(const char *path, const struct loop_paths *paths, struct trace_report *out) {
    struct reading reading = {.paths = paths, .out = out};
    *out = (struct trace_report){0};
    int code = trace_open(path, &reading.trace);
    if (code != EXIT_DONE)
        return code;
    reading.stack_count = tsmith_dictionary_stack_count(reading.trace.dictionary);
    reading.stacks = calloc(reading.stack_count, sizeof *reading.stacks);
    if (!reading.stacks)
        reading.stack_count = 0;
    tsmith_status status = read_events(&reading);
    out->events = reading.trace.summary.events;
    out->bytes = reading.trace.summary.bytes;
    out->lost = trace_lost(&reading.trace);
    free(reading.stacks);
    trace_close(&reading.trace);
    return exit_code_of_input(status);
}
