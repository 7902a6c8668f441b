// SPDX-License-Identifier: Apache-2.0
// What OTF2 calls the system tree: a node for the machine and each host beneath it, a group of locations for each
// process and each device, and every lane of a track as a location.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/otf2/otf2.h"
#include "export/output.h"

// Groups by number: process 0 (none), processes, then devices.
static OTF2_LocationGroupRef device_group(const struct otf2 *otf2, uint32_t device) {
    return tsmith_dictionary_process_count(otf2->dictionary) + device - 1;
}

static OTF2_LocationGroupRef group_of(const struct otf2 *otf2, const tsmith_track *track) {
    if (track && tsmith_dictionary_device(otf2->dictionary, track->device))
        return device_group(otf2, track->device);
    return track && tsmith_dictionary_process(otf2->dictionary, track->process) ? track->process : 0;
}

OTF2_Paradigm otf2_paradigm(const struct otf2 *otf2, uint32_t id) {
    static const struct {
        const char *api;
        OTF2_Paradigm paradigm;
    } paradigms[] = {
        {"opencl", OTF2_PARADIGM_OPENCL}, {"cuda", OTF2_PARADIGM_CUDA}, {"hip", OTF2_PARADIGM_HIP}};
    const tsmith_track *track = tsmith_dictionary_track(otf2->dictionary, id);
    const tsmith_device *device = track ? tsmith_dictionary_device(otf2->dictionary, track->device) : NULL;
    const char *api = tsmith_dictionary_string(otf2->dictionary, device ? device->api : 0).bytes;
    for (size_t i = 0; i < sizeof paradigms / sizeof *paradigms; i++)
        if (strcmp(api, paradigms[i].api) == 0)
            return paradigms[i].paradigm;
    return OTF2_PARADIGM_UNKNOWN;
}

// ---- properties

static OTF2_AttributeValue text_value(struct otf2 *otf2, uint32_t string) {
    return (OTF2_AttributeValue){.stringRef = otf2_string(otf2, string)};
}

static void put_group_text(struct otf2 *otf2, OTF2_LocationGroupRef group, const char *name,
                           uint32_t string) {
    if (tsmith_dictionary_string(otf2->dictionary, string).length)
        otf2_check(otf2,
                   OTF2_GlobalDefWriter_WriteLocationGroupProperty(
                       otf2->definitions, group, otf2_constant(otf2, name), OTF2_TYPE_STRING,
                       text_value(otf2, string)),
                   "a property");
}

static void put_group_number(struct otf2 *otf2, OTF2_LocationGroupRef group, const char *name,
                             uint64_t value) {
    if (value)
        otf2_check(otf2,
                   OTF2_GlobalDefWriter_WriteLocationGroupProperty(
                       otf2->definitions, group, otf2_constant(otf2, name), OTF2_TYPE_UINT64,
                       (OTF2_AttributeValue){.uint64 = value}),
                   "a property");
}

static void put_location_number(struct otf2 *otf2, OTF2_LocationRef location, const char *name,
                                uint64_t value) {
    if (value)
        otf2_check(otf2,
                   OTF2_GlobalDefWriter_WriteLocationProperty(otf2->definitions, location,
                                                              otf2_constant(otf2, name), OTF2_TYPE_UINT64,
                                                              (OTF2_AttributeValue){.uint64 = value}),
                   "a property");
}

// The facts of the trace, and how many events are missing, at the root.
static void put_facts(struct otf2 *otf2) {
    uint32_t count = tsmith_dictionary_attribute_count(otf2->dictionary);
    for (uint32_t i = 1; i < count && otf2->status == TSMITH_OK; i++) {
        const tsmith_attribute *it = tsmith_dictionary_attribute(otf2->dictionary, i);
        otf2_check(
            otf2,
            OTF2_GlobalDefWriter_WriteSystemTreeNodeProperty(otf2->definitions, 0, otf2_string(otf2, it->key),
                                                             OTF2_TYPE_STRING, text_value(otf2, it->value)),
            "a property");
    }
    otf2_check(otf2,
               OTF2_GlobalDefWriter_WriteSystemTreeNodeProperty(otf2->definitions, 0,
                                                                otf2_constant(otf2, "lost"), OTF2_TYPE_UINT64,
                                                                (OTF2_AttributeValue){.uint64 = otf2->lost}),
               "a property");
}

