// SPDX-License-Identifier: Apache-2.0
// Reads --from, --to and --type, and filters a source by them. `view`, `analyze` and `export` call it.
#include "window.h"

#include <stdlib.h>

#include "cli/options/quantity.h"
#include "cli/present/terminal.h"
#include "order.h"

// ---- the options

static void add_kind(void *context, size_t index) {
    static const uint8_t numbers[] = {
#define NUMBER(NAME, number, name, doc) number,
        TSMITH_KIND_TABLE(NUMBER)
#undef NUMBER
    };
    *(uint64_t *)context |= TSMITH_KIND_BIT(numbers[index]);
}

static bool read_time(const struct invocation *invocation, const char *option, int64_t *out, bool *given) {
    const char *value = invocation_value(invocation, option);
    *given = value != NULL;
    if (!value || quantity_time(value, out))
        return true;
    complain("--%s: '%s' is not a time such as 1.5ms, 2s, 300us or 250ns", option, value);
    return false;
}

bool window_read(const struct invocation *invocation, struct window *out) {
    const struct option *type = command_option(invocation->command, "type");
    const char *types = type ? invocation_value(invocation, "type") : NULL;
    *out = (struct window){.has_from = false};
    if (!read_time(invocation, "from", &out->from, &out->has_from) ||
        !read_time(invocation, "to", &out->to, &out->has_to))
        return false;
    if (out->has_from && out->has_to && out->to <= out->from) {
        complain("--to must be later than --from");
        return false;
    }
    return !types || option_each_word(type, types, add_kind, &out->kinds);
}

static int64_t add_offset(int64_t first_start, int64_t offset) {
    int64_t time;
    return __builtin_add_overflow(first_start, offset, &time) ? INT64_MAX : time;
}

void window_place(const struct window *window, int64_t first_start, int64_t *from, int64_t *to) {
    *from = window->has_from ? add_offset(first_start, window->from) : INT64_MIN;
    *to = window->has_to ? add_offset(first_start, window->to) : INT64_MAX;
}

// ---- a source of what is in it

struct filter {
    tsmith_source *inner;
    tsmith_batch *kept;
    int64_t from, to;
    uint64_t kinds;
};

static bool is_wanted(const struct filter *filter, const tsmith_spans *spans, uint32_t row) {
    int64_t duration = 0;
    const bool lasts = tsmith_view_i64(&spans->durations, row, &duration);
    const int64_t start = spans->starts[row], end = order_end(start, lasts, duration);
    if (filter->kinds && !tsmith_kinds_have(filter->kinds, spans->kinds[row]))
        return false;
    return start < filter->to && (start >= filter->from || end > filter->from);
}

static tsmith_status copy_row(tsmith_batch *to, const tsmith_batch *from, uint32_t row, int64_t start,
                              uint8_t kind) {
    tsmith_status status = TSMITH_OK;
    uint32_t count = tsmith_batch_column_count(from);
    if (tsmith_batch_append(to, (tsmith_kind)kind, start) == UINT32_MAX)
        return TSMITH_ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < count && status == TSMITH_OK; i++) {
        const tsmith_view view = tsmith_view_at(from, i);
        if (view.field != TSMITH_FIELD_START && view.field != TSMITH_FIELD_KIND)
            status = tsmith_view_copy(&view, row, to);
    }
    return status;
}

// *kept is NULL when nothing of the batch is wanted, the batch itself when all of it is.
static tsmith_status keep_rows(struct filter *filter, const tsmith_batch *batch, const tsmith_batch **kept) {
    tsmith_spans spans;
    uint32_t count = tsmith_batch_count(batch), wanted = 0;
    const bool has_spans = tsmith_view_spans(batch, &spans);
    *kept = NULL;
    for (uint32_t row = 0; has_spans && row < count; row++)
        wanted += is_wanted(filter, &spans, row);
    if (wanted == count)
        *kept = batch;
    if (wanted == count || wanted == 0)
        return TSMITH_OK;
    tsmith_batch_reset(filter->kept, tsmith_batch_track(batch));
    tsmith_status status = TSMITH_OK;
    for (uint32_t row = 0; row < count && status == TSMITH_OK; row++)
        if (is_wanted(filter, &spans, row))
            status = copy_row(filter->kept, batch, row, spans.starts[row], spans.kinds[row]);
    *kept = filter->kept;
    return status == TSMITH_OK ? tsmith_batch_finish(filter->kept) : status;
}

static tsmith_status filter_next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct filter *filter = self;
    const tsmith_batch *batch;
    for (;;) {
        tsmith_status status = tsmith_source_next(filter->inner, &batch, error);
        if (status != TSMITH_OK)
            return status;
        status = keep_rows(filter, batch, out);
        if (status != TSMITH_OK) {
            if (error)
                *error = (tsmith_error){.status = status, .message = "out of memory"};
            return status;
        }
        if (*out)
            return TSMITH_OK;
    }
}

static const tsmith_dictionary *filter_dictionary(void *self) {
    return tsmith_source_dictionary(((struct filter *)self)->inner);
}

static void filter_destroy(void *self) {
    struct filter *filter = self;
    tsmith_source_destroy(filter->inner);
    tsmith_batch_destroy(filter->kept);
    free(filter);
}

static tsmith_status filter(tsmith_source *inner, int64_t from, int64_t to, uint64_t kinds,
                            tsmith_source **out, tsmith_error *error) {
    static const tsmith_source_ops ops = {filter_next, filter_dictionary, filter_destroy};
    struct filter *filter = calloc(1, sizeof *filter);
    *out = NULL;
    if (filter)
        *filter = (struct filter){.inner = inner, .from = from, .to = to, .kinds = kinds};
    if (filter && tsmith_batch_create(&filter->kept) == TSMITH_OK &&
        tsmith_source_create(&ops, filter, out) == TSMITH_OK)
        return TSMITH_OK;
    if (error)
        *error = (tsmith_error){.status = TSMITH_ERROR_NO_MEMORY, .message = "out of memory"};
    if (filter)
        tsmith_batch_destroy(filter->kept);
    free(filter);
    tsmith_source_destroy(inner);
    return TSMITH_ERROR_NO_MEMORY;
}

tsmith_status window_kinds(const struct window *window, tsmith_source *taken, tsmith_source **out,
                           tsmith_error *error) {
    if (window->kinds)
        return filter(taken, INT64_MIN, INT64_MAX, window->kinds, out, error);
    *out = taken;
    return TSMITH_OK;
}

tsmith_status window_scan(const struct window *window, tsmith_sbt *file, tsmith_source **out,
                          tsmith_error *error) {
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_source *source = NULL;
    tsmith_scan scan = {.size = sizeof scan, .kinds = window->kinds};
    tsmith_status status = tsmith_sbt_summarize(file, &summary, error);
    if (status < 0)
        return status;
    window_place(window, summary.first_start, &scan.from, &scan.to);
    scan.has_window = window_has_time(window);
    status = tsmith_sbt_scan(file, &scan, &source, error);
    return status < 0 ? status : filter(source, scan.from, scan.to, window->kinds, out, error);
}
