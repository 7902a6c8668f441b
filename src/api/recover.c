// SPDX-License-Identifier: Apache-2.0
// The whole of a recording that was killed: what it had written, and what it had not.
//
// The new file gets its name when it is whole, so that it may take the place of the one it is made from.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/left_sources.h"
#include "api/recording.h"
#include "base/file.h"
#include "base/sized.h"
#include "base/status.h"
#include "collect/recovery.h"
#include "sbt/continue.h"
#include "sbt/writer.h"
#include "tracesmith/capture.h"
#include "tracesmith/replay.h"
#include "tracesmith/stacks.h"

// For a file that has all of a recording: nothing is added to it, even if the directory still has files.
static const char WHOLE[] = "recovered";

struct completion {
    const char *directory;
    struct recovery *recovery;  // NULL once it is the source's
    struct sbt_continued *file; // NULL: there is none to begin with
    uint64_t whole_events;
    tsmith_source *source;
    struct left_sources left;
    tsmith_sink *sink;
    uint64_t passed; // events of the source
    int (*keep_going)(void *context);
    void *context;
    tsmith_capture_completion *out;
};

// ---- the file that was being written

static bool attribute_is(const tsmith_dictionary *dictionary, const char *key, int64_t value) {
    char text[32];
    tsmith_string found = tsmith_dictionary_find_attribute(dictionary, key);
    snprintf(text, sizeof text, "%lld", (long long)value);
    return found.bytes && strcmp(found.bytes, text) == 0;
}

// Whether it is the file of this recording. One without an event has no attributes yet.
static bool is_file_of_recording(const struct completion *completion, const struct sbt_tail *tail) {
    const struct layout_control *control = recovery_control(completion->recovery);
    const tsmith_dictionary *dictionary = sbt_continue_dictionary(completion->file);
    return tail->events == 0 || (attribute_is(dictionary, "trace_clock_start_ns", control->started) &&
                                 attribute_is(dictionary, "wall_clock_start_ns", control->started_realtime));
}

static void leave_file(struct completion *completion, const char *why) {
    sbt_continue_close(completion->file);
    completion->file = NULL;
    completion->out->file_missing = 1;
    snprintf(completion->out->note, sizeof completion->out->note, "%s", why);
}

static void match_file(struct completion *completion, const struct sbt_tail *tail) {
    const struct recovery_file file = {
        .events = tail->events,
        .uncertain = tail->uncertain,
        .tail = {.dictionary_track = tail->track,
                 .rows = tail->rows < UINT32_MAX ? (uint32_t)tail->rows : UINT32_MAX,
                 .last_end = tail->last_end}};
    tsmith_capture_completion *out = completion->out;
    switch (recovery_match_file(completion->recovery, &file, &completion->whole_events)) {
    case RECOVERY_NO_JOURNAL:
        leave_file(completion, "the session's journal is damaged or missing, so it is unknown which of its "
                               "events the output file has: that file is left out");
        break;
    case RECOVERY_UNSURE:
        out->may_repeat = 1;
        snprintf(out->note, sizeof out->note,
                 "the journal could not be updated because space ran out: the last events of the output file "
                 "may appear twice");
        break;
    case RECOVERY_SHORT:
        out->file_damaged = 1;
        snprintf(out->note, sizeof out->note,
                 "the output file was truncated after it was written: the missing events are lost unless "
                 "they were still in the session");
        break;
    case RECOVERY_EXACT:
        break;
    }
}

