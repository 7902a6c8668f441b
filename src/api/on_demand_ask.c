// SPDX-License-Identifier: Apache-2.0
// Asks a session for a recording (tracesmith/on_demand.h). `tracesmith record` calls it.
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/on_demand_files.h"
#include "base/file.h"
#include "base/sized.h"
#include "base/status.h"
#include "collect/session_directory.h"

static const int64_t DEFAULT_DURATION = 5000000000; // ns

// The answer in an open session directory; false: there is none of its owner.
static bool read_answer(const struct session_directory *session, struct on_demand_answer *out) {
    struct stat status;
    const int fd = openat(session->fd, ON_DEMAND_ANSWER, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    const bool sound = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == session->user &&
                       read(fd, out, sizeof *out) == (ssize_t)sizeof *out && out->magic == ON_DEMAND_MAGIC &&
                       memchr(out->note, '\0', sizeof out->note) && out->state <= TSMITH_ON_DEMAND_FAILED;
    close(fd);
    return sound;
}

int tsmith_on_demand_is_armed(const char *directory) {
    struct session_directory session;
    struct on_demand_answer answer;
    tsmith_error error;
    if (session_directory_look(&session, directory, &error))
        return 0;
    const bool armed = session_directory_collected(&session) && read_answer(&session, &answer);
    session_directory_close(&session);
    return armed;
}

static bool copy_text(char *out, size_t room, const char *text) {
    const int length = snprintf(out, room, "%s", text ? text : "");
    return length >= 0 && (size_t)length < room;
}

static tsmith_status make_request(const tsmith_on_demand_request *given, struct on_demand_request *out,
                                  tsmith_error *error) {
    tsmith_on_demand_request chosen;
    const tsmith_status status = sized_take(tsmith_on_demand_request, given, &chosen, error);
    if (status)
        return status;
    *out = (struct on_demand_request){
        .magic = ON_DEMAND_MAGIC, .steps = chosen.steps, .duration = chosen.duration, .at = chosen.at};
    if (!chosen.duration && !chosen.steps)
        out->duration = DEFAULT_DURATION;
    if (!chosen.output || chosen.output[0] != '/' || chosen.duration < 0)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "a recording on demand needs the absolute path of its output file");
    if (!copy_text(out->output, sizeof out->output, chosen.output) ||
        !copy_text(out->step, sizeof out->step, chosen.step ? chosen.step : "step") ||
        !copy_text(out->api, sizeof out->api, chosen.api))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "a name is too long");
    return TSMITH_OK;
}

// The request has its name once it is whole; if there is one, it stays.
static tsmith_status put_request(const struct session_directory *session,
                                 const struct on_demand_request *request, tsmith_error *error) {
    char name[64];
    (void)snprintf(name, sizeof name, ON_DEMAND_REQUEST ".%ld", (long)getpid());
    const int fd = openat(session->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    tsmith_status status = TSMITH_OK;
    if (fd < 0)
        return status_set_errno(error, "cannot send a request to the recording in %s", session->path);
    if (!file_write(fd, request, sizeof *request) ||
        linkat(session->fd, name, session->fd, ON_DEMAND_REQUEST, 0))
        status =
            errno == EEXIST
                ? status_set(error, TSMITH_ERROR_BUSY, "%s: another recording is in progress", session->path)
                : status_set_errno(error, "cannot send a request to the recording in %s", session->path);
    close(fd);
    (void)unlinkat(session->fd, name, 0);
    return status;
}

tsmith_status tsmith_on_demand_ask(const char *directory, const tsmith_on_demand_request *given,
                                   tsmith_error *error) {
    struct session_directory session;
    struct on_demand_request request;
    struct on_demand_answer answer;
    tsmith_status status = make_request(given, &request, error);
    if (!status)
        status = session_directory_look(&session, directory, error);
    if (status)
        return status;
    if (session.user != geteuid())
        status = status_set(error, TSMITH_ERROR_PERMISSION, "the session in %s belongs to user %u", directory,
                            (unsigned)session.user);
    else if (!session_directory_collected(&session) || !read_answer(&session, &answer))
        status = status_set(
            error, TSMITH_ERROR_STATE,
            "the session in %s does not record on demand: 'profile --armed' starts one that does", directory);
    else
        status = put_request(&session, &request, error);
    session_directory_close(&session);
    return status;
}

tsmith_status tsmith_on_demand_look_at(const char *directory, tsmith_on_demand_state *out, char note[512],
                                       tsmith_error *error) {
    struct session_directory session;
    struct on_demand_answer answer;
    struct stat there;
    tsmith_status status = session_directory_look(&session, directory, error);
    if (status)
        return status;
    // A request that was not taken yet has no answer.
    const bool asked = fstatat(session.fd, ON_DEMAND_REQUEST, &there, AT_SYMLINK_NOFOLLOW) == 0;
    if (!read_answer(&session, &answer) || !session_directory_collected(&session)) {
        status = status_set(error, TSMITH_ERROR_STATE, "the session in %s has ended", directory);
    } else {
        const bool over = answer.state == TSMITH_ON_DEMAND_DONE || answer.state == TSMITH_ON_DEMAND_FAILED;
        *out = asked && over ? TSMITH_ON_DEMAND_IDLE : (tsmith_on_demand_state)answer.state;
        memcpy(note, answer.note, sizeof answer.note);
    }
    session_directory_close(&session);
    return status;
}

void tsmith_on_demand_end(const char *directory) {
    struct session_directory session;
    tsmith_error error;
    if (session_directory_look(&session, directory, &error))
        return;
    (void)unlinkat(session.fd, ON_DEMAND_REQUEST, 0);
    session_directory_close(&session);
}
