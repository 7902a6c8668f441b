// SPDX-License-Identifier: Apache-2.0
// The totals as tables for people: a section for each question, and none for what did not happen.
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "terminal.h"
#include "tracesmith/time.h"

enum {
    ROWS_MOST = 20,  // of one table; --json has all
    CAUSES_MOST = 6, // of one wait
    PREFIX_MOST = 4096,
    NAME_LEAST = 23,
    FIGURES = 57, // columns of the figures of a table of names
    LABEL = 28,   // columns of what the other tables are about
    TRANSFER = 22,
    CAUSE = 49, // where the time of a cause ends: below the total of its wait
    BAR_CELLS = 12
};

#define BOLD "\x1b[1m"
#define DIM "\x1b[2m"
#define PLAIN "\x1b[0m"

static void print_heading(const char *title, const char *columns) {
    bool color = terminal_color();
    output_printf("\n%s%s%s%s\n", color ? BOLD : "", title, columns, color ? PLAIN : "");
}

// "-" if none has a size.
static void add_known_bytes(struct text *line, uint64_t known, uint64_t bytes) {
    if (known)
        text_add_bytes(line, (double)bytes);
    else
        text_add_char(line, '-');
}

static double share_of(int64_t part, int64_t whole) {
    return whole > 0 ? (double)part / (double)whole : 0;
}

static void add_padded_duration(struct text *line, int64_t ns, size_t width) {
    size_t from = line->length;
    text_add_duration(line, ns);
    text_pad_left(line, from, width);
}

static void add_padded_count(struct text *line, uint64_t count, size_t width) {
    size_t from = line->length;
    text_add_count(line, count);
    text_pad_left(line, from, width);
}

// What a total is called: its name, or its operation and direction, or its kind.
static size_t add_total_name(struct text *line, const struct stats *stats, const struct total *total,
                             size_t columns) {
    struct text label = {0};
    const char *operation = tsmith_value_name(TSMITH_TYPE_OPERATION, total->operation);
    const char *direction = tsmith_value_name(TSMITH_TYPE_DIRECTION, total->direction);
    const char *kind = tsmith_value_name(TSMITH_TYPE_KIND, total->kind);
    if (total->name)
        return text_add_safe(line, trace_string(&stats->view->trace, total->name), columns);
    text_add_cstr(&label, operation ? operation : kind ? kind : "unknown");
    if (direction)
        text_add_format(&label, " %s", direction);
    size_t width = text_add_safe(line, text_string(text_cstr(&label)), columns);
    text_finish(&label);
    return width;
}

// The name of one of the totals that are shown. Names that would be cut to the same lose their middle instead, so that their
// difference is visible: global_bandwidth_v1_local_offset becomes glob~1_loca~ if global_bandwidth_v1_global_offset is shown too.
static size_t add_name_among(struct text *line, const struct stats *stats, const struct total *shown,
                             size_t count, size_t which, size_t columns) {
    const tsmith_string name = trace_string(&stats->view->trace, shown[which].name);
    size_t same = 0;
    for (size_t i = 0; i < count && shown[which].name; i++) {
        const tsmith_string other = trace_string(&stats->view->trace, shown[i].name);
        size_t at = 0;
        while (i != which && at < PREFIX_MOST && at < name.length && at < other.length &&
               name.bytes[at] == other.bytes[at])
            at++;
        same = at > same && at < name.length ? at : same;
    }
    if (!shown[which].name || same + 1 < columns || name.length <= columns)
        return add_total_name(line, stats, &shown[which], columns);
    const size_t width = text_add_safe(line, name, columns * 2 / 5);
    same -= 2;
    while (same && ((unsigned char)name.bytes[same] & 0xc0) == 0x80)
        same--;
    return width +
           text_add_safe(line, (tsmith_string){name.bytes + same, name.length - same}, columns - width);
}

