// SPDX-License-Identifier: Apache-2.0
// Which code of the program causes the work of the devices: the time of commands, added up by the call path that launched
// them. A command's path is its own stack, or else the stack of the call that launched it. In a trace without any call
// stack it is the ranges around that call: functions of Python, operators of a framework, what the program annotated.
//
// Paths are folded, and marked where something is missing, by the rules in event/fold.h.
//
// Functions are distinguished by name; those without one by their place in the module. Tree and functions are made
// from the stacks that commands have, each once, not from the commands. Memory: 24 bytes per event with a stack.
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/stack_places.h"
#include "analyze/summed.h"
#include "analyze/tally.h"
#include "base/array.h"
#include "base/plural.h"
#include "base/sorted.h"
#include "event/fold.h"
#include "event/stacks.h"
#include "tracesmith/stacks.h"
#include "tracesmith/view.h"

enum {
    ROWS_MAX = 100000,
    INDENT_MAX = 60,
    INLINED_MAX = 256,
    RANGES_MAX = 1024,
    NAME_SIZE = 4096,
    RUN_SIZE = 4096
};

// An event that has a stack.
struct seen {
    int64_t start;
    uint64_t correlation;
    uint32_t track, stack;
};

struct amount {
    int64_t time;
    uint64_t count;
};

struct function {
    tsmith_stack_line line; // one of its lines: for its name
    struct amount self, total;
    uint32_t open;     // how often it is on the path that is being walked
    bool is_truncated; // represents the missing callers of cut stacks
};

// A function on a call path; [0] is what all paths come from.
struct node {
    uint32_t parent, function;
    uint32_t first_child, next; // siblings by time; 0: none
    bool is_guessed;
    struct amount self, total;
};

struct site {
    uint32_t function;
    uint32_t file, line;
    struct amount self;
};

// Where a stack ends: in the tree, and at the place that launches (UINT32_MAX: none is known): the innermost whose line is
// known, or else the innermost that has a name.
struct way {
    uint32_t node, site;
    uint32_t function, file, line; // the innermost that is shown
    bool has_line, folded, guessed, truncated, in_python;
};

struct callsites {
    struct seen *seen;
    size_t count, capacity;
    struct summed summed; // commands in sums
    struct amount *by_stack;
    struct way *ways; // by stack: as it is, then without the interpreter
    uint32_t stack_count;
    tsmith_stack_names *names;
    struct tally function_numbers, node_numbers, file_numbers, site_numbers;
    struct function *functions;
    size_t function_capacity;
    struct node *nodes;
    size_t node_capacity;
    struct site *sites;
    size_t site_capacity;
    struct amount with, without; // commands that have a path, and those that have none
    bool by_ranges;
    int64_t unnamed; // of paths without a place that has a name
    int64_t guessed, truncated;
    uint64_t folded;         // commands
    const char *const *skip; // functions that are no places
    size_t skip_count;
    bool *skipped; // those that there are
    bool hide_interpreter;
};

static void add(struct amount *to, struct amount more) {
    to->time = sweep_add(to->time, more.time);
    to->count += more.count;
}

// ---- events

static tsmith_status write_batch(void *state, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 const tsmith_interval *window) {
    static const uint32_t fields[] = {TSMITH_FIELD_START, TSMITH_FIELD_STACK, TSMITH_FIELD_CORRELATION,
                                      TSMITH_FIELD_KIND};
    enum { START, STACK, CORRELATION, KIND, FIELDS };
    struct callsites *sites = state;
    const uint32_t count = tsmith_batch_count(batch);
    tsmith_view views[FIELDS];
    (void)dictionary; // a call before the window may launch what is in it
    tsmith_view_batch(batch, fields, FIELDS, views);
    const int64_t *starts = tsmith_view_every(&views[START]);
    const uint8_t *kinds = tsmith_view_every(&views[KIND]);
    if (!starts || !kinds)
        return TSMITH_OK;
    if (memchr(kinds, TSMITH_KIND_SUM, count) && !summed_add(&sites->summed, batch, window))
        return TSMITH_ERROR_NO_MEMORY;
    if (!tsmith_view_exists(&views[STACK]))
        return TSMITH_OK;
    if (!ARRAY_RESERVE(sites->seen, sites->capacity, sites->count + count))
        return TSMITH_ERROR_NO_MEMORY;
    for (uint32_t row = 0; row < count; row++) {
        const uint32_t stack = tsmith_view_id(&views[STACK], row);
        if (stack && kinds[row] != TSMITH_KIND_SUM)
            sites->seen[sites->count++] =
                (struct seen){starts[row], tsmith_view_u64_or(&views[CORRELATION], row, 0),
                              tsmith_batch_track(batch), stack};
    }
    return TSMITH_OK;
}

