// SPDX-License-Identifier: Apache-2.0
// Where devices were, and why they waited there: samples of the program counter, added up by function, by reason, and by
// source line, or by instruction where no line is known. A line that is known of an instruction once holds for all
// samples of it. Memory: 24 bytes per instruction and reason.
#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/tally.h"
#include "base/array.h"
#include "base/plural.h"
#include "tracesmith/view.h"

struct instruction {
    uint32_t function, file, line; // line 0: not known
    uint64_t address;
};

// Samples of an instruction with a reason; later, of a line.
struct sum {
    uint32_t instruction, reason;
    uint64_t samples;
};

struct stalls {
    struct tally addresses, objects, places, instruction_numbers, sum_numbers;
    struct instruction *instructions;
    size_t instruction_capacity;
    struct sum *sums;
    size_t sum_capacity;
    uint64_t samples;
};

// ---- from events

// The number of the instruction; UINT32_MAX when memory is exhausted.
static uint32_t instruction_of(struct stalls *stalls, uint32_t function, uint64_t object, uint64_t address) {
    const size_t had = stalls->instruction_numbers.count;
    const uint32_t code = tally_number(&stalls->objects, object);
    const uint32_t at = tally_number(&stalls->addresses, address);
    if (code == UINT32_MAX || at == UINT32_MAX)
        return UINT32_MAX;
    const uint32_t place = tally_number(&stalls->places, (uint64_t)code << 32 | at);
    const uint32_t number =
        place == UINT32_MAX ? place
                            : tally_number(&stalls->instruction_numbers, (uint64_t)function << 32 | place);
    if (number == UINT32_MAX || !ARRAY_RESERVE(stalls->instructions, stalls->instruction_capacity, had + 1))
        return UINT32_MAX;
    if (number == had)
        stalls->instructions[number] = (struct instruction){.function = function, .address = address};
    return number;
}

static bool add(struct stalls *stalls, uint32_t instruction, uint32_t reason, uint64_t samples) {
    const size_t had = stalls->sum_numbers.count;
    const uint32_t number = instruction == UINT32_MAX
                                ? instruction
                                : tally_number(&stalls->sum_numbers, (uint64_t)instruction << 32 | reason);
    if (number == UINT32_MAX || !ARRAY_RESERVE(stalls->sums, stalls->sum_capacity, had + 1))
        return false;
    if (number == had)
        stalls->sums[number] = (struct sum){instruction, reason, 0};
    stalls->sums[number].samples += samples;
    stalls->samples += samples;
    return true;
}

static tsmith_status take_batch(void *state, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                const tsmith_interval *window) {
    enum { KIND, START, COUNT, NAME, OBJECT, ADDRESS, CATEGORY, LINE, FILE_NAME, FIELDS };
    static const uint32_t fields[FIELDS] = {
        [KIND] = TSMITH_FIELD_KIND,         [START] = TSMITH_FIELD_START,   [COUNT] = TSMITH_FIELD_COUNT,
        [NAME] = TSMITH_FIELD_NAME,         [OBJECT] = TSMITH_FIELD_OBJECT, [ADDRESS] = TSMITH_FIELD_ADDRESS,
        [CATEGORY] = TSMITH_FIELD_CATEGORY, [LINE] = TSMITH_FIELD_LINE,     [FILE_NAME] = TSMITH_FIELD_FILE};
    struct stalls *stalls = state;
    tsmith_view views[FIELDS];
    (void)dictionary;
    tsmith_view_batch(batch, fields, FIELDS, views);
    const uint8_t *kinds = tsmith_view_every(&views[KIND]);
    const int64_t *starts = tsmith_view_every(&views[START]);
    if (!kinds || !starts || !tsmith_view_exists(&views[COUNT]))
        return TSMITH_OK;
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        uint64_t samples;
        uint32_t line;
        if (kinds[row] != TSMITH_KIND_SAMPLE || !tsmith_view_u64(&views[COUNT], row, &samples) ||
            (window && (starts[row] < window->from || starts[row] >= window->to)))
            continue;
        // A sample without an object or an address is of code that has none.
        const uint32_t instruction = instruction_of(stalls, tsmith_view_id(&views[NAME], row),
                                                    tsmith_view_u64_or(&views[OBJECT], row, 0),
                                                    tsmith_view_u64_or(&views[ADDRESS], row, 0));
        if (!add(stalls, instruction, tsmith_view_id(&views[CATEGORY], row), samples))
            return TSMITH_ERROR_NO_MEMORY;
        if (tsmith_view_u32(&views[LINE], row, &line) && line) {
            stalls->instructions[instruction].line = line;
            stalls->instructions[instruction].file = tsmith_view_id(&views[FILE_NAME], row);
        }
    }
    return TSMITH_OK;
}