static void print_left_out(size_t left) {
    if (left)
        output_printf("  %s... and %zu more (--json has all)%s\n", terminal_color() ? DIM : "", left,
                      terminal_color() ? PLAIN : "");
}

// ---- totals by name

static bool is_of_kind(const struct total *total, uint8_t kind) {
    return total->kind == kind;
}

static int64_t sum_of(const struct stats *stats, const uint32_t *indices, size_t count) {
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum = tsmith_time_add(sum, stats->totals[indices[i]].sum);
    return sum;
}

static void write_named_table(struct stats *stats, uint8_t kind, const char *title) {
    size_t count;
    struct text line = {0};
    size_t name_width = terminal_width() < NAME_LEAST + FIGURES ? NAME_LEAST : terminal_width() - FIGURES;
    uint32_t *indices = stats_sorted(stats, is_of_kind, kind, &count);
    if (!indices || !count)
        goto done;
    int64_t sum = sum_of(stats, indices, count);
    text_add_format(&line, "%-*s", (int)name_width, title);
    print_heading(text_cstr(&line), "     COUNT     TOTAL   AVERAGE       MIN       MAX  SHARE");
    text_clear(&line);
    struct total shown[ROWS_MOST];
    for (size_t i = 0; i < count && i < ROWS_MOST; i++)
        shown[i] = stats->totals[indices[i]];
    for (size_t i = 0; i < count && i < ROWS_MOST; i++) {
        const struct total *total = &shown[i];
        size_t width =
            add_name_among(&line, stats, shown, count < ROWS_MOST ? count : ROWS_MOST, i, name_width);
        text_pad_right(&line, width, name_width);
        add_padded_count(&line, total->count, 10);
        if (total->timed) {
            add_padded_duration(&line, total->sum, 10);
            add_padded_duration(&line, total->sum / (int64_t)total->timed, 10);
            add_padded_duration(&line, total->least, 10);
            add_padded_duration(&line, total->most, 10);
            text_add_char(&line, ' ');
            text_add_share(&line, share_of(total->sum, sum));
        } else {
            text_add_cstr(&line, "         -         -         -         -      -");
        }
        text_add_char(&line, '\n');
        output_text(&line);
    }
    print_left_out(count > ROWS_MOST ? count - ROWS_MOST : 0);
done:
    text_finish(&line);
    free(indices);
}

static bool is_transfer(const struct total *total, uint8_t kind) {
    (void)kind;
    return total->kind == TSMITH_KIND_MEMCPY || total->kind == TSMITH_KIND_MEMSET;
}

static void write_transfers(struct stats *stats) {
    size_t count;
    struct text line = {0};
    uint32_t *indices = stats_sorted(stats, is_transfer, 0, &count);
    if (!indices || !count)
        goto done;
    print_heading("TRANSFERS             ", "     COUNT      BYTES      TOTAL    AVERAGE     BANDWIDTH");
    for (size_t i = 0; i < count && i < ROWS_MOST; i++) {
        const struct total *total = &stats->totals[indices[i]];
        text_pad_right(&line, add_total_name(&line, stats, total, TRANSFER), TRANSFER);
        add_padded_count(&line, total->count, 10);
        size_t from = line.length;
        add_known_bytes(&line, total->sized, total->bytes);
        text_pad_left(&line, from, 11);
        if (total->timed) {
            add_padded_duration(&line, total->sum, 11);
            add_padded_duration(&line, total->sum / (int64_t)total->timed, 11);
        } else {
            text_add_cstr(&line, "          -          -");
        }
        from = line.length;
        if (stats_has_rate(total)) {
            text_add_bytes(&line, (double)total->timed_bytes * 1e9 / (double)total->bytes_time);
            text_add_cstr(&line, "/s");
        }
        text_pad_left(&line, from, 14);
        text_add_char(&line, '\n');
        output_text(&line);
    }
    print_left_out(count > ROWS_MOST ? count - ROWS_MOST : 0);
done:
    text_finish(&line);
    free(indices);
}

