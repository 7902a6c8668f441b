// SPDX-License-Identifier: Apache-2.0
// Runs analyses over one stream: hands each its batches, builds what they share, collects the reports.
#include "analyze/analysis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "tracesmith/view.h"

static const struct analysis_kind *const KINDS[] = {
#define ANALYSIS_ROW(name) &analysis_##name,
    ANALYSES(ANALYSIS_ROW)
#undef ANALYSIS_ROW
};

enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

struct running {
    const struct analysis_kind *kind; // NULL: does not run
    bool asked;                       // its report is handed out
    void *state;
    struct report report;
};

struct tsmith_analysis {
    struct running running[KIND_COUNT];
    enum analysis_needs needs;
    bool needs_ranges;
    tsmith_frames *frames; // NULL: no analysis that runs reads them
    struct ranges ranges;
    struct gap_ranges gap_ranges;
    tsmith_timeline *timeline; // always there: window and holes come from it
    tsmith_graph *graph;
    tsmith_states *states;
    struct advice advice;
    uint64_t summed; // kernels and transfers that are in sums
    const char *const *skip;
    size_t skip_count;
    bool hide_interpreter;
    double peak_flops, peak_bytes;
    bool finished;
};

const char *tsmith_analysis_name(size_t index) {
    return index < KIND_COUNT ? KINDS[index]->name : NULL;
}

const char *tsmith_analysis_question(size_t index) {
    return index < KIND_COUNT ? KINDS[index]->question : NULL;
}

static tsmith_status no_such_name(const char *name, tsmith_error *error) {
    char names[400];
    size_t length = 0;
    for (size_t i = 0; i < KIND_COUNT && length < sizeof names; i++)
        length +=
            (size_t)snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "", KINDS[i]->name);
    return status_set(error, TSMITH_ERROR_NOT_FOUND, "Unknown analysis \"%.40s\"; available: %s.", name,
                      names);
}

static tsmith_status choose(tsmith_analysis *analysis, const tsmith_analysis_options *options,
                            tsmith_error *error) {
    bool advice = false; // then those run that advise
    bool needs_frames = false;
    for (size_t i = 0; options->names && i < options->name_count; i++) {
        size_t k = 0;
        while (k < KIND_COUNT && strcmp(KINDS[k]->name, options->names[i]) != 0)
            k++;
        if (k == KIND_COUNT)
            return no_such_name(options->names[i], error);
        analysis->running[k].asked = true;
        advice |= KINDS[k]->needs == NEEDS_ADVICE;
    }
    for (size_t i = 0; i < KIND_COUNT; i++) {
        struct running *running = &analysis->running[i];
        running->asked |= !options->names;
        if (!running->asked && !(advice && KINDS[i]->advises))
            continue;
        running->kind = KINDS[i];
        if (running->kind->needs > analysis->needs)
            analysis->needs = running->kind->needs;
        analysis->needs_ranges |= running->kind->ranges;
        needs_frames |= running->kind->frames;
        running->state = calloc(1, running->kind->state_size + 1);
        if (!running->state)
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating an analysis");
    }
    return needs_frames      ? tsmith_frames_create(options->frames, &analysis->frames, error)
           : options->frames ? tsmith_frames_check(options->frames, error)
                             : TSMITH_OK;
}

// Also 0: not stated.
static bool is_rate(double value) {
    return isfinite(value) && value >= 0;
}

