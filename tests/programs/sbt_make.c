// SPDX-License-Identifier: Apache-2.0
//
// Writes the trace that standard input describes, so that a test can know every event of a file:
//
//   sbt_make FILE < description
//
// One entry per line, words separated by spaces, any byte of a word as %XX, an empty word as %:
//
//   attribute KEY VALUE
//   process PID NAME                              ids count from 1 for each kind of entry
//   device NAME API TYPE [IDENTITY]
//   track KIND-NUMBER NAME PROCESS DEVICE
//   clock NAME PROCESS DEVICE
//   pair CLOCK CLOCK-TIME TRACE-TIME ERROR        one calibration of a clock
//   field NAME TYPE-NUMBER UNIT                   a field of the trace's own
//   module PATH BUILD-ID PROCESS FLAGS
//   frame MODULE FLAGS ADDRESS
//   stack PARENT FRAME
//   symbol FRAME FUNCTION FILE LINE
//   event TRACK KIND-NUMBER START [FIELD=VALUE]...  values of enumerations by number, lists with commas
//   flush                                         ends the batch of every track

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracesmith/sbt.h"

enum { TRACKS_MAX = 200000, WORDS_MAX = 64 };

static tsmith_dictionary *dictionary;
static tsmith_sink *sink;
static tsmith_batch *batches[TRACKS_MAX];
static uint32_t tracks_end; // no track from here on has a batch

static void fail(const char *what) {
    fprintf(stderr, "sbt_make: %s\n", what);
    exit(1);
}

static void must(tsmith_status status, const tsmith_error *error) {
    if (status < 0)
        fail(error ? error->message : tsmith_status_text(status));
}

static unsigned hex(char c) {
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a' + 10);
}

// Decodes %XX in place and interns.
static uint32_t string(char *word) {
    size_t length = 0;
    if (strcmp(word, "%") == 0)
        return 0;
    for (char *at = word; *at; at++) {
        if (*at == '%' && at[1] && at[2]) {
            word[length++] = (char)(hex(at[1]) << 4 | hex(at[2]));
            at += 2;
        } else {
            word[length++] = *at;
        }
    }
    return tsmith_dictionary_intern(dictionary, word, length);
}

static uint32_t number(const char *word) {
    return (uint32_t)strtoul(word, NULL, 10);
}

static void flush(uint32_t track) {
    tsmith_error error;
    tsmith_batch *batch = batches[track];
    if (!batch || !tsmith_batch_count(batch))
        return;
    must(tsmith_batch_finish(batch), NULL);
    must(tsmith_sink_write(sink, dictionary, batch, &error), &error);
    tsmith_batch_reset(batch, track);
}

static void set_list(tsmith_batch *batch, uint32_t field, char *value) {
    uint64_t values[WORDS_MAX];
    uint32_t count = 0;
    for (char *word = strtok(value, ","); word && count < WORDS_MAX; word = strtok(NULL, ","))
        values[count++] = strtoull(word, NULL, 10);
    must(tsmith_batch_set_list(batch, field, values, count), NULL);
}

static void set_value(tsmith_batch *batch, char *name, char *value) {
    tsmith_field_info info;
    uint32_t field = tsmith_field_find(name);
    uint64_t bits;
    if (!field)
        field = number(name);
    if (!tsmith_dictionary_describe_field(dictionary, field, &info))
        fail(name);
    if (info.type == TSMITH_TYPE_LIST) {
        set_list(batch, field, value);
        return;
    }
    if (info.type == TSMITH_TYPE_F64) {
        double real = strtod(value, NULL);
        memcpy(&bits, &real, sizeof bits);
    } else if (info.type == TSMITH_TYPE_STRING) {
        bits = string(value);
    } else {
        bits = *value == '-' ? (uint64_t)strtoll(value, NULL, 10) : strtoull(value, NULL, 10);
    }
    must(field < TSMITH_FIELD_DYNAMIC ? tsmith_batch_set(batch, field, bits)
                                      : tsmith_batch_set_dynamic(batch, field, info.type, bits),
         NULL);
}

static void add_event(char **words, int count) {
    uint32_t track = number(words[1]);
    if (track >= TRACKS_MAX)
        fail("too many tracks");
    if (!batches[track]) {
        must(tsmith_batch_create(&batches[track]), NULL);
        tsmith_batch_reset(batches[track], track);
        if (track >= tracks_end)
            tracks_end = track + 1;
    }
    int64_t start = strtoll(words[3], NULL, 10);
    tsmith_kind kind = (tsmith_kind)number(words[2]);
    if (tsmith_batch_append(batches[track], kind, start) == UINT32_MAX) {
        flush(track);
        tsmith_batch_append(batches[track], kind, start);
    }
    for (int i = 4; i < count; i++) {
        char *equals = strchr(words[i], '=');
        if (!equals)
            fail(words[i]);
        *equals = '\0';
        set_value(batches[track], words[i], equals + 1);
    }
}

