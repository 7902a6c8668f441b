// SPDX-License-Identifier: Apache-2.0
// The timeline of a report: a row for each queue and each host thread. page.c calls it.
//
// A picture of a row is WIDE units wide on any screen. A row with few stretches shows each of them, one with many the
// share of each of BUCKETS equal parts of the window. The heights of the parts add up to the busy time of the row;
// the script only changes which part of the picture is seen.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report.h"
#include "base/plural.h"
#include "report/page.h"
#include "tracesmith/memory.h"

enum {
    WIDE = 1000000,
    BUCKETS = 1000,
    STRETCHES_MOST = 2000, // drawn one by one
    NAMED_MOST = 400,      // commands of a row that are shown with their names
    ROWS_MOST = 64,
    THREADS_MOST = 32,
    TICKS = 4
};

enum { WORKS = 3 }; // compute, communication, copy
static const char *const WORK_CLASSES[WORKS] = {"k", "c", "y"};

struct stretches {
    tsmith_interval *items;
    size_t count;
};

static double x_of_time(const struct page *page, int64_t time) {
    const tsmith_interval window = tsmith_timeline_window(page->timeline);
    const double length = (double)window.to - (double)window.from;
    const double at = ((double)time - (double)window.from) / (length > 0 ? length : 1);
    return WIDE * (at < 0 ? 0 : at > 1 ? 1 : at);
}

// Adds the share of each bucket that the stretches, which are disjoint, cover.
static void add_shares(const struct page *page, const struct stretches *stretches, double *shares) {
    for (size_t i = 0; i < stretches->count; i++) {
        const double from = x_of_time(page, stretches->items[i].from) * BUCKETS / WIDE,
                     to = x_of_time(page, stretches->items[i].to) * BUCKETS / WIDE;
        for (size_t bucket = (size_t)from; bucket < BUCKETS && (double)bucket < to; bucket++) {
            const double begin = from > (double)bucket ? from : (double)bucket,
                         end = to < (double)bucket + 1 ? to : (double)bucket + 1;
            shares[bucket] += end > begin ? end - begin : 0;
        }
    }
}

static void put_box(FILE *out, double from, double to, double height) {
    (void)fprintf(out, "M%.0f 100h%.0fv-%.1fH%.0fz", from, to - from < 1 ? 1 : to - from, height, from);
}

// ---- a queue

// What runs most in a bucket gives it its color.
static void put_buckets(const struct page *page, const struct stretches works[WORKS],
                        const struct stretches *any) {
    double *shares = calloc((WORKS + 1) * (size_t)BUCKETS, sizeof *shares);
    if (!shares)
        return;
    for (size_t work = 0; work < WORKS; work++)
        add_shares(page, &works[work], shares + work * BUCKETS);
    const double *all = shares + WORKS * BUCKETS;
    add_shares(page, any, shares + WORKS * BUCKETS);
    for (size_t work = 0; work < WORKS; work++) {
        (void)fprintf(page->out, "<path class=%s d=\"", WORK_CLASSES[work]);
        for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
            size_t most = 0;
            for (size_t i = 1; i < WORKS; i++)
                most = shares[i * BUCKETS + bucket] > shares[most * BUCKETS + bucket] ? i : most;
            if (most == work && all[bucket] > 0)
                put_box(page->out, (double)bucket * WIDE / BUCKETS, (double)(bucket + 1) * WIDE / BUCKETS,
                        all[bucket] < 0.02 ? 2 : 100 * all[bucket]);
        }
        (void)fputs("\"/>", page->out);
    }
    free(shares);
}

static void put_stretches(const struct page *page, const struct stretches *stretches, const char *class) {
    if (!stretches->count)
        return;
    (void)fprintf(page->out, "<path class=%s d=\"", class);
    for (size_t i = 0; i < stretches->count; i++)
        put_box(page->out, x_of_time(page, stretches->items[i].from), x_of_time(page, stretches->items[i].to),
                100);
    (void)fputs("\"/>", page->out);
}

static void put_command(const struct page *page, const tsmith_command *command) {
    char time[REPORT_TEXT];
    const tsmith_string name = tsmith_dictionary_string(page->dictionary, command->name);
    const char *operation = tsmith_operation_name((tsmith_operation)command->operation);
    const double from = x_of_time(page, command->start), to = x_of_time(page, command->end);
    (void)fprintf(page->out, "<rect class=%s x=%.0f y=0 width=%.0f height=100><title>",
                  WORK_CLASSES[command->work], from, to - from < 1 ? 1 : to - from);
    if (name.length)
        markup_text(page->out, name, 200);
    else
        markup_cstr(page->out, operation ? operation : "?");
    (void)fprintf(page->out, ", %s</title></rect>", report_duration(time, command->end - command->start));
}

