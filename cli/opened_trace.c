// SPDX-License-Identifier: Apache-2.0
// Opens a trace of any format for a command, and reports its format, damage and losses. Every command that reads a
// trace calls it.
#include "opened_trace.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/present/progress.h"
#include "cli/present/terminal.h"
#include "tracesmith/analyze.h"
#include "tracesmith/capture.h"
#include "tracesmith/import.h"

int exit_code_of_input(tsmith_status status) {
    switch (status) {
    case TSMITH_ERROR_INVALID_ARGUMENT:
        return EXIT_USAGE;
    case TSMITH_ERROR_NO_MEMORY:
    case TSMITH_ERROR_NO_SPACE:
    case TSMITH_ERROR_MISSING:
        return EXIT_LACKING;
    default:
        return status < 0 ? EXIT_DAMAGED : EXIT_DONE;
    }
}

bool trace_may_replace(const char *path) {
    struct stat status;
    tsmith_sbt *file = NULL;
    tsmith_error error;
    if (strcmp(path, "-") == 0) {
        complain("the result cannot be written to standard output; name a file with --output");
        return false;
    }
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
        return true;
    tsmith_status opened = tsmith_sbt_open(path, &file, &error);
    tsmith_sbt_close(file);
    if (opened != TSMITH_ERROR_FORMAT)
        return true;
    complain("%s exists and is not a trace; it was not changed. Choose another file with --output", path);
    return false;
}

static const char *or_unknown(const char *name) {
    return name && *name ? name : "unknown";
}

const char *trace_kind_name(int kind) {
    return or_unknown(tsmith_kind_name((tsmith_kind)kind));
}

const char *trace_kind_doc(int kind) {
    return or_unknown(tsmith_kind_doc((tsmith_kind)kind));
}

const char *trace_reason_name(int reason) {
    return or_unknown(tsmith_reason_name((tsmith_reason)reason));
}

const char *trace_reason_doc(int reason) {
    return or_unknown(tsmith_reason_doc((tsmith_reason)reason));
}

static const char *binary; // of the command line

void trace_set_binary(const char *path) {
    binary = path;
}

const char *trace_binary(void) {
    return binary;
}

enum { CTF_DEPTH = 6, CTF_NAMES = 1024, CTF_LISTED = 3, CTF_ENTRIES = 10000 };

struct ctf_search {
    char names[CTF_NAMES];
    unsigned found;
    unsigned left; // entries of folders that may still be examined
};

static bool has_file(const char *folder, const char *name) {
    char path[4096];
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && access(path, R_OK) == 0;
}

// CTF traces, which are folders.
static bool has_metadata(const char *path) {
    return has_file(path, "metadata");
}

// Adds the names of the CTF traces below a folder, as a session of LTTng has them: of the first ones, as far as there is room.
static void name_ctf_traces(const char *path, unsigned depth, struct ctf_search *search) {
    DIR *folder = depth ? opendir(path) : NULL;
    for (struct dirent *entry; folder && search->left && (entry = readdir(folder));) {
        char inner[4096];
        struct stat status;
        const size_t used = strlen(search->names);
        search->left--;
        if (entry->d_name[0] == '.' ||
            snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) >= (int)sizeof inner ||
            lstat(inner, &status) != 0 || !S_ISDIR(status.st_mode))
            continue;
        if (!has_metadata(inner))
            name_ctf_traces(inner, depth - 1, search);
        else if (search->found++ < CTF_LISTED && snprintf(search->names + used, CTF_NAMES - used, "%s%s",
                                                          used ? ", " : "", inner) >= (int)(CTF_NAMES - used))
            search->names[used] = '\0'; // whole names only
    }
    if (folder)
        (void)closedir(folder);
}

