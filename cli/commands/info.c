// SPDX-License-Identifier: Apache-2.0
// `tracesmith info`: what a trace holds, from its summary and its tables; no event is decoded. What is in the tables is
// shown at once; whether the file is whole, and its totals, only after every frame's checksum was verified.
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/present/terminal.h"
#include "devices_topology.h"
#include "tracesmith/graph.h"
#include "tracesmith/replay.h"
#include "tracesmith/sbt.h"

enum { ROWS_MOST = 24, LABEL_COLUMNS = 14, NAME_COLUMNS = 24, WIDTH_USUAL = 80 };

#define BOLD "\x1b[1m"
#define RED "\x1b[31m"
#define PLAIN "\x1b[0m"

static double bytes_per_event(const struct trace *trace) {
    return trace->summary.events ? (double)trace_bytes(trace) / (double)trace->summary.events : 0;
}

// ---- call stacks

// Frames that have a name.
static uint32_t count_named(const tsmith_dictionary *dictionary) {
    uint32_t named = 0, last = 0;
    for (uint32_t id = 1; id < tsmith_dictionary_symbol_count(dictionary); id++) {
        uint32_t frame = tsmith_dictionary_symbol(dictionary, id)->frame; // the rows of one follow each other
        named += frame != last;
        last = frame;
    }
    return named;
}

// ---- clocks

// What is known of one clock: how often it was compared with the trace clock, and how well.
struct clock_bounds {
    uint64_t pairs;
    int64_t worst, best; // error bounds, ns
};

static struct clock_bounds *measure_clocks(const tsmith_dictionary *dictionary) {
    uint32_t count = tsmith_dictionary_clock_count(dictionary);
    struct clock_bounds *bounds = calloc((size_t)count + 1, sizeof *bounds);
    for (uint32_t i = 1; bounds && i < tsmith_dictionary_clock_pair_count(dictionary); i++) {
        const tsmith_clock_pair *pair = tsmith_dictionary_clock_pair(dictionary, i);
        if (pair->clock >= count)
            continue;
        struct clock_bounds *clock = &bounds[pair->clock];
        clock->worst = !clock->pairs || pair->error > clock->worst ? pair->error : clock->worst;
        clock->best = !clock->pairs || pair->error < clock->best ? pair->error : clock->best;
        clock->pairs++;
    }
    return bounds;
}

// ---- JSON

static void add_json_clocks(struct text *text, const struct trace *trace) {
    const tsmith_dictionary *dictionary = trace->dictionary;
    struct clock_bounds *bounds = measure_clocks(dictionary);
    text_add_cstr(text, "\"clocks\":[");
    for (uint32_t id = 1; bounds && id < tsmith_dictionary_clock_count(dictionary); id++) {
        const tsmith_clock *clock = tsmith_dictionary_clock(dictionary, id);
        text_add_format(text, "%s{\"id\":%u,\"name\":", id > 1 ? ",\n" : "\n", id);
        text_add_json(text, trace_string(trace, clock->name));
        text_add_format(text, ",\"process\":%u,\"device\":%u,\"pairs\":%" PRIu64, clock->process,
                        clock->device, bounds[id].pairs);
        if (bounds[id].pairs && !bounds[id].worst)
            text_add_cstr(text, ",\"error_ns\":null"); // not stated: no reading is exact
        else if (bounds[id].pairs)
            text_add_format(text, ",\"error_ns\":{\"least\":%" PRId64 ",\"most\":%" PRId64 "}",
                            bounds[id].best, bounds[id].worst);
        text_add_char(text, '}');
    }
    text_add_char(text, ']');
    free(bounds);
}

static void add_json_attributes(struct text *text, const struct trace *trace) {
    text_add_cstr(text, "\"attributes\":[");
    for (uint32_t id = 1; id < tsmith_dictionary_attribute_count(trace->dictionary); id++) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(trace->dictionary, id);
        text_add_cstr(text, id > 1 ? ",\n{\"key\":" : "\n{\"key\":");
        text_add_json(text, trace_string(trace, attribute->key));
        text_add_cstr(text, ",\"value\":");
        text_add_json(text, trace_string(trace, attribute->value));
        text_add_char(text, '}');
    }
    text_add_char(text, ']');
}

