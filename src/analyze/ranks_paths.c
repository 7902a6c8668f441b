// SPDX-License-Identifier: Apache-2.0
// Which links the devices of a communicator of NCCL or RCCL use, and how fast its collectives were against what these can do.
// ranks_report.c calls it.
//
// Which rings and trees the library builds is not known. Named is the slowest link that none of them can avoid: that of the best tree
// that connects all devices. What is not known of one link is not known of the whole.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks_match.h"
#include "event/topology.h"

enum { LINK_NETWORK = TSMITH_TOPOLOGY_UNKNOWN + 1, LINK_UNKNOWN, LINK_ONE, NOTES_MOST = 3 };

// One rank in one communicator.
struct member {
    uint64_t comm;
    uint32_t rank; // index
    uint32_t size; // ranks of the communicator; 0: unknown
    size_t node;   // of the topology of its machine; SIZE_MAX: unknown
};

struct transfer {
    uint64_t comm;
    uint32_t name, number, rank; // name: index of rank_matching.names
    uint64_t bytes;
    int64_t time;
};

struct paths {
    const struct rank_matching *matching;
    tsmith_topology **topologies; // by rank; that of one machine is parsed once
    struct member *members;
    struct transfer *transfers;
    size_t member_count, transfer_count;
    uint64_t *best; // scratch, by member of a communicator
    uint32_t *near;
    size_t notes;
};

// The slowest link that cannot be avoided.
struct link {
    int kind;           // a path, or LINK_...
    bool may_have_more; // GPUs of NVIDIA, whose NVLinks are unknown
    uint32_t from, to;  // ranks
    uint64_t possible;  // byte/s of the bus; 0: unknown
    size_t hosts;
};

static uint64_t lesser(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

// ---- one host

static const struct rank *rank_of(const struct paths *paths, const struct member *member) {
    return &paths->matching->ranks->items[member->rank];
}

// A trace that does not name its clock may be of any machine.
static bool is_same_host(const struct paths *paths, const struct member *a, const struct member *b) {
    const struct rank *x = rank_of(paths, a), *y = rank_of(paths, b);
    return x->claims.clock && y->claims.clock && strcmp(x->claims.clock, y->claims.clock) == 0;
}

// A rank of links: the lower the better.
static uint64_t link_of(const struct paths *paths, const struct member *a, const struct member *b) {
    tsmith_topology_path path = {.size = sizeof path};
    const tsmith_topology *topology = paths->topologies[a->rank];
    if (!rank_of(paths, a)->claims.clock || !rank_of(paths, b)->claims.clock)
        return LINK_UNKNOWN;
    if (!is_same_host(paths, a, b))
        return LINK_NETWORK;
    if (!topology || topology != paths->topologies[b->rank] || a->node == SIZE_MAX || b->node == SIZE_MAX)
        return LINK_UNKNOWN;
    if (a->node == b->node)
        return LINK_ONE;
    return tsmith_topology_path_get(topology, a->node, b->node, &path) && path.kind != TSMITH_TOPOLOGY_UNKNOWN
               ? (uint64_t)path.kind
               : LINK_UNKNOWN;
}

// The kind of a link and, of NVLink, its rate, which a link that is down makes smaller: the lower the better.
static uint64_t weight_of(const struct paths *paths, const struct member *a, const struct member *b) {
    enum { RATE_BITS = 50 };
    const uint64_t kind = link_of(paths, a, b), most = (UINT64_C(1) << RATE_BITS) - 1;
    tsmith_topology_path path = {.size = sizeof path};
    if (kind != TSMITH_TOPOLOGY_NVSWITCH && kind != TSMITH_TOPOLOGY_NVLINK)
        return (kind + 1) << RATE_BITS;
    (void)tsmith_topology_path_get(paths->topologies[a->rank], a->node, b->node, &path);
    return (kind + 1) << RATE_BITS | (most - lesser(path.bytes_per_s, most));
}

// The best tree of all members, by Prim; its worst link.
static void find_worst(const struct paths *paths, const struct member *members, size_t count,
                       struct link *link) {
    size_t at = 0;
    uint64_t worst = 0;
    for (size_t i = 0; i < count; i++)
        paths->best[i] = UINT64_MAX;
    link->kind = -1;
    for (size_t joined = 1; joined < count; joined++) {
        size_t next = SIZE_MAX;
        paths->best[at] = 0;
        paths->near[at] = UINT32_MAX; // it is in the tree
        for (size_t i = 0; i < count; i++) {
            if (paths->best[i] == 0 && paths->near[i] == UINT32_MAX)
                continue;
            const uint64_t weight = weight_of(paths, &members[at], &members[i]);
            if (weight < paths->best[i]) {
                paths->best[i] = weight;
                paths->near[i] = (uint32_t)at;
            }
            next = next == SIZE_MAX || paths->best[i] < paths->best[next] ? i : next;
        }
        if (paths->best[next] > worst) {
            worst = paths->best[next];
            link->kind = (int)link_of(paths, &members[paths->near[next]], &members[next]);
            link->from = members[paths->near[next]].rank;
            link->to = members[next].rank;
        }
        at = next;
    }
}

// ---- what is possible

// What the network adapters of a machine send; 0: unknown, as of one adapter it is not known: it may be active.
static uint64_t network_of(const tsmith_topology *topology) {
    uint64_t sum = 0;
    for (size_t i = 0; topology && i < tsmith_topology_count(topology); i++) {
        tsmith_topology_node node = {.size = sizeof node};
        (void)tsmith_topology_node_get(topology, i, &node);
        if (node.kind != TSMITH_TOPOLOGY_NIC)
            continue;
        if (!node.port_bits_per_s || node.port_bits_per_s >= UINT32_MAX * UINT64_C(1000))
            return 0;
        sum += node.port_bits_per_s / 8;
    }
    return sum;
}

// What a device sends to the others of the communicator over its direct links; 0: unknown.
static uint64_t direct_of(const struct paths *paths, const struct member *members, size_t count, size_t at,
                          int kind) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        tsmith_topology_path path = {.size = sizeof path};
        if (tsmith_topology_path_get(paths->topologies[members[at].rank], members[at].node, members[i].node,
                                     &path) &&
            (int)path.kind == kind) {
            if (!path.bytes_per_s || path.bytes_per_s > UINT64_C(1) << 50)
                return 0;
            sum += path.bytes_per_s;
        }
    }
    return sum;
}