static bool runs(const tsmith_command *command) {
    return command->work < WORKS && command->end > command->start && !command->untimed;
}

static void put_queue_picture(const struct page *page, const tsmith_row *row) {
    struct stretches works[WORKS] = {{NULL, 0}}, any = {NULL, 0};
    size_t count, total = 0;
    const tsmith_command *commands = tsmith_timeline_commands(page->timeline, &count) + row->first_command;
    bool good = true;
    if (row->command_count <= NAMED_MOST) {
        for (uint32_t i = 0; i < row->command_count; i++)
            if (runs(&commands[i]))
                put_command(page, &commands[i]);
        return;
    }
    for (size_t work = 0; work < WORKS && good; work++) {
        good = tsmith_timeline_busy(page->timeline, row, 1u << work, &works[work].items,
                                    &works[work].count) == TSMITH_OK;
        total += works[work].count;
    }
    good = good &&
           tsmith_timeline_busy(page->timeline, row, (1u << WORKS) - 1, &any.items, &any.count) == TSMITH_OK;
    for (size_t work = 0; work < WORKS && good && total <= STRETCHES_MOST; work++)
        put_stretches(page, &works[work], WORK_CLASSES[work]);
    if (good && total > STRETCHES_MOST)
        put_buckets(page, works, &any);
    for (size_t work = 0; work < WORKS; work++)
        tsmith_free(works[work].items);
    tsmith_free(any.items);
}

// ---- a thread

// The stretches in which the thread was in a call (all), or waited in one. They are disjoint: a call within another adds nothing.
static bool find_calls(const struct page *page, const tsmith_thread *thread, bool waits,
                       struct stretches *out) {
    size_t count;
    const tsmith_call *calls = tsmith_timeline_calls(page->timeline, &count) + thread->first_call;
    *out = (struct stretches){malloc((thread->call_count + (size_t)1) * sizeof *out->items), 0};
    for (uint32_t i = 0; out->items && i < thread->call_count; i++) {
        const tsmith_call *call = &calls[i];
        if (waits && !call->blocking &&
            (call->role < TSMITH_CALL_SYNC_QUEUE || call->role > TSMITH_CALL_SYNC_EVENT))
            continue;
        tsmith_interval *last = out->count ? &out->items[out->count - 1] : NULL;
        if (last && call->start <= last->to)
            last->to = call->end > last->to ? call->end : last->to;
        else if (call->end > call->start)
            out->items[out->count++] = (tsmith_interval){call->start, call->end};
    }
    return out->items != NULL;
}

static void put_thread_picture(const struct page *page, const tsmith_thread *thread) {
    for (int waits = 0; waits < 2; waits++) {
        struct stretches calls;
        double *shares = calloc(BUCKETS, sizeof *shares);
        if (!find_calls(page, thread, waits, &calls) || !shares) {
            free(calls.items);
            free(shares);
            return;
        }
        const char *class = waits ? "w" : "a";
        if (calls.count <= STRETCHES_MOST) {
            put_stretches(page, &calls, class);
        } else {
            add_shares(page, &calls, shares);
            (void)fprintf(page->out, "<path class=%s d=\"", class);
            for (size_t bucket = 0; bucket < BUCKETS; bucket++)
                if (shares[bucket] > 0)
                    put_box(page->out, (double)bucket * WIDE / BUCKETS, (double)(bucket + 1) * WIDE / BUCKETS,
                            shares[bucket] < 0.02 ? 2 : 100 * shares[bucket]);
            (void)fputs("\"/>", page->out);
        }
        free(calls.items);
        free(shares);
    }
}

// ---- rows

static void put_holes(const struct page *page, uint32_t process) {
    size_t count;
    const tsmith_hole *holes = tsmith_timeline_holes(page->timeline, &count);
    for (size_t i = 0; i < count && i < STRETCHES_MOST; i++) {
        const tsmith_hole *hole = &holes[i];
        const char *reason = tsmith_reason_name((tsmith_reason)hole->reason);
        if (hole->process && process && hole->process != process)
            continue;
        const double from = x_of_time(page, hole->from), to = x_of_time(page, hole->to);
        (void)fprintf(page->out, "<rect class=h x=%.0f y=0 width=%.0f height=100><title>", from,
                      to - from < 1000 ? 1000 : to - from);
        if (hole->lost)
            (void)fprintf(page->out, "%" PRIu64 " %s missing: %s", hole->lost,
                          plural(hole->lost, "event", "events"), reason ? reason : "?");
        else
            (void)fprintf(page->out, "events are missing: %s", reason ? reason : "?");
        (void)fputs("</title></rect>", page->out);
    }
}

static void begin_row(const struct page *page, tsmith_string name, tsmith_string of) {
    FILE *out = page->out;
    (void)fputs("<div class=r><div class=l>", out);
    markup_name(out, name);
    if (of.length) {
        (void)fputs(" <small>", out);
        markup_name(out, of);
        (void)fputs("</small>", out);
    }
    (void)fputs("</div>", out);
}

