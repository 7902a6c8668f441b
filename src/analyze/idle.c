// SPDX-License-Identifier: Apache-2.0
// Why a device did not compute. The states of the device are the first answer. If it had no work, the activity of the
// host thread that launches the next command is the second: it waited (sync), it compiled, or it did something else
// (host-bound). The times of a device add up to the window exactly.
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/compile_times.h"
#include "analyze/host_calls.h"
#include "analyze/host_samples.h"
#include "analyze/idle_code.h"
#include "analyze/off_cpu.h"
#include "base/array.h"
#include "base/sorted.h"

enum { GAPS = 20 };
// Of calls that neither launch, nor wait, nor compile.
enum { ELSE_ROLES = 1u << TSMITH_CALL_OTHER | 1u << TSMITH_CALL_MEMORY };

// X(NAME, "name", "doc")
#define CAUSE_TABLE(X)                                                                                       \
    X(RUNNING, "running", "the device computed or communicated")                                             \
    X(COPY, "copy", "only copies run")                                                                       \
    X(HOST_BOUND, "host_bound", "the host had not submitted work: it did something else")                    \
    X(SYNC, "sync", "the host had not submitted work: it waited for the device")                             \
    X(CAPTURE, "graph_capture", "the host had not submitted work: it captured or instantiated a graph")      \
    X(COMPILE, "compile", "something was compiled, on the host or in the driver")                            \
    X(LAUNCH_CALL, "launch_call", "the host was in the launching call, or had not submitted the work yet")   \
    X(LAUNCH, "launch_latency", "work was submitted and had not begun")                                      \
    X(EVENT, "cross_stream_wait", "work waited for work of other queues")                                    \
    X(RESOURCE, "resource", "work waited for the device or a copy engine")                                   \
    X(DRAINING, "draining", "work had run and was not yet reported complete")                                \
    X(UNKNOWN, "unknown", "the cause is not in the trace; what queued work waited for is unknown")           \
    X(BEFORE, "before_first", "before its first command began")                                              \
    X(AFTER, "after_last", "after its last command")

enum cause {
#define CAUSE_ENUM(NAME, name, doc) CAUSE_##NAME,
    CAUSE_TABLE(CAUSE_ENUM)
#undef CAUSE_ENUM
        CAUSE_LIMIT
};

static const char *const CAUSE_NAMES[] = {
#define CAUSE_NAME(NAME, name, doc) name,
    CAUSE_TABLE(CAUSE_NAME)
#undef CAUSE_NAME
};
static const char *const CAUSE_DOCS[] = {
#define CAUSE_DOC(NAME, name, doc) doc,
    CAUSE_TABLE(CAUSE_DOC)
#undef CAUSE_DOC
};

// What a thread was in: disjoint, ascending.
struct activity {
    tsmith_interval *items;
    size_t count, capacity;
};

struct gap {
    int64_t from, to;
    enum cause cause; // that took most of it
    uint32_t next;    // command after it
};

struct idle {
    const struct analysis_context *context;
    struct activity *waits, *compiles, *captures; // by thread
    size_t thread_count;
    uint32_t *next;                 // by row: the first command not yet passed
    int64_t times[CAUSE_LIMIT];     // of the device at hand
    int64_t gap_times[CAUSE_LIMIT]; // of the gap at hand
    struct gap gaps[GAPS + 1];      // the longest first
    size_t gap_count;
    struct gap worst[CAUSE_LIMIT];   // of the device at hand: the longest by what took most of it
    uint64_t counts[CAUSE_LIMIT];    // and how many
    struct gap longest[CAUSE_LIMIT]; // of the device at hand: the longest stretch of each cause alone
    struct off_cpu off;            // when threads did not run; of the device at hand: while it was host-bound
    struct host_samples samples;   // which code they ran; of the device at hand: while it was host-bound
    struct host_calls calls;       // what the launching threads did while the device was empty
    struct compile_times compiled; // by any thread of a process
    int64_t elsewhere;             // of the device at hand: another thread compiled while it was host-bound
    bool failed;
};

static bool add_activity(struct activity *activity, const tsmith_call *call) {
    struct activity *to = activity;
    tsmith_interval *last = to->count ? &to->items[to->count - 1] : NULL;
    if (last && call->start <= last->to) {
        last->to = call->end > last->to ? call->end : last->to;
        return true;
    }
    if (!ARRAY_RESERVE(to->items, to->capacity, to->count + 1))
        return false;
    to->items[to->count++] = (tsmith_interval){call->start, call->end};
    return true;
}

static bool is_wait(const struct idle *idle, size_t index) {
    const tsmith_call *call = &idle->context->timeline->calls[index];
    return (call->role >= TSMITH_CALL_SYNC_QUEUE && call->role <= TSMITH_CALL_SYNC_EVENT) || call->blocking ||
           (idle->context->graph->counts[TSMITH_EDGE_SYNC_INFERRED] &&
            graph_waited_until(idle->context->graph, (uint32_t)index) != TSMITH_TIME_UNKNOWN);
}

