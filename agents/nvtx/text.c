// SPDX-License-Identifier: Apache-2.0
// Texts as string ids. A thread remembers its short texts, so that a repetition takes no lock: they are found by their
// address or by hash, then compared, since programs make their texts in buffers that they use again. Rules: agent.h.
#include <string.h>

#include "agent.h"
#include "base/hash.h"

enum { UNICODE_MAX = 4096 }; // bytes of UTF-8

static struct text_kept *remember_text(struct thread *thread, const char *text, size_t length) {
    const uint64_t hash = hash_bytes(text, length);
    struct text_kept *kept = &thread->texts[hash % TEXTS];
    if (kept->id && kept->hash == hash && kept->length == length && memcmp(kept->bytes, text, length) == 0)
        return kept;
    kept->id = channel_string(agent.channel, text, length);
    kept->hash = hash;
    kept->length = (uint32_t)length;
    memcpy(kept->bytes, text, length);
    return kept;
}

static uint32_t text_id(struct thread *thread, const char *text, size_t length) {
    return !thread || length > TEXT_KEPT ? channel_string(agent.channel, text, length)
                                         : remember_text(thread, text, length)->id;
}

uint32_t text_ascii(struct thread *thread, const char *text) {
    if (!text || !*text)
        return 0;
    if (!thread)
        return text_id(NULL, text, strlen(text));
    const size_t place = ((uintptr_t)text ^ (uintptr_t)text >> 6) % PLACES;
    struct text_kept *kept = thread->places[place].kept;
    // strncmp ends where either text does.
    if (kept && thread->places[place].text == text && strncmp(kept->bytes, text, kept->length) == 0 &&
        text[kept->length] == '\0')
        return kept->id;
    const size_t length = strlen(text);
    if (length > TEXT_KEPT)
        return text_id(thread, text, length);
    kept = remember_text(thread, text, length);
    thread->places[place].text = text;
    thread->places[place].kept = kept;
    return kept->id;
}

void text_named(struct thread *thread, const char *text, struct label *label) {
    if (!text || !strchr(text, ',') || *text == ',') {
        label->name = text_ascii(thread, text);
        return;
    }
    const struct torch_name name = torch_name_split(text, strlen(text));
    for (int i = 0; i < TORCH_NAME_PARTS; i++) {
        if (!name.has[i])
            continue;
        label->torch |= (uint8_t)(1u << i);
        label->parts[i] = i <= TORCH_NAME_OP_ID ? (uint64_t)name.numbers[i]
                                                : text_id(thread, name.texts[i], name.lengths[i]);
    }
    label->name = label->torch ? text_id(thread, text, name.length) : text_ascii(thread, text);
}

// One character as UTF-8; what is none becomes U+FFFD.
static size_t put_character(char *to, uint32_t character) {
    if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
        character = 0xfffd;
    if (character < 0x80) {
        to[0] = (char)character;
        return 1;
    }
    const size_t more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    for (size_t i = more; i > 0; i--, character >>= 6)
        to[i] = (char)(0x80 | (character & 0x3f));
    to[0] = (char)(lead[more] | character);
    return more + 1;
}

uint32_t text_unicode(struct thread *thread, const wchar_t *text) {
    char bytes[UNICODE_MAX];
    size_t length = 0;
    for (; text && *text && length + 4 <= sizeof bytes; text++)
        length += put_character(bytes + length, (uint32_t)*text);
    return length ? text_id(thread, bytes, length) : 0;
}

uint32_t text_any(struct thread *thread, int32_t type, union nvtx_text text) {
    switch (type) {
    case NVTX_MESSAGE_ASCII:
        return text_ascii(thread, text.ascii);
    case NVTX_MESSAGE_UNICODE:
        return text_unicode(thread, text.unicode);
    case NVTX_MESSAGE_REGISTERED:
        return text.registered ? ((const struct registered *)text.registered)->text : 0;
    default:
        return 0;
    }
}
