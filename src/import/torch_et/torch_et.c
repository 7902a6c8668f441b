// SPDX-License-Identifier: Apache-2.0
// The file is one JSON object whose member "nodes" is an array. It is read node by node, so its size does not matter. Each node
// becomes an event of kind range without a time, on the thread it names. Members become fields "et_NAME". Older schemas have inputs, input_shapes
// and so on as members of the node; newer ones have them in objects, and further members as a list of attributes: both get
// the same fields.
#include "import/torch_et/torch_et.h"

#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "import/json_members.h"
#include "import/rows_source.h"
#include "import/texts.h"

enum { LOOK_BYTES = 4096, NODES_PER_RUN = 256, NAME_MAX_LENGTH = 128 };

enum place { BEFORE, IN_NODES, BEHIND };

struct torch_et {
    struct rows_source rows;
    struct texts texts;
    struct problems problems;
    struct table tracks; // by thread
    enum place place;
    uint32_t process;
    uint64_t nodes;
};

// ---- whether it is one

bool torch_et_is(struct input *input) {
    while (input->end - input->begin < LOOK_BYTES && !input->ended && input_more(input, NULL) == TSMITH_OK)
        ;
    const char *at = input->window + input->begin, *end = input->window + input->end;
    at = json_skip_space(at, end);
    if (at >= end || *at != '{')
        return false;
    struct json_members members = {at + 1, end, false};
    struct json_value key, value;
    bool schema = false;
    while (json_next(&members, &key, &value)) {
        if (json_value_is(&key, "nodes") || value.type == '{' || value.type == '[')
            return schema && json_value_is(&key, "nodes") && value.type == '[';
        schema |= json_value_is(&key, "schema") && value.type == '"';
    }
    // The nodes need not end in what was read: their name must be there.
    at = json_skip_space(members.at, end);
    if (at < end && *at == ',')
        at++;
    at = json_value_read(at, end, &key);
    at = at ? json_skip_space(at, end) : NULL;
    if (!schema || !at || at >= end || *at != ':' || !json_value_is(&key, "nodes"))
        return false;
    at = json_skip_space(at + 1, end);
    return at < end && *at == '[';
}

// ---- values

static uint64_t bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void set(struct torch_et *et, tsmith_batch *batch, const char *name, size_t length, tsmith_type type,
                const char *unit, uint64_t bits) {
    char text[NAME_MAX_LENGTH + 4] = "et_";
    if (length > NAME_MAX_LENGTH)
        length = NAME_MAX_LENGTH;
    memcpy(text + 3, name, length);
    text[3 + length] = '\0';
    const uint32_t field = tsmith_dictionary_field(et->rows.dictionary, text, type, unit);
    if (!field || tsmith_batch_set_dynamic(batch, field, type, bits) == TSMITH_ERROR_NO_MEMORY)
        et->rows.failed = true;
}

static void set_value(struct torch_et *et, tsmith_batch *batch, const char *name, size_t length,
                      const struct json_value *value) {
    struct json_number number;
    enum text_form form = TEXT_JSON;
    if (value->type == '"') {
        if (value->length)
            set(et, batch, name, length, TSMITH_TYPE_STRING, "",
                texts_string(&et->texts, value->at, value->length, value->plain));
    } else if (value->type != 'n') {
        set(et, batch, name, length, TSMITH_TYPE_STRING, "json",
            texts_json(&et->texts, value->at, value->length, &form));
    } else if (json_value_is(value, "null")) {
        return;
    } else if (json_value_is(value, "true") || json_value_is(value, "false")) {
        set(et, batch, name, length, TSMITH_TYPE_BOOL, "", *value->at == 't');
    } else if (json_number_read(value->at, value->at + value->length + 1, &number) !=
               value->at + value->length) {
        set(et, batch, name, length, TSMITH_TYPE_STRING, "json",
            texts_json(&et->texts, value->at, value->length, &form));
    } else if (number.integral && number.exact && number.exponent == 0 && number.mantissa <= INT64_MAX) {
        set(et, batch, name, length, TSMITH_TYPE_I64, "",
            number.negative ? -number.mantissa : number.mantissa);
    } else {
        set(et, batch, name, length, TSMITH_TYPE_F64, "",
            bits_of_double(json_number_double(&number, value->at, value->length)));
    }
}

