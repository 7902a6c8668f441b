// SPDX-License-Identifier: Apache-2.0
// `tracesmith replay`: runs a recording again and prints the verdict of every result.
#include "tracesmith/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/options/quantity.h"
#include "cli/present/progress.h"
#include "cli/present/terminal.h"
#include "replay_contents.h"
#include "replay_emit.h"
#include "replay_instructions.h"
#include "replay_notice.h"
#include "replay_page.h"
#include "replay_part.h"
#include "replay_plan.h"
#include "replay_results.h"
#include "replay_say.h"
#include "replay_source.h"
#include "sandbox.h"

enum { NOTES_MOST = 8, SHOWN_MOST = 40, INTERMEDIATE_MOST = 3 };

struct replay {
    const struct invocation *invocation;
    struct trace trace;
    tsmith_recording *recording;
    tsmith_replay *replay;
    tsmith_instructions *instructions; // NULL: not asked for
    tsmith_recording_summary summary;
    tsmith_replay_options options;
    tsmith_permute_options permute; // orders: 0 when not asked for
    struct results_writer results;  // directory: NULL when not asked for
    char *kernel, *source;
    uint64_t verdicts[TSMITH_VERDICT_LIMIT];
    struct sites sites;
    uint64_t varying; // results that differ from replay to replay
    struct sandbox sandbox;
    bool sandboxed;
    struct page_files pages;
    uint64_t frame;  // of --range frame:N; 0: none
    uint64_t *calls; // of the frame
};

// ---- options

static bool read_tolerance(struct replay *replay, const char *word) {
    char *end;
    errno = 0;
    const double value = strtod(word, &end);
    const bool ulps = strcmp(end, "ulp") == 0 || strcmp(end, "ulps") == 0;
    if (end == word || errno || !(value >= 0) || (*end && !ulps) || (ulps && value > 1e15)) {
        complain("--tolerance: '%s' is not a tolerance such as 4ulp or 1e-6", word);
        return false;
    }
    if (ulps)
        replay->options.ulps = (uint64_t)value;
    else
        replay->options.absolute = value;
    return true;
}

static bool read_permute(struct replay *replay) {
    const char *orders = invocation_value(replay->invocation, "permute"),
               *seed = invocation_value(replay->invocation, "seed");
    replay->permute =
        (tsmith_permute_options){.size = sizeof replay->permute, .seed = 1, .replay = &replay->options};
    if (orders && (!quantity_count(orders, &replay->permute.orders) || !replay->permute.orders ||
                   replay->permute.orders > 1000000)) {
        complain("--permute: '%s' is not a number from 1 to 1000000", orders);
        return false;
    }
    if (seed && (!orders || !quantity_count(seed, &replay->permute.seed))) {
        complain(orders ? "--seed: '%s' is not a number" : "--seed %s is for --permute", seed);
        return false;
    }
    return true;
}

// What --hazards, --permute and --against do not do.
static bool is_alone(const struct invocation *invocation) {
    static const char *const alone[] = {"hazards", "permute", "against"};
    static const char *const others[] = {"mode",   "range",     "kernel",       "stream", "speed",
                                         "timing", "validate",  "instructions", "check",  "times",
                                         "all",    "tolerance", "save-results"};
    enum { FOR_AGAINST = 9 }; // from here on they matter for --against
    const char *one = NULL;
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        if (one && invocation_flag(invocation, alone[i])) {
            complain("--%s and --%s cannot be combined", one, alone[i]);
            return false;
        }
        one = invocation_flag(invocation, alone[i]) ? alone[i] : one;
    }
    const bool against = one && strcmp(one, "against") == 0;
    for (size_t i = 0; one && i < (against ? FOR_AGAINST : sizeof others / sizeof *others); i++)
        if (invocation_flag(invocation, others[i])) {
            complain("--%s has no effect with --%s", others[i], one);
            return false;
        }
    if (invocation_flag(invocation, "each") && !against) {
        complain("--each needs --against");
        return false;
    }
    if (invocation_flag(invocation, "confirm") && !invocation_flag(invocation, "hazards")) {
        complain("--confirm needs --hazards");
        return false;
    }
    return true;
}