// A fact about the trace under a name of its own; null if the trace does not have it.
static void add_json_fact(struct text *text, const struct trace *trace, const char *member, const char *key) {
    tsmith_string value = tsmith_dictionary_find_attribute(trace->dictionary, key);
    text_add_format(text, "\"%s\":", member);
    if (value.bytes)
        text_add_json(text, value);
    else
        text_add_cstr(text, "null");
    text_add_cstr(text, ",");
}

static void add_json_parts(struct text *text, const struct trace *trace) {
    const uint32_t count = tsmith_dictionary_part_count(trace->dictionary);
    text_add_cstr(text, "\"parts\":[");
    for (uint32_t id = 1; id < count; id++) {
        const tsmith_part *part = tsmith_dictionary_part(trace->dictionary, id);
        text_add_format(text, "%s{\"id\":%" PRIu32 ",\"name\":", id > 1 ? ",\n" : "\n", id);
        text_add_json(text, trace_string(trace, part->name));
        text_add_cstr(text, ",\"host\":");
        text_add_json(text, trace_string(trace, part->host));
        text_add_format(text,
                        ",\"first_process\":%" PRIu32 ",\"processes\":%" PRIu32 ",\"wall_clock\":%" PRIu32,
                        part->first_process, part->process_count, part->wall_clock);
        if (part->relation != TSMITH_RELATION_UNKNOWN)
            text_add_format(text, ",\"relation\":\"%s\",\"clock_offset_ns\":%" PRId64,
                            part->relation == TSMITH_RELATION_SAME_CLOCK ? "same_clock"
                            : part->relation == TSMITH_RELATION_COMPARED ? "compared"
                                                                         : "wall_clock",
                            part->offset);
        else
            text_add_cstr(text, ",\"relation\":null,\"clock_offset_ns\":null");
        if (part->error >= 0)
            text_add_format(text, ",\"clock_error_ns\":%" PRId64 "}", part->error);
        else
            text_add_cstr(text, ",\"clock_error_ns\":null}");
    }
    text_add_cstr(text, "],\n");
}

// Checks every frame, so that "complete" is reliable.
static int verify(struct trace *trace, bool quick) {
    tsmith_error error;
    tsmith_status status =
        quick || trace_is_foreign(trace) ? TSMITH_OK : tsmith_sbt_verify(trace->file, &error);
    if (status < 0)
        complain("%s", error.message);
    trace_refresh(trace);
    return exit_code_of_input(status);
}

static int write_json(struct trace *trace, bool quick) {
    struct text text = {0};
    const tsmith_sbt_summary *summary = &trace->summary;
    bool first = true;
    text_add_char(&text, '{');
    add_json_fact(&text, trace, "command", "command");
    add_json_fact(&text, trace, "host", "host");
    add_json_fact(&text, trace, "tool_version", "tool.version");
    const tsmith_rank rank = tsmith_dictionary_find_rank(trace->dictionary, 0);
    trace_add_json_rank(&text, trace, &rank);
    text_add_cstr(&text, ",\n");
    add_json_attributes(&text, trace);
    text_add_cstr(&text, ",\n");
    add_json_parts(&text, trace);
    trace_add_json_tables(&text, trace);
    text_add_cstr(&text, ",\n");
    add_json_clocks(&text, trace);
    text_add_format(&text,
                    ",\n\"stacks\":{\"paths\":%" PRIu32 ",\"frames\":%" PRIu32 ",\"frames_named\":%" PRIu32
                    ",\"modules\":%" PRIu32 "}",
                    tsmith_dictionary_stack_count(trace->dictionary) - 1,
                    tsmith_dictionary_frame_count(trace->dictionary) - 1, count_named(trace->dictionary),
                    tsmith_dictionary_module_count(trace->dictionary) - 1);
    text_add_cstr(&text, ",\n");
    output_text(&text);
    int code = output_flush() ? verify(trace, quick) : EXIT_DONE;
    trace_add_json_head(&text, trace);
    text_add_format(&text, ",\"events\":%" PRIu64 ",\"kinds\":{", summary->events);
    for (int kind = 0; kind < TSMITH_KIND_LIMIT; kind++) {
        if (!summary->kinds[kind])
            continue;
        text_add_format(&text, "%s\"%s\":%" PRIu64, first ? "" : ",", trace_kind_name(kind),
                        summary->kinds[kind]);
        first = false;
    }
    text_add_cstr(&text, "},");
    if (trace_bytes(trace)) {
        text_add_format(&text, "\"bytes\":%" PRIu64 ",\"bytes_per_event\":", trace_bytes(trace));
        text_add_f64(&text, bytes_per_event(trace));
        text_add_char(&text, ',');
    }
    if (!trace_is_foreign(trace))
        text_add_format(&text, "\"frames\":%" PRIu64 ",\"verified\":%s,", summary->frames,
                        quick || code != EXIT_DONE ? "false" : "true");
    trace_add_json_state(&text, trace);
    text_add_cstr(&text, "}\n");
    output_text(&text);
    text_finish(&text);
    return code;
}