enum capture { CAPTURE_NONE, CAPTURE_BEGIN, CAPTURE_END, CAPTURE_INSTANTIATE };

static enum capture capture_of(const struct idle *idle, uint32_t name_id) {
    const tsmith_string name = tsmith_dictionary_string(idle->context->dictionary, name_id);
    return !name.length                                     ? CAPTURE_NONE
           : strstr(name.bytes, "StreamBeginCapture")       ? CAPTURE_BEGIN
           : strstr(name.bytes, "StreamEndCapture")         ? CAPTURE_END
           : strstr(name.bytes, "GraphInstantiate") != NULL ? CAPTURE_INSTANTIATE
                                                            : CAPTURE_NONE;
}

// While a stream is captured, what the thread launches is recorded and does not run. Calls are by thread, then by start.
static bool find_captures(struct idle *idle) {
    const tsmith_timeline *timeline = idle->context->timeline;
    const tsmith_call *begun = NULL;
    uint32_t last = 0;
    enum capture capture = CAPTURE_NONE;
    for (size_t i = 0; i < timeline->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        tsmith_call whole = *call;
        if (call->name != last) {
            last = call->name;
            capture = capture_of(idle, last);
        }
        if (begun && begun->thread != call->thread)
            begun = NULL; // it did not end
        if (capture == CAPTURE_BEGIN && !begun)
            begun = call;
        if (capture == CAPTURE_END && begun) {
            whole.start = begun->start;
            begun = NULL;
        } else if (capture != CAPTURE_INSTANTIATE) {
            continue;
        }
        if (!add_activity(&idle->captures[call->thread], &whole))
            return false;
    }
    return true;
}

static bool find_activities(struct idle *idle) {
    const tsmith_timeline *timeline = idle->context->timeline;
    for (size_t i = 0; i < timeline->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        bool waits = is_wait(idle, i);
        if ((waits && !add_activity(&idle->waits[call->thread], call)) ||
            (call->role == TSMITH_CALL_COMPILE && !add_activity(&idle->compiles[call->thread], call)))
            return false;
    }
    return true;
}

// ns of [from, to) that an activity covers.
static int64_t covered_ns(const struct activity *activity, int64_t from, int64_t to) {
    size_t at =
        SORTED_FIND(i, 0, activity->count, activity->items[i].to <= from); // the first that ends after it
    int64_t sum = 0;
    for (; at < activity->count && activity->items[at].from < to; at++) {
        int64_t begin = activity->items[at].from > from ? activity->items[at].from : from;
        int64_t end = activity->items[at].to < to ? activity->items[at].to : to;
        sum += end - begin;
    }
    return sum;
}

// The command of the device that starts next, at or after `time`; times only go up.
static uint32_t next_command(struct idle *idle, const tsmith_row *device, int64_t time) {
    const tsmith_timeline *timeline = idle->context->timeline;
    uint32_t found = TSMITH_INDEX_NONE;
    for (uint32_t r = device->first_row; r < device->first_row + device->row_count; r++) {
        const tsmith_row *row = &timeline->rows[r];
        uint32_t *next = &idle->next[r], end = row->first_command + row->command_count;
        while (*next < end &&
               (timeline->commands[*next].start < time || !timeline_runs(&timeline->commands[*next])))
            ++*next;
        if (*next < end &&
            (found == TSMITH_INDEX_NONE || timeline->commands[*next].start < timeline->commands[found].start))
            found = *next;
    }
    return found;
}

static void add_time(struct idle *idle, enum cause cause, int64_t time) {
    idle->times[cause] += time;
    idle->gap_times[cause] += time;
}

static void add_stretch(struct idle *idle, enum cause cause, int64_t from, int64_t to, uint32_t next) {
    struct gap *longest = &idle->longest[cause];
    add_time(idle, cause, to - from);
    if (to - from > longest->to - longest->from)
        *longest = (struct gap){from, to, cause, next};
}

// The first of the activity that ends after `at`; an empty one at `to` when there is none.
static tsmith_interval activity_after(const struct activity *activity, int64_t at, int64_t to) {
    const size_t place = SORTED_FIND(i, 0, activity->count, activity->items[i].to <= at);
    return place < activity->count && activity->items[place].from < to ? activity->items[place]
                                                                       : (tsmith_interval){to, to};
}

static tsmith_interval earlier(tsmith_interval a, tsmith_interval b) {
    return a.from <= b.from ? a : b;
}

