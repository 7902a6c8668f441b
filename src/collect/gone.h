// SPDX-License-Identifier: Apache-2.0
// Checks that the session directory still exists while a program is recorded. Processes find it by its path; without
// it, processes that start later are silently not recorded.
#ifndef COLLECT_GONE_H
#define COLLECT_GONE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/session_directory.h"
#include "tracesmith/stream.h"

struct gone {
    bool is_gone;
    int64_t there_at; // trace time of the last look that found it
};

// Looks, when the last look is some time ago or `at_once`.
void gone_look(struct gone *gone, const struct session_directory *directory, bool at_once);
// A source of the one loss that this is; of nothing while it is there. `gone` must live as long.
tsmith_status gone_source_create(const struct gone *gone, tsmith_source **out);

#endif
