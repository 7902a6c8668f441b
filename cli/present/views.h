// SPDX-License-Identifier: Apache-2.0
// What `view` was asked for, and the ways it has to answer.
#ifndef CLI_VIEWS_H
#define CLI_VIEWS_H

#include "cli/frame_filter.h"
#include "cli/frame_state.h"
#include "cli/order.h"
#include "cli/stack_lines.h"
#include "cli/window.h"

struct view {
    struct trace trace;
    struct window window;
    struct order_query query; // of the window
    struct progress progress;
    uint64_t limit; // events to show, UINT64_MAX: all
    struct frame_filter frame;
    bool with_stacks, hide_interpreter;
    struct stacks stacks; // open when they are wanted
};

// Each writes its whole answer to standard output and gives the exit code.
int view_text(struct view *view);
int view_json(struct view *view);
int view_csv(struct view *view);
int view_stats(struct view *view, bool json);
int view_timeline(struct view *view);

// One value as JSON: enumerations by name, strings escaped.
void view_add_json_value(struct text *text, const tsmith_dictionary *dictionary, tsmith_type type,
                         uint64_t bits);

#endif