// What the thread was in while it neither waited for the device, compiled nor captured a graph, and whether another one compiled meanwhile.
static void add_host_bound(struct idle *idle, uint32_t thread, int64_t from, int64_t to) {
    const tsmith_thread *host = &idle->context->timeline->threads[thread];
    const uint32_t track = host->track;
    const bool details = idle->off.count || idle->samples.count || idle->compiled.count;
    for (int64_t at = from; at < to && details;) {
        const tsmith_interval wait = activity_after(&idle->waits[thread], at, to),
                              compile = activity_after(&idle->compiles[thread], at, to),
                              capture = activity_after(&idle->captures[thread], at, to);
        const tsmith_interval next = earlier(earlier(wait, compile), capture);
        if (next.from > at)
            idle->failed |= !host_samples_add(&idle->samples, track, at, next.from);
        if (next.from > at && idle->off.count)
            idle->failed |= !off_cpu_add(&idle->off, track, at, next.from);
        if (next.from > at)
            idle->elsewhere += compile_times_covered(&idle->compiled, host->process, at, next.from);
        at = next.from < to ? next.to : to;
    }
}

// The device had no work in [from, to).
static void add_empty(struct idle *idle, const tsmith_row *device, int64_t from, int64_t to) {
    uint32_t next = next_command(idle, device, to);
    uint32_t thread = next == TSMITH_INDEX_NONE ? next : idle->context->timeline->commands[next].thread;
    int64_t compile = 0, sync = 0, capture = 0;
    if (thread != TSMITH_INDEX_NONE) {
        const tsmith_graph *graph = idle->context->graph;
        const int64_t begin = graph_placed(graph, device->device, from),
                      end = begin + (to - from); // on the host's clock
        compile = covered_ns(&idle->compiles[thread], begin, end);
        sync = covered_ns(&idle->waits[thread], begin, end);
        sync = sync > to - from - compile ? to - from - compile : sync;
        capture = covered_ns(&idle->captures[thread], begin, end);
        capture = capture > to - from - compile - sync ? to - from - compile - sync : capture;
        idle->failed |=
            !host_calls_add(&idle->calls, idle->context->timeline, ELSE_ROLES, thread, begin, end);
        add_host_bound(idle, thread, begin, end);
    }
    add_time(idle, CAUSE_COMPILE, compile);
    add_time(idle, CAUSE_SYNC, sync);
    add_time(idle, CAUSE_CAPTURE, capture);
    add_time(idle, CAUSE_HOST_BOUND, to - from - compile - sync - capture);
}

static void end_gap(struct idle *idle, const tsmith_row *device, int64_t from, int64_t to) {
    struct gap gap = {from, to, CAUSE_UNKNOWN, next_command(idle, device, to)};
    int64_t most = 0;
    for (int cause = 0; cause < CAUSE_LIMIT; cause++)
        if (idle->gap_times[cause] > most) {
            most = idle->gap_times[cause];
            gap.cause = (enum cause)cause;
        }
    memset(idle->gap_times, 0, sizeof idle->gap_times);
    if (from >= to || gap.next == TSMITH_INDEX_NONE || from < device->first_start)
        return;
    idle->counts[gap.cause]++;
    if (to - from > idle->worst[gap.cause].to - idle->worst[gap.cause].from)
        idle->worst[gap.cause] = gap;
    size_t at = idle->gap_count;
    for (; at > 0 && idle->gaps[at - 1].to - idle->gaps[at - 1].from < to - from; at--)
        idle->gaps[at] = idle->gaps[at - 1];
    idle->gaps[at] = gap;
    idle->gap_count += idle->gap_count < GAPS;
}

static void measure(struct idle *idle, const tsmith_row *device) {
    static const enum cause CAUSES[TSMITH_STATE_LIMIT] = {
        [TSMITH_STATE_DRAINING] = CAUSE_DRAINING, [TSMITH_STATE_PENDING] = CAUSE_LAUNCH,
        [TSMITH_STATE_COMPILE] = CAUSE_COMPILE,   [TSMITH_STATE_WAIT_RESOURCE] = CAUSE_RESOURCE,
        [TSMITH_STATE_WAIT_EVENT] = CAUSE_EVENT,  [TSMITH_STATE_QUEUED] = CAUSE_LAUNCH_CALL,
        [TSMITH_STATE_UNKNOWN] = CAUSE_UNKNOWN,
    };
    size_t count;
    const tsmith_segment *segments = tsmith_states_device(idle->context->states, device->device, &count);
    int64_t since = idle->context->window.from;
    for (size_t i = 0; i < count; i++) {
        int64_t length = segments[i].to - segments[i].from;
        if (segments[i].state == TSMITH_STATE_RUNNING) {
            end_gap(idle, device, since, segments[i].from);
            since = segments[i].to;
            idle->times[CAUSE_RUNNING] += length;
        } else if (segments[i].to <= device->first_start) {
            add_time(idle, CAUSE_BEFORE, length);
        } else if (segments[i].from >= device->last_end) {
            add_time(idle, CAUSE_AFTER, length);
        } else if (segments[i].state == TSMITH_STATE_EMPTY || segments[i].state == TSMITH_STATE_WAIT_HOST) {
            add_empty(idle, device, segments[i].from, segments[i].to);
        } else {
            add_stretch(idle, CAUSES[segments[i].state], segments[i].from, segments[i].to,
                        next_command(idle, device, segments[i].to));
        }
    }
    end_gap(idle, device, since, idle->context->window.to);
}