tsmith_status tsmith_analysis_create(const tsmith_analysis_options *given, tsmith_analysis **out,
                                     tsmith_error *error) {
    tsmith_timeline_options window = {.size = sizeof window};
    tsmith_analysis_options options;
    tsmith_status status = sized_take(tsmith_analysis_options, given, &options, error);
    if (status != TSMITH_OK)
        return status;
    tsmith_analysis *analysis = calloc(1, sizeof *analysis);
    if (!analysis)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating an analysis");
    status = choose(analysis, &options, error);
    if (status == TSMITH_OK && !(is_rate(options.peak_flops) && is_rate(options.peak_bytes)))
        status = status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                            "A peak is not a number of operations or bytes per second.");
    analysis->skip = options.skip;
    analysis->skip_count = options.skip_count;
    analysis->hide_interpreter = options.hide_interpreter;
    analysis->peak_flops = options.peak_flops;
    analysis->peak_bytes = options.peak_bytes;
    if (options.has_window) {
        window.has_window = 1;
        window.from = options.from;
        window.to = options.to;
    }
    if (status == TSMITH_OK) {
        status = tsmith_timeline_create(&window, &analysis->timeline);
        if (status != TSMITH_OK)
            status_set(error, status, "The window of the analysis is empty: it ends before it begins.");
    }
    if (status != TSMITH_OK) {
        tsmith_analysis_destroy(analysis);
        return status;
    }
    analysis->timeline->ledger_only = analysis->needs == NEEDS_NOTHING;
    *out = analysis;
    return TSMITH_OK;
}

static void release(struct running *running) {
    if (running->state && running->kind->release)
        running->kind->release(running->state);
    free(running->state);
    running->state = NULL;
}

void tsmith_analysis_destroy(tsmith_analysis *analysis) {
    if (!analysis)
        return;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        release(&analysis->running[i]);
        report_finish(&analysis->running[i].report);
    }
    ranges_finish(&analysis->ranges);
    gap_ranges_finish(&analysis->gap_ranges);
    tsmith_frames_destroy(analysis->frames);
    tsmith_states_destroy(analysis->states);
    tsmith_graph_destroy(analysis->graph);
    tsmith_timeline_destroy(analysis->timeline);
    free(analysis);
}

static tsmith_status no_memory(const struct running *running, tsmith_status status, tsmith_error *error) {
    return status_set(error, status, "out of memory while running the analysis \"%s\"", running->kind->name);
}

bool tsmith_analysis_reads_sums(size_t index) {
    return index < KIND_COUNT && KINDS[index]->reads_sums;
}

// Those that take no batches get what a timeline has of them.
void tsmith_analysis_set_needs(const char *const *names, size_t count, tsmith_trace_options *options) {
    static const char *const arguments[] = {
#define FIELD_NAME(NAME, name) name,
        STATE_FIELD_TABLE(FIELD_NAME)
#undef FIELD_NAME
    };
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < KIND_COUNT && strcmp(KINDS[k]->name, names[i]) != 0)
            k++;
        if (k == KIND_COUNT || KINDS[k]->write || KINDS[k]->ranges || KINDS[k]->frames ||
            KINDS[k]->needs == NEEDS_ADVICE)
            return;
    }
    if (!count)
        return;
    options->arguments = arguments;
    options->argument_count = sizeof arguments / sizeof *arguments;
}

// How many kernels and transfers a batch has in sums.
static uint64_t summed_work(const tsmith_batch *batch) {
    static const uint32_t fields[] = {TSMITH_FIELD_KIND, TSMITH_FIELD_SUMMED, TSMITH_FIELD_COUNT};
    enum { KIND, SUMMED, COUNT, FIELDS };
    const uint32_t rows = tsmith_batch_count(batch);
    tsmith_view views[FIELDS];
    uint64_t sum = 0;
    tsmith_view_batch(batch, fields, FIELDS, views);
    const uint8_t *kinds = tsmith_view_every(&views[KIND]);
    if (!kinds || !memchr(kinds, TSMITH_KIND_SUM, rows))
        return 0;
    for (uint32_t row = 0; row < rows; row++) {
        const uint8_t kind = tsmith_view_word(&views[SUMMED], row);
        if (kinds[row] == TSMITH_KIND_SUM &&
            (kind == TSMITH_KIND_KERNEL || kind == TSMITH_KIND_MEMCPY || kind == TSMITH_KIND_MEMSET))
            sum += tsmith_view_u64_or(&views[COUNT], row, 0);
    }
    return sum;
}

