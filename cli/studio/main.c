// SPDX-License-Identifier: Apache-2.0
// The program behind `tracesmith studio`. It is started by the command, which has checked the command line:
//     tracesmith-studio COMMAND CACHE ADDRESS PORT BROWSER EXPORT FILE...
// COMMAND is the path of tracesmith, CACHE the folder of imported traces (empty: none), PORT 0 any that is free, BROWSER "1"
// or "0", EXPORT a folder to write in place of serving (empty: none). It prints the address on standard output and serves until it gets SIGINT, SIGTERM or SIGHUP.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/present/terminal.h"
#include "cli/studio/export.h"
#include "cli/studio/server.h"

enum { FIXED = 7 }; // words before the files

// Until a signal comes.
static void wait_for_end(const sigset_t *signals) {
    int number;
    while (sigwait(signals, &number) != 0)
        continue;
}

static void say_where(const struct http *http, const struct http_options *options) {
    (void)printf("%s\n", http_url(http));
    if (getenv("SSH_CONNECTION"))
        (void)printf(
            "On your own machine:  ssh -N -L %u:127.0.0.1:%u HOST  and then open the address above there\n",
            http_port(http), http_port(http));
    (void)fflush(stdout);
    if (strncmp(options->address, "127.", 4) != 0)
        complain("warning: anyone who can reach %s port %u and sees the address above can read these traces; "
                 "the connection is not encrypted",
                 options->address, http_port(http));
    (void)fprintf(stderr, "Ctrl-C ends the server.\n");
}

static int run_server(struct server *server, const struct http_options *options, bool with_browser,
                      const sigset_t *signals) {
    struct http *http = http_begin(server, options);
    if (!http)
        return EXIT_LACKING;
    server->follows = true;
    if (!files_begin(server)) {
        complain("out of memory");
        http_end(http);
        return EXIT_LACKING;
    }
    say_where(http, options);
    if (with_browser)
        (void)browser_begin(http_url(http));
    wait_for_end(signals);
    browser_end();
    atomic_store(&server->is_ending, true); // before requests are waited for
    http_end(http);
    files_end(server);
    return EXIT_DONE;
}

// Writes the traces as a folder that needs no server of ours.
static int export(struct server *server, const char *folder) {
    const char *name;
    struct page_part part;
    if (!page_static_at(0, &name, &part)) {
        complain("this tracesmith was built without the reader for browsers (reader.wasm); build it with "
                 "clang, lld, libclang-rt-14-dev-wasm32 and wasi-libc installed");
        return EXIT_LACKING;
    }
    if (!export_traces(server, folder))
        return EXIT_LACKING;
    if (!files_begin(server)) {
        complain("out of memory");
        return EXIT_LACKING;
    }
    files_wait(server);
    const bool good = export_answers(server);
    files_end(server);
    if (good)
        (void)printf("%s: serve it with any web server that answers range requests; open index.html there\n",
                     folder);
    return good ? EXIT_DONE : EXIT_LACKING;
}

int main(int argc, char **argv) {
    sigset_t signals;
    if (argc <= FIXED) {
        (void)fprintf(stderr, "This program is started by `tracesmith studio`.\n");
        return EXIT_USAGE;
    }
    terminal_init();
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    if (!*argv[6]) // an export ends by them
        (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    const struct http_options options = {argv[3], (uint16_t)strtoul(argv[4], NULL, 10)};
    struct server server = {
        .command = argv[1], .cache = *argv[2] ? argv[2] : NULL, .file_count = (size_t)(argc - FIXED)};
    server.files = calloc(server.file_count, sizeof *server.files);
    if (!server.files) {
        complain("out of memory");
        return EXIT_LACKING;
    }
    for (size_t i = 0; i < server.file_count; i++)
        server.files[i].path = argv[FIXED + i];
    const int code =
        *argv[6] ? export(&server, argv[6]) : run_server(&server, &options, *argv[5] == '1', &signals);
    free(server.files);
    return code;
}
