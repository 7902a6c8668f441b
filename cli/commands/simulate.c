// SPDX-License-Identifier: Apache-2.0
// `tracesmith simulate`: how long a trace would take if something were different.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/options/quantity.h"
#include "cli/present/terminal.h"
#include "tracesmith/plan.h"
#include "tracesmith/simulate.h"

enum {
    STREAMS_MOST = 4096,
    SCALES_MOST = 32,
    STEPS_MOST = 1000,
    STEPS = 10,
    PARTS_MOST = 12,
    NAMES_MOST = 16,
    RATIOS = 2,
    CONTINUED = 4 // spaces before what a line has no room for
};
static const double ERROR_MOST = 0.05;       // of the model, for an answer without --force
static const double UNEXPLAINED_MUCH = 0.25; // of the time: the answer states it

// A factor, or a sweep of them.
struct scale {
    tsmith_change_kind kind;
    char *name;
    double from, to;
};

struct simulate {
    const struct invocation *invocation;
    struct trace trace;
    tsmith_timeline *timeline;
    tsmith_graph *graph;
    tsmith_simulation *simulation;
    const tsmith_simulation_model *model;
    struct scale scales[SCALES_MOST];
    size_t scale_count;
    bool sweeps;
    uint64_t steps;
    double ratios[RATIOS]; // of arithmetic and bandwidth; 0: not asked for
    int64_t graph_time;    // < 0: not asked for
    uint64_t streams;      // 0: not asked for
    tsmith_needs needs;
    tsmith_simulation_options options;
    int32_t *priorities;
    uint64_t affected;
    bool changes, asked; // something of the trace; that or a policy
    const char *after;   // the trace of the changed program; NULL: not given
    int64_t after_time;  // ns, as its model's recorded time
};

// ---- what was asked

static bool read_factor(const char *word, size_t length, double *out) {
    char number[32];
    char *end;
    if (!length || length >= sizeof number)
        return false;
    memcpy(number, word, length);
    number[length] = 0;
    *out = strtod(number, &end);
    return !*end && isfinite(*out) && *out >= 0;
}

// FACTOR, FROM..TO or FROM..TO/STEPS
static bool read_factors(struct simulate *simulate, struct scale *scale, const char *word) {
    const char *dots = strstr(word, "..");
    uint64_t steps = STEPS;
    if (!dots)
        return read_factor(word, strlen(word), &scale->from) && ((scale->to = scale->from), true);
    const char *slash = strchr(dots, '/');
    const size_t length = slash ? (size_t)(slash - dots) - 2 : strlen(dots + 2);
    if (slash && (!quantity_count(slash + 1, &steps) || !steps || steps > STEPS_MOST))
        return false;
    simulate->steps = simulate->sweeps && steps < simulate->steps ? simulate->steps : steps;
    simulate->sweeps = true;
    return read_factor(word, (size_t)(dots - word), &scale->from) &&
           read_factor(dots + 2, length, &scale->to);
}

static bool read_scale(struct simulate *simulate, const char *word) {
    static const struct {
        const char *name;
        tsmith_change_kind kind;
    } WHATS[] = {{"kernel", TSMITH_CHANGE_SCALE_KERNEL},
                 {"copy", TSMITH_CHANGE_SCALE_COPY},
                 {"call", TSMITH_CHANGE_SCALE_CALL},
                 {"host", TSMITH_CHANGE_SCALE_HOST}};
    const char *equals = strchr(word, '='), *colon = strrchr(word, ':');
    if (simulate->scale_count == SCALES_MOST) {
        complain("--scale may be given at most %d times", SCALES_MOST);
        return false;
    }
    struct scale *scale = &simulate->scales[simulate->scale_count];
    for (size_t i = 0; equals && colon && colon > equals + 1 && i < sizeof WHATS / sizeof *WHATS; i++) {
        if (strlen(WHATS[i].name) != (size_t)(equals - word) ||
            memcmp(word, WHATS[i].name, (size_t)(equals - word)) != 0)
            continue;
        scale->kind = WHATS[i].kind;
        if (!read_factors(simulate, scale, colon + 1))
            break;
        scale->name = strndup(equals + 1, (size_t)(colon - equals) - 1);
        simulate->scale_count++;
        return scale->name;
    }
    complain("--scale: '%s' is not WHAT=NAME:FACTOR: WHAT is kernel, copy, call or host, NAME may have * and "
             "?, FACTOR "
             "is a number (0.5), or a sweep (0.1..1/10)",
             word);
    return false;
}