static tsmith_status separate_copies(struct idle *idle, const tsmith_row *device) {
    tsmith_interval *intervals;
    size_t count;
    uint32_t works = 1u << TSMITH_WORK_COMPUTE | 1u << TSMITH_WORK_COMMUNICATION;
    if (!(device->works & ~works))
        return TSMITH_OK; // there are none
    tsmith_status status = tsmith_timeline_busy(idle->context->timeline, device, works, &intervals, &count);
    if (status != TSMITH_OK)
        return status;
    int64_t useful = sweep_length(intervals, count);
    free(intervals);
    idle->times[CAUSE_COPY] = idle->times[CAUSE_RUNNING] - useful;
    idle->times[CAUSE_RUNNING] = useful;
    return TSMITH_OK;
}

static void write_gaps(const struct idle *idle, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"at", TSMITH_CELL_TIME},
                                                   {"length", TSMITH_CELL_DURATION},
                                                   {"mostly", TSMITH_CELL_TEXT},
                                                   {"device", TSMITH_CELL_TEXT},
                                                   {"next", TSMITH_CELL_TEXT}};
    const struct analysis_context *context = idle->context;
    struct report_table *table =
        REPORT_TABLE(report, "longest_gaps", "the longest gaps, and the command that ran next", COLUMNS);
    for (size_t i = 0; i < idle->gap_count; i++) {
        const struct gap *gap = &idle->gaps[i];
        const tsmith_command *next = &context->timeline->commands[gap->next];
        report_integer(report, table, gap->from - context->window.from);
        report_integer(report, table, gap->to - gap->from);
        report_text(report, table, analysis_text(CAUSE_NAMES[gap->cause]));
        analysis_device_text(report, table, context,
                             &context->timeline->devices[context->timeline->rows[next->row].device]);
        report_text(report, table, analysis_command_name(context, next));
    }
}

// The longest gaps, each with the code that its own samples are of.
static void write_gap_code(struct idle *idle, struct report *report) {
    const struct analysis_context *context = idle->context;
    struct report_table *table = idle_code_begin_gaps(report);
    for (size_t i = 0; i < idle->gap_count; i++) {
        const struct gap *gap = &idle->gaps[i];
        const tsmith_command *next = &context->timeline->commands[gap->next];
        if (gap->cause != CAUSE_HOST_BOUND || next->thread == TSMITH_INDEX_NONE)
            continue;
        const tsmith_row *device = &context->timeline->devices[context->timeline->rows[next->row].device];
        const int64_t begin = graph_placed(context->graph, device->device, gap->from);
        host_samples_clear(&idle->samples);
        idle->failed |= !host_samples_add(&idle->samples, context->timeline->threads[next->thread].track,
                                          begin, begin + (gap->to - gap->from));
        host_samples_sort(&idle->samples);
        idle_code_write_gap(context, &idle->samples, device, (tsmith_interval){gap->from, gap->to}, report,
                            table);
    }
}

static const struct gap_ranges_of_device *ranges_of(const struct idle *idle, const tsmith_row *device) {
    const struct gap_ranges *ranges = idle->context->gap_ranges;
    static const struct gap_ranges_of_device none;
    return ranges->devices ? &ranges->devices[device->device] : &none;
}

static void write_ranges(const struct idle *idle, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"device", TSMITH_CELL_TEXT},  {"when", TSMITH_CELL_TEXT},   {"time", TSMITH_CELL_DURATION},
        {"ranges", TSMITH_CELL_COUNT}, {"within", TSMITH_CELL_TEXT}, {"range", TSMITH_CELL_TEXT}};
    const struct analysis_context *context = idle->context;
    struct report_table *table = REPORT_TABLE(
        report, "program", "the ranges of the program in these gaps, by their own time", COLUMNS);
    for (size_t i = 0; i < context->timeline->device_count; i++) {
        const tsmith_row *device = &context->timeline->devices[i];
        const struct gap_ranges_of_device *found = ranges_of(idle, device);
        for (int k = 0; k < 2 * GAP_RANGES; k++) {
            const struct gap_range *one = k < GAP_RANGES ? &found->startup[k] : &found->gaps[k - GAP_RANGES];
            if (one->time <= 0)
                continue;
            analysis_device_text(report, table, context, device);
            report_text(report, table, analysis_text(k < GAP_RANGES ? "startup" : "gaps"));
            report_integer(report, table, one->time);
            report_integer(report, table, (int64_t)one->count);
            report_text(report, table, tsmith_dictionary_string(context->dictionary, one->around));
            report_text(report, table, tsmith_dictionary_string(context->dictionary, one->name));
        }
    }
}

