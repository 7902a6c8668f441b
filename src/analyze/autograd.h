// SPDX-License-Identifier: Apache-2.0
// Which operator of the forward pass a command of PyTorch's backward pass belongs to. The autograd engine runs the backward
// pass on a thread of its own, so that no range of the program is around its launches. Kineto's operators identify the forward
// operator: by a flow "fwdbwd" between the two, or by the number of the sequence that both have ("Sequence number"; that of
// the backward pass has a "Fwd thread id"). If several operators have a number, the one that began last made the node.
#ifndef ANALYZE_AUTOGRAD_H
#define ANALYZE_AUTOGRAD_H

#include "analyze/ranges.h"

enum { AUTOGRAD_FIELDS = 4 };

struct autograd_op {
    uint32_t track;
    uint32_t process;
    int64_t start, end;
    int64_t sequence, flow; // AUTOGRAD_NONE: unknown
};
#define AUTOGRAD_NONE INT64_MIN

struct autograd_ops {
    struct autograd_op *items;
    size_t count, capacity;
};

struct autograd {
    struct autograd_ops forward, backward; // sorted by autograd_make
    struct autograd_ops flows;             // those of the forward pass with a flow, sorted by it
    uint32_t fields_seen, fields[AUTOGRAD_FIELDS];
};

// Takes the operators of a batch. False when memory is exhausted.
bool autograd_add(struct autograd *autograd, const tsmith_dictionary *dictionary, const tsmith_batch *batch);
bool autograd_make(struct autograd *autograd);
void autograd_finish(struct autograd *autograd);

enum autograd_match { AUTOGRAD_NO, AUTOGRAD_UNMATCHED, AUTOGRAD_MATCHED };
// Whether autograd launched a command. If the forward operator is known, `walk` begins at its range.
enum autograd_match autograd_find(const struct autograd *autograd, const struct ranges *ranges,
                                  const tsmith_timeline *timeline, const tsmith_command *command,
                                  struct range_walk *walk);

#endif
