// SPDX-License-Identifier: Apache-2.0
// Where a libcupti may be, in the order in which they are tried. Rules: agent.h.
#ifndef CUDA_CANDIDATES_H
#define CUDA_CANDIDATES_H

#include <stdbool.h>
#include <stdint.h>

enum { CANDIDATES_MAX = 48, CANDIDATE_BYTES = 512 };

struct candidate {
    char path[CANDIDATE_BYTES]; // or a name for the dynamic linker
    const char *where;          // in words, static
    uint32_t major;             // version of CUDA in its name; 0: none
    bool mapped;                // by the program
};

struct candidates {
    struct candidate all[CANDIDATES_MAX];
    uint32_t count;
    uint32_t driver; // the newest CUDA that the driver supports, as 12080; 0: not known
};

// The libcupti that the process has comes first. Then only `asked`, if it is not NULL. Else those next to the program's CUDA
// runtime, in the Python environment that runs, known to the dynamic linker, and in toolkits. Those of a later major version
// than the driver's come last: they do not work with it.
void candidates_find(struct candidates *candidates, const char *asked);

#endif
