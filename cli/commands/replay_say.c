// SPDX-License-Identifier: Apache-2.0
// Messages of `replay` around its verdicts: device, commands, damage and the next steps. replay.c calls it.
#include "replay_say.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/present/terminal.h"
#include "tracesmith/plan.h"

enum { COMMANDS_SHOWN = 200 };

// ---- where

void say_foreign(struct text *text, tsmith_recording *recording, const tsmith_replay_options *options) {
    tsmith_replay *chosen = NULL;
    tsmith_replay_mapping mapping = {.size = sizeof mapping};
    tsmith_error error; // the replay will say it
    if (tsmith_replay_choose(recording, options, &chosen, &error) != TSMITH_OK)
        return;
    for (size_t i = 0; tsmith_replay_mapping_get(chosen, i, &mapping); i++) {
        const bool device = strcmp(mapping.recorded, mapping.name) != 0;
        if (!device && strcmp(mapping.recorded_driver, mapping.driver) == 0)
            continue;
        text_add_cstr(text, device ? "another device: recorded on " : "another driver: recorded on ");
        text_add_safe(text, text_string(mapping.recorded), 100);
        text_add_cstr(text, " (driver ");
        text_add_safe(text, text_string(*mapping.recorded_driver ? mapping.recorded_driver : "unknown"), 60);
        text_add_cstr(text, "), replayed on ");
        text_add_safe(text, text_string(mapping.name), 100);
        text_add_cstr(text, " (driver ");
        text_add_safe(text, text_string(mapping.driver), 60);
        text_add_cstr(text, "); differences may come from the device\n");
    }
    tsmith_replay_destroy(chosen);
}

// ---- damage

int say_verify(struct trace *trace) {
    tsmith_error error;
    const tsmith_status status = tsmith_sbt_verify(trace->file, &error);
    trace_refresh(trace);
    if (status == TSMITH_OK)
        return EXIT_DONE;
    complain("%s: %s", trace->path, error.message);
    return exit_code_of_input(status);
}

void say_damage(struct text *text, const struct trace *trace, const tsmith_recording_summary *summary,
                bool json) {
    const uint64_t frames = trace->summary.damaged_frames;
    const bool cut = !trace->is_whole && !frames;
    if (json) {
        text_add_format(text, ",\"complete\":%s,\"damaged_frames\":%" PRIu64 ",",
                        trace->is_whole && !summary->damaged ? "true" : "false", frames);
        text_add_format(text, "\"cut\":%s", cut ? "true" : "false");
        return;
    }
    if (frames)
        text_add_format(text,
                        "damaged: %" PRIu64 " %s of the file cannot be read; the following covers the rest\n",
                        frames, plural(frames, "part", "parts"));
    if (cut)
        text_add_cstr(text, "truncated: the file ends early; the following covers the readable part\n");
    if (summary->damaged)
        text_add_format(text, "damaged: %" PRIu64 " %s of the recording invalid and left out\n",
                        summary->damaged, plural(summary->damaged, "record is", "records are"));
}

// ---- what

struct listing {
    struct text *text;
    bool json, all;
    uint64_t count;
};

static void add_command(void *context, const tsmith_recorded_command *command) {
    struct listing *listing = context;
    struct text *text = listing->text;
    listing->count++;
    if (listing->json) {
        text_add_format(text, "%s{\"pid\":%" PRIu64 ",\"command\":%" PRIu64 ",\"what\":\"%s\",\"kernel\":",
                        listing->count > 1 ? ",\n" : "", command->pid, command->command, command->what);
        if (command->kernel)
            text_add_json_cstr(text, command->kernel);
        else
            text_add_cstr(text, "null");
        text_add_format(text, ",\"queue\":%" PRIu64 ",\"buffer\":%" PRIu64 ",\"bytes\":%" PRIu64 "}",
                        command->queue, command->buffer, command->bytes);
        return;
    }
    if (!listing->all && listing->count > COMMANDS_SHOWN)
        return;
    text_add_format(text, "command %" PRIu64 "  queue %" PRIu64 "  %s", command->command, command->queue,
                    command->what);
    if (command->kernel) {
        text_add_char(text, ' ');
        text_add_safe(text, text_string(command->kernel), 60);
    }
    if (command->buffer)
        text_add_format(text, "  buffer %" PRIu64, command->buffer);
    if (command->bytes) {
        text_add_cstr(text, "  ");
        text_add_bytes(text, (double)command->bytes);
    }
    text_add_char(text, '\n');
}

int say_commands(struct text *text, tsmith_recording *recording, bool all, bool json) {
    struct listing listing = {.text = text, .json = json, .all = all};
    tsmith_error error;
    text_add_cstr(text, json ? ",\"commands\":[" : "");
    const tsmith_status status = tsmith_recording_each_command(recording, add_command, &listing, &error);
    text_add_cstr(text, json ? "]" : "");
    if (status != TSMITH_OK) {
        complain("%s", error.message);
        return exit_code_of_input(status);
    }
    if (!json && !all && listing.count > COMMANDS_SHOWN)
        text_add_format(text, "... and %" PRIu64 " more (--all or --json lists them)\n",
                        listing.count - COMMANDS_SHOWN);
    if (!json && !listing.count)
        text_add_cstr(text, "no command to run\n");
    return EXIT_DONE;
}

