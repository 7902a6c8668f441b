// SPDX-License-Identifier: Apache-2.0
// XRay in a recorded program: the environment that sets it up, its logs, and the offset of their clock.
//
// A log has ticks of the TSC, or, where XRay's runtime does not know the TSC's frequency, CLOCK_REALTIME in nanoseconds. Both
// are compared with the trace clock throughout a session; a tick belongs to the clock that had this value while the session ran.
#include "api/xray.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sized.h"
#include "base/status.h"
#include "import/xray/xray.h"
#include "launch/launch.h"
#include "launch/launch_agents.h"
#include "watch/host_clock.h"
#include "wire/layout.h"

enum { VARIABLES = 3, BUFFERS = 1024, BASIC_DEPTH = 1 << 16 };

struct tsmith_xray {
    char *directory, *link; // link: in the session's directory; NULL: it is not joined
    char *program;
    char *environment[VARIABLES + 1];
    size_t buffers; // of the recorder; 0: basic mode
    struct host_clock tsc, realtime;
    size_t logs, unreadable;
    tsmith_error error;
};

// ---- the environment

// What is set already comes first: of options, what comes later holds.
static bool add_variable(tsmith_xray *xray, size_t index, const char *name, const char *ours,
                         const char *between) {
    const char *theirs = between ? getenv(name) : NULL;
    char *text = NULL;
    if (asprintf(&text, "%s=%s%s%s", name, theirs ? theirs : "", theirs && *theirs ? between : "", ours) < 0)
        return false;
    xray->environment[index] = text;
    return true;
}

static bool make_basic(tsmith_xray *xray, int64_t least_ns) {
    char text[8192];
    const int length = snprintf(
        text, sizeof text, "patch_premain=true xray_mode=xray-basic xray_logfile_base=%s/", xray->directory);
    if (length < 0 || (size_t)length >= sizeof text || !add_variable(xray, 0, "XRAY_OPTIONS", text, " "))
        return false;
    // XRay silently leaves out calls deeper than 64 levels, unless configured.
    snprintf(text, sizeof text, "func_duration_threshold_us=%lld max_stack_depth=%d",
             (long long)(least_ns / 1000), BASIC_DEPTH);
    return add_variable(xray, 1, "XRAY_BASIC_OPTIONS", text, " ");
}

// The recorder waits for a start by TraceSmith's library in the program (agents/xray).
static bool make_recorder(tsmith_xray *xray, int64_t least_ns, const char *library) {
    char text[8192];
    const int length = snprintf(
        text, sizeof text, "patch_premain=false xray_mode=xray-fdr xray_logfile_base=%s/", xray->directory);
    if (length < 0 || (size_t)length >= sizeof text || !add_variable(xray, 0, "XRAY_OPTIONS", text, " "))
        return false;
    // It would wait a tenth of a second at the end for threads to see that it is one.
    snprintf(text, sizeof text,
             "buffer_size=65536:buffer_max=%zu:func_duration_threshold_us=%lld:grace_period_ms=5",
             xray->buffers, (long long)(least_ns / 1000));
    return add_variable(xray, 1, "TRACESMITH_XRAY_FDR", text, NULL) &&
           add_variable(xray, 2, "LD_PRELOAD", library, ":");
}

static tsmith_status make_environment(tsmith_xray *xray, const tsmith_xray_options *options,
                                      tsmith_error *error) {
    char directory[4096], library[4096 + 64] = "";
    tsmith_status status = TSMITH_OK;
    if (options->mode == TSMITH_XRAY_FDR) {
        xray->buffers = options->buffers ? options->buffers : BUFFERS;
        status = launch_agent_directory(options->agent_directory, directory, sizeof directory, error);
        if (status == TSMITH_OK && !launch_agent_path(directory, "xray", library, sizeof library))
            status = status_set(error, TSMITH_ERROR_MISSING, "%s has no libtracesmith-xray.so", directory);
    }
    if (status != TSMITH_OK)
        return status;
    return (options->mode == TSMITH_XRAY_FDR ? make_recorder(xray, options->least_ns, library)
                                             : make_basic(xray, options->least_ns))
               ? TSMITH_OK
               : status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading XRay logs");
}

