// SPDX-License-Identifier: Apache-2.0
// Every record of the CUDA agent, made from its table (agents/cuda/record_parts.h): each shape that the agent registers, and
// every set of parts of a kernel's record, is written with a value of its own in each word and collected. The event has the
// kind and exactly the fields that the table names, with these values. A field that is twice in a record, an encoding that
// does not suit its field, and a field that is not registered make the collector refuse the record or change a value.
#include "support/numbered.h"

#include "../../agents/cuda/shapes.c"

enum { STRINGS = 64, TRACKS = 32, WORDS = 48, RECORDS = 512, OWN_MAX = 64 };

static bool want_latency;
const char *cuda_option(enum cuda_option option) {
    return want_latency && option == CUDA_OPTION_LATENCY ? "" : NULL;
}

struct expected_word {
    const char *own; // name of a field of the agent's own
    uint16_t field;
    tsmith_type type;
    uint64_t value; // of a string or track: its number
};
struct expected_record {
    tsmith_kind kind;
    uint32_t words;
    struct expected_word word[WORDS];
    bool seen;
};

static struct {
    struct session_directory directory;
    struct collector *collector;
    struct channel *channel;
    uint32_t strings[STRINGS], tracks[TRACKS];
    struct expected_record records[RECORDS]; // by START / 1000
    uint32_t count, seen;
} state;

static struct expected_word describe(uint16_t field, uint8_t encoding) {
    if ((encoding & (uint8_t)~RECORD_ZERO_IS_NONE) == RECORD_DYNAMIC) {
#define OWN(member, name, type, unit)                                                                        \
    if (field == fields.member)                                                                              \
        return (struct expected_word){name, 0, TSMITH_TYPE_##type, 0};
        CUDA_FIELDS(OWN)
#undef OWN
        fail_msg("field %u is not the agent's", field);
    }
    return (struct expected_word){NULL, field, tsmith_field_describe(field)->type, 0};
}

// The word to write; its value is expected of the field. No stack is known to the collector: that word is left at 0.
static uint64_t make_word(uint16_t field, uint8_t encoding) {
    struct expected_record *record = &state.records[state.count];
    const uint32_t at = record->words;
    struct expected_word word = describe(field, encoding);
    if (field == TSMITH_FIELD_STACK && !word.own)
        return 0;
    uint64_t written = 0;
    switch (word.type) {
    case TSMITH_TYPE_STRING:
        word.value = at % STRINGS;
        written = state.strings[word.value];
        break;
    case TSMITH_TYPE_TRACK:
        word.value = 1 + at % (TRACKS - 1);
        written = state.tracks[word.value];
        break;
    case TSMITH_TYPE_BOOL:
        written = word.value = 1;
        break;
    default:
        written = word.value = field == TSMITH_FIELD_START && !word.own ? state.count * 1000u : 10 + at;
    }
    record->word[record->words++] = word;
    return written;
}

#define MAKE(member, field, encoding) words.member = make_word((field), (uint8_t)(encoding));
#define WRITER(part, LIST)                                                                                   \
    static uint64_t *write_##part(uint64_t *at) {                                                            \
        struct part words;                                                                                   \
        LIST(MAKE)                                                                                           \
        memcpy(at, &words, sizeof words);                                                                    \
        return at + RECORD_PART_WORDS(part);                                                                 \
    }
#define RECORD_WRITER(shape, LIST, kind) WRITER(shape##_words, LIST)
#define KERNEL_WRITER(bit, part, LIST) WRITER(part, LIST)
WRITER(kernel_words, KERNEL_WORDS)
CUDA_KERNEL_PARTS(KERNEL_WRITER)
CUDA_RECORDS(RECORD_WRITER)

static void write_record(tsmith_kind kind, uint16_t shape, uint64_t *(*write)(uint64_t *, uint32_t),
                         uint32_t parts) {
    uint64_t record[WORDS + 1];
    assert_true(++state.count < RECORDS);
    state.records[state.count].kind = kind;
    const uint32_t words = (uint32_t)(write(record + 1, parts) - record);
    struct ring *ring = channel_ring(state.channel);
    uint64_t *at = record_begin(ring, shape, words, state.tracks[0]);
    assert_non_null(at);
    assert_int_not_equal(shape, 0);
    memcpy(at, record + 1, (words - 1) * sizeof *record);
    ring_commit(ring, words);
    assert_true(kind != TSMITH_KIND_KERNEL || shape == shapes.untimed || words == shapes.kernel[parts].words);
}

static uint64_t *write_kernel(uint64_t *at, uint32_t parts) {
    at = write_kernel_words(at);
#define PUT(bit, part, LIST)                                                                                 \
    if (parts & KERNEL_##bit)                                                                                \
        at = write_##part(at);
    CUDA_KERNEL_PARTS(PUT)
#undef PUT
    return at;
}

#define ONE(shape, LIST, kind)                                                                               \
    static uint64_t *one_##shape(uint64_t *at, uint32_t parts) {                                             \
        (void)parts;                                                                                         \
        return write_##shape##_words(at);                                                                    \
    }