static bool read_ratios(struct simulate *simulate, const char *word) {
    const char *colon = strchr(word, ':');
    const size_t first = colon ? (size_t)(colon - word) : strlen(word);
    const bool read =
        read_factor(word, first, &simulate->ratios[0]) &&
        read_factor(colon ? colon + 1 : word, colon ? strlen(colon + 1) : first, &simulate->ratios[1]);
    if (read && simulate->ratios[0] > 0 && simulate->ratios[1] > 0)
        return true;
    complain("--device-ratio: '%s' is not COMPUTE or COMPUTE:MEMORY, two numbers above 0", word);
    return false;
}

static bool read_options(struct simulate *simulate) {
    const struct invocation *invocation = simulate->invocation;
    const char *word, *graph = invocation_value(invocation, "graph"),
                      *streams = invocation_value(invocation, "streams"),
                      *ratios = invocation_value(invocation, "device-ratio"),
                      *policy = invocation_value(invocation, "policy");
    simulate->graph_time = -1;
    simulate->steps = 1;
    simulate->options = (tsmith_simulation_options){.size = sizeof simulate->options};
    for (size_t at = 0; (word = invocation_next(invocation, "scale", &at));)
        if (!read_scale(simulate, word))
            return false;
    if (graph && !quantity_time(graph, &simulate->graph_time)) {
        complain("--graph: '%s' is not a time such as 1us or 500ns", graph);
        return false;
    }
    if (streams && (!quantity_count(streams, &simulate->streams) || !simulate->streams ||
                    simulate->streams > STREAMS_MOST)) {
        complain("--streams: '%s' is not a number from 1 to %d", streams, STREAMS_MOST);
        return false;
    }
    if (ratios && !read_ratios(simulate, ratios))
        return false;
    for (int i = 0; policy && i < TSMITH_POLICY_LIMIT; i++)
        if (strcmp(policy, tsmith_policy_name((tsmith_policy)i)) == 0)
            simulate->options.policy = (tsmith_policy)i;
    if (invocation_value(invocation, "priority") && simulate->options.policy != TSMITH_POLICY_PRIORITY) {
        complain("--priority needs --policy priority");
        return false;
    }
    simulate->changes = simulate->scale_count || graph || ratios || streams ||
                        invocation_value(invocation, "drop-sync") || invocation_value(invocation, "fuse") ||
                        invocation_flag(invocation, "overlap-comm");
    simulate->asked = simulate->changes || policy;
    simulate->after = invocation_value(invocation, "after");
    if (simulate->after && (!simulate->asked || simulate->steps > 1)) {
        complain("--after needs a change to compare with, and no sweep");
        return false;
    }
    return true;
}

// ---- the model

static int fail(const tsmith_error *error) {
    complain("%s", error->message);
    return exit_code_of_input(error->status);
}

static void finish_model(struct simulate *simulate) {
    tsmith_simulation_destroy(simulate->simulation);
    tsmith_graph_destroy(simulate->graph);
    tsmith_timeline_destroy(simulate->timeline);
    trace_close(&simulate->trace);
}

static int make_model(struct simulate *simulate) {
    tsmith_source *source = NULL;
    tsmith_error error;
    tsmith_status status = tsmith_sbt_scan(simulate->trace.file, NULL, &source, &error);
    if (status == TSMITH_OK)
        status = tsmith_timeline_read(source, NULL, &simulate->timeline, &error);
    tsmith_source_destroy(source);
    if (status < 0)
        return fail(&error);
    status = tsmith_graph_create(simulate->timeline, simulate->trace.dictionary, &simulate->graph, &error);
    if (status == TSMITH_OK)
        status = tsmith_simulation_create(simulate->timeline, simulate->graph, simulate->trace.dictionary,
                                          &simulate->simulation, &error);
    if (status == TSMITH_ERROR_NOT_FOUND) {
        complain("%s: %s", simulate->trace.path, error.message);
        return EXIT_NO;
    }
    if (status != TSMITH_OK)
        return fail(&error);
    simulate->model = tsmith_simulation_get_model(simulate->simulation);
    return EXIT_DONE;
}