static void open_file(struct completion *completion) {
    const char *path = recovery_control(completion->recovery)->output;
    tsmith_capture_completion *out = completion->out;
    struct sbt_tail tail;
    struct stat status;
    tsmith_error error;
    char why[sizeof out->note];
    if (!path[0])
        return;
    // The name of the file comes from the control file, to which the recorded program can write. A file of another user than
    // the recording's is not opened: the recovering user may have permission to read files that the recording's user has not.
    if (lstat(path, &status) == 0 &&
        (!S_ISREG(status.st_mode) || status.st_uid != recovery_user(completion->recovery))) {
        snprintf(why, sizeof why,
                 "the output file is left out: %.400s is not a file of the "
                 "user who made the recording",
                 path);
        leave_file(completion, why);
        return;
    }
    if (sbt_continue_open(path, &completion->file, &tail, &error)) {
        snprintf(why, sizeof why, "the output file is left out: %.400s", error.message);
        leave_file(completion, why);
        return;
    }
    if (!is_file_of_recording(completion, &tail)) {
        snprintf(why, sizeof why, "%.400s now holds another recording and is left out", path);
        leave_file(completion, why);
        return;
    }
    out->file_damaged = sbt_continue_damaged(completion->file);
    completion->whole_events = UINT64_MAX;
    out->file_whole =
        tsmith_dictionary_find_attribute(sbt_continue_dictionary(completion->file), WHOLE).bytes != NULL;
    if (out->file_whole)
        snprintf(out->note, sizeof out->note, "%.400s already contained everything", path);
    else
        match_file(completion, &tail);
}

// ---- the new file

// What is written to first: a new file in the directory of `path`, or `path` itself if it is not a regular file.
static tsmith_status make_place(const char *path, char **out, tsmith_error *error) {
    struct stat status;
    size_t length = strlen(path);
    bool direct = stat(path, &status) == 0 && !S_ISREG(status.st_mode);
    char *place = malloc(length + sizeof ".XXXXXX");
    *out = place;
    if (!place)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while recovering a session");
    memcpy(place, path, length + 1);
    if (direct)
        return TSMITH_OK;
    memcpy(place + length, ".XXXXXX", sizeof ".XXXXXX");
    int fd = mkstemp(place);
    if (fd < 0) {
        tsmith_status failed = status_set_errno(error, "%s cannot be created", path);
        free(place);
        *out = NULL;
        return failed;
    }
    close(fd);
    return TSMITH_OK;
}

static tsmith_status counted_next(struct completion *completion, const tsmith_batch **batch,
                                  tsmith_error *error) {
    tsmith_status status = tsmith_source_next(completion->source, batch, error);
    if (status == TSMITH_OK)
        completion->passed += tsmith_batch_count(*batch);
    return status;
}

// tsmith_pump, with the failures of the two sides distinguished. OK, TRUNCATED, or a failure.
static tsmith_status copy_remaining(struct completion *completion, tsmith_error *error) {
    const tsmith_batch *batch;
    tsmith_status status, written = TSMITH_OK;
    while ((status = counted_next(completion, &batch, error)) == TSMITH_OK && written == TSMITH_OK) {
        written =
            tsmith_sink_write(completion->sink, tsmith_source_dictionary(completion->source), batch, error);
        if (completion->keep_going && !completion->keep_going(completion->context))
            break;
    }
    completion->out->output_failed = written < 0;
    return written < 0 ? written : status == TSMITH_END ? TSMITH_OK : status;
}

// As a recording that ends has them: who reads the file later may not have the binaries. The source is at its end, and
// all that its events refer to is in the file's dictionary by now. What fails here leaves addresses.
static void name_frames(struct completion *completion, const tsmith_dictionary *of_source) {
    (void)tsmith_dictionary_symbolize(completion->file ? sbt_continue_dictionary(completion->file)
                                                       : (tsmith_dictionary *)(uintptr_t)of_source,
                                      NULL, NULL, NULL);
}

static tsmith_status finish(struct completion *completion, bool is_whole, tsmith_error *error) {
    const tsmith_dictionary *dictionary = tsmith_source_dictionary(completion->source);
    name_frames(completion, dictionary);
    // Programs that still record will have more to recover.
    if (is_whole && completion->file)
        tsmith_dictionary_set_attribute(sbt_continue_dictionary(completion->file), WHOLE, "whole");
    tsmith_status status = tsmith_sink_finish(completion->sink, dictionary, error);
    completion->out->output_failed |= status < 0;
    return status;
}

