// SPDX-License-Identifier: Apache-2.0
// Follows a trace while it is written: takes in its new frames, adds up their events, notes which tracks changed, and finds out how the
// recording ended. It reads the file alone: neither the recorded program nor the collector does anything for it.
#include "cli/studio/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/present/top.h"
#include "cli/sessions.h"
#include "cli/studio/picture.h"

enum { BATCHES_AT_ONCE = 16 };
static const int64_t WANTED = 5000000000; // ns

// The trace clock of recordings on this machine.
static int64_t trace_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void note_session(void *context, const char *directory, const tsmith_capture_left *left) {
    struct live *live = context;
    if (!left->collected || left->collector_pid != live->writer)
        return;
    live->is_session = true;
    (void)snprintf(live->session, sizeof live->session, "%s", directory);
}

static void find_writer(struct live *live, const tsmith_sbt *sbt) {
    const uint64_t writer = tsmith_sbt_writer_process(sbt);
    if (!writer || writer == live->writer)
        return;
    live->writer = writer;
    live->is_session = false;
    sessions_each(note_session, live);
}

bool live_begin(struct file *file) {
    struct stat info;
    if (!tsmith_sbt_writer_process(file->sbt) || stat(file->path, &info) != 0)
        return true;
    struct live *live = calloc(1, sizeof *live);
    if (!live || tsmith_live_sums_create(0, &live->sums, NULL) < 0) {
        free(live);
        return false;
    }
    live->device = info.st_dev;
    live->inode = info.st_ino;
    live->newest_at = trace_now();
    live->whole = live->revision = 1;
    live->is_behind = true;
    find_writer(live, file->sbt);
    atomic_store(&live->asked, trace_now());
    file->live = live;
    return true;
}

static void forget_source(struct live *live) {
    tsmith_source_destroy(live->source);
    live->source = NULL;
}

void live_end(struct file *file) {
    if (!file->live)
        return;
    forget_source(file->live);
    tsmith_live_sums_destroy(file->live->sums);
    free(file->live->message);
    free(file->live);
    file->live = NULL;
}

bool live_is_wanted(struct file *file) {
    return trace_now() - atomic_load(&file->live->asked) < WANTED;
}

// ---- what became of it

static bool is_replaced(const struct file *file) {
    struct stat info;
    return stat(file->path, &info) != 0 || info.st_dev != file->live->device ||
           info.st_ino != file->live->inode;
}

static void stop(struct live *live, enum live_state state, struct text *message) {
    live->state = state;
    free(live->message);
    live->message = strdup(text_cstr(message));
}

static void say_stopped(struct file *file) {
    struct live *live = file->live;
    struct text text = {0};
    text_add_cstr(
        &text,
        "The recording stopped without an end: the process that wrote it was killed, or the machine was. "
        "What it had written is shown. ");
    if (live->is_session)
        text_add_cstr(
            &text,
            "The events that it had not written yet are kept; this command writes all of them to a new file: "
            "tracesmith recover ");
    else
        text_add_cstr(&text, "This command writes a complete file of it: tracesmith recover ");
    text_add_shell(&text, live->is_session ? live->session : file->path);
    stop(live, LIVE_STOPPED, &text);
    text_finish(&text);
}

static void stop_with_message(struct live *live, enum live_state state, const char *message) {
    struct text text = {0};
    text_add_cstr(&text, message);
    stop(live, state, &text);
    text_finish(&text);
}

// ---- growing

static void note_change(struct live *live, const tsmith_sbt_event_frame *frame) {
    for (uint64_t i = live->change_count; i-- > 0 && live->change_count - i <= LIVE_CHANGES;) {
        struct live_change *change = &live->changes[i % LIVE_CHANGES];
        if (change->revision != live->revision)
            break;
        if (change->track != frame->track)
            continue;
        change->from = frame->first_start < change->from ? frame->first_start : change->from;
        return;
    }
    live->changes[live->change_count++ % LIVE_CHANGES] =
        (struct live_change){live->revision, frame->first_start, frame->track};
}

