// SPDX-License-Identifier: Apache-2.0
// The words of the agent's records, each described once (src/wire/record_part.h), and the fields that are this agent's own.
#ifndef NCCL_RECORD_PARTS_H
#define NCCL_RECORD_PARTS_H

#include "agentkit/record_words.h"

// OWN(member of nccl_fields, name in the trace, type, unit)
// clang-format off
#define NCCL_FIELDS(OWN) \
    OWN(comm, "comm", U64, "") OWN(rank, "rank", I64, "") OWN(ranks, "ranks", U64, "") \
    OWN(nodes, "nodes", U64, "") OWN(sequence, "sequence", U64, "") OWN(peer, "peer", I64, "") \
    OWN(count, "count", U64, "") OWN(datatype, "datatype", STRING, "") \
    OWN(algorithm, "algorithm", STRING, "") OWN(protocol, "protocol", STRING, "") \
    OWN(channels, "channels", U64, "") OWN(channel, "channel", U64, "") OWN(steps, "steps", U64, "") \
    OWN(chunk, "chunk_bytes", U64, "bytes") OWN(sends, "sends", BOOL, "") \
    OWN(timer_start, "gpu_timer_start", U64, "ns") OWN(timer_stop, "gpu_timer_stop", U64, "ns") \
    OWN(operation, "nccl_operation", U64, "") OWN(step, "step", I64, "") OWN(device, "device", I64, "") \
    OWN(opcode, "opcode", I64, "")
// clang-format on

struct nccl_fields {
    NCCL_FIELDS(OWN_FIELD_MEMBER)
};

// What every record begins with.
#define BEGIN_WORDS(WORD) TICKS_WORDS(WORD) NAME_OR_NONE(WORD) CATEGORY_OR_NONE(WORD)

// clang-format off
// Collectives, sends and receives.
#define OPERATION_WORDS(WORD) \
    WORD(thread, TSMITH_FIELD_HOST_TRACK, OPTIONAL(RECORD_TRACK)) BYTES_WORD(WORD) CERTAINTY_WORD(WORD) \
    OWN_WORD(WORD, comm) OWN_WORD(WORD, rank) OWN_OR_NONE(WORD, ranks) OWN_OR_NONE(WORD, nodes) \
    OWN_WORD(WORD, count) OWN_OR_NONE(WORD, datatype) OWN_OR_NONE(WORD, algorithm) \
    OWN_OR_NONE(WORD, protocol) OWN_OR_NONE(WORD, channels) \
    WORD(number, fields.operation, OPTIONAL(RECORD_DYNAMIC))
#define PEER_WORDS(WORD) OWN_WORD(WORD, peer)
#define SEQUENCE_WORDS(WORD) OWN_WORD(WORD, sequence)

// What the proxy moves over the network.
#define PROXY_WORDS(WORD) \
    WORD(number, fields.operation, OPTIONAL(RECORD_DYNAMIC)) OWN_WORD(WORD, channel) OWN_WORD(WORD, peer) \
    OWN_WORD(WORD, steps) OWN_WORD(WORD, chunk) OWN_WORD(WORD, sends)

// Channels of NCCL's kernels.
#define CHANNEL_WORDS(WORD) WORD(number, fields.operation, OPTIONAL(RECORD_DYNAMIC)) OWN_WORD(WORD, channel)
#define TIMER_WORDS(WORD) \
    WORD(start, fields.timer_start, RECORD_DYNAMIC) WORD(stop, fields.timer_stop, RECORD_DYNAMIC)

// Steps of a proxy operation, and what it or its operation was in; with a device, events of network plugins.
#define TRANSFER_WORDS(WORD) \
    WORD(number, fields.operation, OPTIONAL(RECORD_DYNAMIC)) OWN_WORD(WORD, channel) OWN_WORD(WORD, peer) \
    OWN_WORD(WORD, sends)
#define STEP_WORDS(WORD) OWN_WORD(WORD, step) BYTES_OR_NONE(WORD)
#define NETWORK_WORDS(WORD) OWN_WORD(WORD, device) OWN_WORD(WORD, opcode) BYTES_OR_NONE(WORD)

// Copy engines, and the proxy itself.
#define OTHER_WORDS(WORD) \
    WORD(number, fields.operation, OPTIONAL(RECORD_DYNAMIC)) OWN_OR_NONE(WORD, count) BYTES_OR_NONE(WORD)
// clang-format on

// Calls of the program.
#define CALL_WORDS(WORD) OBJECT_OR_NONE(WORD)

// clang-format off
#define NCCL_RECORD_PARTS(PART) \
    PART(begin_words, BEGIN_WORDS) PART(operation_words, OPERATION_WORDS) PART(peer_words, PEER_WORDS) \
    PART(sequence_words, SEQUENCE_WORDS) PART(proxy_words, PROXY_WORDS) PART(moved_words, BYTES_WORD) \
    PART(channel_words, CHANNEL_WORDS) PART(timer_words, TIMER_WORDS) PART(transfer_words, TRANSFER_WORDS) \
    PART(step_words, STEP_WORDS) PART(network_words, NETWORK_WORDS) PART(other_words, OTHER_WORDS) \
    PART(call_words, CALL_WORDS)
// clang-format on

NCCL_RECORD_PARTS(RECORD_PART)

#endif