// Files for the caller would be written outside of the sandbox.
static bool check_sandbox(const struct invocation *invocation) {
    static const char *const writing[] = {"save-results", "save-source", "output", "emit-c"};
    for (size_t i = 0; i < sizeof writing / sizeof *writing; i++)
        if (invocation_flag(invocation, "sandbox") && invocation_flag(invocation, writing[i])) {
            complain("--sandbox cannot be combined with --%s: a sandboxed replay writes no files",
                     writing[i]);
            return false;
        }
    return true;
}

static bool read_options(struct replay *replay) {
    const struct invocation *invocation = replay->invocation;
    const char *times = invocation_value(invocation, "times"), *limit = invocation_value(invocation, "limit"),
               *tolerance = invocation_value(invocation, "tolerance"),
               *source = invocation_value(invocation, "source");
    uint64_t count = 1;
    replay->options = (tsmith_replay_options){.size = sizeof replay->options};
    replay->options.device = invocation_value(invocation, "device");
    replay->options.against = invocation_value(invocation, "against");
    replay->options.each = invocation_flag(invocation, "each");
    if (times && (!quantity_count(times, &count) || !count || count > 10000)) {
        complain("--times: '%s' is not a number from 1 to 10000", times);
        return false;
    }
    replay->options.times = (uint32_t)count;
    if (limit && (!quantity_time(limit, &replay->options.patience_ns) || replay->options.patience_ns <= 0)) {
        complain("--limit: '%s' is not a time such as 30s or 5m", limit);
        return false;
    }
    const bool good = is_alone(invocation) && check_sandbox(invocation) && replay_check_page(invocation) &&
                      replay_check_contents(invocation) && replay_check_emit(invocation) &&
                      replay_read_part(invocation, &replay->options, &replay->frame) &&
                      read_permute(replay) && replay_check_words(invocation) &&
                      (!tolerance || read_tolerance(replay, tolerance)) &&
                      (!source || replay_read_source(source, &replay->kernel, &replay->source));
    replay->options.source_kernel = replay->kernel;
    replay->options.source_text = replay->source;
    return good;
}

// ---- what is recorded

static void add_summary_json(struct text *text, const struct replay *replay) {
    const tsmith_recording_summary *summary = &replay->summary;
    tsmith_recording_refusal refusal = {.size = sizeof refusal};
    text_add_format(text,
                    "\"recording\":{\"processes\":%" PRIu64 ",\"unfinished\":%" PRIu64
                    ",\"commands\":%" PRIu64 ",\"kernels\":%" PRIu64 ",\"submissions\":%" PRIu64
                    ",\"checks\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"chunks\":%" PRIu64
                    ",\"chunk_bytes\":%" PRIu64 ",\"payload_bytes\":%" PRIu64 ",\"damaged\":%" PRIu64
                    "},\"refusals\":[",
                    summary->processes, summary->unfinished, summary->commands, summary->kernels,
                    summary->submissions, summary->checks, summary->refused, summary->chunks,
                    summary->chunk_bytes, summary->payload_bytes, summary->damaged);
    for (size_t i = 0; tsmith_recording_refusal_get(replay->recording, i, &refusal); i++) {
        text_add_cstr(text, i ? ",{\"function\":" : "{\"function\":");
        text_add_json_cstr(text, refusal.function);
        text_add_cstr(text, ",\"reason\":");
        text_add_json_cstr(text, refusal.reason);
        text_add_format(text, ",\"count\":%" PRIu64 "}", refusal.count);
    }
    text_add_char(text, ']');
}

static void add_summary_text(struct text *text, const struct replay *replay) {
    const tsmith_recording_summary *summary = &replay->summary;
    tsmith_recording_refusal refusal = {.size = sizeof refusal};
    text_add_safe(text, text_string(replay->trace.path), 0);
    text_add_cstr(text, ": ");
    if (summary->submissions && summary->submissions == summary->commands) {
        text_add_counted(text, summary->submissions, "submission, ", "submissions, ");
    } else {
        text_add_counted(text, summary->commands, "command (", "commands (");
        text_add_counted(text, summary->kernels, "kernel", "kernels");
        text_add_cstr(text, summary->submissions ? ", " : "");
        if (summary->submissions)
            text_add_counted(text, summary->submissions, "submission of Vulkan", "submissions of Vulkan");
        text_add_cstr(text, "), ");
    }
    text_add_counted(text, summary->checks, "result to compare, ", "results to compare, ");
    text_add_bytes(text, (double)summary->chunk_bytes);
    text_add_cstr(text, " of data\n");
    for (size_t i = 0; tsmith_recording_refusal_get(replay->recording, i, &refusal); i++) {
        text_add_cstr(text, "not replayed: ");
        text_add_safe(text, text_string(refusal.function), 60);
        text_add_cstr(text, " (");
        text_add_times(text, refusal.count);
        text_add_cstr(text, "): ");
        text_add_safe(text, text_string(refusal.reason), 200);
        text_add_char(text, '\n');
    }
}

