// SPDX-License-Identifier: Apache-2.0
// What if the commands of queues in order were spread over N queues, each waiting for what it really needs?
//
// The queues' own order goes; in its place come the needs of the recording and the order of the new queues. In the order in
// which they started, each command goes to the queue where it could start first, by the recorded durations; among
// those, to that of a command it needs. What waited for a whole queue waits for all of them, as far as they had been filled
// by then. What the recording does not have stands between all before it and all after it.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "simulate/simulate.h"

struct stream {
    uint32_t *commands; // in the order of their starts
    size_t count, capacity;
    int64_t free; // by the recorded durations
};

struct spread {
    tsmith_simulation *simulation;
    const tsmith_change *asked;
    struct stream *streams;
    uint32_t *order; // commands that move, in the order of their launch
    size_t count;
    uint32_t *place;   // by command: in `order`; SIM_NONE: it stays
    uint32_t *stream;  // by command
    int64_t *finished; // by command, by the recorded durations
    int64_t lag;       // within a queue, as the model has it
};

static int64_t launched_at(const tsmith_simulation *simulation, uint32_t node) {
    const tsmith_command *command = sim_command(simulation, node);
    return command->call == TSMITH_INDEX_NONE ? command->start
                                              : simulation->timeline->calls[command->call].start;
}

static bool is_movable(const tsmith_simulation *simulation, uint32_t node) {
    return simulation->timeline->rows[sim_command(simulation, node)->row].in_order;
}

// The order of their starts: nothing in the trace that came before another then waits for it now.
static bool find_order(struct spread *spread) {
    const tsmith_simulation *simulation = spread->simulation;
    uint32_t *by_start = malloc(((size_t)simulation->command_count + 1) * sizeof *by_start);
    if (!by_start)
        return false;
    for (uint32_t i = 0; i < simulation->command_count; i++)
        by_start[simulation->model.order[i]] = i;
    for (uint32_t i = 0; i < simulation->command_count; i++) {
        const uint32_t node = by_start[i];
        spread->place[node] = is_movable(simulation, node) ? (uint32_t)spread->count : SIM_NONE;
        if (spread->place[node] != SIM_NONE)
            spread->order[spread->count++] = node;
    }
    free(by_start);
    return true;
}

