// SPDX-License-Identifier: Apache-2.0
// A recording on Oclgrind: its plugin hands over what the interpreter does, and it is gathered here.
#include "api/instructions.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/sized.h"
#include "base/status.h"
#include "launch/launch.h"
#include "launch/launch_agents.h"
#include "replay/execute.h"

enum { STEPS_MOST = 1000000, FINDINGS_MOST = 10000 };

NAMES_DEFINE(tsmith_address_space_name, tsmith_address_space, TSMITH_ADDRESS_SPACE_TABLE, NAMES_NAME, NULL)
NAMES_DEFINE(tsmith_finding_name, tsmith_finding_kind, TSMITH_FINDING_TABLE, NAMES_NAME, NULL)

// ---- what the plugin hands over

// Room for one more of `items`; notes when there is none.
#define ROOM(instructions, items, used, room)                                                                \
    ({                                                                                                       \
        const bool there =                                                                                   \
            ARRAY_RESERVE((instructions)->items, (instructions)->room, (instructions)->used + 1);            \
        (instructions)->failed |= !there;                                                                    \
        there;                                                                                               \
    })

static const char *copy_text(tsmith_instructions *instructions, const char *text) {
    const char *copy = *text ? arena_copy(&instructions->arena, text, strlen(text)) : "";
    instructions->failed |= !copy;
    return copy ? copy : "";
}

static void take_launch(void *context, const struct oclgrind_launch *from) {
    tsmith_instructions *instructions = context;
    if (!ROOM(instructions, launches, launch_count, launch_capacity))
        return;
    tsmith_instructions_launch *launch = &instructions->launches[instructions->launch_count++];
    *launch = (tsmith_instructions_launch){
        .kernel = instructions->kernel, .dimensions = from->dimensions, .start = clock_trace_now()};
    memcpy(launch->global, from->global, sizeof launch->global);
    memcpy(launch->local, from->local, sizeof launch->local);
    memcpy(launch->offset, from->offset, sizeof launch->offset);
}

static void take_instruction(void *context, uint32_t index, const struct oclgrind_instruction *from) {
    tsmith_instructions *instructions = context;
    if (index != instructions->count || !ROOM(instructions, items, count, capacity)) {
        instructions->failed = true;
        return;
    }
    const size_t indent = strspn(from->text, " \t"), blank = strspn(from->source, " \t");
    instructions->items[instructions->count++] =
        (tsmith_instruction){.function = copy_text(instructions, from->function),
                             .opcode = copy_text(instructions, from->opcode),
                             .text = copy_text(instructions, from->text + indent),
                             .file = copy_text(instructions, from->file),
                             .source = copy_text(instructions, from->source + blank),
                             .line = from->line,
                             .column = from->column};
}

static void take_step(void *context, const struct oclgrind_step *step) {
    tsmith_instructions *instructions = context;
    if (!instructions->launch_count)
        return;
    tsmith_instructions_launch *launch = &instructions->launches[instructions->launch_count - 1];
    if (step->instruction >= instructions->count || instructions->step_count >= instructions->steps_most ||
        !ROOM(instructions, steps, step_count, step_capacity)) {
        launch->steps_lost++;
        return;
    }
    instructions->steps[instructions->step_count++] =
        (struct instruction_step){(uint32_t)instructions->launch_count - 1, (uint32_t)launch->steps, *step};
    launch->steps++;
}

static void add_counts(tsmith_instruction *to, const struct oclgrind_counts *from) {
    to->executed += from->executed;
    to->atomics += from->atomics;
    to->branches += from->branches;
    to->taken += from->taken;
    for (int i = 0; i < OCLGRIND_SPACES; i++) {
        to->loads[i] += from->loads[i];
        to->load_bytes[i] += from->load_bytes[i];
        to->stores[i] += from->stores[i];
        to->store_bytes[i] += from->store_bytes[i];
    }
}

static void take_counts(void *context, uint32_t index, const struct oclgrind_counts *counts) {
    tsmith_instructions *instructions = context;
    if (!instructions->launch_count || index >= instructions->count ||
        !ROOM(instructions, counts, counted, count_capacity))
        return;
    const uint32_t launch = (uint32_t)instructions->launch_count - 1;
    instructions->counts[instructions->counted++] = (struct instruction_count){launch, index, *counts};
    instructions->launches[launch].executed += counts->executed;
    add_counts(&instructions->items[index], counts);
}

