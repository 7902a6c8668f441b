// SPDX-License-Identifier: Apache-2.0
// `replay --html` and `--markdown`: what ran, the verdict of every command and result, the first wrong command and the differences, as
// a report of tables. replay.c calls it.
#include "replay_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/opened_trace.h"
#include "cli/present/terminal.h"
#include "cli/present/text.h"
#include "replay_say.h"

enum { ROWS_MOST = 1000, NOTES_MOST = 24, TABLES = 6, NO_VERDICT = TSMITH_VERDICT_LIMIT };

bool replay_check_page(const struct invocation *invocation) {
    static const char *const others[] = {"hazards", "permute", "save-source"};
    const char *mode = invocation_value(invocation, "mode");
    const char *page = invocation_flag(invocation, "html")       ? "html"
                       : invocation_flag(invocation, "markdown") ? "markdown"
                                                                 : NULL;
    if (!page)
        return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (invocation_flag(invocation, others[i])) {
            complain("--%s needs a replay and cannot be combined with --%s", page, others[i]);
            return false;
        }
    if (!mode || strcmp(mode, "dry-run") != 0)
        return page_may_replace(invocation, invocation->operands[0]);
    complain("--%s needs a replay and cannot be combined with --mode dry-run", page);
    return false;
}

// ---- tables

struct table {
    tsmith_cell *cells;
    size_t count, capacity;
};

struct made {
    struct table tables[TABLES];
    char **texts; // made for cells
    size_t text_count, text_capacity;
    bool failed;
};

static void finish(struct made *made) {
    for (size_t i = 0; i < TABLES; i++)
        free(made->tables[i].cells);
    for (size_t i = 0; i < made->text_count; i++)
        free(made->texts[i]);
    free(made->texts);
}

static void add(struct made *made, struct table *table, tsmith_cell cell) {
    if (table->count == table->capacity) {
        const size_t capacity = table->capacity ? 2 * table->capacity : 256;
        tsmith_cell *grown = realloc(table->cells, capacity * sizeof *grown);
        if (!grown) {
            made->failed = true;
            return;
        }
        table->cells = grown;
        table->capacity = capacity;
    }
    table->cells[table->count++] = cell;
}

static void add_unknown(struct made *made, struct table *table) {
    add(made, table, (tsmith_cell){0, {.integer = 0}});
}

static void add_integer(struct made *made, struct table *table, uint64_t value) {
    const int64_t most = value > INT64_MAX ? INT64_MAX : (int64_t)value;
    add(made, table, (tsmith_cell){1, {.integer = most}});
}

// NULL: unknown.
static void add_text(struct made *made, struct table *table, const char *text) {
    add(made, table, (tsmith_cell){text != NULL, {.text = text}});
}

// Takes the bytes of `text`.
static void add_made_text(struct made *made, struct table *table, struct text *text) {
    char *copy = strdup(text_cstr(text));
    text_finish(text);
    if (made->text_count == made->text_capacity) {
        const size_t capacity = made->text_capacity ? 2 * made->text_capacity : 64;
        char **grown = realloc(made->texts, capacity * sizeof *grown);
        made->failed |= !grown;
        made->texts = grown ? grown : made->texts;
        made->text_capacity = grown ? capacity : made->text_capacity;
    }
    if (!copy || made->text_count == made->text_capacity) {
        made->failed = true;
        free(copy);
        copy = NULL;
    } else {
        made->texts[made->text_count++] = copy;
    }
    add_text(made, table, copy);
}

// ---- rows

enum { FIRST_WRONG, VERDICTS, DIFFERENCES, COMMANDS, RESULTS, REFUSED };

