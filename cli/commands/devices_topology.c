// SPDX-License-Identifier: Apache-2.0
// `tracesmith devices --topology`: how GPUs and network adapters are connected.
#include "devices_topology.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/opened_trace.h"
#include "cli/present/terminal.h"
#include "tracesmith/topology.h"

enum { NVIDIA = 0x10de, COLUMN = 7 };

static tsmith_topology_node node_at(const tsmith_topology *topology, size_t index) {
    tsmith_topology_node node = {.size = sizeof node};
    (void)tsmith_topology_node_get(topology, index, &node);
    return node;
}

static void add_cell(struct text *text, const char *cell, size_t width) {
    const size_t from = text->length;
    text_add_char(text, ' ');
    text_add_safe(text, text_string(cell), 0);
    text_pad_right(text, text->length - from, width + 1);
}

static void add_numa(struct text *text, int32_t numa) {
    if (numa >= 0)
        text_add_format(text, "%" PRId32, numa);
    else
        text_add_cstr(text, "-");
}

// "NV18", as nvidia-smi prints links directly or through switches.
static void add_path_cell(struct text *text, const tsmith_topology_path *path, size_t width) {
    char cell[16];
    (void)snprintf(cell, sizeof cell, "NV%" PRIu32, path->nvlinks);
    add_cell(text, path->nvlinks ? cell : tsmith_topology_path_name(path->kind), width);
}

static void add_matrix(struct text *text, const tsmith_topology *topology) {
    const size_t count = tsmith_topology_count(topology);
    size_t width = COLUMN;
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(node_at(topology, i).name);
        width = length > width ? length : width;
    }
    add_cell(text, "", width);
    for (size_t i = 0; i < count; i++)
        add_cell(text, node_at(topology, i).name, width);
    text_add_cstr(text, " NUMA\n");
    for (size_t i = 0; i < count; i++) {
        const tsmith_topology_node node = node_at(topology, i);
        add_cell(text, node.name, width);
        for (size_t k = 0; k < count; k++) {
            tsmith_topology_path path = {.size = sizeof path};
            if (tsmith_topology_path_get(topology, i, k, &path))
                add_path_cell(text, &path, width);
            else
                add_cell(text, "-", width);
        }
        text_add_char(text, ' ');
        add_numa(text, node.numa);
        text_add_char(text, '\n');
    }
}

static bool is_nvidia_gpu(const tsmith_topology_node *node) {
    return node->kind == TSMITH_TOPOLOGY_GPU && node->vendor == NVIDIA;
}

static void add_legend(struct text *text, const tsmith_topology *topology) {
    static const struct {
        tsmith_topology_path_kind kind;
        const char *text;
    } kinds[] = {
#define LEGEND(NAME, words) {TSMITH_TOPOLOGY_##NAME, words},
        TSMITH_TOPOLOGY_PATH_TABLE(LEGEND)
#undef LEGEND
    };
    const size_t count = tsmith_topology_count(topology);
    bool used[sizeof kinds / sizeof *kinds] = {false}, unknown = false, counted = false;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            const tsmith_topology_node a = node_at(topology, i), b = node_at(topology, k);
            tsmith_topology_path path = {.size = sizeof path};
            if (!tsmith_topology_path_get(topology, i, k, &path))
                continue;
            used[path.kind] |= !path.nvlinks;
            counted |= path.nvlinks != 0;
            unknown |= path.kind != TSMITH_TOPOLOGY_NVSWITCH && path.kind != TSMITH_TOPOLOGY_NVLINK &&
                       is_nvidia_gpu(&a) && is_nvidia_gpu(&b) && (a.nvlinks < 0 || b.nvlinks < 0);
        }
    }
    text_add_char(text, '\n');
    if (counted)
        text_add_cstr(text, "NV#      so many NVLinks, to the other GPU or through NVSwitches\n");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (used[i])
            text_add_format(text, "%-8s %s\n", tsmith_topology_path_name(kinds[i].kind), kinds[i].text);
    if (unknown)
        text_add_cstr(text,
                      "/sys does not describe NVLink: NVIDIA GPUs may have links that are not shown.\n");
}