static const struct member *member_of(const struct member *members, size_t count, uint32_t rank) {
    for (size_t i = 0; i < count; i++)
        if (members[i].rank == rank)
            return &members[i];
    return NULL;
}

static void find_possible(const struct paths *paths, const struct member *members, size_t count,
                          struct link *link) {
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < count && link->kind == LINK_NETWORK; i++)
        least = lesser(least, network_of(paths->topologies[members[i].rank]));
    const bool is_direct = link->kind == TSMITH_TOPOLOGY_XGMI || link->kind == TSMITH_TOPOLOGY_NVLINK;
    for (size_t i = 0; i < count && is_direct; i++)
        least = lesser(least, direct_of(paths, members, count, i, link->kind));
    if (!is_direct && link->kind >= 0 && link->kind < TSMITH_TOPOLOGY_UNKNOWN) {
        const struct member *from = member_of(members, count, link->from),
                            *to = member_of(members, count, link->to);
        const tsmith_topology *topology = paths->topologies[link->from];
        link->may_have_more = !topology_has_all(topology, from->node, to->node);
        if (!link->may_have_more)
            least = topology_most(topology, from->node, to->node);
    }
    link->possible = least == UINT64_MAX ? 0 : least;
}

static size_t count_hosts(const struct paths *paths, const struct member *members, size_t count) {
    size_t hosts = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < i && !is_same_host(paths, &members[i], &members[k]))
            k++;
        hosts += k == i;
    }
    return hosts;
}

// ---- what was reached

// What a collective moves over the bus of each rank, per byte of the rank's buffer (as nccl-tests compute it); 0: unknown.
static double bus_share(tsmith_string name, size_t ranks) {
    const double others = (double)ranks - 1;
    if (strcmp(name.bytes, "AllReduce") == 0)
        return 2 * others / (double)ranks;
    if (strcmp(name.bytes, "AllGather") == 0 || strcmp(name.bytes, "ReduceScatter") == 0)
        return others;
    return strcmp(name.bytes, "Broadcast") == 0 || strcmp(name.bytes, "Reduce") == 0 ? 1 : 0;
}

struct reached {
    uint64_t count;
    double bytes, bus, time, fastest;
};

static bool is_same(const struct transfer *a, const struct transfer *b, bool same_number) {
    return a->comm == b->comm && a->name == b->name && (!same_number || a->number == b->number);
}

// The transfers from `from` to `to` are of one name and communicator. Counted are those of which all ranks are there: from the last
// arrival, which is the shortest time, all bytes are moved.
static struct reached reach_of(const struct paths *paths, size_t from, size_t to, size_t ranks) {
    struct reached sum = {0};
    for (size_t i = from, end; i < to; i = end) {
        int64_t time = INT64_MAX;
        for (end = i; end < to && is_same(&paths->transfers[i], &paths->transfers[end], true); end++)
            time = paths->transfers[end].time < time ? paths->transfers[end].time : time;
        if (end - i != ranks || time <= 0)
            continue;
        const double bytes = (double)paths->transfers[i].bytes,
                     bus = bytes * bus_share(paths->matching->names[paths->transfers[i].name], ranks);
        sum.count++;
        sum.bytes += bytes;
        sum.bus += bus;
        sum.time += (double)time * 1e-9;
        sum.fastest = bus / ((double)time * 1e-9) > sum.fastest ? bus / ((double)time * 1e-9) : sum.fastest;
    }
    return sum;
}

