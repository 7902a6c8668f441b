// SPDX-License-Identifier: Apache-2.0
// A trace split into those of its ranks: each has the events, names, call stacks, devices, clocks and facts of its rank, and what
// belongs to no process.
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracesmith/merge.h"
#include "tracesmith/sbt.h"

enum { SHARED_DEVICE = 1, OWN_DEVICE, UNUSED_DEVICE, WORLD = 6 };

struct made {
    tsmith_dictionary *names;
    tsmith_batch *batch;
    tsmith_sink *sink;
    uint32_t processes[6], threads[6], field;
};

static uint32_t text(const struct made *made, const char *bytes) {
    return tsmith_dictionary_intern_cstr(made->names, bytes);
}

static void add_process(struct made *made, int at, uint64_t pid, uint64_t parent, uint32_t rank) {
    made->processes[at] = tsmith_dictionary_add_process(
        made->names, &(tsmith_process){.pid = pid, .parent_pid = parent, .name = text(made, "program")});
    made->threads[at] = tsmith_dictionary_add_track(
        made->names,
        &(tsmith_track){.kind = TSMITH_TRACK_THREAD, .process = made->processes[at], .tid = 1000 + pid});
    if (rank)
        (void)tsmith_dictionary_add_rank(
            made->names, &(tsmith_rank){.process = made->processes[at], .rank = rank, .world = WORLD});
}

// A call path of two calls, the inner one of two functions in one place; its names have the number.
static uint32_t make_stack(const struct made *made, int at) {
    char name[64];
    uint32_t frames[2];
    for (uint32_t i = 0; i < 2; i++) {
        (void)snprintf(name, sizeof name, "/lib/%d.so", at);
        const tsmith_module module = {.path = text(made, name), .process = made->processes[at]};
        frames[i] = tsmith_dictionary_intern_frame(
            made->names, &(tsmith_frame){.module = tsmith_dictionary_intern_module(made->names, &module),
                                         .address = 0x1000 + i});
        for (uint32_t inlined = 0; inlined <= i; inlined++) {
            (void)snprintf(name, sizeof name, "function %d.%u.%u", at, i, inlined);
            (void)tsmith_dictionary_add_symbol(
                made->names,
                &(tsmith_symbol){.frame = frames[i], .function = text(made, name), .line = 10 + i});
        }
    }
    return tsmith_dictionary_intern_path(made->names, 0, frames, 2);
}

static void write_event(struct made *made, uint32_t track, tsmith_kind kind, int64_t start, const char *name,
                        uint32_t stack, uint64_t value) {
    tsmith_batch_reset(made->batch, track);
    assert_int_equal(tsmith_batch_append(made->batch, kind, start), 0);
    assert_int_equal(tsmith_batch_set(made->batch, TSMITH_FIELD_NAME, text(made, name)), TSMITH_OK);
    if (stack)
        assert_int_equal(tsmith_batch_set(made->batch, TSMITH_FIELD_STACK, stack), TSMITH_OK);
    assert_int_equal(tsmith_batch_set_dynamic(made->batch, made->field, TSMITH_TYPE_U64, value), TSMITH_OK);
    assert_int_equal(tsmith_batch_finish(made->batch), TSMITH_OK);
    assert_int_equal(tsmith_sink_write(made->sink, made->names, made->batch, NULL), TSMITH_OK);
}

static void add_clock(struct made *made, uint32_t process, uint32_t device, int64_t time) {
    const uint32_t clock = tsmith_dictionary_add_clock(
        made->names, &(tsmith_clock){.name = text(made, "clock"), .process = process, .device = device});
    (void)tsmith_dictionary_add_clock_pair(
        made->names, &(tsmith_clock_pair){.clock = clock, .clock_time = time, .trace_time = time});
}

static void add_devices_and_facts(struct made *made) {
    static const char *const devices[] = {"shared", "own", "unused"};
    for (size_t i = 0; i < 3; i++)
        (void)tsmith_dictionary_add_device(made->names, &(tsmith_device){.name = text(made, devices[i])});
    add_clock(made, 0, 0, 1);
    add_clock(made, made->processes[0], 0, 2);
    add_clock(made, made->processes[1], SHARED_DEVICE, 3);
    add_clock(made, 0, OWN_DEVICE, 4);
    tsmith_dictionary_set_attribute(made->names, "command", "mpirun program");
    tsmith_dictionary_set_attribute(made->names, "mpi.100.distributedInfo", "{\"rank\":0}");
    tsmith_dictionary_set_attribute(made->names, "mpi.101.distributedInfo", "{\"rank\":2}");
    tsmith_dictionary_set_attribute(made->names, "mpi.library", "some");
}