// ---- results

static void add_result_json(struct text *text, const tsmith_replay_result *result) {
    text_add_format(text,
                    "{\"verdict\":\"%s\",\"pid\":%" PRIu64 ",\"command\":%" PRIu64
                    ",\"what\":\"%s\",\"buffer\":%" PRIu64 ",\"bytes\":%" PRIu64
                    ",\"element\":\"%s\",\"writer\":",
                    tsmith_verdict_name(result->verdict), result->pid, result->command, result->what,
                    result->buffer, result->bytes, tsmith_element_name(result->element));
    if (result->writer)
        text_add_json_cstr(text, result->writer);
    else
        text_add_cstr(text, "null");
    if (result->writer)
        text_add_format(text, ",\"writer_command\":%" PRIu64, result->writer_command);
    if (result->writer_correlation)
        text_add_format(text, ",\"writer_correlation\":%" PRIu64, result->writer_correlation);
    text_add_format(text, ",\"replays_exact\":%" PRIu32, result->replays_exact);
    if (result->reason) {
        text_add_cstr(text, ",\"reason\":");
        text_add_json_cstr(text, result->reason);
    }
    if (result->different && result->reason) {
        text_add_format(text, ",\"offset\":%" PRIu64, result->offset);
    } else if (result->different) {
        text_add_format(text,
                        ",\"different\":%" PRIu64 ",\"offset\":%" PRIu64 ",\"recorded_bits\":\"0x%" PRIx64
                        "\",\"replayed_bits\":\"0x%" PRIx64 "\",\"most_ulps\":%" PRIu64 ",\"most_absolute\":",
                        result->different, result->offset, result->recorded, result->replayed,
                        result->most_ulps);
        if (isfinite(result->most_absolute))
            text_add_format(text, "%.9g", result->most_absolute);
        else
            text_add_cstr(text, "null");
    }
    text_add_char(text, '}');
}

// What --tolerance would have to be.
static void add_worst(struct text *text, const tsmith_replay_result *result) {
    const bool floats = result->element == TSMITH_ELEMENT_F16 || result->element == TSMITH_ELEMENT_F32 ||
                        result->element == TSMITH_ELEMENT_F64;
    if (!isfinite(result->most_absolute)) {
        text_add_cstr(text, ", some where one of the two is not a number");
        return;
    }
    text_add_format(text, ", by %.3g at most", result->most_absolute);
    if (floats && result->most_ulps != UINT64_MAX) {
        text_add_cstr(text, " (");
        text_add_count(text, result->most_ulps);
        text_add_cstr(text, " ulp)");
    }
}

static void add_result_text(struct text *text, const tsmith_replay_result *result, bool against) {
    text_add_format(text, "%-16s  buffer %" PRIu64 " %s", tsmith_verdict_name(result->verdict),
                    result->buffer, strcmp(result->what, "map") == 0 ? "mapped" : result->what);
    text_add_format(text, " after %" PRIu64 " %s", result->command,
                    plural(result->command, "command", "commands"));
    if (result->writer) {
        text_add_cstr(text, ", written by ");
        text_add_safe(text, text_string(result->writer), 60);
        text_add_format(text, " (command %" PRIu64 ")", result->writer_command);
    }
    if (result->reason) {
        text_add_cstr(text, ": ");
        text_add_safe(text, text_string(result->reason), 200);
    } else if (result->different) {
        text_add_format(text, ": %s at byte %" PRIu64 " of %" PRIu64 " is ",
                        tsmith_element_name(result->element), result->offset, result->bytes);
        say_value(text, result->element, result->replayed);
        text_add_cstr(text, against ? " on the second device, on the first " : ", recorded was ");
        say_value(text, result->element, result->recorded);
        text_add_cstr(text, "; ");
        text_add_counted(text, result->different, "element differs", "elements differ");
        add_worst(text, result);
    }
    text_add_char(text, '\n');
}

