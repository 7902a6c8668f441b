// SPDX-License-Identifier: Apache-2.0
// Names of ranges that PyTorch makes (emit_nvtx): "aten::copy_, seq = 3, op_id = 17, sizes = [[2, 3]], input_op_ids =
// [..]". Numbers that every call has anew would make every range a name of its own; they become fields, from which the
// text can be put together again. The importer of Nsight Systems and the NVTX agent call it.
#include "base/torch_name.h"

#include <string.h>

enum { LONGEST = 4096 };

static const char *const MARKS[TORCH_NAME_PARTS] = {
    ", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = "};

// Just past a number as it would be printed, NULL when there is none.
static const char *number_end(const char *at, const char *end, int64_t *out) {
    bool negative = at < end && *at == '-';
    const char *digits = at + negative, *after = digits;
    int64_t value = 0;
    while (after < end && *after >= '0' && *after <= '9' && after - digits < 18)
        value = value * 10 + (*after++ - '0');
    if (after == digits || (*digits == '0' && (after - digits > 1 || negative)))
        return NULL;
    *out = negative ? -value : value;
    return after;
}

// Just past a list; the last one goes to the end of the text.
static const char *list_end(const char *at, const char *end) {
    const char *next = memmem(at, (size_t)(end - at), MARKS[3], strlen(MARKS[3])), *after = next ? next : end;
    return after > at + 1 && *at == '[' && after[-1] == ']' ? after : NULL;
}

// Whether all of the text from `at` on is parts, in their order.
static bool read_parts(const char *at, const char *end, struct torch_name *name) {
    for (int i = 0; i < TORCH_NAME_PARTS && at < end; i++) {
        size_t length = strlen(MARKS[i]);
        if ((size_t)(end - at) < length || memcmp(at, MARKS[i], length) != 0)
            continue;
        const char *from = at + length;
        at = i < 2 ? number_end(from, end, &name->numbers[i]) : list_end(from, end);
        if (!at)
            return false;
        name->has[i] = true;
        name->texts[i] = from;
        name->lengths[i] = (size_t)(at - from);
    }
    return at == end;
}

struct torch_name torch_name_split(const char *text, size_t length) {
    const char *end = text + length;
    for (const char *at = text + 1; length <= LONGEST && at < end; at++) {
        struct torch_name name = {.length = (size_t)(at - text)};
        at = memchr(at, ',', (size_t)(end - at));
        if (!at)
            break;
        name.length = (size_t)(at - text);
        if (read_parts(at, end, &name))
            return name;
    }
    return (struct torch_name){.length = length};
}