// The recorded time of the changed program, by the same definition as that of the trace.
static int find_after(struct simulate *simulate) {
    if (!simulate->after)
        return EXIT_DONE;
    struct simulate after = {.invocation = simulate->invocation};
    int code = trace_open(simulate->after, &after.trace);
    if (code == EXIT_DONE)
        code = make_model(&after);
    if (code == EXIT_DONE) {
        simulate->after_time = after.model->recorded;
        code = trace_report(&after.trace);
    }
    finish_model(&after);
    return code;
}

// What the commands need of each other: the recording knows.
static int find_needs(struct simulate *simulate) {
    tsmith_recording *recording;
    tsmith_plan *plan = NULL;
    tsmith_error error;
    if (!simulate->streams)
        return EXIT_DONE;
    tsmith_status status = tsmith_recording_open(simulate->trace.file, &recording, &error);
    if (status == TSMITH_OK)
        status = tsmith_plan_create(recording, &plan, &error);
    simulate->needs.size = sizeof simulate->needs;
    if (status == TSMITH_OK)
        status =
            tsmith_plan_needs(plan, simulate->timeline, simulate->trace.dictionary, &simulate->needs, &error);
    tsmith_plan_destroy(plan);
    tsmith_recording_close(recording);
    if (status == TSMITH_OK)
        return EXIT_DONE;
    complain("--streams: %s: %s", simulate->trace.path, error.message);
    return status == TSMITH_ERROR_NOT_FOUND ? EXIT_NO : exit_code_of_input(status);
}

// QUEUE=NUMBER for the rows of the timeline.
static bool set_priorities(struct simulate *simulate) {
    size_t rows, cursor = 0;
    const char *word;
    const tsmith_row *row = tsmith_timeline_rows(simulate->timeline, &rows);
    simulate->priorities = calloc(rows + 1, sizeof *simulate->priorities);
    simulate->options.priorities = simulate->priorities;
    while (simulate->priorities && (word = invocation_next(simulate->invocation, "priority", &cursor))) {
        const char *equals = strrchr(word, '=');
        char *end = NULL;
        const long number = equals ? strtol(equals + 1, &end, 10) : 0;
        bool found = false;
        if (!equals || end == equals + 1 || *end || number < INT32_MIN || number > INT32_MAX) {
            complain("--priority: '%s' is not QUEUE=NUMBER", word);
            return false;
        }
        char *pattern = strndup(word, (size_t)(equals - word));
        for (size_t i = 0; pattern && i < rows; i++) {
            struct text name = {0};
            trace_add_track_label(&name, simulate->trace.dictionary, row[i].track, 0, 0);
            if (tsmith_name_matches(pattern, text_cstr(&name))) {
                simulate->priorities[i] = (int32_t)number;
                found = true;
            }
            text_finish(&name);
        }
        free(pattern);
        if (!found) {
            complain("--priority: the trace has no queue '%.*s'", (int)(equals - word), word);
            return false;
        }
    }
    return simulate->priorities;
}

// ---- changes

static tsmith_status apply_change(struct simulate *simulate, const tsmith_change *asked,
                                  tsmith_error *error) {
    uint64_t affected = 0;
    const tsmith_status status = tsmith_simulation_change(simulate->simulation, asked, &affected, error);
    simulate->affected += affected;
    return status;
}

static tsmith_status change_scale(struct simulate *simulate, tsmith_change_kind kind, const char *name,
                                  double factor, tsmith_error *error) {
    const tsmith_change asked = {
        .size = sizeof asked, .kind = kind, .names = &name, .name_count = name ? 1 : 0, .factor = factor};
    return apply_change(simulate, &asked, error);
}