// Ranks 0 and 2 of 6; of rank 2 a child and its child, which state no rank; a launcher, and a helper without a rank.
static void write_trace(const char *path, bool with_helper) {
    struct made made;
    const tsmith_sbt_write_options options = {.size = sizeof options};
    assert_int_equal(tsmith_dictionary_create(&made.names), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&made.batch), TSMITH_OK);
    assert_int_equal(tsmith_sbt_writer_open(path, &options, &made.sink, NULL), TSMITH_OK);
    made.field = tsmith_dictionary_field(made.names, "answer", TSMITH_TYPE_U64, NULL);
    add_process(&made, 0, 100, 50, 1);
    add_process(&made, 1, 101, 50, 3);
    add_process(&made, 2, 102, 101, 0);
    add_process(&made, 3, 103, 102, 0);
    add_process(&made, 4, 50, 1, 0);
    add_process(&made, 5, 104, 50, 0);
    add_devices_and_facts(&made);
    const uint32_t counter =
        tsmith_dictionary_add_track(made.names, &(tsmith_track){.kind = TSMITH_TRACK_COUNTER});
    for (int at = 0; at < 2; at++) {
        const tsmith_track queue = {.kind = TSMITH_TRACK_QUEUE,
                                    .process = made.processes[at],
                                    .device = at ? SHARED_DEVICE : OWN_DEVICE};
        const uint32_t track = tsmith_dictionary_add_track(made.names, &queue);
        write_event(&made, track, TSMITH_KIND_KERNEL, 10 + at, at ? "kernel 1" : "kernel 0",
                    make_stack(&made, at), 40 + (uint64_t)at);
    }
    (void)tsmith_dictionary_add_track(
        made.names, &(tsmith_track){.kind = TSMITH_TRACK_QUEUE, .process = made.processes[0], .device = 1});
    write_event(&made, made.threads[2], TSMITH_KIND_RANGE, 20, "child", 0, 42);
    write_event(&made, made.threads[3], TSMITH_KIND_RANGE, 21, "child of the child", 0, 43);
    write_event(&made, made.threads[4], TSMITH_KIND_PROCESS, 5, "launcher", 0, 44);
    if (with_helper)
        write_event(&made, made.threads[5], TSMITH_KIND_RANGE, 30, "helper", 0, 45);
    write_event(&made, counter, TSMITH_KIND_COUNTER, 15, "power", 0, 46);
    assert_int_equal(tsmith_sink_finish(made.sink, made.names, NULL), TSMITH_OK);
    tsmith_sink_destroy(made.sink);
    tsmith_batch_destroy(made.batch);
    tsmith_dictionary_destroy(made.names);
}

struct folder {
    char path[64], whole[80], pattern[80], part[96];
};

static struct folder make_folder(const char *pattern) {
    struct folder folder = {.path = "/tmp/tracesmith-split-XXXXXX"};
    assert_non_null(mkdtemp(folder.path));
    (void)snprintf(folder.whole, sizeof folder.whole, "%s/whole", folder.path);
    (void)snprintf(folder.pattern, sizeof folder.pattern, "%s/%s", folder.path, pattern);
    return folder;
}

static const char *part_of(struct folder *folder, const char *name) {
    (void)snprintf(folder->part, sizeof folder->part, "%s/%s", folder->path, name);
    return folder->part;
}

static bool has_string(const tsmith_dictionary *dictionary, const char *wanted) {
    for (uint32_t id = 1; id < tsmith_dictionary_string_count(dictionary); id++)
        if (strcmp(tsmith_dictionary_string(dictionary, id).bytes, wanted) == 0)
            return true;
    return false;
}

// Names of events with the value of the dynamic field, in the order of the file; and the call stack of the last that has one.
static void read_events(tsmith_sbt *file, const tsmith_dictionary *names, char out[256], uint32_t *stack) {
    tsmith_source *source;
    const tsmith_batch *batch;
    out[0] = '\0';
    *stack = 0;
    assert_int_equal(tsmith_sbt_scan(file, NULL, &source, NULL), TSMITH_OK);
    while (tsmith_source_next(source, &batch, NULL) == TSMITH_OK)
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
            uint64_t name = 0, value = 0, path = 0;
            assert_true(tsmith_batch_get(batch, TSMITH_FIELD_NAME, row, &name));
            assert_true(tsmith_batch_get(batch, TSMITH_FIELD_DYNAMIC + 1, row, &value));
            if (tsmith_batch_get(batch, TSMITH_FIELD_STACK, row, &path))
                *stack = (uint32_t)path;
            const size_t length = strlen(out);
            (void)snprintf(out + length, 256 - length, "%s=%d;",
                           tsmith_dictionary_string(names, (uint32_t)name).bytes, (int)value);
        }
    tsmith_source_destroy(source);
}

