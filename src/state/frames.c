// SPDX-License-Identifier: Apache-2.0
// The frames of a trace (tracesmith/frames.h). Presents and ranges are kept while batches come; waits and launches are those of
// the timeline.
#include "tracesmith/frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "base/status.h"
#include "state/timeline.h"
#include "tracesmith/simulate.h"
#include "tracesmith/time.h"
#include "tracesmith/view.h"

enum form { FORM_PRESENT, FORM_WAIT, FORM_RANGE, FORM_UNKNOWN };

// A present or a range.
struct mark {
    int64_t start, end;
    uint64_t correlation; // of the call; 0: none
    uint32_t process, track;
};

// A launch, or the end of a wait.
struct moment {
    int64_t time;
    uint32_t process, track;
    bool launches;
};

struct tsmith_frames {
    char *text; // the form as it was asked for; NULL: not decided yet
    const char *name;
    enum form form;
    struct mark *marks;
    size_t mark_count, mark_capacity;
    uint8_t *matches; // by string: 1 no, 2 yes, 0 not looked at yet
    size_t match_count;
    tsmith_frame_interval *frames;
    size_t count, capacity;
    tsmith_frame_launch *launches;
    size_t launch_count;
    const tsmith_timeline *timeline;
    tsmith_timeline *own; // of tsmith_frames_read
};

// ---- the form

static enum form parse(const char *text, const char **name) {
    if (strcmp(text, "present") == 0)
        return FORM_PRESENT;
    if (strcmp(text, "wait") == 0)
        return FORM_WAIT;
    if (strncmp(text, "range:", 6) != 0 || !text[6])
        return FORM_UNKNOWN;
    *name = text + 6;
    return FORM_RANGE;
}

tsmith_status tsmith_frames_check(const char *form, tsmith_error *error) {
    const char *name;
    if (parse(form, &name) != FORM_UNKNOWN)
        return TSMITH_OK;
#define FORM(name, argument, doc) " " name argument
    return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                      "unknown form of frames '%.80s'; available:" TSMITH_FRAMES_TABLE(FORM), form);
#undef FORM
}

// A trace is not trusted: a form that it states and that does not exist is none.
static tsmith_status choose_form(tsmith_frames *frames, const tsmith_dictionary *dictionary) {
    if (frames->text)
        return TSMITH_OK;
    const tsmith_string stated = tsmith_dictionary_find_attribute(dictionary, TSMITH_FRAMES_ATTRIBUTE);
    const bool usable = stated.length && !memchr(stated.bytes, 0, stated.length);
    frames->text =
        strdup(usable && parse(stated.bytes, &frames->name) != FORM_UNKNOWN ? stated.bytes : "present");
    if (!frames->text)
        return TSMITH_ERROR_NO_MEMORY;
    frames->form = parse(frames->text, &frames->name);
    return TSMITH_OK;
}

tsmith_status tsmith_frames_create(const char *form, tsmith_frames **out, tsmith_error *error) {
    *out = NULL;
    tsmith_status status = form ? tsmith_frames_check(form, error) : TSMITH_OK;
    if (status != TSMITH_OK)
        return status;
    tsmith_frames *frames = calloc(1, sizeof *frames);
    if (frames && form)
        frames->text = strdup(form);
    if (!frames || (form && !frames->text)) {
        free(frames);
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading frames");
    }
    if (form)
        frames->form = parse(frames->text, &frames->name);
    *out = frames;
    return TSMITH_OK;
}

void tsmith_frames_destroy(tsmith_frames *frames) {
    if (!frames)
        return;
    tsmith_timeline_destroy(frames->own);
    free(frames->text);
    free(frames->marks);
    free(frames->matches);
    free(frames->frames);
    free(frames->launches);
    free(frames);
}

// ---- batches