static void write_finding(const int64_t sums[CAUSE_LIMIT], const char *scope, struct report *report) {
    int64_t all = 0, active;
    enum cause worst = CAUSE_HOST_BOUND;
    for (int cause = 0; cause < CAUSE_LIMIT; cause++) {
        all = sweep_add(all, sums[cause]);
        if (cause >= CAUSE_COPY && cause < CAUSE_BEFORE && sums[cause] > sums[worst])
            worst = (enum cause)cause;
    }
    active = all - sums[CAUSE_BEFORE] - sums[CAUSE_AFTER];
    if (!active)
        report_finding(report, "No command of a device takes time in the %s.", scope);
    else if (!sums[worst])
        report_finding(
            report,
            "From their first to their last command the devices compute or communicate all of the time.");
    else
        report_finding(
            report,
            "From their first to their last command the devices neither compute nor communicate %.1f%% of "
            "the time; the largest cause is %s (%.1f%%): %s.",
            report_percent(active - sums[CAUSE_RUNNING], active), CAUSE_NAMES[worst],
            report_percent(sums[worst], active), CAUSE_DOCS[worst]);
}

// ---- why the host was not there

static const char *host_word(const struct off_reason *reason) {
    if (reason->operation == TSMITH_OPERATION_NONE)
        return "running";
    return reason->operation == TSMITH_OPERATION_PREEMPTED
               ? "ready"
               : tsmith_operation_name((tsmith_operation)reason->operation);
}

static struct report_table *begin_host_table(struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"device", TSMITH_CELL_TEXT},   {"host", TSMITH_CELL_TEXT},     {"in", TSMITH_CELL_TEXT},
        {"at", TSMITH_CELL_TEXT},       {"woken_by", TSMITH_CELL_TEXT}, {"woken_from", TSMITH_CELL_TEXT},
        {"time", TSMITH_CELL_DURATION}, {"share", TSMITH_CELL_SHARE},   {"count", TSMITH_CELL_COUNT}};
    return REPORT_TABLE(
        report, "host_bound",
        "the state of the launching threads while the device was host-bound (ready: waiting for a "
        "processor)",
        COLUMNS);
}

static void write_host(struct idle *idle, struct report *report, struct report_table *table,
                       const tsmith_row *device) {
    enum { REASONS = 20 };
    const tsmith_dictionary *dictionary = idle->context->dictionary;
    off_cpu_sort_reasons(&idle->off);
    for (size_t i = 0; table && i < idle->off.reason_count && i < REASONS; i++) {
        const struct off_reason *reason = &idle->off.reasons[i];
        analysis_device_text(report, table, idle->context, device);
        report_text(report, table, analysis_text(host_word(reason)));
        report_text(report, table, tsmith_dictionary_string(dictionary, reason->name));
        report_text(report, table, tsmith_dictionary_string(dictionary, reason->place));
        report_text(report, table, tsmith_dictionary_string(dictionary, reason->waker));
        report_text(report, table, tsmith_dictionary_string(dictionary, reason->waker_place));
        report_integer(report, table, reason->time);
        report_share(report, table, reason->time, idle->times[CAUSE_HOST_BOUND]);
        report_integer(report, table, (int64_t)reason->count);
    }
}

// Names what the launching threads waited for: the longest three, if the kernel reported it.
static void advise_host(const struct idle *idle) {
    enum { NAMED = 3, LEAST_PART = 20 };
    const int64_t least = idle->times[CAUSE_HOST_BOUND] / LEAST_PART;
    for (size_t i = 0; i < NAMED && i < idle->off.reason_count && idle->off.reasons[i].time > least; i++) {
        const struct off_reason *reason = &idle->off.reasons[i];
        const tsmith_dictionary *dictionary = idle->context->dictionary;
        const tsmith_string name = tsmith_dictionary_string(dictionary, reason->name),
                            waker = tsmith_dictionary_string(dictionary, reason->waker),
                            place = tsmith_dictionary_string(dictionary, reason->place),
                            from = tsmith_dictionary_string(dictionary, reason->waker_place);
        char text[REPORT_TEXT];
        if (reason->operation == TSMITH_OPERATION_NONE || reason->operation == TSMITH_OPERATION_PREEMPTED)
            advice_evidence(idle->context->advice, ADVICE_HOST_BOUND, "For %s of it the host %s.",
                            report_duration(text, reason->time),
                            reason->operation ? "waits for a processor" : "computes");
        else if (!name.length)
            advice_evidence(
                idle->context->advice, ADVICE_HOST_BOUND,
                "For %s of it the host does not run and waits for something else than a processor.",
                report_duration(text, reason->time));
        else
            advice_evidence(idle->context->advice, ADVICE_HOST_BOUND,
                            "For %s of it the host is %s in %.*s%s%s%.*s%s%s%.*s%s%s%.*s%s.",
                            report_duration(text, reason->time), host_word(reason), ANALYSIS_SHOWN(name),
                            place.length ? ", called by " : "", ANALYSIS_SHOWN(place),
                            waker.length ? ", woken by " : "", ANALYSIS_SHOWN(waker),
                            from.length ? " in " : "", ANALYSIS_SHOWN(from));
    }
}

// ---- what could be won

static const struct gap *longest_of(const struct idle *idle, enum cause cause, enum cause other) {
    const struct gap *a = &idle->longest[cause], *b = &idle->longest[other];
    return a->to - a->from >= b->to - b->from ? a : b;
}