// ---- tables

// What a table has a row of: a function; a function and a reason; a line, or an instruction without one.
struct group {
    uint32_t function, file, line, reason;
    uint64_t address;
    uint64_t samples, of; // `of`: all of the function
    uint64_t most;        // of one reason, `reason`
};

enum level { BY_FUNCTION, BY_REASON, BY_LINE };

static int compare(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int by_code_location(const void *left, const void *right) {
    const struct group *a = left, *b = right;
    int order = compare(a->function, b->function);
    order = order ? order : compare(a->file, b->file);
    order = order ? order : compare(a->line, b->line);
    order = order ? order : compare(a->address, b->address);
    return order ? order : compare(a->reason, b->reason);
}

static int by_samples(const void *left, const void *right) {
    const struct group *a = left, *b = right;
    const int order = compare(b->samples, a->samples);
    return order ? order : by_code_location(left, right);
}

// One group per sum, with only what the level tells apart.
static void group_of(const struct stalls *stalls, const struct sum *sum, enum level level,
                     struct group *out) {
    const struct instruction *instruction = &stalls->instructions[sum->instruction];
    *out = (struct group){.function = instruction->function, .samples = sum->samples, .most = sum->samples};
    if (level != BY_FUNCTION)
        out->reason = sum->reason;
    if (level != BY_LINE)
        return;
    out->file = instruction->file;
    out->line = instruction->line;
    out->address = instruction->line ? 0 : instruction->address;
}

static bool is_same_group(const struct group *a, const struct group *b, bool reasons) {
    return a->function == b->function && a->file == b->file && a->line == b->line &&
           a->address == b->address && (!reasons || a->reason == b->reason);
}

// Sorted by place: neighbors that are the same become one. With `reasons` those of a reason only.
static size_t merge(struct group *groups, size_t count, bool reasons) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct group *last = kept ? &groups[kept - 1] : NULL;
        if (!last || !is_same_group(last, &groups[i], reasons)) {
            groups[kept++] = groups[i];
            continue;
        }
        last->samples += groups[i].samples;
        if (reasons || groups[i].most > last->most) {
            last->most = reasons ? last->samples : groups[i].most;
            last->reason = groups[i].reason;
        }
    }
    return kept;
}

// The groups of a level, most samples first; NULL when memory is exhausted. Freed by the caller.
static struct group *group(const struct stalls *stalls, enum level level, size_t *count) {
    struct group *groups = malloc((stalls->sum_numbers.count + 1) * sizeof *groups);
    *count = stalls->sum_numbers.count;
    if (!groups)
        return NULL;
    for (size_t i = 0; i < *count; i++)
        group_of(stalls, &stalls->sums[i], level, &groups[i]);
    qsort(groups, *count, sizeof *groups, by_code_location);
    // What an instruction or line has of a reason first, so that the reason it has most of is known.
    *count = merge(groups, *count, true);
    if (level == BY_LINE)
        *count = merge(groups, *count, false);
    uint64_t all = 0;
    for (size_t from = 0, at = 0; at < *count; at++) {
        all += groups[at].samples;
        if (at + 1 < *count && groups[at + 1].function == groups[at].function)
            continue;
        for (; from <= at; from++)
            groups[from].of = all;
        all = 0;
    }
    qsort(groups, *count, sizeof *groups, by_samples);
    return groups;
}

static void write_string(const struct analysis_context *context, struct report *report,
                         struct report_table *table, uint32_t id) {
    if (id)
        report_text(report, table, tsmith_dictionary_string(context->dictionary, id));
    else
        report_unknown(report, table);
}