// ---- text

static void label(struct text *line, const char *name) {
    text_add_cstr(line, terminal_color() ? BOLD : "");
    text_add_cstr(line, name);
    text_add_cstr(line, terminal_color() ? PLAIN : "");
    text_pad_right(line, strlen(name), LABEL_COLUMNS);
}

static void end_line(struct text *line) {
    text_add_char(line, '\n');
    output_text(line);
}

static void write_fact(const struct trace *trace, const char *name, const char *key, const char *before) {
    struct text line = {0};
    tsmith_string value = tsmith_dictionary_find_attribute(trace->dictionary, key);
    if (value.length) {
        label(&line, name);
        text_add_cstr(&line, before);
        text_add_safe(&line, value, 0);
        end_line(&line);
    }
    text_finish(&line);
}

// Values that no column holds as the file has them, and the like.
static void write_import(const struct trace *trace) {
    struct text line = {0};
    struct import_count count;
    bool first = true;
    for (uint32_t at = 0; trace_import_count(trace, &at, &count); first = false) {
        label(&line, first ? "import" : "");
        text_add_format(&line, "%14.*s  ", (int)count.number.length, count.number.bytes); // all of its digits
        text_add_cstr(&line, count.what ? count.what : "");
        for (const char *key = count.key; !count.what && *key; key++)
            text_add_char(&line, isalnum((unsigned char)*key) ? *key : ' ');
        end_line(&line);
    }
    text_finish(&line);
}

static void write_notices(const struct trace *trace) {
    struct text line = {0};
    tsmith_string notice;
    for (uint32_t at = 0; trace_notice(trace->dictionary, &at, &notice);) {
        label(&line, "notice");
        text_add_safe(&line, notice, 0);
        end_line(&line);
    }
    text_finish(&line);
}

// What recording cost each process (--max-overhead): attributes "overhead.PID".
static void write_overheads(const struct trace *trace) {
    static const char prefix[] = "overhead.";
    const uint32_t count = tsmith_dictionary_attribute_count(trace->dictionary);
    struct text line = {0};
    for (uint32_t id = 1; id < count; id++) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(trace->dictionary, id);
        tsmith_string key = trace_string(trace, attribute->key);
        if (key.length < sizeof prefix || memcmp(key.bytes, prefix, sizeof prefix - 1) != 0)
            continue;
        tsmith_string last = tsmith_dictionary_find_attribute(trace->dictionary, key.bytes);
        if (last.bytes != trace_string(trace, attribute->value).bytes)
            continue; // repeated later
        label(&line, "cost");
        text_add_cstr(&line, "process ");
        text_add_safe(&line, (tsmith_string){key.bytes + sizeof prefix - 1, key.length - (sizeof prefix - 1)},
                      0);
        text_add_cstr(&line, ": ");
        text_add_safe(&line, last, 0);
        end_line(&line);
    }
    text_finish(&line);
}

// Which libcupti the CUDA agent used, and those that it tried before.
static void write_cupti(const struct trace *trace) {
    static const struct {
        const char *key, *words;
    } attributes[] = {{"cuda.cupti", ""}, {"cuda.cupti.refused", "not used: "}};
    struct text line = {0};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        const tsmith_string value = tsmith_dictionary_find_attribute(trace->dictionary, attributes[i].key);
        if (!value.length)
            continue;
        label(&line, "libcupti");
        text_add_cstr(&line, attributes[i].words);
        text_add_safe(&line, value, 0);
        end_line(&line);
    }
    text_finish(&line);
}

