// SPDX-License-Identifier: Apache-2.0
// Reads the options that select what `replay` runs, and writes the times, the first wrong command and the validation to
// the answer.
#include "replay_part.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame_filter.h"
#include "cli/options/quantity.h"
#include "cli/present/terminal.h"
#include "replay_plan.h"
#include "tracesmith/frames.h"

enum { VALIDATE_TIMES = 3, NAMES_MOST = 256, NAME_COLUMNS = 28 };

// ---- options

// frame:N, or FIRST or FIRST..LAST: numbers of commands, as results and findings name them.
static bool read_range(tsmith_replay_options *options, const char *word, uint64_t *frame) {
    if (strncmp(word, "frame:", 6) == 0) {
        if (quantity_count(word + 6, frame) && *frame)
            return true;
        complain("--range: '%s' is not frame:N; the first frame is 1", word);
        return false;
    }
    const char *dots = strstr(word, "..");
    char *first = strndup(word, dots ? (size_t)(dots - word) : strlen(word));
    uint64_t last = 0;
    const bool read = first && quantity_count(first, &options->first_command) &&
                      quantity_count(dots ? dots + 2 : first, &last) && last >= options->first_command &&
                      last < UINT64_MAX;
    options->command_count = read ? last - options->first_command + 1 : 0;
    if (!read)
        complain("--range: '%s' is neither FIRST..LAST, two command numbers, nor frame:N", word);
    free(first);
    return read;
}

static bool read_speed(tsmith_replay_options *options, const char *word) {
    char *end;
    options->speed = strtod(word, &end);
    if (end != word && !*end && options->speed > 0 && options->speed < 1e9)
        return true;
    complain("--speed: '%s' is not a number above 0 (1 as recorded, 2 twice as fast)", word);
    return false;
}

static bool read_form(const struct invocation *invocation, uint64_t frame) {
    const char *form = invocation_value(invocation, "frames");
    tsmith_error error;
    if (!form || (frame && tsmith_frames_check(form, &error) == TSMITH_OK))
        return true;
    complain("--frames%s%s", frame ? ": " : " needs --range frame:N", frame ? error.message : "");
    return false;
}

bool replay_read_part(const struct invocation *invocation, tsmith_replay_options *options, uint64_t *frame) {
    const char *mode = invocation_value(invocation, "mode"), *range = invocation_value(invocation, "range"),
               *kernel = invocation_value(invocation, "kernel"),
               *stream = invocation_value(invocation, "stream"),
               *speed = invocation_value(invocation, "speed");
    const bool framed =
        !mode && range && strncmp(range, "frame:", 6) == 0; // a part, although no mode is given
    const bool partial = framed || (mode && strcmp(mode, "partial") == 0),
               streams = mode && strcmp(mode, "stream") == 0;
    if ((range || kernel) != partial || (stream != NULL) != streams) {
        complain("--mode partial needs --range or --kernel, and --mode stream needs --stream");
        return false;
    }
    if (stream && (!quantity_count(stream, &options->only_queue) || !options->only_queue)) {
        complain(
            "--stream: '%s' is not the number of a queue; --timing --json and --hazards print the numbers",
            stream);
        return false;
    }
    options->only_kernel = kernel;
    options->timing = invocation_flag(invocation, "timing");
    if (invocation_flag(invocation, "validate") && options->times < VALIDATE_TIMES)
        options->times = VALIDATE_TIMES;
    return (!speed || read_speed(options, speed)) && (!range || read_range(options, range, frame)) &&
           read_form(invocation, *frame);
}

// ---- a frame

// The correlation ids of the frame's launches, ascending.
static bool find_calls(const tsmith_frames *frames, const tsmith_frame_interval *frame,
                       tsmith_replay_options *options, uint64_t **out) {
    *out = frame_calls(frames, frame, &options->call_count);
    options->calls = *out;
    return *out;
}