static void advise_cause(const struct idle *idle, const tsmith_row *device, enum advice_problem problem,
                         enum cause cause, enum cause other, const char *because) {
    const struct analysis_context *context = idle->context;
    const tsmith_command *commands = context->timeline->commands;
    struct advice_item *item = &context->advice->items[problem];
    int64_t time = idle->times[cause] + (other == cause ? 0 : idle->times[other]);
    const struct gap *a = &idle->worst[cause], *b = &idle->worst[other];
    const struct gap *gap = a->to - a->from >= b->to - b->from ? a : b;
    const struct gap *alone = longest_of(idle, cause, other);
    uint64_t count = idle->counts[cause] + (other == cause ? 0 : idle->counts[other]);
    tsmith_string name = {"", 0};
    char all[REPORT_TEXT], active[REPORT_TEXT], longest[REPORT_TEXT];
    if (time <= item->saves)
        return;
    const bool is_alone = alone->to - alone->from > gap->to - gap->from && alone->next != TSMITH_INDEX_NONE;
    gap = is_alone ? alone : gap;
    if (gap->to > gap->from)
        name = analysis_command_name(context, &commands[gap->next]);
    advice_add(context->advice, problem, time, (tsmith_interval){gap->from, gap->to}, name);
    item->evidence[0] = 0; // of another device
    advice_evidence(context->advice, problem, "For %s of the %s from its first to its last command %s.",
                    report_duration(all, time),
                    report_duration(active, device->last_end - device->first_start), because);
    if (is_alone)
        advice_evidence(context->advice, problem, "One gap of %s, before %.*s%s, is part of it.",
                        report_duration(longest, gap->to - gap->from), ANALYSIS_SHOWN(name));
    else if (gap->to > gap->from)
        advice_evidence(context->advice, problem,
                        "It is the main cause of %llu gap%s; the longest, %s, is before %.*s%s.",
                        (unsigned long long)count, report_plural(count),
                        report_duration(longest, gap->to - gap->from), ANALYSIS_NAMED(name));
}

// Names the calls in which most of the time went by: evidence that can be acted on.
static void name_calls(struct idle *idle, enum advice_problem problem, int64_t time) {
    enum { NAMED = 3, LEAST_PART = 20 }; // of the time, a twentieth
    for (int i = 0; i < NAMED; i++) {
        const struct host_call_time call = host_calls_take(&idle->calls);
        const tsmith_string name = tsmith_dictionary_string(idle->context->dictionary, call.name);
        char text[REPORT_TEXT];
        if (call.time <= 0 || call.time < time / LEAST_PART)
            break;
        advice_evidence(idle->context->advice, problem, "The host spends %s of it in %.*s%s (%llu %s).",
                        report_duration(text, call.time), ANALYSIS_SHOWN(name),
                        (unsigned long long)call.calls, call.calls == 1 ? "call" : "calls");
    }
}

// Programs compile on threads of their own, and the thread that launches waits for these where no trace sees it.
static void name_compilation(const struct idle *idle) {
    enum { LEAST_PART = 20 };
    char text[REPORT_TEXT];
    if (idle->elsewhere > 0 && idle->elsewhere >= idle->times[CAUSE_HOST_BOUND] / LEAST_PART)
        advice_evidence(
            idle->context->advice, ADVICE_HOST_BOUND,
            "For %s of it another thread of the process compiles; the thread that launches may wait "
            "for it: compile earlier, or keep binaries.",
            report_duration(text, idle->elsewhere));
}

// And the program's own ranges, in addition to the calls. `most` is sorted.
static void name_ranges(struct idle *idle, enum advice_problem problem, const struct gap_range *most,
                        int64_t time) {
    enum { NAMED = 3, LEAST_PART = 20 };
    const tsmith_dictionary *dictionary = idle->context->dictionary;
    for (int i = 0; i < NAMED && most[i].time > 0 && most[i].time >= time / LEAST_PART; i++) {
        const tsmith_string name = tsmith_dictionary_string(dictionary, most[i].name),
                            around = tsmith_dictionary_string(dictionary, most[i].around);
        char text[REPORT_TEXT];
        if (!name.length)
            continue;
        advice_evidence(idle->context->advice, problem,
                        around.length ? "The program spends %s of it in %.*s%s (%llu x), within %.*s%s."
                                      : "The program spends %s of it in %.*s%s (%llu x).",
                        report_duration(text, most[i].time), ANALYSIS_SHOWN(name),
                        (unsigned long long)most[i].count, ANALYSIS_SHOWN(around));
    }
}

