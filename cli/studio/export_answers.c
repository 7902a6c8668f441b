// SPDX-License-Identifier: Apache-2.0
// What a page without a server cannot ask for, answered beforehand: the detail of the timelines, and what the command prints. traces.json
// lists it.
#include "cli/studio/export.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/present/terminal.h"
#include "tracesmith/analyze.h"
#include "tracesmith/version.h"

enum { PAIRS_MOST = 4 }; // traces of which each is compared with each

struct exported {
    struct server *server;
    struct text list;
    size_t count; // of answers
    bool is_begun;
    const char *before, *after, *cpu; // parameters
};

static const char *parameter(const struct request *request, const char *name) {
    const struct exported *exported = request->connection;
    return strcmp(name, "before") == 0  ? exported->before
           : strcmp(name, "after") == 0 ? exported->after
           : strcmp(name, "cpu") == 0   ? exported->cpu
                                        : NULL;
}

static bool no_parameter(const struct request *request, size_t index, const char **name, const char **value) {
    (void)request;
    (void)index;
    (void)name;
    (void)value;
    return false;
}

// "REQUEST": [200, "answers/7.json"]
static void list_answer(struct exported *exported, const char *request, int status, size_t number) {
    text_add_cstr(&exported->list, exported->is_begun ? ",\n" : "\n");
    exported->is_begun = true;
    text_add_json_cstr(&exported->list, request);
    text_add_format(&exported->list, ":[%d,\"answers/%zu.json\"]", status, number);
}

// Answers "/api/REQUEST" and lists the file of it; its status, 0 for a failure to write it.
static int add(struct exported *exported, const char *request, const char *query) {
    char path[256], name[64];
    struct answer answer = {.status = 200};
    (void)snprintf(path, sizeof path, "/api/%s", request);
    const struct request asked = {.method = "GET",
                                  .path = path,
                                  .parameter = parameter,
                                  .parameter_at = no_parameter,
                                  .connection = exported,
                                  .body = ""};
    answer_request(exported->server, &asked, &answer);
    (void)snprintf(name, sizeof name, "answers/%zu.json", exported->count);
    (void)snprintf(path, sizeof path, "%s%s", request, query);
    list_answer(exported, path, answer.status, exported->count++);
    const bool good = export_file(name, text_cstr(&answer.text), answer.text.length);
    text_finish(&answer.text);
    return good ? answer.status : 0;
}

static bool has_samples(struct file *file) {
    tsmith_sbt_summary summary = {.size = sizeof summary};
    return tsmith_sbt_summarize(file->sbt, &summary, NULL) == TSMITH_OK &&
           summary.kinds[TSMITH_KIND_SAMPLE] > 0;
}

static bool add_samples(struct exported *exported, size_t number) {
    char request[160];
    (void)snprintf(request, sizeof request, "%zu/samples", number);
    bool good = add(exported, request, "") != 0;
    (void)snprintf(request, sizeof request, "%zu/folded", number);
    exported->cpu = "1";
    good = good && add(exported, request, "?cpu=1") != 0;
    exported->cpu = NULL;
    return good;
}

// The findings have the reports of all analyses, of which the page takes the one that it asks for: the trace is analyzed once.
static bool add_of_trace(struct exported *exported, size_t number) {
    static const char *const REQUESTS[] = {"analyses", "folded", "recording"};
    char request[160];
    const size_t findings = exported->count;
    (void)snprintf(request, sizeof request, "%zu/findings", number);
    const int status = add(exported, request, "");
    bool good = status != 0;
    for (size_t i = 0; good && tsmith_analysis_name(i); i++) {
        (void)snprintf(request, sizeof request, "%zu/analysis/%s", number, tsmith_analysis_name(i));
        list_answer(exported, request, status, findings);
    }
    for (size_t i = 0; good && i < sizeof REQUESTS / sizeof *REQUESTS; i++) {
        (void)snprintf(request, sizeof request, "%zu/%s", number, REQUESTS[i]);
        good = add(exported, request, "") != 0;
    }
    return good && (!has_samples(&exported->server->files[number]) || add_samples(exported, number));
}

static bool add_comparisons(struct exported *exported) {
    const size_t count = exported->server->file_count;
    char numbers[2][24], query[80];
    bool good = add(exported, "ranks", "") != 0;
    for (size_t i = 0; count <= PAIRS_MOST && i < count * count && good; i++) {
        if (i / count == i % count)
            continue;
        (void)snprintf(numbers[0], sizeof numbers[0], "%zu", i / count);
        (void)snprintf(numbers[1], sizeof numbers[1], "%zu", i % count);
        (void)snprintf(query, sizeof query, "?before=%s&after=%s", numbers[0], numbers[1]);
        exported->before = numbers[0];
        exported->after = numbers[1];
        good = add(exported, "diff", query) != 0;
    }
    return good;
}

// "name", "file", "detail" and "parts" of a trace; a damaged one has no detail, which is built in the browser then.
static bool add_trace(struct text *list, const struct file *file, size_t number) {
    char detail[64];
    tsmith_error error;
    (void)snprintf(detail, sizeof detail, "%zu/detail.sbt", number);
    const tsmith_status status = tsmith_tiles_save(file->tiles, detail, &error);
    if (status != TSMITH_OK && status != TSMITH_ERROR_INVALID_ARGUMENT) {
        complain("%s", error.message);
        return false;
    }
    text_add_cstr(list, number ? ",\n{\"name\":" : "\n{\"name\":");
    text_add_json_cstr(list, strrchr(file->path, '/') + 1);
    text_add_cstr(list, ",\"file\":");
    text_add_json_cstr(list, file->path);
    text_add_cstr(list, ",\"detail\":");
    if (status == TSMITH_OK)
        text_add_json_cstr(list, detail);
    else
        text_add_cstr(list, "null");
    const bool good = export_parts(list, file, number);
    text_add_char(list, '}');
    return good;
}

bool export_answers(struct server *server) {
    struct exported exported = {.server = server};
    bool good = true;
    text_add_format(&exported.list, "{\"version\":\"%s\",\"traces\":[", tsmith_version());
    for (size_t i = 0; good && i < server->file_count; i++) {
        struct file *file = &server->files[i];
        if (atomic_load(&file->state) != FILE_READY) {
            complain("%s", file->error ? file->error : "out of memory");
            good = false;
        } else {
            good = add_trace(&exported.list, file, i);
        }
    }
    text_add_cstr(&exported.list, "],\n\"answers\":{");
    if (good && mkdir("answers", 0777) != 0) {
        complain("cannot compute the answers");
        good = false;
    }
    for (size_t i = 0; good && i < server->file_count; i++)
        good = add_of_trace(&exported, i);
    good = good && (server->file_count < 2 || add_comparisons(&exported));
    text_add_cstr(&exported.list, "}}\n");
    if (exported.list.failed) {
        complain("out of memory");
        good = false;
    }
    good = good && export_file("traces.json", text_cstr(&exported.list), exported.list.length);
    text_finish(&exported.list);
    return good;
}
