// SPDX-License-Identifier: Apache-2.0
// What the words of records become, against a reference that applies record.h to one record at a time: more shapes than a
// builder keeps layouts of, on few tracks in any order, with values that are missing, lists, fields that a shape has twice;
// the records in order of time, or nearly.
#include "support/numbered.h"

enum { SHAPES = 160, TRACKS = 3, RECORDS = 60000, FIELDS = 9, STRINGS = 20 };

// Fields that a step may be of, by their type.
static const uint16_t numbers[] = {TSMITH_FIELD_BYTES,    TSMITH_FIELD_OBJECT,      TSMITH_FIELD_GLOBAL_X,
                                   TSMITH_FIELD_LOCAL_X,  TSMITH_FIELD_CORRELATION, TSMITH_FIELD_PARENT,
                                   TSMITH_FIELD_GLOBAL_Y, TSMITH_FIELD_LOCAL_Y};

struct expected {
    int64_t start;
    uint64_t number; // RESULT: which record it was
    uint64_t values[TSMITH_FIELD_LIMIT];
    bool has[TSMITH_FIELD_LIMIT];
    uint32_t waits;
    bool seen;
};

static struct {
    struct session_directory directory;
    struct collector *collector;
    struct channel *channel;
    struct record_shape shapes[SHAPES];
    uint16_t ids[SHAPES];
    uint32_t strings[STRINGS], tracks[TRACKS];
    struct expected expected[RECORDS];
    uint64_t random, seen;
    uint32_t late; // ns, at most
} state;

static uint32_t any(uint32_t below) {
    state.random ^= state.random << 13;
    state.random ^= state.random >> 7;
    state.random ^= state.random << 17;
    return (uint32_t)(state.random >> 20) % below;
}

static void add(struct record_shape *shape, uint16_t field, uint8_t encoding) {
    shape->fields[shape->field_count++] = (struct record_field){
        .field = field, .encoding = (uint8_t)(encoding | (any(2) ? RECORD_ZERO_IS_NONE : 0))};
}

// START RESULT, then up to five others, some twice; a list sometimes.
static void make_shape(struct record_shape *shape) {
    *shape = (struct record_shape){
        .kind = any(2) ? TSMITH_KIND_KERNEL : TSMITH_KIND_MARKER,
        .role = RECORD_EVENT,
        .subject = any(2) ? RECORD_SUBJECT_TRACK : RECORD_SUBJECT_NAME,
        .field_count = 2,
        .fields = {{TSMITH_FIELD_START, RECORD_VALUE, 0}, {TSMITH_FIELD_RESULT, RECORD_VALUE, 0}}};
    for (uint32_t i = any(6); i > 0; i--)
        switch (any(4)) {
        case 0:
            add(shape, any(2) ? TSMITH_FIELD_NAME : TSMITH_FIELD_TEXT, RECORD_STRING);
            break;
        case 1:
            add(shape, any(2) ? TSMITH_FIELD_HOST_TRACK : TSMITH_FIELD_QUEUE_TRACK, RECORD_TRACK);
            break;
        case 2:
            add(shape, TSMITH_FIELD_DURATION, RECORD_DEVICE_END);
            break;
        default:
            add(shape, numbers[any(sizeof numbers / sizeof *numbers)], RECORD_VALUE);
        }
    if (any(4) == 0)
        shape->fields[shape->field_count++] = (struct record_field){TSMITH_FIELD_WAITS, RECORD_LIST, 0};
}

static void expect(struct expected *event, uint16_t field, uint64_t value) {
    event->values[field] = value;
    event->has[field] = true;
}

// A word for a field, and what it is to become; by record.h, and the order in which the collector meets the strings.
static uint64_t make_word(const struct record_field *field, struct expected *event) {
    const uint8_t encoding = field->encoding & (uint8_t)~RECORD_ZERO_IS_NONE;
    uint64_t word = 0;
    switch (encoding) {
    case RECORD_STRING:
        word = any(3) ? state.strings[any(STRINGS)] : 0;
        break;
    case RECORD_TRACK:
        word = any(3) ? state.tracks[any(TRACKS)] : 0;
        break;
    case RECORD_DEVICE_END:
        word = any(3) ? (uint64_t)event->start + any(3) : 0; // may well last 0 ns
        break;
    default:
        word = any(3) ? any(1u << 30) : 0;
    }
    if (word == 0 &&
        (encoding == RECORD_STRING || encoding == RECORD_TRACK || field->encoding & RECORD_ZERO_IS_NONE))
        return 0;
    expect(event, field->field,
           encoding != RECORD_DEVICE_END   ? word
           : word > (uint64_t)event->start ? word - (uint64_t)event->start
                                           : 0);
    return word;
}

static void emit(uint64_t number) {
    const uint32_t which = any(4) ? any(4) : any(SHAPES); // runs of few, and then any
    const struct record_shape *shape = &state.shapes[which];
    struct expected *event = &state.expected[number];
    uint64_t words[FIELDS + 4] = {0};
    uint32_t count = 1, subject = state.strings[any(STRINGS)];
    if (shape->subject == RECORD_SUBJECT_TRACK)
        subject = state.tracks[any(TRACKS)];
    else
        expect(event, TSMITH_FIELD_NAME, subject);
    event->start = (int64_t)(1000000 + number * 5 + any(state.late));
    event->number = number;
    expect(event, TSMITH_FIELD_KIND, shape->kind);
    words[count++] = (uint64_t)event->start;
    words[count++] = number;
    for (uint8_t i = 2; i < shape->field_count; i++) {
        if (shape->fields[i].encoding != RECORD_LIST) {
            words[count++] = make_word(&shape->fields[i], event);
            continue;
        }
        event->waits = any(3);
        words[count++] = event->waits;
        for (uint32_t wait = 0; wait < event->waits; wait++)
            words[count++] = number * 3 + wait;
    }
    struct ring *ring = channel_ring(state.channel);
    uint64_t *at = ring ? ring_reserve(ring, count) : NULL;
    assert_non_null(at);
    words[0] = record_head(state.ids[which], count, subject);
    memcpy(at, words, count * sizeof *words);
    ring_commit(ring, count);
}

