// SPDX-License-Identifier: Apache-2.0
// Rows of cells from XML.
//
//   trace-query-result > node > schema > col > mnemonic          what the columns are called
//                             > row > CELL [> element ...]       in the order of the columns
//
// A node without a schema has the columns of the one before. An element with an id is written once; repetitions, also
// within another cell or row, are an element with that number as its ref. Times are elements as well, so ids are as
// many as rows: of plain numbers only the latest can be referred to, of everything else a bounded number.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/table.h"
#include "import/xctrace/xctrace.h"

enum { OTHERS_MAX = 1 << 20, PARTS_MAX = 1 << 20, STACK_TEXT = 32 << 10 };

static void copy_name(char into[XCTRACE_NAME], const char *name) {
    size_t length = strnlen(name, XCTRACE_NAME - 1);
    memcpy(into, name, length);
    into[length] = '\0';
}

static const char *attribute(const char **attributes, const char *name) {
    for (; *attributes; attributes += 2)
        if (strcmp(attributes[0], name) == 0)
            return attributes[1];
    return NULL;
}

static uint32_t intern(struct xctrace *xctrace, const char *text) {
    return tsmith_dictionary_intern_cstr(xctrace->dictionary, text);
}

// ---- what can be referred to

static uint64_t hash_of(uint64_t id) {
    return id * 0x9e3779b97f4a7c15u >> 32;
}

static struct xctrace_known *other_slot(const struct xctrace *xctrace, uint64_t id) {
    return TABLE_SLOT(xctrace->others, xctrace->other_slots, hash_of(id), slot, !slot->id || slot->id == id);
}

static bool grow_numbers(struct xctrace *xctrace) {
    struct xctrace_number *old = xctrace->numbers;
    size_t had = xctrace->number_slots, slots = had ? had * 2 : 1024;
    struct xctrace_number *numbers = calloc(slots, sizeof *numbers);
    if (!numbers)
        return false;
    for (size_t i = 0; i < had; i++)
        if (old[i].id)
            numbers[old[i].id & (slots - 1)] = old[i];
    free(old);
    xctrace->numbers = numbers;
    xctrace->number_slots = slots;
    return true;
}

static void remember_number(struct xctrace *xctrace, uint64_t id, int64_t number) {
    while (id >= xctrace->number_slots && xctrace->number_slots < XCTRACE_NUMBERS) {
        if (!grow_numbers(xctrace)) {
            xctrace->failed = true;
            return;
        }
    }
    xctrace->numbers[id & (xctrace->number_slots - 1)] = (struct xctrace_number){id, number};
}

static void remember_value(struct xctrace *xctrace, uint64_t id, struct xctrace_value value) {
    if (!id)
        return;
    if (value.form == XCTRACE_NUMBER) {
        remember_number(xctrace, id, value.number);
        return;
    }
    if (xctrace->other_count >= OTHERS_MAX) {
        xctrace->too_many++;
        return;
    }
    if (!TABLE_ROOM(xctrace->others, xctrace->other_slots, xctrace->other_count, 1024, slot, slot->id,
                    hash_of(slot->id))) {
        xctrace->failed = true;
        return;
    }
    struct xctrace_known *known = other_slot(xctrace, id);
    xctrace->other_count += known->id == 0;
    *known = (struct xctrace_known){id, value};
}

static struct xctrace_value recall_value(struct xctrace *xctrace, uint64_t id) {
    const struct xctrace_number *number =
        xctrace->number_slots ? &xctrace->numbers[id & (xctrace->number_slots - 1)] : NULL;
    if (id && number && number->id == id)
        return (struct xctrace_value){XCTRACE_NUMBER, number->number, 0};
    const struct xctrace_known *other = id && xctrace->other_slots ? other_slot(xctrace, id) : NULL;
    if (other && other->id)
        return other->value;
    xctrace->dangling++;
    return (struct xctrace_value){.form = XCTRACE_NONE};
}

// ---- values

// The text that was read, without the space around it.
static const char *trimmed_text(struct xctrace *xctrace) {
    char *from = xctrace->text, *end = xctrace->text + xctrace->text_length;
    while (from < end && strchr(" \t\r\n", *from) && *from)
        from++;
    while (end > from && strchr(" \t\r\n", end[-1]) && end[-1])
        end--;
    *end = '\0';
    return from;
}

static bool read_number(const char *text, int64_t *out) {
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool plain = (*text >= '0' && *text <= '9') || (*text == '-' && text[1] >= '0' && text[1] <= '9');
    if (!plain || *end || errno)
        return false;
    *out = number;
    return true;
}

// "name (123)"
static bool pid_of_text(tsmith_string text, int64_t *pid) {
    char digits[24];
    const char *open = text.length ? memrchr(text.bytes, '(', text.length) : NULL;
    size_t length = open ? strcspn(open + 1, ")") : 0;
    if (!length || length >= sizeof digits || open[1 + length] != ')')
        return false;
    memcpy(digits, open + 1, length);
    digits[length] = '\0';
    return read_number(digits, pid);
}