// ---- the clock

static uint64_t calendar(const struct otf2 *otf2, uint64_t time) {
    uint32_t count = tsmith_dictionary_clock_pair_count(otf2->dictionary);
    for (uint32_t i = 1; i < count; i++) {
        const tsmith_clock_pair *pair = tsmith_dictionary_clock_pair(otf2->dictionary, i);
        const tsmith_clock *clock = tsmith_dictionary_clock(otf2->dictionary, pair->clock);
        if (clock && pair->trace_time >= 0 && pair->clock_time >= 0 &&
            strcmp(tsmith_dictionary_string(otf2->dictionary, clock->name).bytes, "CLOCK_REALTIME") == 0)
            return (uint64_t)pair->clock_time + (time - (uint64_t)pair->trace_time);
    }
    return OTF2_UNDEFINED_TIMESTAMP;
}

static void put_clock(struct otf2 *otf2) {
    uint64_t first = otf2->first == UINT64_MAX ? 0 : otf2->first;
    // The length counts the last tick, too.
    otf2_check(otf2,
               OTF2_GlobalDefWriter_WriteClockProperties(otf2->definitions, 1000000000, first,
                                                         otf2->end - first + 1, calendar(otf2, first)),
               "the clock");
}

// ---- nodes and groups

// The node of a host: that of the first process that has it; the root when it is unknown.
static OTF2_SystemTreeNodeRef node_of(const struct otf2 *otf2, uint32_t process) {
    const tsmith_process *it = tsmith_dictionary_process(otf2->dictionary, process);
    if (!it || tsmith_dictionary_string(otf2->dictionary, it->host).length == 0)
        return 0;
    for (uint32_t other = 1; other < process; other++)
        if (tsmith_dictionary_process(otf2->dictionary, other)->host == it->host)
            return other;
    return process;
}

static void put_nodes(struct otf2 *otf2) {
    OTF2_StringRef class_name = otf2_constant(otf2, "node");
    otf2_check(otf2,
               OTF2_GlobalDefWriter_WriteSystemTreeNode(otf2->definitions, 0, otf2_constant(otf2, "trace"),
                                                        otf2_constant(otf2, "machine"),
                                                        OTF2_UNDEFINED_SYSTEM_TREE_NODE),
               "the machine");
    otf2_check(
        otf2,
        OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(otf2->definitions, 0, OTF2_SYSTEM_TREE_DOMAIN_MACHINE),
        "the machine");
    put_facts(otf2);
    uint32_t count = tsmith_dictionary_process_count(otf2->dictionary);
    for (uint32_t id = 1; id < count && otf2->status == TSMITH_OK; id++)
        if (node_of(otf2, id) == id)
            otf2_check(otf2,
                       OTF2_GlobalDefWriter_WriteSystemTreeNode(
                           otf2->definitions, id,
                           otf2_string(otf2, tsmith_dictionary_process(otf2->dictionary, id)->host),
                           class_name, 0),
                       "a host");
}

static void put_process(struct otf2 *otf2, uint32_t id) {
    static const tsmith_process none;
    const tsmith_process *it = id ? tsmith_dictionary_process(otf2->dictionary, id) : &none;
    char text[64];
    int length = id ? snprintf(text, sizeof text, "process %llu", (unsigned long long)it->pid)
                    : snprintf(text, sizeof text, "no process");
    OTF2_StringRef name = tsmith_dictionary_string(otf2->dictionary, it->name).length
                              ? otf2_string(otf2, it->name)
                              : otf2_text(otf2, text, (size_t)length);
    otf2_check(otf2,
               OTF2_GlobalDefWriter_WriteLocationGroup(otf2->definitions, id, name,
                                                       OTF2_LOCATION_GROUP_TYPE_PROCESS, node_of(otf2, id),
                                                       OTF2_UNDEFINED_LOCATION_GROUP),
               "a process");
    put_group_number(otf2, id, "pid", it->pid);
    put_group_number(otf2, id, "parent_pid", it->parent_pid);
    put_group_text(otf2, id, "command_line", it->command_line);
}