// NAME+NAME...
static tsmith_status change_fuse(struct simulate *simulate, const char *word, tsmith_error *error) {
    char *names[NAMES_MOST], *copy = strdup(word), *rest = copy;
    tsmith_change asked = {
        .size = sizeof asked, .kind = TSMITH_CHANGE_FUSE, .names = (const char *const *)names};
    while (rest && asked.name_count < NAMES_MOST)
        names[asked.name_count++] = strsep(&rest, "+");
    const tsmith_status status = apply_change(simulate, &asked, error);
    free(copy);
    return status;
}

// All that was asked, the sweep at `part` of its way (0..1), the device at `ratio`.
static tsmith_status apply_changes(struct simulate *simulate, double part, double ratio,
                                   tsmith_error *error) {
    const struct invocation *invocation = simulate->invocation;
    const char *word;
    simulate->affected = 0;
    tsmith_status status = TSMITH_OK;
    tsmith_simulation_reset(simulate->simulation);
    for (size_t i = 0; i < simulate->scale_count && status == TSMITH_OK; i++) {
        const struct scale *scale = &simulate->scales[i];
        status = change_scale(simulate, scale->kind, scale->name,
                              scale->from + part * (scale->to - scale->from), error);
    }
    if (status == TSMITH_OK && ratio > 0)
        status = change_scale(simulate, TSMITH_CHANGE_SCALE_KERNEL, NULL, 1 / ratio, error);
    if (status == TSMITH_OK && ratio > 0)
        status = change_scale(simulate, TSMITH_CHANGE_SCALE_COPY, NULL, 1 / simulate->ratios[1], error);
    for (size_t at = 0; status == TSMITH_OK && (word = invocation_next(invocation, "drop-sync", &at));)
        status = change_scale(simulate, TSMITH_CHANGE_DROP_SYNC, word, 1, error);
    for (size_t at = 0; status == TSMITH_OK && (word = invocation_next(invocation, "fuse", &at));)
        status = change_fuse(simulate, word, error);
    if (status == TSMITH_OK && simulate->graph_time >= 0) {
        const tsmith_change asked = {
            .size = sizeof asked, .kind = TSMITH_CHANGE_GRAPH, .time = simulate->graph_time};
        status = apply_change(simulate, &asked, error);
    }
    if (status == TSMITH_OK && invocation_flag(invocation, "overlap-comm")) {
        const tsmith_change asked = {.size = sizeof asked, .kind = TSMITH_CHANGE_OVERLAP_COMMUNICATION};
        status = apply_change(simulate, &asked, error);
    }
    if (status == TSMITH_OK && simulate->streams) {
        const tsmith_change asked = {.size = sizeof asked,
                                     .kind = TSMITH_CHANGE_STREAMS,
                                     .streams = (uint32_t)simulate->streams,
                                     .needs = simulate->needs.needs,
                                     .need_count = simulate->needs.count,
                                     .shares = simulate->needs.shares};
        status = apply_change(simulate, &asked, error);
    }
    return status;
}

static tsmith_status answer(struct simulate *simulate, double part, double ratio, tsmith_simulated *out,
                            tsmith_bounds *bounds, tsmith_error *error) {
    tsmith_status status = apply_changes(simulate, part, ratio, error);
    out->size = sizeof *out;
    bounds->size = sizeof *bounds;
    if (status == TSMITH_OK)
        status = tsmith_simulation_run(simulate->simulation, &simulate->options, out, error);
    return status == TSMITH_OK
               ? tsmith_simulation_bounds(simulate->simulation, &simulate->options, bounds, error)
               : status;
}

// ---- the answer

// Which kinds of distance the trace does not show.
static void add_uncalibrated(const struct simulate *simulate, struct text *text, const char *quote) {
    for (int kind = 0, any = 0; kind < TSMITH_EDGE_LIMIT; kind++)
        if (simulate->model->uncalibrated >> kind & 1)
            text_add_format(text, "%s%s%s%s", any++ ? (*quote ? "," : ", ") : "", quote,
                            tsmith_edge_kind_name((tsmith_edge_kind)kind), quote);
}

