// SPDX-License-Identifier: Apache-2.0
// Finds the peak rates of a device in the attributes of a trace. The analysis `roofline` calls it.
#include "analyze/peaks.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY = 64 };

static bool begins_with(tsmith_string text, tsmith_string with) {
    return with.length && text.length >= with.length && memcmp(text.bytes, with.bytes, with.length) == 0;
}

// Reads a number and the text that must follow it.
static bool take_number(const char **at, const char *unit, uint64_t *out) {
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *out = strtoull(*at, &end, 10);
    *at = end + strlen(unit);
    return strncmp(end, unit, strlen(unit)) == 0;
}

// The CUDA agent's "cuda.device.N": "NAME, compute 9.0 (Hopper), 132 SMs, 1980 MHz, 85029158912 bytes, 3352320000 kB/s, ...".
// Processes may number devices differently, so the attribute must also have the name, the multiprocessors and the size of the
// device.
static double of_cupti(const tsmith_dictionary *dictionary, const tsmith_device *device) {
    char key[KEY], units[KEY];
    uint64_t mhz, bytes, rate;
    (void)snprintf(key, sizeof key, "cuda.device.%" PRIu32, device->number - 1);
    (void)snprintf(units, sizeof units, ", %" PRIu32 " SMs, ", device->compute_units);
    const tsmith_string text = tsmith_dictionary_find_attribute(dictionary, key);
    if (!text.bytes || !device->number ||
        !begins_with(text, tsmith_dictionary_string(dictionary, device->name)))
        return NAN;
    const char *at = strstr(text.bytes, units);
    if (!at)
        return NAN;
    at += strlen(units);
    if (!take_number(&at, " MHz, ", &mhz) || !take_number(&at, " bytes, ", &bytes) ||
        !take_number(&at, " kB/s, ", &rate))
        return NAN;
    return rate && bytes == device->memory_bytes ? (double)rate * 1e3 : NAN;
}

// The importer's "import.device.ID.memory_bandwidth": "3352320000000 B/s, NAME".
static double of_import(const tsmith_dictionary *dictionary, uint32_t id, const tsmith_device *device) {
    char key[KEY];
    uint64_t rate;
    (void)snprintf(key, sizeof key, "import.device.%" PRIu32 ".memory_bandwidth", id);
    const tsmith_string text = tsmith_dictionary_find_attribute(dictionary, key);
    const tsmith_string name = tsmith_dictionary_string(dictionary, device->name);
    const char *at = text.bytes;
    if (!at || !take_number(&at, " B/s, ", &rate))
        return NAN;
    const tsmith_string of = {at, text.length - (size_t)(at - text.bytes)};
    return rate && of.length == name.length && begins_with(of, name) ? (double)rate : NAN;
}

struct peaks peaks_of(const tsmith_dictionary *dictionary, uint32_t device, double flops, double bytes) {
    struct peaks peaks = {.flops = NAN, .bytes = NAN};
    const tsmith_device *entry = device ? tsmith_dictionary_device(dictionary, device) : NULL;
    if (flops > 0) {
        peaks.flops = flops;
        peaks.flops_source = "stated";
    }
    if (bytes > 0) {
        peaks.bytes = bytes;
        peaks.bytes_source = "stated";
    } else if (entry && !isnan(peaks.bytes = of_cupti(dictionary, entry))) {
        peaks.bytes_source = "CUPTI";
    } else if (entry && !isnan(peaks.bytes = of_import(dictionary, device, entry))) {
        peaks.bytes_source = "Nsight Systems";
    }
    return peaks;
}