// Notes the frames from `known` on.
static void note_frames(struct file *file, size_t known) {
    struct live *live = file->live;
    const size_t count = tsmith_sbt_event_frame_count(file->sbt);
    bool has_grown = false;
    for (size_t i = known; i < count; i++) {
        tsmith_sbt_event_frame frame = {.size = sizeof frame};
        if (!tsmith_sbt_event_frame_at(file->sbt, i, &frame))
            continue;
        if (!has_grown) {
            live->revision++;
            live->newest_at = trace_now();
        }
        has_grown = true;
        live->newest = frame.last_end > live->newest ? frame.last_end : live->newest;
        note_change(live, &frame);
    }
}

// Adds up events that were not added yet. Those of one frame cannot be read twice, so a failure ends it.
static void add_events(struct file *file, tsmith_error *error) {
    struct live *live = file->live;
    const tsmith_batch *batch;
    tsmith_status status = TSMITH_OK;
    if (!live->source)
        status = tsmith_sbt_scan(file->sbt, NULL, &live->source, error);
    for (int taken = 0; status == TSMITH_OK && taken < BATCHES_AT_ONCE; taken++) {
        status = tsmith_source_next(live->source, &batch, error);
        if (status == TSMITH_OK)
            tsmith_live_sums_add(live->sums, file->dictionary, batch);
    }
    live->is_behind = status == TSMITH_OK;
    live->totals.size = sizeof live->totals;
    if (status < 0 && live->state == LIVE_RECORDING) // not where a truncation is the cause
        stop_with_message(live, LIVE_FAILED, error->message);
    tsmith_live_sums_give(live->sums, file->dictionary, trace_now(), &live->totals);
}

// `more`: buckets are to be made of what came.
static bool grow_tiles(struct file *file, size_t known, bool *more, tsmith_error *error) {
    note_frames(file, known);
    const tsmith_status status = tsmith_tiles_extend(file->tiles, 1, error);
    *more = status == TSMITH_AGAIN;
    return status >= 0;
}

void live_step(struct file *file, bool *more) {
    struct live *live = file->live;
    tsmith_error error = {.status = TSMITH_OK};
    const size_t known = live->revision == 1 ? 0 : tsmith_sbt_event_frame_count(file->sbt);
    *more = false;
    if (live->state != LIVE_RECORDING)
        return;
    // The writer first: what it wrote before it ended is seen then.
    const bool is_written = tsmith_sbt_writer_process(file->sbt) != 0;
    find_writer(live, file->sbt);
    const tsmith_status status = tsmith_sbt_refresh(file->sbt, &error);
    if (status == TSMITH_ERROR_CORRUPT)
        stop_with_message(live, LIVE_TRUNCATED, error.message);
    else if (status < 0 || !grow_tiles(file, known, more, &error))
        stop_with_message(live, LIVE_FAILED, error.message);
    add_events(file, &error);
    *more |= live->is_behind;
    if (*more || live->state != LIVE_RECORDING)
        return;
    if (is_replaced(file)) // first: what has its name now is not opened in its place
        stop_with_message(
            live, LIVE_REPLACED,
            "The file was removed or replaced by another while it was shown. Start studio again to see what "
            "is there now.");
    else if (status == TSMITH_END)
        live->state = LIVE_ENDED;
    else if (!is_written)
        say_stopped(file);
}

void live_reopened(struct file *file) {
    struct live *live = file->live;
    forget_source(live);
    live->generation++;
    live->whole = ++live->revision;
}

// ---- the answer

bool live_is_same_file(struct file *file, struct answer *out) {
    bool is_same = true;
    if (!file->live)
        return true;
    file_enter(file);
    if (file->live->state == LIVE_REPLACED) {
        answer_failure(out, 409, "%s", file->live->message ? file->live->message : "The file was replaced");
        is_same = false;
    }
    file_leave(file);
    return is_same;
}

uint64_t live_revision(struct file *file) {
    if (!file->live)
        return 0;
    file_enter(file);
    const uint64_t revision = file->live->revision;
    file_leave(file);
    return revision;
}

