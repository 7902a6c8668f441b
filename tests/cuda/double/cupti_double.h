// SPDX-License-Identifier: Apache-2.0
// What the two files of the double of libcupti share.
#ifndef CUPTI_DOUBLE_H
#define CUPTI_DOUBLE_H

#include <stddef.h>

#include "double.h"

enum { RECORD_MAX = 320 };

struct buffer {
    uint8_t *at;
    size_t size, used;
    uint64_t complete; // when the last of its records is, by the driver's clock
};

// How the client wants it; cupti_shared.c is who shares CUPTI with others.
extern struct double_wishes {
    bool shared; // subscribed by the second interface: what the first one has in its place is refused
    bool system_threads, latency, graphs_as_a_whole;
    cupti_buffer_wanted_v2 *wanted;
    cupti_buffer_full_v2 *full;
    uint64_t unified_memory; // a bit per device
    bool finalized;          // by itself
    uint8_t zeroed;          // buffers come zeroed
    uint32_t clocks;         // timestamp callbacks that were registered
} double_wishes;
int double_next(uint8_t *buffer, size_t valid, void **record);
uint64_t double_dropped(void); // since it was asked last
int double_enable(uint32_t kind);
int double_subscribe(void **handle, cupti_callback *callback, void *context);
// What the first interface says to a client of the second.
#define DOUBLE_FIRST_ONLY                                                                                    \
    if (double_wishes.shared)                                                                                \
        return CUPTI_MULTIPLE_SUBSCRIBERS;

// Words of DOUBLE_CUPTI: whether one is there, and its number.
bool double_has(const char *word);
uint32_t double_value(const char *word, uint32_t otherwise);

// cupti_clients.c
void double_check_zeroed(const struct buffer *buffer);
void double_late_call(const char *name);
bool double_left_out(int domain, uint32_t id);
void double_whole(uint32_t kind);
void double_write_external(uint32_t correlation);
// Writes down what a client asks for, where DOUBLE_ASKED names a file.
void double_asked(const char *what, int which, uint32_t number);
cupti_buffer_wanted double_their_buffer;
cupti_buffer_full double_their_records;

// cupti_sampling.c: what there is to be sampled.
void double_sampled_module(const struct cupti_module_data *module);
void double_sampled_context_ends(const void *context);
void double_sampled_context_ended(const void *context);
void double_sampled_kernel(const struct operation *operation);

// cupti_metrics.c: a kernel is launched.
void double_measured_kernel(void);

uint64_t double_now(void);
// The calling thread, as it was asked for.
uint32_t double_thread(void);
// How long a record of a kind is in the version that is played; 0: that version has none.
size_t double_bytes_of(uint32_t kind);
bool double_is_enabled(uint32_t kind);
// `size`: of what is given; what a version has beyond it is 0.
void double_write(const void *record, size_t size, uint32_t kind);
// A buffer of the client's, and one handed back.
struct buffer double_ask(void);
void double_deliver(struct buffer buffer);

// The correlation id of a launch that was made up, apart from those of the program's own.
static inline uint32_t double_made_up(uint64_t number) {
    return (uint32_t)number + (UINT32_C(1) << 30) + (UINT32_C(1) << 16);
}
uint64_t double_fill_and_deliver(uint64_t launches);
uint64_t double_hoard(uint64_t buffers);
void double_play(void); // cupti_played.c
void double_write_rare(uint32_t correlation);
void double_write_memory(uint32_t operation, uint64_t address, uint64_t bytes, uint32_t correlation,
                         uint32_t device, uint32_t context, uint32_t stream, uint32_t asynchronous);
struct cupti_graph_host_node double_host_node(const struct operation *operation);
void double_write_event(uint32_t correlation, uint32_t context, uint32_t stream, uint32_t event,
                        uint64_t time);
void double_write_migration(uint32_t device, uint64_t address, uint64_t bytes);

#endif
