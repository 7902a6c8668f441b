// SPDX-License-Identifier: Apache-2.0
// Finds out what a request asks for. http.c calls it on the thread of the request's connection.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/studio/live.h"
#include "cli/studio/picture.h"
#include "tracesmith/analyze.h"
#include "tracesmith/replay.h"
#include "tracesmith/version.h"

enum { WIDTH_MOST = 20000, FIRST_TILES_MOST = 120000 }; // pixels; bytes

static const char JSON[] = "application/json; charset=utf-8";

void answer_failure(struct answer *out, int status, const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    out->status = status;
    out->type = JSON;
    text_clear(&out->text);
    text_add_cstr(&out->text, "{\"error\":");
    text_add_json_cstr(&out->text, message);
    text_add_cstr(&out->text, "}\n");
}

// The overview of the trace that the page begins with, where it is ready: one request less before the first picture.
static void add_overview(struct server *server, const struct request *request, struct text *text) {
    struct answer overview = {.status = 200};
    uint64_t number;
    if (picture_number(request->parameter(request, "overview"), UINT32_MAX, &number) &&
        number < server->file_count && atomic_load(&server->files[number].state) == FILE_READY)
        answer_overview(&server->files[number], &overview);
    if (overview.text.length && overview.status == 200)
        text_add(text, overview.text.bytes, overview.text.length);
    else
        text_add_cstr(text, "null");
    text->failed |= overview.text.failed;
    text_finish(&overview.text);
}

// With all that the first picture needs: uint32 bytes of the list, the list, tiles of its overview's trace.
static void add_first_picture(struct server *server, const struct request *request, struct answer *out) {
    uint64_t width, number;
    if (!picture_number(request->parameter(request, "width"), WIDTH_MOST, &width) || !width)
        return;
    const struct text list = out->text;
    const uint32_t length = (uint32_t)list.length;
    const unsigned char bytes[4] = {(unsigned char)length, (unsigned char)(length >> 8),
                                    (unsigned char)(length >> 16), (unsigned char)(length >> 24)};
    out->text = (struct text){.failed = list.failed};
    text_add(&out->text, (const char *)bytes, sizeof bytes);
    text_add(&out->text, list.bytes, list.length);
    free(list.bytes);
    out->type = "application/octet-stream";
    if (picture_number(request->parameter(request, "overview"), UINT32_MAX, &number) &&
        number < server->file_count && atomic_load(&server->files[number].state) == FILE_READY)
        answer_first_tiles(&server->files[number], width, out->text.length + FIRST_TILES_MOST, &out->text);
}

static void list_traces(struct server *server, const struct request *request, struct answer *out) {
    static const char *const STATES[] = {"opening", "ready", "failed"};
    text_add_format(&out->text, "{\"version\":\"%s\",\"traces\":[", tsmith_version());
    for (size_t i = 0; i < server->file_count; i++) {
        struct file *file = &server->files[i];
        const int state = atomic_load(&file->state);
        const uint64_t done = atomic_load(&file->done), total = atomic_load(&file->total);
        const char *slash = strrchr(file->path, '/');
        text_add_format(&out->text, "%s{\"id\":%zu,\"name\":", i ? "," : "", i);
        text_add_json_cstr(&out->text, slash && slash[1] ? slash + 1 : file->path);
        text_add_cstr(&out->text, ",\"path\":");
        text_add_json_cstr(&out->text, file->path);
        text_add_format(&out->text, ",\"state\":\"%s\",\"done\":%llu,\"total\":", STATES[state],
                        (unsigned long long)done);
        if (total)
            text_add_u64(&out->text, total);
        else
            text_add_cstr(&out->text, "null");
        text_add_cstr(&out->text, ",\"error\":");
        if (state == FILE_FAILED)
            text_add_json_cstr(&out->text, file->error ? file->error : "out of memory");
        else
            text_add_cstr(&out->text, "null");
        text_add_char(&out->text, '}');
    }
    text_add_cstr(&out->text, "],\"overview\":");
    add_overview(server, request, &out->text);
    text_add_cstr(&out->text, "}\n");
    add_first_picture(server, request, out);
}

static void list_analyses(struct answer *out) {
    text_add_char(&out->text, '[');
    for (size_t i = 0; tsmith_analysis_name(i); i++) {
        text_add_cstr(&out->text, i ? ",{\"name\":" : "{\"name\":");
        text_add_json_cstr(&out->text, tsmith_analysis_name(i));
        text_add_cstr(&out->text, ",\"doc\":");
        text_add_json_cstr(&out->text, tsmith_analysis_question(i));
        text_add_char(&out->text, '}');
    }
    text_add_cstr(&out->text, "]\n");
}

static bool is_analysis(const char *name) {
    for (size_t i = 0; tsmith_analysis_name(i); i++)
        if (strcmp(name, tsmith_analysis_name(i)) == 0)
            return true;
    return false;
}