static void take_end(void *context, const struct oclgrind_counts *group) {
    tsmith_instructions *instructions = context;
    if (!instructions->launch_count)
        return;
    tsmith_instructions_launch *launch = &instructions->launches[instructions->launch_count - 1];
    launch->end = clock_trace_now();
    for (int i = 0; i < OCLGRIND_SPACES; i++) {
        launch->group_loaded += group->load_bytes[i];
        launch->group_stored += group->store_bytes[i];
    }
}

// ---- findings

static tsmith_finding_kind kind_of(const char *text) {
    static const struct {
        const char *words;
        tsmith_finding_kind kind;
    } known[] = {
        {"data race", TSMITH_FINDING_RACE},
        {"ninitialized value", TSMITH_FINDING_UNINITIALIZED},
        {"Invalid read", TSMITH_FINDING_INVALID_ACCESS},
        {"Invalid write", TSMITH_FINDING_INVALID_ACCESS},
        {"divergence", TSMITH_FINDING_DIVERGENCE},
    };
    const size_t line = strcspn(text, "\n");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const char *at = strstr(text, known[i].words);
        if (at && at < text + line)
            return known[i].kind;
    }
    return TSMITH_FINDING_OTHER;
}

// A line of a message from where `words` stand in it, or nothing.
static tsmith_string line_with(const char *text, const char *words) {
    const char *at = strstr(text, words);
    return at ? (tsmith_string){at, strcspn(at, "\n")} : (tsmith_string){"", 0};
}

static bool is_same_text(tsmith_string a, tsmith_string b) {
    return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

// The identity of a finding: the kernel and the location, for a race both locations. The same finding at another
// work-item or address has the same text except for its first line and its entities.
struct about {
    tsmith_string kernel, places[2];
};

static struct about parse_about(const char *text) {
    static const char PLACE[] = "At line";
    struct about about = {.kernel = line_with(text, "Kernel:"), .places = {line_with(text, PLACE)}};
    about.places[1] = about.places[0].length
                          ? line_with(about.places[0].bytes + about.places[0].length, PLACE)
                          : about.places[0];
    return about;
}

// Whichever of the two of a race was first.
static bool is_same(const tsmith_instructions_finding *finding, tsmith_finding_kind kind, const char *text) {
    const struct about old = parse_about(finding->text), new = parse_about(text);
    const size_t length = strlen(finding->text);
    if (finding->kind != kind || !is_same_text(old.kernel, new.kernel))
        return false;
    if (!new.kernel.length || !new.places[0].length)
        return strncmp(finding->text, text, length) == 0 &&
               text[length + strspn(text + length, "\n\t ")] == '\0';
    return (is_same_text(old.places[0], new.places[0]) && is_same_text(old.places[1], new.places[1])) ||
           (is_same_text(old.places[0], new.places[1]) && is_same_text(old.places[1], new.places[0]));
}

// Whether a message is of another kernel than the one that was asked for.
static bool is_of_another(const tsmith_instructions *instructions, const char *text) {
    static const char KERNEL[] = "Kernel:";
    tsmith_string kernel = line_with(text, KERNEL);
    if (instructions->checks_all || !kernel.length)
        return false;
    const char *name = kernel.bytes + sizeof KERNEL - 1, *end = kernel.bytes + kernel.length;
    name += strspn(name, " \t");
    while (end > name && strchr(" \t\r", end[-1]))
        end--;
    return strlen(instructions->kernel) != (size_t)(end - name) ||
           memcmp(instructions->kernel, name, (size_t)(end - name)) != 0;
}

static void take_message(void *context, const char *text) {
    tsmith_instructions *instructions = context;
    text += strspn(text, "\n");
    const tsmith_finding_kind kind = kind_of(text);
    if (is_of_another(instructions, text))
        return;
    for (size_t i = 0; i < instructions->finding_count; i++)
        if (is_same(&instructions->findings[i], kind, text)) {
            instructions->findings[i].times++;
            return;
        }
    if (instructions->finding_count == FINDINGS_MOST ||
        !ROOM(instructions, findings, finding_count, finding_capacity))
        return;
    size_t length = strlen(text);
    while (length && strchr("\n\t ", text[length - 1]))
        length--;
    char *copy = arena_copy(&instructions->arena, text, length);
    instructions->failed |= !copy;
    if (copy)
        instructions->findings[instructions->finding_count++] =
            (tsmith_instructions_finding){.kind = kind, .text = copy, .times = 1};
}

// ---- by line

static int by_line(const void *a, const void *b) {
    const tsmith_instruction *left = a, *right = b;
    const int files = strcmp(left->file, right->file);
    return files ? files : (left->line > right->line) - (left->line < right->line);
}

static void add_line(tsmith_instruction *to, const tsmith_instruction *from) {
    to->executed += from->executed;
    to->atomics += from->atomics;
    to->branches += from->branches;
    to->taken += from->taken;
    for (int i = 0; i < TSMITH_ADDRESS_SPACE_LIMIT; i++) {
        to->loads[i] += from->loads[i];
        to->load_bytes[i] += from->load_bytes[i];
        to->stores[i] += from->stores[i];
        to->store_bytes[i] += from->store_bytes[i];
    }
}

static void gather_lines(tsmith_instructions *instructions) {
    if (!instructions->count)
        return;
    tsmith_instruction *lines = malloc(instructions->count * sizeof *lines);
    instructions->lines = lines;
    instructions->failed |= !lines;
    if (!lines)
        return;
    memcpy(lines, instructions->items, instructions->count * sizeof *lines);
    qsort(lines, instructions->count, sizeof *lines, by_line);
    size_t count = 0;
    for (size_t i = 0; i < instructions->count; i++) {
        if (count && by_line(&lines[count - 1], &lines[i]) == 0) {
            add_line(&lines[count - 1], &lines[i]);
            continue;
        }
        lines[count] = lines[i];
        lines[count].opcode = lines[count].text = "";
        lines[count++].column = 0;
    }
    instructions->line_count = count;
}

// ---- running

// The environment for the time of a call, and what it was before.
struct setting {
    const char *name, *value;
    char *before;
};

static void enter(struct setting *settings, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *before = getenv(settings[i].name);
        settings[i].before = before ? strdup(before) : NULL;
        if (settings[i].value)
            setenv(settings[i].name, settings[i].value, 1);
        else
            unsetenv(settings[i].name);
    }
}

