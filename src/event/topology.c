// SPDX-License-Identifier: Apache-2.0
// What is known of the topology of a machine: its nodes and paths, and the text that a trace keeps of it. src/launch/ reads it
// from /sys; the comparison of ranks looks up which links a group of devices uses.
#include "event/topology.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/sized.h"
#include "base/status.h"

static const char *const path_names[] = {
#define PATH_NAME(NAME, text) #NAME,
    TSMITH_TOPOLOGY_PATH_TABLE(PATH_NAME)
#undef PATH_NAME
};

const char *tsmith_topology_path_name(tsmith_topology_path_kind kind) {
    return kind >= TSMITH_TOPOLOGY_XGMI && kind < TSMITH_TOPOLOGY_UNKNOWN ? path_names[kind] : "UNKNOWN";
}

void tsmith_topology_close(tsmith_topology *topology) {
    if (!topology)
        return;
    free(topology->nodes);
    free(topology->xgmi);
    free(topology->nvlinks);
    free(topology);
}

size_t tsmith_topology_count(const tsmith_topology *topology) {
    return topology->count;
}

int tsmith_topology_node_get(const tsmith_topology *topology, size_t index, tsmith_topology_node *out) {
    if (index >= topology->count)
        return 0;
    const struct topology_node *node = &topology->nodes[index];
    const struct topology_link *link = &node->links[node->depth ? node->depth - 1 : 0];
    const tsmith_topology_node made = {.size = sizeof made,
                                       .kind = node->kind,
                                       .name = node->name,
                                       .address = node->address,
                                       .vendor = node->vendor,
                                       .device = node->device,
                                       .numa = node->numa,
                                       .lanes = link->lanes,
                                       .bytes_per_s = link->bytes_per_s,
                                       .port_bits_per_s = node->port_bits_per_s,
                                       .uuid = node->uuid,
                                       .nvlinks = node->has_nvlinks ? (int32_t)node->nvlinks : -1,
                                       .nvlinks_inactive =
                                           node->has_nvlinks ? (int32_t)node->nvlinks_inactive : -1,
                                       .nvlinks_why = node->nvlinks_why};
    sized_give(tsmith_topology_node, &made, out);
    return 1;
}

// ---- paths

// The slowest link below the first `common` folders of a node, as it is now or at its highest speed; 0 when one is unknown.
static uint64_t slowest_link(const struct topology_node *node, size_t common, bool most) {
    uint64_t rate = UINT64_MAX;
    for (size_t i = common; i < node->depth; i++) {
        const uint64_t of = most ? node->links[i].most : node->links[i].bytes_per_s;
        rate = of < rate ? of : rate;
    }
    return rate == UINT64_MAX ? 0 : rate;
}

static size_t count_common(const struct topology_node *a, const struct topology_node *b) {
    size_t common = 0;
    while (common < a->depth && common < b->depth && strcmp(a->above[common], b->above[common]) == 0)
        common++;
    return common;
}

// Bridges that are common have no part in it; those of different host bridges all have.
static uint64_t slowest_between(const struct topology_node *a, const struct topology_node *b, bool most) {
    const size_t common = count_common(a, b), from = common ? common : 1;
    if (!a->depth || !b->depth)
        return 0;
    const uint64_t first = slowest_link(a, from, most), second = slowest_link(b, from, most);
    return first < second ? first : second;
}

static tsmith_topology_path pcie_path(const struct topology_node *a, const struct topology_node *b) {
    tsmith_topology_path path = {.size = sizeof path, .kind = TSMITH_TOPOLOGY_UNKNOWN, .source = ""};
    const size_t common = count_common(a, b);
    if (common > 1) // below one port; a switch is a port up and ports down
        path.kind =
            a->depth - common <= 2 && b->depth - common <= 2 ? TSMITH_TOPOLOGY_PIX : TSMITH_TOPOLOGY_PXB;
    else if (common == 1)
        path.kind = TSMITH_TOPOLOGY_PHB;
    else if (a->numa >= 0 && b->numa >= 0 && (a->numa != b->numa || (a->depth && b->depth)))
        path.kind = a->numa == b->numa ? TSMITH_TOPOLOGY_NODE : TSMITH_TOPOLOGY_SYS;
    path.bytes_per_s = slowest_between(a, b, false);
    path.source = path.bytes_per_s ? "pcie" : "";
    return path;
}