// The frames of the stack that was read, the outermost first.
static uint32_t stack_text(struct xctrace *xctrace) {
    char text[STACK_TEXT];
    size_t used = 0;
    for (size_t i = xctrace->frame_count; i-- > 0;) {
        tsmith_string frame = tsmith_dictionary_string(xctrace->dictionary, xctrace->frames[i]);
        if (used + frame.length + 1 > sizeof text) {
            xctrace->cut_texts++;
            break;
        }
        if (used)
            text[used++] = ';';
        memcpy(text + used, frame.bytes, frame.length);
        used += frame.length;
    }
    return tsmith_dictionary_intern(xctrace->dictionary, text, used);
}

static struct xctrace_value nested_value(struct xctrace *xctrace, struct xctrace_element *element) {
    struct xctrace_part *part = &element->part;
    if (part->is_stack && xctrace->frame_count) {
        part->leaf = xctrace->frames[0];
        part->text = stack_text(xctrace);
        xctrace->frame_count = 0;
    } else if (!part->is_stack || !part->text) {
        part->text = intern(xctrace, element->shown);
    }
    if (!part->has_pid && strcmp(element->tag, "process") == 0)
        part->has_pid = pid_of_text(tsmith_dictionary_string(xctrace->dictionary, part->text), &part->pid);
    if (xctrace->part_count == PARTS_MAX) {
        xctrace->too_many++;
        return (struct xctrace_value){XCTRACE_TEXT_VALUE, 0, part->text};
    }
    if (!ARRAY_RESERVE(xctrace->parts, xctrace->part_capacity, xctrace->part_count + 1)) {
        xctrace->failed = true;
        return (struct xctrace_value){.form = XCTRACE_NONE};
    }
    xctrace->parts[xctrace->part_count] = *part;
    return (struct xctrace_value){XCTRACE_NESTED, (int64_t)xctrace->part_count++, part->text};
}

static struct xctrace_value value_of(struct xctrace *xctrace, struct xctrace_element *element) {
    struct xctrace_value value = {.form = XCTRACE_TEXT_VALUE};
    if (element->is_reference)
        return element->referred;
    if (element->has_parts || strcmp(element->tag, "process") == 0)
        return nested_value(xctrace, element);
    const char *text = trimmed_text(xctrace);
    if (read_number(text, &value.number))
        value.form = XCTRACE_NUMBER;
    else if (*text)
        value.text = intern(xctrace, text);
    else if (*element->shown)
        value.text = intern(xctrace, element->shown);
    else
        value.form = XCTRACE_NONE;
    return value;
}

// Stores the value of an element in the element around it.
static void set_part(struct xctrace *xctrace, struct xctrace_part *part, const char *tag,
                     struct xctrace_value value) {
    const struct xctrace_part *inner =
        value.form == XCTRACE_NESTED ? &xctrace->parts[value.number] : &(struct xctrace_part){0};
    if (strcmp(tag, "pid") == 0 && value.form == XCTRACE_NUMBER) {
        part->pid = value.number;
        part->has_pid = true;
    } else if (strcmp(tag, "tid") == 0 && value.form == XCTRACE_NUMBER) {
        part->tid = value.number;
        part->has_tid = true;
    } else if (strcmp(tag, "frame") == 0 && value.text) {
        part->is_stack = true;
        if (xctrace->frame_count < XCTRACE_FRAMES)
            xctrace->frames[xctrace->frame_count++] = value.text;
        else
            xctrace->cut_texts++;
    } else if (strcmp(tag, "string") == 0 && value.form == XCTRACE_TEXT_VALUE && !part->leaf) {
        part->leaf = value.text;
    } else if (inner->is_stack) {
        part->is_stack = true;
        part->text = inner->text;
        part->leaf = inner->leaf;
    }
    if (strcmp(tag, "process") == 0)
        part->process = value.text;
    if (!part->has_pid && inner->has_pid) {
        part->pid = inner->pid;
        part->has_pid = true;
    }
    if (!part->has_tid && inner->has_tid) {
        part->tid = inner->tid;
        part->has_tid = true;
    }
}

// ---- elements

static void open_in_row(struct xctrace *xctrace, const char *tag, const char **attributes) {
    if (xctrace->open_count == XCTRACE_DEPTH) {
        xctrace->too_deep++;
        return;
    }
    struct xctrace_element *element = &xctrace->open[xctrace->open_count++];
    element->part = (struct xctrace_part){0};
    element->is_reference = element->has_parts = false;
    copy_name(element->tag, tag);
    const char *id = attribute(attributes, "id"), *shown = attribute(attributes, "fmt"),
               *reference = attribute(attributes, "ref");
    element->id = id ? strtoull(id, NULL, 10) : 0;
    shown = shown ? shown : attribute(attributes, "name");
    size_t length = shown ? strnlen(shown, sizeof element->shown) : 0;
    if (length == sizeof element->shown) {
        length--;
        xctrace->cut_texts++;
    }
    if (length)
        memcpy(element->shown, shown, length);
    element->shown[length] = '\0';
    if (reference) {
        element->is_reference = true;
        element->referred = recall_value(xctrace, strtoull(reference, NULL, 10));
    }
    xctrace->text_length = 0;
}