static int by_track_and_start(const void *left, const void *right) {
    const struct seen *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

static uint32_t find_stack(const struct callsites *sites, uint32_t track, int64_t start,
                           uint64_t correlation) {
    const struct seen key = {start, correlation, track, 0};
    size_t at = SORTED_FIND(i, 0, sites->count, by_track_and_start(&sites->seen[i], &key) < 0);
    if (at == sites->count)
        return 0;
    const struct seen *found = &sites->seen[at];
    bool is_it = found->track == track && found->start == start && found->correlation == correlation;
    return is_it ? found->stack : 0;
}

static uint32_t stack_of(const struct callsites *sites, const tsmith_timeline *timeline,
                         const tsmith_command *command) {
    uint32_t stack =
        find_stack(sites, timeline->rows[command->row].track, command->start, command->correlation);
    if (stack || command->call == TSMITH_INDEX_NONE)
        return stack;
    const tsmith_call *call = &timeline->calls[command->call];
    return find_stack(sites, timeline->threads[call->thread].track, call->start, call->correlation);
}

static bool is_counted(const struct analysis_context *context, const tsmith_command *command) {
    return timeline_runs(command) && command->start >= context->window.from &&
           command->start < context->window.to;
}

static bool add_commands(struct callsites *sites, const struct analysis_context *context) {
    const tsmith_timeline *timeline = context->timeline;
    sites->stack_count = tsmith_dictionary_stack_count(context->dictionary);
    sites->by_stack = calloc(sites->stack_count + (size_t)1, sizeof *sites->by_stack);
    if (!sites->by_stack)
        return false;
    if (sites->count)
        qsort(sites->seen, sites->count, sizeof *sites->seen, by_track_and_start);
    for (size_t i = 0; i < timeline->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        if (!is_counted(context, command))
            continue;
        struct amount one = {command->end - command->start, 1};
        uint32_t stack = stack_of(sites, timeline, command);
        if (stack && stack < sites->stack_count)
            add(&sites->by_stack[stack], one);
        add(stack && stack < sites->stack_count ? &sites->with : &sites->without, one);
    }
    for (size_t i = 0; i < sites->summed.count; i++) {
        const struct summed_commands *sum = &sites->summed.items[i];
        const struct amount amount = {sum->time, sum->count};
        const bool has_stack = sum->stack && sum->stack < sites->stack_count;
        if (has_stack)
            add(&sites->by_stack[sum->stack], amount);
        add(has_stack ? &sites->with : &sites->without, amount);
    }
    return true;
}

// ---- functions, paths and sites

static uint32_t function_of(struct callsites *sites, const tsmith_stack_line *line) {
    size_t had = sites->function_numbers.count;
    uint64_t key = line->function ? line->function : UINT64_C(1) << 40 | line->frame;
    uint32_t number = tally_number(&sites->function_numbers, key);
    if (number == UINT32_MAX || !ARRAY_RESERVE(sites->functions, sites->function_capacity, had + 1))
        return UINT32_MAX;
    if (number == had)
        sites->functions[number] = (struct function){.line = *line};
    return number;
}

// The function that represents unknown callers.
static uint32_t truncated_function(struct callsites *sites) {
    static const tsmith_stack_line NONE = {.frame = UINT32_MAX}; // no frame has that number
    uint32_t number = function_of(sites, &NONE);
    if (number != UINT32_MAX)
        sites->functions[number].is_truncated = true;
    return number;
}

static const uint32_t IS_GUESSED = UINT32_C(1) << 31; // a flag in the number of a function

static uint32_t child_of(struct callsites *sites, uint32_t parent, uint32_t function) {
    size_t had = sites->node_numbers.count;
    uint32_t number = tally_number(&sites->node_numbers, (uint64_t)parent << 32 | function);
    if (number == UINT32_MAX || !ARRAY_RESERVE(sites->nodes, sites->node_capacity, had + 2))
        return UINT32_MAX;
    if (number == had)
        sites->nodes[number + 1] = (struct node){
            .parent = parent, .function = function & ~IS_GUESSED, .is_guessed = function & IS_GUESSED};
    return number + 1;
}

// The path of `way` with one function more, folded.
static uint32_t folded_child(struct callsites *sites, struct way *way, uint32_t function) {
    uint64_t names[FOLD_NAMES];
    uint32_t count = 0, node = way->node;
    for (uint32_t at = node; at && count < FOLD_NAMES; at = sites->nodes[at].parent)
        names[count++] = sites->nodes[at].function | (sites->nodes[at].is_guessed ? IS_GUESSED : 0);
    const uint32_t period = fold_period(names, count, function);
    if (!period)
        return child_of(sites, node, function);
    way->folded = true;
    for (uint32_t i = 1; i < period; i++)
        node = sites->nodes[node].parent;
    return node;
}

// The number of a place, UINT32_MAX when memory is exhausted.
static uint32_t site_of(struct callsites *sites, const tsmith_stack_line *line, uint32_t function) {
    size_t had = sites->site_numbers.count;
    uint32_t file = tally_number(&sites->file_numbers, (uint64_t)function << 32 | line->file);
    uint32_t number =
        file == UINT32_MAX ? file : tally_number(&sites->site_numbers, (uint64_t)file << 32 | line->line);
    if (number == UINT32_MAX || !ARRAY_RESERVE(sites->sites, sites->site_capacity, had + 1))
        return UINT32_MAX;
    if (number == had)
        sites->sites[number] = (struct site){.function = function, .file = line->file, .line = line->line};
    return number;
}

// A given name without arguments matches the function with any arguments.
static bool is_skipped(struct callsites *sites, tsmith_string name) {
    bool is = false;
    for (size_t i = 0; i < sites->skip_count; i++) {
        const size_t length = strlen(sites->skip[i]);
        const bool same = length && length <= name.length &&
                          memcmp(name.bytes, sites->skip[i], length) == 0 &&
                          (length == name.length || name.bytes[length] == '(');
        sites->skipped[i] |= same;
        is |= same;
    }
    return is;
}

// Whether a function cannot be the place that launches.
static bool is_no_place(struct callsites *sites, const tsmith_dictionary *dictionary,
                        const tsmith_stack_line *line) {
    return is_skipped(sites, tsmith_dictionary_string(dictionary, line->function)) ||
           stack_line_is_beginning(dictionary, line);
}

// Descends from the path of the stack's parent by what its frame is, the outermost function of it first. What is within
// the place that launches is a library's, or the interpreter of a Python function. `hide`: without the interpreter.
static bool add_stack(struct callsites *sites, const tsmith_dictionary *dictionary, uint32_t id, bool hide) {
    tsmith_stack_line lines[INLINED_MAX];
    const tsmith_stack *stack = tsmith_dictionary_stack(dictionary, id);
    size_t count = stacks_frame_lines(sites->names, stack->frame, hide, lines, INLINED_MAX);
    struct way way = sites->ways[2 * (size_t)stack->parent + hide];
    const uint32_t flags = count ? lines[0].flags : 0, mark = flags & TSMITH_FRAME_GUESSED ? IS_GUESSED : 0;
    uint32_t function = 0;
    way.in_python |= stacks_is_python(sites->names, stack->frame);
    const bool is_place = !way.in_python || !stacks_is_interpreter(sites->names, stack->frame);
    way.guessed |= mark != 0;
    if (flags & TSMITH_FRAME_TRUNCATED) {
        way.truncated = true;
        function = truncated_function(sites);
        way.node = function == UINT32_MAX ? function : child_of(sites, way.node, function);
        if (way.node == UINT32_MAX)
            return false;
    }
    for (size_t i = count < INLINED_MAX ? count : INLINED_MAX; i-- > 0;) {
        function = function_of(sites, &lines[i]);
        way.node = function == UINT32_MAX ? function : folded_child(sites, &way, function | mark);
        if (way.node == UINT32_MAX)
            return false;
        way.function = function;
        way.file = lines[i].file;
        way.line = lines[i].line;
        if (!is_place || is_no_place(sites, dictionary, &lines[i]) ||
            (!lines[i].line && (way.has_line || !lines[i].function)))
            continue;
        way.site = site_of(sites, &lines[i], function);
        way.has_line = lines[i].line != 0;
    }
    sites->ways[2 * (size_t)id + hide] = way;
    const struct amount self = sites->by_stack[id];
    // What a hidden function launched counts for its caller.
    if (!self.count || hide != stacks_hide(sites->names, id) || !way.node)
        return true;
    add(&sites->nodes[way.node].self, self);
    add(&sites->functions[way.function].self, self);
    if (way.truncated)
        sites->truncated = sweep_add(sites->truncated, self.time);
    if (way.guessed)
        sites->guessed = sweep_add(sites->guessed, self.time);
    sites->folded += way.folded ? self.count : 0;
    if (way.site == UINT32_MAX)
        sites->unnamed = sweep_add(sites->unnamed, self.time);
    const tsmith_stack_line innermost = {.file = way.file, .line = way.line};
    uint32_t site = way.site == UINT32_MAX ? site_of(sites, &innermost, way.function) : way.site;
    if (site == UINT32_MAX)
        return false;
    add(&sites->sites[site].self, self);
    return true;
}

static bool build(struct callsites *sites, const tsmith_dictionary *dictionary) {
    enum { SHOWING = 1, HIDING = 2 };
    uint8_t *needed = calloc(sites->stack_count + (size_t)1, 1);
    sites->ways = calloc(sites->stack_count + (size_t)1, 2 * sizeof *sites->ways);
    sites->nodes = calloc(1, sizeof *sites->nodes);
    sites->node_capacity = 1;
    bool ok = needed && sites->ways && sites->nodes &&
              tsmith_stack_names_create(dictionary, &sites->names) == TSMITH_OK;
    if (ok)
        tsmith_stack_names_hide_interpreter(sites->names, sites->hide_interpreter);
    if (ok)
        sites->ways[0].site = sites->ways[1].site = UINT32_MAX;
    for (uint32_t id = sites->stack_count; ok && id-- > 1;) { // a parent is before its stacks
        if (sites->by_stack[id].count)
            needed[id] |= stacks_hide(sites->names, id) ? HIDING : SHOWING;
        if (needed[id])
            needed[tsmith_dictionary_stack(dictionary, id)->parent] |= needed[id];
    }
    for (uint32_t id = 1; ok && id < sites->stack_count; id++)
        ok = (!(needed[id] & SHOWING) || add_stack(sites, dictionary, id, false)) &&
             (!(needed[id] & HIDING) || add_stack(sites, dictionary, id, true));
    free(needed);
    return ok;
}

// Without stacks: the ranges around the call of each command, the outermost first.
static bool add_ranges(struct callsites *sites, const struct analysis_context *context,
                       const tsmith_command *command) {
    tsmith_stack_line lines[RANGES_MAX];
    const struct amount one = {command->end - command->start, 1};
    size_t count = 0;
    struct way way = {0};
    uint32_t function = 0;
    for (struct range_walk walk = range_walk_begin(context->ranges, context->timeline, command);
         walk.at && count < RANGES_MAX; range_walk_next(&walk))
        lines[count++] = (tsmith_stack_line){.function = range_key_name(context->ranges, walk.at->key)};
    for (size_t i = count; i-- > 0;) {
        function = function_of(sites, &lines[i]);
        way.node = function == UINT32_MAX ? function : folded_child(sites, &way, function);
        if (way.node == UINT32_MAX)
            return false;
    }
    add(count ? &sites->with : &sites->without, one);
    if (!count)
        return true;
    sites->folded += way.folded;
    add(&sites->nodes[way.node].self, one);
    add(&sites->functions[function].self, one);
    size_t place = 0;
    while (place + 1 < count &&
           is_skipped(sites, tsmith_dictionary_string(context->dictionary, lines[place].function)))
        place++;
    uint32_t site = site_of(sites, &lines[place], function_of(sites, &lines[place]));
    if (site == UINT32_MAX)
        return false;
    add(&sites->sites[site].self, one);
    return true;
}

static bool build_of_ranges(struct callsites *sites, const struct analysis_context *context) {
    bool ok = true;
    sites->by_ranges = true;
    sites->without = (struct amount){0, 0};
    for (size_t i = 0; ok && i < context->timeline->command_count; i++) {
        const tsmith_command *command = &context->timeline->commands[i];
        ok = !is_counted(context, command) || add_ranges(sites, context, command);
    }
    for (size_t i = 0; i < sites->summed.count; i++) // which ranges were around them is not known
        add(&sites->without, (struct amount){sites->summed.items[i].time, sites->summed.items[i].count});
    return ok;
}

// ---- totals

struct order {
    int64_t time;
    uint32_t parent, node;
};

static int by_parent(const void *left, const void *right) {
    const struct order *a = left, *b = right;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

// The cost of a path with its callees, and the order in which its branches are printed. Paths that are empty after
// folding have no commands and are skipped.
static bool link_nodes(struct callsites *sites) {
    size_t count = sites->node_numbers.count + 1;
    struct order *order = malloc(count * sizeof *order);
    if (!order)
        return false;
    for (size_t i = count; i-- > 0;) { // a child is behind its parent
        struct node *node = &sites->nodes[i];
        add(&node->total, node->self);
        if (i)
            add(&sites->nodes[node->parent].total, node->total);
        order[i] = (struct order){node->total.time, node->parent, (uint32_t)i};
    }
    qsort(order + 1, count - 1, sizeof *order, by_parent);
    for (size_t i = count; i-- > 1;) {
        struct node *parent = &sites->nodes[order[i].parent];
        if (!sites->nodes[order[i].node].total.count)
            continue;
        sites->nodes[order[i].node].next = parent->first_child;
        parent->first_child = order[i].node;
    }
    free(order);
    return true;
}

// The minimum time of a path that is printed, so that there are not too many.
static int64_t least_shown(const struct callsites *sites) {
    size_t count = sites->node_numbers.count + 1, shown = count;
    int64_t least = 0;
    while (shown > ROWS_MAX) {
        least = least ? least * 2 : sites->with.time / 1000000 + 1;
        shown = 0;
        for (size_t i = 1; i < count; i++)
            shown += sites->nodes[i].total.time >= least;
    }
    return least;
}

// ---- the report

static size_t name_function(const struct callsites *sites, const struct analysis_context *context,
                            uint32_t function, char name[NAME_SIZE]) {
    const struct function *of = &sites->functions[function];
    size_t length = of->is_truncated
                        ? (size_t)snprintf(name, NAME_SIZE, "%s", FOLD_TRUNCATED)
                        : tsmith_stack_line_text(context->dictionary, &of->line, name, NAME_SIZE);
    if (length >= NAME_SIZE)
        name[NAME_SIZE - 2] = '~'; // the name is cut
    return length < NAME_SIZE ? length : NAME_SIZE - 1;
}

// The name of a function on a path, with its mark.
static size_t name_node(const struct callsites *sites, const struct analysis_context *context,
                        const struct node *node, char name[NAME_SIZE + sizeof FOLD_GUESSED]) {
    size_t length = name_function(sites, context, node->function, name);
    if (!node->is_guessed)
        return length;
    memcpy(name + length, FOLD_GUESSED, sizeof FOLD_GUESSED);
    return length + sizeof FOLD_GUESSED - 1;
}

static void write_function(const struct callsites *sites, const struct analysis_context *context,
                           struct report *report, struct report_table *table, uint32_t function) {
    char name[NAME_SIZE];
    report_text(report, table, (tsmith_string){name, name_function(sites, context, function, name)});
}

static void write_amounts(const struct callsites *sites, struct report *report, struct report_table *table,
                          struct amount self, struct amount total) {
    report_integer(report, table, total.time);
    report_share(report, table, total.time, sweep_add(sites->with.time, sites->without.time));
    report_integer(report, table, self.time);
    report_integer(report, table, (int64_t)self.count);
}

static void enter(struct callsites *sites, uint32_t at) {
    const struct node *node = &sites->nodes[at];
    struct function *function = &sites->functions[node->function];
    if (function->open++ == 0) // one that calls itself has what the outermost call has
        add(&function->total, node->total);
}

// Whether a path has no row of its own because all its time is in one branch: it shares the row of that branch.
static bool is_passed(const struct callsites *sites, const struct node *node) {
    return !node->self.count && node->first_child && !sites->nodes[node->first_child].next;
}

// From the end of a path to the next one; 0: that was the last.
static uint32_t leave(struct callsites *sites, uint32_t at, size_t *depth) {
    for (; at; at = sites->nodes[at].parent) {
        const struct node *node = &sites->nodes[at];
        sites->functions[node->function].open--;
        if (node->next)
            return node->next;
        *depth -= node->parent && !is_passed(sites, &sites->nodes[node->parent]);
    }
    return 0;
}

// The functions of a row so far. One that is too long lacks some in the middle.
struct run {
    char text[INDENT_MAX + RUN_SIZE + NAME_SIZE + sizeof FOLD_GUESSED];
    size_t length;
};

static void add_passed(struct run *run, const struct callsites *sites, const struct analysis_context *context,
                       const struct node *node) {
    static const char JOIN[] = " > ", MORE[] = "... > ";
    size_t length = name_node(sites, context, node, run->text + run->length);
    if (run->length + length + sizeof JOIN + sizeof MORE <= INDENT_MAX + RUN_SIZE) {
        memcpy(run->text + run->length + length, JOIN, sizeof JOIN - 1);
        run->length += length + sizeof JOIN - 1;
    } else if (run->length < sizeof MORE ||
               memcmp(run->text + run->length - (sizeof MORE - 1), MORE, sizeof MORE - 1) != 0) {
        memcpy(run->text + run->length, MORE, sizeof MORE - 1);
        run->length += sizeof MORE - 1;
    }
}

static void begin_run(struct run *run, size_t depth) {
    run->length = 2 * depth < INDENT_MAX ? 2 * depth : INDENT_MAX;
    memset(run->text, ' ', run->length);
}

// The tree, outermost functions first; on the way, what each function has in all.
static void write_paths(struct callsites *sites, const struct analysis_context *context,
                        struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"function", TSMITH_CELL_TEXT}, {"depth", TSMITH_CELL_COUNT},   {"total", TSMITH_CELL_DURATION},
        {"share", TSMITH_CELL_SHARE},   {"self", TSMITH_CELL_DURATION}, {"commands", TSMITH_CELL_COUNT}};
    struct report_table *table = REPORT_TABLE(
        report, "paths",
        "call paths as a tree, outermost function first, names indented by their depth; a > b: a calls "
        "only b and launches nothing itself; self and commands are what the last function of a row itself "
        "launched",
        COLUMNS);
    int64_t least = least_shown(sites);
    size_t depth = 0, left_out = 0;
    struct run run;
    begin_run(&run, 0);
    for (uint32_t at = sites->nodes[0].first_child; at;) {
        const struct node *node = &sites->nodes[at];
        enter(sites, at);
        if (is_passed(sites, node)) {
            add_passed(&run, sites, context, node);
            at = node->first_child;
            continue;
        }
        if (node->total.time >= least) {
            run.length += name_node(sites, context, node, run.text + run.length);
            report_text(report, table, (tsmith_string){run.text, run.length});
            report_integer(report, table, (int64_t)depth);
            write_amounts(sites, report, table, node->self, node->total);
        } else {
            left_out++;
        }
        if (node->first_child)
            depth++;
        at = node->first_child ? node->first_child : leave(sites, at, &depth);
        begin_run(&run, depth);
    }
    if (left_out)
        report_note(report, "The tree leaves out call paths with less than %lld ns each: %zu.",
                    (long long)least, left_out);
}