static const char *source_text(const char *source) {
    return strcmp(source, "link_speed") == 0     ? "NVML's speed of each link"
           : strcmp(source, "common_speed") == 0 ? "NVML's speed of all links"
           : strcmp(source, "version") == 0      ? "by the specification of its version"
                                                 : "";
}

static const char *end_text(tsmith_topology_end end) {
    return end == TSMITH_TOPOLOGY_END_GPU      ? "GPU"
           : end == TSMITH_TOPOLOGY_END_SWITCH ? "NVSwitch"
           : end == TSMITH_TOPOLOGY_END_OTHER  ? "device that is no GPU"
                                               : "unknown device";
}

// "     4 NVLinks 4.0 to NVSwitch 0000:87:00.0, 106.3 GB/s in one direction (NVML's speed of each link)"
static void add_nvlinks(struct text *text, const tsmith_topology *topology, size_t gpu) {
    const tsmith_topology_node node = node_at(topology, gpu);
    tsmith_topology_nvlink link = {.size = sizeof link};
    for (size_t i = 0; tsmith_topology_nvlink_get(topology, i, &link); i++) {
        if (link.from != gpu)
            continue;
        text_add_format(text, "          %" PRIu32 " NVLink%s%s%s to ", link.links, link.links > 1 ? "s" : "",
                        link.version[0] ? " " : "", link.version);
        text_add_format(text, "%s ", end_text(link.end));
        text_add_safe(text, text_string(link.remote), 0);
        if (link.bytes_per_s)
            text_add_format(text, ", %.1f GB/s in one direction (%s)", (double)link.bytes_per_s / 1e9,
                            source_text(link.source));
        text_add_char(text, '\n');
    }
    if (node.nvlinks_why[0]) {
        text_add_cstr(text, "          NVLinks are unknown: ");
        text_add_safe(text, text_string(node.nvlinks_why), 0);
        text_add_char(text, '\n');
    }
    if (node.nvlinks == 0 && !node.nvlinks_inactive)
        text_add_cstr(text, "          no NVLink\n");
    if (node.nvlinks_inactive > 0)
        text_add_format(text, "          %" PRId32 " NVLink%s inactive: down, or not connected\n",
                        node.nvlinks_inactive, node.nvlinks_inactive > 1 ? "s" : "");
}

static void add_nodes(struct text *text, const tsmith_topology *topology) {
    text_add_char(text, '\n');
    for (size_t i = 0; i < tsmith_topology_count(topology); i++) {
        const tsmith_topology_node node = node_at(topology, i);
        add_cell(text, node.name, COLUMN);
        text_add_safe(text, text_string(node.address), 0);
        text_add_format(text, "  %04" PRIx32 ":%04" PRIx32, node.vendor, node.device);
        if (node.lanes)
            text_add_format(text, "  PCIe x%" PRIu32, node.lanes);
        if (node.bytes_per_s)
            text_add_format(text, ", %.1f GB/s", (double)node.bytes_per_s / 1e9);
        if (node.port_bits_per_s)
            text_add_format(text, "  port %.0f Gbit/s", (double)node.port_bits_per_s / 1e9);
        text_add_char(text, '\n');
        add_nvlinks(text, topology, i);
    }
}

// ---- JSON and XML: the same elements with the same fields

// The name of a field. What is unknown is null in JSON, and no attribute in XML.
static bool add_key(struct text *text, bool xml, const char *key, bool is_known) {
    if (!xml && text->bytes[text->length - 1] != '{')
        text_add_char(text, ',');
    if (!xml)
        text_add_format(text, "\"%s\":%s", key, is_known ? "" : "null");
    else if (is_known)
        text_add_format(text, " %s=", key);
    return is_known;
}

