// SPDX-License-Identifier: Apache-2.0
// Reports what a sampler missed. rows.c calls it at the end of the sampler's records.
#include "watch/sample_losses.h"

#include <stdbool.h>
#include <stdio.h>

static void set_number(tsmith_dictionary *dictionary, const char *name, uint64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    tsmith_dictionary_set_attribute(dictionary, name, text);
}

void sample_losses_note(const struct watch_samples_end *ended, uint64_t samples, struct ledger *ledger,
                        tsmith_dictionary *dictionary) {
    const struct {
        uint64_t count;
        tsmith_reason reason;
        bool covers; // samples are missing, and not only their stacks
        const char *what;
    } causes[] = {
        {ended->lost, TSMITH_REASON_RING_FULL, true,
         "CPU samples and switches of threads did not fit into the kernel's buffers"},
        {ended->unspooled, TSMITH_REASON_DISK_FULL, true, "CPU samples could not be kept"},
        {ended->throttled, TSMITH_REASON_VENDOR_DROPPED, true,
         "times the kernel suspended sampling (kernel.perf_event_max_sample_rate)"},
        {ended->too_many, TSMITH_REASON_TABLE_FULL, true,
         "CPU samples are of too many threads, or cannot be read"},
        {ended->unread_code, TSMITH_REASON_NO_STACK, false,
         "CPU samples have no stack: the process had exited before its memory was read"},
        {ended->no_registers, TSMITH_REASON_NO_STACK, false,
         "CPU samples have no stack: the program had none yet, or is a 32-bit program"},
        {ended->short_copies, TSMITH_REASON_PARTIAL_STACK, false,
         "stacks of CPU samples are deeper than the 16 KiB that are copied of them"},
    };
    set_number(dictionary, "sampler.period_ns", ended->period);
    set_number(dictionary, "sampler.cpu_ns", ended->cpu_ns);
    set_number(dictionary, "sampler.samples", samples);
    set_number(dictionary, "sampler.lost", ended->lost);
    tsmith_dictionary_set_attribute(dictionary, "sampler.mode",
                                    ended->without_kernel ? "user" : "user and kernel");
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        if (causes[i].count)
            ledger_note(ledger, dictionary, causes[i].reason, causes[i].count, causes[i].covers, "%llu %s",
                        (unsigned long long)causes[i].count, causes[i].what);
}