static void write_started(const struct trace *trace) {
    struct text line = {0};
    tsmith_string value = tsmith_dictionary_find_attribute(trace->dictionary, "wall_clock_start_ns");
    char date[64];
    struct tm parts;
    time_t seconds = value.length ? (time_t)(strtoll(value.bytes, NULL, 10) / 1000000000) : 0;
    if (seconds > 0 && localtime_r(&seconds, &parts) &&
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S %z", &parts)) {
        label(&line, "recorded");
        text_add_cstr(&line, date);
        end_line(&line);
    }
    text_finish(&line);
}

static void write_kinds(const struct trace *trace) {
    struct text line = {0};
    label(&line, "events");
    text_add_count(&line, trace->summary.events);
    end_line(&line);
    for (int kind = 0; kind < TSMITH_KIND_LIMIT; kind++) {
        if (!trace->summary.kinds[kind])
            continue;
        const char *name = trace_kind_name(kind);
        text_add_repeat(&line, ' ', LABEL_COLUMNS);
        size_t from = line.length;
        text_add_count(&line, trace->summary.kinds[kind]);
        text_pad_left(&line, from, 14);
        text_add_format(&line, "  %-14s %s", name, trace_kind_doc(kind));
        if (terminal_is_output())
            text_cut(&line, 0, terminal_width());
        end_line(&line);
    }
    text_finish(&line);
}

static void write_file(const struct trace *trace) {
    struct text line = {0};
    const tsmith_sbt_summary *summary = &trace->summary;
    label(&line, "file");
    enum { FACTS_COLUMNS = 48 };
    const size_t path_columns = text_add_safe(&line, text_string(trace->path), 0);
    if (terminal_is_output() && LABEL_COLUMNS + path_columns + FACTS_COLUMNS > terminal_width()) {
        end_line(&line);
        text_add_repeat(&line, ' ', LABEL_COLUMNS - 2); // the comma goes there
    }
    if (trace_is_foreign(trace))
        text_add_format(&line, ", %s", trace_format(trace));
    else
        text_add_format(&line, ", SBT %u.%u", summary->version_major, summary->version_minor);
    if (trace_bytes(trace)) {
        text_add_cstr(&line, ", ");
        text_add_bytes(&line, (double)trace_bytes(trace));
    }
    if (summary->events && trace_bytes(trace))
        text_add_format(&line, ", %.2f bytes per event", bytes_per_event(trace));
    end_line(&line);
    text_finish(&line);
}

static void write_state(const struct trace *trace, bool quick) {
    struct text line = {0};
    label(&line, "state");
    if (!trace->is_whole && terminal_color())
        text_add_cstr(&line, RED);
    text_add_cstr(&line, trace->is_whole                 ? "complete"
                         : trace->summary.damaged_frames ? "damaged: see below"
                                                         : "not complete: see below");
    if (!trace->is_whole && terminal_color())
        text_add_cstr(&line, PLAIN);
    if (trace->is_whole && !trace_is_foreign(trace))
        text_add_cstr(&line, quick ? " (its checksums were not verified)" : ", all checksums are correct");
    end_line(&line);
    text_finish(&line);
}

// What there is to replay; false when there is nothing.
static bool find_recording(const struct trace *trace, tsmith_recording_summary *out) {
    tsmith_recording *recording = NULL;
    *out = (tsmith_recording_summary){.size = sizeof *out};
    if (trace_is_foreign(trace) || tsmith_recording_open(trace->file, &recording, NULL) < 0)
        return false;
    tsmith_recording_summarize(recording, out);
    tsmith_recording_close(recording);
    return true;
}

static void write_recording(const struct trace *trace) {
    struct text line = {0};
    tsmith_recording_summary summary;
    if (find_recording(trace, &summary)) {
        label(&line, "recording");
        text_add_counted(&line, summary.commands, "command", "commands");
        text_add_cstr(&line, " with ");
        text_add_bytes(&line, (double)summary.chunk_bytes);
        text_add_cstr(&line, " of data, ");
        text_add_counted(&line, summary.checks, "result", "results");
        text_add_cstr(&line, " to compare (tracesmith replay)");
        end_line(&line);
    }
    text_finish(&line);
}

static void write_duration(const struct trace *trace) {
    struct text line = {0};
    label(&line, "duration");
    text_add_duration(&line, trace_duration(trace));
    text_add_cstr(&line, ", ");
    if (!trace_add_duty(&line, trace))
        line.length -= 2;
    end_line(&line);
    label(&line, "sums");
    if (trace_add_aggregate(&line, trace))
        end_line(&line);
    text_finish(&line);
}

