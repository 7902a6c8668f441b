// SPDX-License-Identifier: Apache-2.0
// Names of kernels by the SDK's numbers. A program may load a hundred thousand kernels and launch ten: their names are copied
// when they are loaded, and become strings of the trace when they are first launched. Nothing is forgotten when a code object
// is unloaded: records of its kernels may still come. Rules: agent.h.
#include <pthread.h>
#include <string.h>

#include "agent.h"
#include "wire/memory.h"

enum { KERNELS_MAX = 1 << 20, TEXT_BYTES = 256 << 20 };

// By number. Room is taken as it is written to.
static struct kernel {
    _Atomic uint32_t text; // its place in `texts`; 0: none
    uint32_t id;           // of the string; 0: not launched yet
} * kernels;
static char *texts;
static uint32_t used = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool names_init(void) {
    kernels = memory_take(KERNELS_MAX * sizeof *kernels);
    texts = memory_take(TEXT_BYTES);
    return kernels && texts;
}

static bool keep_name(uint64_t kernel, const char *name, size_t length) {
    pthread_mutex_lock(&lock);
    const bool room = kernel < KERNELS_MAX && length < TEXT_BYTES - used;
    if (room) {
        memcpy(texts + used, name, length);
        texts[used + length] = '\0';
        atomic_store_explicit(&kernels[kernel].text, used, memory_order_release);
        used += (uint32_t)length + 1;
    }
    pthread_mutex_unlock(&lock);
    return room;
}

void names_kernel(const struct sdk_callback_record *record) {
    const void *symbol = sdk_callback_payload(record);
    if (sdk_callback_operation(record) != SDK_CODE_OBJECT_KERNEL ||
        sdk_callback_phase(record) != SDK_PHASE_ENTER || !symbol || !SDK_HAS(symbol, kernel_symbol, name))
        return;
    const char *name = sdk_kernel_symbol_name(symbol);
    size_t length = name ? strlen(name) : 0;
    if (length > 3 && strcmp(name + length - 3, ".kd") == 0)
        length -= 3; // the symbol is of the kernel's descriptor
    if (length && !keep_name(sdk_kernel_symbol_kernel(symbol), name, length) && agent_recording())
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
}

uint32_t names_of_kernel(uint64_t kernel) {
    if (kernel >= KERNELS_MAX)
        return 0;
    struct kernel *known = &kernels[kernel];
    const uint32_t text = known->id ? 0 : atomic_load_explicit(&known->text, memory_order_acquire);
    if (text)
        known->id = channel_function(agent.channel, texts + text);
    return known->id;
}