static void add_text_field(struct text *text, bool xml, const char *key, const char *value) {
    if (!add_key(text, xml, key, *value))
        return;
    if (xml)
        text_add_xml_cstr(text, value);
    else
        text_add_json_cstr(text, value);
}

static void add_number_field(struct text *text, bool xml, const char *key, bool is_known, uint64_t value) {
    if (add_key(text, xml, key, is_known))
        text_add_format(text, xml ? "\"%" PRIu64 "\"" : "%" PRIu64, value);
}

static void add_node(struct text *text, bool xml, const tsmith_topology_node *node) {
    add_text_field(text, xml, "name", node->name);
    add_text_field(text, xml, "kind", node->kind == TSMITH_TOPOLOGY_GPU ? "gpu" : "nic");
    add_text_field(text, xml, "address", node->address);
    add_number_field(text, xml, "vendor", true, node->vendor);
    add_number_field(text, xml, "device", true, node->device);
    add_number_field(text, xml, "numa", node->numa >= 0, (uint64_t)node->numa);
    add_number_field(text, xml, "lanes", node->lanes, node->lanes);
    add_number_field(text, xml, "bytes_per_s", node->bytes_per_s, node->bytes_per_s);
    add_number_field(text, xml, "port_bits_per_s", node->port_bits_per_s, node->port_bits_per_s);
    add_text_field(text, xml, "uuid", node->uuid);
    add_number_field(text, xml, "nvlinks", node->nvlinks >= 0, (uint64_t)node->nvlinks);
    add_number_field(text, xml, "nvlinks_inactive", node->nvlinks_inactive >= 0,
                     (uint64_t)node->nvlinks_inactive);
    add_text_field(text, xml, "nvlinks_why", node->nvlinks_why);
}

static void add_path(struct text *text, bool xml, size_t from, size_t to, const tsmith_topology_path *path) {
    add_number_field(text, xml, "from", true, from);
    add_number_field(text, xml, "to", true, to);
    add_text_field(text, xml, "path", tsmith_topology_path_name(path->kind));
    add_number_field(text, xml, "bytes_per_s", path->bytes_per_s, path->bytes_per_s);
    add_number_field(text, xml, "nvlinks", path->nvlinks, path->nvlinks);
    add_text_field(text, xml, "source", path->source);
}

static void add_nvlink_elements(struct text *text, bool xml, const tsmith_topology *topology) {
    static const char *const ends[] = {"", "gpu", "switch", "other"};
    tsmith_topology_nvlink link = {.size = sizeof link};
    text_add_cstr(text, xml ? "" : "],\n\"nvlinks\":[");
    for (size_t i = 0; tsmith_topology_nvlink_get(topology, i, &link); i++) {
        text_add_cstr(text, xml ? "<nvlink" : i ? ",\n{" : "\n{");
        add_number_field(text, xml, "from", true, link.from);
        add_text_field(text, xml, "remote", link.remote);
        add_text_field(text, xml, "end", ends[link.end]);
        add_number_field(text, xml, "links", true, link.links);
        add_text_field(text, xml, "version", link.version);
        add_number_field(text, xml, "bytes_per_s", link.bytes_per_s, link.bytes_per_s);
        add_text_field(text, xml, "source", link.source);
        text_add_cstr(text, xml ? "/>\n" : "}");
    }
}

static void add_elements(struct text *text, bool xml, const tsmith_topology *topology) {
    const size_t count = tsmith_topology_count(topology);
    bool any = false;
    text_add_cstr(text, xml ? "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<topology>\n" : "{\"nodes\":[");
    for (size_t i = 0; i < count; i++) {
        const tsmith_topology_node node = node_at(topology, i);
        text_add_cstr(text, xml ? "<node" : i ? ",\n{" : "\n{");
        add_node(text, xml, &node);
        text_add_cstr(text, xml ? "/>\n" : "}");
    }
    text_add_cstr(text, xml ? "" : "],\n\"paths\":[");
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            tsmith_topology_path path = {.size = sizeof path};
            if (!tsmith_topology_path_get(topology, i, k, &path))
                continue;
            text_add_cstr(text, xml ? "<path" : any ? ",\n{" : "\n{");
            add_path(text, xml, i, k, &path);
            text_add_cstr(text, xml ? "/>\n" : "}");
            any = true;
        }
    }
    add_nvlink_elements(text, xml, topology);
    text_add_cstr(text, xml ? "</topology>\n" : "]}\n");
}