static void check_stack(const tsmith_dictionary *names, uint32_t id, int at) {
    char wanted[64];
    uint32_t symbol = 1;
    const tsmith_stack *inner = tsmith_dictionary_stack(names, id);
    const tsmith_stack *const path[2] = {tsmith_dictionary_stack(names, inner->parent), inner};
    assert_int_equal(tsmith_dictionary_stack_count(names), 3);
    assert_int_equal(tsmith_dictionary_frame_count(names), 3);
    assert_int_equal(tsmith_dictionary_module_count(names), 2);
    assert_int_equal(tsmith_dictionary_symbol_count(names), 4);
    assert_int_equal(path[0]->parent, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const tsmith_frame *frame = tsmith_dictionary_frame(names, path[i]->frame);
        const tsmith_module *module = tsmith_dictionary_module(names, frame->module);
        (void)snprintf(wanted, sizeof wanted, "/lib/%d.so", at);
        assert_string_equal(tsmith_dictionary_string(names, module->path).bytes, wanted);
        assert_int_equal(module->process, 1);
        assert_int_equal(frame->address, 0x1000 + i);
        for (uint32_t inlined = 0; inlined <= i; inlined++, symbol++) {
            const tsmith_symbol *found = tsmith_dictionary_symbol(names, symbol);
            (void)snprintf(wanted, sizeof wanted, "function %d.%u.%u", at, i, inlined);
            assert_int_equal(found->frame, path[i]->frame);
            assert_string_equal(tsmith_dictionary_string(names, found->function).bytes, wanted);
            assert_int_equal(found->line, 10 + i);
        }
    }
}