static const tsmith_report_column
    FIRST_COLUMNS[] = {{"command", TSMITH_CELL_COUNT}, {"what", TSMITH_CELL_TEXT},
                       {"kernel", TSMITH_CELL_TEXT},   {"queue", TSMITH_CELL_COUNT},
                       {"pid", TSMITH_CELL_COUNT},     {"candidates", TSMITH_CELL_COUNT}},
    VERDICT_COLUMNS[] = {{"verdict", TSMITH_CELL_TEXT}, {"results", TSMITH_CELL_COUNT}},
    DIFFERENCE_COLUMNS[] = {{"verdict", TSMITH_CELL_TEXT},
                            {"buffer", TSMITH_CELL_COUNT},
                            {"seen_by", TSMITH_CELL_TEXT},
                            {"after_commands", TSMITH_CELL_COUNT},
                            {"written_by", TSMITH_CELL_TEXT},
                            {"command", TSMITH_CELL_COUNT},
                            {"element", TSMITH_CELL_TEXT},
                            {"different", TSMITH_CELL_COUNT},
                            {"size", TSMITH_CELL_BYTES},
                            {"first_at_byte", TSMITH_CELL_COUNT},
                            {"recorded", TSMITH_CELL_TEXT},
                            {"replayed", TSMITH_CELL_TEXT},
                            {"largest_difference", TSMITH_CELL_TEXT},
                            {"ulps", TSMITH_CELL_COUNT},
                            {"reason", TSMITH_CELL_TEXT}},
    COMMAND_COLUMNS[] = {{"command", TSMITH_CELL_COUNT}, {"verdict", TSMITH_CELL_TEXT},
                         {"results", TSMITH_CELL_COUNT}, {"what", TSMITH_CELL_TEXT},
                         {"kernel", TSMITH_CELL_TEXT},   {"queue", TSMITH_CELL_COUNT},
                         {"buffer", TSMITH_CELL_COUNT},  {"size", TSMITH_CELL_BYTES},
                         {"pid", TSMITH_CELL_COUNT}},
    RESULT_COLUMNS[] = {{"verdict", TSMITH_CELL_TEXT},    {"buffer", TSMITH_CELL_COUNT},
                        {"seen_by", TSMITH_CELL_TEXT},    {"after_commands", TSMITH_CELL_COUNT},
                        {"written_by", TSMITH_CELL_TEXT}, {"command", TSMITH_CELL_COUNT},
                        {"element", TSMITH_CELL_TEXT},    {"size", TSMITH_CELL_BYTES}},
    REFUSED_COLUMNS[] = {
        {"function", TSMITH_CELL_TEXT}, {"calls", TSMITH_CELL_COUNT}, {"reason", TSMITH_CELL_TEXT}};

#define COLUMNS(columns) columns, sizeof(columns) / sizeof *(columns)
static const tsmith_report_table TABLE_ENTRIES[TABLES] = {
    [FIRST_WRONG] = {"first_wrong",
                     "the first command that wrote something else; one of `candidates` commands from it on",
                     COLUMNS(FIRST_COLUMNS), NULL, 0},
    [VERDICTS] = {"verdicts", "results by verdict", COLUMNS(VERDICT_COLUMNS), NULL, 0},
    [DIFFERENCES] = {"differences",
                     "results that are not exact, with the first element that differs, and the command that "
                     "wrote the buffer last",
                     COLUMNS(DIFFERENCE_COLUMNS), NULL, 0},
    [COMMANDS] =
        {"commands",
         "the recorded commands in their order; the verdict is the worst of the results whose buffer "
         "the command wrote last, and unknown where none was compared; or the command is the first wrong one",
         COLUMNS(COMMAND_COLUMNS), NULL, 0},
    [RESULTS] = {"results", "everything that was compared, in the order of the program",
                 COLUMNS(RESULT_COLUMNS), NULL, 0},
    [REFUSED] = {"not_replayed", "calls that cannot be replayed", COLUMNS(REFUSED_COLUMNS), NULL, 0}};

static void add_writer(struct made *made, struct table *table, const tsmith_replay_result *result) {
    add_text(made, table, result->writer);
    result->writer ? add_integer(made, table, result->writer_command) : add_unknown(made, table);
}

static void add_difference(struct made *made, const tsmith_replay_result *result) {
    struct table *table = &made->tables[DIFFERENCES];
    const bool known = result->different && !result->reason;
    add_text(made, table, tsmith_verdict_name(result->verdict));
    add_integer(made, table, result->buffer);
    add_text(made, table, result->what);
    add_integer(made, table, result->command);
    add_writer(made, table, result);
    add_text(made, table, tsmith_element_name(result->element));
    known ? add_integer(made, table, result->different) : add_unknown(made, table);
    add_integer(made, table, result->bytes);
    result->different ? add_integer(made, table, result->offset) : add_unknown(made, table);
    for (int side = 0; side < 3; side++) {
        struct text text = {0};
        if (side < 2)
            say_value(&text, result->element, side ? result->replayed : result->recorded);
        else if (isfinite(result->most_absolute))
            text_add_format(&text, "%.6g", result->most_absolute);
        else
            text_add_cstr(&text, "not a number on one side");
        if (known) {
            add_made_text(made, table, &text);
        } else {
            text_finish(&text);
            add_unknown(made, table);
        }
    }
    const bool floats = result->element >= TSMITH_ELEMENT_F16;
    known &&floats && result->most_ulps != UINT64_MAX ? add_integer(made, table, result->most_ulps)
                                                      : add_unknown(made, table);
    add_text(made, table, result->reason);
}