static void write_lost(const struct trace *trace) {
    struct text line = {0};
    uint64_t total = trace_lost(trace);
    const struct losses losses = trace_uncounted_losses(trace);
    label(&line, "lost");
    if (total && terminal_color())
        text_add_cstr(&line, RED);
    if (total)
        text_add_count(&line, total);
    if (losses.uncounted)
        text_add_cstr(&line, total ? ", and an unknown number more: see 'tracesmith view -t loss'"
                                   : "an unknown number: see 'tracesmith view -t loss'");
    else if (losses.absent)
        text_add_format(&line, "%s; %s: see 'tracesmith view -t loss'", total ? "" : "no known loss",
                        losses_uncounted_text(&losses));
    else if (!total)
        text_add_cstr(&line, trace->is_whole                 ? "nothing"
                             : trace->summary.damaged_frames ? "nothing in the undamaged parts"
                                                             : "nothing up to where the file ends");
    if (total && terminal_color())
        text_add_cstr(&line, PLAIN);
    end_line(&line);
    for (int reason = 0; reason < TSMITH_REASON_LIMIT; reason++) {
        if (!trace->summary.lost[reason])
            continue;
        text_add_repeat(&line, ' ', LABEL_COLUMNS);
        size_t from = line.length;
        text_add_count(&line, trace->summary.lost[reason]);
        text_pad_left(&line, from, 14);
        text_add_format(&line, "  %-14s %s", trace_reason_name(reason), trace_reason_doc(reason));
        end_line(&line);
    }
    text_finish(&line);
}

static void write_timed(const struct trace *trace) {
    struct text line = {0};
    uint64_t timed, all;
    if (!trace_timed(trace, &timed, &all) || timed == all)
        return;
    label(&line, "timed");
    text_add_count(&line, timed);
    text_add_cstr(&line, " of ");
    text_add_count(&line, all);
    text_add_format(&line, " kernels and transfers (%.1f%%)", 100 * (double)timed / (double)all);
    end_line(&line);
    text_finish(&line);
}

static void add_rank(struct text *line, const struct trace *trace, const tsmith_rank *rank) {
    text_add_format(line, "rank %" PRIu32, rank->rank - 1);
    if (rank->world)
        text_add_format(line, " of %" PRIu32, rank->world);
    if (rank->local_rank)
        text_add_format(line, ", local rank %" PRIu32, rank->local_rank - 1);
    if (rank->node)
        text_add_format(line, ", node %" PRIu32, rank->node - 1);
    if (rank->launcher) {
        text_add_cstr(line, " (");
        text_add_safe(line, trace_string(trace, rank->launcher), 20);
        if (rank->job) {
            text_add_cstr(line, ", job ");
            text_add_safe(line, trace_string(trace, rank->job), 60);
        }
        text_add_char(line, ')');
    }
}

// Of the trace, if it is one rank's.
static void write_rank(const struct trace *trace) {
    const tsmith_rank rank = tsmith_dictionary_find_rank(trace->dictionary, 0);
    struct text line = {0};
    if (rank.rank) {
        label(&line, "rank");
        add_rank(&line, trace, &rank);
        end_line(&line);
    }
    text_finish(&line);
}

static void add_process(struct text *line, const struct trace *trace, uint32_t id) {
    const tsmith_process *process = tsmith_dictionary_process(trace->dictionary, id);
    text_add_format(line, "pid %" PRId64 "  ", (int64_t)process->pid);
    text_add_safe(line, trace_string(trace, process->name), 100);
    if (process->host) {
        text_add_cstr(line, " on ");
        text_add_safe(line, trace_string(trace, process->host), 40);
    }
    const tsmith_rank rank = tsmith_dictionary_find_rank(trace->dictionary, id);
    if (rank.rank && !tsmith_dictionary_find_rank(trace->dictionary, 0).rank) {
        text_add_cstr(line, ", ");
        add_rank(line, trace, &rank);
    }
}

static void add_fact(struct text *facts, const char *between, tsmith_string fact) {
    if (fact.length && facts->length)
        text_add_cstr(facts, between);
    text_add_safe(facts, fact, 20);
}

