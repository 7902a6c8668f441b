// SPDX-License-Identifier: Apache-2.0
// The top-level keys of Chrome's JSON other than the events, each preceded by a comma.
#ifndef EXPORT_CHROME_TOP_H
#define EXPORT_CHROME_TOP_H

#include <stdbool.h>

#include "event/category.h"
#include "export/json_out.h"

// What our importer takes back for what it was, when it comes first.
#define CHROME_PRODUCER "\"producer\":\"" CATEGORY_PRODUCER "\""

// Whether the file that was imported had that.
bool chrome_by_us(const tsmith_dictionary *dictionary);
// The keys of the file that was imported; `without_producer`: but this one.
void chrome_put_top_keys(struct json_out *json, const tsmith_dictionary *dictionary, bool without_producer);
// Facts of a trace of our own, under the key that the format has for them.
void chrome_put_other_data(struct json_out *json, const tsmith_dictionary *dictionary);
// `"stackFrames":{...}`: every call path of the dictionary under its number, which events have as "sf". The
// functions that a frame's innermost one is inlined into are N.1, N.2... False when memory is exhausted.
bool chrome_put_stacks(struct output *output, const tsmith_dictionary *dictionary);

#endif