static void add_results(struct made *made, const tsmith_replay *replay,
                        uint64_t verdicts[TSMITH_VERDICT_LIMIT]) {
    const size_t count = tsmith_replay_result_count(replay);
    for (size_t i = 0; i < count; i++) {
        const tsmith_replay_result *result = tsmith_replay_result_get(replay, i);
        struct table *table = &made->tables[RESULTS];
        verdicts[result->verdict]++;
        if (result->verdict != TSMITH_VERDICT_EXACT)
            add_difference(made, result);
        add_text(made, table, tsmith_verdict_name(result->verdict));
        add_integer(made, table, result->buffer);
        add_text(made, table, result->what);
        add_integer(made, table, result->command);
        add_writer(made, table, result);
        add_text(made, table, tsmith_element_name(result->element));
        add_integer(made, table, result->bytes);
    }
    for (int i = 0; i < TSMITH_VERDICT_LIMIT; i++)
        if (verdicts[i]) {
            add_text(made, &made->tables[VERDICTS], tsmith_verdict_name((tsmith_verdict)i));
            add_integer(made, &made->tables[VERDICTS], verdicts[i]);
        }
}

// ---- commands

// A result by the command that wrote it.
struct written {
    uint64_t pid, command;
    tsmith_verdict verdict;
};

static int by_command(const void *left, const void *right) {
    const struct written *a = left, *b = right;
    return a->pid != b->pid           ? (a->pid > b->pid) - (a->pid < b->pid)
           : a->command != b->command ? (a->command > b->command) - (a->command < b->command)
                                      : 0;
}

static bool is_worse(tsmith_verdict one, unsigned than) {
    static const int rank[TSMITH_VERDICT_LIMIT + 1] = {[NO_VERDICT] = 0,
                                                       [TSMITH_VERDICT_UNCOMPARABLE] = 1,
                                                       [TSMITH_VERDICT_EXACT] = 2,
                                                       [TSMITH_VERDICT_WITHIN_TOLERANCE] = 3,
                                                       [TSMITH_VERDICT_WITHIN_NOISE] = 4,
                                                       [TSMITH_VERDICT_DIVERGED] = 5};
    return rank[one] > rank[than];
}

struct listing {
    struct made *made;
    const tsmith_replay_culprit *culprit; // NULL: there is none
    struct written *written;              // sorted
    size_t count;
};

// The first of those that the command wrote; NULL: there is none.
static const struct written *first_written(const struct listing *listing, const struct written *key) {
    const struct written *at =
        listing->count ? bsearch(key, listing->written, listing->count, sizeof *key, by_command) : NULL;
    while (at && at > listing->written && by_command(at - 1, key) == 0)
        at--;
    return at;
}

static void add_command(void *context, const tsmith_recorded_command *command) {
    const struct listing *listing = context;
    struct made *made = listing->made;
    struct table *table = &made->tables[COMMANDS];
    const struct written key = {command->pid, command->command, TSMITH_VERDICT_EXACT};
    unsigned verdict = NO_VERDICT;
    uint64_t results = 0;
    const struct written *at = first_written(listing, &key), *const end = listing->written + listing->count;
    for (; at && at < end && by_command(at, &key) == 0; at++, results++)
        verdict = is_worse(at->verdict, verdict) ? at->verdict : verdict;
    const tsmith_replay_culprit *culprit = listing->culprit;
    add_integer(made, table, command->command);
    if (culprit && culprit->count == 1 && culprit->pid == command->pid && culprit->first == command->command)
        add_text(made, table, "first wrong");
    else
        add_text(made, table, verdict == NO_VERDICT ? NULL : tsmith_verdict_name((tsmith_verdict)verdict));
    add_integer(made, table, results);
    add_text(made, table, command->what);
    add_text(made, table, command->kernel);
    add_integer(made, table, command->queue);
    command->buffer ? add_integer(made, table, command->buffer) : add_unknown(made, table);
    command->bytes ? add_integer(made, table, command->bytes) : add_unknown(made, table);
    add_integer(made, table, command->pid);
}

static tsmith_status add_commands(struct made *made, tsmith_recording *recording, const tsmith_replay *replay,
                                  const tsmith_replay_culprit *culprit, tsmith_error *error) {
    struct listing listing = {.made = made, .culprit = culprit};
    const size_t count = tsmith_replay_result_count(replay);
    listing.written = calloc(count + 1, sizeof *listing.written);
    for (size_t i = 0; listing.written && i < count; i++) {
        const tsmith_replay_result *result = tsmith_replay_result_get(replay, i);
        if (result->writer)
            listing.written[listing.count++] =
                (struct written){result->pid, result->writer_command, result->verdict};
    }
    made->failed |= !listing.written;
    if (listing.written)
        qsort(listing.written, listing.count, sizeof *listing.written, by_command);
    const tsmith_status status =
        made->failed ? TSMITH_OK : tsmith_recording_each_command(recording, add_command, &listing, error);
    free(listing.written);
    return status;
}

