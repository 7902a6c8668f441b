// SPDX-License-Identifier: Apache-2.0
// The batch source of xctrace's XML: feeds the parser and delivers its rows. formats.c opens it.
#include "import/xctrace/xctrace.h"
#include "base/plural.h"

#include <stdlib.h>
#include <string.h>

#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9
#define CURRENT_BYTE XML_GetCurrentByteIndex64
#define CURRENT_LINE XML_GetCurrentLineNumber64
#else // deprecated since 2.9, where they are as wide as a long
#define CURRENT_BYTE XML_GetCurrentByteIndex
#define CURRENT_LINE XML_GetCurrentLineNumber
#endif

enum { CHUNK = 64 << 10, TOKEN_MAX = 32 << 20, HEAD = 1024 };

bool xctrace_is(struct input *input) {
    static const char root[] = "<trace-query-result";
    const char *at = input->window + input->begin;
    size_t there = input->end - input->begin;
    there = there < HEAD ? there : HEAD;
    if (!memmem(at, there, root, sizeof root - 1))
        return false;
    // What comes first is markup. A line feed alone proves nothing: every Perfetto trace begins with this byte.
    const char *end = at + there;
    if (there >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    while (at < end && strchr(" \t\r\n", *at))
        at++;
    return end - at >= 2 && at[0] == '<' && (at[1] == '?' || at[1] == '!' || at[1] == root[1]);
}

// ---- reading

static void note_loss(struct xctrace *xctrace, uint64_t count, bool lost, tsmith_reason reason,
                      const char *text) {
    if (count)
        ledger_note(&xctrace->ledger, xctrace->dictionary, reason, lost ? count : 0, lost, "%llu %s",
                    (unsigned long long)count, text);
}

static void end(struct xctrace *xctrace) {
    note_loss(xctrace, xctrace->no_time, true, TSMITH_REASON_CORRUPT, "rows without a time");
    note_loss(xctrace, xctrace->bad_rows, true, TSMITH_REASON_CORRUPT,
              "rows with more cells or levels than can be kept");
    note_loss(xctrace, xctrace->too_many, false, TSMITH_REASON_TABLE_FULL,
              "values or threads beyond those that can be kept");
    note_loss(xctrace, xctrace->dangling, false, TSMITH_REASON_CORRUPT,
              "references to values that are not there (any more)");
    note_loss(xctrace, xctrace->cut_texts, false, TSMITH_REASON_TABLE_FULL,
              "texts that were too long and were cut");
    if (xctrace->ended_early)
        ledger_note(&xctrace->ledger, xctrace->dictionary, TSMITH_REASON_CORRUPT, 0, true,
                    "the file ends early");
    gather_flush(&xctrace->gather);
    xctrace->failed |= !ledger_write(&xctrace->ledger, xctrace->dictionary, &xctrace->gather);
    xctrace->over = true;
}

static void stop_at(struct xctrace *xctrace, const char *why) {
    uint64_t offset = (uint64_t)CURRENT_BYTE(xctrace->parser);
    (void)status_set_at(
        &xctrace->stop, TSMITH_TRUNCATED, offset, xctrace->rows,
        "%s: cannot be read beyond byte %llu (line %llu): %s; everything before it (%llu %s) was read",
        xctrace->name, (unsigned long long)offset, (unsigned long long)CURRENT_LINE(xctrace->parser), why,
        (unsigned long long)xctrace->rows, plural(xctrace->rows, "row", "rows"));
    xctrace->ended_early = true;
    end(xctrace);
}

// Hands the parser a piece of the file.
static void run(struct xctrace *xctrace) {
    struct input *input = &xctrace->input;
    size_t there = input->end - input->begin, taken = there < CHUNK ? there : CHUNK;
    bool last = taken == there && input->ended;
    enum XML_Status status =
        XML_Parse(xctrace->parser, input->window + input->begin, (int)taken, last && !input->cut);
    input->begin += taken;
    uint64_t fed = input->offset + input->begin;
    if (status != XML_STATUS_OK) {
        enum XML_Error error = XML_GetErrorCode(xctrace->parser);
        xctrace->failed |= error == XML_ERROR_NO_MEMORY;
        stop_at(xctrace, error == XML_ERROR_ABORTED && xctrace->why ? xctrace->why : XML_ErrorString(error));
    } else if (last && input->cut) {
        stop_at(xctrace, input->problem ? input->problem : "the compressed file ends early");
    } else if (last) {
        end(xctrace);
    } else if (fed - (uint64_t)CURRENT_BYTE(xctrace->parser) > TOKEN_MAX) {
        stop_at(xctrace, "an element without an end");
    }
}

static tsmith_status refill(struct xctrace *xctrace, tsmith_error *error) {
    struct input *input = &xctrace->input;
    if (input->begin < input->end || input->ended)
        return TSMITH_OK;
    tsmith_status status = input_more(input, error);
    return status == TSMITH_END ? TSMITH_OK : status;
}

// ---- the source

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct xctrace *xctrace = self;
    for (;;) {
        tsmith_status status = gather_take(&xctrace->gather, out);
        if (status != TSMITH_OK || xctrace->failed || tsmith_dictionary_failed(xctrace->dictionary))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", xctrace->name);
        if (*out)
            return TSMITH_OK;
        if (xctrace->over) {
            if (xctrace->ended_early && error)
                *error = xctrace->stop;
            return xctrace->ended_early ? TSMITH_TRUNCATED : TSMITH_END;
        }
        while (!xctrace->over && !xctrace->failed && !gather_is_full(&xctrace->gather)) {
            if ((status = refill(xctrace, error)) != TSMITH_OK)
                return status;
            run(xctrace);
        }
    }
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct xctrace *)self)->dictionary;
}

static void destroy(void *self) {
    struct xctrace *xctrace = self;
    xctrace_parse_finish(xctrace);
    xctrace_rows_finish(xctrace);
    ledger_finish(&xctrace->ledger);
    input_close(&xctrace->input);
    tsmith_dictionary_destroy(xctrace->dictionary);
    free(xctrace->name);
    free(xctrace);
}

tsmith_status xctrace_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    struct xctrace *xctrace = calloc(1, sizeof *xctrace);
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (!xctrace) {
        (void)status_set(error, status, "%s: out of memory", name);
        input_close(input);
        free(name);
        return status;
    }
    xctrace->input = *input;
    *input = (struct input){0};
    xctrace->name = name;
    if (tsmith_dictionary_create(&xctrace->dictionary) == TSMITH_OK && xctrace_parse_begin(xctrace)) {
        tsmith_dictionary_set_attribute(xctrace->dictionary, "import.format", "xctrace-xml");
        status = tsmith_source_create(&ops, xctrace, out);
    }
    if (status == TSMITH_OK)
        return status;
    (void)status_set(error, status, "%s: out of memory", name);
    destroy(xctrace);
    return status;
}
