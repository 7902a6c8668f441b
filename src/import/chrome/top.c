// SPDX-License-Identifier: Apache-2.0
// What a Chrome trace has besides its events: an attribute each, and the devices; and what the file has behind its end.
#include <stdlib.h>
#include <string.h>

#include "import/chrome/rows.h"
#include "import/json_scan.h"

// The value of a member of the object text[0 .. length), which has no spaces; NULL when there is none. Members of
// nested objects are not distinguished: deviceProperties has none.
static const char *member_value(const char *text, size_t length, const char *key) {
    const char *found = memmem(text, length, key, strlen(key));
    return found ? found + strlen(key) : NULL;
}

static uint64_t member_number(const char *text, size_t length, const char *key) {
    const char *at = member_value(text, length, key);
    struct json_number number;
    if (!at || !json_number_read(at, text + length, &number) || !number.integral || !number.exact ||
        number.negative)
        return 0;
    return number.mantissa;
}

static void add_device(struct chrome *chrome, const char *text, size_t length) {
    struct rows *rows = chrome->rows;
    tsmith_dictionary *dictionary = chrome->dictionary;
    uint64_t id = member_number(text, length, "\"id\":");
    uint32_t *slot = tracks_device(rows, id);
    if (!slot)
        return;
    const char *name = member_value(text, length, "\"name\":\""), *quote = NULL;
    bool plain = true;
    if (name)
        quote = json_string_end(name, text + length, &plain);
    uint64_t units = member_number(text, length, "\"numSms\":");
    tsmith_device device = {
        .name = quote ? texts_string(&chrome->texts, name, (size_t)(quote - name), plain) : 0,
        .type = tsmith_dictionary_intern_cstr(dictionary, "gpu"),
        .memory_bytes = member_number(text, length, "\"totalGlobalMem\":"),
        .compute_units = units <= UINT32_MAX ? (uint32_t)units : 0,
        .number = (uint32_t)id + 1,
    };
    if (!*slot)
        *slot = tsmith_dictionary_add_device(dictionary, &device);
}

// The objects of the array, one by one.
static void add_devices(struct chrome *chrome, const char *text, size_t length) {
    char *padded = malloc(length + INPUT_PADDING);
    if (!padded) {
        chrome->rows->failed = true;
        return;
    }
    memcpy(padded, text, length);
    memset(padded + length, 0, INPUT_PADDING);
    const char *at = padded + 1, *end = padded + length;
    while (at < end && (at = memchr(at, '{', (size_t)(end - at)))) {
        const char *after = json_nested_end(at, end);
        if (!after)
            break;
        add_device(chrome, at, (size_t)(after - at));
        at = after;
    }
    free(padded);
}

void rows_add_top(struct chrome *chrome, const char *key, size_t key_length, const char *text,
                  size_t length) {
    enum text_form form;
    char name[128] = "trace.";
    own_recognize(chrome, key, key_length, text, length);
    if (key_length == 11 && memcmp(key, "stackFrames", 11) == 0)
        frames_read(chrome, text, length);
    if (key_length > sizeof name - 7) {
        chrome->problems.counts[PROBLEM_MALFORMED_VALUE]++;
        return;
    }
    memcpy(name + 6, key, key_length);
    tsmith_attribute attribute = {tsmith_dictionary_intern(chrome->dictionary, name, key_length + 6),
                                  texts_json_once(&chrome->texts, text, length, &form)};
    (void)tsmith_dictionary_add_attribute(chrome->dictionary, &attribute);
    if (key_length == 16 && memcmp(key, "deviceProperties", 16) == 0 && form == TEXT_JSON) {
        tsmith_string json = tsmith_dictionary_string(chrome->dictionary, attribute.value);
        add_devices(chrome, json.bytes, json.length);
    }
}

tsmith_status reader_finish(struct chrome *chrome, uint64_t events, tsmith_error *error) {
    struct input *input = &chrome->input;
    bool spaces;
    tsmith_status status = input_drain(input, &spaces, error);
    if (status < 0)
        return status;
    chrome->problems.counts[PROBLEM_TRAILING] += !spaces;
    if (!input->cut)
        return TSMITH_END;
    chrome->problems.counts[PROBLEM_CONTAINER]++;
    uint64_t offset = input->offset + input->end;
    return status_set_at(
        error, TSMITH_TRUNCATED, offset, events,
        "%s: the compressed data is damaged (%s, found after %llu bytes of it were unpacked): "
        "values among the %llu events that were read may be wrong",
        chrome->name, input->problem, (unsigned long long)offset, (unsigned long long)events);
}