// By the API's own number, where it is known.
static void add_device_reference(struct text *line, const struct trace *trace, uint32_t id) {
    const tsmith_device *device = tsmith_dictionary_device(trace->dictionary, id);
    char room[TSMITH_LABEL_SIZE];
    if (device && device->number)
        text_add_format(line, "device %" PRIu32, device->number - 1);
    else
        text_add_safe(line, tsmith_device_name(trace->dictionary, id, room), 40);
}

static void add_device(struct text *line, const struct trace *trace, uint32_t id) {
    const tsmith_device *device = tsmith_dictionary_device(trace->dictionary, id);
    struct text facts = {0};
    tsmith_string name = trace_string(trace, device->name);
    text_add_safe(line, name.length ? name : text_string("unnamed"), 60);
    add_fact(&facts, "", trace_string(trace, device->api));
    add_fact(&facts, " ", trace_string(trace, device->type));
    if (device->compute_units)
        text_add_format(&facts, "%s%" PRIu32 " compute units", facts.length ? ", " : "",
                        device->compute_units);
    if (device->memory_bytes) {
        text_add_cstr(&facts, facts.length ? ", " : "");
        text_add_bytes(&facts, (double)device->memory_bytes);
    }
    if (facts.length)
        text_add_format(line, " (%s)", text_cstr(&facts));
    text_finish(&facts);
    text_add_cstr(line, "  ");
    text_add_safe(line, trace_string(trace, device->driver), 60);
}

static void add_track(struct text *line, const struct trace *trace, uint32_t id) {
    const tsmith_track *track = tsmith_dictionary_track(trace->dictionary, id);
    const char *kind = tsmith_track_kind_name((tsmith_track_kind)track->kind);
    const tsmith_process *process = tsmith_dictionary_process(trace->dictionary, track->process);
    // A wide terminal has room for long names.
    size_t width = NAME_COLUMNS + (terminal_width() - WIDTH_USUAL) / 2;
    text_pad_right(
        line,
        trace_add_track_label(line, trace->dictionary, id, TSMITH_LABEL_DEVICE | TSMITH_LABEL_PROCESS, width),
        width);
    text_add_format(line, "  %s", kind ? kind : "unknown");
    if (track->device) {
        text_add_cstr(line, " of ");
        add_device_reference(line, trace, track->device);
    }
    if (process)
        text_add_format(line, ", pid %" PRId64, (int64_t)process->pid);
    if (track->kind == TSMITH_TRACK_THREAD && track->tid)
        text_add_format(line, ", tid %" PRId64, (int64_t)track->tid);
    text_add_cstr(line, track->flags & TSMITH_TRACK_OUT_OF_ORDER ? ", out of order" : "");
    text_add_cstr(line, track->flags & TSMITH_TRACK_SIMULATED ? ", simulated" : "");
}

static void add_part(struct text *line, const struct trace *trace, uint32_t id) {
    const tsmith_part *part = tsmith_dictionary_part(trace->dictionary, id);
    text_add_safe(line, trace_string(trace, part->name), 100);
    if (part->host) {
        text_add_cstr(line, " on ");
        text_add_safe(line, trace_string(trace, part->host), 40);
    }
    if (part->relation == TSMITH_RELATION_UNKNOWN)
        text_add_cstr(line, ", its clock is in no known relation to that of part 1");
    if (part->relation != TSMITH_RELATION_WALL_CLOCK && part->relation != TSMITH_RELATION_COMPARED)
        return;
    text_add_cstr(line, ", its times ");
    text_add_char(line, part->offset < 0 ? '-' : '+');
    text_add_format(line, " %" PRIu64 " ns are times of part 1 ",
                    part->offset < 0 ? -(uint64_t)part->offset : (uint64_t)part->offset);
    if (part->relation == TSMITH_RELATION_COMPARED)
        text_add_format(line, "within %" PRId64 " ns, by probes, UTC or PTP", part->error);
    else
        text_add_cstr(line, "by the wall clocks, within an unknown bound");
}

// Kineto names a process for every possible GPU: one without a track has no data. NULL when there is no memory.
static bool *mark_processes(const tsmith_dictionary *dictionary) {
    uint32_t count = tsmith_dictionary_process_count(dictionary);
    bool *marks = calloc((size_t)count + 1, sizeof *marks);
    for (uint32_t id = 1; marks && id < tsmith_dictionary_track_count(dictionary); id++) {
        uint32_t process = tsmith_dictionary_track(dictionary, id)->process;
        if (process < count)
            marks[process] = true;
    }
    return marks;
}