bool trace_is_directory(const char *path) {
    struct stat status;
    struct ctf_search search = {.left = CTF_ENTRIES};
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode) || has_metadata(path))
        return false;
    if (tsmith_capture_is_session(path)) {
        complain_command("the recording is not finished: tracesmith recover ", path,
                         " -o FILE makes it a trace");
        return true;
    }
    name_ctf_traces(path, CTF_DEPTH, &search);
    if (has_file(path, "traces.otf2"))
        complain(
            "%s: is an OTF2 archive, which TraceSmith writes and does not read: otf2-print shows what is "
            "in it",
            path);
    else if (search.found > CTF_LISTED)
        complain("%s is a directory, not a trace; it has %u CTF traces, such as %s", path, search.found,
                 search.names);
    else if (search.names[0])
        complain("%s is a directory, not a trace; CTF traces in it: %s", path, search.names);
    else
        complain("%s is a directory, not a trace", path);
    return true;
}

static bool no_cache, one_thread;
static const char *const *needed; // names of analyses
static size_t needed_count;       // 0: everything is needed

void trace_no_cache(void) {
    no_cache = true;
}

void trace_set_needs(const char *const *names, size_t count) {
    needed = names;
    needed_count = count;
}

void trace_use_one_thread(void) {
    one_thread = true;
}

// The XDG directories are absolute paths or do not count.
const char *trace_cache_folder(struct text *path) {
    const char *off = getenv("TRACESMITH_NO_CACHE"), *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (no_cache || (off && *off))
        return NULL;
    if (base && *base == '/')
        text_add_format(path, "%s/tracesmith/imports", base);
    else if (home && *home == '/')
        text_add_format(path, "%s/.cache/tracesmith/imports", home);
    else
        return NULL;
    return text_cstr(path);
}

static void show_progress(void *context, uint64_t done, uint64_t total) {
    progress_show(context, done && total ? (double)done / (double)total : -1);
}

static tsmith_status open_file(struct trace *trace, const char *path, tsmith_error *error) {
    struct progress progress = {.what = "reading"};
    struct text folder = {0};
    tsmith_trace_options options = {.size = sizeof options,
                                    .progress = show_progress,
                                    .progress_context = &progress,
                                    .binary = binary,
                                    .cache = trace_cache_folder(&folder),
                                    .one_thread = one_thread};
    tsmith_analysis_set_needs(needed, needed_count, &options);
    tsmith_status status = tsmith_trace_open(path, &options, &trace->opened, error);
    text_finish(&folder);
    progress_clear(&progress);
    if (status < 0)
        return status;
    trace->file = tsmith_trace_sbt(trace->opened);
    status = tsmith_sbt_dictionary(trace->file, &trace->dictionary, error);
    trace->summary.size = sizeof trace->summary;
    return status < 0 ? status : tsmith_sbt_summarize(trace->file, &trace->summary, error);
}

int trace_open(const char *path, struct trace *out) {
    tsmith_error error;
    *out = (struct trace){.path = strcmp(path, "-") == 0 ? "standard input" : path};
    if (trace_is_directory(path))
        return EXIT_DAMAGED;
    tsmith_status status = open_file(out, path, &error);
    if (status < 0) {
        complain("%s", error.message);
        trace_close(out);
        return exit_code_of_input(status);
    }
    trace_refresh(out);
    if (trace_duration(out) < 0) {
        complain("%s is damaged: its times span more than 292 years", out->path);
        trace_close(out);
        return EXIT_DAMAGED;
    }
    return EXIT_DONE;
}

void trace_close(struct trace *trace) {
    if (trace->opened)
        tsmith_trace_close(trace->opened);
    else
        tsmith_sbt_close(trace->file);
    trace->opened = NULL;
    trace->file = NULL;
}

uint64_t trace_lost(const struct trace *trace) {
    uint64_t total = 0;
    for (int reason = 0; reason < TSMITH_REASON_LIMIT; reason++)
        total += tsmith_reason_is_of_events((tsmith_reason)reason) ? trace->summary.lost[reason] : 0;
    return total;
}

