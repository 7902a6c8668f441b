// SPDX-License-Identifier: Apache-2.0
// The words of the agent's records, each described once (src/wire/record_part.h), and the fields that are this agent's own.
#ifndef NCCL_RECORD_PARTS_H
#define NCCL_RECORD_PARTS_H

#include "agentkit/record_words.h"

// OWN(member of nccl_fields, name in the trace, type, unit)
#define NCCL_FIELDS(OWN)                                                                                     \
    OWN(comm, "comm", U64, "")                                                                               \
    OWN(rank, "rank", I64, "")                                                                               \
    OWN(ranks, "ranks", U64, "")                                                                             \
    OWN(nodes, "nodes", U64, "")                                                                             \
    OWN(sequence, "sequence", U64, "")                                                                       \
    OWN(peer, "peer", I64, "")                                                                               \
    OWN(count, "count", U64, "")                                                                             \
    OWN(datatype, "datatype", STRING, "")                                                                    \
    OWN(algorithm, "algorithm", STRING, "")                                                                  \
    OWN(protocol, "protocol", STRING, "")                                                                    \
    OWN(channels, "channels", U64, "")                                                                       \
    OWN(channel, "channel", U64, "")                                                                         \
    OWN(steps, "steps", U64, "")                                                                             \
    OWN(chunk, "chunk_bytes", U64, "bytes")                                                                  \
    OWN(sends, "sends", BOOL, "")                                                                            \
    OWN(timer_start, "gpu_timer_start", U64, "ns")                                                           \
    OWN(timer_stop, "gpu_timer_stop", U64, "ns")                                                             \
    OWN(operation, "nccl_operation", U64, "")                                                                \
    OWN(step, "step", I64, "")                                                                               \
    OWN(device, "device", I64, "")                                                                           \
    OWN(opcode, "opcode", I64, "")

struct nccl_fields {
    NCCL_FIELDS(OWN_FIELD_MEMBER)
};

// What every record begins with.
#define BEGIN_WORDS(WORD)                                                                                    \
    TICKS_WORDS(WORD)                                                                                        \
    WORD(name, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING))                                                   \
    WORD(category, TSMITH_FIELD_CATEGORY, OPTIONAL(RECORD_STRING))

// Collectives, sends and receives.
#define OPERATION_WORDS(WORD)                                                                                \
    WORD(thread, TSMITH_FIELD_HOST_TRACK, OPTIONAL(RECORD_TRACK))                                            \
    WORD(bytes, TSMITH_FIELD_BYTES, RECORD_VALUE)                                                            \
    WORD(certainty, TSMITH_FIELD_CERTAINTY, RECORD_VALUE)                                                    \
    WORD(comm, fields.comm, RECORD_DYNAMIC)                                                                  \
    WORD(rank, fields.rank, RECORD_DYNAMIC)                                                                  \
    WORD(ranks, fields.ranks, OPTIONAL(RECORD_DYNAMIC))                                                      \
    WORD(nodes, fields.nodes, OPTIONAL(RECORD_DYNAMIC))                                                      \
    WORD(count, fields.count, RECORD_DYNAMIC)                                                                \
    WORD(datatype, fields.datatype, OPTIONAL(RECORD_DYNAMIC))                                                \
    WORD(algorithm, fields.algorithm, OPTIONAL(RECORD_DYNAMIC))                                              \
    WORD(protocol, fields.protocol, OPTIONAL(RECORD_DYNAMIC))                                                \
    WORD(channels, fields.channels, OPTIONAL(RECORD_DYNAMIC))                                                \
    WORD(number, fields.operation, OPTIONAL(RECORD_DYNAMIC))
#define PEER_WORDS(WORD) WORD(peer, fields.peer, RECORD_DYNAMIC)
#define SEQUENCE_WORDS(WORD) WORD(sequence, fields.sequence, RECORD_DYNAMIC)

// What the proxy moves over the network.
#define PROXY_WORDS(WORD)                                                                                    \
    WORD(number, fields.operation, OPTIONAL(RECORD_DYNAMIC))                                                 \
    WORD(channel, fields.channel, RECORD_DYNAMIC)                                                            \
    WORD(peer, fields.peer, RECORD_DYNAMIC)                                                                  \
    WORD(steps, fields.steps, RECORD_DYNAMIC)                                                                \
    WORD(chunk, fields.chunk, RECORD_DYNAMIC)                                                                \
    WORD(sends, fields.sends, RECORD_DYNAMIC)

// Channels of NCCL's kernels.
#define CHANNEL_WORDS(WORD)                                                                                  \
    WORD(number, fields.operation, OPTIONAL(RECORD_DYNAMIC))                                                 \
    WORD(channel, fields.channel, RECORD_DYNAMIC)
#define TIMER_WORDS(WORD)                                                                                    \
    WORD(start, fields.timer_start, RECORD_DYNAMIC)                                                          \
    WORD(stop, fields.timer_stop, RECORD_DYNAMIC)

// Steps of a proxy operation, and what it or its operation was in; with a device, events of network plugins.
#define TRANSFER_WORDS(WORD)                                                                                 \
    WORD(number, fields.operation, OPTIONAL(RECORD_DYNAMIC))                                                 \
    WORD(channel, fields.channel, RECORD_DYNAMIC)                                                            \
    WORD(peer, fields.peer, RECORD_DYNAMIC)                                                                  \
    WORD(sends, fields.sends, RECORD_DYNAMIC)
#define STEP_WORDS(WORD)                                                                                     \
    WORD(step, fields.step, RECORD_DYNAMIC)                                                                  \
    WORD(bytes, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE))
#define NETWORK_WORDS(WORD)                                                                                  \
    WORD(device, fields.device, RECORD_DYNAMIC)                                                              \
    WORD(opcode, fields.opcode, RECORD_DYNAMIC)                                                              \
    WORD(bytes, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE))

// Copy engines, and the proxy itself.
#define OTHER_WORDS(WORD)                                                                                    \
    WORD(number, fields.operation, OPTIONAL(RECORD_DYNAMIC))                                                 \
    WORD(count, fields.count, OPTIONAL(RECORD_DYNAMIC))                                                      \
    WORD(bytes, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE))

// Calls of the program.
#define CALL_WORDS(WORD) WORD(object, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE))

#define NCCL_RECORD_PARTS(PART)                                                                              \
    PART(begin_words, BEGIN_WORDS)                                                                           \
    PART(operation_words, OPERATION_WORDS)                                                                   \
    PART(peer_words, PEER_WORDS)                                                                             \
    PART(sequence_words, SEQUENCE_WORDS)                                                                     \
    PART(proxy_words, PROXY_WORDS)                                                                           \
    PART(moved_words, BYTES_WORDS)                                                                           \
    PART(channel_words, CHANNEL_WORDS)                                                                       \
    PART(timer_words, TIMER_WORDS)                                                                           \
    PART(transfer_words, TRANSFER_WORDS)                                                                     \
    PART(step_words, STEP_WORDS)                                                                             \
    PART(network_words, NETWORK_WORDS)                                                                       \
    PART(other_words, OTHER_WORDS)                                                                           \
    PART(call_words, CALL_WORDS)

NCCL_RECORD_PARTS(RECORD_PART)

#endif