// The parts of two ranks: names, devices, clocks, facts and stacks of their own, and none of the other's.
static void check_part(const char *path, int at, const char *events) {
    tsmith_sbt *file;
    const tsmith_dictionary *names;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    char found[256];
    uint32_t stack;
    assert_int_equal(tsmith_sbt_open(path, &file, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sbt_dictionary(file, &names, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sbt_summarize(file, &summary, NULL), TSMITH_OK);
    assert_true(summary.complete);
    read_events(file, names, found, &stack);
    assert_string_equal(found, events);
    check_stack(names, stack, at);
    assert_int_equal(tsmith_dictionary_process_count(names), at ? 4 : 2);
    const tsmith_rank rank = tsmith_dictionary_find_rank(names, 0);
    assert_int_equal(rank.rank, at ? 3 : 1);
    assert_int_equal(rank.world, WORLD);
    assert_int_equal(has_string(names, "kernel 0"), !at);
    assert_int_equal(has_string(names, "kernel 1"), at);
    assert_int_equal(has_string(names, "helper"), 0);
    assert_int_equal(has_string(names, "own"), !at);
    assert_true(has_string(names, "shared") && has_string(names, "unused"));
    assert_int_equal(tsmith_dictionary_device_count(names), at ? 3 : 4);
    int64_t times = 0;
    for (uint32_t id = 1; id < tsmith_dictionary_clock_pair_count(names); id++) {
        assert_non_null(tsmith_dictionary_clock(names, tsmith_dictionary_clock_pair(names, id)->clock));
        times = 10 * times + tsmith_dictionary_clock_pair(names, id)->clock_time;
    }
    assert_int_equal(times, at ? 13 : 124);
    assert_int_equal(!tsmith_dictionary_find_attribute(names, "mpi.100.distributedInfo").bytes, at);
    assert_int_equal(!tsmith_dictionary_find_attribute(names, "mpi.101.distributedInfo").bytes, !at);
    assert_non_null(tsmith_dictionary_find_attribute(names, "mpi.library").bytes);
    assert_string_equal(tsmith_dictionary_find_attribute(names, "command").bytes, "mpirun program");
    assert_non_null(
        strstr(tsmith_dictionary_find_attribute(names, "notice.ranks").bytes, "ranks 1, 3-5 of 6"));
    assert_null(tsmith_dictionary_find_attribute(names, "split.without_rank").bytes);
    tsmith_sbt_close(file);
}

static void a_rank_has_its_own(void **state) {
    (void)state;
    struct folder folder = make_folder("%r");
    tsmith_split_result result = {.size = sizeof result};
    write_trace(folder.whole, true);
    assert_int_equal(tsmith_trace_split(folder.whole, folder.pattern, NULL, &result, NULL), TSMITH_OK);
    assert_int_equal(result.files, 3);
    assert_int_equal(result.ranks, 2);
    assert_int_equal(result.world, WORLD);
    assert_int_equal(result.missing, 4);
    assert_string_equal(result.missing_ranks, "1, 3-5");
    assert_int_equal(result.events, 2 + 4 + 3);
    assert_int_equal(result.repeated, 2);
    check_part(part_of(&folder, "0"), 0, "kernel 0=40;power=46;");
    check_part(part_of(&folder, "2"), 1, "kernel 1=41;child=42;child of the child=43;power=46;");
    tsmith_sbt *file;
    const tsmith_dictionary *names;
    char found[256];
    uint32_t stack;
    assert_int_equal(tsmith_sbt_open(part_of(&folder, "norank"), &file, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sbt_dictionary(file, &names, NULL), TSMITH_OK);
    read_events(file, names, found, &stack);
    assert_string_equal(found, "launcher=44;helper=45;power=46;");
    assert_int_equal(stack, 0);
    assert_non_null(tsmith_dictionary_find_attribute(names, "split.without_rank").bytes);
    assert_int_equal(tsmith_dictionary_stack_count(names), 1);
    tsmith_sbt_close(file);
    static const char *const files[] = {"0", "2", "norank", "whole"};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(unlink(part_of(&folder, files[i])), 0);
    assert_int_equal(rmdir(folder.path), 0);
}

// A launcher of which only the start is known has no file.
static void a_silent_launcher_has_no_file(void **state) {
    (void)state;
    struct folder folder = make_folder("%r");
    write_trace(folder.whole, false);
    assert_int_equal(tsmith_trace_split(folder.whole, folder.pattern, NULL, NULL, NULL), TSMITH_OK);
    static const char *const files[] = {"0", "2", "whole"};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(unlink(part_of(&folder, files[i])), 0);
    assert_int_equal(rmdir(folder.path), 0);
}

// A file may state anything: references to what is not there are of no process, and lead nowhere.
static void references_to_nothing_are_harmless(void **state) {
    (void)state;
    struct folder folder = make_folder("%r");
    struct made made = {0};
    tsmith_split_result result = {.size = sizeof result};
    assert_int_equal(tsmith_dictionary_create(&made.names), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&made.batch), TSMITH_OK);
    assert_int_equal(tsmith_sbt_writer_open(folder.whole, NULL, &made.sink, NULL), TSMITH_OK);
    made.field = tsmith_dictionary_field(made.names, "answer", TSMITH_TYPE_U64, NULL);
    add_process(&made, 0, 100, 100, 1);
    add_process(&made, 1, 101, 102, 0);
    add_process(&made, 2, 102, 101, 0);
    const tsmith_track odd = {.kind = TSMITH_TRACK_QUEUE, .process = 77, .device = 78, .parent = 79};
    const uint32_t track = tsmith_dictionary_add_track(made.names, &odd);
    (void)tsmith_dictionary_add_rank(made.names, &(tsmith_rank){.process = 80, .rank = 9, .world = 2});
    (void)tsmith_dictionary_add_clock_pair(made.names, &(tsmith_clock_pair){.clock = 81});
    add_clock(&made, 82, 83, 5);
    (void)tsmith_dictionary_add_attribute(made.names, &(tsmith_attribute){.key = 9999, .value = 9998});
    const uint32_t frame =
        tsmith_dictionary_intern_frame(made.names, &(tsmith_frame){.module = 84, .address = 1});
    const uint32_t path = tsmith_dictionary_intern_path(made.names, 0, &frame, 1);
    const uint32_t beyond = 85;
    const uint32_t inner = tsmith_dictionary_intern_path(made.names, path, &beyond, 1);
    (void)tsmith_dictionary_add_symbol(made.names, &(tsmith_symbol){.frame = 86, .function = 9997});
    write_event(&made, track, TSMITH_KIND_KERNEL, 1, "odd", inner, 1);
    write_event(&made, made.threads[0], TSMITH_KIND_RANGE, 2, "range", 87, 2);
    write_event(&made, made.threads[1], TSMITH_KIND_RANGE, 3, "other", 0, 3);
    assert_int_equal(tsmith_sink_finish(made.sink, made.names, NULL), TSMITH_OK);
    tsmith_sink_destroy(made.sink);
    tsmith_batch_destroy(made.batch);
    tsmith_dictionary_destroy(made.names);
    assert_int_equal(tsmith_trace_split(folder.whole, folder.pattern, NULL, &result, NULL), TSMITH_OK);
    assert_int_equal(result.files, 2);
    assert_int_equal(result.events, 2 + 2);
    static const char *const files[] = {"0", "norank", "whole"};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(unlink(part_of(&folder, files[i])), 0);
    assert_int_equal(rmdir(folder.path), 0);
}

static void count_file(void *context, const char *path, uint64_t events) {
    uint64_t *sum = context;
    *sum += events;
    assert_int_equal(unlink(path), 0);
}

static void a_process_has_its_own(void **state) {
    (void)state;
    struct folder folder = make_folder("%p");
    uint64_t sum = 0;
    const tsmith_split_options options = {.size = sizeof options, .written = count_file, .context = &sum};
    tsmith_split_result result = {.size = sizeof result};
    write_trace(folder.whole, true);
    assert_int_equal(tsmith_trace_split(folder.whole, folder.pattern, &options, &result, NULL), TSMITH_OK);
    assert_int_equal(result.files, 6);
    assert_int_equal(result.events, sum);
    assert_int_equal(sum, 6 + 6);
    assert_int_equal(unlink(folder.whole), 0);
    assert_int_equal(rmdir(folder.path), 0); // nothing else was written
}

struct listed {
    const char *folder;
    char names[256];
};

static void list_file(void *context, const char *path, uint64_t events) {
    struct listed *listed = context;
    (void)events;
    const size_t length = strlen(listed->names);
    assert_memory_equal(path, listed->folder, strlen(listed->folder));
    (void)snprintf(listed->names + length, sizeof listed->names - length, "%s;",
                   path + strlen(listed->folder) + 1);
    assert_int_equal(unlink(path), 0);
}

static void write_processes(const char *path, const tsmith_process *processes, size_t count,
                            const char *const *hosts, const uint32_t *ranks) {
    struct made made = {0};
    assert_int_equal(tsmith_dictionary_create(&made.names), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&made.batch), TSMITH_OK);
    assert_int_equal(tsmith_sbt_writer_open(path, NULL, &made.sink, NULL), TSMITH_OK);
    made.field = tsmith_dictionary_field(made.names, "answer", TSMITH_TYPE_U64, NULL);
    tsmith_dictionary_set_attribute(made.names, "host", "of the/trace");
    for (size_t i = 0; i < count; i++) {
        tsmith_process process = processes[i];
        process.host = hosts[i] ? text(&made, hosts[i]) : 0;
        const uint32_t id = tsmith_dictionary_add_process(made.names, &process);
        (void)tsmith_dictionary_add_rank(made.names,
                                         &(tsmith_rank){.process = id, .rank = ranks[i], .world = WORLD});
        const tsmith_track track = {.kind = TSMITH_TRACK_THREAD, .process = id, .tid = process.pid};
        write_event(&made, tsmith_dictionary_add_track(made.names, &track), TSMITH_KIND_RANGE, 1, "range", 0,
                    i);
    }
    assert_int_equal(tsmith_sink_finish(made.sink, made.names, NULL), TSMITH_OK);
    tsmith_sink_destroy(made.sink);
    tsmith_batch_destroy(made.batch);
    tsmith_dictionary_destroy(made.names);
}

// A process id of 0 is 0, and a host is the process's, else the trace's, without what has a meaning in a path.
static void names_are_of_the_trace(void **state) {
    (void)state;
    struct folder folder = make_folder("%h.%r.%p");
    static const tsmith_process processes[] = {{.pid = 0}, {.pid = 7}, {.pid = 8}};
    static const char *const hosts[] = {NULL, "../node-1.b", "n2"};
    static const uint32_t ranks[] = {1, 2, 3};
    struct listed listed = {.folder = folder.path};
    const tsmith_split_options options = {.size = sizeof options, .written = list_file, .context = &listed};
    write_processes(folder.whole, processes, 3, hosts, ranks);
    assert_int_equal(tsmith_trace_split(folder.whole, folder.pattern, &options, NULL, NULL), TSMITH_OK);
    assert_string_equal(listed.names, "of_the_trace.0.0;_._node-1.b.1.7;n2.2.8;");
    assert_int_equal(unlink(folder.whole), 0);
    assert_int_equal(rmdir(folder.path), 0);
}

// Process 23 of rank 1 and process 3 of rank 12.
static void two_files_have_two_names(void **state) {
    (void)state;
    struct folder folder = make_folder("%r%p");
    static const tsmith_process processes[] = {{.pid = 23}, {.pid = 3}, {.pid = 4}};
    static const char *const hosts[3] = {NULL};
    static const uint32_t ranks[] = {2, 13, 1};
    struct listed listed = {.folder = folder.path};
    const tsmith_split_options options = {.size = sizeof options, .written = list_file, .context = &listed};
    tsmith_error error;
    write_processes(folder.whole, processes, 3, hosts, ranks);
    assert_int_equal(tsmith_trace_split(folder.whole, folder.pattern, &options, NULL, &error),
                     TSMITH_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "two files would have the name"));
    assert_non_null(strstr(error.message, "/123"));
    assert_string_equal(listed.names, "");
    (void)snprintf(folder.pattern, sizeof folder.pattern, "%s/%%r-%%p", folder.path);
    assert_int_equal(tsmith_trace_split(folder.whole, folder.pattern, &options, NULL, NULL), TSMITH_OK);
    assert_string_equal(listed.names, "0-4;1-23;12-3;");
    assert_int_equal(unlink(folder.whole), 0);
    assert_int_equal(rmdir(folder.path), 0); // the refused split wrote nothing
}