static void put_queue(const struct page *page, const tsmith_row *row) {
    char name[TSMITH_LABEL_SIZE], device[TSMITH_LABEL_SIZE], time[REPORT_TEXT];
    const tsmith_interval window = tsmith_timeline_window(page->timeline);
    begin_row(page, tsmith_track_name(page->dictionary, row->track, name),
              tsmith_device_name(page->dictionary, row->dictionary_device, device));
    (void)fprintf(page->out,
                  "<div class=b>%s busy, %.1f%%</div>"
                  "<svg viewBox=\"0 0 %d 100\" preserveAspectRatio=none role=img data-busy=%" PRId64 ">",
                  report_duration(time, row->busy), report_percent(row->busy, window.to - window.from), WIDE,
                  row->busy);
    put_queue_picture(page, row);
    put_holes(page, row->process);
    (void)fputs("</svg></div>\n", page->out);
}

static void put_thread(const struct page *page, const tsmith_thread *thread) {
    char name[TSMITH_LABEL_SIZE];
    char tid[REPORT_TEXT] = "";
    const tsmith_track *track = tsmith_dictionary_track(page->dictionary, thread->track);
    if (track && track->tid)
        (void)snprintf(tid, sizeof tid, "tid %" PRIu64, (uint64_t)track->tid);
    begin_row(page, tsmith_track_name(page->dictionary, thread->track, name),
              (tsmith_string){tid, strlen(tid)});
    (void)fprintf(page->out,
                  "<div class=b>%u %s</div>"
                  "<svg viewBox=\"0 0 %d 100\" preserveAspectRatio=none role=img>",
                  thread->call_count, plural(thread->call_count, "call", "calls"), WIDE);
    put_thread_picture(page, thread);
    put_holes(page, thread->process);
    (void)fputs("</svg></div>\n", page->out);
}

static void put_axis(const struct page *page) {
    char time[REPORT_TEXT];
    const tsmith_interval window = tsmith_timeline_window(page->timeline);
    (void)fprintf(page->out, "<div class=x data-length=%" PRId64 ">", window.to - window.from);
    for (int64_t i = 0; i <= TICKS; i++)
        (void)fprintf(page->out, "<span>%s</span>",
                      report_duration(time, (window.to - window.from) / TICKS * i));
    (void)fputs("</div>\n", page->out);
}

static void put_legend(FILE *out) {
    (void)fputs("<p class=g><svg viewBox=\"0 0 9 9\"><path class=k d=\"M0 0h9v9H0z\"/></svg> compute "
                "<svg viewBox=\"0 0 9 9\"><path class=c d=\"M0 0h9v9H0z\"/></svg> communication "
                "<svg viewBox=\"0 0 9 9\"><path class=y d=\"M0 0h9v9H0z\"/></svg> copy "
                "<svg viewBox=\"0 0 9 9\"><path class=a d=\"M0 0h9v9H0z\"/></svg> host in a call "
                "<svg viewBox=\"0 0 9 9\"><path class=w d=\"M0 0h9v9H0z\"/></svg> host waits "
                "<svg viewBox=\"0 0 9 9\"><path class=h d=\"M0 0h9v9H0z\"/></svg> events are missing</p>\n",
                out);
}

void picture_timeline(const struct page *page) {
    FILE *out = page->out;
    size_t rows, threads, shown = 0;
    const tsmith_row *row = tsmith_timeline_rows(page->timeline, &rows);
    const tsmith_thread *thread = tsmith_timeline_threads(page->timeline, &threads);
    (void)fputs("<section id=timeline><h2>Timeline</h2>\n", out);
    put_legend(out);
    (void)fputs("<div class=t tabindex=0>\n", out);
    put_axis(page);
    for (size_t i = 0; i < rows && i < ROWS_MOST; i++)
        put_queue(page, &row[i]);
    for (size_t i = 0; i < threads && shown < THREADS_MOST; i++)
        if (thread[i].call_count) {
            put_thread(page, &thread[i]);
            shown++;
        }
    (void)fputs("</div>\n", out);
    if (rows > ROWS_MOST)
        (void)fprintf(out, "<p class=m>%d of %zu queues are shown.</p>\n", ROWS_MOST, rows);
    size_t with_calls = 0;
    for (size_t i = 0; i < threads; i++)
        with_calls += thread[i].call_count != 0;
    if (with_calls > shown)
        (void)fprintf(out, "<p class=m>%zu of %zu threads are shown.</p>\n", shown, with_calls);
    (void)fputs(
        "<p class=m id=keys hidden>Wheel or + and -: zoom; drag, or A and D: move; 0: all.</p>\n</section>\n",
        out);
}