// Other profilers record parts of a run, and so do attach, which says so in place of a command line, the flight recorder and record: what
// comes first in the trace may not be the program's startup.
static bool may_begin_later(const struct analysis_context *context) {
    static const char ATTACHED[] = ", attached", FLIGHT[] = "flight.";
    const tsmith_dictionary *dictionary = context->dictionary;
    const tsmith_string command = tsmith_dictionary_find_attribute(dictionary, "command");
    if (strcmp(context->scope, "trace") != 0)
        return false;
    bool later = tsmith_dictionary_find_attribute(dictionary, "import.format").length ||
                 tsmith_dictionary_find_attribute(dictionary, "on_demand").length ||
                 (command.length >= sizeof ATTACHED - 1 &&
                  strcmp(command.bytes + command.length - (sizeof ATTACHED - 1), ATTACHED) == 0);
    for (uint32_t id = 1; !later && id < tsmith_dictionary_attribute_count(dictionary); id++) {
        const tsmith_string key =
            tsmith_dictionary_string(dictionary, tsmith_dictionary_attribute(dictionary, id)->key);
        later = key.length && strncmp(key.bytes, FLIGHT, sizeof FLIGHT - 1) == 0;
    }
    return later;
}

static void advise_startup(struct idle *idle, const tsmith_row *device) {
    const struct analysis_context *context = idle->context;
    struct advice_item *item = &context->advice->items[ADVICE_STARTUP];
    int64_t time = idle->times[CAUSE_BEFORE];
    char text[REPORT_TEXT];
    if (time <= item->saves)
        return;
    uint32_t first = TSMITH_INDEX_NONE;
    for (uint32_t i = device->first_command; i < device->first_command + device->command_count; i++)
        if (timeline_runs(&context->timeline->commands[i]) &&
            context->timeline->commands[i].end > context->window.from &&
            context->timeline->commands[i].start <= device->first_start)
            first = first == TSMITH_INDEX_NONE ? i : first;
    tsmith_string name = first == TSMITH_INDEX_NONE
                             ? analysis_text("")
                             : analysis_command_name(context, &context->timeline->commands[first]);
    advice_add(context->advice, ADVICE_STARTUP, time,
               (tsmith_interval){context->window.from, device->first_start}, name);
    item->evidence[0] = 0;
    advice_evidence(context->advice, ADVICE_STARTUP,
                    "The device's first command, %.*s%s, begins %s into the %s.", ANALYSIS_NAMED(name),
                    report_duration(text, time), context->scope);
    if (may_begin_later(context))
        advice_evidence(context->advice, ADVICE_STARTUP,
                        "The trace may begin in the middle of a run; then this is no startup.");
    if (first == TSMITH_INDEX_NONE || context->timeline->commands[first].thread == TSMITH_INDEX_NONE)
        return;
    host_calls_clear(&idle->calls);
    idle->failed |=
        !host_calls_add(&idle->calls, context->timeline, ELSE_ROLES | 1u << TSMITH_CALL_COMPILE,
                        context->timeline->commands[first].thread, context->window.from, device->first_start);
    name_calls(idle, ADVICE_STARTUP, time);
    name_ranges(idle, ADVICE_STARTUP, ranges_of(idle, device)->startup, time);
}

static void advise_launch(const struct idle *idle, const tsmith_row *device) {
    const struct gap *longest = longest_of(idle, CAUSE_LAUNCH_CALL, CAUSE_LAUNCH);
    const int64_t time = idle->times[CAUSE_LAUNCH_CALL] + idle->times[CAUSE_LAUNCH];
    const bool one = longest->to - longest->from > time / 2;
    advise_cause(idle, device, one ? ADVICE_SLOW_CALL : ADVICE_LAUNCH, CAUSE_LAUNCH_CALL, CAUSE_LAUNCH,
                 "the device is idle because of launching calls and launch latency");
}

static void advise(struct idle *idle, const tsmith_row *device) {
    const int64_t host_before = idle->context->advice->items[ADVICE_HOST_BOUND].saves;
    int64_t *unknown = &idle->context->advice->unknown;
    *unknown = idle->times[CAUSE_UNKNOWN] > *unknown ? idle->times[CAUSE_UNKNOWN] : *unknown;
    advise_cause(idle, device, ADVICE_HOST_BOUND, CAUSE_HOST_BOUND, CAUSE_HOST_BOUND,
                 "the device has no work, and the host does something other than wait, compile or launch");
    if (idle->times[CAUSE_HOST_BOUND] > host_before) {
        name_compilation(idle);
        name_calls(idle, ADVICE_HOST_BOUND, idle->times[CAUSE_HOST_BOUND]);
        name_ranges(idle, ADVICE_HOST_BOUND, ranges_of(idle, device)->gaps, idle->times[CAUSE_HOST_BOUND]);
        advise_host(idle);
        idle_code_advise(idle->context, &idle->samples);
    }
    advise_startup(idle, device);
    advise_cause(idle, device, ADVICE_SYNC, CAUSE_SYNC, CAUSE_SYNC,
                 "the device has no work, and the host waits");
    advise_cause(idle, device, ADVICE_COMPILE, CAUSE_COMPILE, CAUSE_COMPILE,
                 "the device is idle, and something is compiled");
    advise_launch(idle, device);
    advise_cause(idle, device, ADVICE_CROSS_STREAM, CAUSE_EVENT, CAUSE_EVENT,
                 "the device is idle, and what is queued waits for other queues");
}