// Those that are marked; all when `marks` is NULL.
static void write_table(const struct trace *trace, const char *name, uint32_t count, const bool *marks,
                        void (*add)(struct text *, const struct trace *, uint32_t)) {
    struct text line = {0};
    uint32_t shown = 0, id = 1;
    for (; id < count && shown < ROWS_MOST; id++) {
        if (marks && !marks[id])
            continue;
        if (!shown++)
            label(&line, name);
        else
            text_add_repeat(&line, ' ', LABEL_COLUMNS);
        const tsmith_device *device =
            add == add_device ? tsmith_dictionary_device(trace->dictionary, id) : NULL;
        const size_t from = line.length;
        text_add_format(&line, device && !device->number ? "-" : "%u", device ? device->number - 1 : id);
        text_pad_right(&line, line.length - from, count > 10 ? 4 : 3);
        add(&line, trace, id);
        end_line(&line);
    }
    if (shown && shown < count - 1)
        output_printf("%*s... and %" PRIu32 " more%s (--json has all)\n", LABEL_COLUMNS, "",
                      count - 1 - shown, marks && id == count ? " without tracks" : "");
    text_finish(&line);
}

static void write_topology(const struct trace *trace) {
    struct text line = {0};
    label(&line, "topology");
    if (topology_add_summary(&line, trace->dictionary))
        end_line(&line);
    text_finish(&line);
}

static void add_offset(struct text *line, int64_t offset) {
    if (offset == TSMITH_TIME_UNKNOWN) {
        text_add_cstr(line, "any");
        return;
    }
    text_add_char(line, offset < 0 ? '-' : '+');
    text_add_duration(line, offset < 0 ? -offset : offset);
}

static void write_device_clock(const struct trace *trace, const tsmith_row *row,
                               const tsmith_device_clock *clock) {
    struct text line = {0};
    const tsmith_device *device = tsmith_dictionary_device(trace->dictionary, row->dictionary_device);
    tsmith_string name = device ? trace_string(trace, device->name) : text_string("device");
    label(&line, "device clock");
    text_pad_right(&line, text_add_safe(&line, name, 40), 24);
    if (clock->state == TSMITH_CLOCK_CONTRADICTED) {
        text_add_cstr(&line, "no offset agrees with all launches and waits of the trace");
    } else {
        text_add_cstr(&line, "disagrees with the host's: placed by ");
        add_offset(&line, clock->offset);
        if (clock->drift != 0)
            text_add_format(&line, " %+.1f ns per ms", 1e6 * clock->drift);
        text_add_cstr(&line, " (");
        add_offset(&line, clock->low);
        text_add_cstr(&line, " to ");
        add_offset(&line, clock->high);
        text_add_format(&line, ", by %" PRIu64 " %s and %" PRIu64 " %s)", clock->launches,
                        plural(clock->launches, "launch", "launches"), clock->waits,
                        plural(clock->waits, "wait", "waits"));
    }
    end_line(&line);
    text_finish(&line);
}

// Clocks of devices that disagree with the host's, in traces of other profilers: their offset is in no other line.
static void write_device_clocks(const struct trace *trace) {
    tsmith_source *source = NULL;
    tsmith_timeline *timeline = NULL;
    tsmith_graph *graph = NULL;
    size_t count = 0, devices = 0;
    if (!trace_is_foreign(trace) || tsmith_sbt_scan(trace->file, NULL, &source, NULL) != TSMITH_OK)
        return;
    if (tsmith_timeline_read(source, NULL, &timeline, NULL) >= 0 &&
        tsmith_graph_create(timeline, trace->dictionary, &graph, NULL) == TSMITH_OK) {
        const tsmith_device_clock *clocks = tsmith_graph_clocks(graph, &count);
        const tsmith_row *rows = tsmith_timeline_devices(timeline, &devices);
        for (size_t i = 0; i < count && i < devices; i++)
            if (clocks[i].state != TSMITH_CLOCK_AS_RECORDED)
                write_device_clock(trace, &rows[i], &clocks[i]);
    }
    tsmith_graph_destroy(graph);
    tsmith_timeline_destroy(timeline);
    tsmith_source_destroy(source);
}

