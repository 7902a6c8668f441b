// SPDX-License-Identifier: Apache-2.0
// Names of any bytes: a terminal gets no control character and no more columns than it has, JSON and CSV stay well
// formed. Quantities of any bytes: a value, or refused.
#include "../cli/options/quantity.c"
#include "../cli/present/text.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool right) {
    if (!right)
        abort();
}

static bool is_utf8(const struct text *text) {
    for (size_t i = 0, size; i < text->length; i += size)
        if (decode((const unsigned char *)text->bytes + i, text->length - i, &size) == INVALID)
            return false;
    return true;
}

static bool has_control(const struct text *text) {
    for (size_t i = 0, size; i < text->length; i += size) {
        uint32_t code = decode((const unsigned char *)text->bytes + i, text->length - i, &size);
        if (code < 0x20 || is_tricky(code))
            return true;
    }
    return false;
}

static void try_safe(tsmith_string name, size_t columns) {
    struct text text = {0};
    size_t width = text_add_safe(&text, name, columns);
    require(is_utf8(&text) && !has_control(&text));
    require(!columns || width <= columns);
    require(text_columns(text.bytes ? text.bytes : "", text.length) == width);
    if (columns > 1 && text.length) {
        text_cut(&text, 0, columns - 1);
        require(text_columns(text.bytes, text.length) < columns);
    }
    text_finish(&text);
}

static void try_json(tsmith_string name) {
    struct text text = {0};
    text_add_json(&text, name);
    require(is_utf8(&text) && !has_control(&text));
    require(text.length >= 2 && text.bytes[0] == '"' && text.bytes[text.length - 1] == '"');
    for (size_t i = 1; i + 1 < text.length; i++) {
        if (text.bytes[i] == '\\')
            i++; // what is escaped is inside, too
        else
            require(text.bytes[i] != '"');
        require(i + 1 < text.length);
    }
    text_finish(&text);
}

static void try_csv(tsmith_string name) {
    struct text text = {0};
    text_add_csv(&text, name);
    require(is_utf8(&text));
    bool quoted = text.length && text.bytes[0] == '"';
    size_t quotes = 0;
    for (size_t i = 0; i < text.length; i++) {
        quotes += text.bytes[i] == '"';
        require(text.bytes[i] != '\0');
        require(quoted || !strchr(",\"\r\n", text.bytes[i]));
    }
    require(quotes % 2 == 0);
    text_finish(&text);
}

static void try_quantities(const char *word) {
    uint64_t number;
    int64_t time;
    if (quantity_count(word, &number))
        require(strspn(word, "0123456789") == strlen(word));
    if (quantity_time(word, &time))
        require(time >= 0);
    quantity_size(word, &number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size)
        return 0;
    char *word = malloc(size);
    require(word);
    memcpy(word, data + 1, size - 1);
    word[size - 1] = '\0';
    tsmith_string name = {word, size - 1};
    try_safe(name, 0);
    try_safe(name, data[0]);
    try_json(name);
    try_csv(name);
    try_quantities(word);
    free(word);
    return 0;
}
