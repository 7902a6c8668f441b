// SPDX-License-Identifier: Apache-2.0
// What the two files of the mock of libcupti share.
#ifndef CUPTI_MOCK_H
#define CUPTI_MOCK_H

#include <stddef.h>

#include "mock.h"

enum { RECORD_MAX = 384 };

struct buffer {
    uint8_t *at;
    size_t size, used;
    uint64_t complete; // when the last of its records is, by the driver's clock
};

// What the client has set; cupti_shared.c is who shares CUPTI with others.
extern struct mock_settings {
    bool shared; // subscribed by the second interface: what the first one has in its place is refused
    bool system_threads, latency, graphs_as_a_whole, device_graphs;
    bool told_end; // another tool has ended CUPTI, and it was reported to the client
    cupti_buffer_wanted_v2 *wanted;
    cupti_buffer_full_v2 *full;
    uint64_t unified_memory; // a bit per device
    bool finalized;          // by itself
    uint8_t zeroed;          // buffers come zeroed
    uint32_t clocks;         // timestamp callbacks that were registered
} mock_settings;
int mock_next(uint8_t *buffer, size_t valid, void **record);
uint64_t mock_dropped(void); // since it was asked last
int mock_enable(uint32_t kind);
int mock_subscribe(void **handle, cupti_callback *callback, void *context);
// The first interface's answer to a client of the second.
#define MOCK_FIRST_ONLY                                                                                      \
    if (mock_settings.shared)                                                                                \
        return CUPTI_MULTIPLE_SUBSCRIBERS;

// Words of MOCK_CUPTI: whether one is there, and its number.
bool mock_has(const char *word);
uint32_t mock_value(const char *word, uint32_t otherwise);

// cupti_clients.c
void mock_flushed(bool forced);
void mock_let_forced_pass(void);
void mock_let_slow_begin(void);
uint64_t mock_flushes(void);
void mock_check_zeroed(const struct buffer *buffer);
void mock_late_call(const char *name);
int mock_no_subscriber(void);
bool mock_left_out(int domain, uint32_t id);
const char *mock_own_name(int domain, uint32_t id, const char *name);
void mock_whole(uint32_t kind);
void mock_write_external(uint32_t correlation);
// Writes down what a client asks for, where MOCK_ASKED names a file.
void mock_asked(const char *what, int which, uint32_t number);
cupti_buffer_wanted mock_their_buffer;
cupti_buffer_full mock_their_records;

// cupti_sampling.c: what there is to be sampled.
void mock_sampled_module(const struct cupti_module_data *module);
void mock_sampled_context_ends(const void *context);
void mock_sampled_context_ended(const void *context);
void mock_sampled_kernel(const struct operation *operation);

// cupti_metrics.c: a kernel is launched.
void mock_measured_kernel(void);

uint64_t mock_now(void);
// The calling thread, as it was asked for.
uint32_t mock_thread(void);
// How long a record of a kind is in the version that is played; 0: that version has none.
size_t mock_bytes_of(uint32_t kind);
bool mock_is_enabled(uint32_t kind);
// `size`: of what is given; what a version has beyond it is 0.
void mock_write(const void *record, size_t size, uint32_t kind);
// A buffer of the client's, and one handed back.
struct buffer mock_ask(void);
void mock_deliver(struct buffer buffer);

// The correlation id of a launch that was made up, apart from those of the program's own.
static inline uint32_t mock_made_up(uint64_t number) {
    return (uint32_t)number + (UINT32_C(1) << 30) + (UINT32_C(1) << 16);
}
uint64_t mock_fill_and_deliver(uint64_t launches);
uint64_t mock_hoard(uint64_t buffers);
void mock_play(void); // cupti_played.c
void mock_write_rare(uint32_t correlation);
void mock_write_memory(uint32_t operation, uint64_t address, uint64_t bytes, uint32_t correlation,
                       uint32_t device, uint32_t context, uint32_t stream, uint32_t asynchronous);
struct cupti_graph_host_node mock_host_node(const struct operation *operation);
void mock_write_event(uint32_t correlation, uint32_t context, uint32_t stream, uint32_t event, uint64_t time);
void mock_write_context(void *context);
void mock_write_wait(uint32_t type, uint64_t start, uint64_t end, uint32_t correlation, uint32_t context,
                     uint32_t stream, uint32_t event);
void mock_write_devices(void);
void mock_write_migration(uint32_t device, uint64_t address, uint64_t bytes);

#endif
