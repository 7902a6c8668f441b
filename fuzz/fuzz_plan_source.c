// SPDX-License-Identifier: Apache-2.0
// Options of a build, up to the first NUL, and the source of a kernel k: the result for each argument is a valid one,
// and the result for unknown arguments is both.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "replay/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { USES = 8 };
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    const size_t length = end ? (size_t)(end - data) : 0, left = size - length;
    char *options = malloc(length + 1), *source = malloc(left ? left : 1);
    struct plan_use uses[USES];
    if (!options || !source)
        abort();
    if (length)
        memcpy(options, data, length);
    options[length] = '\0';
    if (left)
        memcpy(source, data + length, left); // without a NUL at its end
    plan_source_uses(source, left, length ? options : NULL, "k", uses, USES);
    for (size_t i = 0; i < USES; i++) {
        const struct plan_use *use = &uses[i];
        if (use->how & ~(PLAN_READS | PLAN_WRITES))
            abort();
        if (use->element && (use->end < use->first || (!use->of_item && use->plus)))
            abort();
    }
    free(options);
    free(source);
    return 0;
}
