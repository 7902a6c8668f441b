// SPDX-License-Identifier: Apache-2.0
// Which events of a Chrome trace the caller needs, and what is kept of the others: those with the first start and the last end, because
// they show how long the trace is. rows.c calls it.
#include "import/chrome/rows.h"

bool needs_ask(struct chrome *chrome, tsmith_kind kind, const struct event *event) {
    if (!chrome->needs_event || chrome->by_us)
        return true;
    const uint32_t name = event->has_name ? event->name : 0;
    struct needed *needed = &chrome->rows->needed[name % NEEDED_NAMES];
    if (!needed->is_known || needed->name != name || needed->kind != kind)
        *needed = (struct needed){
            .name = name,
            .kind = (uint8_t)kind,
            .is_known = true,
            .is_needed = chrome->needs_event(kind, tsmith_dictionary_string(chrome->dictionary, name).bytes)};
    return needed->is_needed;
}

static void keep_bound(struct bound *bound, const struct event *event, int64_t time) {
    *bound = (struct bound){.event = *event, .time = time, .any = true};
    bound->event.values = NULL;
    bound->event.count = 0;
    bound->event.roles = 0;
}

void needs_leave_out(struct rows *rows, const struct event *event) {
    const struct moment *duration = &event->duration;
    const int64_t start = event->start.ns;
    int64_t end = start;
    if (duration->there && !duration->bad &&
        (__builtin_add_overflow(start, duration->ns, &end) || end < start))
        end = start;
    if (!rows->first_left_out.any || start < rows->first_left_out.time)
        keep_bound(&rows->first_left_out, event, start);
    if (!rows->last_left_out.any || end > rows->last_left_out.time)
        keep_bound(&rows->last_left_out, event, end);
}
