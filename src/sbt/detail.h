// SPDX-License-Identifier: Apache-2.0
// The frames of a timeline's detail (section 9 of docs/sbt-format.md): buckets of one track, as columns of integers. What they mean is
// known to src/tiles; src/api/trace_tiles.c joins the two.
#ifndef SBT_DETAIL_H
#define SBT_DETAIL_H

#include "sbt/writer.h"
#include "tracesmith/sbt.h"

enum { DETAIL_MOST = 65536, DETAIL_COLUMNS = 4 }; // buckets of a frame; columns

enum detail_form {
    DETAIL_LOADS = 1, // name, events, busy, kind | flags << 8
    DETAIL_VALUES = 2 // least, most (the bits of an IEEE 754 single), events; the fourth column is not stored
};

struct sbt_detail {
    uint32_t track;
    enum detail_form form;
    int64_t origin; // that the buckets are counted from, on the trace clock
    unsigned shift; // a bucket is 2^shift ns; at most 62
    uint64_t first; // number of the first bucket
    uint32_t count; // 1 .. DETAIL_MOST
    const uint64_t *columns[DETAIL_COLUMNS];
};

tsmith_status sbt_detail_write(struct sbt_writer *writer, const struct sbt_detail *detail,
                               tsmith_error *error);

// Every sound frame in the order of the file; `columns` are the receiver's for the call. False: no more is wanted.
typedef bool (*sbt_detail_take)(void *context, const struct sbt_detail *detail);
// ERROR_CORRUPT when a frame is damaged, or the receiver wanted no more.
tsmith_status sbt_detail_read(tsmith_sbt *trace, sbt_detail_take take, void *context, tsmith_error *error);
// How many frames of detail a file has, and those from number `first` on, at most `count`.
size_t sbt_detail_count(const tsmith_sbt *trace);
tsmith_status sbt_detail_read_some(tsmith_sbt *trace, size_t first, size_t count, sbt_detail_take take,
                                   void *context, tsmith_error *error);

#endif