// ---- busy

static void add_bar(struct text *line, double share) {
    size_t filled = share <= 0 ? 0 : share >= 1 ? BAR_CELLS : (size_t)(share * BAR_CELLS + 0.5);
    text_add_char(line, '[');
    text_add_repeat(line, '#', filled);
    text_add_repeat(line, '.', BAR_CELLS - filled);
    text_add_char(line, ']');
}

static void write_busy_row(struct text *line, size_t width, const struct covered *covered, int64_t sum,
                           int64_t window) {
    text_pad_right(line, width, LABEL);
    add_padded_duration(line, covered->busy, 11);
    text_add_cstr(line, "  ");
    text_add_share(line, share_of(covered->busy, window));
    text_add_char(line, ' ');
    add_bar(line, share_of(covered->busy, window));
    // More work than time: commands ran side by side.
    if (covered->busy > 0 && sum > tsmith_time_add(covered->busy, covered->busy / 100))
        text_add_format(line, " x%.2f at once", share_of(sum, covered->busy));
    text_add_char(line, '\n');
    output_text(line);
}

// The queues that worked, by device: those of device d are ids[first[d]] up to ids[first[d + 1]].
struct queues {
    uint32_t *first, *ids;
};

static uint32_t device_of(const struct stats *stats, uint32_t id) {
    const tsmith_track *entry = tsmith_dictionary_track(stats->view->trace.dictionary, id);
    return entry && entry->device < stats->device_count ? entry->device : 0;
}

static bool sort_queues(const struct stats *stats, struct queues *queues) {
    *queues = (struct queues){calloc((size_t)stats->device_count + 2, sizeof *queues->first),
                              malloc(((size_t)stats->track_count + 1) * sizeof *queues->ids)};
    if (!queues->first || !queues->ids)
        return false;
    uint32_t *next = queues->first + 1; // of each device, until its queues have been put in
    for (uint32_t id = 0; id < stats->track_count; id++)
        if (stats->tracks[id].device_work.started && device_of(stats, id) + 1 < stats->device_count)
            next[device_of(stats, id) + 1]++;
    for (uint32_t device = 1; device < stats->device_count; device++)
        next[device] += next[device - 1];
    for (uint32_t id = 0; id < stats->track_count; id++)
        if (stats->tracks[id].device_work.started)
            queues->ids[next[device_of(stats, id)]++] = id;
    return true;
}

static void write_queue(struct stats *stats, uint32_t id) {
    struct text line = {0};
    const struct track_totals *track = &stats->tracks[id];
    text_add_cstr(&line, "  ");
    size_t width =
        trace_add_track_label(&line, stats->view->trace.dictionary, id, TSMITH_LABEL_DEVICE, LABEL - 3);
    write_busy_row(&line, width + 2, &track->device_work, track->work_sum, stats->to - stats->from);
    text_finish(&line);
}

static void write_device(struct stats *stats, uint32_t id) {
    struct text line = {0};
    const struct device_totals *device = &stats->devices[id];
    const size_t width = trace_add_device_label(&line, stats->view->trace.dictionary, id, LABEL - 1);
    write_busy_row(&line, width, &device->work, device->work_sum, stats->to - stats->from);
    text_finish(&line);
}

static void write_devices(struct stats *stats) {
    struct queues queues;
    size_t devices = 0, rows = 0;
    if (!sort_queues(stats, &queues))
        goto done;
    for (uint32_t id = 0; id < stats->device_count; id++) {
        const tsmith_device *entry = tsmith_dictionary_device(stats->view->trace.dictionary, id);
        const bool worked = stats->devices[id].work.started && entry;
        const uint32_t from = queues.first[id], to = queues.first[id + 1];
        if ((worked || from < to) && devices + rows == 0)
            print_heading("DEVICES AND QUEUES          ", "       BUSY   SHARE");
        if (worked && devices++ < ROWS_MOST)
            write_device(stats, id);
        for (uint32_t i = from; i < to; i++)
            if (rows++ < ROWS_MOST)
                write_queue(stats, queues.ids[i]);
    }
    print_left_out((rows > ROWS_MOST ? rows - ROWS_MOST : 0) +
                   (devices > ROWS_MOST ? devices - ROWS_MOST : 0));
done:
    free(queues.first);
    free(queues.ids);
}