static void add_held_out_text(const tsmith_simulation_model *model, struct text *text) {
    if (model->held_out_error < 0) {
        text_add_cstr(text, "The accuracy of predictions could not be tested on this trace: ");
        if (model->held_out_recorded)
            text_add_format(text,
                            "only %.0f%% of the second half's time has a counterpart in the first half\n",
                            100 * model->held_out_covered);
        else
            text_add_cstr(text, "it has too few commands to hold out a half\n");
        return;
    }
    text_add_cstr(text, "Held out: the second half, predicted from the first, takes ");
    text_add_duration(text, model->held_out_predicted);
    text_add_cstr(text, "; recorded ");
    text_add_duration(text, model->held_out_recorded);
    text_add_format(text, " (%.1f%% off; %.0f%% of its time has a counterpart in the first half)\n",
                    100 * model->held_out_error, 100 * model->held_out_covered);
}

static void add_model_text(const struct simulate *simulate, struct text *text) {
    const tsmith_simulation_model *model = simulate->model;
    const size_t from = text->length;
    text_add_safe(text, text_string(simulate->trace.path), 0);
    text_add_cstr(text, ": ");
    text_add_duration(text, model->recorded);
    text_add_cstr(text, " recorded, ");
    text_add_duration(text, model->simulated);
    text_add_format(text, " simulated from the recorded durations (%.2f%% off, the median command %.2f%%)\n",
                    100 * model->error, 100 * model->median_start_error);
    add_held_out_text(model, text);
    if (model->unexplained) {
        text_add_duration(text, model->unexplained);
        text_add_cstr(text, " of it have no explanation in the trace and are kept as recorded");
        text_add_cstr(text, (double)model->unexplained > UNEXPLAINED_MUCH * (double)model->recorded
                                ? ", so no change shortens them: treat the answer with caution\n"
                                : "\n");
    }
    if (model->inferred)
        text_add_format(
            text,
            "%" PRIu64
            " %s on the way %s inferred, not recorded (docs/analyses.md); %.1f%% of the time rests on %s\n",
            model->inferred, plural(model->inferred, "dependency", "dependencies"),
            plural(model->inferred, "is", "are"),
            model->recorded > 0 ? 100 * (double)model->rests / (double)model->recorded : 0,
            plural(model->inferred, "it", "them"));
    if (model->uncalibrated && simulate->asked) {
        text_add_cstr(text, "Assumed to be 0, because it did not affect the duration of this trace: ");
        add_uncalibrated(simulate, text, "");
        text_add_cstr(text, ". The answer is a bound.\n");
    }
    text_wrap(text, from, CONTINUED, terminal_width());
}

static void add_times_text(const struct simulate *simulate, struct text *text, int64_t low, int64_t high) {
    const double before = (double)simulate->model->simulated;
    const double gain = before > 0 ? 1 - (double)high / before : 0,
                 best = before > 0 ? 1 - (double)low / before : 0;
    text_add_duration(text, low);
    if (high != low) {
        text_add_cstr(text, " to ");
        text_add_duration(text, high);
        if (gain >= 0)
            text_add_format(text, ", %.1f%% to %.1f%% less\n", 100 * gain, 100 * best);
        else if (best <= 0)
            text_add_format(text, ", %.1f%% to %.1f%% more\n", -100 * best, -100 * gain);
        else
            text_add_format(text, ", %.1f%% less to %.1f%% more\n", 100 * best, -100 * gain);
    } else {
        text_add_format(text, ", %.1f%% %s\n", 100 * fabs(gain), gain >= 0 ? "less" : "more");
    }
}

static void add_unknown_text(const tsmith_bounds *bounds, struct text *text) {
    if (bounds->untimed) {
        text_add_counted(text, bounds->untimed, "of the commands has", "of the commands have");
        text_add_cstr(text, " no times in the trace: the answer does not include their change\n");
    }
    if (!bounds->unknown_launches)
        return;
    text_add_counted(text, bounds->unknown_launches, "call", "calls");
    text_add_cstr(
        text, " would no longer follow a wait. The trace does not show the cost of such calls: the interval "
              "assumes 0 to the recorded cost\n");
}