static int functions_by_total(const void *left, const void *right) {
    const struct function *a = left, *b = right;
    if (a->total.time != b->total.time)
        return a->total.time > b->total.time ? -1 : 1;
    if (a->self.time != b->self.time)
        return a->self.time > b->self.time ? -1 : 1;
    if (a->line.frame != b->line.frame)
        return a->line.frame < b->line.frame ? -1 : 1;
    return (a->line.function > b->line.function) - (a->line.function < b->line.function);
}

static int sites_by_time(const void *left, const void *right) {
    const struct site *a = left, *b = right;
    if (a->self.time != b->self.time)
        return a->self.time > b->self.time ? -1 : 1;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return a->line != b->line ? a->line < b->line ? -1 : 1 : (a->file > b->file) - (a->file < b->file);
}

static void write_sites(struct callsites *sites, const struct analysis_context *context,
                        struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"function", TSMITH_CELL_TEXT},  {"file", TSMITH_CELL_TEXT},   {"line", TSMITH_CELL_COUNT},
        {"total", TSMITH_CELL_DURATION}, {"share", TSMITH_CELL_SHARE}, {"commands", TSMITH_CELL_COUNT}};
    struct report_table *table =
        REPORT_TABLE(report, "sites",
                     "the places that launch work: the innermost function whose line is known, or else "
                     "that has a name, or else the innermost",
                     COLUMNS);
    if (sites->site_numbers.count)
        qsort(sites->sites, sites->site_numbers.count, sizeof *sites->sites, sites_by_time);
    for (size_t i = 0; i < sites->site_numbers.count; i++) {
        const struct site *site = &sites->sites[i];
        if (!site->self.count)
            continue; // it is on paths only
        write_function(sites, context, report, table, site->function);
        report_text(report, table, tsmith_dictionary_string(context->dictionary, site->file));
        if (site->line)
            report_integer(report, table, site->line);
        else
            report_unknown(report, table);
        report_integer(report, table, site->self.time);
        report_share(report, table, site->self.time, sweep_add(sites->with.time, sites->without.time));
        report_integer(report, table, (int64_t)site->self.count);
    }
}

