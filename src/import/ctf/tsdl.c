// SPDX-License-Identifier: Apache-2.0
// The blocks of TSDL: trace, env, clock, stream, event and callsite. Attributes that say nothing about the encoding are passed over, as are
// callsites. ctf.c calls it.
#include "import/ctf/tsdl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"

enum entry_kind { ENTRY_OTHER, ENTRY_NUMBER, ENTRY_STRING, ENTRY_WORD, ENTRY_TYPE };

// KEY = VALUE; or KEY := TYPE;
struct entry {
    char key[TSDL_NAME_MAX];
    enum entry_kind kind;
    int64_t number;
    struct tsdl_text text; // of a word, and of a string as it is
    uint32_t string;       // of a string
    struct tsdl_type *type;
};

// ---- entries

// Names with points between them.
static bool read_key(struct tsdl *tsdl, struct entry *entry) {
    size_t used = 0;
    do {
        if (tsdl->token.word != TSDL_NAME || used + 1 + tsdl->token.text.length >= sizeof entry->key)
            return tsdl_fail(tsdl, "an entry of a block has no name, or one of more than 255 bytes");
        if (used)
            entry->key[used++] = '.';
        memcpy(entry->key + used, tsdl->token.text.at, tsdl->token.text.length);
        used += tsdl->token.text.length;
        tsdl_next(tsdl);
    } while (tsdl_accept(tsdl, '.'));
    entry->key[used] = '\0';
    return true;
}

// What is no value that is known here is passed over.
static bool read_value(struct tsdl *tsdl, struct entry *entry) {
    entry->text = tsdl->token.text;
    if (tsdl->token.word == TSDL_NUMBER || tsdl_is_symbol(tsdl, '-') || tsdl_is_symbol(tsdl, '+')) {
        entry->kind = ENTRY_NUMBER;
        return tsdl_number(tsdl, &entry->number);
    }
    if (tsdl->token.word == TSDL_STRING) {
        entry->kind = ENTRY_STRING;
        entry->string = tsdl_string(tsdl);
        tsdl_next(tsdl);
        return true;
    }
    entry->kind = tsdl->token.word == TSDL_NAME ? ENTRY_WORD : ENTRY_OTHER;
    while (!tsdl_is_symbol(tsdl, ';') && !tsdl_is_symbol(tsdl, '}') && tsdl->token.word != TSDL_END)
        tsdl_next(tsdl);
    return true;
}

// A struct, variant or enum with a name, which may stand alone.
static bool read_tagged(struct tsdl *tsdl, bool *is_one) {
    *is_one = tsdl_is_name(tsdl, "struct") || tsdl_is_name(tsdl, "variant") || tsdl_is_name(tsdl, "enum");
    return !*is_one ||
           (tsdl_read_type(tsdl, false, 0) && tsdl_expect(tsdl, ';', "a declaration does not end with ;"));
}

// The next entry of a block; false at its end, or if there is a problem.
static bool next_entry(struct tsdl *tsdl, struct entry *entry) {
    bool is_declaration = true;
    *entry = (struct entry){.kind = ENTRY_OTHER};
    while (is_declaration) {
        if (tsdl->problem || tsdl_accept(tsdl, '}') || !tsdl_read_declaration(tsdl, 0, &is_declaration) ||
            (!is_declaration && !read_tagged(tsdl, &is_declaration)))
            return false;
    }
    if (!read_key(tsdl, entry))
        return false;
    if (tsdl_accept(tsdl, TSDL_ASSIGN)) {
        entry->kind = ENTRY_TYPE;
        entry->type = tsdl_read_type(tsdl, false, 0);
        if (!entry->type)
            return tsdl_fail(tsdl, "there is no type behind :=");
    } else if (!tsdl_expect(tsdl, '=', "an entry of a block has no value") || !read_value(tsdl, entry)) {
        return false;
    }
    return tsdl_expect(tsdl, ';', "an entry of a block does not end with ;");
}

