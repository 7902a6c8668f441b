// SPDX-License-Identifier: Apache-2.0
// What if: each change works on the links and own times of a simulation.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "simulate/simulate.h"

struct change {
    tsmith_simulation *simulation;
    const tsmith_change *asked;
    uint8_t *matched; // by string and pattern of FUSE, else by string: 0 not looked at, 1 no, 2 yes
    size_t strings;
    uint64_t affected;
};

// ---- names

int tsmith_name_matches(const char *pattern, const char *name) {
    const char *star = NULL, *again = name;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            again = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++again;
        } else {
            return 0;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static bool matches_pattern(struct change *change, size_t pattern, uint32_t name) {
    uint8_t fresh = 0;
    uint8_t *known = name < change->strings ? &change->matched[pattern * change->strings + name] : &fresh;
    if (!*known) {
        tsmith_string text = tsmith_dictionary_string(change->simulation->dictionary, name);
        *known = tsmith_name_matches(change->asked->names[pattern], text.bytes) ? 2 : 1;
    }
    return *known == 2;
}

static bool is_asked(struct change *change, uint32_t name) {
    for (size_t i = 0; i < change->asked->name_count; i++)
        if (matches_pattern(change, i, name))
            return true;
    return !change->asked->name_count;
}

// ---- scaling

static int64_t scaled(int64_t time, double factor) {
    const double result = (double)time * factor;
    return result < (double)(INT64_MAX / 4) ? llround(result) : INT64_MAX / 4;
}

static bool is_scaled_command(struct change *change, uint32_t node) {
    const tsmith_command *command = sim_command(change->simulation, node);
    const bool wanted =
        change->asked->kind == TSMITH_CHANGE_SCALE_KERNEL
            ? command->work == TSMITH_WORK_COMPUTE || command->work == TSMITH_WORK_COMMUNICATION
            : command->work == TSMITH_WORK_COPY;
    return wanted && is_asked(change, command->name);
}

static bool scale_commands(struct change *change) {
    tsmith_simulation *simulation = change->simulation;
    const double factor = change->asked->factor;
    uint8_t *is_scaled = calloc((size_t)simulation->command_count + 1, 1);
    if (!is_scaled)
        return false;
    for (uint32_t node = 0; node < simulation->command_count; node++) {
        if (!is_scaled_command(change, node))
            continue;
        simulation->own[node] = scaled(simulation->own[node], factor);
        is_scaled[node] = 1;
        simulation->untimed += sim_command(simulation, node)->untimed != 0;
        change->affected++;
    }
    for (size_t i = 0; i < simulation->link_count; i++) {
        struct sim_link *link = &simulation->links[i];
        if (link->kind == TSMITH_EDGE_COLLECTIVE && is_scaled_command(change, link->to / 2))
            link->lag = scaled(link->lag, factor);
    }
    const bool done = sim_doubt_scaled(simulation, is_scaled, factor);
    free(is_scaled);
    return done;
}

// A call's own time is between its start and its end; when it makes other calls, before, between and after them.
static void scale_calls(struct change *change) {
    tsmith_simulation *simulation = change->simulation;
    const double factor = change->asked->factor;
    for (uint32_t node = simulation->command_count; node < simulation->node_count; node++) {
        if (!is_asked(change, sim_call(simulation, node)->name))
            continue;
        simulation->own[node] = scaled(simulation->own[node], factor);
        change->affected++;
    }
    for (size_t i = 0; i < simulation->link_count; i++) {
        struct sim_link *link = &simulation->links[i];
        const uint32_t node = link->kind == TSMITH_EDGE_CALLED     ? link->from / 2
                              : link->kind == TSMITH_EDGE_RETURNED ? link->to / 2
                                                                   : SIM_NONE;
        if (node != SIM_NONE && is_asked(change, sim_call(simulation, node)->name))
            link->lag = scaled(link->lag, factor);
    }
}

// What the host does before the calls asked for.
static void scale_host(struct change *change) {
    tsmith_simulation *simulation = change->simulation;
    for (size_t i = 0; i < simulation->link_count; i++) {
        struct sim_link *link = &simulation->links[i];
        if (link->kind != TSMITH_EDGE_PROGRAM_ORDER ||
            !is_asked(change, sim_call(simulation, link->to / 2)->name))
            continue;
        link->lag = scaled(link->lag, change->asked->factor);
        change->affected++;
    }
}

// ---- waits

static bool is_sync(const tsmith_call *call) {
    return call->role == TSMITH_CALL_SYNC_QUEUE || call->role == TSMITH_CALL_SYNC_DEVICE ||
           call->role == TSMITH_CALL_SYNC_EVENT;
}

static void drop_sync(struct change *change) {
    tsmith_simulation *simulation = change->simulation;
    uint32_t last = SIM_NONE;
    for (size_t i = 0; i < simulation->link_count; i++) {
        struct sim_link *link = &simulation->links[i];
        if (!graph_is_wait(link->kind) || link->dead)
            continue;
        const tsmith_call *call = sim_call(simulation, link->to / 2);
        if (!is_sync(call) || !is_asked(change, call->name))
            continue;
        link->dead = 1;
        change->affected += link->to != last; // the links of a call are adjacent
        last = link->to;
    }
}

// ---- chains

// Which commands follow the one before them in a chain, and which launches go with them: what FUSE and GRAPH do to links
// is the same, but for the gap.
struct chains {
    bool *follows;    // by command: its gap is `gap`
    bool *unlaunched; // by command: its own launch does not hold it up
    int64_t gap;
};

static bool chains_make(struct chains *chains, const tsmith_simulation *simulation) {
    chains->follows = calloc((size_t)simulation->command_count + 1, sizeof *chains->follows);
    chains->unlaunched = calloc((size_t)simulation->command_count + 1, sizeof *chains->unlaunched);
    return chains->follows && chains->unlaunched;
}

static void chains_apply(struct chains *chains, tsmith_simulation *simulation) {
    for (size_t i = 0; i < simulation->link_count; i++) {
        struct sim_link *link = &simulation->links[i];
        const uint32_t node = link->to / 2;
        if (link->to & 1 || !sim_is_command(simulation, node))
            continue;
        if (link->kind == TSMITH_EDGE_LAUNCH && chains->unlaunched[node])
            link->dead = 1;
        const bool in_queue = link->kind == TSMITH_EDGE_STREAM_ORDER || link->kind == TSMITH_EDGE_GRAPH_NODE;
        if (in_queue && chains->follows[node] && link->lag > chains->gap)
            link->lag = chains->gap;
    }
}

static void chains_finish(struct chains *chains) {
    free(chains->follows);
    free(chains->unlaunched);
}

// Whether the commands from `node` on are the chain asked for.
static bool is_chain(struct change *change, const tsmith_row *row, uint32_t node) {
    const uint32_t end = row->first_command + row->command_count;
    if (end - node < change->asked->name_count)
        return false;
    for (size_t i = 0; i < change->asked->name_count; i++) {
        const tsmith_command *command = sim_command(change->simulation, node + (uint32_t)i);
        if (command->work != TSMITH_WORK_COMPUTE || !matches_pattern(change, i, command->name))
            return false;
    }
    return true;
}

static tsmith_status fuse_commands(struct change *change) {
    tsmith_simulation *simulation = change->simulation;
    struct chains chains = {.gap = 0};
    const bool done = chains_make(&chains, simulation);
    for (size_t r = 0; r < simulation->timeline->row_count && done; r++) {
        const tsmith_row *row = &simulation->timeline->rows[r];
        for (uint32_t i = 0; row->in_order && i < row->command_count; i++) {
            const uint32_t node = row->first_command + i;
            if (!is_chain(change, row, node))
                continue;
            for (uint32_t k = 1; k < change->asked->name_count; k++) {
                const uint32_t call = sim_command(simulation, node + k)->call;
                chains.follows[node + k] = chains.unlaunched[node + k] = true;
                if (call != TSMITH_INDEX_NONE && simulation->timeline->calls[call].command_count == 1)
                    simulation->own[simulation->command_count + call] = 0;
            }
            change->affected++;
            i += (uint32_t)change->asked->name_count - 1;
        }
    }
    if (done)
        chains_apply(&chains, simulation);
    chains_finish(&chains);
    return done ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

// The shortest gap within a queue that the model knows.
static int64_t shortest_gap(const tsmith_simulation *simulation) {
    int64_t shortest = INT64_MAX;
    for (size_t i = 0; i < simulation->model.link_count; i++) {
        const struct sim_link *link = &simulation->model.links[i];
        if ((link->kind == TSMITH_EDGE_STREAM_ORDER || link->kind == TSMITH_EDGE_GRAPH_NODE) &&
            link->lag < shortest)
            shortest = link->lag;
    }
    return shortest;
}

// By call: whether it is captured, and whether it, or the host's work before it, is removed because the graph replaces it.
struct captured {
    bool *in, *follows;
    bool *waits; // for something, still
};

// The calls from one captured launch to the next of its thread: the calls between are removed too.
static void find_captured(struct change *change, const struct captured *captured) {
    const tsmith_simulation *simulation = change->simulation;
    const tsmith_timeline *timeline = simulation->timeline;
    for (uint32_t i = 0; i < simulation->command_count; i++) {
        const tsmith_command *command = sim_command(simulation, i);
        if (command->call != TSMITH_INDEX_NONE && is_asked(change, command->name))
            captured->in[command->call] = timeline->calls[command->call].role == TSMITH_CALL_LAUNCH &&
                                          !timeline->calls[command->call].blocking;
    }
    for (size_t i = 0; i < simulation->link_count; i++) {
        const struct sim_link *link = &simulation->links[i];
        if (graph_is_wait(link->kind) && !link->dead)
            captured->waits[link->to / 2 - simulation->command_count] = true;
    }
    uint32_t last = SIM_NONE; // captured launch of this thread without a wait since
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        if ((i && call->thread != timeline->calls[i - 1].thread) || captured->waits[i] ||
            (call->role == TSMITH_CALL_LAUNCH && !captured->in[i]))
            last = SIM_NONE;
        if (!captured->in[i])
            continue;
        for (uint32_t k = last == SIM_NONE ? i + 1 : last + 1; k <= i; k++)
            captured->follows[k] = true;
        last = i;
        change->affected++;
    }
}

static void capture_graphs(struct change *change, const struct captured *captured, struct chains *chains) {
    tsmith_simulation *simulation = change->simulation;
    const tsmith_timeline *timeline = simulation->timeline;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        if (captured->in[i] || captured->follows[i])
            simulation->own[simulation->command_count + i] =
                captured->in[i] ? scaled(change->asked->time, timeline->calls[i].command_count) : 0;
    }
    for (uint32_t i = 0; i < simulation->command_count; i++) {
        const uint32_t call = sim_command(simulation, i)->call;
        if (call != TSMITH_INDEX_NONE && captured->follows[call])
            chains->follows[i] = true;
    }
    chains_apply(chains, simulation);
    for (size_t i = 0; i < simulation->link_count; i++) { // the host does nothing between them
        struct sim_link *link = &simulation->links[i];
        if (link->kind == TSMITH_EDGE_PROGRAM_ORDER &&
            captured->follows[link->to / 2 - simulation->command_count])
            link->lag = 0;
    }
}

