// SPDX-License-Identifier: Apache-2.0
// Identifies processes, and tells whether they live. Used by agents and by the collector.
#ifndef WIRE_PROCESS_H
#define WIRE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

// When the calling process began, in clock ticks since boot (field 22 of its stat); 0: not known (no /proc).
uint64_t process_start_time(void);
// The same of another process, by its number here.
uint64_t process_start_time_of(uint64_t pid);
// Where its first stack begins, which another program in the same process (exec) has elsewhere; 0: not known.
uint64_t process_image_of(uint64_t pid);
// The PID namespace of the calling process; 0: not known.
uint32_t process_namespace(void);

struct process_seen {
    uint64_t pid, start_time; // as the process itself knows them
    uint32_t space;           // its PID namespace; 0: not known, and taken to be ours
    uint64_t here;            // the number that it has here, once found
};
// Whether it is in a PID namespace below ours (a container): its number means another process here, or none.
bool process_is_elsewhere(const struct process_seen *process);
// Whether it is there and has not ended.
bool process_is_alive(struct process_seen *process);
// Whether it runs no code of its own any more: the kernel takes its memory apart, which lasts for a large one, or it has ended. Of a
// process that process_is_alive has found.
bool process_is_exiting(const struct process_seen *process);

#endif