static bool is_number(const struct entry *entry, const char *key) {
    return entry->kind == ENTRY_NUMBER && strcmp(entry->key, key) == 0;
}

static bool is_type(const struct entry *entry, const char *key) {
    return entry->kind == ENTRY_TYPE && strcmp(entry->key, key) == 0;
}

static bool locate(struct tsdl *tsdl) {
    const char *problem = ctf_locate(tsdl->ctf, tsdl->roots);
    return !problem || tsdl_fail(tsdl, problem);
}

// ---- trace and env

static int nibble(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static void read_uuid(struct ctf *ctf, struct tsdl_text text) {
    unsigned digits = 0;
    uint8_t uuid[16] = {0};
    for (size_t i = 0; i < text.length; i++) {
        const int digit = nibble(text.at[i]);
        if (digit < 0 && text.at[i] == '-')
            continue;
        if (digit < 0 || digits == 32)
            return;
        uuid[digits / 2] = (uint8_t)(uuid[digits / 2] << 4 | digit);
        digits++;
    }
    ctf->has_uuid = digits == 32;
    memcpy(ctf->uuid, uuid, sizeof uuid);
}

static bool read_trace(struct tsdl *tsdl) {
    struct ctf *const ctf = tsdl->ctf;
    const struct tsdl_type *header = NULL;
    struct entry entry;
    while (next_entry(tsdl, &entry)) {
        if ((is_number(&entry, "major") && entry.number != 1) ||
            (is_number(&entry, "minor") && entry.number > 8))
            return tsdl_fail(tsdl, "the metadata are TSDL of a version that is not 1.8");
        if (is_type(&entry, "packet.header"))
            header = entry.type;
        if (strcmp(entry.key, "uuid") == 0 && entry.kind == ENTRY_STRING)
            read_uuid(ctf, entry.text);
        if (strcmp(entry.key, "byte_order") == 0 && entry.kind == ENTRY_WORD)
            tsdl->big = tsdl_text_is(entry.text, "be") || tsdl_text_is(entry.text, "network");
    }
    if (tsdl->problem || !tsdl_make_root(tsdl, header, CTF_ROOT_PACKET_HEADER))
        return false;
    ctf->packet_header = tsdl->roots[CTF_ROOT_PACKET_HEADER];
    return locate(tsdl);
}

static bool read_env(struct tsdl *tsdl) {
    struct entry entry;
    char text[32];
    while (next_entry(tsdl, &entry)) {
        uint32_t value = entry.string;
        if (entry.kind == ENTRY_NUMBER) {
            const int length = snprintf(text, sizeof text, "%lld", (long long)entry.number);
            value = tsmith_dictionary_intern(tsdl->ctf->rows.dictionary, text, (size_t)length);
        }
        if (entry.kind == ENTRY_NUMBER || entry.kind == ENTRY_STRING)
            ctf_set_fact(tsdl->ctf, "env.", entry.key, strlen(entry.key), value);
    }
    return !tsdl->problem;
}

// ---- clocks

static bool read_clock(struct tsdl *tsdl) {
    struct ctf *const ctf = tsdl->ctf;
    struct ctf_clock *clock = ctf_make(ctf, 1, sizeof *clock);
    uint32_t name = 0;
    struct entry entry;
    if (!clock)
        return false;
    *clock = (struct ctf_clock){.frequency = 1000000000, .unix_epoch = true};
    int64_t cycles = 0;
    while (next_entry(tsdl, &entry)) {
        if (strcmp(entry.key, "name") == 0)
            name = entry.kind == ENTRY_STRING ? entry.string
                   : entry.kind == ENTRY_WORD
                       ? tsmith_dictionary_intern(ctf->rows.dictionary, entry.text.at, entry.text.length)
                       : 0;
        else if (is_number(&entry, "freq"))
            clock->frequency = (uint64_t)entry.number;
        else if (is_number(&entry, "offset_s"))
            clock->seconds = entry.number;
        else if (is_number(&entry, "offset"))
            cycles = entry.number;
    }
    if (tsdl->problem)
        return false;
    if (cycles < 0)
        return tsdl_fail(tsdl, "a clock has an offset below 0");
    clock->cycles = (uint64_t)cycles;
    if (!name || !clock->frequency || clock->frequency > INT64_MAX)
        return tsdl_fail(tsdl, "a clock has no name, or a frequency that is not 1 Hz or more");
    uint64_t *slot = table_add(&ctf->clocks, name, NULL);
    ctf->rows.failed |= !slot;
    if (slot)
        *slot = (uint64_t)(uintptr_t)clock;
    tsdl->default_clock = ctf->clocks.count == 1 ? clock : NULL;
    return slot != NULL;
}

// ---- streams and events

static struct ctf_stream_class *add_stream(struct tsdl *tsdl, int64_t id) {
    struct ctf_stream_class *made = ctf_make(tsdl->ctf, 1, sizeof *made);
    uint64_t *slot = made ? table_add(&tsdl->ctf->streams_by_id, (uint64_t)id, NULL) : NULL;
    if (!slot) {
        tsdl->ctf->rows.failed = true;
        return NULL;
    }
    if (*slot) {
        (void)tsdl_fail(tsdl, "two streams have one id");
        return NULL;
    }
    *slot = (uint64_t)(uintptr_t)made;
    return made;
}

// Nothing that is read before the block is a root of it, but the header of packets.
static void begin_roots(struct tsdl *tsdl, const struct ctf_stream_class *stream) {
    memset(tsdl->roots, 0, sizeof tsdl->roots);
    tsdl->roots[CTF_ROOT_PACKET_HEADER] = tsdl->ctf->packet_header;
    if (!stream)
        return;
    tsdl->roots[CTF_ROOT_PACKET_CONTEXT] = stream->context;
    tsdl->roots[CTF_ROOT_RECORD_HEADER] = stream->header;
    tsdl->roots[CTF_ROOT_COMMON_CONTEXT] = stream->common;
}

static bool read_stream(struct tsdl *tsdl) {
    const struct tsdl_type *context = NULL, *header = NULL, *common = NULL;
    int64_t id = 0;
    struct entry entry;
    while (next_entry(tsdl, &entry)) {
        if (is_number(&entry, "id"))
            id = entry.number;
        else if (is_type(&entry, "packet.context"))
            context = entry.type;
        else if (is_type(&entry, "event.header"))
            header = entry.type;
        else if (is_type(&entry, "event.context"))
            common = entry.type;
    }
    struct ctf_stream_class *made = tsdl->problem ? NULL : add_stream(tsdl, id);
    if (!made)
        return false;
    begin_roots(tsdl, NULL);
    tsdl->clock = NULL;
    if (!tsdl_make_root(tsdl, context, CTF_ROOT_PACKET_CONTEXT) ||
        !tsdl_make_root(tsdl, header, CTF_ROOT_RECORD_HEADER) ||
        !tsdl_make_root(tsdl, common, CTF_ROOT_COMMON_CONTEXT))
        return false;
    made->clock = tsdl->clock;
    made->context = tsdl->roots[CTF_ROOT_PACKET_CONTEXT];
    made->header = tsdl->roots[CTF_ROOT_RECORD_HEADER];
    made->common = tsdl->roots[CTF_ROOT_COMMON_CONTEXT];
    return locate(tsdl);
}

static bool add_record(struct tsdl *tsdl, struct ctf_record_class *made, int64_t id, int64_t stream_id,
                       const struct tsdl_type *context, const struct tsdl_type *fields) {
    uint64_t *place = table_find(&tsdl->ctf->streams_by_id, (uint64_t)stream_id);
    struct ctf_stream_class *stream = place       ? (struct ctf_stream_class *)(uintptr_t)*place
                                      : stream_id ? NULL
                                                  : add_stream(tsdl, 0);
    if (!stream)
        return tsdl_fail(tsdl, "an event belongs to no stream");
    begin_roots(tsdl, stream);
    if (!tsdl_make_root(tsdl, context, CTF_ROOT_SPECIFIC_CONTEXT) ||
        !tsdl_make_root(tsdl, fields, CTF_ROOT_PAYLOAD))
        return false;
    made->specific = tsdl->roots[CTF_ROOT_SPECIFIC_CONTEXT];
    made->payload = tsdl->roots[CTF_ROOT_PAYLOAD];
    uint64_t *slot = table_add(&stream->records, (uint64_t)id, NULL);
    tsdl->ctf->rows.failed |= !slot;
    if (slot)
        *slot = (uint64_t)(uintptr_t)made;
    return locate(tsdl);
}

static bool read_event(struct tsdl *tsdl) {
    const struct tsdl_type *context = NULL, *fields = NULL;
    struct ctf_record_class *made = ctf_make(tsdl->ctf, 1, sizeof *made);
    int64_t id = 0, stream_id = 0;
    struct entry entry;
    while (made && next_entry(tsdl, &entry)) {
        if (is_number(&entry, "id"))
            id = entry.number;
        else if (is_number(&entry, "stream_id"))
            stream_id = entry.number;
        else if (is_type(&entry, "context"))
            context = entry.type;
        else if (is_type(&entry, "fields"))
            fields = entry.type;
        else if (strcmp(entry.key, "name") == 0 && entry.kind == ENTRY_STRING)
            made->name = entry.string;
        else if (strcmp(entry.key, "name") == 0 && entry.kind == ENTRY_WORD)
            made->name =
                tsmith_dictionary_intern(tsdl->ctf->rows.dictionary, entry.text.at, entry.text.length);
    }
    return made && !tsdl->problem && add_record(tsdl, made, id, stream_id, context, fields);
}

static bool read_callsite(struct tsdl *tsdl) {
    struct entry entry;
    while (next_entry(tsdl, &entry))
        ;
    return !tsdl->problem;
}

// ---- the whole text

static bool read_block(struct tsdl *tsdl) {
    static const struct {
        const char *name;
        bool (*read)(struct tsdl *tsdl);
    } blocks[] = {{"trace", read_trace},   {"env", read_env},     {"clock", read_clock},
                  {"stream", read_stream}, {"event", read_event}, {"callsite", read_callsite}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        if (!tsdl_is_name(tsdl, blocks[i].name))
            continue;
        tsdl_next(tsdl);
        if (!tsdl_expect(tsdl, '{', "a block does not begin with {") || !tsdl_open_scope(tsdl) ||
            !blocks[i].read(tsdl))
            return false;
        tsdl_close_scope(tsdl);
        (void)tsdl_accept(tsdl, ';');
        return !tsdl->ctf->rows.failed;
    }
    return tsdl_fail(tsdl, "there is neither a declaration nor a block of TSDL");
}

const char *ctf_read_tsdl(struct ctf *ctf, const char **at) {
    struct tsdl tsdl = {.ctf = ctf, .at = ctf->metadata, .end = ctf->metadata + strlen(ctf->metadata)};
    bool is_declaration, good = tsdl_open_scope(&tsdl);
    tsdl.default_clock = ctf_make(ctf, 1, sizeof *tsdl.default_clock);
    if (tsdl.default_clock)
        tsdl.default_clock->frequency = 1000000000;
    tsdl_next(&tsdl);
    while (good && tsdl.default_clock && tsdl.token.word != TSDL_END) {
        good = tsdl_read_declaration(&tsdl, 0, &is_declaration) &&
               (is_declaration || read_tagged(&tsdl, &is_declaration)) &&
               (is_declaration || read_block(&tsdl));
    }
    table_finish(&tsdl.types);
    *at = tsdl.problem_at ? tsdl.problem_at : tsdl.at;
    return tsdl.problem ? tsdl.problem : good && !ctf->rows.failed ? NULL : "out of memory";
}