static void add_devices(struct text *text, const struct replay *replay, bool json) {
    tsmith_replay_mapping mapping = {.size = sizeof mapping};
    const char *device = tsmith_replay_device(replay->replay);
    if (json) {
        text_add_cstr(text, ",\"device\":");
        text_add_json_cstr(text, device);
    } else {
        text_add_cstr(text, device[0] ? "on " : "");
        text_add_safe(text, text_string(device), 200);
        text_add_cstr(text, device[0] ? ", " : "");
        if (replay->summary.commands)
            text_add_times(text, replay->options.times);
        else
            text_add_cstr(text, "nothing to run");
        text_add_char(text, '\n');
    }
    const char *against = tsmith_replay_against(replay->replay);
    if (against) {
        text_add_cstr(text, json ? ",\"against\":" : "against ");
        json ? text_add_json_cstr(text, against) : text_add_safe(text, text_string(against), 200);
        text_add_cstr(text, json ? "" : ": they are compared with each other, not with the recording\n");
    }
    // In text only where there is a choice.
    const bool several = tsmith_replay_mapping_get(replay->replay, 1, &mapping);
    text_add_cstr(text, json ? ",\"devices\":[" : "");
    for (size_t i = 0; tsmith_replay_mapping_get(replay->replay, i, &mapping); i++) {
        if (json) {
            text_add_format(text, "%s{\"pid\":%" PRIu64 ",\"recorded\":", i ? "," : "", mapping.pid);
            text_add_json_cstr(text, mapping.recorded);
            text_add_format(text, ",\"device\":%" PRIu64 ",\"name\":", mapping.device);
            text_add_json_cstr(text, mapping.name);
            text_add_char(text, '}');
        } else if (several) {
            text_add_cstr(text, "  what ran on ");
            text_add_safe(text, text_string(mapping.recorded), 100);
            text_add_format(text, " runs on device %" PRIu64 ", ", mapping.device);
            text_add_safe(text, text_string(mapping.name), 100);
            text_add_char(text, '\n');
        }
    }
    text_add_cstr(text, json ? "]" : "");
}

static void add_notes(struct text *text, const struct replay *replay, bool json) {
    const char *note;
    text_add_cstr(text, json ? ",\"notes\":[" : "");
    for (size_t i = 0; (note = tsmith_replay_note(replay->replay, i)); i++) {
        if (json) {
            text_add_cstr(text, i ? "," : "");
            text_add_json_cstr(text, note);
        } else if (i < NOTES_MOST) {
            text_add_cstr(text, "note: ");
            text_add_safe(text, text_string(note), 0);
            text_add_char(text, '\n');
        }
    }
    text_add_cstr(text, json ? "]" : "");
}

static void add_results(struct text *text, struct replay *replay, bool json) {
    const size_t count = tsmith_replay_result_count(replay->replay);
    const bool all = invocation_flag(replay->invocation, "all");
    size_t shown = 0, hidden = 0, intermediate = 0;
    text_add_cstr(text, json ? ",\"results\":[" : "");
    for (size_t i = 0; i < count; i++) {
        const tsmith_replay_result *result = tsmith_replay_result_get(replay->replay, i);
        replay->verdicts[result->verdict]++;
        replay->varying += result->varies != 0;
        const bool exact = result->verdict == TSMITH_VERDICT_EXACT;
        // What commands wrote is there to find the first that went wrong: it must not hide what the program saw.
        intermediate += !exact && strcmp(result->what, "written") == 0;
        if (!json && !all &&
            (exact || shown == SHOWN_MOST ||
             (intermediate > INTERMEDIATE_MOST && strcmp(result->what, "written") == 0))) {
            hidden += !exact;
            continue;
        }
        text_add_cstr(text, json && shown ? ",\n" : "");
        shown++;
        json ? add_result_json(text, result)
             : add_result_text(text, result, tsmith_replay_against(replay->replay) != NULL);
    }
    text_add_cstr(text, json ? "]" : "");
    if (hidden)
        text_add_format(text, "... and %zu more (--all or --json has them)\n", hidden);
}

// Whether any result could be compared: a replay of none has shown nothing.
static bool has_compared(const struct replay *replay) {
    uint64_t sum = 0;
    for (int i = 0; i < TSMITH_VERDICT_LIMIT; i++)
        sum += i == TSMITH_VERDICT_UNCOMPARABLE ? 0 : replay->verdicts[i];
    return sum != 0;
}

