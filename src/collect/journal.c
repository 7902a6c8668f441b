// SPDX-License-Identifier: Apache-2.0
// Invariants: everything before `committed` in the active half is complete entries and is never changed while that
// half is active; `state` is their combined result. A half that is full is not extended: the state is written into
// the other half, which becomes the active one by a single write. Both halves are backed by space from the beginning,
// so that only a session of very many tracks needs more.
//
// The file is written by pwrite and never read back while the collector works: where the next entry goes is in private
// memory. The recorded programs may write to the session directory, so nothing in the file may decide where the collector
// writes, and a mapping of it would raise SIGBUS once it is truncated. A file that was truncated or removed is replaced.
#include "collect/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "base/status.h"
#include "base/table.h"

static const uint64_t FIRST_HALF = 64 * 1024; // bytes
static const uint64_t HALF_MAX = 1ull << 31;
enum { FIRST_PLACES = 256 };

struct journal {
    int directory;
    int fd; // a page, and two halves; -1: none
    uint64_t half_bytes;
    uint32_t active;
    uint64_t committed; // bytes of the active half
    struct journal_state state;
    char *scratch; // an entry
    size_t scratch_capacity;
};

// ---- what is known

void journal_state_finish(struct journal_state *state) {
    for (size_t i = 0; i < state->channel_count; i++)
        free(state->channels[i].name);
    for (size_t i = 0; i < state->track_count; i++) {
        free(state->tracks[i].marks);
        free(state->tracks[i].words);
    }
    free(state->channels);
    free(state->tracks);
    free(state->places);
    memset(state, 0, sizeof *state);
}

static uint64_t hash_of(const struct layout_journal_entry *entry) {
    const uint32_t key[2] = {entry->channel, entry->track};
    return hash_bytes(key, sizeof key);
}

static bool is_same(const struct layout_journal_entry *entry, const struct layout_journal_entry *other) {
    return entry->channel == other->channel && entry->track == other->track;
}

static struct journal_track *track_of(struct journal_state *state, const struct layout_journal_entry *entry) {
    if (!TABLE_ROOM(state->places, state->place_count, state->track_count, FIRST_PLACES, slot, *slot,
                    hash_of(&state->tracks[*slot - 1].entry)))
        return NULL;
    uint32_t *found = TABLE_SLOT(state->places, state->place_count, hash_of(entry), slot,
                                 !*slot || is_same(&state->tracks[*slot - 1].entry, entry));
    if (*found)
        return &state->tracks[*found - 1];
    bool room = ARRAY_RESERVE(state->tracks, state->track_capacity, state->track_count + 1);
    if (!room)
        return NULL;
    struct journal_track *track = &state->tracks[state->track_count++];
    memset(track, 0, sizeof *track);
    track->entry = *entry;
    track->entry.words = 0;
    *found = (uint32_t)state->track_count;
    return track;
}

// In order of channel and slot.
static bool put_mark(struct journal_track *track, const struct layout_journal_mark *mark) {
    const size_t at =
        SORTED_FIND(i, 0, track->mark_count,
                    track->marks[i].channel < mark->channel ||
                        (track->marks[i].channel == mark->channel && track->marks[i].slot < mark->slot));
    struct layout_journal_mark *found = at < track->mark_count ? &track->marks[at] : NULL;
    if (found && found->channel == mark->channel && found->slot == mark->slot) {
        *found = *mark;
        return true;
    }
    bool room = ARRAY_RESERVE(track->marks, track->mark_capacity, track->mark_count + 1);
    if (!room)
        return false;
    memmove(track->marks + at + 1, track->marks + at, (track->mark_count - at) * sizeof *track->marks);
    track->marks[at] = *mark;
    track->mark_count++;
    return true;
}

