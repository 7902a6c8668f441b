// SPDX-License-Identifier: Apache-2.0
// A consumer of Arrow streams that believes nothing, for the tests of tracesmith/arrow.h. All of these fail the test where a
// rule of the Arrow C data interface is broken.
#ifndef SUPPORT_ARROW_RULES_H
#define SUPPORT_ARROW_RULES_H

#include <stdbool.h>
#include <stdio.h>

#include "support/made_trace.h"
#include "tracesmith/tracesmith.h"

void arrow_check_schema(const struct ArrowSchema *schema);
void arrow_check_array(const struct ArrowSchema *schema, const struct ArrowArray *array);
// Reads all arrays, checks each, and returns their number and how the stream ended.
size_t arrow_read_all(struct ArrowArrayStream *stream, int *code);
// Release, and what a release must leave.
void arrow_drop_schema(struct ArrowSchema *schema);
void arrow_drop_array(struct ArrowArray *array);
void arrow_drop_stream(struct ArrowArrayStream *stream);

bool arrow_bit(const void *bitmap, int64_t at);
bool arrow_is_valid(const struct ArrowArray *array, int64_t row);
bool arrow_is_utf8(const unsigned char *at, size_t left);
tsmith_string utf8_text_at(const struct ArrowArray *array, int64_t row);
int arrow_column_named(const struct ArrowSchema *schema, const char *name); // -1: there is none

// A file with strings that are no UTF-8, lists, booleans, fields of its own and every type.
tsmith_sbt *arrow_make_file(FILE **file, struct made_trace *made);

#endif
