// SPDX-License-Identifier: Apache-2.0
// How many commands were in a queue: launched (the call began) and not started. As in Holistic Trace Analysis a queue
// of CUDA is full at 1024.
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"

enum { FULL = 1024 };

struct lengths {
    uint64_t commands, unknown; // unknown: when they were launched
    int64_t most, at_most;      // the longest, and when first
    int64_t empty, full;        // ns
    double area;                // length x ns
};

static tsmith_status measure(const struct analysis_context *context, const tsmith_row *row,
                             struct lengths *lengths) {
    const tsmith_command *commands = timeline_row_commands(context->timeline, row);
    tsmith_interval window = context->window;
    size_t bytes = ((size_t)row->command_count + 1) * sizeof(int64_t), count = 0;
    int64_t *launched = malloc(bytes), *started = malloc(bytes), *scratch = malloc(bytes);
    *lengths = (struct lengths){0};
    if (!launched || !started || !scratch) {
        free(launched);
        free(started);
        free(scratch);
        return TSMITH_ERROR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < row->command_count; i++) {
        timeline_fetch_call(context->timeline, row->first_command + i,
                            row->first_command + row->command_count);
        int64_t from = timeline_enqueued(context->timeline, &commands[i]),
                to = graph_command_time(context->graph, row->first_command + i, false);
        if (commands[i].kind == TSMITH_KIND_COMPILE)
            continue;
        if (from == TSMITH_TIME_UNKNOWN) {
            lengths->unknown += timeline_runs(&commands[i]) && to >= window.from && to < window.to;
            continue;
        }
        if (from >= to || to <= window.from || from >= window.to)
            continue;
        launched[count] = from > window.from ? from : window.from;
        started[count++] = to < window.to ? to : window.to;
    }
    sweep_sort(launched, scratch, count);
    sweep_sort(started, scratch, count);
    int64_t now = window.from;
    for (size_t l = 0, s = 0; s < count;) {
        bool launch = l < count && launched[l] < started[s];
        int64_t next = launch ? launched[l] : started[s], length = (int64_t)(l - s);
        lengths->empty += length ? 0 : next - now;
        lengths->full += length >= FULL ? next - now : 0;
        lengths->area += (double)length * (double)(next - now);
        now = next;
        *(launch ? &l : &s) += 1;
        if ((int64_t)(l - s) > lengths->most) {
            lengths->most = (int64_t)(l - s);
            lengths->at_most = now;
        }
    }
    lengths->empty += window.to - now;
    lengths->commands = count;
    free(launched);
    free(started);
    free(scratch);
    return TSMITH_OK;
}

// Other runtimes have other limits.
static bool launches_by_cuda(const struct analysis_context *context) {
    for (size_t i = 0; i < context->timeline->call_count; i++) {
        const tsmith_call *call = &context->timeline->calls[i];
        if (call->role == TSMITH_CALL_LAUNCH)
            return strncmp(tsmith_dictionary_string(context->dictionary, call->name).bytes, "cu", 2) == 0;
    }
    return false;
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"queue", TSMITH_CELL_TEXT},        {"commands", TSMITH_CELL_COUNT}, {"longest", TSMITH_CELL_COUNT},
        {"longest_at", TSMITH_CELL_TIME},   {"mean", TSMITH_CELL_NUMBER},    {"empty", TSMITH_CELL_DURATION},
        {"empty_share", TSMITH_CELL_SHARE}, {"full", TSMITH_CELL_DURATION},
    };
    int64_t window = context->window.to - context->window.from, full = 0, most = 0;
    uint64_t unknown = 0;
    struct report_table *table = REPORT_TABLE(
        report, "queues",
        "commands launched and not started; mean is over the window's time; full is 1024 or more", COLUMNS);
    (void)state;
    for (size_t i = 0; i < context->timeline->row_count; i++) {
        const tsmith_row *row = &context->timeline->rows[i];
        struct lengths lengths;
        tsmith_status status = measure(context, row, &lengths);
        if (status != TSMITH_OK)
            return status;
        full = sweep_add(full, lengths.full);
        most = lengths.most > most ? lengths.most : most;
        analysis_track_text(report, table, context, row->track);
        report_integer(report, table, (int64_t)lengths.commands);
        report_integer(report, table, lengths.most);
        if (lengths.most)
            report_integer(report, table, lengths.at_most - context->window.from);
        else
            report_unknown(report, table);
        unknown += lengths.unknown;
        if (lengths.unknown && !lengths.commands) { // nothing is known of this queue
            for (int cell = 0; cell < 4; cell++)
                report_unknown(report, table);
            continue;
        }
        report_number(report, table, window ? lengths.area / (double)window : 0);
        report_integer(report, table, lengths.empty);
        report_share(report, table, lengths.empty, window);
        report_integer(report, table, lengths.full);
    }
    char time[REPORT_TEXT];
    if (!most)
        report_finding(report, "No command is known to have waited in a queue.");
    else if (full)
        report_finding(report, "A queue held %d commands or more for %s%s.", FULL,
                       report_duration(time, full),
                       launches_by_cuda(context) ? ": CUDA's launching calls wait then" : "");
    else
        report_finding(report, "No queue is known to have held %d commands; the longest held %lld.", FULL,
                       (long long)most);
    if (unknown)
        report_note(report, "The call that launched %llu command%s unknown: queues may have held more.",
                    (unsigned long long)unknown, unknown == 1 ? " is" : "s is");
    return TSMITH_OK;
}

const struct analysis_kind analysis_queue_length = {
    .name = "queue_length",
    .question = "How many commands waited in the queues?",
    .needs = NEEDS_GRAPH,
    .finish = finish,
};