static bool apply_track(struct journal_state *state, const struct layout_journal_entry *entry,
                        const struct layout_journal_mark *marks, const uint64_t *words) {
    struct journal_track *track = track_of(state, entry);
    void *kept = track ? track->words : NULL;
    if (!track || !array_reserve(&kept, &track->word_capacity, entry->words, sizeof *words))
        return false;
    track->words = kept;
    track->entry = *entry;
    if (entry->words)
        memcpy(track->words, words, entry->words * sizeof *words);
    for (uint32_t i = 0; i < entry->marks; i++)
        if (!put_mark(track, &marks[i]))
            return false;
    return true;
}

static bool apply_channel(struct journal_state *state, const struct layout_journal_entry *entry,
                          const char *name) {
    bool room = ARRAY_RESERVE(state->channels, state->channel_capacity, state->channel_count + 1);
    char *copy = room ? strndup(name, entry->words) : NULL;
    if (!copy)
        return false;
    state->channels[state->channel_count++] =
        (struct journal_channel){.name = copy,
                                 .process_start = entry->process_start,
                                 .shares = (entry->flags & LAYOUT_JOURNAL_SHARES) != 0};
    return true;
}

static bool apply(struct journal_state *state, const struct layout_journal_entry *entry,
                  const void *payload) {
    const struct layout_journal_mark *marks = payload;
    switch (entry->type) {
    case LAYOUT_JOURNAL_CHANNEL:
        return apply_channel(state, entry, payload);
    case LAYOUT_JOURNAL_FINISHED:
        if (entry->channel < state->channel_count)
            state->channels[entry->channel].finished = true;
        return entry->channel < state->channel_count;
    case LAYOUT_JOURNAL_TRACK:
        return apply_track(state, entry, marks, (const uint64_t *)(const void *)(marks + entry->marks));
    default:
        return entry->type == LAYOUT_JOURNAL_BASE;
    }
}

uint32_t journal_find_channel(const struct journal_state *state, const char *name) {
    for (size_t i = 0; i < state->channel_count; i++)
        if (strcmp(state->channels[i].name, name) == 0)
            return (uint32_t)i;
    return UINT32_MAX;
}

// ---- writing

static uint64_t file_bytes(uint64_t half_bytes) {
    return LAYOUT_PAGE + 2 * half_bytes;
}

static uint64_t half_offset(uint64_t half_bytes, uint32_t half) {
    return LAYOUT_PAGE + half * half_bytes;
}