static void add_parts_text(const struct simulate *simulate, struct text *text,
                           const tsmith_simulated *simulated) {
    // After the name come a time, a share and a count: 25 columns.
    enum { WHAT = 26, LEAST = 24, FIGURES = 25 };
    const size_t width = terminal_width(), rest = width > WHAT + 1 + FIGURES ? width - WHAT - 1 - FIGURES : 0,
                 name = rest < LEAST ? LEAST : rest;
    text_add_format(text, "\n%-*s      time share    count\n", (int)(WHAT + 1 + name),
                    "What decides how long it takes");
    for (size_t i = 0; i < simulated->part_count && i < PARTS_MOST; i++) {
        const tsmith_simulated_part *part = &simulated->parts[i];
        size_t from = text->length;
        text_add_format(text, "%-*s ", WHAT, part->what);
        size_t columns = text_add_safe(text, trace_string(&simulate->trace, part->name), name);
        text_pad_right(text, columns, name);
        from = text->length;
        text_add_duration(text, part->time);
        text_pad_left(text, from, 10);
        text_add_share(text, simulated->makespan > 0 ? (double)part->time / (double)simulated->makespan : 0);
        from = text->length;
        text_add_count(text, part->count);
        text_pad_left(text, from, 9);
        text_add_char(text, '\n');
    }
    if (simulated->part_count > PARTS_MOST)
        text_add_format(text, "... and %zu more; --json has all\n", simulated->part_count - PARTS_MOST);
}

static void add_parts_json(const struct simulate *simulate, struct text *text,
                           const tsmith_simulated *simulated) {
    text_add_cstr(text, ",\"path\":[");
    for (size_t i = 0; i < simulated->part_count; i++) {
        const tsmith_simulated_part *part = &simulated->parts[i];
        text_add_cstr(text, i ? ",{\"what\":" : "{\"what\":");
        text_add_json_cstr(text, part->what);
        text_add_cstr(text, ",\"name\":");
        text_add_json(text, trace_string(&simulate->trace, part->name));
        text_add_format(text, ",\"count\":%" PRIu64 ",\"time_ns\":%" PRId64 "}", part->count, part->time);
    }
    text_add_char(text, ']');
}

static void add_model_json(const struct simulate *simulate, struct text *text) {
    const tsmith_simulation_model *model = simulate->model;
    text_add_cstr(text, "{\"trace\":");
    text_add_json_cstr(text, simulate->trace.path);
    text_add_format(text, ",\"model\":{\"recorded_ns\":%" PRId64 ",\"simulated_ns\":%" PRId64 ",\"error\":",
                    model->recorded, model->simulated);
    text_add_f64(text, model->error);
    text_add_cstr(text, ",\"median_start_error\":");
    text_add_f64(text, model->median_start_error);
    text_add_cstr(text, ",\"held_out_error\":");
    if (model->held_out_error < 0)
        text_add_cstr(text, "null");
    else
        text_add_f64(text, model->held_out_error);
    text_add_cstr(text, ",\"held_out_covered\":");
    text_add_f64(text, model->held_out_covered);
    text_add_format(text, ",\"held_out_recorded_ns\":%" PRId64 ",\"held_out_predicted_ns\":%" PRId64,
                    model->held_out_recorded, model->held_out_predicted);
    text_add_format(text,
                    ",\"unexplained_ns\":%" PRId64 ",\"unexplained_delays\":%" PRIu64 ",\"inferred\":%" PRIu64
                    ",\"rests_on_inferred_ns\":%" PRId64 ",\"anchored\":%" PRIu64 ",\"circular\":%" PRIu64
                    ",\"exclusive_devices\":%" PRIu32 ",\"contended_devices\":%" PRIu32 "}",
                    model->unexplained, model->unexplained_count, model->inferred, model->rests,
                    model->anchored, model->circular, model->exclusive, model->contended);
    text->length--; // the model's members go on
    text_add_cstr(text, ",\"uncalibrated\":[");
    add_uncalibrated(simulate, text, "\"");
    text_add_cstr(text, "]}");
}

static void widen_interval(tsmith_interval *all, tsmith_interval by) {
    all->from = by.from < all->from ? by.from : all->from;
    all->to = by.to > all->to ? by.to : all->to;
}