// ---- the report

static const char *link_name(const struct link *link, char text[64]) {
    const char *name = link->kind == LINK_NETWORK ? "network"
                       : link->kind == LINK_ONE   ? "one device"
                       : link->kind < 0 || link->kind >= TSMITH_TOPOLOGY_UNKNOWN
                           ? "unknown"
                           : tsmith_topology_path_name((tsmith_topology_path_kind)link->kind);
    (void)snprintf(text, 64, "%s%s", name, link->may_have_more ? " or NVLink" : "");
    return text;
}

static void write_rate(struct report *report, struct report_table *table, double rate) {
    if (rate > 0)
        report_number(report, table, rate);
    else
        report_unknown(report, table);
}

static void note_share(struct paths *paths, const struct link *link, const char *name, const char *comm,
                       const struct reached *sum, struct report *report) {
    char text[64], rate[REPORT_TEXT], possible[REPORT_TEXT];
    const struct rank *ranks = paths->matching->ranks->items;
    if (!link->possible || sum->time <= 0 || sum->bus <= 0 || paths->notes++ >= NOTES_MOST)
        return;
    report_note(
        report,
        "%.40s of %s: %s of %s that its slowest link that cannot be avoided, %s of ranks %lld and %lld, "
        "can transfer.",
        name, comm, report_rate(rate, sum->bus / sum->time), report_rate(possible, (double)link->possible),
        link_name(link, text), (long long)ranks[link->from].number, (long long)ranks[link->to].number);
}

static void write_row(struct paths *paths, const struct link *link, size_t members, const char *comm,
                      const struct transfer *first, const struct reached *sum, struct report *report,
                      struct report_table *table) {
    char text[64];
    const struct rank *ranks = paths->matching->ranks->items;
    const tsmith_string name = paths->matching->names[first->name];
    report_text(report, table, name);
    report_text(report, table, (tsmith_string){comm, strlen(comm)});
    report_integer(report, table, (int64_t)members);
    report_integer(report, table, (int64_t)link->hosts);
    const char *kind = link_name(link, text);
    report_text(report, table, (tsmith_string){kind, strlen(kind)});
    for (int i = 0; i < 2; i++)
        if (link->kind >= 0)
            report_integer(report, table, ranks[i ? link->to : link->from].number);
        else
            report_unknown(report, table);
    write_rate(report, table, (double)link->possible);
    report_integer(report, table, (int64_t)sum->count);
    if (sum->count)
        report_integer(report, table, sum->bytes < 9e18 ? (int64_t)sum->bytes : INT64_MAX);
    else
        report_unknown(report, table);
    write_rate(report, table, sum->time > 0 ? sum->bus / sum->time : 0);
    write_rate(report, table, sum->fastest);
    note_share(paths, link, name.bytes, comm, sum, report);
}

static void write_communicator(struct paths *paths, const struct member *members, size_t count, size_t *at,
                               struct report *report, struct report_table *table) {
    struct link link = {.kind = -1};
    char comm[48];
    // Of ranks without a trace nothing is known.
    if (count > 1 && members->size == count)
        find_worst(paths, members, count, &link);
    if (link.kind >= 0)
        find_possible(paths, members, count, &link);
    link.hosts = count_hosts(paths, members, count);
    (void)snprintf(comm, sizeof comm, "communicator 0x%llx", (unsigned long long)members->comm);
    while (*at < paths->transfer_count && paths->transfers[*at].comm == members->comm) {
        const struct transfer *first = &paths->transfers[*at];
        size_t to = *at;
        while (to < paths->transfer_count && is_same(first, &paths->transfers[to], false))
            to++;
        const struct reached sum = reach_of(paths, *at, to, members->size);
        write_row(paths, &link, members->size ? members->size : count, comm, first, &sum, report, table);
        *at = to;
    }
}

// ---- collecting

static int by_comm(const void *left, const void *right) {
    const struct member *a = left, *b = right;
    if (a->comm != b->comm)
        return a->comm < b->comm ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->size < b->size ? -1 : a->size > b->size;
}