static bool write_at(int fd, const void *bytes, size_t count, uint64_t offset) {
    for (size_t done = 0; done < count;) {
        ssize_t put = pwrite(fd, (const char *)bytes + done, count - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

// A file of that size under an unpredictable name, moved to its place once it is ready. -1: there is no space.
static int make_file(int directory, uint64_t half_bytes, char name[32]) {
    const struct layout_journal head = {
        .magic = LAYOUT_JOURNAL_MAGIC, .version = LAYOUT_VERSION, .half_bytes = half_bytes};
    uint64_t number;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return -1;
    (void)snprintf(name, 32, LAYOUT_JOURNAL_NAME ".%016llx", (unsigned long long)number);
    int fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    if (file_reserve(fd, 0, file_bytes(half_bytes)) && write_at(fd, &head, sizeof head, 0))
        return fd;
    int saved = errno;
    unlinkat(directory, name, 0);
    close(fd);
    errno = saved;
    return -1;
}

static bool put_in_place(int directory, const char *name) {
    bool done = renameat(directory, name, directory, LAYOUT_JOURNAL_NAME) == 0;
    if (!done)
        unlinkat(directory, name, 0);
    return done;
}

// Writes an entry at `at`, or only returns its length when `at` is NULL.
static uint64_t write_entry(char *at, const struct layout_journal_entry *entry, const void *first,
                            size_t first_bytes, const void *second, size_t second_bytes) {
    uint64_t bytes = (sizeof *entry + first_bytes + second_bytes + 7) & ~(uint64_t)7;
    if (at) {
        struct layout_journal_entry written = *entry;
        written.bytes = (uint32_t)bytes;
        memcpy(at, &written, sizeof written);
        if (first_bytes)
            memcpy(at + sizeof written, first, first_bytes);
        if (second_bytes)
            memcpy(at + sizeof written + first_bytes, second, second_bytes);
    }
    return bytes;
}

static void drop_finished(struct journal_state *state) {
    for (size_t i = 0; i < state->track_count; i++) {
        struct journal_track *track = &state->tracks[i];
        size_t kept = 0;
        for (size_t mark = 0; mark < track->mark_count; mark++)
            if (!state->channels[track->marks[mark].channel].finished)
                track->marks[kept++] = track->marks[mark];
        track->mark_count = kept;
        if (state->channels[track->entry.channel].finished)
            track->entry.words = 0;
    }
}

// Everything that is known, as entries; how many bytes they are.
static uint64_t put_state(const struct journal_state *state, char *half) {
    uint64_t at = 0;
#define AT (half ? half + at : NULL)
    at += write_entry(
        AT, &(struct layout_journal_entry){.type = LAYOUT_JOURNAL_BASE, .events = state->all_events}, NULL, 0,
        NULL, 0);
    for (size_t i = 0; i < state->channel_count; i++) {
        const struct journal_channel *channel = &state->channels[i];
        size_t length = strlen(channel->name);
        struct layout_journal_entry entry = {.type = LAYOUT_JOURNAL_CHANNEL,
                                             .words = (uint32_t)length,
                                             .flags = channel->shares ? LAYOUT_JOURNAL_SHARES : 0,
                                             .process_start = channel->process_start};
        at += write_entry(AT, &entry, channel->name, length, NULL, 0);
        entry = (struct layout_journal_entry){.type = LAYOUT_JOURNAL_FINISHED, .channel = (uint32_t)i};
        if (channel->finished)
            at += write_entry(AT, &entry, NULL, 0, NULL, 0);
    }
    for (size_t i = 0; i < state->track_count; i++) {
        const struct journal_track *track = &state->tracks[i];
        struct layout_journal_entry entry = track->entry;
        entry.marks = (uint32_t)track->mark_count;
        if (track->mark_count > 0)
            at += write_entry(AT, &entry, track->marks, track->mark_count * sizeof *track->marks,
                              track->words, entry.words * sizeof *track->words);
    }
#undef AT
    return at;
}

static bool write_committed(int fd, uint32_t half, uint64_t committed) {
    return write_at(fd, &committed, sizeof committed,
                    offsetof(struct layout_journal, committed) + half * sizeof committed);
}

// All that is known, into a half that is not active; its bytes.
static bool write_state(const struct journal *journal, int fd, uint64_t half_bytes, uint32_t half,
                        uint64_t *bytes) {
    *bytes = put_state(&journal->state, NULL);
    char *text = malloc(*bytes);
    bool done = text && *bytes <= half_bytes;
    if (done) {
        (void)put_state(&journal->state, text);
        done = write_at(fd, text, *bytes, half_offset(half_bytes, half)) && write_committed(fd, half, *bytes);
    }
    free(text);
    return done;
}

// A new file in the place of the old one.
static bool move_to_new(struct journal *journal, uint64_t half_bytes) {
    char name[32];
    uint64_t committed;
    int fd = half_bytes <= HALF_MAX ? make_file(journal->directory, half_bytes, name) : -1;
    if (fd < 0)
        return false;
    if (!write_state(journal, fd, half_bytes, 0, &committed)) {
        unlinkat(journal->directory, name, 0);
        close(fd);
        return false;
    }
    if (!put_in_place(journal->directory, name)) {
        close(fd);
        return false;
    }
    close(journal->fd);
    journal->fd = fd;
    journal->half_bytes = half_bytes;
    journal->active = 0;
    journal->committed = committed;
    return true;
}

// Whether the file still has its original length and a name. Processes that can write to the session directory, such as
// the recorded programs, can truncate or remove it.
static bool is_whole(const struct journal *journal) {
    struct stat status;
    return fstat(journal->fd, &status) == 0 && status.st_nlink > 0 &&
           (uint64_t)status.st_size >= file_bytes(journal->half_bytes);
}

static bool make_room(struct journal *journal, uint64_t bytes) {
    const uint32_t other = 1 - journal->active;
    const bool whole = is_whole(journal);
    uint64_t committed;
    if (whole && journal->committed + bytes <= journal->half_bytes)
        return true;
    drop_finished(&journal->state);
    uint64_t needed = put_state(&journal->state, NULL) + bytes;
    // Half full at once, it would soon be full again. Without space for more it has to do.
    if (2 * needed > journal->half_bytes && move_to_new(journal, 4 * needed))
        return true;
    if (needed > journal->half_bytes)
        return false;
    if (!whole)
        return move_to_new(journal, journal->half_bytes);
    if (!write_state(journal, journal->fd, journal->half_bytes, other, &committed) ||
        !write_at(journal->fd, &other, sizeof other, offsetof(struct layout_journal, active)))
        return false;
    journal->active = other;
    journal->committed = committed;
    return true;
}

void journal_give_up(struct journal *journal) {
    const uint32_t failed = 1;
    journal->state.failed = true;
    (void)write_at(journal->fd, &failed, sizeof failed, offsetof(struct layout_journal, failed));
}

static bool add(struct journal *journal, const struct layout_journal_entry *entry, const void *first,
                size_t first_bytes, const void *second, size_t second_bytes) {
    struct journal_state *state = &journal->state;
    uint64_t bytes = write_entry(NULL, entry, NULL, first_bytes, NULL, second_bytes);
    void *scratch = journal->scratch;
    bool room = array_reserve(&scratch, &journal->scratch_capacity, bytes, 1);
    journal->scratch = scratch;
    if (!room || state->failed || !make_room(journal, bytes))
        goto fail;
    memset(journal->scratch, 0, bytes);
    write_entry(journal->scratch, entry, first, first_bytes, second, second_bytes);
    if (!write_at(journal->fd, journal->scratch, bytes,
                  half_offset(journal->half_bytes, journal->active) + journal->committed) ||
        !write_committed(journal->fd, journal->active, journal->committed + bytes))
        goto fail;
    journal->committed += bytes;
    if (apply(state, entry, journal->scratch + sizeof *entry))
        return true;
fail:
    journal_give_up(journal);
    return false;
}

tsmith_status journal_create(int directory, struct journal **out, tsmith_error *error) {
    char name[32];
    struct journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "out of memory while creating the session's journal");
    journal->directory = directory;
    journal->half_bytes = FIRST_HALF;
    journal->fd = make_file(directory, FIRST_HALF, name);
    if (journal->fd < 0 || !put_in_place(directory, name)) {
        tsmith_status status = status_set_errno(error, "cannot create the session's journal");
        journal_destroy(journal);
        return status;
    }
    *out = journal;
    return TSMITH_OK;
}

void journal_destroy(struct journal *journal) {
    if (!journal)
        return;
    if (journal->fd >= 0)
        close(journal->fd);
    free(journal->scratch);
    journal_state_finish(&journal->state);
    free(journal);
}

uint32_t journal_add_channel(struct journal *journal, const char *name, int64_t process_start, bool shares) {
    const struct layout_journal_entry entry = {.type = LAYOUT_JOURNAL_CHANNEL,
                                               .words = (uint32_t)strlen(name),
                                               .flags = shares ? LAYOUT_JOURNAL_SHARES : 0,
                                               .process_start = process_start};
    size_t number = journal->state.channel_count;
    return add(journal, &entry, name, entry.words, NULL, 0) ? (uint32_t)number : UINT32_MAX;
}

void journal_finish_channel(struct journal *journal, uint32_t channel) {
    const struct layout_journal_entry entry = {.type = LAYOUT_JOURNAL_FINISHED, .channel = channel};
    (void)add(journal, &entry, NULL, 0, NULL, 0);
}

bool journal_deliver(struct journal *journal, const struct layout_journal_entry *entry,
                     const struct layout_journal_mark *marks, const uint64_t *words) {
    struct layout_journal_entry noted = *entry;
    noted.type = LAYOUT_JOURNAL_TRACK;
    noted.events = journal->state.all_events + entry->rows;
    bool done = add(journal, &noted, marks, noted.marks * sizeof *marks, words, noted.words * sizeof *words);
    // Counted in any case: what is in the file does not ask whether it was noted.
    journal->state.all_events = noted.events;
    return done;
}

// ---- reading

// The whole file, on the heap; NULL when there is none or it is no journal.
static struct layout_journal *read_file(int directory) {
    struct stat status;
    struct layout_journal *file = NULL;
    int fd = openat(directory, LAYOUT_JOURNAL_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= (off_t)LAYOUT_PAGE &&
        (uint64_t)status.st_size <= file_bytes(HALF_MAX))
        // Its head is aligned to cache lines, and the size must be a multiple of the alignment.
        file = aligned_alloc(alignof(struct layout_journal),
                             ((size_t)status.st_size + alignof(struct layout_journal) - 1) /
                                 alignof(struct layout_journal) * alignof(struct layout_journal));
    for (size_t done = 0; file && done < (size_t)status.st_size;) {
        ssize_t got = pread(fd, (char *)file + done, (size_t)status.st_size - done, (off_t)done);
        if (got <= 0) {
            free(file);
            file = NULL;
            break;
        }
        done += (size_t)got;
    }
    close(fd);
    if (file && (file->magic != LAYOUT_JOURNAL_MAGIC || file->version != LAYOUT_VERSION ||
                 file->half_bytes > HALF_MAX || file->half_bytes % 8 ||
                 file_bytes(file->half_bytes) > (uint64_t)status.st_size)) {
        free(file);
        file = NULL;
    }
    return file;
}

static bool entry_makes_sense(const struct journal_state *state, const struct layout_journal_entry *entry,
                              uint64_t left) {
    if (entry->bytes < sizeof *entry || entry->bytes % 8 || entry->bytes > left)
        return false;
    uint64_t room = entry->bytes - sizeof *entry;
    if (entry->type == LAYOUT_JOURNAL_CHANNEL)
        return entry->words <= room;
    if (entry->type == LAYOUT_JOURNAL_TRACK)
        return entry->channel < state->channel_count &&
               (uint64_t)entry->marks * sizeof(struct layout_journal_mark) + (uint64_t)entry->words * 8 <=
                   room;
    return true;
}

static bool marks_make_sense(const struct journal_state *state, const struct layout_journal_entry *entry,
                             const struct layout_journal_mark *marks) {
    for (uint32_t i = 0; i < entry->marks; i++)
        if (marks[i].channel >= state->channel_count)
            return false;
    return true;
}

bool journal_read(int directory, uint64_t events, struct journal_state *out) {
    memset(out, 0, sizeof *out);
    struct layout_journal *file = read_file(directory);
    if (!file)
        return false;
    uint32_t active = atomic_load(&file->active) & 1;
    uint64_t committed = atomic_load(&file->committed[active]);
    const char *half = (const char *)file + half_offset(file->half_bytes, active);
    bool sound = committed <= file->half_bytes;
    out->failed = atomic_load(&file->failed) != 0;
    for (uint64_t at = 0; sound && at < committed;) {
        struct layout_journal_entry entry;
        sound = committed - at >= sizeof entry;
        if (sound)
            memcpy(&entry, half + at, sizeof entry);
        sound = sound && entry_makes_sense(out, &entry, committed - at);
        const void *payload = half + at + sizeof entry;
        if (!sound)
            break;
        bool track = entry.type == LAYOUT_JOURNAL_TRACK;
        if (track && entry.rows && entry.events > out->last.events)
            out->last = entry;
        if (entry.events > out->all_events)
            out->all_events = entry.events;
        if (entry.events <= events) {
            sound = (!track || marks_make_sense(out, &entry, payload)) && apply(out, &entry, payload);
            out->events = entry.events > out->events ? entry.events : out->events;
        }
        at += entry.bytes;
    }
    free(file);
    if (!sound)
        journal_state_finish(out);
    return sound;
}