static void write_clocks(const struct trace *trace) {
    struct text line = {0};
    struct clock_bounds *bounds = measure_clocks(trace->dictionary);
    const uint32_t count = tsmith_dictionary_clock_count(trace->dictionary);
    for (uint32_t id = 1; bounds && id < count && id <= ROWS_MOST; id++) {
        const tsmith_clock *clock = tsmith_dictionary_clock(trace->dictionary, id);
        label(&line, id == 1 ? "clocks" : "");
        text_pad_right(&line, text_add_safe(&line, trace_string(trace, clock->name), 40), 24);
        text_add_cstr(&line, "  compared ");
        text_add_times(&line, bounds[id].pairs);
        if (bounds[id].pairs && !bounds[id].worst) {
            text_add_cstr(&line, ", within an unknown bound");
        } else if (bounds[id].pairs) {
            text_add_cstr(&line, ", known within ");
            text_add_duration(&line, bounds[id].best);
            if (bounds[id].worst >= 2 * bounds[id].best) {
                text_add_cstr(&line, ", at worst ");
                text_add_duration(&line, bounds[id].worst);
            }
        }
        if (clock->device)
            text_add_cstr(&line, "  (of "), add_device_reference(&line, trace, clock->device),
                text_add_char(&line, ')');
        end_line(&line);
    }
    text_finish(&line);
    free(bounds);
}

static void write_stacks(const struct trace *trace) {
    struct text line = {0};
    uint32_t stacks = tsmith_dictionary_stack_count(trace->dictionary) - 1,
             frames = tsmith_dictionary_frame_count(trace->dictionary) - 1,
             modules = tsmith_dictionary_module_count(trace->dictionary) - 1,
             named = count_named(trace->dictionary);
    if (!stacks)
        return;
    label(&line, "call stacks");
    text_add_counted(&line, stacks, "path", "paths");
    text_add_cstr(&line, " of ");
    text_add_counted(&line, frames, "frame", "frames");
    text_add_cstr(&line, " in ");
    text_add_counted(&line, modules, "module", "modules");
    if (named < frames) {
        text_add_cstr(&line, ", ");
        text_add_count(&line, frames - named);
        text_add_cstr(&line, " of them without a name");
    }
    end_line(&line);
    text_finish(&line);
}

static int write_text(struct trace *trace, bool quick) {
    const tsmith_dictionary *dictionary = trace->dictionary;
    bool *marks = mark_processes(dictionary);
    write_file(trace);
    write_fact(trace, "command", "command", "");
    write_fact(trace, "host", "host", "");
    write_rank(trace);
    write_fact(trace, "simulated", "simulated", "");
    write_notices(trace);
    write_cupti(trace);
    write_overheads(trace);
    write_started(trace);
    write_fact(trace, "recorded by", "tool.version", "TraceSmith ");
    tsmith_string origin = tsmith_dictionary_find_attribute(dictionary, "import.format");
    if (origin.length && strcmp(origin.bytes, trace_format(trace)) != 0)
        write_fact(trace, "imported from", "import.format", "");
    write_table(trace, "parts", tsmith_dictionary_part_count(dictionary), NULL, add_part);
    write_table(trace, "processes", tsmith_dictionary_process_count(dictionary), marks, add_process);
    write_table(trace, "devices", tsmith_dictionary_device_count(dictionary), NULL, add_device);
    write_topology(trace);
    write_table(trace, "tracks", tsmith_dictionary_track_count(dictionary), NULL, add_track);
    write_clocks(trace);
    if (!quick)
        write_device_clocks(trace);
    write_stacks(trace);
    free(marks);
    int code = output_flush() ? verify(trace, quick) : EXIT_DONE;
    write_duration(trace);
    write_kinds(trace);
    write_recording(trace);
    write_import(trace);
    write_lost(trace);
    write_timed(trace);
    write_state(trace, quick);
    return code;
}

int command_info(const struct invocation *invocation) {
    struct trace trace;
    bool quick = invocation_flag(invocation, "quick");
    int code = trace_open(invocation->operands[0], &trace);
    if (code != EXIT_DONE)
        return code;
    code = (invocation_flag(invocation, "json") ? write_json : write_text)(&trace, quick);
    if (code == EXIT_DONE && output_flush())
        code = trace_report(&trace);
    trace_close(&trace);
    return code;
}
