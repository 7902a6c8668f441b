// SPDX-License-Identifier: Apache-2.0
// `tracesmith replay --instructions` and `--check`: a recording on Oclgrind, which interprets.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/opened_trace.h"
#include "cli/options/quantity.h"
#include "cli/present/terminal.h"
#include "replay_instructions.h"
#include "tracesmith/sbt.h"

bool replay_is_interpreted(const struct invocation *invocation) {
    return invocation_value(invocation, "instructions") || invocation_flag(invocation, "check");
}

static bool read_item(const char *word, uint64_t item[3]) {
    char number[32];
    for (int i = 0; i < 3; i++) {
        const size_t length = strcspn(word, ",");
        if (!length || length >= sizeof number)
            return false;
        memcpy(number, word, length);
        number[length] = '\0';
        if (!quantity_count(number, &item[i]))
            return false;
        if (!word[length])
            return true;
        word += length + 1;
    }
    return false;
}

bool replay_check_words(const struct invocation *invocation) {
    const char *item = invocation_value(invocation, "work-item"),
               *steps = invocation_value(invocation, "steps"),
               *device = invocation_value(invocation, "device"),
               *output = invocation_value(invocation, "output");
    uint64_t ids[3], count;
    if (item && !read_item(item, ids)) {
        complain("--work-item: '%s' is not a global id X, X,Y or X,Y,Z", item);
        return false;
    }
    if (steps && (!quantity_count(steps, &count) || !count)) {
        complain("--steps: '%s' is not a number of instructions", steps);
        return false;
    }
    if ((item || output) && !invocation_value(invocation, "instructions")) {
        complain("--%s needs --instructions KERNEL", item ? "work-item" : "output");
        return false;
    }
    if (steps && !item) {
        complain("--steps needs --work-item X,Y,Z");
        return false;
    }
    if (replay_is_interpreted(invocation) && device && strcmp(device, "oclgrind") != 0) {
        complain("--device cannot be combined with --instructions or --check, which run on Oclgrind");
        return false;
    }
    return !output || trace_may_replace(output);
}

tsmith_status replay_interpret(const struct invocation *invocation, tsmith_recording *recording,
                               const tsmith_replay_options *replay, tsmith_instructions **out,
                               tsmith_error *error) {
    const char *item = invocation_value(invocation, "work-item"),
               *steps = invocation_value(invocation, "steps");
    tsmith_instructions_options options = {.size = sizeof options,
                                           .kernel = invocation_value(invocation, "instructions"),
                                           .check = invocation_flag(invocation, "check"),
                                           .stream = item != NULL,
                                           .replay = replay};
    if (item)
        read_item(item, options.item);
    if (steps)
        quantity_count(steps, &options.stream_most);
    return tsmith_instructions_run(recording, &options, out, error);
}

// ---- as JSON

static void add_spaces_json(struct text *text, const tsmith_instruction *instruction) {
    for (int i = 0; i < TSMITH_ADDRESS_SPACE_LIMIT; i++)
        if (instruction->loads[i] || instruction->stores[i])
            text_add_format(text,
                            ",\"%s\":{\"loads\":%" PRIu64 ",\"load_bytes\":%" PRIu64 ",\"stores\":%" PRIu64
                            ",\"store_bytes\":%" PRIu64 "}",
                            tsmith_address_space_name((tsmith_address_space)i), instruction->loads[i],
                            instruction->load_bytes[i], instruction->stores[i], instruction->store_bytes[i]);
}

static void add_instruction_json(struct text *text, const tsmith_instruction *instruction) {
    text_add_cstr(text, "{\"file\":");
    text_add_json_cstr(text, instruction->file);
    text_add_format(text, ",\"line\":%" PRIu32 ",\"function\":", instruction->line);
    text_add_json_cstr(text, instruction->function);
    text_add_format(text, ",\"executed\":%" PRIu64, instruction->executed);
    if (*instruction->opcode) {
        text_add_format(text, ",\"column\":%" PRIu32 ",\"opcode\":", instruction->column);
        text_add_json_cstr(text, instruction->opcode);
        text_add_cstr(text, ",\"text\":");
        text_add_json_cstr(text, instruction->text);
    } else if (*instruction->source) {
        text_add_cstr(text, ",\"source\":");
        text_add_json_cstr(text, instruction->source);
    }
    add_spaces_json(text, instruction);
    text_add_format(text, ",\"atomics\":%" PRIu64 ",\"branches\":%" PRIu64 ",\"taken\":%" PRIu64 "}",
                    instruction->atomics, instruction->branches, instruction->taken);
}

