// SPDX-License-Identifier: Apache-2.0
// Finds the source line that enqueued a recorded command, from the stack of its API call. `replay` calls it for
// findings.
#include "replay_sites.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/stack_lines.h"

enum { LINES_MOST = 64, NAME_MOST = 1024, COLUMNS = 80, SHOWN_MOST = 3 };

static int by_call(const void *left, const void *right) {
    const struct site *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->correlation < b->correlation ? -1 : a->correlation > b->correlation;
}

static bool add_site(struct sites *sites, struct site site) {
    if (sites->count == sites->capacity) {
        const size_t capacity = sites->capacity ? sites->capacity * 2 : 1024;
        struct site *more = realloc(sites->sites, capacity * sizeof *more);
        if (!more)
            return false;
        sites->sites = more;
        sites->capacity = capacity;
    }
    sites->sites[sites->count++] = site;
    return true;
}

static bool take_call(void *context, uint32_t track, uint64_t correlation, uint32_t stack) {
    struct sites *sites = context;
    const tsmith_track *entry = tsmith_dictionary_track(sites->dictionary, track);
    const tsmith_process *process =
        entry ? tsmith_dictionary_process(sites->dictionary, entry->process) : NULL;
    return !process || add_site(sites, (struct site){process->pid, correlation, stack});
}

void sites_read(struct sites *sites, const struct trace *trace) {
    *sites = (struct sites){.dictionary = trace->dictionary};
    (void)stacks_each_call(trace, take_call, sites); // without memory for more there are fewer
    if (!sites->count || tsmith_stack_names_create(trace->dictionary, &sites->names) != TSMITH_OK)
        sites->count = 0;
    else
        qsort(sites->sites, sites->count, sizeof *sites->sites, by_call);
}

void sites_finish(struct sites *sites) {
    tsmith_stack_names_destroy(sites->names);
    free(sites->sites);
    *sites = (struct sites){0};
}

// From the innermost function whose source line is known, else from the innermost.
static size_t find_lines(const struct sites *sites, uint32_t stack, tsmith_stack_line *out) {
    tsmith_stack_line lines[LINES_MOST];
    size_t count = tsmith_stack_lines(sites->names, stack, lines, LINES_MOST), from = 0, found = 0;
    count = count < LINES_MOST ? count : LINES_MOST;
    while (from < count && !lines[from].line)
        from++;
    for (size_t at = from < count ? from : 0; at < count && found < SHOWN_MOST; at++)
        out[found++] = lines[at];
    return found;
}

static void add_line(struct text *text, const struct sites *sites, const tsmith_stack_line *line, bool json) {
    char name[NAME_MOST];
    tsmith_stack_line_text(sites->dictionary, line, name, sizeof name);
    text_add_cstr(text, json ? "{\"function\":" : "");
    if (json)
        text_add_json_cstr(text, name);
    else
        text_add_safe(text, text_string(name), COLUMNS);
    if (line->line) {
        const tsmith_string file = tsmith_dictionary_string(sites->dictionary, line->file);
        text_add_cstr(text, json ? ",\"file\":" : " at ");
        if (json)
            text_add_json(text, file);
        else
            text_add_safe(text, file, 0);
        text_add_format(text, json ? ",\"line\":%" PRIu32 : ":%" PRIu32, line->line);
    }
    text_add_cstr(text, json ? "}" : "");
}

void sites_add(struct text *text, const struct sites *sites, uint64_t pid, uint64_t correlation, bool json) {
    const struct site wanted = {pid, correlation, 0};
    const struct site *site = sites->count && correlation ? bsearch(&wanted, sites->sites, sites->count,
                                                                    sizeof *sites->sites, by_call)
                                                          : NULL;
    tsmith_stack_line lines[SHOWN_MOST];
    const size_t count = site ? find_lines(sites, site->stack, lines) : 0;
    for (size_t i = 0; i < count; i++) {
        text_add_cstr(text, json ? (i ? "," : ",\"stack\":[") : i ? "\n        from " : "\n    called by ");
        add_line(text, sites, &lines[i], json);
    }
    text_add_cstr(text, count && json ? "]" : "");
}