// Whether the range of this name is a frame: 1 no, 2 yes, 0 memory is exhausted.
static int match_name(tsmith_frames *frames, const tsmith_dictionary *dictionary, uint32_t string) {
    const uint32_t count = tsmith_dictionary_string_count(dictionary);
    if (string >= count)
        return 1;
    if (count > frames->match_count) {
        uint8_t *grown = realloc(frames->matches, count);
        if (!grown)
            return 0;
        memset(grown + frames->match_count, 0, count - frames->match_count);
        frames->matches = grown;
        frames->match_count = count;
    }
    if (!frames->matches[string]) {
        const tsmith_string text = tsmith_dictionary_string(dictionary, string);
        frames->matches[string] = text.length && tsmith_name_matches(frames->name, text.bytes) ? 2 : 1;
    }
    return frames->matches[string];
}

static bool add_marks(tsmith_frames *frames, const tsmith_dictionary *dictionary, const tsmith_batch *batch) {
    static const uint32_t fields[] = {TSMITH_FIELD_NAME, TSMITH_FIELD_CORRELATION};
    const uint8_t kind = frames->form == FORM_PRESENT ? TSMITH_KIND_FRAME : TSMITH_KIND_RANGE;
    const uint32_t number = tsmith_batch_track(batch);
    const tsmith_track *track = tsmith_dictionary_track(dictionary, number);
    tsmith_view views[2];
    tsmith_spans spans;
    // What a queue shows of ranges is made from those of the host.
    if (!tsmith_view_spans(batch, &spans) ||
        (kind == TSMITH_KIND_RANGE && track &&
         (track->kind == TSMITH_TRACK_QUEUE || track->kind == TSMITH_TRACK_COPY_ENGINE)))
        return true;
    tsmith_view_batch(batch, fields, 2, views);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        int64_t duration = 0;
        const bool lasts = tsmith_view_i64(&spans.durations, row, &duration) && duration >= 0;
        if (spans.kinds[row] != kind || (kind == TSMITH_KIND_RANGE && !lasts))
            continue;
        const int wanted =
            kind == TSMITH_KIND_RANGE ? match_name(frames, dictionary, tsmith_view_id(&views[0], row)) : 2;
        struct mark *mark =
            wanted == 2 ? ARRAY_PUSH(frames->marks, frames->mark_count, frames->mark_capacity) : NULL;
        if (!wanted || (wanted == 2 && !mark))
            return false;
        if (mark)
            *mark = (struct mark){.start = spans.starts[row],
                                  .end = tsmith_time_add(spans.starts[row], lasts ? duration : 0),
                                  .correlation = tsmith_view_u64_or(&views[1], row, 0),
                                  .process = track ? track->process : 0,
                                  .track = number};
    }
    return true;
}

static tsmith_status no_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading frames");
}

tsmith_status tsmith_frames_add(tsmith_frames *frames, const tsmith_dictionary *dictionary,
                                const tsmith_batch *batch, tsmith_error *error) {
    if (choose_form(frames, dictionary) != TSMITH_OK)
        return no_memory(error);
    return frames->form == FORM_WAIT || add_marks(frames, dictionary, batch) ? TSMITH_OK : no_memory(error);
}

// ---- frames

#define ORDER(a, b)                                                                                          \
    if ((a) != (b))                                                                                          \
    return (a) < (b) ? -1 : 1

static int by_end(const void *left, const void *right) {
    const struct mark *a = left, *b = right;
    ORDER(a->process, b->process);
    ORDER(a->end, b->end);
    ORDER(a->correlation, b->correlation);
    ORDER(a->start, b->start);
    ORDER(a->track, b->track);
    return 0;
}

// A wait that ends at the moment of a launch comes before it: the launch belongs to the next frame.
static int by_moment(const void *left, const void *right) {
    const struct moment *a = left, *b = right;
    ORDER(a->process, b->process);
    ORDER(a->time, b->time);
    ORDER(a->launches, b->launches);
    ORDER(a->track, b->track);
    return 0;
}

