// SPDX-License-Identifier: Apache-2.0
// The whole public API.
#ifndef TRACESMITH_TRACESMITH_H
#define TRACESMITH_TRACESMITH_H

#include "tracesmith/analyze.h"
#include "tracesmith/batch.h"
#include "tracesmith/capture.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/diff.h"
#include "tracesmith/export_trace.h"
#include "tracesmith/graph.h"
#include "tracesmith/import.h"
#include "tracesmith/instructions.h"
#include "tracesmith/plan.h"
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
#include "tracesmith/timeline.h"
#include "tracesmith/trace.h"
#include "tracesmith/version.h"
#include "tracesmith/watch.h"
#include "tracesmith/xray.h"

#endif