static tsmith_status write_devices(struct idle *idle, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"device", TSMITH_CELL_TEXT},
                                                   {"cause", TSMITH_CELL_TEXT},
                                                   {"time", TSMITH_CELL_DURATION},
                                                   {"share", TSMITH_CELL_SHARE},
                                                   {"meaning", TSMITH_CELL_TEXT}};
    const struct analysis_context *context = idle->context;
    int64_t window = context->window.to - context->window.from, sums[CAUSE_LIMIT] = {0};
    struct report_table *table =
        REPORT_TABLE(report, "causes", "the times of a device add up to the window", COLUMNS);
    struct report_table *host = idle->off.count ? begin_host_table(report) : NULL;
    struct report_table *code = idle->samples.count ? idle_code_begin(report) : NULL;
    for (size_t i = 0; i < context->timeline->device_count; i++) {
        const tsmith_row *device = &context->timeline->devices[i];
        memset(idle->times, 0, sizeof idle->times);
        memset(idle->worst, 0, sizeof idle->worst);
        memset(idle->counts, 0, sizeof idle->counts);
        memset(idle->longest, 0, sizeof idle->longest);
        idle->elsewhere = 0;
        host_calls_clear(&idle->calls);
        off_cpu_clear(&idle->off);
        host_samples_clear(&idle->samples);
        measure(idle, device);
        write_host(idle, report, host, device);
        host_samples_sort(&idle->samples);
        if (code)
            idle_code_write(context, &idle->samples, device, report, code);
        tsmith_status status = separate_copies(idle, device);
        if (status != TSMITH_OK)
            return status;
        if (analysis_matters(context, device))
            advise(idle, device);
        if (idle->failed)
            return TSMITH_ERROR_NO_MEMORY;
        for (int cause = 0; cause < CAUSE_LIMIT; cause++) {
            sums[cause] = sweep_add(sums[cause], idle->times[cause]);
            analysis_device_text(report, table, context, device);
            report_text(report, table, analysis_text(CAUSE_NAMES[cause]));
            report_integer(report, table, idle->times[cause]);
            report_share(report, table, idle->times[cause], window);
            report_text(report, table, analysis_text(CAUSE_DOCS[cause]));
        }
    }
    write_finding(sums, context->scope, report);
    return TSMITH_OK;
}

static tsmith_status take_batch(void *state, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                const tsmith_interval *window) {
    struct idle *idle = state;
    (void)window; // what began before it may last into it
    return off_cpu_take(&idle->off, batch) && host_samples_take(&idle->samples, dictionary, batch)
               ? TSMITH_OK
               : TSMITH_ERROR_NO_MEMORY;
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    struct idle *idle = state;
    const tsmith_timeline *timeline = context->timeline;
    idle->context = context;
    idle->thread_count = timeline->thread_count;
    idle->waits = calloc(timeline->thread_count + 1, sizeof *idle->waits);
    idle->compiles = calloc(timeline->thread_count + 1, sizeof *idle->compiles);
    idle->captures = calloc(timeline->thread_count + 1, sizeof *idle->captures);
    idle->next = malloc((timeline->row_count + 1) * sizeof *idle->next);
    if (!idle->waits || !idle->compiles || !idle->captures || !idle->next ||
        !host_calls_init(&idle->calls, timeline) || !compile_times_init(&idle->compiled, timeline) ||
        (idle->off.count && !off_cpu_name(&idle->off, context->dictionary)) ||
        (idle->samples.count && !host_samples_name(&idle->samples, context->dictionary)) ||
        !find_activities(idle) || !find_captures(idle))
        return TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; i < timeline->row_count; i++)
        idle->next[i] = timeline->rows[i].first_command;
    tsmith_status status = write_devices(idle, report);
    if (status == TSMITH_OK)
        write_gaps(idle, report);
    if (status == TSMITH_OK && idle->samples.count)
        write_gap_code(idle, report);
    if (status == TSMITH_OK)
        write_ranges(idle, report);
    if (idle->failed)
        return TSMITH_ERROR_NO_MEMORY;
    return status;
}

static void release(void *state) {
    struct idle *idle = state;
    for (size_t i = 0; i < idle->thread_count; i++) {
        free(idle->waits ? idle->waits[i].items : NULL);
        free(idle->compiles ? idle->compiles[i].items : NULL);
        free(idle->captures ? idle->captures[i].items : NULL);
    }
    free(idle->waits);
    free(idle->compiles);
    free(idle->captures);
    free(idle->next);
    host_calls_finish(&idle->calls);
    compile_times_finish(&idle->compiled);
    off_cpu_finish(&idle->off);
    host_samples_finish(&idle->samples);
}

const struct analysis_kind analysis_idle = {
    .name = "idle",
    .question = "Why did the devices not compute?",
    .needs = NEEDS_STATES,
    .ranges = true,
    .state_size = sizeof(struct idle),
    .write = take_batch,
    .finish = finish,
    .release = release,
    .advises = true,
};
