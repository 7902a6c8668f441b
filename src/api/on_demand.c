// SPDX-License-Identifier: Apache-2.0
// The recorder's side of recording on demand (tracesmith/on_demand.h).
//
//     IDLE --request--> WAITING --its time--> RECORDING --time, steps, or the request is taken back--> SETTLING --> IDLE
//
// While settling, the agents are silent again, and what they recorded is delivered.
#include "tracesmith/on_demand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/on_demand_files.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "tracesmith/sbt.h"
#include "tracesmith/stacks.h"
#include "tracesmith/view.h"

static const int64_t DELIVERED_AFTER = 1000000000; // ns
static const int64_t LOOK = 20000000;              // ns between looks at files

enum stage { IDLE, WAITING, RECORDING, SETTLING };

struct tsmith_on_demand {
    tsmith_capture *capture;
    tsmith_sink *sink;
    int directory;
    enum stage stage;
    struct on_demand_request request;
    tsmith_sink *writer;
    char part[4096 + 8];
    int64_t looked, begun, ended; // trace times
    uint64_t steps;               // seen
    bool failed;
    char note[512];
    uint64_t written_count, failed_count;
};

static const tsmith_dictionary *dictionary_of(const struct tsmith_on_demand *on_demand) {
    return tsmith_source_dictionary(tsmith_capture_source(on_demand->capture));
}

// A reader sees this answer or the one before.
static void answer(const struct tsmith_on_demand *on_demand, tsmith_on_demand_state state) {
    struct on_demand_answer made = {.magic = ON_DEMAND_MAGIC, .state = (uint32_t)state};
    (void)snprintf(made.note, sizeof made.note, "%s", on_demand->note);
    (void)unlinkat(on_demand->directory, ON_DEMAND_ANSWER ".new", 0);
    const int fd = openat(on_demand->directory, ON_DEMAND_ANSWER ".new",
                          O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    const bool whole = file_write(fd, &made, sizeof made);
    close(fd);
    if (whole)
        (void)renameat(on_demand->directory, ON_DEMAND_ANSWER ".new", on_demand->directory, ON_DEMAND_ANSWER);
}

static bool is_text(const char *text, size_t room) {
    return memchr(text, '\0', room) != NULL;
}

// The request, if it is one of this user.
static bool take_request(struct tsmith_on_demand *on_demand) {
    struct on_demand_request *request = &on_demand->request;
    struct stat status;
    const int fd =
        openat(on_demand->directory, ON_DEMAND_REQUEST, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    const bool sound = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                       read(fd, request, sizeof *request) == (ssize_t)sizeof *request &&
                       request->magic == ON_DEMAND_MAGIC && is_text(request->api, sizeof request->api) &&
                       is_text(request->step, sizeof request->step) &&
                       is_text(request->output, sizeof request->output) && request->output[0] == '/' &&
                       request->duration >= 0;
    close(fd);
    if (!sound)
        (void)unlinkat(on_demand->directory, ON_DEMAND_REQUEST, 0);
    return sound;
}

static bool is_withdrawn(const struct tsmith_on_demand *on_demand) {
    struct stat status;
    return fstatat(on_demand->directory, ON_DEMAND_REQUEST, &status, AT_SYMLINK_NOFOLLOW) != 0;
}

static void end(struct tsmith_on_demand *on_demand, tsmith_on_demand_state state) {
    on_demand->written_count += state == TSMITH_ON_DEMAND_DONE;
    on_demand->failed_count += state == TSMITH_ON_DEMAND_FAILED;
    tsmith_sink_destroy(on_demand->writer);
    on_demand->writer = NULL;
    if (state == TSMITH_ON_DEMAND_FAILED && on_demand->part[0])
        unlink(on_demand->part);
    on_demand->stage = IDLE;
    answer(on_demand, state);
    (void)unlinkat(on_demand->directory, ON_DEMAND_REQUEST, 0);
}

static void fail(struct tsmith_on_demand *on_demand, const tsmith_error *error) {
    tsmith_capture_arm(on_demand->capture, 0);
    (void)snprintf(on_demand->note, sizeof on_demand->note, "%s", error->message);
    end(on_demand, TSMITH_ON_DEMAND_FAILED);
}

static bool is_used(const struct tsmith_on_demand *on_demand, const char *api) {
    const char *name;
    uint32_t processes;
    for (size_t i = 0; tsmith_capture_api_seen(on_demand->capture, i, &name, &processes); i++)
        if (strcmp(name, api) == 0 && processes)
            return true;
    return false;
}

static void begin(struct tsmith_on_demand *on_demand) {
    const struct on_demand_request *request = &on_demand->request;
    const tsmith_sbt_write_options options = {.size = sizeof options, .exclusive = 1};
    tsmith_error error = {0};
    on_demand->part[0] = '\0';
    on_demand->steps = 0;
    if (request->api[0] && !is_used(on_demand, request->api)) {
        (void)snprintf(error.message, sizeof error.message, "no process of this recording uses %s",
                       request->api);
        fail(on_demand, &error);
        return;
    }
    (void)snprintf(on_demand->part, sizeof on_demand->part, "%s.part", request->output);
    if (tsmith_sbt_writer_open(on_demand->part, &options, &on_demand->writer, &error)) {
        on_demand->part[0] = '\0'; // not ours
        fail(on_demand, &error);
        return;
    }
    // The CUDA agent gets the times of recording from its own process only.
    if (is_used(on_demand, "cuda"))
        (void)snprintf(
            on_demand->note, sizeof on_demand->note,
            "CUDA work is not recorded: the CUDA agent cannot be switched on from another process yet");
    on_demand->stage = RECORDING;
    on_demand->begun = clock_trace_now();
    tsmith_capture_arm(on_demand->capture, 1);
    answer(on_demand, TSMITH_ON_DEMAND_RECORDING);
}

static bool is_over(const struct tsmith_on_demand *on_demand, int64_t now) {
    const struct on_demand_request *request = &on_demand->request;
    return (request->duration && now - on_demand->begun >= request->duration) ||
           (request->steps && on_demand->steps >= request->steps) || is_withdrawn(on_demand);
}

static void complete(struct tsmith_on_demand *on_demand) {
    tsmith_error error = {0};
    // Every source has a dictionary that it can add to. Names are worth less than events: what fails here leaves addresses.
    tsmith_dictionary *dictionary = (tsmith_dictionary *)(uintptr_t)dictionary_of(on_demand);
    const tsmith_symbolize_options live = {sizeof live, 1};
    (void)tsmith_dictionary_symbolize(dictionary, &live, NULL, NULL);
    tsmith_dictionary_set_attribute(dictionary, "on_demand", "yes"); // what is first in the file began no run
    tsmith_status status = tsmith_sink_finish(on_demand->writer, dictionary, &error);
    tsmith_sink_destroy(on_demand->writer);
    on_demand->writer = NULL;
    if (status == TSMITH_OK && rename(on_demand->part, on_demand->request.output))
        status = status_set_errno(&error, "cannot name %s", on_demand->request.output);
    if (status)
        fail(on_demand, &error);
    else
        end(on_demand, TSMITH_ON_DEMAND_DONE);
}

void tsmith_on_demand_look(tsmith_on_demand *on_demand) {
    const int64_t now = clock_trace_now();
    if (now - on_demand->looked < LOOK)
        return;
    on_demand->looked = now;
    if (on_demand->stage == IDLE && take_request(on_demand)) {
        on_demand->stage = WAITING;
        on_demand->note[0] = '\0';
        answer(on_demand, TSMITH_ON_DEMAND_WAITING);
    }
    if (on_demand->stage == WAITING && is_withdrawn(on_demand)) {
        (void)snprintf(on_demand->note, sizeof on_demand->note, "it was ended early");
        end(on_demand, TSMITH_ON_DEMAND_FAILED);
    }
    if (on_demand->stage == WAITING && clock_now(CLOCK_REALTIME) >= on_demand->request.at)
        begin(on_demand);
    else if (on_demand->stage == RECORDING && is_over(on_demand, now)) {
        tsmith_capture_arm(on_demand->capture, 0);
        on_demand->stage = SETTLING;
        on_demand->ended = now;
    } else if (on_demand->stage == SETTLING && now - on_demand->ended > DELIVERED_AFTER)
        complete(on_demand);
}

// ---- the sink

static void count_steps(struct tsmith_on_demand *on_demand, const tsmith_dictionary *dictionary,
                        const tsmith_batch *batch) {
    static const uint32_t fields[] = {TSMITH_FIELD_NAME};
    const size_t length = strlen(on_demand->request.step);
    tsmith_spans spans;
    tsmith_view name;
    if (!tsmith_view_spans(batch, &spans))
        return;
    tsmith_view_batch(batch, fields, 1, &name);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        if (spans.kinds[row] != TSMITH_KIND_RANGE)
            continue;
        const tsmith_string text = tsmith_dictionary_string(dictionary, tsmith_view_id(&name, row));
        on_demand->steps += text.length == length && memcmp(text.bytes, on_demand->request.step, length) == 0;
    }
}

static tsmith_status sink_write(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                tsmith_error *error) {
    struct tsmith_on_demand *on_demand = self;
    tsmith_error failed = {0};
    (void)error; // a file that cannot be written is no reason to end
    if (!on_demand->writer)
        return TSMITH_OK;
    if (on_demand->request.steps)
        count_steps(on_demand, dictionary, batch);
    if (tsmith_sink_write(on_demand->writer, dictionary, batch, &failed))
        fail(on_demand, &failed);
    return TSMITH_OK;
}

// The program has ended, and everything was delivered.
static tsmith_status sink_finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct tsmith_on_demand *on_demand = self;
    (void)dictionary;
    (void)error;
    if (on_demand->writer)
        complete(on_demand);
    return TSMITH_OK;
}