bool trace_timed(const struct trace *trace, uint64_t *timed, uint64_t *all) {
    tsmith_aggregate *aggregates = NULL;
    size_t count = 0;
    *timed = *all = 0;
    if (tsmith_sbt_aggregates(trace->file, &aggregates, &count, NULL) != TSMITH_OK)
        return false;
    for (size_t i = 0; i < count; i++) {
        const uint8_t kind = aggregates[i].kind;
        if (kind != TSMITH_KIND_KERNEL && kind != TSMITH_KIND_MEMCPY && kind != TSMITH_KIND_MEMSET)
            continue;
        *timed += aggregates[i].timed;
        *all += aggregates[i].count;
    }
    tsmith_free(aggregates);
    return true;
}

uint64_t trace_stacks_incomplete(const struct trace *trace) {
    uint64_t total = 0;
    for (int reason = 0; reason < TSMITH_REASON_LIMIT; reason++)
        total += tsmith_reason_is_of_events((tsmith_reason)reason) ? 0 : trace->summary.lost[reason];
    return total;
}

void losses_add(struct losses *losses, const tsmith_batch *batch) {
    static const uint32_t fields[] = {TSMITH_FIELD_KIND, TSMITH_FIELD_LOST, TSMITH_FIELD_REASON};
    enum { KIND, LOST, REASON, FIELDS };
    tsmith_view views[FIELDS];
    uint32_t count = tsmith_batch_count(batch);
    tsmith_view_batch(batch, fields, FIELDS, views);
    const uint8_t *kinds = tsmith_view_every(&views[KIND]);
    if (!kinds || !memchr(kinds, TSMITH_KIND_LOSS, count))
        return;
    for (uint32_t row = 0; row < count; row++) {
        uint64_t lost = 0;
        if (kinds[row] != TSMITH_KIND_LOSS)
            continue;
        const bool counted = tsmith_view_u64(&views[LOST], row, &lost);
        const uint8_t reason = tsmith_view_word(&views[REASON], row);
        if (reason == TSMITH_REASON_OFF_DUTY)
            continue; // as requested: trace_add_duty
        const bool absent = reason == TSMITH_REASON_UNTRACED || reason == TSMITH_REASON_NOT_PERMITTED;
        losses->absent += !counted && absent;
        losses->uncounted += !counted && !absent;
        losses->by_reason[reason < TSMITH_REASON_LIMIT ? reason : 0] += lost;
    }
}

const char *losses_uncounted_text(const struct losses *losses) {
    if (losses->uncounted)
        return "an unknown number of events was lost";
    return losses->absent ? "the trace's source does not have all kinds of data" : "";
}

struct losses trace_uncounted_losses(const struct trace *trace) {
    static const uint32_t fields[] = {TSMITH_FIELD_LOST, TSMITH_FIELD_REASON};
    const tsmith_scan scan = {
        .size = sizeof scan, .fields = fields, .field_count = 2, .kinds = TSMITH_KIND_BIT(TSMITH_KIND_LOSS)};
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    struct losses losses = {0};
    if (!trace->summary.kinds[TSMITH_KIND_LOSS] || tsmith_sbt_scan(trace->file, &scan, &source, NULL) < 0)
        return losses;
    while (tsmith_source_next(source, &batch, NULL) == TSMITH_OK)
        losses_add(&losses, batch);
    tsmith_source_destroy(source);
    return losses;
}

const char *trace_format(const struct trace *trace) {
    return trace->opened ? tsmith_trace_format(trace->opened) : "sbt";
}

bool trace_is_foreign(const struct trace *trace) {
    return strcmp(trace_format(trace), "sbt") != 0;
}

uint64_t trace_bytes(const struct trace *trace) {
    return trace_is_foreign(trace) ? tsmith_trace_bytes(trace->opened) : trace->summary.bytes;
}

int64_t trace_duration(const struct trace *trace) {
    return (int64_t)((uint64_t)trace->summary.last_end - (uint64_t)trace->summary.first_start);
}