// What does not fit into the list is left out to its end, also where a shorter item would fit.
static void a_long_list_ends_once(void **state) {
    (void)state;
    struct folder folder = make_folder("%r");
    tsmith_process processes[20] = {{.pid = 1}};
    static const char *const hosts[20] = {NULL};
    uint32_t ranks[20] = {1, 4};
    struct listed listed = {.folder = folder.path};
    const tsmith_split_options options = {.size = sizeof options, .written = list_file, .context = &listed};
    tsmith_split_result result = {.size = sizeof result};
    // "1-2, 4-99999", then ranges of 15 bytes with their comma until none fits, then one number of 8, for which there is room.
    for (uint32_t i = 0; i <= 16; i++)
        ranks[2 + i] = 100001 + 10 * i;
    ranks[19] = ranks[18] + 2;
    for (uint32_t i = 0; i < 20; i++)
        processes[i].pid = i + 1;
    write_processes(folder.whole, processes, 20, hosts, ranks);
    assert_int_equal(tsmith_trace_split(folder.whole, folder.pattern, &options, &result, NULL), TSMITH_OK);
    const char *more = strstr(result.missing_ranks, ", ...");
    assert_non_null(more);
    assert_string_equal(more, ", ...");
    assert_int_equal(unlink(folder.whole), 0);
    assert_int_equal(rmdir(folder.path), 0);
}