CUDA_RECORDS(ONE)

static void write_all(void) {
#define WRITE(shape, LIST, kind) write_record(TSMITH_KIND_##kind, shapes.shape, one_##shape, 0);
    CUDA_RECORDS(WRITE)
#undef WRITE
    for (uint32_t parts = 0; parts < KERNEL_SHAPES; parts++)
        if ((parts & KERNEL_LATENCY) == shapes.latency)
            write_record(TSMITH_KIND_KERNEL, shapes.kernel[parts].shape, write_kernel, parts);
}

// The number of the string or track that a value is.
static uint64_t number_of(tsmith_type type, uint64_t value) {
    const tsmith_dictionary *dictionary = collector_dictionary(state.collector);
    if (type == TSMITH_TYPE_STRING) {
        const tsmith_string text = tsmith_dictionary_string(dictionary, (uint32_t)value);
        assert_true(text.length > 1 && text.bytes[0] == 's');
        return (uint64_t)atoi(text.bytes + 1);
    }
    if (type == TSMITH_TYPE_TRACK) {
        const tsmith_track *track = tsmith_dictionary_track(dictionary, (uint32_t)value);
        assert_non_null(track);
        return track->queue - 1;
    }
    return value;
}

static const struct expected_word *find_word(const struct expected_record *record,
                                             const tsmith_field_info *info) {
    for (uint32_t i = 0; i < record->words; i++)
        if (record->word[i].own
                ? info->field >= TSMITH_FIELD_DYNAMIC && strcmp(record->word[i].own, info->name) == 0
                : record->word[i].field == info->field)
            return &record->word[i];
    return NULL;
}

static void check_field(const tsmith_batch *batch, uint32_t row, const struct expected_record *record,
                        const tsmith_field_info *info, uint32_t *found) {
    const struct expected_word *word = find_word(record, info);
    uint64_t value = 0;
    const bool has = tsmith_batch_get(batch, info->field, row, &value) != 0;
    if (has != (word != NULL) || (has && number_of(word->type, value) != word->value))
        fail_msg("%s: field %s is %s%llu", tsmith_kind_name(record->kind), info->name, has ? "" : "missing, ",
                 (unsigned long long)value);
    if (has)
        assert_int_equal(info->type, word->type);
    *found += has;
}

static void check_row(const tsmith_batch *batch, uint32_t row) {
    const tsmith_dictionary *dictionary = collector_dictionary(state.collector);
    uint64_t start = 0, kind = 0;
    uint32_t found = 0;
    tsmith_field_info info;
    assert_true(tsmith_batch_get(batch, TSMITH_FIELD_START, row, &start));
    assert_true(tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind));
    assert_int_not_equal(kind, TSMITH_KIND_LOSS);
    if (start > state.count * 1000u)
        return; // the process's own beginning
    struct expected_record *record = &state.records[start / 1000];
    assert_false(record->seen);
    record->seen = true;
    state.seen++;
    assert_int_equal(kind, record->kind);
    for (uint32_t field = TSMITH_FIELD_START; field < TSMITH_FIELD_DYNAMIC + OWN_MAX; field++)
        if (field != TSMITH_FIELD_KIND && tsmith_dictionary_describe_field(dictionary, field, &info))
            check_field(batch, row, record, &info, &found);
    assert_int_equal(found, record->words);
}

static void collect(void) {
    const tsmith_batch *batch;
    tsmith_error error;
    while (collector_next(state.collector, &batch, &error) == TSMITH_OK)
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++)
            check_row(batch, row);
}

static void check(bool latency) {
    tsmith_error error;
    char text[16];
    memset(&state, 0, sizeof state);
    want_latency = latency;
    state.directory = numbered_session(64u << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    assert_int_equal(collector_create(&state.directory, COLLECT_SESSION, &state.collector, &error),
                     TSMITH_OK);
    assert_int_equal(channel_open(state.directory.path, "cuda", &state.channel), TSMITH_OK);
    for (uint32_t i = 0; i < STRINGS; i++) {
        snprintf(text, sizeof text, "s%u", i);
        state.strings[i] = channel_string_cstr(state.channel, text);
    }
    for (uint32_t i = 0; i < TRACKS; i++)
        state.tracks[i] = channel_track(
            state.channel,
            &(tsmith_track){.kind = TSMITH_TRACK_CUSTOM, .name = state.strings[i], .queue = i + 1});
    shapes_register(state.channel);
    write_all();
    channel_close(state.channel);
    collector_set_closing(state.collector, true);
    collect();
    assert_true(state.count > 64);
    assert_int_equal(state.seen, state.count);
    collector_destroy(state.collector);
    channel_detach(state.channel);
    session_directory_remove(&state.directory);
}

static void every_record(void **unused) {
    (void)unused;
    check(false);
}

static void every_record_with_latency(void **unused) {
    (void)unused;
    check(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_record),
                                       cmocka_unit_test(every_record_with_latency)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