static void add_triple(struct text *text, const char *name, const uint64_t *values) {
    text_add_format(text, ",\"%s\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", name, values[0], values[1],
                    values[2]);
}

static void add_json(struct text *text, const tsmith_instructions *instructions) {
    tsmith_instructions_launch launch = {.size = sizeof launch};
    tsmith_instruction instruction = {.size = sizeof instruction};
    text_add_cstr(text, ",\"launches\":[");
    for (size_t i = 0; tsmith_instructions_launch_get(instructions, i, &launch); i++) {
        text_add_format(text, "%s{\"executed\":%" PRIu64 ",\"steps\":%" PRIu64 ",\"steps_lost\":%" PRIu64,
                        i ? ",\n" : "", launch.executed, launch.steps, launch.steps_lost);
        add_triple(text, "global", launch.global);
        add_triple(text, "local", launch.local);
        add_triple(text, "offset", launch.offset);
        text_add_format(text, ",\"group_loaded\":%" PRIu64 ",\"group_stored\":%" PRIu64 "}",
                        launch.group_loaded, launch.group_stored);
    }
    text_add_cstr(text, "],\"lines\":[");
    for (size_t i = 0; tsmith_instructions_line_get(instructions, i, &instruction); i++) {
        text_add_cstr(text, i ? ",\n" : "");
        add_instruction_json(text, &instruction);
    }
    text_add_cstr(text, "],\"instructions\":[");
    for (size_t i = 0; tsmith_instructions_get(instructions, i, &instruction); i++) {
        text_add_cstr(text, i ? ",\n" : "");
        add_instruction_json(text, &instruction);
    }
    text_add_char(text, ']');
}

// ---- as text

static void add_column(struct text *text, uint64_t value, size_t width) {
    const size_t from = text->length;
    if (value)
        text_add_count(text, value);
    text_pad_left(text, from, width);
}

// Constant memory is global memory that is only read.
static uint64_t bytes_moved(const uint64_t *bytes) {
    return bytes[TSMITH_ADDRESS_SPACE_GLOBAL] + bytes[TSMITH_ADDRESS_SPACE_CONSTANT];
}

static void add_row(struct text *text, const tsmith_instruction *instruction) {
    enum { WIDTH = 14, TAIL = 60 };
    const uint64_t *loads = instruction->load_bytes, *stores = instruction->store_bytes;
    size_t from = text->length;
    if (instruction->line)
        text_add_u64(text, instruction->line);
    else
        text_add_char(text, '-');
    text_pad_left(text, from, 6);
    add_column(text, instruction->executed, WIDTH);
    add_column(text, bytes_moved(loads), WIDTH);
    add_column(text, bytes_moved(stores), WIDTH);
    add_column(text, loads[TSMITH_ADDRESS_SPACE_LOCAL] + stores[TSMITH_ADDRESS_SPACE_LOCAL], WIDTH);
    add_column(text, loads[TSMITH_ADDRESS_SPACE_PRIVATE] + stores[TSMITH_ADDRESS_SPACE_PRIVATE], WIDTH);
    add_column(text, instruction->atomics, 10);
    add_column(text, instruction->branches, 12);
    from = text->length;
    if (instruction->branches)
        text_add_share(text, (double)instruction->taken / (double)instruction->branches);
    text_pad_left(text, from, 8);
    text_add_cstr(text, "  ");
    text_add_safe(text, text_string(*instruction->text ? instruction->text : instruction->source), TAIL);
    text_add_char(text, '\n');
}

static void add_table(struct text *text, const tsmith_instructions *instructions, bool each,
                      const char *kernel, const char *work_item) {
    tsmith_instructions_launch launch = {.size = sizeof launch};
    tsmith_instruction instruction = {.size = sizeof instruction};
    uint64_t executed = 0, steps = 0, lost = 0, group = 0;
    size_t launches = 0;
    for (; tsmith_instructions_launch_get(instructions, launches, &launch); launches++) {
        executed += launch.executed;
        steps += launch.steps;
        lost += launch.steps_lost;
        group += launch.group_loaded + launch.group_stored;
    }
    text_add_char(text, '\n');
    text_add_safe(text, text_string(kernel), 100);
    text_add_cstr(text, ": ");
    text_add_counted(text, launches, "launch, ", "launches, ");
    text_add_counted(text, executed, "instruction", "instructions");
    text_add_cstr(text, " of Oclgrind's compiler (LLVM), by source line; memory in bytes\n");
    text_add_cstr(text, "  line      executed   global read global written         local       private"
                        "   atomics    branches    true\n");
    for (size_t i = 0; tsmith_instructions_line_get(instructions, i, &instruction); i++)
        add_row(text, &instruction);
    if (each)
        text_add_cstr(text, "by instruction, in the order of their first run\n");
    for (size_t i = 0; each && tsmith_instructions_get(instructions, i, &instruction); i++)
        add_row(text, &instruction);
    if (group)
        text_add_format(text, "%" PRIu64 " %s copied by work-groups as a whole\n", group,
                        plural(group, "byte was", "bytes were"));
    if (steps || lost)
        text_add_format(text, "%" PRIu64 " %s of the work-item kept, %" PRIu64 " more %s not\n", steps,
                        plural(steps, "instruction", "instructions"), lost, plural(lost, "was", "were"));
    else if (work_item)
        text_add_format(text, "no launch of it has a work-item %s\n", work_item);
}

