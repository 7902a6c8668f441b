// SPDX-License-Identifier: Apache-2.0
// The names of the parts of a path: the analysis critical_path and the simulator print the same ones.
#include "state/critical_path.h"

const char *path_command_name(const tsmith_command *command) {
    return command->kind == TSMITH_KIND_COMPILE ? "compile" : tsmith_work_name((tsmith_work)command->work);
}

const char *path_call_name(const tsmith_call *call) {
    return call->role == TSMITH_CALL_COMPILE ? "compile" : "host in a call";
}

const char *path_edge_name(uint32_t kind) {
    static const char *const NAMES[PATH_LIMIT] = {
        [TSMITH_EDGE_PROGRAM_ORDER] = "host between calls",
        [TSMITH_EDGE_CALLED] = "host in a call",
        [TSMITH_EDGE_RETURNED] = "host in a call",
        [TSMITH_EDGE_LAUNCH] = "launch latency",
        [TSMITH_EDGE_STREAM_ORDER] = "gap within a queue",
        [TSMITH_EDGE_GRAPH_NODE] = "gap within a graph",
        [TSMITH_EDGE_BARRIER] = "gap after a barrier",
        [TSMITH_EDGE_EVENT_WAIT] = "gap after another queue",
        [TSMITH_EDGE_DEFAULT_STREAM] = "gap after the default stream",
        [TSMITH_EDGE_RESOURCE] = "gap after a busy resource",
        [TSMITH_EDGE_COMPILE] = "gap after a compilation",
        [TSMITH_EDGE_COLLECTIVE] = "collective",
        [TSMITH_EDGE_SYNC_RETURN] = "return of a wait",
        [TSMITH_EDGE_SYNC_INFERRED] = "return of an inferred wait",
        [TSMITH_EDGE_QUEUE_INFERRED] = "gap after another queue (inferred)",
        [TSMITH_EDGE_THREAD_INFERRED] = "host after another thread (inferred)",
        [PATH_UNEXPLAINED] = "unexplained gap",
    };
    return kind < PATH_LIMIT && NAMES[kind] ? NAMES[kind] : "unexplained gap";
}