static void add_first(struct made *made, const tsmith_replay_culprit *culprit) {
    struct table *table = &made->tables[FIRST_WRONG];
    add_integer(made, table, culprit->first);
    add_text(made, table, culprit->what);
    add_text(made, table, culprit->kernel);
    add_integer(made, table, culprit->queue);
    add_integer(made, table, culprit->pid);
    add_integer(made, table, culprit->count);
}

static void add_refusals(struct made *made, const tsmith_recording *recording) {
    tsmith_recording_refusal refusal = {.size = sizeof refusal};
    for (size_t i = 0; tsmith_recording_refusal_get(recording, i, &refusal); i++) {
        add_text(made, &made->tables[REFUSED], refusal.function);
        add_integer(made, &made->tables[REFUSED], refusal.count);
        add_text(made, &made->tables[REFUSED], refusal.reason);
    }
}

// ---- the whole

static void add_finding(struct text *text, const tsmith_replay *replay,
                        const uint64_t verdicts[TSMITH_VERDICT_LIMIT], const tsmith_replay_culprit *culprit) {
    tsmith_replay_extent extent = {.size = sizeof extent};
    const char *against = tsmith_replay_against(replay);
    bool first = true;
    tsmith_replay_get_extent(replay, &extent);
    text_add_count(text, extent.ran);
    text_add_cstr(text, " of ");
    text_add_counted(text, extent.commands, "command ran on ", "commands ran on ");
    text_add_cstr(text, tsmith_replay_device(replay));
    if (against) {
        text_add_cstr(text, " and on ");
        text_add_cstr(text, against);
    }
    text_add_cstr(text, against ? ", compared with each other: " : ", compared with the recording: ");
    for (int i = 0; i < TSMITH_VERDICT_LIMIT; i++)
        if (verdicts[i]) {
            text_add_cstr(text, first ? "" : ", ");
            text_add_format(text, "%s ", tsmith_verdict_name((tsmith_verdict)i));
            text_add_count(text, verdicts[i]);
            first = false;
        }
    text_add_cstr(text, first ? "nothing." : ".");
    if (culprit) {
        if (culprit->count > 1)
            text_add_format(
                text, " The first wrong command is one of %" PRIu64 ", the earliest of them %" PRIu64 ", ",
                culprit->count, culprit->first);
        else
            text_add_format(text, " The first wrong command is %" PRIu64 ", ", culprit->first);
        text_add_cstr(text, culprit->kernel ? culprit->kernel : culprit->what);
        text_add_char(text, '.');
    }
}

static int write_page(struct page_files *files, const char *path, const struct made *made,
                      const char *finding, const tsmith_replay *replay) {
    const char *notes[NOTES_MOST];
    tsmith_report_table tables[TABLES];
    const char *slash = strrchr(path, '/');
    tsmith_report report = {.name = "replay",
                            .question = "Does a replay give the recorded results?",
                            .finding = finding,
                            .notes = notes,
                            .tables = tables,
                            .table_count = TABLES};
    while (report.note_count < NOTES_MOST &&
           (notes[report.note_count] = tsmith_replay_note(replay, report.note_count)))
        report.note_count++;
    for (size_t i = 0; i < TABLES; i++) {
        tables[i] = TABLE_ENTRIES[i];
        tables[i].cells = made->tables[i].cells;
        tables[i].row_count = made->tables[i].count / tables[i].column_count;
    }
    return page_put(files, &report, slash && slash[1] ? slash + 1 : path, ROWS_MOST);
}

int replay_write_page(struct page_files *files, const char *path, tsmith_recording *recording,
                      const tsmith_replay *replay) {
    struct made made = {.failed = false};
    struct text finding = {0};
    uint64_t verdicts[TSMITH_VERDICT_LIMIT] = {0};
    tsmith_replay_culprit culprit = {.size = sizeof culprit};
    tsmith_error error;
    const bool has_culprit = tsmith_replay_culprit_get(replay, &culprit) != 0;
    int code = EXIT_LACKING;
    if (!page_is_open(files))
        return EXIT_DONE;
    if (has_culprit)
        add_first(&made, &culprit);
    add_results(&made, replay, verdicts);
    add_refusals(&made, recording);
    const tsmith_status status =
        add_commands(&made, recording, replay, has_culprit ? &culprit : NULL, &error);
    add_finding(&finding, replay, verdicts, has_culprit ? &culprit : NULL);
    if (status != TSMITH_OK) {
        complain("%s", error.message);
        code = exit_code_of_input(status);
    } else if (made.failed || finding.failed) {
        complain("out of memory");
    } else {
        code = write_page(files, path, &made, text_cstr(&finding), replay);
    }
    text_finish(&finding);
    finish(&made);
    return code;
}