// The text of a string that the batch has, as the program numbered it.
static uint64_t text_number(uint64_t id) {
    const tsmith_dictionary *dictionary = collector_dictionary(state.collector);
    const tsmith_string text = tsmith_dictionary_string(dictionary, (uint32_t)id);
    return text.length > 1 && text.bytes[0] == 's' ? state.strings[atoi(text.bytes + 1)] : 0;
}

static uint64_t track_number(uint64_t id) {
    const tsmith_track *track = tsmith_dictionary_track(collector_dictionary(state.collector), (uint32_t)id);
    return track && track->queue ? state.tracks[track->queue - 1] : 0;
}

static void check_list(const tsmith_batch *batch, uint32_t row, const struct expected *event) {
    tsmith_column column;
    uint32_t count = 0;
    const uint64_t *values = NULL;
    if (tsmith_batch_column(batch, TSMITH_FIELD_WAITS, &column) && tsmith_column_has(&column, row)) {
        count = column.offsets[row + 1] - column.offsets[row];
        values = (const uint64_t *)column.values + column.offsets[row];
    }
    assert_int_equal(count, event->waits);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(values[i], event->number * 3 + i);
}

static void check_row(const tsmith_batch *batch, uint32_t row) {
    uint64_t number = 0, value = 0;
    if (!tsmith_batch_get(batch, TSMITH_FIELD_RESULT, row, &number))
        return; // the process's own beginning
    assert_true(number < RECORDS);
    struct expected *event = &state.expected[number];
    assert_false(event->seen);
    event->seen = true;
    state.seen++;
    assert_true(tsmith_batch_get(batch, TSMITH_FIELD_START, row, &value));
    assert_int_equal((int64_t)value, event->start);
    for (uint16_t field = TSMITH_FIELD_KIND; field < TSMITH_FIELD_LIMIT; field++) {
        if (field == TSMITH_FIELD_START || field == TSMITH_FIELD_RESULT || field == TSMITH_FIELD_WAITS)
            continue;
        const bool has = tsmith_batch_get(batch, field, row, &value) != 0;
        if (has && (field == TSMITH_FIELD_NAME || field == TSMITH_FIELD_TEXT))
            value = text_number(value);
        else if (has && (field == TSMITH_FIELD_HOST_TRACK || field == TSMITH_FIELD_QUEUE_TRACK))
            value = track_number(value);
        if (has != event->has[field] || (has && value != event->values[field]))
            print_message("record %u, field %u\n", (unsigned)number, field);
        assert_int_equal(has, event->has[field]);
        assert_true(!has || value == event->values[field]);
    }
    check_list(batch, row, event);
}

static void collect(void) {
    const tsmith_batch *batch;
    tsmith_error error;
    while (collector_next(state.collector, &batch, &error) == TSMITH_OK) {
        uint64_t before = 0, start = 0;
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++, before = start) {
            check_row(batch, row);
            assert_true(tsmith_batch_get(batch, TSMITH_FIELD_START, row, &start));
            assert_true(row == 0 || (int64_t)before <= (int64_t)start);
        }
    }
}

static void start(uint64_t seed) {
    tsmith_error error;
    char text[16];
    memset(&state, 0, sizeof state);
    state.random = seed * 0x9e3779b97f4a7c15u + 1;
    state.late = (uint32_t[]){40, 1, 6}[seed % 3];
    state.directory = numbered_session(64u << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    assert_int_equal(collector_create(&state.directory, COLLECT_SESSION, &state.collector, &error),
                     TSMITH_OK);
    assert_int_equal(channel_open(state.directory.path, "test", &state.channel), TSMITH_OK);
    for (uint32_t i = 0; i < STRINGS; i++) {
        snprintf(text, sizeof text, "s%u", i);
        state.strings[i] = channel_string_cstr(state.channel, text);
    }
    for (uint32_t i = 0; i < TRACKS; i++)
        state.tracks[i] = channel_track(
            state.channel,
            &(tsmith_track){.kind = TSMITH_TRACK_CUSTOM, .name = state.strings[i], .queue = i + 1});
    for (uint32_t i = 0; i < SHAPES; i++) {
        make_shape(&state.shapes[i]);
        state.ids[i] = channel_shape(state.channel, &state.shapes[i]);
        assert_int_not_equal(state.ids[i], 0);
    }
}

static void any_records(void **unused) {
    (void)unused;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        start(seed);
        for (uint64_t number = 0; number < RECORDS; number++) {
            emit(number);
            if (any(5000) == 0)
                collect();
        }
        channel_close(state.channel);
        collector_set_closing(state.collector, true);
        collect();
        assert_int_equal(state.seen, RECORDS);
        collector_destroy(state.collector);
        channel_detach(state.channel);
        session_directory_remove(&state.directory);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_records)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
