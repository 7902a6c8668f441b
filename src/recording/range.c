// SPDX-License-Identifier: Apache-2.0
// Parses the capture range of `profile --capture`. The launcher checks it with this, and the recorder reads it.
#include "recording/range.h"

#include <string.h>

#include "tracesmith/capture.h"

// A decimal number that is not 0.
static bool take_number(const char **at, const char *end, uint64_t *out) {
    uint64_t number = 0;
    const char *digit = *at;
    for (; digit < end && *digit >= '0' && *digit <= '9'; digit++)
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*digit - '0'), &number))
            return false;
    const bool any = digit > *at;
    *at = digit;
    *out = number;
    return any && number > 0;
}

// "M+N", to the end.
static bool take_counts(const char *at, const char *end, struct recording_range *out) {
    if (!take_number(&at, end, &out->first) || at == end || *at++ != '+')
        return false;
    return take_number(&at, end, &out->count) && at == end;
}

static bool take_name(const char *at, const char *end, char name[RECORDING_RANGE_NAME]) {
    const size_t length = (size_t)(end - at);
    if (!length || length >= RECORDING_RANGE_NAME)
        return false;
    memcpy(name, at, length);
    name[length] = '\0';
    for (char *space = name; (space = strchr(space, RECORDING_RANGE_SPACE)) != NULL;)
        *space = ' ';
    return true;
}

static bool take_argument(const char *at, const char *end, struct recording_range *out) {
    enum { FUNCTION_KEYS = 12 };
    const char *cut;
    switch (out->form) {
    case RECORDING_RANGE_KERNELS:
    case RECORDING_RANGE_FRAMES:
        return take_counts(at, end, out);
    case RECORDING_RANGE_KERNEL:
        cut = memchr(at, ':', (size_t)(end - at));
        return take_name(at, cut ? cut : end, out->from) && (!cut || take_counts(cut + 1, end, out));
    case RECORDING_RANGE_BETWEEN:
        cut = memmem(at, (size_t)(end - at), "..", 2);
        return cut && take_name(at, cut, out->from) && take_name(cut + 2, end, out->until);
    case RECORDING_RANGE_KEY:
        out->presents = true;
        return *at++ == 'F' && take_number(&at, end, &out->first) && at == end && out->first <= FUNCTION_KEYS;
    case RECORDING_RANGE_USER:
        return take_name(at, end, out->from);
    case RECORDING_RANGE_QUEUE:
    case RECORDING_RANGE_THREAD:
    case RECORDING_RANGE_FRAMES_EVERY:
    case RECORDING_RANGE_FRAMES_AFTER:
        return take_number(&at, end, &out->first) && at == end;
    default:
        return false; // takes none
    }
}

static bool take_range(const char *at, const char *end, struct recording_range *out) {
    static const struct {
        const char *name;
        bool argument;
    } forms[] = {
#define FORM(name, argument, doc) {name, sizeof argument > 1},
        TSMITH_CAPTURE_RANGE_TABLE(FORM)
#undef FORM
    };
    for (size_t i = 0; i < RECORDING_RANGE_LIMIT; i++) {
        const size_t length = strlen(forms[i].name);
        if ((size_t)(end - at) < length || memcmp(at, forms[i].name, length) != 0)
            continue;
        const char *after = at + length;
        out->form = (enum recording_range_form)i;
        if (after == end && !forms[i].argument)
            return true;
        if (after < end && *after == ':' && forms[i].argument)
            return take_argument(after + 1, end, out);
    }
    return false;
}

bool recording_range_parse(const char *text, struct recording_range *out) {
    *out = (struct recording_range){.first = 1, .count = UINT64_MAX};
    const char *end = strchr(text, ' ');
    if (!take_range(text, end ? end : text + strlen(text), out))
        return false;
    while (end) {
        const char *word = end + 1;
        end = strchr(word, ' ');
        const size_t length = end ? (size_t)(end - word) : strlen(word);
        if (length == strlen("no-payload") && memcmp(word, "no-payload", length) == 0)
            out->no_payload = true;
        else if (length == strlen("hashes") && memcmp(word, "hashes", length) == 0)
            out->hashes = true;
        else if (length == strlen("presents") && memcmp(word, "presents", length) == 0)
            out->presents = true;
        else if (length > strlen("frames=") && memcmp(word, "frames=", strlen("frames=")) == 0 &&
                 take_name(word + strlen("frames="), word + length, out->frames))
            continue;
        else
            return false;
    }
    return true;
}