static void add_verdicts(struct text *text, const struct replay *replay, bool json) {
    bool first = true;
    text_add_cstr(text, json ? ",\"verdicts\":{" : "");
    for (int i = 0; i < TSMITH_VERDICT_LIMIT; i++) {
        if (!json && !replay->verdicts[i])
            continue;
        text_add_cstr(text, first ? "" : json ? "," : ", ");
        first = false;
        text_add_format(text, json ? "\"%s\":%" PRIu64 : "%s %" PRIu64,
                        tsmith_verdict_name((tsmith_verdict)i), replay->verdicts[i]);
    }
    text_add_cstr(text, json ? "}" : first ? "nothing was compared\n" : "\n");
    if (!json && !first && !has_compared(replay))
        text_add_cstr(
            text, "nothing could be compared: the replay does not show whether the results are correct\n");
}

static void show_progress(void *context, uint64_t done, uint64_t total) {
    progress_show(context, total ? (double)done / (double)total : -1);
}

static int run_replay(struct replay *replay, struct text *text, bool json) {
    tsmith_error error;
    struct progress progress = {.what = "replaying"};
    const bool validates = invocation_flag(replay->invocation, "validate");
    const bool interpreted = replay_is_interpreted(replay->invocation);
    const char *directory = invocation_value(replay->invocation, "save-results");
    if (directory) {
        if (!results_begin(&replay->results, directory, invocation_flag(replay->invocation, "all")))
            return EXIT_LACKING;
        pictures_find(&replay->results.pictures, replay->recording);
        replay->options.take = results_take;
        replay->options.take_context = &replay->results;
    }
    replay->options.progress = show_progress;
    replay->options.progress_context = &progress;
    const tsmith_status status =
        interpreted ? replay_interpret(replay->invocation, replay->recording, &replay->options,
                                       &replay->instructions, &error)
                    : tsmith_replay_run(replay->recording, &replay->options, &replay->replay, &error);
    progress_clear(&progress);
    replay->options.progress = NULL;
    if (replay->instructions)
        replay->replay = tsmith_instructions_take_replay(replay->instructions);
    if (status < 0)
        complain("%s", error.message);
    if (!replay->replay)
        return exit_code_of_input(status);
    add_devices(text, replay, json);
    say_extent(text, replay->replay, json);
    add_notes(text, replay, json);
    add_results(text, replay, json);
    add_verdicts(text, replay, json);
    if (directory && !json)
        results_add_summary(text, &replay->results);
    replay_add_culprit(text, replay->replay, &replay->sites, json);
    const int paged =
        replay_write_page(&replay->pages, replay->trace.path, replay->recording, replay->replay);
    if (replay->options.timing)
        replay_add_times(text, replay->replay, json);
    if (validates)
        replay_add_validation(text, replay->varying, json);
    if (json)
        text_add_format(text, ",\"whole\":%s", status == TSMITH_OK ? "true" : "false");
    else if (status == TSMITH_OK && !interpreted)
        say_next(text, replay->recording, replay->replay, replay->verdicts, replay->options.times);
    const bool bad = validates ? replay->varying != 0 : replay->verdicts[TSMITH_VERDICT_DIVERGED] != 0;
    int code = bad ? EXIT_NO : EXIT_DONE;
    if (replay->instructions) {
        const int found =
            replay_add_instructions(text, replay->invocation, replay->instructions, replay->verdicts, json);
        code = code == EXIT_DONE || found == EXIT_LACKING ? found : code;
    }
    if (status == TSMITH_ERROR_FORMAT)
        return exit_code_of_input(status);
    if (code == EXIT_DONE && !interpreted && !replay->options.timing && !has_compared(replay))
        code = EXIT_LACKING;
    results_finish(&replay->results);
    return status < 0 || replay->results.failed || paged != EXIT_DONE ? EXIT_LACKING : code;
}

// Whether anything of the recording is run.
static bool runs(const struct invocation *invocation) {
    const char *mode = invocation_value(invocation, "mode");
    return !invocation_flag(invocation, "save-source") &&
           (!invocation_flag(invocation, "emit-c") || invocation_flag(invocation, "minimize")) &&
           !(mode && strcmp(mode, "dry-run") == 0) &&
           (!invocation_flag(invocation, "hazards") || invocation_flag(invocation, "confirm"));
}

