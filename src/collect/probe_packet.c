// SPDX-License-Identifier: Apache-2.0
// Writes and checks the datagrams of clock_probe.c. All numbers are little-endian: "TSPROBE", a version, the kind (4 bytes), 4 bytes
// of 0, the number, the two times (8 bytes each), the clock's name with null bytes behind it, and the hash of all that.
#include "collect/probe_packet.h"

#include <string.h>

#include "base/bytes.h"

static const char MAGIC[8] = {'T', 'S', 'P', 'R', 'O', 'B', 'E', 1};
enum {
    KIND_AT = 8,
    NUMBER_AT = 16,
    CAME_AT = 24,
    LEFT_AT = 32,
    ID_AT = 40,
    HASH_AT = ID_AT + PROBE_ID_SIZE + 8
};
_Static_assert(HASH_AT + 8 == PROBE_PACKET_SIZE, "the hash is last");

// ---- SipHash-2-4 (Aumasson and Bernstein, 2012)

struct sip {
    uint64_t a, b, c, d;
};

static uint64_t rotate(uint64_t word, unsigned by) {
    return word << by | word >> (64 - by);
}

static void mix_words(struct sip *sip, unsigned rounds) {
    for (; rounds; rounds--) {
        sip->a += sip->b;
        sip->c += sip->d;
        sip->b = rotate(sip->b, 13) ^ sip->a;
        sip->d = rotate(sip->d, 16) ^ sip->c;
        sip->a = rotate(sip->a, 32);
        sip->c += sip->b;
        sip->a += sip->d;
        sip->b = rotate(sip->b, 17) ^ sip->c;
        sip->d = rotate(sip->d, 21) ^ sip->a;
        sip->c = rotate(sip->c, 32);
    }
}

static void take_word(struct sip *sip, uint64_t word) {
    sip->d ^= word;
    mix_words(sip, 2);
    sip->a ^= word;
}

uint64_t probe_hash(const void *bytes, size_t size, struct probe_key key) {
    const uint8_t *at = bytes;
    struct sip sip = {key.low ^ UINT64_C(0x736f6d6570736575), key.high ^ UINT64_C(0x646f72616e646f6d),
                      key.low ^ UINT64_C(0x6c7967656e657261), key.high ^ UINT64_C(0x7465646279746573)};
    uint64_t last = (uint64_t)size << 56;
    size_t left = size;
    for (; left >= 8; left -= 8, at += 8)
        take_word(&sip, bytes_get_u64(at));
    for (size_t i = 0; i < left; i++)
        last |= (uint64_t)at[i] << (8 * i);
    take_word(&sip, last);
    sip.c ^= 0xff;
    mix_words(&sip, 4);
    return sip.a ^ sip.b ^ sip.c ^ sip.d;
}

// ---- datagrams

struct probe_key probe_key_of(const char *token) {
    const size_t length = strlen(token);
    return (struct probe_key){probe_hash(token, length, (struct probe_key){1, 0}),
                              probe_hash(token, length, (struct probe_key){2, 0})};
}

void probe_packet_write(const struct probe_packet *packet, struct probe_key key,
                        uint8_t out[PROBE_PACKET_SIZE]) {
    memset(out, 0, PROBE_PACKET_SIZE);
    memcpy(out, MAGIC, sizeof MAGIC);
    bytes_put_u32(out + KIND_AT, packet->kind);
    bytes_put_u64(out + NUMBER_AT, packet->number);
    bytes_put_u64(out + CAME_AT, (uint64_t)packet->came);
    bytes_put_u64(out + LEFT_AT, (uint64_t)packet->left);
    memcpy(out + ID_AT, packet->id, strnlen(packet->id, PROBE_ID_SIZE - 1));
    bytes_put_u64(out + HASH_AT, probe_hash(out, HASH_AT, key));
}

// Takes the same time whichever byte of the hash is wrong.
bool probe_packet_read(const uint8_t *bytes, size_t size, struct probe_key key, struct probe_packet *out) {
    if (size != PROBE_PACKET_SIZE || memcmp(bytes, MAGIC, sizeof MAGIC) != 0 ||
        (bytes_get_u64(bytes + HASH_AT) ^ probe_hash(bytes, HASH_AT, key)) != 0)
        return false;
    *out = (struct probe_packet){.kind = bytes_get_u32(bytes + KIND_AT),
                                 .number = bytes_get_u64(bytes + NUMBER_AT),
                                 .came = (int64_t)bytes_get_u64(bytes + CAME_AT),
                                 .left = (int64_t)bytes_get_u64(bytes + LEFT_AT)};
    memcpy(out->id, bytes + ID_AT, PROBE_ID_SIZE);
    return out->id[PROBE_ID_SIZE - 1] == '\0';
}
