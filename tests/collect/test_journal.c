// SPDX-License-Identifier: Apache-2.0
// The journal against a plain list of everything that was ever noted: after any number of entries, and however often
// the halves of its file have changed places or the file has grown, reading it for a number of events gives the
// list's entries for that number.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
// cmocka wants the four above first
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/journal.h"

enum { TRACKS = 40, RINGS = 12, CHANNELS = 3, WORDS = 20 };

struct noted {
    uint64_t events; // 0: never
    uint32_t words;
    uint64_t word; // the first; those that follow count up
    uint64_t positions[RINGS];
};

static char folder[] = "/tmp/tracesmith-journal-XXXXXX";
static int directory;
static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t next_random(uint64_t below) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

static void deliver(struct journal *journal, struct noted *model, uint32_t rings, uint64_t *events) {
    uint32_t track = (uint32_t)next_random(TRACKS);
    struct noted *noted = &model[track];
    struct layout_journal_mark marks[RINGS];
    uint64_t words[WORDS];
    struct layout_journal_entry entry = {.channel = track % CHANNELS,
                                         .track = track,
                                         .rows = (uint32_t)next_random(100),
                                         .words = (uint32_t)next_random(WORDS)};
    *events += entry.rows;
    noted->events = *events;
    noted->words = entry.words;
    noted->word = next_random(1u << 30);
    for (uint32_t i = 0; i < entry.words; i++)
        words[i] = noted->word + i;
    for (uint32_t slot = 0; slot < rings; slot++) {
        if (next_random(3) != 0)
            continue;
        noted->positions[slot] = 1 + next_random(UINT32_MAX);
        marks[entry.marks++] = (struct layout_journal_mark){
            .channel = entry.channel, .slot = slot, .position = noted->positions[slot]};
    }
    assert_true(journal_deliver(journal, &entry, marks, words));
}

static void compare(const struct journal_state *state, const struct noted *model, uint64_t events) {
    uint32_t seen = 0, expected = 0;
    for (size_t i = 0; i < state->track_count; i++) {
        const struct journal_track *track = &state->tracks[i];
        const struct noted *noted = &model[track->entry.track];
        uint32_t marks = 0;
        if (track->mark_count == 0)
            continue;
        seen++;
        assert_int_equal(track->entry.events, noted->events);
        assert_int_equal(track->entry.words, noted->words);
        for (uint32_t word = 0; word < noted->words; word++)
            assert_int_equal(track->words[word], noted->word + word);
        for (size_t mark = 0; mark < track->mark_count; mark++)
            assert_int_equal(track->marks[mark].position, noted->positions[track->marks[mark].slot]);
        for (uint32_t slot = 0; slot < RINGS; slot++)
            marks += noted->positions[slot] != 0;
        assert_int_equal(track->mark_count, marks);
    }
    for (uint32_t track = 0; track < TRACKS; track++) {
        bool any = false;
        for (uint32_t slot = 0; slot < RINGS; slot++)
            any |= model[track].positions[slot] != 0;
        expected += any;
    }
    assert_int_equal(seen, expected);
    assert_int_equal(state->events, events);
}

// What a crash leaves beyond the last entry, and in the other half, is nothing.
static void scribble(void) {
    struct layout_journal head;
    char rubbish[512];
    memset(rubbish, 0xee, sizeof rubbish);
    int fd = openat(directory, LAYOUT_JOURNAL_NAME, O_RDWR);
    assert_int_equal(pread(fd, &head, sizeof head, 0), sizeof head);
    uint32_t active = atomic_load(&head.active);
    uint64_t committed = atomic_load(&head.committed[active]);
    off_t half = LAYOUT_PAGE + (off_t)(active * head.half_bytes);
    off_t other = LAYOUT_PAGE + (off_t)((1 - active) * head.half_bytes);
    if (committed + sizeof rubbish <= head.half_bytes)
        assert_int_equal(pwrite(fd, rubbish, sizeof rubbish, half + (off_t)committed), sizeof rubbish);
    assert_int_equal(pwrite(fd, rubbish, sizeof rubbish, other + 1024), sizeof rubbish);
    close(fd);
}

static void long_journal(uint32_t rings, unsigned entries) {
    static struct noted now[TRACKS], before[TRACKS];
    struct journal *journal;
    struct journal_state state;
    tsmith_error error;
    uint64_t events = 0;
    memset(now, 0, sizeof now);
    assert_int_equal(journal_create(directory, &journal, &error), TSMITH_OK);
    for (uint32_t i = 0; i < CHANNELS; i++) {
        char name[16];
        snprintf(name, sizeof name, "channel-%u", i);
        assert_int_equal(journal_add_channel(journal, name, 100 + i, i == 1), i);
    }
    for (unsigned i = 0; i < entries; i++) {
        uint64_t had = events;
        memcpy(before, now, sizeof now);
        deliver(journal, now, rings, &events);
        if (i % 37 != 0)
            continue;
        scribble();
        assert_true(journal_read(directory, events, &state));
        compare(&state, now, events);
        assert_int_equal(journal_find_channel(&state, "channel-2"), 2);
        assert_true(state.channels[1].shares && state.channels[1].process_start == 101);
        journal_state_finish(&state);
        // The batch of the last entry did not get into the file.
        assert_true(journal_read(directory, events - 1, &state));
        if (events > had)
            compare(&state, before, had);
        journal_state_finish(&state);
    }
    journal_finish_channel(journal, 1);
    assert_true(journal_read(directory, events, &state));
    assert_true(state.channels[1].finished && !state.channels[0].finished && !state.failed);
    journal_state_finish(&state);
    journal_destroy(journal);
    struct stat status;
    assert_int_equal(fstatat(directory, LAYOUT_JOURNAL_NAME, &status, 0), 0);
    assert_true(status.st_size < 1 << 20); // it does not grow with the recording
    assert_int_equal(unlinkat(directory, LAYOUT_JOURNAL_NAME, 0), 0);
}

static void few_rings(void **unused) {
    (void)unused;
    long_journal(2, 20000);
}

static void many_rings(void **unused) {
    (void)unused;
    long_journal(RINGS, 20000);
}

static void no_journal(void **unused) {
    (void)unused;
    struct journal_state state;
    assert_false(journal_read(directory, 0, &state));
    int fd = openat(directory, LAYOUT_JOURNAL_NAME, O_RDWR | O_CREAT, 0600);
    char rubbish[8192];
    memset(rubbish, 0x41, sizeof rubbish);
    assert_int_equal(write(fd, rubbish, sizeof rubbish), sizeof rubbish);
    close(fd);
    assert_false(journal_read(directory, 0, &state));
    unlinkat(directory, LAYOUT_JOURNAL_NAME, 0);
}

static int make_folder(void **unused) {
    (void)unused;
    directory = mkdtemp(folder) ? open(folder, O_RDONLY | O_DIRECTORY) : -1;
    return directory < 0 ? -1 : 0;
}

static int remove_folder(void **unused) {
    (void)unused;
    close(directory);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_rings), cmocka_unit_test(many_rings),
                                       cmocka_unit_test(no_journal)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
