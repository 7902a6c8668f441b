// SPDX-License-Identifier: Apache-2.0
// The position of a function in a file, and its first instruction: the kernel emulates some instructions when a probe
// is hit, and steps through others, which costs many times as much.
#ifndef AGENTS_BPF_PROBE_SITE_H
#define AGENTS_BPF_PROBE_SITE_H

#include <stdint.h>

#include "wire/agent_bpf.h"

enum probe_kind { PROBE_NOP5, PROBE_NOP, PROBE_PUSH, PROBE_OTHER };

enum { PROBE_OFFSETS_MOST = 64 };

struct probe_site {
    char path[4096];
    uint64_t offsets[PROBE_OFFSETS_MOST]; // in the file; of a function, one
    unsigned count;
    int is_static;        // a static probe, which is no function and not returned from
    enum probe_kind kind; // of the first
};

// 0, or -1 with a message. `path` is a file, or the name of a library as the loader finds it. A function that begins
// with '@' is the name of static probes (USDT). Otherwise it is the linker's name, or the demangled name, with or
// without its parameters. If several match, the first is used.
int probe_site_find(struct probe_site *site, const struct agent_bpf_probe *probe,
                    agent_bpf_demangle *demangle, char *message, unsigned long size);
// A function of ours that begins in this way.
int probe_site_of_kind(struct probe_site *site, enum probe_kind kind, char *message, unsigned long size);
// ns of a call of it, the least of several measurements.
double probe_site_time(enum probe_kind kind);
const char *probe_site_kind_name(enum probe_kind kind);
// How many characters are to be changed, left out or put in (Levenshtein); PROBE_SITE_FAR when too many.
enum { PROBE_SITE_FAR = 4 };
unsigned probe_site_distance(const char *a, const char *b);

#endif