static void analyze(struct server *server, struct file *file, const char *name, struct answer *out) {
    if (name && !is_analysis(name)) {
        answer_failure(out, 404, "This analysis does not exist");
        return;
    }
    if (!has_room_for_analysis(file, out))
        return;
    const char *const words[] = {"analyze", file->path, "--json", name ? "--only" : NULL, name, NULL};
    (void)answer_by_command(server, words, out);
}

// Call paths with what they launched, or with their CPU time, one per line: the page makes the tree of it.
static void answer_folded(const struct server *server, const struct file *file, const struct request *request,
                          struct answer *out) {
    const char *cpu = request->parameter(request, "cpu");
    const char *words[12] = {"export", file->path, "--format", "folded", "--output", "-"};
    static const char *const ends[] = {"from", "to"};
    char times[2][40];
    size_t count = 6;
    for (size_t i = 0; i < 2; i++) {
        const char *text = request->parameter(request, ends[i]);
        uint64_t time;
        if (text && !picture_number(text, INT64_MAX, &time)) {
            answer_failure(out, 400, "The request may name a part of the trace: from=0&to=1000");
            return;
        }
        if (text) {
            (void)snprintf(times[i], sizeof times[i],
                           "--%s=%llu"
                           "ns",
                           ends[i], (unsigned long long)time);
            words[count++] = times[i];
        }
    }
    if (cpu && strcmp(cpu, "1") == 0)
        words[count++] = "--cpu";
    if (answer_by_command(server, words, out))
        out->type = "text/plain; charset=utf-8";
}

// The changes of `simulate` that a page may ask for; every parameter is one of its options.
static const char *const SIMULATE_OPTIONS[] = {"scale",        "drop-sync",    "fuse",   "graph",
                                               "overlap-comm", "device-ratio", "policy", NULL};
enum { WORDS_MOST = 64, WORD_MOST = 4096 };