tsmith_status tsmith_analysis_add(tsmith_analysis *analysis, const tsmith_dictionary *dictionary,
                                  const tsmith_batch *batch, tsmith_error *error) {
    analysis->summed += summed_work(batch);
    tsmith_status status = tsmith_timeline_add(analysis->timeline, dictionary, batch, error);
    if (status != TSMITH_OK)
        return status;
    if (analysis->needs_ranges && !ranges_add(&analysis->ranges, dictionary, batch))
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "out of memory while reading the ranges of the host");
    if (analysis->frames)
        status = tsmith_frames_add(analysis->frames, dictionary, batch, error);
    if (status != TSMITH_OK)
        return status;
    const tsmith_timeline_options *options = &analysis->timeline->options;
    const tsmith_interval window = {options->from, options->to};
    for (size_t i = 0; i < KIND_COUNT; i++) {
        struct running *running = &analysis->running[i];
        if (!running->kind || !running->kind->write)
            continue;
        status =
            running->kind->write(running->state, dictionary, batch, options->has_window ? &window : NULL);
        if (status != TSMITH_OK)
            return no_memory(running, status, error);
    }
    return TSMITH_OK;
}

tsmith_status tsmith_analysis_add_totals(tsmith_analysis *analysis, const tsmith_kernel_total *totals,
                                         size_t count, tsmith_interval window, tsmith_error *error) {
    struct running *takes = NULL;
    bool alone = !analysis->timeline->options.has_window && !analysis->timeline->any;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        struct running *running = &analysis->running[i];
        if (running->kind && running->kind->add_total)
            takes = running;
        else if (running->kind)
            alone = false;
    }
    if (!takes || !alone)
        return status_set(
            error, TSMITH_ERROR_STATE,
            "Totals can answer only \"kernels\", of the whole trace, before any event is added.");
    for (size_t i = 0; i < count; i++)
        if (!takes->kind->add_total(takes->state, &totals[i]))
            return no_memory(takes, TSMITH_ERROR_NO_MEMORY, error);
    analysis->timeline->window = window;
    analysis->timeline->any = true;
    return TSMITH_OK;
}

static const char *signed_duration(char text[REPORT_TEXT], int64_t time) {
    char length[REPORT_TEXT];
    if (time == TSMITH_TIME_UNKNOWN)
        return "any";
    (void)snprintf(text, REPORT_TEXT, "%s%s", time < 0 ? "-" : "+",
                   report_duration(length, time < 0 ? -time : time));
    return text;
}

// Which devices' times are not compared with the hosts' as they were recorded.
static void note_clocks(const struct analysis_context *context, struct report *report) {
    for (size_t i = 0; i < context->timeline->device_count; i++) {
        const tsmith_device_clock *clock = &context->graph->clocks[i];
        char name[REPORT_TEXT], offset[REPORT_TEXT], low[REPORT_TEXT], high[REPORT_TEXT], drift[REPORT_TEXT];
        const tsmith_device *device =
            tsmith_dictionary_device(context->dictionary, context->timeline->devices[i].dictionary_device);
        tsmith_string shown = tsmith_dictionary_string(context->dictionary, device ? device->name : 0);
        (void)snprintf(name, sizeof name, "device %zu", i);
        shown = shown.length ? shown : analysis_text(name);
        if (clock->state == TSMITH_CLOCK_CONTRADICTED)
            report_note(report,
                        "No offset of the clock of %.*s%s satisfies its %llu launches and %llu waits: its "
                        "times are compared with the host's as recorded, and may be wrong by as much.",
                        ANALYSIS_SHOWN(shown), (unsigned long long)clock->launches,
                        (unsigned long long)clock->waits);
        if (clock->state != TSMITH_CLOCK_PLACED)
            continue;
        *drift = 0;
        if (clock->drift != 0)
            (void)snprintf(drift, sizeof drift, " and %+.1f ns per ms", 1e6 * clock->drift);
        report_note(report,
                    "The clock of %.*s%s disagrees with the host's: its times are placed by %s%s for "
                    "comparisons (admissible: %s to %s, by %llu launches and %llu waits; %llu contradict "
                    "the others and are left out).",
                    ANALYSIS_SHOWN(shown), signed_duration(offset, clock->offset), drift,
                    signed_duration(low, clock->low), signed_duration(high, clock->high),
                    (unsigned long long)clock->launches, (unsigned long long)clock->waits,
                    (unsigned long long)clock->left_out);
    }
}

