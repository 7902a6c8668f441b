// SPDX-License-Identifier: Apache-2.0
// `profile --flight`, `attach --flight` and `trigger`: the flight recorder on the command line.
#include "flight.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options/quantity.h"
#include "cli/present/terminal.h"
#include "cli/sessions.h"

static const int64_t DEFAULT_COOL_DOWN = 1000000000; // ns

bool flight_wanted(const struct invocation *invocation) {
    return invocation_flag(invocation, "flight");
}

static bool read_window(const struct invocation *invocation, tsmith_flight_options *out) {
    const char *text = invocation_value(invocation, "flight");
    const char *comma = strchr(text, ',');
    struct text time = {0};
    if (!*text)
        return true;
    text_add(&time, text, comma ? (size_t)(comma - text) : strlen(text));
    const bool good = quantity_time(text_cstr(&time), &out->window) && out->window > 0 &&
                      (!comma || (quantity_size(comma + 1, &out->bytes) && out->bytes > 0));
    text_finish(&time);
    if (!good)
        complain("--flight: '%s' is not a time and a size such as 30s,512M", text);
    return good;
}

static bool read_time(const struct invocation *invocation, const char *option, int64_t *out) {
    const char *text = invocation_value(invocation, option);
    if (!text || (quantity_time(text, out) && *out >= 0))
        return true;
    complain("--%s: '%s' is not a time such as 500ms", option, text);
    return false;
}

static bool read_options(const struct invocation *invocation, tsmith_flight_options *out) {
    const char *most = invocation_value(invocation, "max-files");
    uint64_t count = 0;
    if (most && (!quantity_count(most, &count) || count == 0 || count > UINT32_MAX)) {
        complain("--max-files: '%s' is not a number above 0", most);
        return false;
    }
    out->most = (uint32_t)count;
    out->cool_down = DEFAULT_COOL_DOWN;
    return read_window(invocation, out) && read_time(invocation, "after", &out->after) &&
           read_time(invocation, "cool-down", &out->cool_down);
}

static bool has_part(const struct invocation *invocation) {
    static const char *const parts[] = {"trigger", "after", "cool-down", "max-files"};
    size_t cursor = 0;
    if (invocation_next(invocation, "trigger", &cursor)) {
        complain("--trigger needs --flight");
        return true;
    }
    for (size_t i = 1; i < sizeof parts / sizeof parts[0]; i++)
        if (invocation_value(invocation, parts[i])) {
            complain("--%s needs --flight", parts[i]);
            return true;
        }
    return false;
}

int flight_open(const struct invocation *invocation, const char *path, const tsmith_capture_options *options,
                tsmith_flight **out) {
    tsmith_flight_options chosen = {.size = sizeof chosen, .path = path};
    const char *words[REPEATED_MAX + 1];
    tsmith_error error;
    size_t cursor = 0;
    *out = NULL;
    if (!flight_wanted(invocation))
        return has_part(invocation) ? EXIT_USAGE : EXIT_DONE;
    if (options->recording) {
        complain("--flight cannot be combined with --capture");
        return EXIT_USAGE;
    }
    while ((words[chosen.trigger_count] = invocation_next(invocation, "trigger", &cursor)) != NULL)
        chosen.trigger_count++;
    chosen.triggers = words;
    if (!read_options(invocation, &chosen))
        return EXIT_USAGE;
    const tsmith_status status = tsmith_flight_create(&chosen, out, &error);
    if (status == TSMITH_OK)
        return EXIT_DONE;
    complain("--trigger: %s", error.message);
    return status == TSMITH_ERROR_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_LACKING;
}

void flight_add_json(struct text *line, const tsmith_flight_summary *summary) {
    text_add_format(line,
                    "{\"triggers\":%" PRIu64 ",\"written\":%" PRIu64 ",\"ignored\":%" PRIu64
                    ",\"failed\":%" PRIu64 ",\"shortened\":%" PRIu64 ",\"events\":%" PRIu64 ",\"last\":",
                    summary->triggers, summary->written, summary->ignored, summary->failed,
                    summary->shortened, summary->events);
    text_add_json_cstr(line, summary->last);
    text_add_cstr(line, "}");
}

static void write_json(const tsmith_flight_summary *summary, const struct record_result *result) {
    struct text line = {0};
    text_add_cstr(&line, "{\"flight\":");
    flight_add_json(&line, summary);
    text_add_format(&line, ",\"exit_code\":%d,\"used_gpu_api\":%s}\n", record_exit_code(result),
                    result->used_api ? "true" : "false");
    if (write(STDERR_FILENO, text_cstr(&line), line.length) < 0)
        (void)0; // no output is left to report it to
    text_finish(&line);
}

void flight_say(const tsmith_flight_summary *summary) {
    struct text line = {0};
    text_add_counted(&line, summary->triggers, "trigger, ", "triggers, ");
    text_add_counted(&line, summary->written, "file written", "files written");
    if (summary->ignored) {
        text_add_cstr(&line, ", ");
        text_add_counted(&line, summary->ignored, "trigger only counted (--cool-down, --max-files)",
                         "triggers only counted (--cool-down, --max-files)");
    }
    if (summary->shortened) {
        text_add_cstr(&line, ", ");
        text_add_counted(&line, summary->shortened, "window shortened by the limit of memory",
                         "windows shortened by the limit of memory");
    }
    if (summary->last[0]) {
        text_add_cstr(&line, "; the last is ");
        text_add_shell(&line, summary->last);
    }
    complain("%s", text_cstr(&line));
    if (summary->failed)
        complain("%" PRIu64 " %s could not be written: %s", summary->failed,
                 plural(summary->failed, "file", "files"), summary->why);
    text_finish(&line);
}

int flight_conclude(const struct invocation *invocation, const tsmith_flight *flight,
                    const struct record_result *result) {
    tsmith_flight_summary summary = {.size = sizeof summary};
    const int code = record_exit_code(result);
    tsmith_flight_summarize(flight, &summary);
    if (invocation_flag(invocation, "json")) {
        write_json(&summary, result);
    } else {
        if (!result->written)
            complain("the recording ended early: %s", result->error.message);
        flight_say(&summary);
    }
    return code == EXIT_DONE && (summary.failed || !result->written) ? EXIT_LACKING : code;
}

int command_trigger(const struct invocation *invocation) {
    struct text directory = {0};
    tsmith_error error;
    int code = sessions_find(invocation->operands[0], &directory);
    if (code == EXIT_DONE && tsmith_flight_request(text_cstr(&directory), &error) < 0) {
        complain("%s", error.message);
        code = EXIT_LACKING;
    }
    text_finish(&directory);
    return code;
}