// What a GPU sends to the NVSwitches of its board, by NVIDIA's specification of the model. /sys says nothing of NVLink, so only
// models are here that exist on no other board.
static uint64_t nvlink_rate(const struct topology_node *node) {
    if (node->kind != TSMITH_TOPOLOGY_GPU || node->vendor != TOPOLOGY_NVIDIA)
        return 0;
    switch (node->device) {
    case 0x20b0: // A100 SXM4, 40 GB
    case 0x20b2: // A100 SXM4, 80 GB
        return UINT64_C(300000000000);
    case 0x2330: // H100 SXM5
    case 0x2335: // H200 SXM
        return UINT64_C(450000000000);
    default:
        return 0;
    }
}

int tsmith_topology_path_get(const tsmith_topology *topology, size_t from, size_t to,
                             tsmith_topology_path *out) {
    if (from == to || from >= topology->count || to >= topology->count)
        return 0;
    tsmith_topology_path path = pcie_path(&topology->nodes[from], &topology->nodes[to]);
    const uint64_t first = nvlink_rate(&topology->nodes[from]), second = nvlink_rate(&topology->nodes[to]);
    bool is_stated = false;
    topology_find_nvlinks(topology, from, to, &path, &is_stated);
    if (!is_stated && topology->nvswitches && first && second) {
        path.kind = TSMITH_TOPOLOGY_NVSWITCH;
        path.bytes_per_s = first < second ? first : second;
        path.source = "model";
    }
    for (size_t i = 0; i < topology->xgmi_count; i++) {
        if (topology->xgmi[i].from != from || topology->xgmi[i].to != to)
            continue;
        path.kind = TSMITH_TOPOLOGY_XGMI;
        path.bytes_per_s = topology->xgmi[i].bytes_per_s;
        path.source = path.bytes_per_s ? "kfd" : "";
    }
    sized_give(tsmith_topology_path, &path, out);
    return 1;
}

uint64_t topology_most(const struct tsmith_topology *topology, size_t from, size_t to) {
    tsmith_topology_path path = {.size = sizeof path};
    if (!tsmith_topology_path_get(topology, from, to, &path))
        return 0;
    return path.kind <= TSMITH_TOPOLOGY_NVLINK
               ? path.bytes_per_s
               : slowest_between(&topology->nodes[from], &topology->nodes[to], true);
}

// ---- the text that a trace keeps
//
// Lines of words: "1" (the version), "gpu" or "nic" with name, address, vendor, device, NUMA node, port, UUID and the folders above it
// ("0000:00:01.0/16/31507692307/63015384615": lanes, rate and highest rate of its link), "xgmi FROM TO RATE", "nvswitches COUNT",
// "nvlinks GPU ACTIVE INACTIVE", "nvlink GPU REMOTE END LINKS VERSION RATE SOURCE", "nvlinks_unknown GPU REASON".