// What does not rest on when commands ran.
static bool needs_no_times(const struct analysis_kind *kind) {
    return kind == &analysis_memory || kind == &analysis_stalls;
}

// Most of the commands have times, or none has any: then nothing is advised.
static bool times_suffice(const tsmith_timeline *timeline) {
    return timeline->work - timeline->timed_work <= timeline->work / 20;
}

// No answer is better than the share of commands whose times are known. If no times are known, it reports only that,
// and how long host threads waited.
static void say_what_is_timed(const struct analysis_context *context, const struct analysis_kind *kind,
                              struct report *report) {
    const uint64_t work = context->timeline->work, timed = context->timeline->timed_work;
    const char *finding = report->public.finding ? report->public.finding : "";
    const bool advises = kind == &analysis_advice;
    if (timed == work || needs_no_times(kind))
        return;
    if ((timed == 0 && kind != &analysis_sync) || (advises && !times_suffice(context->timeline)))
        report_finding(report, "Times are known of %llu of %llu kernels and transfers: %s is not known.",
                       (unsigned long long)timed, (unsigned long long)work,
                       advises ? "what to fix first" : "what the devices did when");
    else
        report_finding(report, "%s Times are known of %llu of %llu kernels and transfers (%.1f%%).", finding,
                       (unsigned long long)timed, (unsigned long long)work,
                       100 * (double)timed / (double)work);
    report_note(report,
                "Times are known of %llu of %llu kernels and transfers (%.1f%%); every statement about time "
                "is based on those. The loss ledger has the reason (no_timing).",
                (unsigned long long)timed, (unsigned long long)work, 100 * (double)timed / (double)work);
}

// What is in sums alone has no time of its own, no order and no place among other work.
static void say_what_is_summed(const tsmith_analysis *analysis, const struct analysis_kind *kind,
                               struct report *report) {
    const uint64_t summed = analysis->summed, work = analysis->timeline->work;
    if (!summed)
        return;
    if (!kind->reads_sums && !work)
        report_finding(report,
                       "Not known: all %llu kernels and transfers are in sums (--aggregate), and this needs "
                       "single events. See sums, kernels and callsites.",
                       (unsigned long long)summed);
    else if (!kind->reads_sums)
        report_note(report,
                    "%llu kernels and transfers more are in sums (--aggregate), and are left out here.",
                    (unsigned long long)summed);
    else if (kind == &analysis_kernels || kind == &analysis_callsites)
        report_note(report, "%llu kernels and transfers of the trace are in sums (--aggregate).",
                    (unsigned long long)summed);
}

static tsmith_status make_report(const tsmith_analysis *analysis, struct running *running,
                                 const struct analysis_context *context) {
    tsmith_report *public = &running->report.public;
    public->name = running->kind->name;
    public->question = running->kind->question;
    public->window = context->window;
    public->missing = timeline_hole_time(analysis->timeline, 0, context->window);
    for (size_t i = 0; i < analysis->timeline->hole_count; i++)
    public->lost += analysis->timeline->holes[i].lost;
    if (running->kind == &analysis_advice && !times_suffice(analysis->timeline))
        *context->advice = (struct advice){0};
    tsmith_status status = running->kind->finish(running->state, context, &running->report);
    if (status == TSMITH_OK && running->kind->needs >= NEEDS_GRAPH && running->asked)
        note_clocks(context, &running->report);
    if (status == TSMITH_OK)
        say_what_is_timed(context, running->kind, &running->report);
    if (status == TSMITH_OK)
        say_what_is_summed(analysis, running->kind, &running->report);
    release(running);
    return status == TSMITH_OK && !report_end(&running->report) ? TSMITH_ERROR_NO_MEMORY : status;
}