tsmith_status tsmith_xray_create(const tsmith_xray_options *given, tsmith_xray **out, tsmith_error *error) {
    tsmith_xray_options options = {0};
    const char *folder = getenv("TMPDIR");
    *out = NULL;
    tsmith_status status = sized_take(tsmith_xray_options, given, &options, error);
    if (status != TSMITH_OK)
        return status;
    tsmith_xray *xray = calloc(1, sizeof *xray);
    if (!xray)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading XRay logs");
    if (asprintf(&xray->directory, "%s/tracesmith-xray-XXXXXX", folder && *folder ? folder : "/tmp") < 0)
        xray->directory = NULL;
    if (xray->directory && !mkdtemp(xray->directory)) {
        status = status_set_errno(
            error, "cannot create a directory for XRay logs in %s (set TMPDIR to another directory)",
            folder && *folder ? folder : "/tmp");
        free(xray->directory);
        free(xray);
        return status;
    }
    xray->program = options.program ? strdup(options.program) : NULL;
    status = xray->directory && (xray->program || !options.program)
                 ? make_environment(xray, &options, error)
                 : status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading XRay logs");
    if (status == TSMITH_OK)
        *out = xray;
    else
        tsmith_xray_destroy(xray);
    return status;
}

const char *const *tsmith_xray_environment(const tsmith_xray *xray) {
    return (const char *const *)xray->environment;
}

// ---- clocks

static bool read_clocks(tsmith_xray *xray, const tsmith_dictionary *dictionary) {
    if (!host_clock_read(&xray->tsc, dictionary, "tsc") ||
        !host_clock_read(&xray->realtime, dictionary, "CLOCK_REALTIME"))
        return false;
    if (clock_tick_is_tsc()) {
        const struct clock_sample now = clock_sample_take(true);
        if (!host_clock_add(&xray->tsc, (int64_t)now.tick, now.trace))
            return false;
    }
    return host_clock_add_now(&xray->realtime, CLOCK_REALTIME);
}

static bool to_time(void *context, uint64_t tick, int64_t *time) {
    const tsmith_xray *xray = context;
    return host_clock_find(&xray->tsc, tick, time) || host_clock_find(&xray->realtime, tick, time);
}

// ---- the logs

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// XRay names a log after the program: "name.XXXXXX".
static bool is_of(const char *log, const char *program) {
    const char *name = base_of(program), *dot = strrchr(log, '.');
    return dot && (size_t)(dot - log) == strlen(name) && memcmp(log, name, strlen(name)) == 0;
}

static const char *binary_of(const tsmith_xray *xray, const tsmith_dictionary *dictionary, const char *log) {
    if (xray->program && is_of(log, xray->program))
        return xray->program;
    for (uint32_t i = tsmith_dictionary_process_count(dictionary); i > 1;) {
        const char *name =
            tsmith_dictionary_string(dictionary, tsmith_dictionary_process(dictionary, --i)->name).bytes;
        if (name[0] == '/' && is_of(log, name))
            return name;
    }
    return NULL;
}

static tsmith_status open_log(tsmith_xray *xray, const char *log, const char *binary, tsmith_source **out) {
    char path[4096 + 256];
    snprintf(path, sizeof path, "%s/%s", xray->directory, log);
    const struct xray_session session = {to_time, xray, xray->buffers};
    const struct import_place place = {
        .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), .owned = true, .name = path};
    if (place.fd < 0)
        return status_set_errno(&xray->error, "%s cannot be read", path);
    if (!xray_is(&place)) {
        close(place.fd);
        return status_set(&xray->error, TSMITH_ERROR_FORMAT, "%s is not an XRay log", path);
    }
    return xray_open(&place, binary, &session, out, &xray->error);
}

struct adding {
    tsmith_status (*add)(void *context, tsmith_source *taken);
    void *context;
};