static bool is_one_of(const char *const *names, const char *name) {
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static void simulate(struct server *server, struct file *file, const struct request *request,
                     struct answer *out) {
    const char *words[WORDS_MOST + 4] = {"simulate", file->path, "--json"};
    char *made[WORDS_MOST];
    size_t count = 0;
    const char *name, *value;
    bool good = true;
    if (!has_room_for_analysis(file, out))
        return;
    for (size_t i = 0; good && request->parameter_at(request, i, &name, &value); i++) {
        good =
            count < WORDS_MOST && is_one_of(SIMULATE_OPTIONS, name) && (!value || strlen(value) < WORD_MOST);
        const bool has_value = value && *value;
        good = good &&
               asprintf(&made[count], "--%s%s%s", name, has_value ? "=" : "", has_value ? value : "") >= 0;
        if (good)
            words[3 + count] = made[count];
        count += good;
    }
    if (good)
        (void)answer_by_command(server, words, out);
    else
        answer_failure(out, 400, "Unknown changes for simulate");
    while (count)
        free(made[--count]);
}

// The recorded commands, without running any.
static void list_recorded(const struct server *server, struct file *file, struct answer *out) {
    const char *const words[] = {"replay", file->path, "--mode", "dry-run", "--json", NULL};
    tsmith_recording *recording;
    tsmith_error error;
    file_enter(file);
    const tsmith_status status = tsmith_recording_open(file->sbt, &recording, &error);
    if (status == TSMITH_OK)
        tsmith_recording_close(recording);
    file_leave(file);
    if (status != TSMITH_ERROR_NOT_FOUND) {
        (void)answer_by_command(server, words, out);
        return;
    }
    text_add_cstr(&out->text, "{\"recording\":null,\"reason\":");
    text_add_json_cstr(&out->text, error.message);
    text_add_cstr(&out->text, "}\n");
}

// Runs the recorded kernels, which may come from anybody: in a sandbox, and only by POST, which no link can send.
static void replay(const struct server *server, const struct file *file, struct answer *out) {
    const char *const words[] = {"replay", file->path, "--sandbox", "--all", "--json", NULL};
    (void)answer_by_command(server, words, out);
}

// Runs them too, up to one command.
static void contents(const struct server *server, const struct file *file, const struct request *request,
                     struct answer *out) {
    const char *command = request->parameter(request, "command"), *pid = request->parameter(request, "pid");
    uint64_t number;
    if (!picture_number(command, UINT32_MAX, &number) || (pid && !picture_number(pid, UINT64_MAX, &number))) {
        answer_failure(out, 400,
                       "The request needs the number of a command, and may name its process: "
                       "command=0&pid=1234");
        return;
    }
    const char *const words[] = {"replay", file->path,           "--sandbox", "--contents", command,
                                 "--json", pid ? "--pid" : NULL, pid,         NULL};
    (void)answer_by_command(server, words, out);
}

static struct file *ready_file(struct server *server, uint64_t number, struct answer *out) {
    struct file *file = number < server->file_count ? &server->files[number] : NULL;
    const int state = file ? atomic_load(&file->state) : FILE_FAILED;
    if (!file)
        answer_failure(out, 404, "There is no trace %llu", (unsigned long long)number);
    else if (state == FILE_FAILED)
        answer_failure(out, 409, "%s", file->error ? file->error : "out of memory");
    else if (state == FILE_OPENING)
        answer_failure(out, 409, "The trace is still being read");
    return state == FILE_READY ? file : NULL;
}

static void about_file(struct server *server, struct file *file, const char *what,
                       const struct request *request, struct answer *out) {
    const bool is_post = strcmp(request->method, "POST") == 0;
    if (is_post != (strcmp(what, "sql") == 0 || strcmp(what, "replay") == 0 || strcmp(what, "contents") == 0))
        answer_failure(out, 405, "This request does not support the method");
    else if (strcmp(what, "live") == 0)
        answer_live(file, request, out);
    else if (strcmp(what, "overview") == 0)
        answer_overview(file, out);
    else if (strncmp(what, "tile/", 5) == 0)
        answer_tile(file, what + 5, out);
    else if (strcmp(what, "tiles") == 0)
        answer_tiles(file, request, out);
    else if (strcmp(what, "names") == 0)
        answer_names(file, request, out);
    else if (!live_is_same_file(file, out))
        return;
    else if (strcmp(what, "event") == 0)
        answer_event(server, file, request, out);
    else if (strcmp(what, "findings") == 0)
        analyze(server, file, NULL, out);
    else if (strcmp(what, "analyses") == 0)
        list_analyses(out);
    else if (strncmp(what, "analysis/", 9) == 0)
        analyze(server, file, what + 9, out);
    else if (strcmp(what, "sql") == 0)
        answer_sql(server, file, request, out);
    else if (strcmp(what, "folded") == 0)
        answer_folded(server, file, request, out);
    else if (strcmp(what, "samples") == 0)
        answer_samples(file, request, out);
    else if (strcmp(what, "recording") == 0)
        list_recorded(server, file, out);
    else if (strcmp(what, "replay") == 0)
        replay(server, file, out);
    else if (strcmp(what, "contents") == 0)
        contents(server, file, request, out);
    else if (strcmp(what, "simulate") == 0)
        simulate(server, file, request, out);
    else
        answer_failure(out, 404, "This request does not exist");
}

enum { SIDE_MOST = 50 }; // runs

// Appends the paths of the traces of a list "0,2,5" to the words; false after a failure.
static bool add_side(struct server *server, const char *list, const char **words, size_t *count,
                     struct answer *out) {
    char room[16];
    for (size_t taken = 0; list; taken++) {
        const char *comma = strchr(list, ',');
        const size_t length = comma ? (size_t)(comma - list) : strlen(list);
        uint64_t number;
        if (taken == SIDE_MOST || length >= sizeof room)
            break;
        memcpy(room, list, length);
        room[length] = '\0';
        if (!picture_number(room, UINT32_MAX, &number))
            break;
        const struct file *file = ready_file(server, number, out);
        if (!file)
            return false;
        words[(*count)++] = file->path;
        if (!comma)
            return true;
        list = comma + 1;
    }
    answer_failure(out, 400,
                   "The request needs the numbers of traces, at most %d per side: before=0&after=1,2",
                   SIDE_MOST);
    return false;
}

static void diff(struct server *server, const struct request *request, struct answer *out) {
    const char *words[2 * SIDE_MOST + 4] = {"diff", "--json"};
    size_t count = 2;
    if (!add_side(server, request->parameter(request, "before"), words, &count, out))
        return;
    words[count++] = "--";
    if (add_side(server, request->parameter(request, "after"), words, &count, out))
        (void)answer_by_command(server, words, out);
}

static void ranks(struct server *server, struct answer *out) {
    const char **words = calloc(server->file_count + 4, sizeof *words);
    if (!words) {
        answer_failure(out, 500, "out of memory");
        return;
    }
    words[0] = "analyze";
    words[1] = "--ranks";
    words[2] = "--json";
    for (size_t i = 0; i < server->file_count; i++)
        words[3 + i] = server->files[i].path;
    (void)answer_by_command(server, words, out);
    free(words);
}

void answer_request(struct server *server, const struct request *request, struct answer *out) {
    const char *path = request->path + strlen("/api/");
    char *end;
    out->status = 200;
    out->type = JSON;
    if (strcmp(path, "traces") == 0)
        list_traces(server, request, out);
    else if (strcmp(path, "diff") == 0)
        diff(server, request, out);
    else if (strcmp(path, "ranks") == 0)
        ranks(server, out);
    else if (*path >= '0' && *path <= '9') {
        errno = 0;
        const uint64_t number = strtoull(path, &end, 10);
        struct file *file = errno || *end != '/' ? NULL : ready_file(server, number, out);
        if (file)
            about_file(server, file, end + 1, request, out);
        else if (out->status == 200)
            answer_failure(out, 404, "This request does not exist");
    } else
        answer_failure(out, 404, "This request does not exist");
    if (out->text.failed)
        answer_failure(out, 500, "out of memory");
}
