// SPDX-License-Identifier: Apache-2.0
// Values as JSON text.
#ifndef EXPORT_JSON_OUT_H
#define EXPORT_JSON_OUT_H

#include "export/output.h"
#include "tracesmith/dictionary.h"

// What is known of the strings of a dictionary, by id, and the text of doubles seen before.
struct json_out {
    struct output *output;
    uint8_t *known;
    size_t known_capacity;
    struct json_double *doubles; // a small cache
    bool failed;
};

void json_out_finish(struct json_out *json);

// A string of the dictionary, quoted and escaped.
void json_out_string_id(struct json_out *json, const tsmith_dictionary *dictionary, uint32_t id);
// The same for any bytes.
void json_out_string(struct output *output, const char *bytes, size_t length);
// A string of the dictionary that should be JSON: as it is when it is, else as a string.
void json_out_raw_id(struct json_out *json, const tsmith_dictionary *dictionary, uint32_t id);
// The shortest text that reads back as the same double, with a point or exponent in it; NaN and infinities as
// strings.
void json_out_double(struct json_out *json, uint64_t bits);

void json_out_i64(struct output *output, int64_t value);
void json_out_u64(struct output *output, uint64_t value);
// ns (and 10^-6 ns) as microseconds with the decimals they need.
void json_out_us(struct output *output, int64_t ns, int64_t rest);

#endif
