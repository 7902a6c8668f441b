// SPDX-License-Identifier: Apache-2.0
// The datagrams of clock probes, with a keyed hash: who does not have the token can neither ask nor answer. The token itself is not sent.
#ifndef COLLECT_PROBE_PACKET_H
#define COLLECT_PROBE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROBE_PACKET_SIZE = 184, PROBE_ID_SIZE = 128, PROBE_TOKEN_LEAST = 16 };

enum { PROBE_REQUEST = 1, PROBE_ANSWER = 2 };

struct probe_packet {
    uint32_t kind;
    uint64_t number;    // of the request, not to be guessed; an answer repeats it
    int64_t came, left; // an answer: ns of the answering clock when the request came and when the answer left
    char id[PROBE_ID_SIZE]; // names the sender's clock
};

struct probe_key {
    uint64_t low, high;
};

struct probe_key probe_key_of(const char *token);
void probe_packet_write(const struct probe_packet *packet, struct probe_key key,
                        uint8_t out[PROBE_PACKET_SIZE]);
// False if it is not of one who has the token, or malformed.
bool probe_packet_read(const uint8_t *bytes, size_t size, struct probe_key key, struct probe_packet *out);

// SipHash-2-4 of bytes.
uint64_t probe_hash(const void *bytes, size_t size, struct probe_key key);

#endif
