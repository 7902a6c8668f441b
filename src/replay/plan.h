// SPDX-License-Identifier: Apache-2.0
// The plan of a recorded process: which of its commands had to come before which, and which memory each of them uses.
//
// Nodes are the commands of the device, moments of the host (it waited, or used memory that was mapped), and user
// events. An edge means that one ends before the other begins, on any device:
//
//   - a queue in order: one command after the other;
//   - wait lists;
//   - a queue out of order: a barrier or marker without a wait list comes after all before it, all comes after a barrier;
//   - the host: what it enqueues comes after what it has waited for until then (clFinish, clWaitForEvents, an event seen
//     complete, a blocking call). Threads of the host are assumed to be synchronized in the recorded order:
//     their synchronization (locks, joins) is not recorded;
//   - a user event comes after what the host had waited for when it set it.
//
// All edges but those of user events point from a lower to a higher number; a recording that contradicts itself can have
// circles, and nodes in or behind one never run (`order` leaves them out), like nodes that wait for an event that was never set.
//
// Accesses are exact for transfers. For a kernel they are its arguments, read and written whole unless the declaration,
// the buffer or the source of the kernel says otherwise; where nothing is known they are marked as assumed.
//
//   plan.c          records -> nodes and edges
//   plan_access.c   a command -> its accesses
//   plan_source.c   the source of a kernel -> how it uses its arguments
//   plan_check.c    conflicts that no path orders; what really depends on what
//   plan_order.c    legal orders
//   plan_count.c    how many there are
//   plan_report.c   the public API
#ifndef REPLAY_PLAN_H
#define REPLAY_PLAN_H

#include "replay/recording.h"
#include "tracesmith/plan.h"

enum plan_kind { PLAN_COMMAND, PLAN_HOST, PLAN_USER_EVENT };
// ASSUMED: a kernel may use other bytes of it, or less. PARTLY: not all of it is written for certain.
// ATOMIC: by atomic functions only.
enum { PLAN_READS = 1, PLAN_WRITES = 2, PLAN_ASSUMED = 4, PLAN_PARTLY = 8, PLAN_ATOMIC = 16 };
enum plan_memory_kind { PLAN_BUFFER, PLAN_HOST_MEMORY, PLAN_MAPPING };

struct plan_access {
    uint64_t from, to; // bytes of the memory
    uint32_t memory;   // index
    uint32_t flags;
};

struct plan_node {
    uint32_t record; // of the process
    uint32_t queue;  // index + 1; 0: none
    uint32_t edge_first, edge_count;
    uint32_t access_first, access_count;
    uint32_t late;      // of a user event: the node + 1 that the host had come to when it set it
    uint32_t arguments; // of a launch: where in plan->arguments they begin, + 1
    uint16_t argument_count;
    uint8_t kind;
    bool never; // waits for what never happened
};

struct plan_memory {
    uint64_t id, size;
    enum plan_memory_kind kind;
    uint32_t last; // node + 1 that used it last, in the order of the recording
};

struct plan_queue {
    uint64_t id;
    bool out_of_order;
};

// What a node really depends on: `node` used the same bytes before, and one of the two wrote them.
struct plan_need {
    uint32_t node;
    uint32_t content; // what the later one finds there comes from the earlier one, at least in part
};

struct plan_hazard {
    uint32_t first, second; // nodes
    uint32_t memory;
    tsmith_hazard_kind kind;
    uint64_t from, to;
    uint32_t last[2]; // the pair that was counted last
    uint64_t count;
    tsmith_hazard_trial trial;
    bool possible; // as tsmith_hazard has it
};

struct plan {
    struct tsmith_recording *recording;
    const struct recorded_process *process;
    struct plan_node *nodes;
    size_t node_count, node_capacity;
    uint32_t *edges; // predecessors
    size_t edge_count, edge_capacity;
    struct plan_access *accesses;
    size_t access_count, access_capacity;
    uint32_t *arguments; // record + 1 of each argument as set at a launch, 0: not set
    size_t argument_count, argument_capacity;
    struct plan_memory *memories;
    size_t memory_count, memory_capacity;
    struct plan_queue *queues;
    size_t queue_count, queue_capacity;
    uint32_t *node_of; // by record: node + 1
    bool callbacks;    // the program had some: they may order what nothing else does
    uint64_t unknown;  // commands whose use of memory is not known
    uint32_t *order;   // the nodes that run, one legal order: as near to the recorded one as can be
    size_t order_count;
    // by plan_check
    struct plan_need *needs;
    size_t need_count, need_capacity;
    size_t *need_first; // by node; from node_count + 1 on where they end, by node
    struct plan_hazard *hazards;
    size_t hazard_count, hazard_capacity;
    uint64_t unchecked; // accesses that were not, so that time and memory stay bounded
};

struct tsmith_plan {
    struct plan *processes;
    size_t count;
};

// All are NO_MEMORY, LIMIT or OK; `plan` is to be finished either way.
tsmith_status plan_make(struct plan *plan, struct tsmith_recording *recording,
                        const struct recorded_process *process, tsmith_error *error);
void plan_finish(struct plan *plan);
tsmith_status plan_check(struct plan *plan, tsmith_error *error);