static int by_value(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

// The median time between two commands of a queue.
static bool find_lag(struct spread *spread) {
    const tsmith_simulation *simulation = spread->simulation;
    size_t count = 0;
    int64_t *lags = malloc((simulation->link_count + 1) * sizeof *lags);
    for (size_t i = 0; lags && i < simulation->link_count; i++)
        if (simulation->links[i].kind == TSMITH_EDGE_STREAM_ORDER)
            lags[count++] = simulation->links[i].lag;
    if (count) {
        qsort(lags, count, sizeof *lags, by_value);
        spread->lag = lags[count / 2];
    }
    free(lags);
    return lags;
}

// ---- where each goes

static bool is_recorded(const struct spread *spread, uint32_t node) {
    return spread->asked->shares[node] >= 0;
}

// The needs of a command: they are sorted by it.
static const tsmith_need *find_needs(const tsmith_change *asked, uint32_t node, size_t *count) {
    const size_t at = SORTED_FIND(i, 0, asked->need_count, asked->needs[i].command < node);
    *count = 0;
    while (at + *count < asked->need_count && asked->needs[at + *count].command == node)
        ++*count;
    return &asked->needs[at];
}

static bool add_command(struct spread *spread, uint32_t node, uint32_t number, int64_t ready) {
    struct stream *stream = &spread->streams[number];
    if (!ARRAY_RESERVE(stream->commands, stream->capacity, stream->count + 1))
        return false;
    stream->commands[stream->count++] = node;
    spread->stream[node] = number;
    const int64_t start = ready > stream->free ? ready : stream->free;
    spread->finished[node] = sim_add(start, spread->simulation->own[node]);
    stream->free = sim_add(spread->finished[node], spread->lag);
    return true;
}

static bool link_after(struct spread *spread, uint32_t from, uint32_t to, uint32_t kind) {
    return sim_add_link(spread->simulation,
                        (struct sim_link){2 * from + 1, 2 * to, spread->lag, kind, 0, 0, 0, 0});
}

// After the last of each queue.
static bool link_after_streams(struct spread *spread, uint32_t node) {
    bool done = true;
    for (uint32_t i = 0; i < spread->asked->streams && done; i++) {
        const struct stream *stream = &spread->streams[i];
        if (stream->count && stream->commands[stream->count - 1] != node)
            done = link_after(spread, stream->commands[stream->count - 1], node, TSMITH_EDGE_BARRIER);
    }
    return done;
}

static bool is_placed(const struct spread *spread, uint32_t node, size_t index) {
    return node < spread->simulation->command_count && spread->place[node] < index;
}

// For all needs: the time they are over, and the queue of the last of them that ends a queue; SIM_NONE: none does.
static int64_t ready_at(const struct spread *spread, size_t index, const tsmith_need *needs, size_t count,
                        uint32_t *behind) {
    int64_t ready = INT64_MIN;
    *behind = SIM_NONE;
    for (size_t i = 0; i < count; i++) {
        if (!is_placed(spread, needs[i].needs, index))
            continue;
        const int64_t finished = spread->finished[needs[i].needs];
        const struct stream *stream = &spread->streams[spread->stream[needs[i].needs]];
        if (stream->commands[stream->count - 1] == needs[i].needs && finished >= ready)
            *behind = spread->stream[needs[i].needs];
        ready = finished > ready ? finished : ready;
    }
    return ready;
}

static bool spread_command(struct spread *spread, size_t index, uint32_t fence) {
    const uint32_t node = spread->order[index];
    size_t count;
    const tsmith_need *needs = find_needs(spread->asked, node, &count);
    uint32_t best = 0, behind;
    const int64_t launched = launched_at(spread->simulation, node);
    int64_t ready = ready_at(spread, index, needs, count, &behind);
    ready = ready > launched ? ready : launched;
    for (uint32_t i = 1; i < spread->asked->streams; i++) {
        const int64_t mine = spread->streams[i].free, least = spread->streams[best].free;
        if ((mine > ready ? mine : ready) < (least > ready ? least : ready))
            best = i;
    }
    if (behind != SIM_NONE && spread->streams[behind].free <= sim_add(ready, spread->lag))
        best = behind;
    const struct stream *stream = &spread->streams[best];
    bool done = !stream->count ||
                link_after(spread, stream->commands[stream->count - 1], node, TSMITH_EDGE_STREAM_ORDER);
    for (size_t i = 0; i < count && done; i++)
        if (is_placed(spread, needs[i].needs, index) && spread->stream[needs[i].needs] != best)
            done = link_after(spread, needs[i].needs, node, TSMITH_EDGE_EVENT_WAIT);
    if (done && fence != SIM_NONE)
        done = link_after(spread, fence, node, TSMITH_EDGE_BARRIER);
    return done && add_command(spread, node, best, ready);
}

// The last of a queue up to the place.
static uint32_t last_until(const struct spread *spread, const struct stream *stream, uint32_t place) {
    const size_t at = SORTED_FIND(i, 0, stream->count, spread->place[stream->commands[i]] <= place);
    return at ? stream->commands[at - 1] : SIM_NONE;
}

static void drop_order(struct spread *spread) {
    for (size_t i = 0; i < spread->simulation->link_count; i++) {
        struct sim_link *link = &spread->simulation->links[i];
        const uint32_t from = link->from / 2, to = link->to / 2;
        if (sim_is_command(spread->simulation, from) && sim_is_command(spread->simulation, to) &&
            spread->place[from] != SIM_NONE && spread->place[to] != SIM_NONE &&
            (link->kind == TSMITH_EDGE_STREAM_ORDER || link->kind == TSMITH_EDGE_GRAPH_NODE ||
             link->kind == TSMITH_EDGE_DEFAULT_STREAM || link->kind == TSMITH_EDGE_BARRIER))
            link->dead = 1;
    }
}

// What waited for a queue waits for all.
static bool add_waits(struct spread *spread) {
    tsmith_simulation *simulation = spread->simulation;
    const size_t count = simulation->link_count;
    for (size_t i = 0; i < count; i++) {
        const struct sim_link link = simulation->links[i];
        if (link.dead || !graph_is_wait(link.kind) || !sim_is_command(simulation, link.from / 2) ||
            spread->place[link.from / 2] == SIM_NONE)
            continue;
        const tsmith_call *call = sim_call(simulation, link.to / 2);
        if (call->role != TSMITH_CALL_SYNC_QUEUE && call->role != TSMITH_CALL_SYNC_DEVICE)
            continue;
        for (uint32_t k = 0; k < spread->asked->streams; k++) {
            const uint32_t last = last_until(spread, &spread->streams[k], spread->place[link.from / 2]);
            struct sim_link too = link;
            too.from = 2 * last + 1;
            if (last != SIM_NONE && last != link.from / 2 && !sim_add_link(simulation, too))
                return false;
        }
    }
    return true;
}

// Kernels share the device, each with the part it takes.
static bool share_devices(struct spread *spread) {
    tsmith_simulation *simulation = spread->simulation;
    enum { RESOURCES_PER_DEVICE = 3 };
    const size_t commands = (size_t)simulation->command_count + 1;
    simulation->resource_of = malloc(commands * sizeof *simulation->resource_of);
    simulation->share = malloc(commands * sizeof *simulation->share);
    if (!simulation->resource_of || !simulation->share)
        return false;
    for (uint32_t i = 0; i < simulation->command_count; i++) {
        const tsmith_command *command = sim_command(simulation, i);
        simulation->resource_of[i] = simulation->model.resource_of[i];
        simulation->share[i] = is_recorded(spread, i) ? spread->asked->shares[i] : 1;
        if (simulation->resource_of[i] == SIM_NONE && command->work == TSMITH_WORK_COMPUTE &&
            timeline_runs(command) && command->kind != TSMITH_KIND_COMPILE && simulation->own[i] > 0)
            simulation->resource_of[i] =
                simulation->timeline->rows[command->row].device * RESOURCES_PER_DEVICE;
    }
    return true;
}

static bool spread_commands(struct spread *spread, uint64_t *affected) {
    uint32_t fence = SIM_NONE;
    bool done = find_order(spread) && find_lag(spread) && share_devices(spread);
    if (done)
        drop_order(spread);
    for (size_t i = 0; i < spread->count && done; i++) {
        const uint32_t node = spread->order[i];
        const bool recorded =
            is_recorded(spread, node) && sim_command(spread->simulation, node)->work != TSMITH_WORK_CONTROL;
        done = (recorded || link_after_streams(spread, node)) && spread_command(spread, i, fence);
        if (!is_recorded(spread, node))
            fence = node;
        *affected += recorded;
    }
    return done && add_waits(spread);
}

tsmith_status sim_streams(tsmith_simulation *simulation, const tsmith_change *asked, uint64_t *affected) {
    const size_t commands = (size_t)simulation->command_count + 1;
    struct spread spread = {.simulation = simulation, .asked = asked};
    spread.streams = calloc(asked->streams, sizeof *spread.streams);
    spread.order = malloc(commands * sizeof *spread.order);
    spread.place = malloc(commands * sizeof *spread.place);
    spread.stream = calloc(commands, sizeof *spread.stream);
    spread.finished = calloc(commands, sizeof *spread.finished);
    const bool done = spread.streams && spread.order && spread.place && spread.stream && spread.finished &&
                      spread_commands(&spread, affected);
    for (uint32_t i = 0; spread.streams && i < asked->streams; i++)
        free(spread.streams[i].commands);
    free(spread.streams);
    free(spread.order);
    free(spread.place);
    free(spread.stream);
    free(spread.finished);
    return done ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}