void losses_complain(const struct losses *losses, const char *path) {
    struct text line = {0};
    uint64_t total = 0, partial = 0;
    if (losses->uncounted || losses->absent)
        complain("%s: %s: see 'tracesmith view -t loss'", path, losses_uncounted_text(losses));
    for (int reason = 0; reason < TSMITH_REASON_LIMIT; reason++) {
        total += tsmith_reason_is_of_events((tsmith_reason)reason) ? losses->by_reason[reason] : 0;
        partial += tsmith_reason_is_partial((tsmith_reason)reason) ? losses->by_reason[reason] : 0;
    }
    if (!total)
        return;
    text_add_counted(&line, total, "event", "events");
    if (partial)
        text_add_format(&line, " %s missing or incomplete: ", plural(total, "is", "are"));
    else
        text_add_format(&line, " %s not recorded: ", plural(total, "was", "were"));
    bool first = true;
    for (int reason = 0; reason < TSMITH_REASON_LIMIT; reason++) {
        if (!losses->by_reason[reason] || !tsmith_reason_is_of_events((tsmith_reason)reason))
            continue;
        text_add_cstr(&line, first ? "" : "; ");
        text_add_count(&line, losses->by_reason[reason]);
        text_add_format(&line, " %s (%s)", trace_reason_name(reason), trace_reason_doc(reason));
        first = false;
    }
    complain("%s: %s", path, text_cstr(&line));
    text_finish(&line);
}

static bool read_attribute(const struct trace *trace, const char *key, int64_t *out) {
    const tsmith_string value = tsmith_dictionary_find_attribute(trace->dictionary, key);
    char word[32], *end;
    if (!value.length || value.length >= sizeof word)
        return false;
    memcpy(word, value.bytes, value.length);
    word[value.length] = '\0';
    *out = strtoll(word, &end, 10);
    return !*end && *out >= 0;
}

bool trace_add_duty(struct text *text, const struct trace *trace) {
    int64_t recorded, elapsed;
    if (!trace->dictionary)
        return false;
    // A recording that was killed knows only what was requested.
    const bool is_known = read_attribute(trace, "duty.recorded_ns", &recorded) &&
                          read_attribute(trace, "duty.elapsed_ns", &elapsed);
    if (!is_known && (!read_attribute(trace, "duty.on_ns", &recorded) ||
                      !read_attribute(trace, "duty.period_ns", &elapsed)))
        return false;
    text_add_cstr(text, "recorded ");
    text_add_duration(text, recorded);
    text_add_cstr(text, is_known ? " of " : " of every ");
    text_add_duration(text, elapsed);
    text_add_cstr(text, is_known ? " (--duty)"
                                 : " (--duty); it is not complete, and the pauses are not in its ledger");
    return true;
}

bool trace_add_aggregate(struct text *text, const struct trace *trace) {
    int64_t period;
    if (!trace->dictionary || !read_attribute(trace, "aggregate.period_ns", &period))
        return false;
    text_add_cstr(text, "added up in the program: a sum in every ");
    text_add_duration(text, period);
    text_add_cstr(text, " for each kernel, stack and device (--aggregate)");
    return true;
}

bool trace_refuses_sums(const struct trace *trace, const char *what) {
    const uint64_t *kinds = trace->summary.kinds;
    if (!kinds[TSMITH_KIND_SUM] || kinds[TSMITH_KIND_KERNEL] || kinds[TSMITH_KIND_MEMCPY] ||
        kinds[TSMITH_KIND_MEMSET])
        return false;
    complain("%s: its kernels and transfers are in sums (--aggregate), and %s needs single events",
             trace->path, what);
    return true;
}

static void report_lost(const struct trace *trace) {
    struct text line = {0};
    if (trace_add_duty(&line, trace))
        complain("%s: %s", trace->path, text_cstr(&line));
    text_clear(&line);
    if (trace_add_aggregate(&line, trace))
        complain("%s: %s", trace->path, text_cstr(&line));
    text_clear(&line);
    tsmith_string unrecorded = tsmith_dictionary_find_attribute(trace->dictionary, "unrecorded.processes");
    if (unrecorded.length) {
        text_add_safe(&line, unrecorded, 20);
        complain("%s: %s of the program's processes could not be recorded", trace->path, text_cstr(&line));
        text_clear(&line);
    }
    text_finish(&line);
    struct losses losses = trace_uncounted_losses(trace);
    memcpy(losses.by_reason, trace->summary.lost, sizeof losses.by_reason);
    losses_complain(&losses, trace->path);
}