static inline const struct recording_record *plan_record(const struct plan *plan, uint32_t node) {
    return &plan->process->records[plan->nodes[node].record];
}
static inline uint64_t plan_command(const struct plan *plan, uint32_t node) {
    return plan->nodes[node].kind == PLAN_COMMAND
               ? recording_value(plan_record(plan, node), RECORDING_KEY_COMMAND)
               : 0;
}

// ---- plan_order.c

// Fills plan->order.
tsmith_status plan_order(struct plan *plan, tsmith_error *error);
// Pairs of nodes that must keep their order besides the edges: found to be missing.
struct plan_pairs {
    uint32_t (*pairs)[2];
    size_t count, capacity;
};
// Another legal order of the same nodes into `out` (order_count of them): `seed` 0 is the one that is furthest from the
// recorded, others are random. NO_MEMORY or OK.
tsmith_status plan_shuffle(const struct plan *plan, const struct plan_pairs *kept, uint64_t seed,
                           uint32_t *out);
// The number of exchanges of neighbors that lead from `from` to `to`, two orders of `count` nodes below `limit`; and
// the order after the first `steps` of them (1 and above), with the two that were exchanged last, as they were
// before. UINT64_MAX and false: no memory. Each exchanges two that the one order has as they are and the other the
// other way round: where both are legal, so is every step between.
uint64_t plan_distance(const uint32_t *from, const uint32_t *to, size_t count, size_t limit);
bool plan_between(const uint32_t *from, const uint32_t *to, size_t count, size_t limit, uint64_t steps,
                  uint32_t *out, uint32_t last[2]);

// ---- plan_count.c

// More are not counted.
#define PLAN_ORDERS_MOST ((uint64_t)1 << 62)
// How many legal orders of its commands there are; 0: more than one, and not counted.
uint64_t plan_count_orders(const struct plan *plan);
// The orders, one after the other, as nodes of commands; `count` is at most what plan_count_orders gave. The caller
// frees them. NULL: no memory.
uint32_t *plan_list_orders(const struct plan *plan, uint64_t count);

// ---- plan_report.c

// As a finding names it.
void plan_describe(const struct plan *plan, uint32_t node, tsmith_plan_command *out);

// ---- within plan.c and plan_access.c

struct plan_object {
    uint32_t type;   // a RECORDING_ type; MAP command: a mapping
    uint32_t index;  // of the queue, memory or kernel; of an event its node
    uint64_t offset; // of a sub-buffer in its buffer; of a program the record + 1 of its build
    uint64_t size;
    uint64_t flags;              // of memory: as it was created
    uint64_t row, height, pixel; // of an image of its own: bytes of a row, rows, bytes of a pixel; else 0
};

struct plan_kernel {
    uint32_t *arguments; // record + 1
    size_t count, capacity;
    struct plan_use *uses; // by argument, by its source
    size_t use_count;
    uint32_t shared;           // record + 1 of the shared memory that it reaches by pointers
    uint32_t kept, kept_count; // where in plan->arguments they are, + 1; 0: they have changed since
};

struct plan_open_queue {
    uint32_t last;    // node + 1
    uint32_t barrier; // node + 1
    uint32_t *open;   // of one out of order: nodes since the barrier that nothing gathers yet
    size_t open_count, open_capacity;
};

struct plan_builder {
    struct plan *plan;
    struct chunk_table by_id; // value: index into objects + 1
    struct plan_object *objects;
    size_t object_count, object_capacity;
    struct plan_kernel *kernels;
    size_t kernel_count, kernel_capacity;
    struct plan_open_queue *open; // by queue
    size_t open_count, open_capacity;
    uint32_t host;   // node + 1: what the host has waited for
    uint32_t memory; // index + 1 of the program's memory
    size_t at;       // the record
    struct {
        uint64_t from, to;
    } * reads; // of the program's memory, by transfers that did not block
    size_t read_count, read_capacity;
    bool failed;
};

struct plan_object *plan_find(struct plan_builder *builder, uint64_t id);
const struct plan_object *plan_find_memory(struct plan_builder *builder,
                                           uint64_t id); // a buffer, part, image or shared
void plan_add_object(struct plan_builder *builder, uint64_t id, struct plan_object object);
void plan_add_access(struct plan_builder *builder, uint32_t memory, uint64_t from, uint64_t to,
                     uint32_t flags);
uint32_t plan_add_memory(struct plan_builder *builder, enum plan_memory_kind kind, uint64_t id,
                         uint64_t size);
// The accesses of the command at builder->at, for the node that was added last.
void plan_add_accesses(struct plan_builder *builder, const struct recording_record *record);
// The part of a buffer that a map is of: false when it is none.
bool plan_get_mapping(struct plan_builder *builder, uint64_t id, const struct plan_object **mapping);

// ---- plan_source.c

// How a kernel uses an argument, by its source.
struct plan_use {
    uint8_t how; // PLAN_READS and PLAN_WRITES
    // Bytes of an element, where it is known which are used: that of each work-item's first global number, and those from
    // `first` up to `end`. 0: any.
    uint8_t element;
    bool of_item;
    uint8_t plus; // of_item: the argument + 1 whose value is added to the number; 0: none
    bool atomic;  // by atomic functions and in no other way
    uint64_t first, end;
};

// For each of `count` arguments; read and written, of any element, if it cannot be determined. Never omits a possible
// access. `options` of the build may be NULL.
void plan_source_uses(const char *source, size_t length, const char *options, const char *kernel,
                      struct plan_use *uses, size_t count);

#endif