int replay_take_frame(const struct invocation *invocation, const struct trace *trace, uint64_t frame,
                      tsmith_replay_options *options, uint64_t **calls) {
    tsmith_frames *frames = NULL;
    tsmith_source *source = NULL;
    tsmith_error error;
    size_t count = 0;
    int code = EXIT_DONE;
    if (!frame)
        return EXIT_DONE;
    tsmith_status status = tsmith_sbt_scan(trace->file, NULL, &source, &error);
    if (status >= 0)
        status = tsmith_frames_read(source, invocation_value(invocation, "frames"), &frames, &error);
    tsmith_source_destroy(source);
    if (status < 0) {
        complain("%s: %s", trace->path, error.message);
        return exit_code_of_input(status);
    }
    const tsmith_frame_interval *all = tsmith_frames_get(frames, &count);
    if (frame > count) {
        complain("%s: there is no frame %" PRIu64 ": the trace has %zu %s (%s)", trace->path, frame, count,
                 plural(count, "frame", "frames"), tsmith_frames_form(frames));
        code = EXIT_USAGE;
    } else if (!find_calls(frames, &all[frame - 1], options, calls)) {
        complain("out of memory");
        code = EXIT_LACKING;
    } else {
        const tsmith_process *process = tsmith_dictionary_process(trace->dictionary, all[frame - 1].process);
        options->calls_pid = process ? process->pid : 0;
    }
    tsmith_frames_destroy(frames);
    return code;
}

// ---- times

int replay_take_times(const struct trace *trace, tsmith_recording *recording,
                      const tsmith_replay_options *options) {
    tsmith_source *source = NULL;
    tsmith_timeline *timeline = NULL;
    tsmith_error error;
    if (!options->timing && !(options->speed > 0))
        return EXIT_DONE;
    tsmith_status status = tsmith_sbt_scan(trace->file, NULL, &source, &error);
    if (status == TSMITH_OK)
        status = tsmith_timeline_read(source, NULL, &timeline, &error);
    tsmith_source_destroy(source);
    if (status >= 0)
        status = tsmith_recording_take_times(recording, timeline, trace->dictionary, &error);
    tsmith_timeline_destroy(timeline);
    if (status >= 0)
        return EXIT_DONE;
    complain("%s: %s", trace->path, error.message);
    return exit_code_of_input(status);
}

static void add_time_json(struct text *text, const tsmith_replay_time *time) {
    text_add_format(text,
                    "{\"pid\":%" PRIu64 ",\"command\":%" PRIu64 ",\"what\":\"%s\",\"kernel\":", time->pid,
                    time->command, time->what);
    if (time->kernel)
        text_add_json_cstr(text, time->kernel);
    else
        text_add_cstr(text, "null");
    text_add_format(text, ",\"queue\":%" PRIu64 ",\"recorded_ns\":", time->queue);
    if (time->recorded >= 0)
        text_add_i64(text, time->recorded);
    else
        text_add_cstr(text, "null");
    text_add_format(text,
                    ",\"replays\":%" PRIu32 ",\"least_ns\":%" PRId64 ",\"median_ns\":%" PRId64
                    ",\"most_ns\":%" PRId64 "}",
                    time->replays, time->least, time->median, time->most);
}

// By kernel or kind of command: what it took then and now.
struct times {
    const char *name;
    uint64_t count, known;
    int64_t recorded, replayed; // of those whose recorded time is known; replayed: medians
    int64_t all, least, most;   // of all
};

static int by_time(const void *left, const void *right) {
    const struct times *a = left, *b = right;
    return a->all < b->all ? 1 : a->all > b->all ? -1 : strcmp(a->name, b->name);
}

static void add_duration(struct text *text, int64_t time, bool known, size_t columns) {
    const size_t from = text->length;
    if (known)
        text_add_duration(text, time);
    else
        text_add_char(text, '-');
    text_pad_left(text, from, columns);
}