static void write_functions(struct callsites *sites, const struct analysis_context *context,
                            struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"function", TSMITH_CELL_TEXT},
                                                   {"total", TSMITH_CELL_DURATION},
                                                   {"share", TSMITH_CELL_SHARE},
                                                   {"self", TSMITH_CELL_DURATION},
                                                   {"commands", TSMITH_CELL_COUNT}};
    struct report_table *table = REPORT_TABLE(
        report, "functions",
        "the commands that each function launched, itself (self, commands) or through its callees", COLUMNS);
    size_t count = sites->function_numbers.count;
    if (count)
        qsort(sites->functions, count, sizeof *sites->functions, functions_by_total);
    for (uint32_t i = 0; i < count; i++) {
        write_function(sites, context, report, table, i);
        write_amounts(sites, report, table, sites->functions[i].self, sites->functions[i].total);
    }
}

// What marks in the tree and folding mean for the numbers.
static void write_marks(const struct callsites *sites, int64_t all, struct report *report) {
    if (sites->truncated)
        report_note(
            report,
            "%.1f%% of the time was launched from stacks that were cut: " FOLD_TRUNCATED
            " stands for unknown callers, and functions may have launched more than these tables say.",
            report_percent(sites->truncated, all));
    if (sites->guessed)
        report_note(
            report,
            "%.1f%% of the time was launched by paths with frames that were found by a frame pointer: "
            "callers may be missing between a function marked" FOLD_GUESSED " and what it called.",
            report_percent(sites->guessed, all));
    if (sites->folded)
        report_note(
            report,
            "Recursion is folded for %llu command%s: a function that calls itself is shown once in its path.",
            (unsigned long long)sites->folded, report_plural(sites->folded));
}