// Processor time of a process; -1: not known.
static int64_t time_of(uint64_t pid) {
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)pid);
    FILE *file = fopen(path, "re");
    const char *at = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (file)
        fclose(file);
    for (int skipped = 0; at && skipped < 12; skipped++)
        at = strchr(at + 1, ' ');
    const long ticks = sysconf(_SC_CLK_TCK);
    if (!at || ticks <= 0)
        return -1;
    char *end;
    const uint64_t user = strtoull(at, &end, 10), system = strtoull(end, NULL, 10);
    return (int64_t)((user + system) * (1000000000 / (uint64_t)ticks));
}

static void add_changes(struct text *text, const struct file *file, uint64_t seen) {
    const struct live *live = file->live;
    const uint64_t kept = live->change_count < LIVE_CHANGES ? live->change_count : LIVE_CHANGES;
    const uint64_t oldest = kept ? live->changes[(live->change_count - kept) % LIVE_CHANGES].revision : 0;
    const int64_t origin = tsmith_tiles_origin(file->tiles);
    if (seen < live->whole || (kept == LIVE_CHANGES && seen < oldest)) {
        text_add_cstr(text, ",\"changed\":null");
        return;
    }
    text_add_cstr(text, ",\"changed\":[");
    bool is_first = true;
    for (uint64_t i = live->change_count - kept; i < live->change_count; i++) {
        const struct live_change *change = &live->changes[i % LIVE_CHANGES];
        if (change->revision <= seen)
            continue;
        text_add_format(text, "%s[%u,%lld]", is_first ? "" : ",", change->track,
                        (long long)((uint64_t)change->from - (uint64_t)origin));
        is_first = false;
    }
    text_add_char(text, ']');
}

static void add_state(struct text *text, const struct file *file) {
    static const char *const STATES[] = {"recording", "ended", "stopped", "truncated", "replaced", "failed"};
    const struct live *live = file->live;
    const int64_t now = trace_now();
    text_add_format(text, "{\"state\":\"%s\",\"revision\":%llu,\"generation\":%llu", STATES[live->state],
                    (unsigned long long)live->revision, (unsigned long long)live->generation);
    text_add_cstr(text, ",\"message\":");
    if (live->message)
        text_add_json_cstr(text, live->message);
    else
        text_add_cstr(text, "null");
    text_add_format(text, ",\"writer\":%llu,\"catching_up\":%s", (unsigned long long)live->writer,
                    live->is_behind ? "true" : "false");
    if (live->newest)
        text_add_format(text, ",\"behind_ns\":%lld", (long long)(live->newest_at - live->newest));
    else
        text_add_cstr(text, ",\"behind_ns\":null");
    text_add_format(text, ",\"quiet_ns\":%lld,\"session\":", (long long)(now - live->newest_at));
    if (live->is_session)
        text_add_json_cstr(text, live->session);
    else
        text_add_cstr(text, "null");
}

static void add_totals(struct text *text, struct live *live) {
    const struct top_reading reading = {.directory = live->is_session ? live->session : "",
                                        .now = &live->totals};
    const int64_t time = live->is_session && live->state == LIVE_RECORDING ? time_of(live->writer) : -1;
    if (time >= 0)
        live->collector_time = time;
    live->totals.collector_time = live->collector_time;
    live->totals.ended = live->state == LIVE_ENDED;
    text_add_cstr(text, ",\"totals\":");
    top_add_json(text, &reading);
}

void answer_live(struct file *file, const struct request *request, struct answer *out) {
    struct live *live = file->live;
    uint64_t seen = 0;
    if (!live) {
        text_add_cstr(&out->text, "{\"state\":\"none\"}\n");
        return;
    }
    (void)picture_number(request->parameter(request, "seen"), UINT64_MAX, &seen);
    atomic_store(&live->asked, trace_now());
    struct answer overview = {.status = 200};
    file_enter(file);
    add_state(&out->text, file);
    add_changes(&out->text, file, seen);
    add_totals(&out->text, live);
    const bool has_news = seen != live->revision;
    file_leave(file);
    text_add_cstr(&out->text, ",\"overview\":");
    if (has_news)
        answer_overview(file, &overview);
    if (overview.text.length)
        text_add(&out->text, overview.text.bytes, overview.text.length);
    else
        text_add_cstr(&out->text, "null");
    out->text.failed |= overview.text.failed;
    text_finish(&overview.text);
    text_add_cstr(&out->text, "}\n");
}