// The reports of all analyses that need at most `until` and more than `beyond`.
static tsmith_status make_reports(tsmith_analysis *analysis, const tsmith_dictionary *dictionary, int beyond,
                                  int until, tsmith_error *error) {
    struct analysis_context context = {
        .dictionary = dictionary,
        .window = tsmith_timeline_window(analysis->timeline),
        .scope = analysis->timeline->options.has_window ? "window" : "trace",
        .skip = analysis->skip,
        .skip_count = analysis->skip_count,
        .hide_interpreter = analysis->hide_interpreter,
        .peak_flops = analysis->peak_flops,
        .peak_bytes = analysis->peak_bytes,
        .timeline = analysis->timeline,
        .ranges = &analysis->ranges,
        .gap_ranges = &analysis->gap_ranges,
        .frames = analysis->frames,
        .graph = analysis->graph,
        .states = analysis->states,
        .advice = &analysis->advice,
    };
    for (size_t i = 0; i < analysis->timeline->device_count; i++)
        if (analysis->timeline->devices[i].busy > context.busiest)
            context.busiest = analysis->timeline->devices[i].busy;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        struct running *running = &analysis->running[i];
        if (!running->kind || (int)running->kind->needs <= beyond || (int)running->kind->needs > until)
            continue;
        tsmith_status status = make_report(analysis, running, &context);
        if (status != TSMITH_OK)
            return no_memory(running, status, error);
    }
    return TSMITH_OK;
}

// What needs less comes first, so that its memory is gone when the states are built.
tsmith_status tsmith_analysis_finish(tsmith_analysis *analysis, const tsmith_dictionary *dictionary,
                                     tsmith_error *error) {
    tsmith_status status = tsmith_timeline_finish(analysis->timeline, dictionary, error);
    if (status == TSMITH_OK && analysis->needs_ranges && !ranges_make(&analysis->ranges, analysis->timeline))
        status =
            status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading the ranges of the host");
    if (status == TSMITH_OK && analysis->frames)
        status = tsmith_frames_finish(analysis->frames, dictionary, analysis->timeline, error);
    if (status == TSMITH_OK)
        status = make_reports(analysis, dictionary, -1, NEEDS_TIMELINE, error);
    if (status == TSMITH_OK && analysis->needs_ranges && analysis->needs >= NEEDS_STATES &&
        !gap_ranges_make(&analysis->gap_ranges, analysis->timeline, &analysis->ranges))
        status =
            status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading the ranges of the host");
    ranges_finish(&analysis->ranges);
    if (status == TSMITH_OK && analysis->needs >= NEEDS_GRAPH)
        status = tsmith_graph_create(analysis->timeline, dictionary, &analysis->graph, error);
    if (status == TSMITH_OK)
        status = make_reports(analysis, dictionary, NEEDS_TIMELINE, NEEDS_GRAPH, error);
    if (status == TSMITH_OK && analysis->needs >= NEEDS_STATES)
        status = states_create(analysis->timeline, analysis->graph, true, &analysis->states, error);
    if (status == TSMITH_OK)
        status = make_reports(analysis, dictionary, NEEDS_GRAPH, NEEDS_STATES, error);
    if (status == TSMITH_OK)
        status = make_reports(analysis, dictionary, NEEDS_STATES, NEEDS_ADVICE, error);
    analysis->finished = status == TSMITH_OK;
    return status;
}

const tsmith_timeline *tsmith_analysis_timeline(const tsmith_analysis *analysis) {
    return analysis->finished && analysis->needs != NEEDS_NOTHING ? analysis->timeline : NULL;
}