static bool write_functions(const struct stalls *stalls, const struct analysis_context *context,
                            struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"function", TSMITH_CELL_TEXT}, {"samples", TSMITH_CELL_COUNT}, {"share", TSMITH_CELL_SHARE}};
    struct report_table *table =
        REPORT_TABLE(report, "functions", "samples of the device's code, by function", COLUMNS);
    size_t count;
    struct group *groups = group(stalls, BY_FUNCTION, &count);
    for (size_t i = 0; groups && i < count; i++) {
        write_string(context, report, table, groups[i].function);
        report_integer(report, table, (int64_t)groups[i].samples);
        report_share(report, table, (int64_t)groups[i].samples, (int64_t)stalls->samples);
    }
    if (groups && count) {
        const tsmith_string name = tsmith_dictionary_string(context->dictionary, groups[0].function);
        report_finding(report, "%.1f%% of %llu %s of the devices %s in %.*s%s.",
                       report_percent((int64_t)groups[0].samples, (int64_t)stalls->samples),
                       (unsigned long long)stalls->samples, plural(stalls->samples, "sample", "samples"),
                       plural(stalls->samples, "was", "were"), ANALYSIS_NAMED(name));
    }
    free(groups);
    return groups != NULL;
}

static bool write_reasons(const struct stalls *stalls, const struct analysis_context *context,
                          struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"function", TSMITH_CELL_TEXT},
                                                   {"reason", TSMITH_CELL_TEXT},
                                                   {"samples", TSMITH_CELL_COUNT},
                                                   {"share", TSMITH_CELL_SHARE}};
    struct report_table *table = REPORT_TABLE(
        report, "reasons", "why a warp did not issue when it was looked at; share of the function", COLUMNS);
    size_t count;
    struct group *groups = group(stalls, BY_REASON, &count);
    for (size_t i = 0; groups && i < count; i++) {
        write_string(context, report, table, groups[i].function);
        write_string(context, report, table, groups[i].reason);
        report_integer(report, table, (int64_t)groups[i].samples);
        report_share(report, table, (int64_t)groups[i].samples, (int64_t)groups[i].of);
    }
    free(groups);
    return groups != NULL;
}

static bool write_lines(const struct stalls *stalls, const struct analysis_context *context,
                        struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"function", TSMITH_CELL_TEXT}, {"file", TSMITH_CELL_TEXT},     {"line", TSMITH_CELL_COUNT},
        {"address", TSMITH_CELL_COUNT}, {"samples", TSMITH_CELL_COUNT}, {"share", TSMITH_CELL_SHARE},
        {"mostly", TSMITH_CELL_TEXT}};
    struct report_table *table = REPORT_TABLE(
        report, "lines", "by source line, or by instruction of the function; share of the function", COLUMNS);
    size_t count, without = 0;
    struct group *groups = group(stalls, BY_LINE, &count);
    for (size_t i = 0; groups && i < count; i++) {
        const struct group *one = &groups[i];
        write_string(context, report, table, one->function);
        write_string(context, report, table, one->file);
        if (one->line) {
            report_integer(report, table, one->line);
            report_unknown(report, table);
        } else {
            report_unknown(report, table);
            report_integer(report, table, (int64_t)one->address);
            without++;
        }
        report_integer(report, table, (int64_t)one->samples);
        report_share(report, table, (int64_t)one->samples, (int64_t)one->of);
        write_string(context, report, table, one->reason);
    }
    if (count && without == count)
        report_note(report, "No instruction has a source line: compile with nvcc -lineinfo.");
    free(groups);
    return groups != NULL;
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    const struct stalls *stalls = state;
    if (!write_functions(stalls, context, report) || !write_reasons(stalls, context, report) ||
        !write_lines(stalls, context, report))
        return TSMITH_ERROR_NO_MEMORY;
    if (!stalls->samples)
        report_finding(report, "No samples of the device's code are in the %s (profile --pc-samples).",
                       context->scope);
    return TSMITH_OK;
}

static void release(void *state) {
    struct stalls *stalls = state;
    tally_finish(&stalls->addresses);
    tally_finish(&stalls->objects);
    tally_finish(&stalls->places);
    tally_finish(&stalls->instruction_numbers);
    tally_finish(&stalls->sum_numbers);
    free(stalls->instructions);
    free(stalls->sums);
}

const struct analysis_kind analysis_stalls = {
    .name = "stalls",
    .question = "Which instructions were the devices at, and why did they wait?",
    .needs = NEEDS_NOTHING,
    .state_size = sizeof(struct stalls),
    .write = take_batch,
    .finish = finish,
    .release = release,
    .reads_sums = true,
};