// ---- findings

static uint64_t add_findings(struct text *text, const tsmith_instructions *instructions, bool json) {
    tsmith_instructions_finding finding = {.size = sizeof finding};
    uint64_t count = 0;
    text_add_cstr(text, json ? ",\"findings\":[" : "");
    for (; tsmith_instructions_finding_get(instructions, count, &finding); count++) {
        if (json) {
            text_add_format(text, "%s{\"kind\":\"%s\",\"times\":%" PRIu64 ",\"text\":", count ? ",\n" : "",
                            tsmith_finding_name(finding.kind), finding.times);
            text_add_json_cstr(text, finding.text);
            text_add_char(text, '}');
            continue;
        }
        text_add_format(text, "\nfound: %s, ", tsmith_finding_name(finding.kind));
        text_add_times(text, finding.times);
        text_add_char(text, '\n');
        for (const char *line = finding.text; *line;) {
            line += strspn(line, "\t\n ");
            const size_t length = strcspn(line, "\n");
            text_add_cstr(text, length ? "    " : "");
            text_add_safe(text, (tsmith_string){line, length}, 0);
            text_add_cstr(text, length ? "\n" : "");
            line += length;
        }
    }
    text_add_cstr(text, json ? "]" : "");
    return count;
}

static int write_trace(const char *path, const tsmith_instructions *instructions) {
    const tsmith_sbt_write_options options = {.size = sizeof options};
    tsmith_source *source = NULL;
    tsmith_sink *sink = NULL;
    tsmith_error error;
    tsmith_status status = tsmith_instructions_source(instructions, &source, &error);
    if (status >= 0)
        status = tsmith_sbt_writer_open(path, &options, &sink, &error);
    if (status >= 0)
        status = tsmith_pump(source, sink, NULL, NULL, &error);
    if (status < 0)
        complain("%s", error.message);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    return status < 0 ? EXIT_LACKING : EXIT_DONE;
}

int replay_add_instructions(struct text *text, const struct invocation *invocation,
                            const tsmith_instructions *instructions, const uint64_t *verdicts, bool json) {
    const char *kernel = invocation_value(invocation, "instructions"),
               *output = invocation_value(invocation, "output");
    tsmith_instructions_launch launch = {.size = sizeof launch};
    int code = EXIT_DONE;
    uint64_t results = 0;
    for (int i = 0; i < TSMITH_VERDICT_LIMIT; i++)
        results += verdicts[i];
    const uint64_t unknown = verdicts[TSMITH_VERDICT_UNCOMPARABLE];
    if (kernel && !tsmith_instructions_launch_get(instructions, 0, &launch)) {
        complain(
            unknown
                ? "--instructions: no kernel named '%s' could be run: the results say why, if it was launched"
                : "--instructions: no kernel named '%s' was launched in the recording",
            kernel);
        code = unknown ? EXIT_LACKING : EXIT_USAGE;
    }
    if (kernel && json)
        add_json(text, instructions);
    else if (kernel && code == EXIT_DONE)
        add_table(text, instructions, invocation_flag(invocation, "all"), kernel,
                  invocation_value(invocation, "work-item"));
    const bool checks = invocation_flag(invocation, "check");
    if (add_findings(text, instructions, json) && code == EXIT_DONE) {
        code = EXIT_NO;
    } else if (checks && results &&
               unknown == results) { // Oclgrind compiles sources: a program's binary it cannot run
        complain("--check: no result could be computed again; nothing was checked");
        code = EXIT_LACKING;
    } else if (!json && checks && code == EXIT_DONE) {
        text_add_cstr(text, "nothing was found");
        if (unknown)
            text_add_format(
                text, " in what could be run: %" PRIu64 " of %" PRIu64 " %s could not be computed again",
                unknown, results, plural(results, "result", "results"));
        text_add_char(text, '\n');
    }
    if (output && code != EXIT_USAGE) {
        const int written = write_trace(output, instructions);
        code = written != EXIT_DONE ? written : code;
    }
    return code;
}