bool trace_notice(const tsmith_dictionary *dictionary, uint32_t *at, tsmith_string *out) {
    static const char prefix[] = "notice.";
    while (++*at < tsmith_dictionary_attribute_count(dictionary)) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(dictionary, *at);
        tsmith_string key = tsmith_dictionary_string(dictionary, attribute->key);
        bool again = false; // of another process
        for (uint32_t i = 1; i < *at && !again; i++)
            again = tsmith_dictionary_attribute(dictionary, i)->value == attribute->value;
        *out = tsmith_dictionary_string(dictionary, attribute->value);
        if (!again && out->length && key.length >= sizeof prefix &&
            memcmp(key.bytes, prefix, sizeof prefix - 1) == 0)
            return true;
    }
    return false;
}

bool trace_import_count(const struct trace *trace, uint32_t *at, struct import_count *out) {
    static const char prefix[] = "import.";
    const size_t skip = sizeof prefix - 1;
    tsmith_string format = tsmith_dictionary_find_attribute(trace->dictionary, "import.file");
    if (!format.length)
        format = tsmith_dictionary_find_attribute(trace->dictionary, "import.format");
    while (++*at < tsmith_dictionary_attribute_count(trace->dictionary)) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(trace->dictionary, *at);
        const tsmith_string key = trace_string(trace, attribute->key);
        out->number = trace_string(trace, attribute->value);
        if (key.length <= skip || memcmp(key.bytes, prefix, skip) != 0 ||
            memchr(key.bytes + skip, '.', key.length - skip) || !out->number.length ||
            strspn(out->number.bytes, "0123456789") != out->number.length)
            continue;
        out->key = key.bytes + skip;
        out->what = tsmith_import_problem_doc(format.length ? format.bytes : "", key.bytes);
        return true;
    }
    return false;
}

void trace_refresh(struct trace *trace) {
    tsmith_sbt_summary summary = {.size = sizeof summary};
    if (tsmith_sbt_summarize(trace->file, &summary, NULL) < 0)
        return;
    trace->summary = summary;
    trace->is_whole =
        summary.complete && !(trace->opened && tsmith_trace_ended(trace->opened, NULL) != TSMITH_OK);
}

// A killed recording leaves its session behind, with all that had not come into the file.
static void report_session(const struct trace *trace) {
    char path[4096];
    tsmith_string directory = tsmith_dictionary_find_attribute(trace->dictionary, "session.directory");
    if (!directory.length || directory.length >= sizeof path)
        return;
    memcpy(path, directory.bytes, directory.length);
    path[directory.length] = '\0';
    if (strlen(path) == directory.length && tsmith_capture_is_session(path))
        complain_command("the last recorded events are still in memory: tracesmith recover ", path,
                         " -o FILE makes it a trace");
}

int trace_report(struct trace *trace) {
    trace_refresh(trace);
    const tsmith_sbt_summary *summary = &trace->summary;
    report_lost(trace);
    if (summary->unknown_frames)
        complain("%s: %" PRIu64 " %s of a newer version %s skipped", trace->path, summary->unknown_frames,
                 plural(summary->unknown_frames, "frame", "frames"),
                 plural(summary->unknown_frames, "was", "were"));
    if (trace->is_whole)
        return EXIT_DONE;
    tsmith_error why;
    if (trace->opened && tsmith_trace_ended(trace->opened, &why) != TSMITH_OK) {
        complain("%s; the answer is from them", why.message);
        return EXIT_DAMAGED;
    }
    struct text where = {0};
    if (summary->first_bad_offset != UINT64_MAX)
        text_add_format(&where, " at byte %" PRIu64, summary->first_bad_offset);
    else
        text_add_format(&where, " at byte %" PRIu64, summary->bytes);
    if (summary->damaged_frames)
        complain("%s: %" PRIu64 " damaged %s %s left out, the first%s; the answer covers the rest",
                 trace->path, summary->damaged_frames, plural(summary->damaged_frames, "part", "parts"),
                 plural(summary->damaged_frames, "was", "were"), text_cstr(&where));
    else
        complain("%s: the file ends early%s: it is still being written, or its writer was killed; the answer "
                 "covers the readable part ('tracesmith recover' completes it)",
                 trace->path, text_cstr(&where));
    report_session(trace);
    text_finish(&where);
    return EXIT_DAMAGED;
}