static void leave(struct setting *settings, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (settings[i].before)
            setenv(settings[i].name, settings[i].before, 1);
        else
            unsetenv(settings[i].name);
        free(settings[i].before);
    }
}

static oclgrind_attach *find_plugin(char *path, size_t size, tsmith_error *error) {
    char directory[4096];
    if (launch_agent_directory(NULL, directory, sizeof directory, error) != TSMITH_OK)
        return NULL;
    if (!launch_agent_path(directory, EXECUTE_OCLGRIND, path, size)) {
        status_set(error, TSMITH_ERROR_MISSING,
                   "%s has no libtracesmith-oclgrind.so: ./dev build builds it where Oclgrind's and LLVM's "
                   "headers are "
                   "(Debian: apt install oclgrind liboclgrind-dev llvm-14-dev g++)",
                   directory);
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    oclgrind_attach *attach =
        library ? __extension__(oclgrind_attach *) dlsym(library, OCLGRIND_ATTACH) : NULL;
    if (!attach)
        status_set(error, TSMITH_ERROR_MISSING, "%s cannot be loaded: %s", path, dlerror());
    return attach;
}

static tsmith_status run_attached(tsmith_instructions *instructions, tsmith_recording *recording,
                                  const tsmith_instructions_options *options, const char *plugin,
                                  tsmith_error *error) {
    tsmith_replay_options replay;
    tsmith_status status = sized_take(tsmith_replay_options, options->replay, &replay, error);
    if (status != TSMITH_OK)
        return status;
    const char *check = options->check ? "1" : NULL;
    // Oclgrind's own log would go to stderr; the plugin receives the same messages.
    struct setting settings[] = {
        {"OCLGRIND_PLUGINS", plugin, NULL},      {"OCLGRIND_LOG", "/dev/null", NULL},
        {"OCLGRIND_DATA_RACES", check, NULL},    {"OCLGRIND_UNINITIALIZED", check, NULL},
        {"OCLGRIND_MAX_ERRORS", "100000", NULL}, {"OCLGRIND_INST_COUNTS", NULL, NULL},
        {"OCLGRIND_INTERACTIVE", NULL, NULL},
    };
    enum { SETTINGS = sizeof settings / sizeof settings[0] };
    replay.device = EXECUTE_OCLGRIND;
    enter(settings, SETTINGS);
    status = tsmith_replay_run(recording, &replay, &instructions->replay, error);
    leave(settings, SETTINGS);
    instructions->device =
        copy_text(instructions, instructions->replay ? tsmith_replay_device(instructions->replay) : "");
    return status;
}

tsmith_status tsmith_instructions_run(tsmith_recording *recording, const tsmith_instructions_options *given,
                                      tsmith_instructions **out, tsmith_error *error) {
    tsmith_instructions_options options = {0};
    char plugin[4096 + 64];
    *out = NULL;
    tsmith_status status = sized_take(tsmith_instructions_options, given, &options, error);
    if (status != TSMITH_OK)
        return status;
    oclgrind_attach *attach = find_plugin(plugin, sizeof plugin, error);
    if (!attach)
        return TSMITH_ERROR_MISSING;
    tsmith_instructions *instructions = calloc(1, sizeof *instructions);
    if (!instructions || !(instructions->kernel = strdup(options.kernel ? options.kernel : ""))) {
        free(instructions);
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while recording instructions");
    }
    instructions->steps_most = options.stream_most ? options.stream_most : STEPS_MOST;
    instructions->checks_all = options.check || !options.kernel;
    memcpy(instructions->item, options.item, sizeof instructions->item);
    struct oclgrind_client client = {.interface = OCLGRIND_INTERFACE,
                                     .context = instructions,
                                     .kernel = options.kernel ? instructions->kernel : NULL,
                                     .stream = options.stream != 0,
                                     .launch_begin = take_launch,
                                     .instruction = take_instruction,
                                     .step = take_step,
                                     .counts = take_counts,
                                     .launch_end = take_end,
                                     .message = take_message};
    memcpy(client.item, options.item, sizeof client.item);
    if (!attach(&client))
        status =
            status_set(error, TSMITH_ERROR_MISSING, "%s belongs to another version of TraceSmith", plugin);
    if (status == TSMITH_OK)
        status = run_attached(instructions, recording, &options, plugin, error);
    attach(NULL);
    gather_lines(instructions);
    if (status == TSMITH_OK && instructions->failed)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while recording instructions");
    if (status == TSMITH_OK || (status == TSMITH_ERROR_LIMIT && instructions->replay))
        *out = instructions;
    else
        tsmith_instructions_destroy(instructions);
    return status;
}

void tsmith_instructions_destroy(tsmith_instructions *instructions) {
    if (!instructions)
        return;
    tsmith_replay_destroy(instructions->replay);
    arena_finish(&instructions->arena);
    free(instructions->items);
    free(instructions->lines);
    free(instructions->launches);
    free(instructions->counts);
    free(instructions->steps);
    free(instructions->findings);
    free(instructions->kernel);
    free(instructions);
}

// ---- asking

int tsmith_instructions_launch_get(const tsmith_instructions *instructions, size_t index,
                                   tsmith_instructions_launch *out) {
    if (index < instructions->launch_count)
        sized_give(tsmith_instructions_launch, &instructions->launches[index], out);
    return index < instructions->launch_count;
}

int tsmith_instructions_get(const tsmith_instructions *instructions, size_t index, tsmith_instruction *out) {
    if (index < instructions->count)
        sized_give(tsmith_instruction, &instructions->items[index], out);
    return index < instructions->count;
}

int tsmith_instructions_line_get(const tsmith_instructions *instructions, size_t index,
                                 tsmith_instruction *out) {
    if (index < instructions->line_count)
        sized_give(tsmith_instruction, &instructions->lines[index], out);
    return index < instructions->line_count;
}

int tsmith_instructions_finding_get(const tsmith_instructions *instructions, size_t index,
                                    tsmith_instructions_finding *out) {
    if (index < instructions->finding_count)
        sized_give(tsmith_instructions_finding, &instructions->findings[index], out);
    return index < instructions->finding_count;
}

tsmith_replay *tsmith_instructions_take_replay(tsmith_instructions *instructions) {
    tsmith_replay *replay = instructions->replay;
    instructions->replay = NULL;
    return replay;
}
