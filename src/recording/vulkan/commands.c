// SPDX-License-Identifier: Apache-2.0
// The parameters of Vulkan's commands as words, from the list in calls.h.
#if __has_include(<vulkan/vulkan_core.h>)

#include <string.h>

#include "recording/vulkan/calls.h"
#include "recording/vulkan/words.h"

#define WORDS_V(type, name) WORD(name);
#define WORDS_F(name) FLOAT(name);
#define WORDS_H(KIND, type, name) HANDLE_OF(KIND, name, false, false);
#define WORDS_W(KIND, type, name) HANDLE_OF(KIND, name, true, false);
#define WORDS_M(KIND, type, name, count) HANDLES(KIND, type, s->count, name, false, false);
#define WORDS_A(type, name, count) ITEMS(type, COUNT_##count, name);
#define WORDS_P(type, name) ITEMS(type, 1, name);
#define WORDS_B(name, count) BYTES(s->count, name);
// A count is a parameter, or a number.
#define COUNT_n s->n
#define COUNT_k s->k
#define COUNT_l s->l
#define COUNT_4 4

#define DEFINE(name, number)                                                                                 \
    void words_call_##name(struct words *words, struct call_##name *s) {                                     \
        CALL_##name(WORDS_V, WORDS_F, WORDS_H, WORDS_W, WORDS_M, WORDS_A, WORDS_P, WORDS_B)(void) words;     \
        (void)s;                                                                                             \
    }
VULKAN_FRAME_COMMANDS(DEFINE)

#endif
