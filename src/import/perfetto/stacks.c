// SPDX-License-Identifier: Apache-2.0
// Call stacks. A sequence defines the names of functions, files and modules, then frames that are made of these, then stacks
// that are made of frames, each by number until its state is cleared; within one packet in any order. They become rows of the
// dictionary at once, where the same frame of another sequence is the same row. Symbols of a whole file may come at its end.
#include <stdlib.h>

#include "base/array.h"
#include "import/perfetto/perfetto.h"

enum {
    // Fields of InternedData, and what this file also keeps by number.
    FRAMES = 6,
    MAPPINGS = 19,
    BY_BUILD_ID = 1, // of pf.module_map
    BY_PATH = 2,

    KIND_KERNEL = 2,
    KIND_INTERPRETED = 3,
    STACKS_MAX = 1 << 24,
    DEPTH_MAX = 4096, // frames of a stack that are kept: the innermost, and one that marks the cut
    PATH_BYTES_MAX = 4096,
    ID_BYTES_MAX = 64,
    TEXT_LEAST =
        16 // digits of a build id in text form: a binary id of this length does not consist of digits by
           // chance
};

// ---- texts

// The text of a number, 0 for none.
static uint32_t named(struct pf *pf, const struct pf_sequence *sequence, uint32_t field, uint64_t iid) {
    uint32_t value = 0;
    if (iid && !pf_find(pf, sequence, field, iid, &value))
        pf_problem(pf, PF_PROBLEM_NO_STACK);
    return value;
}

// Most programs write its bytes, some write them as digits already.
uint32_t pf_build_id(struct pf *pf, const struct proto_field *field) {
    static const char digits[] = "0123456789abcdef";
    char text[2 * ID_BYTES_MAX];
    size_t length = field->length < ID_BYTES_MAX ? field->length : ID_BYTES_MAX, hex = 0;
    if (!field->bytes || !length)
        return 0;
    for (size_t i = 0; i < length; i++) {
        uint8_t byte = field->bytes[i], lower = byte | 0x20;
        hex += (byte >= '0' && byte <= '9') || (lower >= 'a' && lower <= 'f');
    }
    const bool is_text = hex == length && length >= TEXT_LEAST;
    for (size_t i = 0; i < length; i++) {
        uint8_t byte = field->bytes[i];
        if (is_text) {
            text[i] = (char)(byte >= 'A' ? byte | 0x20 : byte);
            continue;
        }
        text[2 * i] = digits[byte >> 4];
        text[2 * i + 1] = digits[byte & 15];
    }
    return tsmith_dictionary_intern(pf->dictionary, text, is_text ? length : 2 * length);
}

static bool begins_with(tsmith_string text, const char *with) {
    return text.length >= strlen(with) && memcmp(text.bytes, with, strlen(with)) == 0;
}

// ---- modules

// The path without slashes before it: Perfetto puts one before names that have none.
static uint32_t bare_path(struct pf *pf, uint32_t path) {
    tsmith_string text = tsmith_dictionary_string(pf->dictionary, path);
    size_t slashes = 0;
    while (slashes < text.length && text.bytes[slashes] == '/')
        slashes++;
    return slashes ? tsmith_dictionary_intern(pf->dictionary, text.bytes + slashes, text.length - slashes)
                   : path;
}

static void note_module(struct pf *pf, uint32_t space, uint32_t text, uint32_t module) {
    uint32_t *at = text ? pf_map_at(pf, &pf->module_map, text, space, true) : NULL;
    if (at && !*at)
        *at = module;
}

static uint32_t add_module(struct pf *pf, uint32_t path, uint32_t build_id) {
    if (!path && !build_id)
        return 0;
    tsmith_string text = tsmith_dictionary_string(pf->dictionary, path);
    bool kernel =
        begins_with(text, "/kernel") || begins_with(text, "[kernel") || begins_with(text, "/[kernel");
    tsmith_module module = {.path = path, .build_id = build_id, .flags = kernel ? TSMITH_MODULE_KERNEL : 0};
    uint32_t id = tsmith_dictionary_intern_module(pf->dictionary, &module);
    note_module(pf, BY_BUILD_ID, build_id, id);
    note_module(pf, BY_PATH, bare_path(pf, path), id);
    return id;
}