// ---- JSON

static void add_json_lost(struct text *text, const struct trace *trace) {
    const struct losses uncounted = trace_uncounted_losses(trace);
    text_add_format(text, "\"lost\":{\"total\":%" PRIu64 ",\"by_reason\":{", trace_lost(trace));
    bool first = true;
    for (int reason = 0; reason < TSMITH_REASON_LIMIT; reason++) {
        if (!trace->summary.lost[reason])
            continue;
        text_add_format(text, "%s\"%s\":%" PRIu64, first ? "" : ",", trace_reason_name(reason),
                        trace->summary.lost[reason]);
        first = false;
    }
    text_add_format(text, "},\"uncounted\":%" PRIu64 ",\"absent\":%" PRIu64 "}", uncounted.uncounted,
                    uncounted.absent);
}

void trace_add_json_head(struct text *text, const struct trace *trace) {
    const tsmith_sbt_summary *summary = &trace->summary;
    text_add_cstr(text, "\"trace\":");
    text_add_json_cstr(text, trace->path);
    text_add_cstr(text, ",\"format\":");
    text_add_json_cstr(text, trace_format(trace));
    if (!trace_is_foreign(trace))
        text_add_format(text, ",\"version\":\"%u.%u\"", summary->version_major, summary->version_minor);
    text_add_format(text, ",\"first_start\":%" PRId64 ",\"last_end\":%" PRId64 ",\"duration_ns\":%" PRId64,
                    summary->first_start, summary->last_end, trace_duration(trace));
}

void trace_add_json_state(struct text *text, const struct trace *trace) {
    const tsmith_sbt_summary *summary = &trace->summary;
    text_add_format(text, "\"complete\":%s,\"damaged_frames\":%" PRIu64 ",\"unknown_frames\":%" PRIu64,
                    trace->is_whole ? "true" : "false", summary->damaged_frames, summary->unknown_frames);
    if (summary->first_bad_offset != UINT64_MAX)
        text_add_format(text, ",\"first_bad_offset\":%" PRIu64, summary->first_bad_offset);
    text_add_char(text, ',');
    add_json_lost(text, trace);
}

static void add_json_number(struct text *text, const char *name, uint32_t number, uint32_t offset) {
    if (number)
        text_add_format(text, ",\"%s\":%" PRIu32, name, number - offset);
    else
        text_add_format(text, ",\"%s\":null", name);
}

static void add_json_text(struct text *text, const char *name, tsmith_string value) {
    text_add_format(text, ",\"%s\":", name);
    if (value.length)
        text_add_json(text, value);
    else
        text_add_cstr(text, "null");
}

void trace_add_json_rank(struct text *text, const struct trace *trace, const tsmith_rank *rank) {
    if (!rank->rank) {
        text_add_cstr(text, "\"rank\":null");
        return;
    }
    text_add_format(text, "\"rank\":%" PRIu32, rank->rank - 1);
    add_json_number(text, "world_size", rank->world, 0);
    add_json_number(text, "local_rank", rank->local_rank, 1);
    add_json_number(text, "local_world_size", rank->local_world, 0);
    add_json_number(text, "node", rank->node, 1);
    add_json_text(text, "launcher", trace_string(trace, rank->launcher));
    add_json_text(text, "job", trace_string(trace, rank->job));
}