static bool add_line(struct topology_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool add_line(struct topology_text *text, const char *format, ...) {
    char line[TOPOLOGY_PIECE];
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (length < 0 || (size_t)length >= sizeof line ||
        !ARRAY_RESERVE(text->bytes, text->capacity, text->length + (size_t)length + 1))
        return false;
    memcpy(text->bytes + text->length, line, (size_t)length + 1);
    text->length += (size_t)length;
    return true;
}

// A word: what separates words is no part of it.
static const char *word_of(const char *name, char word[TOPOLOGY_NAME]) {
    size_t length = 0;
    for (; name[length] && length < TOPOLOGY_NAME - 1; length++)
        word[length] = name[length] > ' ' && name[length] < 0x7f && name[length] != '/' ? name[length] : '?';
    word[length] = '\0';
    return length ? word : "-";
}

static bool add_node_line(struct topology_text *text, const struct topology_node *node) {
    char name[TOPOLOGY_NAME], address[TOPOLOGY_NAME], uuid[TOPOLOGY_NAME];
    bool done = add_line(text, "%s %s %s %" PRIx32 " %" PRIx32 " %" PRId32 " %" PRIu64 " %s",
                         node->kind == TSMITH_TOPOLOGY_GPU ? "gpu" : "nic", word_of(node->name, name),
                         word_of(node->address, address), node->vendor, node->device, node->numa,
                         node->port_bits_per_s, word_of(node->uuid, uuid));
    for (size_t i = 0; done && i < node->depth; i++)
        done = add_line(text, " %s/%" PRIu32 "/%" PRIu64 "/%" PRIu64, word_of(node->above[i], name),
                        node->links[i].lanes, node->links[i].bytes_per_s, node->links[i].most);
    return done && add_line(text, "\n");
}

// The reason is one word.
static bool add_reason(struct topology_text *text, size_t gpu, const char *why) {
    char word[TOPOLOGY_REASON];
    size_t length = 0;
    for (; why[length] && length < sizeof word - 1; length++)
        word[length] = why[length] > ' ' && why[length] < 0x7f ? why[length] : '_';
    word[length] = '\0';
    return add_line(text, "nvlinks_unknown %zu %s\n", gpu, word);
}

static bool add_nvlink_lines(struct topology_text *text, const struct tsmith_topology *topology) {
    char remote[TOPOLOGY_NAME];
    bool done = true;
    for (size_t i = 0; done && i < topology->count; i++) {
        const struct topology_node *node = &topology->nodes[i];
        if (node->has_nvlinks)
            done = add_line(text, "nvlinks %zu %" PRIu32 " %" PRIu32 "\n", i, node->nvlinks,
                            node->nvlinks_inactive);
        else if (node->nvlinks_why[0])
            done = add_reason(text, i, node->nvlinks_why);
    }
    for (size_t i = 0; done && i < topology->nvlink_count; i++) {
        const struct topology_nvlink *link = &topology->nvlinks[i];
        done = add_line(text, "nvlink %zu %s %s %" PRIu32 " %" PRIu32 " %" PRIu64 " %s\n", link->from,
                        word_of(link->remote, remote), topology_end_word(link->end), link->links,
                        link->version, link->bytes_per_s, topology_source_word(link->source));
    }
    return done;
}

char *topology_text(const struct tsmith_topology *topology) {
    struct topology_text text = {0};
    bool done = add_line(&text, "1\n");
    for (size_t i = 0; done && i < topology->count; i++)
        done = add_node_line(&text, &topology->nodes[i]);
    for (size_t i = 0; done && i < topology->xgmi_count; i++)
        done = add_line(&text, "xgmi %zu %zu %" PRIu64 "\n", topology->xgmi[i].from, topology->xgmi[i].to,
                        topology->xgmi[i].bytes_per_s);
    if (done && topology->nvswitches)
        done = add_line(&text, "nvswitches %u\n", topology->nvswitches);
    done = done && add_nvlink_lines(&text, topology);
    if (done)
        return text.bytes;
    free(text.bytes);
    return NULL;
}

// The next word of a line; false at its end, or when it is too long.
static bool take_word(const char **at, char word[TOPOLOGY_NAME]) {
    *at += *at[0] == ' ';
    const size_t length = strcspn(*at, " \n");
    if (!length || length >= TOPOLOGY_NAME)
        return false;
    memcpy(word, *at, length);
    word[length] = '\0';
    *at += length;
    return true;
}

static bool take_number(const char **at, int base, uint64_t most, uint64_t *out) {
    char word[TOPOLOGY_NAME], *end;
    if (!take_word(at, word) || word[0] == '-' || word[0] == '+')
        return false;
    errno = 0;
    *out = strtoull(word, &end, base);
    return !*end && !errno && *out <= most;
}

static bool take_numa(const char **at, int32_t *out) {
    uint64_t value;
    *out = -1;
    if (strncmp(*at, " -1", 3) == 0) {
        *at += 3;
        return **at == ' ';
    }
    const bool done = take_number(at, 10, INT32_MAX, &value);
    *out = done ? (int32_t)value : -1;
    return done;
}

static bool take_place(const char **at, struct topology_node *node) {
    char word[TOPOLOGY_NAME], *end;
    if (node->depth == TOPOLOGY_BRIDGES || !take_word(at, word))
        return false;
    char *slash = strchr(word, '/');
    if (!slash || slash == word)
        return false;
    *slash = '\0';
    memcpy(node->above[node->depth], word, (size_t)(slash - word) + 1);
    uint64_t numbers[3];
    for (size_t i = 0; i < 3; i++) {
        numbers[i] = strtoull(slash + 1, &end, 10);
        if (*end != (i < 2 ? '/' : '\0'))
            return false;
        slash = end;
    }
    if (numbers[0] > 64)
        return false;
    node->links[node->depth++] = (struct topology_link){(uint32_t)numbers[0], numbers[1], numbers[2]};
    return true;
}

static bool take_node(const char **at, tsmith_topology_kind kind, struct tsmith_topology *topology) {
    struct topology_node node = {.kind = kind, .numa = -1, .kfd = -1};
    uint64_t vendor, device;
    if (topology->count >= TOPOLOGY_NODES_MOST || !take_word(at, node.name) || !take_word(at, node.address) ||
        !take_number(at, 16, UINT32_MAX, &vendor) || !take_number(at, 16, UINT32_MAX, &device) ||
        !take_numa(at, &node.numa) || !take_number(at, 10, UINT64_MAX, &node.port_bits_per_s) ||
        !take_word(at, node.uuid))
        return false;
    node.vendor = (uint32_t)vendor;
    node.device = (uint32_t)device;
    if (strcmp(node.uuid, "-") == 0)
        node.uuid[0] = '\0';
    while (**at == ' ')
        if (!take_place(at, &node))
            return false;
    struct topology_node *place = ARRAY_PUSH(topology->nodes, topology->count, topology->capacity);
    topology->failed |= !place;
    if (place)
        *place = node;
    return place;
}

static bool take_xgmi(const char **at, struct tsmith_topology *topology) {
    uint64_t from, to, rate;
    if (!topology->count || topology->xgmi_count >= TOPOLOGY_LINKS_MOST ||
        !take_number(at, 10, topology->count - 1, &from) || !take_number(at, 10, topology->count - 1, &to) ||
        !take_number(at, 10, UINT64_MAX, &rate))
        return false;
    struct topology_xgmi *place = ARRAY_PUSH(topology->xgmi, topology->xgmi_count, topology->xgmi_capacity);
    topology->failed |= !place;
    if (place)
        *place = (struct topology_xgmi){(size_t)from, (size_t)to, rate};
    return place;
}

static bool take_gpu(const char **at, const struct tsmith_topology *topology, size_t *out) {
    uint64_t index;
    if (!topology->count || !take_number(at, 10, topology->count - 1, &index))
        return false;
    *out = (size_t)index;
    return topology->nodes[index].kind == TSMITH_TOPOLOGY_GPU;
}

static bool take_nvlinks(const char **at, struct tsmith_topology *topology) {
    uint64_t active, inactive;
    size_t gpu;
    if (!take_gpu(at, topology, &gpu) || !take_number(at, 10, TOPOLOGY_LINKS_MOST, &active) ||
        !take_number(at, 10, TOPOLOGY_LINKS_MOST, &inactive))
        return false;
    topology->nodes[gpu].has_nvlinks = true;
    topology->nodes[gpu].nvlinks = (uint32_t)active;
    topology->nodes[gpu].nvlinks_inactive = (uint32_t)inactive;
    return true;
}

static bool take_nvlinks_unknown(const char **at, struct tsmith_topology *topology) {
    size_t gpu;
    if (!take_gpu(at, topology, &gpu) || **at != ' ')
        return false;
    const size_t length = strcspn(++*at, " \n");
    if (!length || length >= TOPOLOGY_REASON)
        return false;
    char *why = topology->nodes[gpu].nvlinks_why;
    for (size_t i = 0; i < length; i++)
        why[i] = (*at)[i] == '_' ? ' ' : (*at)[i];
    why[length] = '\0';
    *at += length;
    return true;
}

static bool take_nvlink(const char **at, struct tsmith_topology *topology) {
    struct topology_nvlink link = {0};
    char end[TOPOLOGY_NAME], source[TOPOLOGY_NAME];
    uint64_t links, version;
    if (topology->nvlink_count >= TOPOLOGY_LINKS_MOST || !take_gpu(at, topology, &link.from) ||
        !take_word(at, link.remote) || !take_word(at, end) ||
        !take_number(at, 10, TOPOLOGY_LINKS_MOST, &links) || !links ||
        !take_number(at, 10, UINT32_MAX, &version) ||
        !take_number(at, 10, UINT64_C(1) << 50, &link.bytes_per_s) || !take_word(at, source))
        return false;
    link.end = topology_end_of(end);
    link.source = topology_source_of(source);
    link.links = (uint32_t)links;
    link.version = (uint32_t)version;
    if (strcmp(link.remote, "-") == 0)
        link.remote[0] = '\0';
    // They are in the order of their GPUs, as they are written.
    if (link.end == UINT32_MAX || link.source == UINT32_MAX ||
        (topology->nvlink_count && topology->nvlinks[topology->nvlink_count - 1].from > link.from))
        return false;
    return topology_add_nvlink(topology, &link);
}

static bool take_line(const char **at, struct tsmith_topology *topology) {
    char word[TOPOLOGY_NAME];
    uint64_t count;
    bool done = take_word(at, word);
    if (done && strcmp(word, "gpu") == 0)
        done = take_node(at, TSMITH_TOPOLOGY_GPU, topology);
    else if (done && strcmp(word, "nic") == 0)
        done = take_node(at, TSMITH_TOPOLOGY_NIC, topology);
    else if (done && strcmp(word, "xgmi") == 0)
        done = take_xgmi(at, topology);
    else if (done && strcmp(word, "nvlinks") == 0)
        done = take_nvlinks(at, topology);
    else if (done && strcmp(word, "nvlink") == 0)
        done = take_nvlink(at, topology);
    else if (done && strcmp(word, "nvlinks_unknown") == 0)
        done = take_nvlinks_unknown(at, topology);
    else if (done && strcmp(word, "nvswitches") == 0) {
        done = take_number(at, 10, 1024, &count);
        topology->nvswitches = done ? (unsigned)count : 0;
    } else {
        return false;
    }
    return done && *(*at)++ == '\n';
}

tsmith_status topology_parse(const char *text, tsmith_topology **out, tsmith_error *error) {
    tsmith_topology *topology = calloc(1, sizeof *topology);
    const char *at = text;
    *out = NULL;
    if (!topology)
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "out of memory while reading the topology of a trace");
    bool done = strncmp(text, "1\n", 2) == 0;
    at += done ? 2 : 0;
    while (done && *at)
        done = take_line(&at, topology);
    if (done) {
        *out = topology;
        return TSMITH_OK;
    }
    const bool failed = topology->failed;
    tsmith_topology_close(topology);
    return failed ? status_set(error, TSMITH_ERROR_NO_MEMORY,
                               "out of memory while reading the topology of a trace")
                  : status_set(error, TSMITH_ERROR_CORRUPT,
                               "The topology of the trace has a form that this TraceSmith does not know.");
}