// A mapping's path comes in parts, each a folder or the file; one alone may be all there is of a name.
static uint32_t read_path(struct pf *pf, const struct pf_sequence *sequence, struct proto_in in) {
    char path[PATH_BYTES_MAX] = "/";
    struct proto_numbers numbers = {.in = in, .field = 7};
    size_t used = 0, parts = 0;
    for (uint64_t part; proto_next_number(&numbers, &part); parts++) {
        tsmith_string text =
            tsmith_dictionary_string(pf->dictionary, named(pf, sequence, PF_MAPPING_PATHS, part));
        if (text.length + 1 > sizeof path - used)
            break;
        path[used] = '/';
        memcpy(path + used + 1, text.bytes, text.length);
        used += 1 + text.length;
    }
    bool whole = parts == 1 || path[1] == '/';
    return used ? tsmith_dictionary_intern(pf->dictionary, path + whole, used - whole) : 0;
}

static void read_mapping(struct pf *pf, struct pf_sequence *sequence, struct proto_in in) {
    struct proto_in all = in;
    struct proto_field field;
    uint64_t iid = 0, build_id = 0;
    while (proto_next(&in, &field)) {
        if (field.number == 1)
            iid = field.value;
        else if (field.number == 2)
            build_id = field.value;
    }
    uint32_t *slot = pf_text_slot(pf, sequence, MAPPINGS, iid, in.bad);
    if (slot)
        *slot = add_module(pf, read_path(pf, sequence, all), named(pf, sequence, PF_BUILD_IDS, build_id));
}

// ---- frames

// Where the location of the code is unknown, its symbol name is used.
static uint64_t place_of(const tsmith_symbol *symbol) {
    return symbol->function + ((uint64_t)symbol->file << 32 | symbol->line) * 0x9e3779b97f4a7c15u;
}

static tsmith_symbol *symbol_of(struct pf *pf, uint32_t frame) {
    const size_t had = pf->symbol_capacity;
    if (!ARRAY_RESERVE(pf->symbols, pf->symbol_capacity, frame + (size_t)1)) {
        pf->failed = true;
        return NULL;
    }
    memset(pf->symbols + had, 0, (pf->symbol_capacity - had) * sizeof *pf->symbols);
    return &pf->symbols[frame];
}

// The frame, called this; false when it is called otherwise already.
static bool intern(struct pf *pf, const tsmith_frame *frame, const tsmith_symbol *symbol, uint32_t *id) {
    *id = tsmith_dictionary_intern_frame(pf->dictionary, frame);
    tsmith_symbol *known = *id ? symbol_of(pf, *id) : NULL;
    if (!known || (!symbol->function && !symbol->file))
        return true;
    if (known->frame)
        return known->function == symbol->function && known->file == symbol->file &&
               known->line == symbol->line;
    *known = *symbol;
    known->frame = *id;
    (void)tsmith_dictionary_add_symbol(pf->dictionary, known);
    return true;
}

uint32_t pf_add_frame(struct pf *pf, tsmith_frame frame, const tsmith_symbol *symbol) {
    uint32_t id;
    bool nowhere = !frame.module && !frame.address;
    if (nowhere)
        frame.address = place_of(symbol);
    if (!intern(pf, &frame, symbol, &id)) {
        // Functions inlined there, given as frames of the same place: each has a frame of its own.
        frame.address = ~place_of(symbol);
        (void)intern(pf, &frame, symbol, &id);
    } else if (id && frame.module && !symbol->function) {
        uint32_t *at = pf_map_at(pf, &pf->frame_map, frame.address, frame.module, true);
        if (at)
            *at = id;
    }
    return id;
}

// A function of Python, as a sampler of Python reports it: by its source.
static void become_python(struct pf *pf, tsmith_frame *frame, const tsmith_symbol *symbol) {
    tsmith_string file = tsmith_dictionary_string(pf->dictionary, symbol->file);
    const bool named_so = file.length >= 3 && memcmp(file.bytes + file.length - 3, ".py", 3) == 0;
    if (frame->module || !(named_so || pf->ours))
        return;
    const tsmith_module module = {.path = symbol->file, .flags = TSMITH_MODULE_PYTHON};
    frame->module = file.length ? tsmith_dictionary_intern_module(pf->dictionary, &module) : 0;
    frame->flags |= TSMITH_FRAME_PYTHON;
    frame->address = (uint64_t)symbol->function << 32 | symbol->line;
}