// Queues and engines wait too (an import of Nsight Systems), and are no threads. Where waits are not known, neither is a row of one.
static bool is_host_row(const struct stats *stats, uint32_t id, bool knows_waits) {
    const struct track_totals *track = &stats->tracks[id];
    const tsmith_track *entry = tsmith_dictionary_track(stats->view->trace.dictionary, id);
    const bool of_device =
        entry && (entry->kind == TSMITH_TRACK_QUEUE || entry->kind == TSMITH_TRACK_COPY_ENGINE);
    return !of_device && (track->calls.started || (knows_waits && track->waiting.started));
}

static void write_hosts(struct stats *stats) {
    struct text line = {0};
    const tsmith_dictionary *dictionary = stats->view->trace.dictionary;
    size_t rows = 0;
    const bool knows_waits = stats_know_waits(stats);
    for (uint32_t id = 0; id < stats->track_count; id++) {
        const struct track_totals *track = &stats->tracks[id];
        if (!is_host_row(stats, id, knows_waits))
            continue;
        if (rows++ == 0)
            print_heading("HOST THREADS                ", "   IN CALLS   SHARE     WAITING   SHARE");
        if (rows > ROWS_MOST)
            continue;
        text_pad_right(&line, trace_add_track_label(&line, dictionary, id, 0, LABEL - 1), LABEL);
        if (track->calls.started) {
            add_padded_duration(&line, track->calls.busy, 11);
            text_add_cstr(&line, "  ");
            text_add_share(&line, share_of(track->calls.busy, stats->to - stats->from));
        } else {
            text_add_cstr(&line, "          -       -");
        }
        if (knows_waits) {
            add_padded_duration(&line, track->waiting.busy, 12);
            text_add_cstr(&line, "  ");
            text_add_share(&line, share_of(track->waiting.busy, stats->to - stats->from));
        } else {
            text_add_cstr(&line, "           -       -");
        }
        text_add_char(&line, '\n');
        output_text(&line);
    }
    if (rows && !knows_waits)
        output_cstr("the trace records waits only as calls: see tracesmith analyze --only sync\n");
    print_left_out(rows > ROWS_MOST ? rows - ROWS_MOST : 0);
    text_finish(&line);
}

// ---- what the host waited for

// One part of a wait; its name is added by the caller.
static void add_cause(struct text *line, const struct wait *wait, int64_t ns) {
    add_padded_duration(line, ns, CAUSE);
    text_add_cstr(line, "  ");
    text_add_share(line, share_of(ns, wait->sum));
    text_add_cstr(line, "  ");
}

static void write_causes(struct stats *stats, uint32_t number) {
    size_t count;
    struct text line = {0};
    const struct wait *wait = &stats->waits[number];
    uint32_t *causes = stats_sorted_causes(stats, number, &count);
    int64_t others = wait->explained;
    struct total shown[CAUSES_MOST];
    for (size_t i = 0; causes && i < count && i < CAUSES_MOST; i++) {
        const struct cause *cause = &stats->causes[causes[i]];
        shown[i] = (struct total){.kind = cause->kind, .name = cause->name, .operation = cause->operation};
    }
    for (size_t i = 0; causes && i < count && i < CAUSES_MOST; i++) {
        const struct cause *cause = &stats->causes[causes[i]];
        const char *kind = tsmith_value_name(TSMITH_TYPE_KIND, cause->kind);
        others -= cause->sum;
        add_cause(&line, wait, cause->sum);
        text_add_format(&line, "%s ", kind ? kind : "");
        add_name_among(&line, stats, shown, count < CAUSES_MOST ? count : CAUSES_MOST, i,
                       terminal_width() - CAUSE - 18);
        text_add_char(&line, '\n');
    }
    if (count > CAUSES_MOST) {
        add_cause(&line, wait, others);
        text_add_format(&line, "%zu %s\n", count - CAUSES_MOST,
                        plural(count - CAUSES_MOST, "other", "others"));
    }
    if (wait->sum > wait->explained) {
        add_cause(&line, wait, wait->sum - wait->explained);
        text_add_cstr(&line, stats->timed_work < stats->work ? "no event has times\n" : "nothing ran\n");
    }
    output_text(&line);
    text_finish(&line);
    free(causes);
}