tsmith_sink *tsmith_on_demand_sink(tsmith_on_demand *on_demand) {
    return on_demand->sink;
}

void tsmith_on_demand_count(const tsmith_on_demand *on_demand, uint64_t *written, uint64_t *failed) {
    *written = on_demand->written_count;
    *failed = on_demand->failed_count;
}

// ---- life

tsmith_status tsmith_on_demand_create(tsmith_capture *capture, tsmith_on_demand **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {.write = sink_write, .finish = sink_finish};
    *out = NULL;
    tsmith_on_demand *on_demand = calloc(1, sizeof *on_demand);
    if (!on_demand)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while arming");
    on_demand->capture = capture;
    on_demand->directory = open(tsmith_capture_directory(capture), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tsmith_status status = TSMITH_OK;
    if (on_demand->directory < 0)
        status = status_set_errno(error, "cannot open the session directory %s",
                                  tsmith_capture_directory(capture));
    else if (tsmith_sink_create(&ops, on_demand, &on_demand->sink))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while arming");
    if (status) {
        tsmith_on_demand_destroy(on_demand);
        return status;
    }
    answer(on_demand, TSMITH_ON_DEMAND_IDLE);
    *out = on_demand;
    return TSMITH_OK;
}

void tsmith_on_demand_destroy(tsmith_on_demand *on_demand) {
    if (!on_demand)
        return;
    tsmith_sink_destroy(on_demand->writer);
    tsmith_sink_destroy(on_demand->sink);
    if (on_demand->directory >= 0)
        close(on_demand->directory);
    free(on_demand);
}