static tsmith_status write_all(struct completion *completion, const char *place, bool is_whole,
                               tsmith_error *error) {
    tsmith_error truncation;
    tsmith_recording_writer writer = {0};
    // What recorders left is written anew from there: a file may have the beginning of it.
    const bool recorded = recording_is_left(completion->directory);
    tsmith_status status = completion->file
                               ? sbt_continue_into(completion->file, place, completion->whole_events,
                                                   !recorded, &completion->sink, error)
                               : tsmith_recording_writer_open(place, NULL, &writer, error);
    if (!completion->file)
        completion->sink = writer.sink;
    if (status == TSMITH_OK && !completion->file && recorded)
        status = tsmith_recording_writer_take(&writer, completion->directory, error);
    completion->out->output_failed = status < 0;
    if (status < 0)
        return status;
    completion->out->file_events = completion->file ? sbt_continue_events(completion->file) : 0;
    tsmith_status rest = completion->out->file_whole ? TSMITH_OK : copy_remaining(completion, &truncation);
    if (rest != TSMITH_OK && error)
        *error = truncation;
    if (rest < 0)
        return rest;
    if (completion->file && recorded)
        status = recording_carry(sbt_continue_writer(completion->file), completion->directory, error);
    completion->out->output_failed = status < 0;
    if (status < 0)
        return status;
    status = finish(completion, is_whole, error);
    return status < 0 ? status : rest;
}

static tsmith_status put_in_place(const char *place, const char *path, tsmith_error *error) {
    if (strcmp(place, path) == 0 || rename(place, path) == 0)
        return TSMITH_OK;
    return status_set_errno(error, "%s cannot be replaced", path);
}

static void close_all(struct completion *completion) {
    tsmith_sink_destroy(completion->sink);
    sbt_continue_close(completion->file);
    tsmith_source_destroy(completion->source);
    recovery_close(completion->recovery);
    left_sources_finish(&completion->left);
}

static tsmith_status complete(struct completion *completion, const char *directory, const char *path,
                              tsmith_error *error) {
    char *place = NULL;
    tsmith_status status = recovery_open(directory, &completion->recovery, error);
    if (status)
        return status;
    bool is_whole = recovery_processes(completion->recovery) == 0;
    if (!is_whole && file_is_same(path, recovery_control(completion->recovery)->output))
        return status_set(
            error, TSMITH_ERROR_BUSY,
            "the recorded program is still running; end it first, or write to a file other than %s", path);
    open_file(completion);
    struct recovery *recovery = completion->recovery;
    completion->recovery = NULL;
    left_sources_join(&completion->left, directory, recovery);
    status = recovery_source(recovery, &completion->source, error);
    if (status)
        return status;
    status = make_place(path, &place, error);
    completion->out->output_failed = status < 0;
    if (status)
        return status;
    status = write_all(completion, place, is_whole, error);
    completion->out->ring_events = completion->passed;
    if (status >= 0 && put_in_place(place, path, error)) {
        completion->out->output_failed = 1;
        status = TSMITH_ERROR_IO;
    }
    if (status < 0 && strcmp(place, path) != 0)
        unlink(place);
    free(place);
    return status;
}

tsmith_status tsmith_capture_complete(const char *directory, const char *path,
                                      int (*keep_going)(void *context), void *context,
                                      tsmith_capture_completion *out, tsmith_error *error) {
    tsmith_capture_completion done = {0};
    struct completion completion = {
        .directory = directory, .left.spool = -1, .keep_going = keep_going, .context = context, .out = &done};
    tsmith_status status = complete(&completion, directory, path, error);
    close_all(&completion);
    done.recording_left = status < 0 && recording_is_left(directory);
    sized_give(tsmith_capture_completion, &done, out);
    return status;
}