static void add_log(tsmith_xray *xray, const struct adding *adding, const tsmith_dictionary *dictionary,
                    const char *log) {
    tsmith_source *source = NULL;
    const char *binary = binary_of(xray, dictionary, log);
    tsmith_status status = open_log(xray, log, binary, &source);
    if (status == TSMITH_ERROR_FORMAT && binary)
        status = open_log(xray, log, NULL, &source); // the program of this name has no map: another one's
    if (status == TSMITH_OK)
        status = adding->add(adding->context, source);
    xray->logs++;
    xray->unreadable += status != TSMITH_OK;
}

void xray_add_logs(tsmith_xray *xray, const tsmith_dictionary *dictionary,
                   tsmith_status (*add)(void *context, tsmith_source *taken), void *context) {
    const struct adding adding = {add, context};
    DIR *folder = opendir(xray->directory);
    if (!folder || !read_clocks(xray, dictionary)) {
        xray->unreadable++;
        (void)status_set(&xray->error, TSMITH_ERROR_IO, "the XRay logs in %s cannot be read",
                         xray->directory);
    }
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            add_log(xray, &adding, dictionary, entry->d_name);
    if (folder)
        closedir(folder);
}

static tsmith_status add_to_capture(void *context, tsmith_source *taken) {
    return tsmith_capture_add_source(context, taken);
}

static void collect(void *context, tsmith_capture *capture) {
    xray_add_logs(context, tsmith_source_dictionary(tsmith_capture_source(capture)), add_to_capture, capture);
}

static char *link_in(const char *directory) {
    char *path = NULL;
    return asprintf(&path, "%s/" LAYOUT_LOGS_NAME, directory) < 0 ? NULL : path;
}

bool xray_open_left(const char *directory, tsmith_xray **out) {
    char target[4096];
    tsmith_xray *xray = calloc(1, sizeof *xray);
    if (xray)
        xray->link = link_in(directory);
    const ssize_t length = xray && xray->link ? readlink(xray->link, target, sizeof target) : -1;
    if (length > 0 && (size_t)length < sizeof target)
        target[length] = '\0';
    // The link is untrusted: any process that can write to the session directory can change it.
    struct stat folder, session;
    if (length > 0 && (size_t)length < sizeof target && lstat(target, &folder) == 0 &&
        S_ISDIR(folder.st_mode) && stat(directory, &session) == 0 && folder.st_uid == session.st_uid)
        xray->directory = strndup(target, (size_t)length);
    if (xray && !xray->directory) {
        tsmith_xray_destroy(xray);
        xray = NULL;
    }
    *out = xray;
    return xray != NULL;
}

tsmith_status tsmith_xray_join(tsmith_xray *xray, tsmith_capture *capture, tsmith_error *error) {
    // Logs grow on a disk, and not in shared memory; who recovers or removes the session finds them.
    free(xray->link);
    xray->link = link_in(tsmith_capture_directory(capture));
    if (!xray->link || symlink(xray->directory, xray->link))
        return status_set(error, TSMITH_ERROR_IO, "the session cannot store the directory of its XRay logs");
    const tsmith_status status = tsmith_capture_on_end(capture, collect, xray);
    return status == TSMITH_OK ? status
                               : status_set(error, status, "no more sources can be joined with a capture");
}

size_t tsmith_xray_logs(const tsmith_xray *xray, size_t *unreadable, tsmith_error *error) {
    if (unreadable)
        *unreadable = xray->unreadable;
    if (error && xray->unreadable)
        *error = xray->error;
    return xray->logs;
}

static void remove_directory(const char *path) {
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(path);
}

void tsmith_xray_destroy(tsmith_xray *xray) {
    if (!xray)
        return;
    // A session that is kept has its logs.
    if (xray->directory && (!xray->link || access(xray->link, F_OK)))
        remove_directory(xray->directory);
    for (size_t i = 0; i < VARIABLES; i++)
        free(xray->environment[i]);
    host_clock_finish(&xray->tsc);
    host_clock_finish(&xray->realtime);
    free(xray->program);
    free(xray->directory);
    free(xray->link);
    free(xray);
}
