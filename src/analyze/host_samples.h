// SPDX-License-Identifier: Apache-2.0
// Which code host threads ran, by samples of their call stacks, where a trace has them (profile --sample, traces of other
// profilers).
#ifndef ANALYZE_HOST_SAMPLES_H
#define ANALYZE_HOST_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/stack_places.h"
#include "base/table.h"
#include "tracesmith/batch.h"

// Below this, samples are too few to name the code of a time: if all 5 of 5 are of one function, it took 57 % of the time or
// more (at 95 % confidence); of 4 samples, it may have been less than half.
enum { HOST_SAMPLES_LEAST = 5 };

struct host_sample {
    int64_t time, period; // period: processor time that it stands for; 0: not known
    uint32_t track, stack;
};

// Code that was found running.
struct host_code {
    uint32_t function, innermost; // strings: of the program, and what runs there; 0: not known
    uint64_t samples;
    int64_t time; // sum of the periods
};

// A zeroed struct is valid and empty.
struct host_samples {
    struct host_sample *samples;
    size_t count, capacity;
    bool sorted;
    struct stack_places places;
    struct host_code *codes; // the most frequent first, after host_samples_sort
    size_t code_count, code_capacity;
    struct table numbers; // of codes
    uint64_t found;       // samples of all of them
    uint64_t interpreter; // of those, of Python's interpreter, which runs a function that is not known
};

void host_samples_finish(struct host_samples *samples);
// Takes the samples of host threads in a batch, if it has any. False when memory is exhausted.
bool host_samples_take(struct host_samples *samples, const tsmith_dictionary *dictionary,
                       const tsmith_batch *batch);
// After the last batch.
bool host_samples_name(struct host_samples *samples, const tsmith_dictionary *dictionary);
// Forgets the code.
void host_samples_clear(struct host_samples *samples);
// Adds the code that the thread of this track was found running from `from` to `to`. False when memory is exhausted.
bool host_samples_add(struct host_samples *samples, uint32_t track, int64_t from, int64_t to);
void host_samples_sort(struct host_samples *samples);

// The share of the time that `some` of `all` samples are of, as an interval of 95 % confidence (Wilson's).
void host_samples_range(uint64_t some, uint64_t all, double *least, double *most);

#endif
