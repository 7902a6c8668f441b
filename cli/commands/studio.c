// SPDX-License-Identifier: Apache-2.0
// `tracesmith studio`: traces in a browser. The server is a program of its own (cli/studio), which takes the place of this one.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/helper_program.h"
#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/options/quantity.h"
#include "cli/present/terminal.h"

enum { FIXED = 7, PORT_MOST = 65535 };

static bool read_port(const struct invocation *invocation, char out[8]) {
    const char *port = invocation_value(invocation, "port");
    uint64_t number = 0;
    if (port && (!quantity_count(port, &number) || number > PORT_MOST)) {
        complain("--port: '%s' is not a port number (0 to %d)", port, PORT_MOST);
        return false;
    }
    snprintf(out, 8, "%u", (unsigned)number);
    return true;
}

// The absolute path of a file that can be read; NULL after a complaint.
static char *resolve(const char *path, int *code) {
    char *whole = NULL;
    struct stat info;
    *code = EXIT_DAMAGED;
    if (strcmp(path, "-") == 0) {
        complain("studio reads files more than once; write standard input to a file first");
        *code = EXIT_USAGE;
        return NULL;
    }
    if (trace_is_directory(path))
        return NULL;
    if (!(whole = realpath(path, NULL)) || access(whole, R_OK) != 0 || stat(whole, &info) != 0) {
        complain("%s cannot be opened: %s", path, strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        complain("%s is not a regular file; studio needs one", path);
    } else {
        return whole;
    }
    free(whole);
    return NULL;
}

static int start(char **words, size_t count, const struct invocation *invocation) {
    int code = EXIT_DONE;
    size_t resolved = 0;
    while (resolved < invocation->operand_count && code == EXIT_DONE) {
        words[count] = resolve(invocation->operands[resolved], &code);
        if (words[count]) {
            code = EXIT_DONE;
            count++;
            resolved++;
        }
    }
    if (code == EXIT_DONE) {
        (void)execv(words[0], words);
        complain("%s cannot be started: %s", words[0], strerror(errno));
        code = EXIT_LACKING;
    }
    while (resolved)
        free(words[FIXED + --resolved]);
    return code;
}

int command_studio(const struct invocation *invocation) {
    char program[PATH_MAX], self[PATH_MAX], port[8];
    struct text folder = {0};
    const char *address = invocation_value(invocation, "listen"),
               *folder_to = invocation_value(invocation, "export");
    if (!read_port(invocation, port))
        return EXIT_USAGE;
    if (!helper_find("tracesmith-studio", program, sizeof program,
                     "libmicrohttpd, node-typescript and esbuild are (Debian: apt install libmicrohttpd-dev "
                     "node-typescript esbuild)") ||
        !helper_own_path(self, sizeof self))
        return EXIT_LACKING;
    const char *cache = trace_cache_folder(&folder);
    const size_t size = FIXED + invocation->operand_count + 1;
    char **words = calloc(size, sizeof *words);
    int code = EXIT_LACKING;
    if (words) {
        words[0] = program;
        words[1] = self;
        words[2] = cache ? (char *)(uintptr_t)cache : "";
        words[3] = address ? (char *)(uintptr_t)address : "127.0.0.1";
        words[4] = port;
        words[5] = invocation_flag(invocation, "no-browser") ? "0" : "1";
        words[6] = folder_to ? (char *)(uintptr_t)folder_to : "";
        code = start(words, FIXED, invocation);
    } else {
        complain("out of memory");
    }
    free(words);
    text_finish(&folder);
    return code;
}