static void write_waits(struct stats *stats) {
    size_t count;
    struct text line = {0};
    uint32_t *waits = stats_sorted_waits(stats, &count);
    if (!waits || !count)
        goto done;
    print_heading("WHAT THE HOST WAITED FOR    ", "     COUNT      TOTAL");
    for (size_t i = 0; i < count && i < ROWS_MOST; i++) {
        const struct wait *wait = &stats->waits[waits[i]];
        const char *operation = tsmith_value_name(TSMITH_TYPE_OPERATION, wait->operation);
        size_t width = text_add_safe(&line, text_string(operation ? operation : "wait"), 0);
        if (wait->queue) {
            text_add_char(&line, ' ');
            width += 1 + trace_add_track_label(&line, stats->view->trace.dictionary, wait->queue, 0,
                                               LABEL - 2 - width);
        }
        text_pad_right(&line, width, LABEL);
        add_padded_count(&line, wait->count, 10);
        add_padded_duration(&line, wait->sum, 11);
        text_add_char(&line, '\n');
        output_text(&line);
        write_causes(stats, waits[i]);
    }
    print_left_out(count > ROWS_MOST ? count - ROWS_MOST : 0);
done:
    text_finish(&line);
    free(waits);
}

static void write_failures(struct stats *stats) {
    struct text line = {0};
    const size_t count = stats->failure_map.count;
    if (count)
        print_heading("FAILED CALLS                ", "     COUNT      RESULT");
    for (size_t i = 0; i < count && i < ROWS_MOST; i++) {
        const struct failure *failure = &stats->failures[i];
        text_pad_right(&line, text_add_safe(&line, trace_string(&stats->view->trace, failure->name), LABEL),
                       LABEL);
        add_padded_count(&line, failure->count, 10);
        size_t from = line.length;
        text_add_i64(&line, failure->result);
        text_pad_left(&line, from, 12);
        text_add_char(&line, '\n');
        output_text(&line);
    }
    print_left_out(count > ROWS_MOST ? count - ROWS_MOST : 0);
    text_finish(&line);
}

static void write_memory(struct stats *stats) {
    struct text line = {0};
    bool first = true;
    for (uint32_t id = 0; id < stats->process_count; id++) {
        const struct memory_totals *memory = &stats->processes[id];
        const tsmith_process *process = tsmith_dictionary_process(stats->view->trace.dictionary, id);
        if (!memory->allocations && !memory->frees)
            continue;
        if (first)
            print_heading("DEVICE MEMORY               ", "     ALLOCS      FREES       PEAK  AT THE END");
        first = false;
        size_t width =
            process ? text_add_safe(&line,
                                    trace_program_name(trace_string(&stats->view->trace, process->name)), 14)
                    : 0;
        if (process) {
            size_t from = line.length;
            text_add_format(&line, " pid %lld", (long long)process->pid);
            width += line.length - from;
        }
        text_pad_right(&line, width, LABEL);
        add_padded_count(&line, memory->allocations, 11);
        add_padded_count(&line, memory->frees, 11);
        size_t from = line.length;
        add_known_bytes(&line, memory->sized, memory->peak);
        text_pad_left(&line, from, 11);
        from = line.length;
        add_known_bytes(&line, memory->sized, memory->live);
        text_pad_left(&line, from, 12);
        text_add_char(&line, '\n');
        output_text(&line);
    }
    text_finish(&line);
}