// The tables of call stacks. False: none of these.
static bool add_stack_entry(char **words, int count) {
    if (strcmp(words[0], "module") == 0 && count == 5)
        tsmith_dictionary_add_module(dictionary, &(tsmith_module){string(words[1]), string(words[2]),
                                                                  number(words[3]), number(words[4])});
    else if (strcmp(words[0], "frame") == 0 && count == 4)
        tsmith_dictionary_add_frame(
            dictionary, &(tsmith_frame){number(words[1]), number(words[2]), strtoull(words[3], NULL, 0)});
    else if (strcmp(words[0], "stack") == 0 && count == 3)
        tsmith_dictionary_add_stack(dictionary, &(tsmith_stack){number(words[1]), number(words[2])});
    else if (strcmp(words[0], "symbol") == 0 && count == 5)
        tsmith_dictionary_add_symbol(dictionary, &(tsmith_symbol){number(words[1]), string(words[2]),
                                                                  string(words[3]), number(words[4])});
    else
        return false;
    return true;
}

static bool add_clock_entry(char **words, int count) {
    if (strcmp(words[0], "clock") == 0 && count == 4)
        tsmith_dictionary_add_clock(dictionary, &(tsmith_clock){.name = string(words[1]),
                                                                .process = number(words[2]),
                                                                .device = number(words[3])});
    else if (strcmp(words[0], "pair") == 0 && count == 5)
        tsmith_dictionary_add_clock_pair(dictionary,
                                         &(tsmith_clock_pair){.clock = number(words[1]),
                                                              .clock_time = strtoll(words[2], NULL, 10),
                                                              .trace_time = strtoll(words[3], NULL, 10),
                                                              .error = strtoll(words[4], NULL, 10)});
    else
        return false;
    return true;
}

static void add_entry(char **words, int count) {
    if (strcmp(words[0], "event") == 0 && count >= 4) {
        add_event(words, count);
    } else if (strcmp(words[0], "flush") == 0) {
        for (uint32_t track = 0; track < tracks_end; track++)
            flush(track);
    } else if (strcmp(words[0], "attribute") == 0 && count == 3) {
        tsmith_dictionary_add_attribute(
            dictionary, &(tsmith_attribute){.key = string(words[1]), .value = string(words[2])});
    } else if (strcmp(words[0], "process") == 0 && count == 3) {
        tsmith_dictionary_add_process(dictionary,
                                      &(tsmith_process){.pid = number(words[1]), .name = string(words[2])});
    } else if (strcmp(words[0], "device") == 0 && (count == 4 || count == 5)) {
        tsmith_dictionary_add_device(dictionary,
                                     &(tsmith_device){.name = string(words[1]),
                                                      .api = string(words[2]),
                                                      .type = string(words[3]),
                                                      .identity = count == 5 ? string(words[4]) : 0});
    } else if (strcmp(words[0], "track") == 0 && count == 5) {
        tsmith_dictionary_add_track(dictionary, &(tsmith_track){.kind = (uint8_t)number(words[1]),
                                                                .name = string(words[2]),
                                                                .process = number(words[3]),
                                                                .device = number(words[4])});
    } else if (strcmp(words[0], "field") == 0 && count == 4) {
        tsmith_dictionary_field(dictionary, words[1], (tsmith_type)number(words[2]), words[3]);
    } else if (!add_stack_entry(words, count) && !add_clock_entry(words, count)) {
        fail(words[0]);
    }
}

int main(int argc, char **argv) {
    tsmith_error error;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    if (argc != 2)
        fail("usage: sbt_make FILE < description");
    must(tsmith_dictionary_create(&dictionary), NULL);
    must(tsmith_sbt_writer_open(argv[1], NULL, &sink, &error), &error);
    while ((length = getline(&line, &capacity, stdin)) > 0) {
        char *words[WORDS_MAX];
        int count = 0;
        char *place = NULL;
        for (char *word = strtok_r(line, " \n", &place); word && count < WORDS_MAX;
             word = strtok_r(NULL, " \n", &place))
            words[count++] = word;
        if (count)
            add_entry(words, count);
    }
    for (uint32_t track = 0; track < tracks_end; track++)
        flush(track);
    must(tsmith_sink_finish(sink, dictionary, &error), &error);
    tsmith_sink_destroy(sink);
    for (uint32_t track = 0; track < tracks_end; track++)
        tsmith_batch_destroy(batches[track]);
    tsmith_dictionary_destroy(dictionary);
    free(line);
    return 0;
}
