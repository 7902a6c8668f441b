// SPDX-License-Identifier: Apache-2.0
// Runs the command as a child and makes what it prints an answer.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/present/terminal.h"
#include "cli/studio/server.h"

enum {
    OUTPUT_MOST = 256 << 20, // bytes
    SAID_MOST = 800,         // of stderr
    PIECE = 1 << 16,
    NAP = 100 // ms between looks at whether the server ends
};

struct child {
    pid_t pid;
    int out, said; // -1: at its end
    char message[SAID_MOST + 1];
    size_t message_length;
};

static void close_pipe(int pipe[2]) {
    (void)close(pipe[0]);
    (void)close(pipe[1]);
}

static bool start(const struct server *server, const char *const *words, struct child *child) {
    char *argv[128] = {(char *)(uintptr_t)server->command, "--no-color"};
    int out[2], said[2];
    size_t count = 2;
    for (; *words && count < sizeof argv / sizeof *argv - 1; words++)
        argv[count++] = (char *)(uintptr_t)*words;
    if (*words || pipe2(out, O_CLOEXEC) != 0)
        return false;
    if (pipe2(said, O_CLOEXEC) != 0) {
        close_pipe(out);
        return false;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, said[1], STDERR_FILENO);
    posix_spawnattr_t attributes; // the server waits for its signals with sigwait; its children do not
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int failure = posix_spawn(&child->pid, server->command, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    (void)close(out[1]);
    (void)close(said[1]);
    if (failure) {
        (void)close(out[0]);
        (void)close(said[0]);
        return false;
    }
    child->out = out[0];
    child->said = said[0];
    return true;
}

static void take_output(struct child *child, struct text *text, char *piece) {
    const ssize_t length = read(child->out, piece, PIECE);
    if (length > 0 && text->length + (size_t)length <= OUTPUT_MOST)
        text_add(text, piece, (size_t)length);
    else if (length == 0 || (length < 0 && errno != EINTR) || length > 0) {
        text->failed = text->failed || length > 0; // too much
        (void)close(child->out);
        child->out = -1;
    }
}

static void take_message(struct child *child, char *piece) {
    const ssize_t length = read(child->said, piece, PIECE);
    if (length > 0) {
        const size_t room = SAID_MOST - child->message_length;
        const size_t taken = (size_t)length < room ? (size_t)length : room;
        memcpy(child->message + child->message_length, piece, taken);
        child->message_length += taken;
    } else if (length == 0 || errno != EINTR) {
        (void)close(child->said);
        child->said = -1;
    }
}

static void listen_to(const struct server *server, struct child *child, struct text *text) {
    char *piece = malloc(PIECE);
    while (piece && (child->out >= 0 || child->said >= 0)) {
        struct pollfd fds[2] = {{.fd = child->out, .events = POLLIN}, {.fd = child->said, .events = POLLIN}};
        const int ready = poll(fds, 2, NAP);
        if ((ready < 0 && errno != EINTR) || atomic_load(&server->is_ending))
            break;
        if (ready > 0 && fds[0].revents)
            take_output(child, text, piece);
        if (ready > 0 && fds[1].revents)
            take_message(child, piece);
        if (text->failed)
            break;
    }
    free(piece);
    if (child->out >= 0 || child->said >= 0)
        (void)kill(child->pid, SIGTERM);
    if (child->out >= 0)
        (void)close(child->out);
    if (child->said >= 0)
        (void)close(child->said);
}

bool answer_by_command(const struct server *server, const char *const *words, struct answer *out) {
    struct child child = {.out = -1, .said = -1};
    int status = -1;
    if (!start(server, words, &child)) {
        answer_failure(out, 500, "%s could not be started", server->command);
        return false;
    }
    listen_to(server, &child, &out->text);
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR)
        continue;
    child.message[child.message_length] = '\0';
    if (out->text.failed) {
        out->text = (struct text){.bytes = out->text.bytes, .capacity = out->text.capacity};
        answer_failure(out, 500, "The answer is too large for the page; use the command");
        return false;
    }
    if (out->text.length)
        return true; // of a damaged trace the readable part, which the answer states
    if (!child.message_length && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true; // nothing is the answer: a trace without call paths
    if (child.message_length)
        answer_failure(out, 422, "%s", child.message);
    else if (WIFSIGNALED(status))
        answer_failure(out, 500, "tracesmith %s was ended by signal %d", words[0], WTERMSIG(status));
    else
        answer_failure(out, 500, "tracesmith %s printed nothing (exit code %d)", words[0],
                       WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return false;
}