static tsmith_status make_graphs(struct change *change) {
    tsmith_simulation *simulation = change->simulation;
    const size_t calls = simulation->timeline->call_count + 1;
    struct captured captured = {calloc(calls, sizeof(bool)), calloc(calls, sizeof(bool)),
                                calloc(calls, sizeof(bool))};
    struct chains chains = {.gap = shortest_gap(simulation)};
    const bool done = chains_make(&chains, simulation) && captured.in && captured.follows && captured.waits;
    if (done) {
        find_captured(change, &captured);
        capture_graphs(change, &captured, &chains);
    }
    chains_finish(&chains);
    free(captured.in);
    free(captured.follows);
    free(captured.waits);
    return done ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

// ---- communication that overlaps computation

// By command: the last of its row before it that communicates, and the last that does not; SIM_NONE when there is none.
struct neighbors {
    uint32_t *communication, *other;
};

static void find_neighbors(struct change *change, const struct neighbors *neighbors) {
    const tsmith_simulation *simulation = change->simulation;
    for (size_t r = 0; r < simulation->timeline->row_count; r++) {
        const tsmith_row *row = &simulation->timeline->rows[r];
        uint32_t communication = SIM_NONE, other = SIM_NONE;
        for (uint32_t i = row->first_command; i < row->first_command + row->command_count; i++) {
            const tsmith_command *command = sim_command(simulation, i);
            const bool moves = row->in_order && command->work == TSMITH_WORK_COMMUNICATION &&
                               is_asked(change, command->name);
            neighbors->other[i] = other;
            neighbors->communication[i] = moves ? i : communication;
            if (moves)
                communication = i;
            else
                other = i;
            change->affected += moves;
        }
    }
}

static bool is_communication(const struct neighbors *neighbors, uint32_t node) {
    return neighbors->communication[node] == node;
}

bool sim_add_link(tsmith_simulation *simulation, struct sim_link link) {
    if (!ARRAY_RESERVE(simulation->links, simulation->link_capacity, simulation->link_count + 1))
        return false;
    simulation->links[simulation->link_count++] = link;
    return true;
}

static bool move_links(tsmith_simulation *simulation, const struct neighbors *neighbors) {
    const size_t count = simulation->link_count;
    for (size_t i = 0; i < count; i++) {
        struct sim_link *link = &simulation->links[i];
        const uint32_t from = link->from / 2, to = link->to / 2;
        if (link->dead || !sim_is_command(simulation, from))
            continue;
        if (graph_is_wait(link->kind)) {
            const uint32_t communication = neighbors->communication[from];
            struct sim_link too = *link;
            too.from = 2 * communication + 1;
            if (communication != SIM_NONE && communication != from && !sim_add_link(simulation, too))
                return false;
        } else if (link->kind == TSMITH_EDGE_STREAM_ORDER && is_communication(neighbors, from) &&
                   !is_communication(neighbors, to)) {
            // Behind what came before the communication, which is where the host put it.
            if (neighbors->other[from] == SIM_NONE)
                link->dead = 1;
            else
                link->from = 2 * neighbors->other[from] + 1;
        }
    }
    return true;
}

static tsmith_status overlap_communication(struct change *change) {
    tsmith_simulation *simulation = change->simulation;
    const size_t bytes = ((size_t)simulation->command_count + 1) * sizeof(uint32_t);
    const struct neighbors neighbors = {malloc(bytes), malloc(bytes)};
    bool done = neighbors.communication && neighbors.other;
    if (done) {
        find_neighbors(change, &neighbors);
        done = move_links(simulation, &neighbors);
    }
    free(neighbors.communication);
    free(neighbors.other);
    return done ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

// ---- all of them

void sim_links_reset(tsmith_simulation *simulation) {
    if (simulation->changed) {
        free(simulation->links);
        free(simulation->own);
    }
    free(simulation->resource_of);
    free(simulation->share);
    simulation->resource_of = NULL;
    simulation->share = NULL;
    simulation->changed = simulation->shares_more = false;
    simulation->doubt_count = 0;
    simulation->unknown_launches = simulation->untimed = 0;
    simulation->links = simulation->model.links;
    simulation->own = simulation->model.own;
    simulation->link_count = simulation->model.link_count;
    simulation->link_capacity = 0;
}

bool sim_links_copy(tsmith_simulation *simulation) {
    const struct sim_model *model = &simulation->model;
    const size_t own_bytes = simulation->node_count * sizeof *model->own;
    struct sim_link *links = NULL; // until here those of the model
    if (simulation->changed)
        return true;
    int64_t *own = malloc(own_bytes + 1);
    if (!own || !ARRAY_RESERVE(links, simulation->link_capacity, model->link_count + 1)) {
        free(own);
        return false;
    }
    simulation->links = links;
    simulation->own = own;
    if (model->link_count)
        memcpy(simulation->links, model->links, model->link_count * sizeof *model->links);
    memcpy(simulation->own, model->own, own_bytes);
    simulation->changed = true;
    return true;
}

tsmith_status sim_change(tsmith_simulation *simulation, const tsmith_change *asked, uint64_t *affected) {
    struct change change = {.simulation = simulation, .asked = asked};
    tsmith_status status = TSMITH_OK;
    change.strings = tsmith_dictionary_string_count(simulation->dictionary) + 1;
    if (!sim_links_copy(simulation) || !(change.matched = calloc(change.strings, asked->name_count + 1)))
        return TSMITH_ERROR_NO_MEMORY;
    switch (asked->kind) {
    case TSMITH_CHANGE_SCALE_KERNEL:
    case TSMITH_CHANGE_SCALE_COPY:
        status = scale_commands(&change) ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
        break;
    case TSMITH_CHANGE_SCALE_CALL:
        scale_calls(&change);
        break;
    case TSMITH_CHANGE_SCALE_HOST:
        scale_host(&change);
        break;
    case TSMITH_CHANGE_DROP_SYNC:
        drop_sync(&change);
        status = sim_regimes(simulation, change.strings) ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
        break;
    case TSMITH_CHANGE_FUSE:
        status = fuse_commands(&change);
        break;
    case TSMITH_CHANGE_GRAPH:
        status = make_graphs(&change);
        break;
    case TSMITH_CHANGE_OVERLAP_COMMUNICATION:
        status = overlap_communication(&change);
        simulation->shares_more = true;
        break;
    case TSMITH_CHANGE_STREAMS:
        status = sim_streams(simulation, asked, &change.affected);
        simulation->shares_more = true;
        break;
    case TSMITH_CHANGE_LIMIT:
        status = TSMITH_ERROR_INVALID_ARGUMENT;
        break;
    }
    free(change.matched);
    *affected = change.affected;
    return status;
}