static void refuses(const char *pattern, tsmith_status wanted, const char *said) {
    struct folder folder = make_folder(pattern);
    tsmith_error error;
    write_trace(folder.whole, true);
    assert_int_equal(tsmith_trace_split(folder.whole, folder.pattern, NULL, NULL, &error), wanted);
    assert_non_null(strstr(error.message, said));
    assert_int_equal(unlink(folder.whole), 0);
    assert_int_equal(rmdir(folder.path), 0);
}

static void bad_patterns_write_nothing(void **state) {
    (void)state;
    refuses("x", TSMITH_ERROR_INVALID_ARGUMENT, "neither %r");
    refuses("%%r", TSMITH_ERROR_INVALID_ARGUMENT, "neither %r");
    refuses("%r.%q", TSMITH_ERROR_INVALID_ARGUMENT, "%q");
    refuses("%r%", TSMITH_ERROR_INVALID_ARGUMENT, "percent");
    refuses("none/%r", TSMITH_ERROR_NOT_FOUND, "none/0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_has_its_own),
        cmocka_unit_test(a_silent_launcher_has_no_file),
        cmocka_unit_test(references_to_nothing_are_harmless),
        cmocka_unit_test(a_process_has_its_own),
        cmocka_unit_test(names_are_of_the_trace),
        cmocka_unit_test(two_files_have_two_names),
        cmocka_unit_test(a_long_list_ends_once),
        cmocka_unit_test(bad_patterns_write_nothing),
    };
    return cmocka_run_group_tests_name("split", tests, NULL, NULL);
}