static void close_in_row(struct xctrace *xctrace) {
    if (xctrace->too_deep) {
        xctrace->too_deep--;
        xctrace->row_is_bad = true;
        return;
    }
    struct xctrace_element *element = &xctrace->open[xctrace->open_count - 1];
    struct xctrace_value value = value_of(xctrace, element);
    if (!element->is_reference)
        remember_value(xctrace, element->id, value);
    xctrace->open_count--;
    xctrace->text_length = 0;
    if (xctrace->open_count) {
        struct xctrace_element *around = &xctrace->open[xctrace->open_count - 1];
        around->has_parts = true;
        set_part(xctrace, &around->part, element->tag, value);
    } else if (xctrace->cell_count == XCTRACE_CELLS) {
        xctrace->row_is_bad = true;
    } else {
        struct xctrace_cell *cell = &xctrace->cells[xctrace->cell_count++];
        copy_name(cell->tag, element->tag);
        cell->value = value;
    }
}

static void XMLCALL start(void *data, const char *tag, const char **attributes) {
    struct xctrace *xctrace = data;
    if (++xctrace->levels > XCTRACE_LEVELS) {
        xctrace->why = "elements are nested too deeply";
        (void)XML_StopParser(xctrace->parser, XML_FALSE);
    } else if (xctrace->in_row) {
        open_in_row(xctrace, tag, attributes);
    } else if (strcmp(tag, "row") == 0) {
        xctrace->in_row = true;
        xctrace->row_is_bad = false;
        xctrace->cell_count = xctrace->open_count = xctrace->frame_count = 0;
    } else if (strcmp(tag, "schema") == 0) {
        const char *name = attribute(attributes, "name");
        copy_name(xctrace->schema, name ? name : "");
        xctrace->in_schema = true;
        xctrace->column_count = 0;
        memset(xctrace->column_fields, 0, sizeof xctrace->column_fields);
    } else if (xctrace->in_schema && strcmp(tag, "mnemonic") == 0) {
        xctrace->in_mnemonic = true;
        xctrace->text_length = 0;
    }
}

static void XMLCALL end(void *data, const char *tag) {
    struct xctrace *xctrace = data;
    xctrace->levels--;
    if (xctrace->in_row && (xctrace->open_count || xctrace->too_deep)) {
        close_in_row(xctrace);
    } else if (xctrace->in_row) {
        xctrace->in_row = false;
        xctrace->rows++;
        if (xctrace->row_is_bad)
            xctrace->bad_rows++;
        else
            xctrace_add_row(xctrace);
    } else if (xctrace->in_mnemonic) {
        xctrace->in_mnemonic = false;
        if (xctrace->column_count < XCTRACE_CELLS)
            copy_name(xctrace->columns[xctrace->column_count++], trimmed_text(xctrace));
    } else if (strcmp(tag, "schema") == 0) {
        xctrace->in_schema = false;
    }
}

static void XMLCALL add_text(void *data, const char *text, int length) {
    struct xctrace *xctrace = data;
    if (!xctrace->in_mnemonic && !xctrace->open_count)
        return;
    size_t room = sizeof xctrace->text - 1 - xctrace->text_length, taken = (size_t)length;
    if (taken > room) {
        taken = room;
        xctrace->cut_texts++;
    }
    memcpy(xctrace->text + xctrace->text_length, text, taken);
    xctrace->text_length += taken;
}

// Entities are declared in a document type. xctrace writes none; a file that has one is rejected as hostile.
static void XMLCALL refuse_doctype(void *data, const char *name, const char *system, const char *public,
                                   int has_subset) {
    struct xctrace *xctrace = data;
    (void)name, (void)system, (void)public, (void)has_subset;
    xctrace->why = "it declares a document type";
    (void)XML_StopParser(xctrace->parser, XML_FALSE);
}

bool xctrace_parse_begin(struct xctrace *xctrace) {
    xctrace->parser = XML_ParserCreate(NULL);
    if (!xctrace->parser)
        return false;
    XML_SetUserData(xctrace->parser, xctrace);
    XML_SetElementHandler(xctrace->parser, start, end);
    XML_SetCharacterDataHandler(xctrace->parser, add_text);
    XML_SetStartDoctypeDeclHandler(xctrace->parser, refuse_doctype);
    return true;
}

void xctrace_parse_finish(struct xctrace *xctrace) {
    if (xctrace->parser)
        XML_ParserFree(xctrace->parser);
    free(xctrace->numbers);
    free(xctrace->others);
    free(xctrace->parts);
}
