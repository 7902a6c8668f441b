// SPDX-License-Identifier: Apache-2.0
// TraceSmith for C++17, in headers alone: link libtracesmith. docs/cpp.md has the guide.
//
// Objects own what they open and close it when they end; failures are exceptions (error.hpp). The names of the earlier C++
// library (createProfiler, TracingSession, SBTWriter, TimelineBuilder...) are here as well. All of the C API
// (tracesmith/tracesmith.h) can be used with get() of the objects.
#ifndef TRACESMITH_TRACESMITH_HPP
#define TRACESMITH_TRACESMITH_HPP

#include <iostream> // programs written against the earlier library expect it here

#include "tracesmith/analysis.hpp"
#include "tracesmith/earlier_profiler.hpp"
#include "tracesmith/earlier_timeline.hpp"
#include "tracesmith/error.hpp"
#include "tracesmith/event.hpp"
#include "tracesmith/event_writer.hpp"
#include "tracesmith/session.hpp"
#include "tracesmith/trace.hpp"

#endif