static int by_collective(const void *left, const void *right) {
    const struct transfer *a = left, *b = right;
    const uint64_t keys[][2] = {{a->comm, b->comm},
                                {a->name, b->name},
                                {a->number, b->number},
                                {a->rank, b->rank},
                                {(uint64_t)a->time, (uint64_t)b->time}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

// One machine has one topology, which its ranks share. False when memory is exhausted.
static bool parse_topologies(struct paths *paths) {
    const tsmith_ranks *ranks = paths->matching->ranks;
    for (size_t i = 0; i < ranks->count; i++) {
        const struct rank *rank = &ranks->items[i];
        size_t k = 0;
        while (k < i && !(paths->topologies[k] && rank->claims.clock && ranks->items[k].claims.clock &&
                          strcmp(rank->claims.clock, ranks->items[k].claims.clock) == 0))
            k++;
        if (k < i)
            paths->topologies[i] = paths->topologies[k];
        else if (rank->topology &&
                 topology_parse(rank->topology, &paths->topologies[i], NULL) == TSMITH_ERROR_NO_MEMORY)
            return false;
    }
    return true;
}

static void list_transfers(struct paths *paths) {
    const tsmith_ranks *ranks = paths->matching->ranks;
    for (uint32_t i = 0; i < ranks->count; i++) {
        const struct rank *rank = &ranks->items[i];
        const tsmith_topology *topology = paths->topologies[i];
        const size_t node = topology && rank->device ? topology_find(topology, rank->device) : SIZE_MAX;
        for (size_t k = 0; k < rank->transfer_count; k++) {
            const struct rank_transfer *one = &rank->transfers[k];
            paths->members[paths->member_count++] =
                (struct member){one->comm, i, one->ranks,
                                topology && node < tsmith_topology_count(topology) ? node : SIZE_MAX};
            paths->transfers[paths->transfer_count++] =
                (struct transfer){one->comm,   paths->matching->order[one->name],
                                  one->number, i,
                                  one->bytes,  one->end - one->start};
        }
    }
    if (!paths->member_count)
        return;
    qsort(paths->members, paths->member_count, sizeof *paths->members, by_comm);
    qsort(paths->transfers, paths->transfer_count, sizeof *paths->transfers, by_collective);
    size_t kept = 0;
    for (size_t i = 0; i < paths->member_count; i++)
        if (!kept || paths->members[kept - 1].comm != paths->members[i].comm ||
            paths->members[kept - 1].rank != paths->members[i].rank)
            paths->members[kept++] = paths->members[i];
    paths->member_count = kept;
}

static void write_communicators(struct paths *paths, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"collective", TSMITH_CELL_TEXT}, {"group", TSMITH_CELL_TEXT},    {"ranks", TSMITH_CELL_COUNT},
        {"hosts", TSMITH_CELL_COUNT},     {"link", TSMITH_CELL_TEXT},     {"from", TSMITH_CELL_COUNT},
        {"to", TSMITH_CELL_COUNT},        {"possible", TSMITH_CELL_RATE}, {"collectives", TSMITH_CELL_COUNT},
        {"bytes", TSMITH_CELL_BYTES},     {"achieved", TSMITH_CELL_RATE}, {"fastest", TSMITH_CELL_RATE}};
    struct report_table *table = REPORT_TABLE(report, "communicators",
                                              "collectives of NCCL or RCCL: link: the slowest that cannot be "
                                              "avoided between the devices, for example "
                                              "between those of the ranks from and to; possible: what it can "
                                              "transfer; achieved: bus bandwidth from the "
                                              "last arrival to the end",
                                              COLUMNS);
    size_t at = 0;
    for (size_t from = 0, to; from < paths->member_count; from = to) {
        for (to = from; to < paths->member_count && paths->members[to].comm == paths->members[from].comm;)
            to++;
        write_communicator(paths, &paths->members[from], to - from, &at, report, table);
    }
}

bool ranks_write_paths(const struct rank_matching *matching, struct report *report) {
    const tsmith_ranks *ranks = matching->ranks;
    struct paths paths = {.matching = matching};
    size_t count = 0;
    for (size_t i = 0; i < ranks->count; i++)
        count += ranks->items[i].transfer_count;
    paths.topologies = calloc(ranks->count, sizeof *paths.topologies);
    paths.members = calloc(count + 1, sizeof *paths.members);
    paths.transfers = calloc(count + 1, sizeof *paths.transfers);
    paths.best = calloc(ranks->count, sizeof *paths.best);
    paths.near = calloc(ranks->count, sizeof *paths.near);
    const bool done = paths.topologies && paths.members && paths.transfers && paths.best && paths.near &&
                      (!count || parse_topologies(&paths));
    if (done) {
        list_transfers(&paths);
        write_communicators(&paths, report);
    }
    for (size_t i = 0; paths.topologies && i < ranks->count; i++) {
        size_t k = 0;
        while (k < i && paths.topologies[k] != paths.topologies[i])
            k++;
        if (k == i)
            tsmith_topology_close(paths.topologies[i]);
    }
    free(paths.topologies);
    free(paths.members);
    free(paths.transfers);
    free(paths.best);
    free(paths.near);
    return done;
}
