// SPDX-License-Identifier: Apache-2.0
// The server of `tracesmith studio`: what its files share. It is a program of its own (tracesmith-studio), started by the command,
// so that the command needs no HTTP library.
//
// A request is answered by one of three: tiles and the overview from the opened file, in this process; SQL on a second handle of
// the file; everything else by the command itself (`tracesmith analyze FILE --json`), run as a child, so that a page and the command
// line cannot disagree, and that the memory of an analysis is not the server's. docs/studio.md has the requests.
#ifndef CLI_STUDIO_SERVER_H
#define CLI_STUDIO_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/present/text.h"
#include "tracesmith/query.h"
#include "tracesmith/tiles.h"
#include "tracesmith/trace.h"
#include "tracesmith/view.h"

// ---- traces

enum file_state { FILE_OPENING, FILE_READY, FILE_FAILED };

// A trace of the command line.
struct file {
    const char *path;                  // borrowed from argv
    atomic_int state;                  // enum file_state; what follows `lock` is there when it is FILE_READY
    atomic_uint_least64_t done, total; // bytes read while it is opened; total 0: not known
    atomic_bool is_filled;             // its tiles are
    atomic_bool is_loaded;             // from what was kept of an earlier run
    char *error;                       // of FILE_FAILED
    pthread_mutex_t lock;              // for all below: the library takes one thread at a time; by file_enter
    pthread_cond_t left;               // a request has left
    atomic_uint entering;              // requests that wait for it
    tsmith_trace *trace;
    tsmith_sbt *sbt;
    const tsmith_dictionary *dictionary;
    tsmith_tiles *tiles;
    // A second handle for SQL, which may take long: the timeline does not wait for it.
    pthread_mutex_t query_lock;
    tsmith_trace *query_trace;
    tsmith_query *query;
    uint64_t query_revision; // of `live`, when it was opened
    struct live
        *live; // made before the file is ready: of one that is still being written (live.h); else NULL
};

struct server {
    const char *command; // path of `tracesmith`
    const char *cache;   // folder of imported traces; NULL: none
    struct file *files;
    size_t file_count;
    pthread_t opener;
    bool has_opener; // it runs, or was not waited for
    bool follows;    // traces that are still being written
    atomic_bool is_ending;
};

// Opens the files one after the other and then fills their tiles, on a thread of its own.
bool files_begin(struct server *server);
// Returns when all were opened, or failed, and their tiles are filled.
void files_wait(struct server *server);
void files_end(struct server *server);
// Around what a request does with a file that is ready. Requests go before the filling of tiles, which takes the lock again at once.
void file_enter(struct file *file);
void file_leave(struct file *file);
// What a file was opened with; `progress` is wanted or not.
tsmith_trace_options files_options(const struct server *server, struct file *progress);

// ---- answers

struct request {
    const char *method; // "GET" or "POST"
    const char *path;   // decoded, begins with "/api/"
    // The value of a parameter of the query, decoded; NULL when it is not there.
    const char *(*parameter)(const struct request *request, const char *name);
    // The parameters one by one; false past the last.
    bool (*parameter_at)(const struct request *request, size_t index, const char **name, const char **value);
    void *connection; // of those
    const char *body;
    size_t body_length;
};

struct answer {
    int status; // of HTTP
    const char *type;
    struct text text;
};

void answer_request(struct server *server, const struct request *request, struct answer *out);

// Puts a failure in the place of what the answer has.
void answer_failure(struct answer *out, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Each writes an answer about a file that is ready. The rest of the path (behind the name of the request) is in `rest`.
void answer_overview(struct file *file, struct answer *out);
void answer_tile(struct file *file, const char *rest, struct answer *out);
void answer_tiles(struct file *file, const struct request *request, struct answer *out);
void answer_first_tiles(struct file *file, uint64_t width, size_t most, struct text *out);
void answer_names(struct file *file, const struct request *request, struct answer *out);
void answer_samples(struct file *file, const struct request *request, struct answer *out);
void answer_sql(struct server *server, struct file *file, const struct request *request, struct answer *out);
void answer_event(struct server *server, struct file *file, const struct request *request,
                  struct answer *out);

// Runs `tracesmith WORDS` and makes its standard output the answer; a failure with its stderr if there is none.
// `words` is NULL-terminated. False when it failed.
bool answer_by_command(const struct server *server, const char *const *words, struct answer *out);

// Whether memory is left for the analyses of all events of a file; else the answer is a failure that says how much they need.
bool has_room_for_analysis(struct file *file, struct answer *out);

// ---- HTTP

struct http_options {
    const char *address; // to listen on: "127.0.0.1"
    uint16_t port;       // 0: any that is free
};

struct http;
// Listens. NULL after a complaint.
struct http *http_begin(struct server *server, const struct http_options *options);
// "http://127.0.0.1:40123/#token=..."; lives as long as the server.
const char *http_url(const struct http *http);
uint16_t http_port(const struct http *http);
void http_end(struct http *http);

// A file of the page; false for a path that is none.
struct page_part {
    const char *type, *bytes;
    size_t length;
};
bool page_find(const char *path, struct page_part *out);
// The files of a page without a server, with their names; false past the last. There are none where the reader was not built.
bool page_static_at(size_t index, const char **name, struct page_part *out);

// Opens an address in the user's browser. The address is not in the browser's command line, which other users can read: it is
// in a file that only the user can read, which is removed by browser_end.
bool browser_begin(const char *url);
void browser_end(void);

#endif