static void write_finding(const struct callsites *sites, const struct analysis_context *context,
                          struct report *report) {
    enum { SHOWN = 200 };
    int64_t all = sweep_add(sites->with.time, sites->without.time);
    char time[REPORT_TEXT], name[SHOWN];
    if (!sites->with.count) {
        if (sites->without.count)
            report_finding(
                report, "No command of the %s has a call stack: `tracesmith profile --stacks` records them.",
                context->scope);
        else
            report_finding(report, "No command of a device takes time in the %s.", context->scope);
        return;
    }
    const struct site *top = &sites->sites[0];
    tsmith_string file = tsmith_dictionary_string(context->dictionary, top->file);
    (void)tsmith_stack_line_text(context->dictionary, &sites->functions[top->function].line, name,
                                 sizeof name);
    const tsmith_string function = analysis_text(name);
    char line[16] = "";
    if (top->line)
        (void)snprintf(line, sizeof line, ":%u", top->line);
    report_finding(report, "%.*s%s%s%.*s%s%s launches most: %s, %.1f%% of the time of all commands.",
                   ANALYSIS_SHOWN(function), file.length ? " at " : "", ANALYSIS_SHOWN(file), line,
                   report_duration(time, top->self.time), report_percent(top->self.time, all));
    if (sites->without.count)
        report_note(report, "%llu of %llu %s, %.1f%% of the time, %s no %s.",
                    (unsigned long long)sites->without.count,
                    (unsigned long long)(sites->with.count + sites->without.count),
                    plural(sites->with.count + sites->without.count, "command", "commands"),
                    report_percent(sites->without.time, all), plural(sites->without.count, "has", "have"),
                    sites->by_ranges ? "range around their call" : "call stack");
    if (sites->unnamed)
        report_note(report,
                    "%.1f%% of the time was launched by paths on which only the start of a program or "
                    "thread, or nothing, has a name.",
                    report_percent(sites->unnamed, all));
    write_marks(sites, all, report);
    for (size_t i = 0; i < sites->skip_count; i++)
        if (!sites->skipped[i])
            report_note(report, "No function \"%.*s\" is on these paths: it was not skipped.",
                        (int)strnlen(sites->skip[i], SHOWN), sites->skip[i]);
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    struct callsites *sites = state;
    sites->skip = context->skip;
    sites->skip_count = context->skip_count;
    sites->hide_interpreter = context->hide_interpreter;
    sites->skipped = calloc(sites->skip_count + 1, sizeof *sites->skipped);
    bool ok = sites->skipped && add_commands(sites, context) && build(sites, context->dictionary);
    if (ok && !sites->with.count)
        ok = build_of_ranges(sites, context);
    if (!ok || !link_nodes(sites))
        return TSMITH_ERROR_NO_MEMORY;
    write_paths(sites, context, report);
    write_sites(sites, context, report);
    write_finding(sites, context, report);
    write_functions(sites, context, report); // last: it puts them in another order
    return TSMITH_OK;
}

static void release(void *state) {
    struct callsites *sites = state;
    tsmith_stack_names_destroy(sites->names);
    tally_finish(&sites->function_numbers);
    tally_finish(&sites->node_numbers);
    tally_finish(&sites->file_numbers);
    tally_finish(&sites->site_numbers);
    free(sites->seen);
    free(sites->summed.items);
    free(sites->by_stack);
    free(sites->skipped);
    free(sites->ways);
    free(sites->functions);
    free(sites->nodes);
    free(sites->sites);
}

const struct analysis_kind analysis_callsites = {
    .name = "callsites",
    .question = "Which code of the program launches the work?",
    .needs = NEEDS_TIMELINE,
    .ranges = true,
    .state_size = sizeof(struct callsites),
    .write = write_batch,
    .finish = finish,
    .release = release,
    .reads_sums = true,
};