static void add_json_process(struct text *text, const struct trace *trace, uint32_t id) {
    const tsmith_process *process = tsmith_dictionary_process(trace->dictionary, id);
    text_add_format(text, "{\"id\":%u,\"pid\":%" PRId64 ",\"parent_pid\":%" PRIu64 ",\"start\":%" PRId64, id,
                    (int64_t)process->pid, process->parent_pid, process->start);
    text_add_cstr(text, ",\"name\":");
    text_add_json(text, trace_string(trace, process->name));
    text_add_cstr(text, ",\"command_line\":");
    text_add_json(text, trace_string(trace, process->command_line));
    text_add_cstr(text, ",\"host\":");
    text_add_json(text, trace_string(trace, process->host));
    text_add_char(text, ',');
    const tsmith_rank rank = tsmith_dictionary_find_rank(trace->dictionary, id);
    trace_add_json_rank(text, trace, &rank);
    text_add_char(text, '}');
}

void trace_add_json_device(struct text *text, const struct trace *trace, uint32_t id, uint32_t number) {
    const tsmith_device *device = tsmith_dictionary_device(trace->dictionary, id);
    const struct {
        const char *key;
        uint32_t string;
    } strings[] = {{"name", device->name}, {"vendor", device->vendor}, {"driver", device->driver},
                   {"api", device->api},   {"type", device->type},     {"identity", device->identity}};
    text_add_format(text, "{\"id\":%u", number);
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        text_add_format(text, ",\"%s\":", strings[i].key);
        text_add_json(text, trace_string(trace, strings[i].string));
    }
    text_add_format(text,
                    ",\"process\":%u,\"memory_bytes\":%" PRIu64 ",\"compute_units\":%" PRIu32
                    ",\"clock_mhz\":%" PRIu32 ",\"number\":",
                    device->process, device->memory_bytes, device->compute_units, device->clock_mhz);
    if (device->number)
        text_add_u64(text, device->number - (uint64_t)1);
    else
        text_add_cstr(text, "null");
    text_add_char(text, '}');
}

static void add_json_device(struct text *text, const struct trace *trace, uint32_t id) {
    trace_add_json_device(text, trace, id, id);
}

static void add_json_track(struct text *text, const struct trace *trace, uint32_t id) {
    const tsmith_track *track = tsmith_dictionary_track(trace->dictionary, id);
    const char *kind = tsmith_track_kind_name((tsmith_track_kind)track->kind);
    text_add_format(text, "{\"id\":%u,\"kind\":\"%s\",\"name\":", id, kind ? kind : "unknown");
    trace_add_track_json(text, trace->dictionary, id);
    text_add_format(text, ",\"process\":%u,\"device\":%u,\"parent\":%u,\"tid\":%" PRId64 ",\"queue\":",
                    track->process, track->device, track->parent, (int64_t)track->tid);
    if (track->flags & TSMITH_TRACK_UNNUMBERED)
        text_add_cstr(text, "null");
    else
        text_add_u64(text, track->queue);
    text_add_format(text, ",\"context\":%" PRIu64, track->context);
    text_add_format(text, ",\"out_of_order\":%s,\"program_profiled\":%s,\"simulated\":%s}",
                    track->flags & TSMITH_TRACK_OUT_OF_ORDER ? "true" : "false",
                    track->flags & TSMITH_TRACK_PROGRAM_PROFILED ? "true" : "false",
                    track->flags & TSMITH_TRACK_SIMULATED ? "true" : "false");
}

static void add_json_table(struct text *text, const struct trace *trace, const char *key, uint32_t count,
                           void (*add)(struct text *, const struct trace *, uint32_t)) {
    text_add_format(text, "\"%s\":[", key);
    for (uint32_t id = 1; id < count; id++) {
        text_add_cstr(text, id > 1 ? ",\n" : "\n");
        add(text, trace, id);
    }
    text_add_char(text, ']');
}