static int by_start(const void *left, const void *right) {
    const tsmith_frame_interval *a = left, *b = right;
    ORDER(a->start, b->start);
    ORDER(a->end, b->end);
    ORDER(a->process, b->process);
    ORDER(a->track, b->track);
    return 0;
}

static int by_launch(const void *left, const void *right) {
    const tsmith_frame_launch *a = left, *b = right;
    ORDER(a->process, b->process);
    ORDER(a->start, b->start);
    ORDER(a->call, b->call);
    return 0;
}

static bool add_frame(tsmith_frames *frames, int64_t start, int64_t end, uint32_t process, uint32_t track) {
    tsmith_frame_interval *frame = ARRAY_PUSH(frames->frames, frames->count, frames->capacity);
    if (frame)
        *frame = (tsmith_frame_interval){.start = start, .end = end, .process = process, .track = track};
    return frame != NULL;
}

// One call may present several swapchains: it ends one frame.
static bool make_presents(tsmith_frames *frames) {
    const struct mark *before = NULL;
    if (frames->mark_count)
        qsort(frames->marks, frames->mark_count, sizeof *frames->marks, by_end);
    for (size_t i = 0; i < frames->mark_count; i++) {
        const struct mark *mark = &frames->marks[i];
        const bool follows = before && before->process == mark->process;
        if (follows && mark->correlation && mark->correlation == before->correlation &&
            mark->end == before->end)
            continue;
        if (!add_frame(frames, follows ? before->end : mark->start, mark->end, mark->process, mark->track))
            return false;
        before = mark;
    }
    return true;
}

static bool make_ranges(tsmith_frames *frames) {
    for (size_t i = 0; i < frames->mark_count; i++) {
        const struct mark *mark = &frames->marks[i];
        if (!add_frame(frames, mark->start, mark->end, mark->process, mark->track))
            return false;
    }
    return true;
}

static bool is_wait(const tsmith_call *call) {
    return (call->role >= TSMITH_CALL_SYNC_QUEUE && call->role <= TSMITH_CALL_SYNC_EVENT) || call->blocking;
}

static size_t find_moments(const tsmith_timeline *timeline, struct moment *moments) {
    size_t count = 0;
    for (size_t i = 0; i < timeline->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        const tsmith_thread *thread = &timeline->threads[call->thread];
        if (call->command_count)
            moments[count++] = (struct moment){call->start, thread->process, thread->track, true};
        if (is_wait(call))
            moments[count++] = (struct moment){call->end, thread->process, thread->track, false};
    }
    qsort(moments, count, sizeof *moments, by_moment);
    return count;
}

static bool make_waits(tsmith_frames *frames) {
    struct moment *moments = malloc((frames->timeline->call_count * 2 + 1) * sizeof *moments);
    const size_t count = moments ? find_moments(frames->timeline, moments) : 0;
    int64_t begin = 0;
    bool begun = false, launched = false, done = moments != NULL;
    for (size_t i = 0; i < count && done; i++) {
        const struct moment *moment = &moments[i];
        if (i && moments[i - 1].process != moment->process)
            begun = launched = false;
        if (moment->launches) {
            begin = begun ? begin : moment->time;
            begun = launched = true;
        } else if (launched) {
            done = add_frame(frames, begin, moment->time, moment->process, moment->track);
            begin = moment->time;
            launched = false;
        }
    }
    free(moments);
    return done;
}

static bool make_launches(tsmith_frames *frames) {
    const tsmith_timeline *timeline = frames->timeline;
    size_t count = 0;
    for (size_t i = 0; i < timeline->call_count; i++)
        count += timeline->calls[i].command_count > 0;
    frames->launches = malloc((count + 1) * sizeof *frames->launches);
    if (!frames->launches)
        return false;
    for (size_t i = 0; i < timeline->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        if (call->command_count)
            frames->launches[frames->launch_count++] =
                (tsmith_frame_launch){.start = call->start,
                                      .process = timeline->threads[call->thread].process,
                                      .call = (uint32_t)i};
    }
    qsort(frames->launches, frames->launch_count, sizeof *frames->launches, by_launch);
    return true;
}