static void write_head(struct stats *stats) {
    struct text line = {0};
    text_add_safe(&line, text_string(stats->view->trace.path), 0);
    text_add_cstr(&line, ": ");
    text_add_counted(&line, stats->events, "event", "events");
    text_add_cstr(&line, " in ");
    text_add_duration(&line, stats->to - stats->from);
    if (window_has_time(&stats->view->window)) {
        text_add_cstr(&line, ", from ");
        text_add_duration(&line, stats->from - stats->view->trace.summary.first_start);
        text_add_cstr(&line, " to ");
        text_add_duration(&line, stats->to - stats->view->trace.summary.first_start);
    }
    text_add_char(&line, '\n');
    output_text(&line);
    text_finish(&line);
}

// Every statement about time above is based on the commands that have times.
static void write_timed(const struct stats *stats) {
    struct text line = {0};
    if (stats->timed_work == stats->work)
        return;
    print_heading("TIMED", "");
    text_add_count(&line, stats->timed_work);
    text_add_cstr(&line, " of ");
    text_add_count(&line, stats->work);
    text_add_format(&line, " kernels and transfers (%.1f%%); device times above are based on those only\n",
                    100 * (double)stats->timed_work / (double)stats->work);
    output_text(&line);
    text_finish(&line);
}

// The totals lack what is missing, and times of what has none: in how much of the time that can be.
static void write_holes(struct stats *stats) {
    struct text words = {0}, lines = {0};
    if (!stats->lost && !stats->holes.started)
        return;
    print_heading(stats->partial ? "MISSING OR INCOMPLETE" : "NOT RECORDED", "");
    text_add_counted(&words, stats->lost, "event", "events");
    if (stats->holes.busy) {
        text_add_cstr(&words, ", in intervals that cover ");
        text_add_duration(&words, stats->holes.busy);
        text_add_format(&words, " (%.1f%%) of the time",
                        100 * share_of(stats->holes.busy, stats->to - stats->from));
    } else {
        text_add_cstr(&words, ", at an unknown time");
    }
    const char *them = plural(stats->lost, "it", "them");
    text_add_format(&words, "; everything above lacks %s", them);
    if (stats->partial)
        text_add_format(&words, ", or a part of %s", them);
    text_add_wrapped(&lines, (tsmith_string){text_cstr(&words), words.length}, 0, 0, terminal_width());
    output_text(&lines);
    text_finish(&words);
    text_finish(&lines);
}

void stats_write_text(struct stats *stats) {
    write_head(stats);
    write_devices(stats);
    write_named_table(stats, TSMITH_KIND_KERNEL, "KERNELS");
    write_transfers(stats);
    write_named_table(stats, TSMITH_KIND_COLLECTIVE, "COLLECTIVES");
    write_named_table(stats, TSMITH_KIND_GRAPH_LAUNCH, "GRAPH LAUNCHES");
    write_hosts(stats);
    write_waits(stats);
    write_named_table(stats, TSMITH_KIND_API, "API CALLS");
    write_failures(stats);
    write_named_table(stats, TSMITH_KIND_COMPILE, "COMPILATION");
    write_named_table(stats, TSMITH_KIND_RANGE, "RANGES");
    write_named_table(stats, TSMITH_KIND_FRAME, "FRAMES");
    write_named_table(stats, TSMITH_KIND_HOST_FUNCTION, "HOST FUNCTIONS");
    write_named_table(stats, TSMITH_KIND_OVERHEAD, "OVERHEAD OF RECORDING");
    write_memory(stats);
    write_timed(stats);
    write_holes(stats);
}
