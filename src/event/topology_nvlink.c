// SPDX-License-Identifier: Apache-2.0
// NVLinks of a topology: which path they make between two GPUs, and their words. topology.c has the other paths and the text.
#include <string.h>

#include "base/array.h"
#include "base/sized.h"
#include "base/sorted.h"
#include "event/topology.h"

enum { END_UNKNOWN, END_GPU, END_SWITCH, END_OTHER, ENDS }; // as wire/agent.h
static const char *const end_words[ENDS] = {"unknown", "gpu", "switch", "other"};
// How the rate is known, from the best; the text of a trace and the public API have the same words.
static const char *const source_words[] = {"-", "link_speed", "common_speed", "version"};
enum { SOURCES = sizeof source_words / sizeof *source_words };

const char *topology_source_word(uint32_t source) {
    return source_words[source < SOURCES ? source : 0];
}

const char *topology_end_word(uint32_t end) {
    return end_words[end < ENDS ? end : END_UNKNOWN];
}

uint32_t topology_source_of(const char *word) {
    for (uint32_t i = 0; i < SOURCES; i++)
        if (strcmp(source_words[i], word) == 0)
            return i;
    return UINT32_MAX;
}

uint32_t topology_end_of(const char *word) {
    for (uint32_t i = 0; i < ENDS; i++)
        if (strcmp(end_words[i], word) == 0)
            return i;
    return UINT32_MAX;
}

static const char *source_text(uint32_t source) {
    return source && source < SOURCES ? source_words[source] : "";
}

static const char *version_text(uint32_t version) {
    static const char *const texts[] = {"", "1.0", "2.0", "2.2", "3.0", "3.1", "4.0", "5.0", "6.0"};
    return version < sizeof texts / sizeof *texts ? texts[version] : "";
}

int tsmith_topology_nvlink_get(const tsmith_topology *topology, size_t index, tsmith_topology_nvlink *out) {
    if (index >= topology->nvlink_count)
        return 0;
    const struct topology_nvlink *link = &topology->nvlinks[index];
    const tsmith_topology_nvlink made = {.size = sizeof made,
                                         .from = link->from,
                                         .end = (tsmith_topology_end)link->end,
                                         .remote = link->remote,
                                         .links = link->links,
                                         .version = version_text(link->version),
                                         .bytes_per_s = link->bytes_per_s,
                                         .source = source_text(link->source)};
    sized_give(tsmith_topology_nvlink, &made, out);
    return 1;
}

bool topology_add_nvlink(struct tsmith_topology *topology, const struct topology_nvlink *link) {
    if (!ARRAY_RESERVE(topology->nvlinks, topology->nvlink_capacity, topology->nvlink_count + 1)) {
        topology->failed = true;
        return false;
    }
    size_t at = topology->nvlink_count++;
    for (; at > 0 && topology->nvlinks[at - 1].from > link->from; at--)
        topology->nvlinks[at] = topology->nvlinks[at - 1];
    topology->nvlinks[at] = *link;
    return true;
}

// The first one of the GPU, or of the next that has one.
static size_t first_of(const struct tsmith_topology *topology, size_t gpu) {
    return SORTED_FIND(i, 0, topology->nvlink_count, topology->nvlinks[i].from < gpu);
}

// ---- paths

struct links {
    uint32_t count, source;
    uint64_t bytes_per_s; // 0: unknown
};

// The links of a GPU to another (NULL: to switches).
static struct links links_to(const struct tsmith_topology *topology, size_t from,
                             const struct topology_node *to) {
    struct links sum = {0};
    bool is_known = true;
    for (size_t i = first_of(topology, from); i < topology->nvlink_count && topology->nvlinks[i].from == from;
         i++) {
        const struct topology_nvlink *link = &topology->nvlinks[i];
        if (link->end != (to ? END_GPU : END_SWITCH) || (to && strcmp(link->remote, to->address) != 0))
            continue;
        sum.count += link->links;
        sum.bytes_per_s += link->bytes_per_s;
        sum.source = link->source > sum.source ? link->source : sum.source;
        is_known &= link->bytes_per_s != 0;
    }
    return is_known ? sum : (struct links){.count = sum.count};
}

// Whether it is known where all links of the GPU lead.
static bool has_all_ends(const struct tsmith_topology *topology, size_t gpu) {
    if (!topology->nodes[gpu].has_nvlinks)
        return false;
    for (size_t i = first_of(topology, gpu); i < topology->nvlink_count && topology->nvlinks[i].from == gpu;
         i++)
        if (topology->nvlinks[i].end == END_UNKNOWN)
            return false;
    return true;
}

// What both ends agree on: a link that one of them does not use transfers nothing.
static struct links lesser(struct links a, struct links b) {
    if (a.count != b.count)
        return a.count < b.count ? a : b;
    return a.bytes_per_s < b.bytes_per_s ? a : b;
}

// Of the ends that have stated all their links; none if there is no such end.
static struct links agreed(struct links there, bool has_there, struct links back, bool has_back) {
    const struct links none = {0};
    if (has_there && has_back)
        return there.count && back.count ? lesser(there, back) : none;
    return has_there ? there : has_back ? back : none;
}

static void set_path(tsmith_topology_path *path, tsmith_topology_path_kind kind, struct links links) {
    path->kind = kind;
    path->nvlinks = links.count;
    path->bytes_per_s = links.bytes_per_s;
    path->source = source_text(links.source);
}

static bool is_nvidia_gpu(const struct topology_node *node) {
    return node->kind == TSMITH_TOPOLOGY_GPU && node->vendor == TOPOLOGY_NVIDIA;
}

void topology_find_nvlinks(const struct tsmith_topology *topology, size_t from, size_t to,
                           tsmith_topology_path *path, bool *is_stated) {
    const struct topology_node *a = &topology->nodes[from], *b = &topology->nodes[to];
    if (!is_nvidia_gpu(a) || !is_nvidia_gpu(b))
        return;
    const bool first = has_all_ends(topology, from), second = has_all_ends(topology, to);
    const struct links direct = agreed(links_to(topology, from, b), first, links_to(topology, to, a), second);
    const struct links up = links_to(topology, from, NULL), down = links_to(topology, to, NULL);
    if (direct.count)
        set_path(path, TSMITH_TOPOLOGY_NVLINK, direct);
    else if (first && second && up.count && down.count)
        set_path(path, TSMITH_TOPOLOGY_NVSWITCH, lesser(up, down));
    // One end alone excludes a link, unless it has links to switches: the other may have some too.
    *is_stated = direct.count || (first && second) || (first && !up.count) || (second && !down.count);
}

bool topology_has_all(const struct tsmith_topology *topology, size_t from, size_t to) {
    tsmith_topology_path path = {.size = sizeof path};
    if (!tsmith_topology_path_get(topology, from, to, &path))
        return false;
    if (path.kind == TSMITH_TOPOLOGY_NVSWITCH || !is_nvidia_gpu(&topology->nodes[from]) ||
        !is_nvidia_gpu(&topology->nodes[to]))
        return true;
    bool is_stated = false;
    topology_find_nvlinks(topology, from, to, &path, &is_stated);
    return is_stated;
}
