// SPDX-License-Identifier: Apache-2.0
// Building text: a growing string, numbers and quantities as people read them, and names from traces made
// safe.
//
// Names come from traces, that is, from anywhere: text_add_safe is the only way they reach a terminal,
// text_add_json and text_add_csv the only ways they reach a file.
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"

// A zeroed struct is empty. After a failed allocation `failed` is set and additions do nothing.
struct text {
    char *bytes;
    size_t length;
    size_t capacity;
    bool failed;
};

void text_finish(struct text *text);
static inline void text_clear(struct text *text) {
    text->length = 0;
}
const char *text_cstr(struct text *text); // NUL-terminated; "" when empty or failed

void text_add(struct text *text, const char *bytes, size_t length);
void text_add_cstr(struct text *text, const char *cstr);
void text_add_char(struct text *text, char c);
void text_add_repeat(struct text *text, char c, size_t count);
void text_add_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_u64(struct text *text, uint64_t value);
void text_add_i64(struct text *text, int64_t value);
// A double that reads back as the same double; "null" when it is no number.
void text_add_f64(struct text *text, double value);
// 1,234,567
void text_add_count(struct text *text, uint64_t value);
// "1 kernel", "1,234 kernels". Every message with a count uses this or plural().
void text_add_counted(struct text *text, uint64_t count, const char *one, const char *many);
// `one` of 1, else `many`.
static inline const char *plural(uint64_t count, const char *one, const char *many) {
    return count == 1 ? one : many;
}
// "once", "17 times"
void text_add_times(struct text *text, uint64_t count);
// Milliseconds with six decimals, exactly: 12.345678
void text_add_milliseconds(struct text *text, int64_t ns);
// At most five characters of number and a unit: "820.1 us", "1.234 s", "17 ns", "-"
void text_add_duration(struct text *text, int64_t ns);
void text_add_bytes(struct text *text, double bytes); // "4.0 MiB"
void text_add_share(struct text *text, double share); // 0.123 is " 12.3%"

// What a terminal may see: control characters, invalid UTF-8 and characters that reorder text are written as
// escapes (\n, \x1b, \u{202e}); at most `columns` wide (0: no limit), with an ellipsis where it was cut.
// Returns the width.
size_t text_add_safe(struct text *text, tsmith_string name, size_t columns);
// A file's name as one word for a shell (POSIX of 2024: bash, zsh, ksh, dash 0.5.13): as it is where that will do, else quoted. What
// text_add_safe would escape is $'\n', so that it can be shown on a terminal. A dash at the beginning gets "./".
void text_add_shell(struct text *text, const char *word);
// A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
void text_add_json(struct text *text, tsmith_string name);
void text_add_json_cstr(struct text *text, const char *cstr);
// As the value of an attribute in XML, with its quotation marks.
void text_add_xml_cstr(struct text *text, const char *cstr);
// A CSV field as RFC 4180 has it: quoted when it must be. NUL becomes U+FFFD, as do bytes that are not UTF-8.
void text_add_csv(struct text *text, tsmith_string name);

// CSV as it may come from anywhere, with its cells guarded as text_add_csv guards them.
void text_add_guarded_csv(struct text *text, const char *bytes, size_t length);
// Whether texts in CSV stay as they are that a spreadsheet takes for a formula. Otherwise they get a ' before them; so do
// those that begin with one, so that a reader gets every text back by taking away one '.
void text_csv_exact(bool exact);
// Lines for a terminal: what text_add_safe would escape is escaped, but for ends of lines and tabs. In JSON as JSON has it.
void text_add_lines(struct text *text, const char *bytes, size_t length, bool json);
// Words, wrapped at `width` columns; the first begins at `column`, lines after the first with `indent` spaces. Ends the
// line. Of safe text.
void text_add_wrapped(struct text *text, tsmith_string words, size_t indent, size_t column, size_t width);
// Wraps what was added from `from` on, line by line; lines after the first of each begin with `indent` spaces. Of safe text.
void text_wrap(struct text *text, size_t from, size_t indent, size_t width);
// Pads what was added since `from` to `width` columns, given how wide it is.
void text_pad_left(struct text *text, size_t from, size_t width);
void text_pad_right(struct text *text, size_t columns, size_t width);
// Cuts what was added since `from` to `width` columns. Colors (ESC [ ... m) take none and are kept.
void text_cut(struct text *text, size_t from, size_t width);
// Columns that safe text (as text_add_safe makes it) takes.
size_t text_columns(const char *bytes, size_t length);

static inline tsmith_string text_string(const char *cstr) {
    return (tsmith_string){cstr, __builtin_strlen(cstr)};
}

#endif