static void put_device(struct otf2 *otf2, uint32_t id) {
    const tsmith_device *it = tsmith_dictionary_device(otf2->dictionary, id);
    OTF2_LocationGroupRef group = device_group(otf2, id);
    bool has_process = tsmith_dictionary_process(otf2->dictionary, it->process) != NULL;
    OTF2_StringRef name = tsmith_dictionary_string(otf2->dictionary, it->name).length
                              ? otf2_string(otf2, it->name)
                              : otf2_constant(otf2, "device");
    otf2_check(otf2,
               OTF2_GlobalDefWriter_WriteLocationGroup(
                   otf2->definitions, group, name, OTF2_LOCATION_GROUP_TYPE_ACCELERATOR,
                   node_of(otf2, it->process), has_process ? it->process : OTF2_UNDEFINED_LOCATION_GROUP),
               "a device");
    put_group_text(otf2, group, "vendor", it->vendor);
    put_group_text(otf2, group, "driver", it->driver);
    put_group_text(otf2, group, "api", it->api);
    put_group_text(otf2, group, "type", it->type);
    put_group_text(otf2, group, "identity", it->identity);
    put_group_number(otf2, group, "memory_bytes", it->memory_bytes);
    put_group_number(otf2, group, "compute_units", it->compute_units);
    put_group_number(otf2, group, "clock_mhz", it->clock_mhz);
}

// ---- locations

static OTF2_LocationType type_of(const tsmith_track *track, const struct otf2_lane *lane) {
    switch (track ? (int)track->kind : 0) {
    case TSMITH_TRACK_QUEUE:
    case TSMITH_TRACK_COPY_ENGINE:
        return OTF2_LOCATION_TYPE_ACCELERATOR_STREAM;
    case TSMITH_TRACK_COUNTER: // which no thread enters
        return lane->has_regions ? OTF2_LOCATION_TYPE_CPU_THREAD : OTF2_LOCATION_TYPE_METRIC;
    default:
        return OTF2_LOCATION_TYPE_CPU_THREAD;
    }
}

static void put_locations(struct otf2 *otf2, uint32_t id) {
    const tsmith_track *track = tsmith_dictionary_track(otf2->dictionary, id);
    char room[TSMITH_LABEL_SIZE];
    const tsmith_string text = output_track_name(otf2->dictionary, id, room);
    const OTF2_StringRef name = otf2_text(otf2, text.bytes, text.length);
    for (size_t i = 0; i < otf2->tracks[id]->lane_count && otf2->status == TSMITH_OK; i++) {
        const struct otf2_lane *lane = &otf2->tracks[id]->lanes[i];
        otf2_check(otf2,
                   OTF2_GlobalDefWriter_WriteLocation(otf2->definitions, lane->location, name,
                                                      type_of(track, lane), lane->events,
                                                      group_of(otf2, track)),
                   "a location");
        put_location_number(otf2, lane->location, "track", id);
        put_location_number(otf2, lane->location, "lane", i);
        put_location_number(otf2, lane->location, "tid", track ? track->tid : 0);
        put_location_number(otf2, lane->location, "context", track ? track->context : 0);
        put_location_number(otf2, lane->location, "queue", track ? track->queue : 0);
        put_location_number(otf2, lane->location, "flags", track ? track->flags : 0);
    }
}

void otf2_put_tree(struct otf2 *otf2) {
    put_clock(otf2);
    put_nodes(otf2);
    uint32_t processes = tsmith_dictionary_process_count(otf2->dictionary);
    uint32_t devices = tsmith_dictionary_device_count(otf2->dictionary);
    for (uint32_t id = 0; id < processes && otf2->status == TSMITH_OK; id++)
        put_process(otf2, id);
    for (uint32_t id = 1; id < devices && otf2->status == TSMITH_OK; id++)
        put_device(otf2, id);
    for (size_t id = 0; id < otf2->track_capacity && otf2->status == TSMITH_OK; id++)
        if (otf2->tracks[id])
            put_locations(otf2, (uint32_t)id);
}