static void add_times_text(struct text *text, const struct times *times, size_t count) {
    text_add_cstr(text,
                  "\nOn the device               commands  recorded  replayed  ratio  least      most\n");
    for (size_t i = 0; i < count; i++) {
        const size_t columns = text_add_safe(text, text_string(times[i].name), NAME_COLUMNS - 1);
        text_pad_right(text, columns, NAME_COLUMNS);
        const size_t from = text->length;
        text_add_count(text, times[i].count);
        text_pad_left(text, from, 8);
        add_duration(text, times[i].recorded, times[i].known, 10);
        add_duration(text, times[i].all, true, 10);
        if (times[i].known && times[i].recorded > 0)
            text_add_format(text, "%7.2f", (double)times[i].replayed / (double)times[i].recorded);
        else
            text_add_cstr(text, "      -");
        add_duration(text, times[i].least, true, 10);
        add_duration(text, times[i].most, true, 10);
        text_add_char(text, '\n');
    }
}

static void sum_up(struct times *times, const tsmith_replay_time *time) {
    times->least = !times->count || time->least < times->least ? time->least : times->least;
    times->most = time->most > times->most ? time->most : times->most;
    times->count++;
    times->all += time->median;
    if (time->recorded < 0)
        return;
    times->known++;
    times->recorded += time->recorded;
    times->replayed += time->median;
}

static void add_names(struct text *text, const tsmith_replay *replay) {
    struct times *times = calloc(NAMES_MOST, sizeof *times);
    size_t count = 0;
    tsmith_replay_time time = {.size = sizeof time};
    for (size_t i = 0; times && tsmith_replay_time_get(replay, i, &time); i++) {
        const char *name = time.kernel ? time.kernel : time.what;
        size_t at = 0;
        while (at < count && strcmp(times[at].name, name) != 0)
            at++;
        if (at == count && count < NAMES_MOST) {
            times[count].name = count + 1 < NAMES_MOST ? name : "others";
            count++;
        }
        sum_up(&times[at < count ? at : count - 1], &time);
    }
    if (count) {
        qsort(times, count, sizeof *times, by_time);
        add_times_text(text, times, count);
    }
    free(times);
}

void replay_add_times(struct text *text, const tsmith_replay *replay, bool json) {
    tsmith_replay_time time = {.size = sizeof time};
    if (!json) {
        add_names(text, replay);
        return;
    }
    text_add_cstr(text, ",\"times\":[");
    for (size_t i = 0; tsmith_replay_time_get(replay, i, &time); i++) {
        text_add_cstr(text, i ? ",\n" : "");
        add_time_json(text, &time);
    }
    text_add_char(text, ']');
}

// ---- where it went wrong

void replay_add_culprit(struct text *text, const tsmith_replay *replay, const struct sites *sites,
                        bool json) {
    tsmith_replay_culprit culprit = {.size = sizeof culprit};
    if (!tsmith_replay_culprit_get(replay, &culprit))
        return;
    const tsmith_plan_command command = {.command = culprit.first,
                                         .what = culprit.what,
                                         .kernel = culprit.kernel,
                                         .queue = culprit.queue,
                                         .correlation = culprit.correlation};
    if (json)
        text_add_format(text,
                        ",\"first_bad\":{\"candidates\":%" PRIu64 ",\"replays\":%" PRIu64 ",\"command\":",
                        culprit.count, culprit.replays);
    else if (culprit.count > 1)
        text_add_format(text, "the first wrong command is one of %" PRIu64 "; the earliest of them is ",
                        culprit.count);
    else
        text_add_cstr(text, "the first wrong command: ");
    add_plan_command(text, &command, sites, culprit.pid, json);
    text_add_cstr(text, json ? "}" : "\n");
}

void replay_add_validation(struct text *text, uint64_t varying, bool json) {
    if (json)
        text_add_format(text, ",\"varying\":%" PRIu64, varying);
    else if (!varying)
        text_add_cstr(text, "deterministic: every replay gave the same\n");
    else
        text_add_format(text, "not deterministic: %" PRIu64 " %s from replay to replay\n", varying,
                        plural(varying, "result differs", "results differ"));
}