const tsmith_report *tsmith_analysis_report(const tsmith_analysis *analysis, size_t index) {
    for (size_t i = 0; i < KIND_COUNT && analysis->finished; i++)
        if (analysis->running[i].asked && index-- == 0)
            return &analysis->running[i].report.public;
    return NULL;
}

bool analysis_has_calls(const tsmith_analysis *analysis) {
    return analysis->timeline->call_count > 0;
}

uint64_t analysis_summed(const tsmith_analysis *analysis) {
    return analysis->summed;
}

// ---- as a sink

static tsmith_status sink_write(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                tsmith_error *error) {
    return tsmith_analysis_add(self, dictionary, batch, error);
}

static tsmith_status sink_finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    return tsmith_analysis_finish(self, dictionary, error);
}

tsmith_status tsmith_analysis_sink(tsmith_analysis *analysis, tsmith_sink **out) {
    static const tsmith_sink_ops OPS = {sink_write, sink_finish, NULL};
    return tsmith_sink_create(&OPS, analysis, out);
}

// ---- what reports call things

tsmith_string analysis_text(const char *text) {
    return (tsmith_string){text, strlen(text)};
}

// The name and its distinguishing suffix.
static void label_text(struct report *report, struct report_table *table, tsmith_string name,
                       const char *distinction, size_t length) {
    char *label = length ? malloc(name.length + length + 1) : NULL;
    if (label) {
        memcpy(label, name.bytes, name.length);
        memcpy(label + name.length, distinction, length + 1);
    }
    report_text(report, table, label ? (tsmith_string){label, name.length + length} : name);
    free(label);
}

void analysis_track_text(struct report *report, struct report_table *table,
                         const struct analysis_context *context, uint32_t track) {
    char room[TSMITH_LABEL_SIZE], distinction[TSMITH_LABEL_SIZE];
    const tsmith_string name = tsmith_track_name(context->dictionary, track, room);
    label_text(report, table, name, distinction,
               tsmith_track_distinction(context->dictionary, track, 0, distinction));
}

void analysis_device_text(struct report *report, struct report_table *table,
                          const struct analysis_context *context, const tsmith_row *device) {
    char room[TSMITH_LABEL_SIZE], distinction[TSMITH_LABEL_SIZE];
    const tsmith_string name = tsmith_device_name(context->dictionary, device->dictionary_device, room);
    label_text(report, table, name, distinction,
               tsmith_device_distinction(context->dictionary, device->dictionary_device, distinction));
}

tsmith_string analysis_command_name(const struct analysis_context *context, const tsmith_command *command) {
    tsmith_string name = tsmith_dictionary_string(context->dictionary, command->name);
    if (name.length)
        return name;
    const char *operation = tsmith_operation_name((tsmith_operation)command->operation);
    return analysis_text(command->operation && operation ? operation
                                                         : tsmith_kind_name((tsmith_kind)command->kind));
}

void analysis_range_text(struct report *report, struct report_table *table,
                         const struct analysis_context *context, uint32_t key) {
    report_text(report, table,
                tsmith_dictionary_string(context->dictionary, range_key_name(context->ranges, key)));
    report_text(report, table,
                tsmith_dictionary_string(context->dictionary, range_key_category(context->ranges, key)));
}

int analysis_shown(tsmith_string name) {
    enum { SHOWN = 60 };
    size_t length = name.length < SHOWN ? name.length : SHOWN;
    while (length && length < name.length && ((unsigned char)name.bytes[length] & 0xc0) == 0x80)
        length--; // not within a character
    return (int)length;
}

tsmith_string analysis_named(tsmith_string name) {
    return name.length ? name : analysis_text("(unnamed)");
}

bool analysis_matters(const struct analysis_context *context, const tsmith_row *device) {
    return context->busiest > 0 && device->busy >= context->busiest / 2;
}