// Kinds that our exporter has words for.
static uint32_t own_flags(const struct proto_field *field) {
    static const struct {
        const char *word;
        uint32_t flag;
    } words[] = {{"guessed", TSMITH_FRAME_GUESSED},
                 {"truncated", TSMITH_FRAME_TRUNCATED},
                 {"truncated, guessed", TSMITH_FRAME_TRUNCATED | TSMITH_FRAME_GUESSED}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (field->wire == PROTO_BYTES && field->length == strlen(words[i].word) &&
            memcmp(field->bytes, words[i].word, field->length) == 0)
            return words[i].flag;
    return 0;
}

static void read_frame(struct pf *pf, struct pf_sequence *sequence, struct proto_in in) {
    struct proto_field field;
    uint64_t numbers[8] = {0};
    uint32_t flags = 0;
    while (proto_next(&in, &field)) {
        if (field.wire == PROTO_VARINT && field.number < 8)
            numbers[field.number] = field.value;
        else if (field.number == 8)
            flags = own_flags(&field);
    }
    const tsmith_symbol symbol = {.function = named(pf, sequence, PF_FUNCTION_NAMES, numbers[2]),
                                  .file = named(pf, sequence, PF_SOURCE_PATHS, numbers[5]),
                                  .line = numbers[6] <= UINT32_MAX ? (uint32_t)numbers[6] : 0};
    tsmith_frame frame = {
        .module = named(pf, sequence, MAPPINGS, numbers[3]), .address = numbers[4], .flags = flags};
    const tsmith_module *module = tsmith_dictionary_module(pf->dictionary, frame.module);
    if (numbers[7] == KIND_KERNEL || (module && module->flags & TSMITH_MODULE_KERNEL))
        frame.flags |= TSMITH_FRAME_KERNEL;
    if (numbers[7] == KIND_INTERPRETED)
        become_python(pf, &frame, &symbol);
    uint32_t *slot = pf_text_slot(pf, sequence, FRAMES, numbers[1], in.bad);
    if (slot)
        *slot = pf_add_frame(pf, frame, &symbol);
}

// ---- stacks

static uint32_t call(struct pf *pf, uint32_t parent, uint32_t frame) {
    return tsmith_dictionary_intern_stack(pf->dictionary, &(tsmith_stack){parent, frame});
}

// Whether there is room for a stack.
static bool has_room(struct pf *pf) {
    if (tsmith_dictionary_stack_count(pf->dictionary) < STACKS_MAX)
        return true;
    pf_problem(pf, PF_PROBLEM_TOO_MANY_STACKS);
    return false;
}

// Who called the innermost frames that are kept is not known any more.
static uint32_t begin_stack(struct pf *pf, size_t count, size_t *left_out) {
    *left_out = count > DEPTH_MAX ? count - (DEPTH_MAX - 1) : 0;
    if (!*left_out)
        return 0;
    const tsmith_frame outside = {.flags = TSMITH_FRAME_TRUNCATED};
    return call(pf, 0, tsmith_dictionary_intern_frame(pf->dictionary, &outside));
}

// A stack by the numbers of its frames, the outermost first.
static uint32_t stack_of(struct pf *pf, const struct pf_sequence *sequence, struct proto_in in) {
    struct proto_numbers numbers = {.in = in, .field = 2};
    uint64_t frame;
    size_t count = 0, left_out;
    while (proto_next_number(&numbers, &frame))
        count++;
    if (!has_room(pf))
        return 0;
    uint32_t stack = begin_stack(pf, count, &left_out);
    numbers = (struct proto_numbers){.in = in, .field = 2};
    while (proto_next_number(&numbers, &frame)) {
        uint32_t id = left_out ? 0 : named(pf, sequence, FRAMES, frame);
        left_out -= left_out > 0;
        stack = id ? call(pf, stack, id) : stack;
    }
    return stack;
}

static void read_stack(struct pf *pf, struct pf_sequence *sequence, struct proto_in in) {
    struct proto_numbers numbers = {.in = in, .field = 1};
    uint64_t iid = 0;
    (void)proto_next_number(&numbers, &iid);
    uint32_t *slot = pf_text_slot(pf, sequence, PF_CALLSTACKS, iid, numbers.in.bad);
    if (slot)
        *slot = stack_of(pf, sequence, in);
}

void pf_read_interned_stacks(struct pf *pf, struct pf_sequence *sequence, struct proto_in in) {
    static const struct {
        uint32_t field;
        void (*read)(struct pf *pf, struct pf_sequence *sequence, struct proto_in in);
    } parts[] = {{MAPPINGS, read_mapping}, {FRAMES, read_frame}, {PF_CALLSTACKS, read_stack}};
    struct proto_field field;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (struct proto_in all = in; proto_next(&all, &field);)
            if (field.number == parts[i].field && field.wire == PROTO_BYTES)
                parts[i].read(pf, sequence, proto_within(&field));
}

uint32_t pf_stack(struct pf *pf, const struct pf_sequence *sequence, uint64_t iid) {
    return named(pf, sequence, PF_CALLSTACKS, iid);
}

// A function, a file and a line, as texts.
static tsmith_symbol read_line(struct pf *pf, struct proto_in in) {
    tsmith_symbol symbol = {.frame = 0};
    struct proto_field field;
    while (proto_next(&in, &field)) {
        if (field.number == 1 && field.wire == PROTO_BYTES)
            symbol.function = pf_intern(pf, &field);
        else if (field.number == 2 && field.wire == PROTO_BYTES)
            symbol.file = pf_intern(pf, &field);
        else if (field.number == 3 && field.wire == PROTO_VARINT && field.value <= UINT32_MAX)
            symbol.line = (uint32_t)field.value;
    }
    return symbol;
}

uint32_t pf_read_inline_stack(struct pf *pf, const struct pf_sequence *sequence, struct proto_in in) {
    struct proto_in look = in;
    struct proto_field field;
    size_t count = 0, left_out;
    while (proto_next(&look, &field))
        count += field.number == 1 && field.wire == PROTO_BYTES;
    if (!count)
        return stack_of(pf, sequence, in);
    if (!has_room(pf))
        return 0;
    uint32_t stack = begin_stack(pf, count, &left_out);
    while (proto_next(&in, &field)) {
        if (field.number != 1 || field.wire != PROTO_BYTES || (left_out && left_out--))
            continue;
        tsmith_symbol symbol = read_line(pf, proto_within(&field));
        stack = call(pf, stack, pf_add_frame(pf, (tsmith_frame){.module = 0}, &symbol));
    }
    if (in.bad)
        pf_problem(pf, PF_PROBLEM_MALFORMED);
    return stack;
}

uint32_t pf_innermost(const struct pf *pf, uint32_t stack) {
    const tsmith_stack *row = tsmith_dictionary_stack(pf->dictionary, stack);
    return stack && row && row->frame < pf->symbol_capacity ? pf->symbols[row->frame].function : 0;
}

// ---- symbols for all of the file

static void read_lines(struct pf *pf, uint32_t module, struct proto_in in) {
    struct proto_in look = in;
    struct proto_field field;
    uint64_t address = 0;
    while (proto_next(&look, &field))
        if (field.number == 1)
            address = field.value;
    const uint32_t *frame = pf_map_at(pf, &pf->frame_map, address, module, false);
    tsmith_symbol *known = frame ? symbol_of(pf, *frame) : NULL;
    if (!known || known->frame)
        return; // no stack is present, or it was already defined
    while (proto_next(&in, &field)) {
        if (field.number != 2 || field.wire != PROTO_BYTES)
            continue;
        tsmith_symbol symbol = read_line(pf, proto_within(&field));
        symbol.frame = *frame;
        if (!known->frame)
            *known = symbol;
        (void)tsmith_dictionary_add_symbol(pf->dictionary, &symbol);
    }
}

void pf_read_module_symbols(struct pf *pf, struct proto_in in) {
    struct proto_in look = in;
    struct proto_field field;
    uint32_t path = 0, build_id = 0;
    while (proto_next(&look, &field)) {
        if (field.number == 1 && field.wire == PROTO_BYTES)
            path = pf_intern(pf, &field);
        else if (field.number == 2 && field.wire == PROTO_BYTES)
            build_id = pf_build_id(pf, &field);
    }
    const uint32_t *module = build_id ? pf_map_at(pf, &pf->module_map, build_id, BY_BUILD_ID, false) : NULL;
    if (!module && path && !build_id)
        module = pf_map_at(pf, &pf->module_map, bare_path(pf, path), BY_PATH, false);
    while (module && proto_next(&in, &field))
        if (field.number == 3 && field.wire == PROTO_BYTES)
            read_lines(pf, *module, proto_within(&field));
    if (in.bad || look.bad)
        pf_problem(pf, PF_PROBLEM_MALFORMED);
}

void pf_stacks_finish(struct pf *pf) {
    pf_map_finish(&pf->module_map);
    pf_map_finish(&pf->frame_map);
    free(pf->symbols);
}