tsmith_status tsmith_topology_of_trace(const tsmith_dictionary *dictionary, tsmith_topology **out,
                                       tsmith_error *error) {
    const tsmith_string text = tsmith_dictionary_find_attribute(dictionary, TSMITH_TOPOLOGY_ATTRIBUTE);
    *out = NULL;
    if (!text.length)
        return status_set(
            error, TSMITH_ERROR_NOT_FOUND,
            "The trace does not state how the devices of its machine are connected: 'tracesmith "
            "profile' of this version or newer records it where there is a GPU.");
    return topology_parse(text.bytes, out, error);
}

// ---- finding

// "0123456789abcdef" within the identity, as it is or as the hexadecimal numbers of its characters, in groups or not.
static bool has_number(const char *identity, const char *number) {
    char ascii[2 * TOPOLOGY_NAME + 1], digits[2 * TOPOLOGY_NAME + 1];
    size_t length = 0;
    if (strlen(number) < 16)
        return false;
    for (const char *at = number; *at; at++)
        length += (size_t)snprintf(ascii + length, sizeof ascii - length, "%02x", (unsigned char)*at);
    length = 0;
    for (const char *at = identity; *at && length < sizeof digits - 1; at++)
        if (*at != '-')
            digits[length++] = *at;
    digits[length] = '\0';
    return strstr(digits, number) || strstr(digits, ascii);
}

size_t topology_find(const struct tsmith_topology *topology, const char *identity) {
    const bool is_place = strncasecmp(identity, "pci:", 4) == 0 || strncasecmp(identity, "PCI-", 4) == 0;
    for (size_t i = 0; i < topology->count; i++) {
        const struct topology_node *node = &topology->nodes[i];
        if (node->kind != TSMITH_TOPOLOGY_GPU)
            continue;
        if (is_place ? strcmp(node->address, identity + 4) == 0
                     : *node->uuid && (strcmp(node->uuid, identity) == 0 ||
                                       (node->vendor != TOPOLOGY_NVIDIA && has_number(identity, node->uuid))))
            return i;
    }
    return topology->count;
}
