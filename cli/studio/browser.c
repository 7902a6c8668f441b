// SPDX-License-Identifier: Apache-2.0
// Opens the page in the user's browser, where there is one.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/studio/server.h"

static char folder[256], page[280];

static bool write_page(const char *url) {
    const char *base = getenv("XDG_RUNTIME_DIR");
    const int needed =
        snprintf(folder, sizeof folder, "%s/tracesmith-studio-XXXXXX", base && *base == '/' ? base : "/tmp");
    if (needed < 0 || (size_t)needed >= sizeof folder || !mkdtemp(folder)) {
        *folder = '\0';
        return false;
    }
    snprintf(page, sizeof page, "%s/open.html", folder);
    const int fd = open(page, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file)
        return false;
    (void)fprintf(file,
                  "<!doctype html><meta charset=utf-8><title>TraceSmith</title>"
                  "<meta http-equiv=refresh content=\"0;url=%s\"><a href=\"%s\">TraceSmith Studio</a>\n",
                  url, url);
    return fclose(file) == 0;
}

bool browser_begin(const char *url) {
    pid_t pid;
    sigset_t none;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
        return false;
    if (!write_page(url))
        return false;
    char *const words[] = {"xdg-open", page, NULL};
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0); // Ctrl-C ends the server, not the browser
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int failure = posix_spawnp(&pid, words[0], &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failure == 0; // no process waits for it: it ends with its session, or after the server
}

void browser_end(void) {
    if (!*folder)
        return;
    (void)unlink(page);
    (void)rmdir(folder);
    *folder = '\0';
}