// Of the machine of a trace; the exit code.
static int open_of_trace(const char *path, tsmith_topology **out) {
    struct trace trace;
    tsmith_error error;
    const int code = trace_open(path, &trace);
    if (code != EXIT_DONE)
        return code;
    const tsmith_status status = tsmith_topology_of_trace(trace.dictionary, out, &error);
    trace_close(&trace);
    if (status != TSMITH_OK)
        complain("%s: %s", path, error.message);
    return status == TSMITH_OK ? EXIT_DONE : EXIT_LACKING;
}

static int open_topology(const struct invocation *invocation, tsmith_topology **out) {
    const char *root = invocation_value(invocation, "sysroot"), *path = invocation_value(invocation, "file");
    tsmith_error error;
    if (path && root) {
        complain("--file and --sysroot exclude each other");
        return EXIT_USAGE;
    }
    if (path)
        return open_of_trace(path, out);
    if (tsmith_topology_open(root, out, &error) == TSMITH_OK)
        return EXIT_DONE;
    complain("%s", error.message);
    return EXIT_LACKING;
}

int devices_topology(const struct invocation *invocation) {
    tsmith_topology *topology = NULL;
    struct text text = {0};
    if (invocation_flag(invocation, "xml") && invocation_flag(invocation, "json")) {
        complain("--xml and --json exclude each other");
        return EXIT_USAGE;
    }
    const int code = open_topology(invocation, &topology);
    if (code != EXIT_DONE)
        return code;
    const bool empty = !tsmith_topology_count(topology) ||
                       node_at(topology, 0).kind != TSMITH_TOPOLOGY_GPU; // GPUs come first
    const bool xml = invocation_flag(invocation, "xml");
    if (xml || invocation_flag(invocation, "json")) {
        add_elements(&text, xml, topology);
    } else if (!empty) {
        add_matrix(&text, topology);
        add_legend(&text, topology);
        add_nodes(&text, topology);
    }
    output_text(&text);
    text_finish(&text);
    tsmith_topology_close(topology);
    if (empty)
        complain("no GPU was found in /sys/bus/pci");
    return empty ? EXIT_LACKING : EXIT_DONE;
}

bool topology_add_summary(struct text *line, const tsmith_dictionary *dictionary) {
    tsmith_topology *topology;
    uint32_t count[2] = {0}, used = 0;
    if (tsmith_topology_of_trace(dictionary, &topology, NULL) != TSMITH_OK)
        return false;
    for (size_t i = 0; i < tsmith_topology_count(topology); i++) {
        const tsmith_topology_node node = node_at(topology, i);
        tsmith_topology_path path = {.size = sizeof path};
        count[node.kind == TSMITH_TOPOLOGY_NIC]++;
        for (size_t k = 0; k < i && node.kind == TSMITH_TOPOLOGY_GPU; k++)
            if (tsmith_topology_path_get(topology, i, k, &path))
                used |= 1u << path.kind;
    }
    text_add_counted(line, count[0], "GPU", "GPUs");
    text_add_cstr(line, ", ");
    text_add_counted(line, count[1], "network adapter", "network adapters");
    for (uint32_t kind = 0; used >> kind; kind++)
        if (used >> kind & 1)
            text_add_format(line, "%s%s", used & ((1u << kind) - 1) ? ", " : "; between the GPUs ",
                            tsmith_topology_path_name((tsmith_topology_path_kind)kind));
    text_add_cstr(line, " (tracesmith devices --topology --file FILE)");
    tsmith_topology_close(topology);
    return true;
}
