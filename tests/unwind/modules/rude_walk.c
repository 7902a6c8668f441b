// SPDX-License-Identifier: Apache-2.0
#include "rude.h"
#include "unwind/unwind.h"
#include "unwind/unwind_table.h"

struct walk_state {
    struct unwind_thread thread;
};

walk_state *walk_begin(void) {
    static struct walk_state state;
    return unwind_table_refresh(NULL) && unwind_thread_init(&state.thread) ? &state : NULL;
}

bool walk_refresh(void) {
    return unwind_table_refresh(NULL);
}

__attribute__((noinline)) walked walk_here(walk_state *state, uint64_t *frames, uint32_t capacity) {
    struct unwind_registers registers;
    unwind_capture(&registers);
    struct unwind_result result = unwind_walk(&state->thread, &registers, frames, capacity);
    return (walked){result.count, result.exact, result.end == UNWIND_OUTERMOST};
}

bool walk_is_nested(const walk_state *state) {
    return state->thread.walking != 0;
}
