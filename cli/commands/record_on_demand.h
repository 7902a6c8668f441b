// SPDX-License-Identifier: Apache-2.0
// Recording a program that is armed: `record` and `attach` have it in common.
#ifndef CLI_RECORD_ON_DEMAND_H
#define CLI_RECORD_ON_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

// Whether the process belongs to an armed program.
bool armed_has(uint64_t pid);

// Records the armed program that the process belongs to, for `duration` ns or until Ctrl-C, and waits for the file. False: it
// belongs to none, and nothing was done. `code` is the exit code.
bool armed_record(uint64_t pid, int64_t duration, const char *path, int *code);

#endif