static int run(struct replay *replay, struct text *text) {
    const bool json = invocation_flag(replay->invocation, "json");
    const char *mode = invocation_value(replay->invocation, "mode");
    const bool interpreted = replay_is_interpreted(replay->invocation);
    tsmith_error error;
    int code = trace_open(replay->invocation->operands[0], &replay->trace);
    if (code != EXIT_DONE)
        return code;
    tsmith_status status = tsmith_recording_open(replay->trace.file, &replay->recording, &error);
    if (status < 0) {
        complain("%s: %s", replay->trace.path, error.message);
        return exit_code_of_input(status);
    }
    code = say_verify(&replay->trace);
    if (code != EXIT_DONE)
        return code;
    code = replay_take_times(&replay->trace, replay->recording, &replay->options);
    if (code == EXIT_DONE)
        code = replay_take_frame(replay->invocation, &replay->trace, replay->frame, &replay->options,
                                 &replay->calls);
    if (code != EXIT_DONE)
        return code;
    sites_read(&replay->sites, &replay->trace);
    replay->summary.size = sizeof replay->summary;
    tsmith_recording_summarize(replay->recording, &replay->summary);
    const bool plans = invocation_flag(replay->invocation, "hazards"), dry = mode && !strcmp(mode, "dry-run");
    if (!json && !interpreted && runs(replay->invocation))
        say_foreign(text, replay->recording, &replay->options);
    text_add_cstr(text, json ? "{" : "");
    json ? add_summary_json(text, replay) : add_summary_text(text, replay);
    say_damage(text, &replay->trace, &replay->summary, json);
    const char *save = invocation_value(replay->invocation, "save-source");
    if (save)
        return replay_save_source(replay->recording, save, replay->trace.path);
    if (replay_makes_program(replay->invocation))
        code = replay_add_program(text, replay->invocation, replay->recording, &replay->options, json);
    else if (invocation_flag(replay->invocation, "contents"))
        code = replay_add_contents(text, replay->invocation, replay->recording, &replay->options, json);
    else if (replay->permute.orders)
        code = answer_permute(replay->recording, &replay->permute, &replay->sites, text, json);
    else if (plans)
        code = answer_hazards(replay->recording,
                              invocation_flag(replay->invocation, "confirm") ? &replay->options : NULL,
                              &replay->sites, text, json);
    else if (dry)
        code = say_commands(text, replay->recording, invocation_flag(replay->invocation, "all"), json);
    else
        code = run_replay(replay, text, json);
    if (replay->sandboxed)
        sandbox_add_report(text, &replay->sandbox, json);
    text_add_cstr(text, json ? "}\n" : "");
    output_text(text);
    trace_refresh(&replay->trace);
    int report = trace_report(&replay->trace);
    if (report == EXIT_DONE && replay->summary.damaged)
        report = EXIT_DAMAGED;
    // Where nothing could be checked, damage is the more likely reason.
    return code == EXIT_DONE || (code == EXIT_LACKING && report == EXIT_DAMAGED) ? report : code;
}

// In a sandbox where one is asked for: there, or in its parent after its end.
static int run_restricted(struct replay *replay, struct text *text) {
    int code = page_open(replay->invocation, &replay->pages); // a sandbox lets no file be opened for writing
    if (code != EXIT_DONE)
        return code;
    code = EXIT_USAGE;
    replay->sandboxed = invocation_flag(replay->invocation, "sandbox");
    if (replay->sandboxed && !sandbox_enter(&replay->sandbox, &code))
        return code;
    if (!replay->sandboxed && runs(replay->invocation) && !invocation_flag(replay->invocation, "json"))
        replay_notice();
    return run(replay, text);
}

int command_replay(const struct invocation *invocation) {
    struct replay replay = {.invocation = invocation};
    struct text text = {0};
    int code = read_options(&replay) ? run_restricted(&replay, &text) : EXIT_USAGE;
    text_finish(&text);
    const int closed = page_close(&replay.pages);
    code = code == EXIT_DONE ? closed : code;
    tsmith_replay_destroy(replay.replay);
    tsmith_instructions_destroy(replay.instructions);
    tsmith_recording_close(replay.recording);
    sites_finish(&replay.sites);
    trace_close(&replay.trace);
    free(replay.calls);
    free(replay.kernel);
    free(replay.source);
    return code;
}