// One point of the sweep, or all there is.
struct answered {
    double part;                // of the way of the sweep
    tsmith_simulated simulated; // of the last ratio
    tsmith_bounds bounds;       // likewise
    tsmith_interval point, interval,
        open;            // over both ratios: as simulated, with bounds, and with those of the trace alone
    int64_t unexplained; // much of the time, or 0
};

// Once, or for both ratios of a device.
static tsmith_status find_answer(struct simulate *simulate, uint64_t step, struct answered *found,
                                 tsmith_error *error) {
    const int runs = simulate->ratios[0] > 0 && simulate->ratios[0] != simulate->ratios[1] ? 2 : 1;
    const tsmith_interval none = {INT64_MAX, 0};
    *found = (struct answered){.point = none, .interval = none, .open = none};
    found->part = simulate->steps > 1 ? (double)step / (double)(simulate->steps - 1) : 0;
    for (int i = 0; i < runs; i++) {
        tsmith_simulated *simulated = &found->simulated;
        const tsmith_status status =
            answer(simulate, found->part, simulate->ratios[i], simulated, &found->bounds, error);
        if (status != TSMITH_OK)
            return status;
        const bool unsure = simulate->asked &&
                            (double)simulated->unexplained > UNEXPLAINED_MUCH * (double)simulated->makespan;
        const int64_t least = unsure ? simulated->least : simulated->makespan;
        if (unsure && simulated->unexplained > found->unexplained)
            found->unexplained = simulated->unexplained;
        widen_interval(&found->point, (tsmith_interval){least, simulated->makespan});
        widen_interval(&found->interval, (tsmith_interval){least, found->bounds.makespan.to});
        widen_interval(&found->interval, found->bounds.makespan);
        widen_interval(&found->open, (tsmith_interval){least, found->bounds.open.to});
        widen_interval(&found->open, found->bounds.open);
    }
    return TSMITH_OK;
}

static bool is_within(const struct simulate *simulate, const struct answered *found) {
    return simulate->after_time >= found->interval.from && simulate->after_time <= found->interval.to;
}

// If every call cost as much as recorded: the one figure that is compared.
static int64_t predicted_time(const struct answered *found) {
    return found->point.from + (found->point.to - found->point.from) / 2;
}

static double after_error(const struct simulate *simulate, const struct answered *found) {
    return simulate->after_time > 0 ? (double)predicted_time(found) / (double)simulate->after_time - 1 : 0;
}

static void add_after_text(const struct simulate *simulate, struct text *text, const struct answered *found) {
    const double error = after_error(simulate, found);
    text_add_safe(text, text_string(simulate->after), 0);
    text_add_cstr(text, ": ");
    text_add_duration(text, simulate->after_time);
    text_add_format(text, " recorded with the change, %s the predicted interval; ",
                    is_within(simulate, found) ? "within" : "outside");
    text_add_duration(text, predicted_time(found));
    text_add_format(text, " is %.1f%% too %s\n", 100 * fabs(error), error < 0 ? "low" : "high");
}

static void add_answer_json(const struct simulate *simulate, struct text *text,
                            const struct answered *found) {
    text_add_cstr(text, "{\"factors\":[");
    for (size_t i = 0; i < simulate->scale_count; i++) {
        const struct scale *scale = &simulate->scales[i];
        text_add_cstr(text, i ? "," : "");
        text_add_f64(text, scale->from + found->part * (scale->to - scale->from));
    }
    text_add_format(text,
                    "],\"affected\":%" PRIu64 ",\"makespan_min_ns\":%" PRId64 ",\"makespan_max_ns\":%" PRId64
                    ",\"interval_ns\":[%" PRId64 ",%" PRId64 "],\"open_ns\":[%" PRId64 ",%" PRId64
                    "],\"unknown_launches\":%" PRIu64 ",\"untimed\":%" PRIu64 ",\"device_busy_ns\":%" PRId64
                    ",\"choices\":%" PRIu64,
                    simulate->affected, found->point.from, found->point.to, found->interval.from,
                    found->interval.to, found->open.from, found->open.to, found->bounds.unknown_launches,
                    found->bounds.untimed, found->simulated.device_busy, found->simulated.choices);
    if (simulate->after) {
        text_add_cstr(text, ",\"after\":{\"trace\":");
        text_add_json_cstr(text, simulate->after);
        text_add_format(text, ",\"recorded_ns\":%" PRId64 ",\"within\":%s,\"error\":", simulate->after_time,
                        is_within(simulate, found) ? "true" : "false");
        text_add_f64(text, after_error(simulate, found));
        text_add_char(text, '}');
    }
    add_parts_json(simulate, text, &found->simulated);
    text_add_char(text, '}');
}