void say_extent(struct text *text, const tsmith_replay *replay, bool json) {
    tsmith_replay_extent extent = {.size = sizeof extent};
    tsmith_replay_get_extent(replay, &extent);
    if (json) {
        text_add_format(text,
                        ",\"extent\":{\"commands\":%" PRIu64 ",\"asked\":%" PRIu64 ",\"ran\":%" PRIu64 "}",
                        extent.commands, extent.asked, extent.ran);
        return;
    }
    if (extent.ran < extent.commands) {
        text_add_cstr(text, "ran ");
        text_add_count(text, extent.ran);
        text_add_cstr(text, " of ");
        text_add_counted(text, extent.commands, "command", "commands");
        text_add_cstr(text, ": ");
        text_add_count(text, extent.asked);
        text_add_cstr(text, " selected; the others are their dependencies\n");
    } else if (!extent.commands) {
        text_add_cstr(text, "no command ran: the recording has none\n");
    }
}

void say_value(struct text *text, tsmith_element element, uint64_t bits) {
    float single;
    double number;
    const uint32_t low = (uint32_t)bits;
    switch (element) {
    case TSMITH_ELEMENT_F32:
        memcpy(&single, &low, sizeof single);
        text_add_format(text, "%.9g", (double)single);
        break;
    case TSMITH_ELEMENT_F64:
        memcpy(&number, &bits, sizeof number);
        text_add_format(text, "%.17g", number);
        break;
    case TSMITH_ELEMENT_I8:
        text_add_i64(text, (int8_t)bits);
        break;
    case TSMITH_ELEMENT_I16:
        text_add_i64(text, (int16_t)bits);
        break;
    case TSMITH_ELEMENT_I32:
        text_add_i64(text, (int32_t)bits);
        break;
    case TSMITH_ELEMENT_I64:
        text_add_i64(text, (int64_t)bits);
        break;
    case TSMITH_ELEMENT_F16:
        text_add_format(text, "0x%04" PRIx64, bits);
        break;
    default:
        text_add_u64(text, bits);
    }
}

// ---- what next

static bool uses_atomics(tsmith_recording *recording, const char *kernel) {
    tsmith_recorded_source source = {.size = sizeof source};
    tsmith_error error;
    if (tsmith_recording_source(recording, kernel, &source, &error) != TSMITH_OK)
        return false;
    const bool found = strstr(source.text, "atomic") || strstr(source.text, "atom_");
    free(source.text);
    return found;
}

static void say_times(struct text *text, tsmith_recording *recording, const tsmith_replay *replay) {
    for (size_t i = 0; i < tsmith_replay_result_count(replay); i++) {
        const tsmith_replay_result *result = tsmith_replay_result_get(replay, i);
        if (result->verdict != TSMITH_VERDICT_DIVERGED || !result->writer ||
            !uses_atomics(recording, result->writer))
            continue;
        text_add_cstr(text, "hint: the source of ");
        text_add_safe(text, text_string(result->writer), 60);
        text_add_cstr(text, " uses atomics, whose order may decide the result; --times 20 distinguishes "
                            "noise from a wrong result\n");
        return;
    }
}

// exact: every compared result is; otherwise the missing order may be the reason of the difference.
static void say_hazards(struct text *text, tsmith_recording *recording, bool exact) {
    tsmith_plan *plan = NULL;
    tsmith_error error;
    size_t count = 0;
    tsmith_hazard hazard = {.size = sizeof hazard};
    if (tsmith_plan_create(recording, &plan, &error) == TSMITH_OK)
        for (size_t i = 0; tsmith_plan_hazard_get(plan, i, &hazard); i++)
            count += !hazard.possible;
    tsmith_plan_destroy(plan);
    if (count)
        text_add_format(text, "hint: %s%zu %s the same memory in no fixed order%s: --hazards lists them\n",
                        exact ? "this replay is exact, but " : "", count,
                        plural(count, "pair of commands uses", "pairs of commands use"),
                        exact ? "" : ", which may decide the results");
}

void say_next(struct text *text, tsmith_recording *recording, const tsmith_replay *replay,
              const uint64_t *verdicts, uint32_t times) {
    enum { PLANNED_MOST = 100000 };
    tsmith_replay_extent extent = {.size = sizeof extent};
    tsmith_replay_get_extent(replay, &extent);
    if (verdicts[TSMITH_VERDICT_DIVERGED] && times < 2)
        say_times(text, recording, replay);
    const bool differs = verdicts[TSMITH_VERDICT_DIVERGED] || verdicts[TSMITH_VERDICT_WITHIN_NOISE] ||
                         verdicts[TSMITH_VERDICT_WITHIN_TOLERANCE];
    if ((differs || verdicts[TSMITH_VERDICT_EXACT]) && !tsmith_replay_against(replay) &&
        extent.commands <= PLANNED_MOST)
        say_hazards(text, recording, !differs);
}
