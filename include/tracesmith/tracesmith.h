// SPDX-License-Identifier: Apache-2.0
// The whole public API.
//
// Options and results whose first member is `size` can grow: later versions add members at the end, and the names and
// offsets of earlier members never change. The caller sets `size` to sizeof of the struct and zeroes the rest; 0 and
// NULL are the default of every option. One rule for all of them:
//   - A struct that is shorter than the library's is accepted: the missing options have their defaults.
//   - One that is longer is accepted when the bytes that the library does not know are 0; else the call fails with
//     ERROR_INVALID_ARGUMENT, and the error names the struct and the first such byte (`offset`).
//   - A size smaller than the member itself, such as 0, fails in the same way.
//   - A result is filled up to the caller's size; bytes beyond the library's struct are zeroed.
//     `size` then says how many bytes the library filled. A result without a size is left alone.
// Options may be NULL: all defaults. Every struct that a function fills for its caller has a size. A struct without one
// never changes: values such as times, views and strings, and elements of arrays that the library hands out. Later
// versions return new properties of such an element in a separate array, as tsmith_timeline_times, or from a function.
// A single struct that is lent by pointer may grow at its end.
#ifndef TRACESMITH_TRACESMITH_H
#define TRACESMITH_TRACESMITH_H

#include "tracesmith/analyze.h"
#include "tracesmith/arrow.h"
#include "tracesmith/batch.h"
#include "tracesmith/capture.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/diff.h"
#include "tracesmith/export_trace.h"
#include "tracesmith/flight.h"
#include "tracesmith/frames.h"
#include "tracesmith/graph.h"
#include "tracesmith/host_sampler.h"
#include "tracesmith/import.h"
#include "tracesmith/instructions.h"
#include "tracesmith/launcher.h"
#include "tracesmith/live.h"
#include "tracesmith/memory.h"
#include "tracesmith/merge.h"
#include "tracesmith/on_demand.h"
#include "tracesmith/output.h"
#include "tracesmith/plan.h"
#include "tracesmith/processors.h"
#include "tracesmith/profiler.h"
#include "tracesmith/query.h"
#include "tracesmith/ranks.h"
#include "tracesmith/replay.h"
#include "tracesmith/sbt.h"
#include "tracesmith/schema.h"
#include "tracesmith/session.h"
#include "tracesmith/simulate.h"
#include "tracesmith/stacks.h"
#include "tracesmith/states.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"
#include "tracesmith/tiles.h"
#include "tracesmith/timeline.h"
#include "tracesmith/topology.h"
#include "tracesmith/trace.h"
#include "tracesmith/trace_report.h"
#include "tracesmith/version.h"
#include "tracesmith/view.h"
#include "tracesmith/watch.h"
#include "tracesmith/xray.h"

#endif