static void add_answer_text(const struct simulate *simulate, struct text *text,
                            const struct answered *found) {
    if (simulate->steps > 1) {
        const struct scale *scale = simulate->scales;
        text_add_format(text, "%8.3g  ", scale->from + found->part * (scale->to - scale->from));
        add_times_text(simulate, text, found->interval.from, found->interval.to);
        return;
    }
    const size_t from = text->length;
    if (simulate->asked) {
        text_add_cstr(text, "With the change (");
        text_add_counted(text, simulate->affected, "command or call", "commands and calls");
        text_add_cstr(text, " concerned): ");
        add_times_text(simulate, text, found->interval.from, found->interval.to);
        add_unknown_text(&found->bounds, text);
        text_add_cstr(text, "If every call cost as much as recorded: ");
        add_times_text(simulate, text, found->point.from, found->point.to);
        if (found->unexplained) {
            text_add_cstr(text, "The trace does not explain ");
            text_add_duration(text, found->unexplained);
            text_add_cstr(text, " of delays on the way: the range is with and without them\n");
        }
        if (simulate->after)
            add_after_text(simulate, text, found);
    }
    text_wrap(text, from, CONTINUED, terminal_width());
    add_parts_text(simulate, text, &found->simulated);
}

static int write_answers(struct simulate *simulate, struct text *text, bool json) {
    tsmith_error error;
    if (json)
        text_add_cstr(text, ",\"answers\":[");
    for (uint64_t step = 0; step < simulate->steps; step++) {
        struct answered found;
        const tsmith_status status = find_answer(simulate, step, &found, &error);
        if (status != TSMITH_OK)
            return fail(&error);
        if (json && step)
            text_add_char(text, ',');
        (json ? add_answer_json : add_answer_text)(simulate, text, &found);
        if (!step && simulate->changes && !simulate->affected) {
            complain("the change applies to nothing in the trace");
            return EXIT_NO;
        }
    }
    text_add_cstr(text, json ? "]}\n" : "");
    output_text(text);
    return trace_report(&simulate->trace);
}

static int run(struct simulate *simulate, struct text *text) {
    const bool json = invocation_flag(simulate->invocation, "json");
    int code = trace_open(simulate->invocation->operands[0], &simulate->trace);
    if (code == EXIT_DONE && trace_refuses_sums(&simulate->trace, "a simulation"))
        code = EXIT_NO;
    if (code == EXIT_DONE)
        code = make_model(simulate);
    if (code == EXIT_DONE)
        code = find_needs(simulate);
    if (code == EXIT_DONE)
        code = find_after(simulate);
    if (code != EXIT_DONE)
        return code;
    if (!set_priorities(simulate))
        return EXIT_USAGE;
    json ? add_model_json(simulate, text) : add_model_text(simulate, text);
    if (simulate->model->error > ERROR_MOST && !invocation_flag(simulate->invocation, "force")) {
        text_add_cstr(text, json ? "}\n" : "");
        output_text(text);
        complain(
            "the model's error on this trace is too large for an answer (%.1f%%); --force prints one anyway",
            100 * simulate->model->error);
        return EXIT_NO;
    }
    return write_answers(simulate, text, json);
}

int command_simulate(const struct invocation *invocation) {
    struct simulate simulate = {.invocation = invocation};
    struct text text = {0};
    int code = read_options(&simulate) ? run(&simulate, &text) : EXIT_USAGE;
    text_finish(&text);
    finish_model(&simulate);
    free(simulate.priorities);
    tsmith_needs_finish(&simulate.needs);
    for (size_t i = 0; i < simulate.scale_count; i++)
        free(simulate.scales[i].name);
    return code;
}