void trace_add_json_tables(struct text *text, const struct trace *trace) {
    const tsmith_dictionary *dictionary = trace->dictionary;
    add_json_table(text, trace, "processes", tsmith_dictionary_process_count(dictionary), add_json_process);
    text_add_cstr(text, ",\n");
    add_json_table(text, trace, "devices", tsmith_dictionary_device_count(dictionary), add_json_device);
    text_add_cstr(text, ",\n");
    add_json_table(text, trace, "tracks", tsmith_dictionary_track_count(dictionary), add_json_track);
}

// ---- tracks

tsmith_string trace_base_name(tsmith_string path) {
    const char *slash = path.length ? memrchr(path.bytes, '/', path.length - 1) : NULL;
    if (!slash)
        return path;
    size_t skipped = (size_t)(slash + 1 - path.bytes);
    return (tsmith_string){path.bytes + skipped, path.length - skipped};
}

tsmith_string trace_program_name(tsmith_string process) {
    const char *options = process.length ? memmem(process.bytes, process.length, " -", 2) : NULL;
    const size_t length = options ? (size_t)(options - process.bytes) : process.length,
                 skipped = length - trace_base_name((tsmith_string){process.bytes, length}).length;
    return (tsmith_string){process.bytes + skipped, process.length - skipped};
}

static tsmith_string track_name(const tsmith_dictionary *dictionary, uint32_t track,
                                char room[TSMITH_LABEL_SIZE]) {
    const tsmith_track *entry = tsmith_dictionary_track(dictionary, track);
    const tsmith_string name = tsmith_track_name(dictionary, track, room);
    return entry && entry->kind == TSMITH_TRACK_PROCESS && entry->name ? trace_program_name(name) : name;
}

size_t trace_add_track_label(struct text *text, const tsmith_dictionary *dictionary, uint32_t track,
                             unsigned without, size_t columns) {
    char room[TSMITH_LABEL_SIZE], distinction[TSMITH_LABEL_SIZE];
    const tsmith_string name = track_name(dictionary, track, room);
    const size_t length = tsmith_track_distinction(dictionary, track, without, distinction);
    const tsmith_string behind = {distinction, length};
    struct text measured = {0};
    const size_t width = length ? text_add_safe(&measured, behind, columns) : 0;
    text_finish(&measured);
    if (!width)
        return text_add_safe(text, name, columns);
    // The name is cut, and not its distinguishing suffix, as long as some of the name is left.
    enum { NAME_LEAST = 4 };
    if (columns && columns < width + NAME_LEAST)
        return text_add_safe(text, name, columns);
    const size_t shown = text_add_safe(text, name, columns ? columns - width : 0);
    return shown + text_add_safe(text, behind, 0);
}

void trace_add_track_raw(struct text *text, const tsmith_dictionary *dictionary, uint32_t track) {
    char room[TSMITH_LABEL_SIZE];
    const tsmith_string name = tsmith_track_name(dictionary, track, room);
    text_add(text, name.bytes, name.length);
}

void trace_add_track_json(struct text *text, const tsmith_dictionary *dictionary, uint32_t track) {
    char room[TSMITH_LABEL_SIZE];
    text_add_json(text, tsmith_track_name(dictionary, track, room));
}

size_t trace_add_device_label(struct text *text, const tsmith_dictionary *dictionary, uint32_t device,
                              size_t columns) {
    const tsmith_device *entry = tsmith_dictionary_device(dictionary, device);
    const bool named = entry && tsmith_dictionary_string(dictionary, entry->name).length;
    char room[TSMITH_LABEL_SIZE], distinction[TSMITH_LABEL_SIZE];
    const size_t before = text->length;
    if (named && entry->number)
        text_add_format(text, "device %" PRIu32 "  ", entry->number - 1);
    else if (named)
        text_add_cstr(text, "device ");
    size_t width = text->length - before;
    width += text_add_safe(text, tsmith_device_name(dictionary, device, room),
                           columns > width ? columns - width
                           : columns       ? 1
                                           : 0);
    if (tsmith_device_distinction(dictionary, device, distinction) && strchr(distinction, '#'))
        width += text_add_safe(text, text_string(distinction), 0);
    return width;
}