// {"values": .., "shapes": .., "types": ..} of newer schemas: the names that older ones have.
static void set_data(struct torch_et *et, tsmith_batch *batch, const char *stem,
                     const struct json_value *object) {
    struct json_members members = json_members(object);
    struct json_value key, value;
    while (json_next(&members, &key, &value)) {
        char name[NAME_MAX_LENGTH];
        size_t length = strlen(stem);
        memcpy(name, stem, length);
        if (!json_value_is(&key, "values")) {
            length--; // "inputs", "shapes": input_shapes
            if (key.length + length + 2 > sizeof name)
                continue;
            name[length++] = '_';
            memcpy(name + length, key.at, key.length);
            length += key.length;
        }
        set_value(et, batch, name, length, &value);
    }
}

static void set_attributes(struct torch_et *et, tsmith_batch *batch, const struct json_value *list) {
    struct json_members items = json_members(list);
    struct json_value item, name, value;
    while (json_next(&items, NULL, &item))
        if (json_member(&item, "name", &name) && name.type == '"' && json_member(&item, "value", &value))
            set_value(et, batch, name.at, name.length, &value);
}

// ---- nodes

static bool number_of(const struct json_value *value, uint64_t *out) {
    struct json_number number;
    if (value->type != 'n' ||
        json_number_read(value->at, value->at + value->length + 1, &number) != value->at + value->length ||
        !number.integral || !number.exact || number.negative || number.exponent != 0)
        return false;
    *out = number.mantissa;
    return true;
}

// A member of the node, or one of its attributes.
static bool find(const struct json_value *node, const char *key, struct json_value *out) {
    struct json_value list, item, name;
    if (json_member(node, key, out))
        return true;
    if (!json_member(node, "attrs", &list) || list.type != '[')
        return false;
    struct json_members items = json_members(&list);
    while (json_next(&items, NULL, &item))
        if (json_member(&item, "name", &name) && json_value_is(&name, key) &&
            json_member(&item, "value", out))
            return true;
    return false;
}

static uint32_t track_of(struct torch_et *et, const struct json_value *node) {
    struct json_value value;
    uint64_t thread = 0;
    bool is_new;
    const bool known = find(node, "tid", &value) && number_of(&value, &thread);
    uint64_t *slot = table_add(&et->tracks, known ? thread : UINT64_MAX, &is_new);
    if (!slot)
        return 0;
    if (is_new) {
        const tsmith_track track = {
            .kind = known ? TSMITH_TRACK_THREAD : TSMITH_TRACK_CUSTOM, .process = et->process, .tid = thread};
        *slot = tsmith_dictionary_add_track(et->rows.dictionary, &track);
    }
    return (uint32_t)*slot;
}

static void set_member(struct torch_et *et, tsmith_batch *batch, const struct json_value *key,
                       const struct json_value *value) {
    if (json_value_is(key, "name") && value->type == '"')
        (void)tsmith_batch_set(batch, TSMITH_FIELD_NAME,
                               texts_string(&et->texts, value->at, value->length, value->plain));
    else if (json_value_is(key, "inputs") && value->type == '{')
        set_data(et, batch, "inputs", value);
    else if (json_value_is(key, "outputs") && value->type == '{')
        set_data(et, batch, "outputs", value);
    else if (json_value_is(key, "attrs") && value->type == '[')
        set_attributes(et, batch, value);
    else if (json_value_is(key, "ctrl_deps")) // what older schemas call parent
        set_value(et, batch, "parent", strlen("parent"), value);
    else
        set_value(et, batch, key->at, key->length, value);
}

static void read_node(struct torch_et *et, const struct json_value *node) {
    struct json_members members = json_members(node);
    struct json_value key, value;
    uint64_t id;
    while (json_next(&members, &key, &value))
        ;
    if (node->type != '{' || members.bad || !json_member(node, "id", &value) || !number_of(&value, &id)) {
        rows_source_bad(&et->rows, rows_source_at(&et->rows, node->at));
        return;
    }
    const uint32_t track = track_of(et, node);
    tsmith_batch *batch = track ? gather_row(&et->rows.gather, track, 0, TSMITH_KIND_RANGE, 0, 0) : NULL;
    if (!batch) {
        et->rows.failed = true;
        return;
    }
    (void)tsmith_batch_set(batch, TSMITH_FIELD_CERTAINTY, TSMITH_CERTAINTY_UNTIMED);
    members = json_members(node);
    while (json_next(&members, &key, &value))
        set_member(et, batch, &key, &value);
    et->nodes++;
}