tsmith_status tsmith_frames_finish(tsmith_frames *frames, const tsmith_dictionary *dictionary,
                                   const tsmith_timeline *timeline, tsmith_error *error) {
    frames->timeline = timeline;
    if (choose_form(frames, dictionary) != TSMITH_OK)
        return no_memory(error);
    const bool made = frames->form == FORM_PRESENT ? make_presents(frames)
                      : frames->form == FORM_WAIT  ? make_waits(frames)
                                                   : make_ranges(frames);
    free(frames->marks);
    frames->marks = NULL;
    if (!made || !make_launches(frames))
        return no_memory(error);
    if (frames->count)
        qsort(frames->frames, frames->count, sizeof *frames->frames, by_start);
    for (size_t i = 0; i < frames->count; i++)
        frames->frames[i].number = i + 1;
    return TSMITH_OK;
}

// ---- all of a source

struct filling {
    tsmith_frames *frames;
    tsmith_timeline *timeline;
};

static tsmith_status filling_write(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                   tsmith_error *error) {
    const struct filling *filling = self;
    const tsmith_status status = tsmith_timeline_add(filling->timeline, dictionary, batch, error);
    return status == TSMITH_OK ? tsmith_frames_add(filling->frames, dictionary, batch, error) : status;
}

static tsmith_status filling_finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    const struct filling *filling = self;
    const tsmith_status status = tsmith_timeline_finish(filling->timeline, dictionary, error);
    return status == TSMITH_OK ? tsmith_frames_finish(filling->frames, dictionary, filling->timeline, error)
                               : status;
}

tsmith_status tsmith_frames_read(tsmith_source *source, const char *form, tsmith_frames **out,
                                 tsmith_error *error) {
    static const tsmith_sink_ops OPS = {filling_write, filling_finish, NULL};
    struct filling filling = {NULL, NULL};
    tsmith_sink *sink = NULL;
    tsmith_status status = tsmith_frames_create(form, out, error);
    if (status != TSMITH_OK)
        return status;
    filling.frames = *out;
    status = tsmith_timeline_create(NULL, &filling.timeline);
    (*out)->own = filling.timeline;
    if (status == TSMITH_OK)
        status = tsmith_sink_create(&OPS, &filling, &sink);
    if (status != TSMITH_OK)
        status_set(error, status, "out of memory while reading frames");
    else
        status = tsmith_pump(source, sink, NULL, NULL, error);
    tsmith_sink_destroy(sink);
    if (status != TSMITH_OK && status != TSMITH_TRUNCATED) {
        tsmith_frames_destroy(*out);
        *out = NULL;
    }
    return status;
}

// ---- answers

const char *tsmith_frames_form(const tsmith_frames *frames) {
    return frames->text;
}

const tsmith_timeline *tsmith_frames_timeline(const tsmith_frames *frames) {
    return frames->timeline;
}

const tsmith_frame_interval *tsmith_frames_get(const tsmith_frames *frames, size_t *count) {
    *count = frames->count;
    return frames->frames;
}

const tsmith_frame_launch *tsmith_frames_launches(const tsmith_frames *frames, size_t *count) {
    *count = frames->launch_count;
    return frames->launches;
}

// The first launch of the process that does not begin before `time`.
static size_t first_launch(const tsmith_frames *frames, uint32_t process, int64_t time) {
    return SORTED_FIND(i, 0, frames->launch_count,
                       frames->launches[i].process < process ||
                           (frames->launches[i].process == process && frames->launches[i].start < time));
}

const tsmith_frame_launch *tsmith_frame_launches(const tsmith_frames *frames,
                                                 const tsmith_frame_interval *frame, size_t *count) {
    const size_t first = first_launch(frames, frame->process, frame->start);
    const size_t end = first_launch(frames, frame->process, frame->end);
    *count = end > first ? end - first : 0;
    return frames->launches + first;
}