// ---- the file

static void set_fact(struct torch_et *et, const struct json_value *key, const struct json_value *value) {
    char name[NAME_MAX_LENGTH + 8] = "trace.";
    uint64_t pid;
    enum text_form form;
    const size_t length = key->length < NAME_MAX_LENGTH ? key->length : NAME_MAX_LENGTH;
    memcpy(name + 6, key->at, length);
    name[6 + length] = '\0';
    const uint32_t text = value->type == '"'
                              ? texts_string(&et->texts, value->at, value->length, value->plain)
                              : texts_json_once(&et->texts, value->at, value->length, &form);
    tsmith_dictionary_set_attribute(et->rows.dictionary, name,
                                    tsmith_dictionary_string(et->rows.dictionary, text).bytes);
    if (json_value_is(key, "pid") && number_of(value, &pid) && !et->process && et->place == BEFORE) {
        const tsmith_process process = {.pid = pid};
        et->process = tsmith_dictionary_add_process(et->rows.dictionary, &process);
    }
}

// The next member of the file, or the beginning of the nodes. False when it does not end in the window.
static bool read_top(struct torch_et *et, const char *at, const char *end) {
    struct json_value key, value;
    const char *past;
    if (at < end && *at == ',')
        at = json_skip_space(at + 1, end);
    if (at < end && *at == '}') {
        et->rows.input.begin = (size_t)(at + 1 - et->rows.input.window);
        rows_source_end(&et->rows, "nodes");
        return true;
    }
    past = json_value_read(at, end, &key);
    past = past ? json_skip_space(past, end) : NULL;
    if (!past || past >= end || *past != ':')
        return false;
    at = json_skip_space(past + 1, end);
    if (at < end && *at == '[' && et->place == BEFORE && json_value_is(&key, "nodes")) {
        et->place = IN_NODES;
        past = at + 1;
    } else {
        past = json_value_read(at, end, &value);
        if (!past)
            return false;
        set_fact(et, &key, &value);
    }
    et->rows.input.begin = (size_t)(past - et->rows.input.window);
    return true;
}

static bool read_item(struct torch_et *et, const char *at, const char *end) {
    struct json_value node;
    if (at < end && *at == ',')
        at = json_skip_space(at + 1, end);
    if (at < end && *at == ']') {
        et->place = BEHIND;
        et->rows.input.begin = (size_t)(at + 1 - et->rows.input.window);
        return true;
    }
    const char *past = json_value_read(at, end, &node);
    if (!past)
        return false;
    read_node(et, &node);
    et->rows.input.begin = (size_t)(past - et->rows.input.window);
    return true;
}

static void run(struct rows_source *rows) {
    struct torch_et *et = (struct torch_et *)rows;
    struct input *input = &rows->input;
    for (int i = 0; i < NODES_PER_RUN && !rows->over && !rows->failed; i++) {
        const char *end = input->window + input->end,
                   *at = json_skip_space(input->window + input->begin, end);
        if (et->place == IN_NODES ? read_item(et, at, end) : read_top(et, at, end))
            continue;
        const tsmith_status status = input->ended ? TSMITH_END : input_more(input, NULL);
        if (status == TSMITH_OK)
            continue;
        rows_source_cut(rows, input->offset + input->begin,
                        status != TSMITH_ERROR_LIMIT ? "the file ends within a node or before its end"
                                                     : "a node is larger than 64 MiB");
        input->begin = input->end;
        rows_source_end(rows, "nodes");
    }
    rows->failed |= et->texts.failed;
}

static void release(struct rows_source *rows) {
    struct torch_et *et = (struct torch_et *)rows;
    texts_finish(&et->texts);
    table_finish(&et->tracks);
    free(et);
}

tsmith_status torch_et_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error) {
    struct torch_et *et = calloc(1, sizeof *et);
    if (!et)
        return rows_source_no_memory(input, name, error);
    et->rows.run = run;
    et->rows.release = release;
    tsmith_status status = rows_source_open(&et->rows, input, name, "torch-et", out, error);
    if (status != TSMITH_OK)
        return status;
    et->texts = (struct texts){.dictionary = et->rows.dictionary, .problems = &et->problems};
    input = &et->rows.input;
    input->begin =
        (size_t)(json_skip_space(input->window + input->begin, input->window + input->end) - input->window) +
        1;
    return TSMITH_OK;
}
