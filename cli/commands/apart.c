// SPDX-License-Identifier: Apache-2.0
// Processes that find answers side by side. `analyze` of several traces calls it.
//
// Not threads: a process returns all its memory, a trace that crashes it leaves the others their answers, and what is written on
// stderr can be put where it belongs.
#include "apart.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/present/terminal.h"
#include "tracesmith/processors.h"

enum { AT_ONCE_MAX = 16, NOT_KEPT = 100 }; // exit code of a process whose answer is not complete

struct worker {
    pid_t process; // 0, -1: none
    int out, messages;
};

struct apart {
    size_t count, started, at_once;
    int (*run)(const void *context, size_t index, FILE *out);
    const void *context;
    struct worker workers[AT_ONCE_MAX];
};

size_t apart_at_once(void) {
    const size_t processors = tsmith_processors();
    return processors < AT_ONCE_MAX ? processors : AT_ONCE_MAX;
}

struct apart *apart_create(size_t count, int (*run)(const void *context, size_t index, FILE *out),
                           const void *context) {
    const size_t most = apart_at_once(), at_once = most < count ? most : count;
    struct apart *apart = at_once > 1 ? calloc(1, sizeof *apart) : NULL;
    if (apart)
        *apart = (struct apart){.count = count, .at_once = at_once, .run = run, .context = context};
    return apart;
}

static void worker_close(struct worker *worker) {
    if (worker->out >= 0)
        (void)close(worker->out);
    if (worker->messages >= 0)
        (void)close(worker->messages);
    *worker = (struct worker){.out = -1, .messages = -1};
}

static void run_in_child(const struct apart *apart, const struct worker *worker, size_t index, pid_t parent) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    FILE *out = fdopen(worker->out, "w");
    if (getppid() != parent || !out || dup2(worker->messages, STDERR_FILENO) < 0)
        _exit(NOT_KEPT);
    const int code = apart->run(apart->context, index, out);
    const bool is_lost = ferror(out) != 0; // files are limited in size, or memory is exhausted
    _exit(fclose(out) == 0 && !is_lost ? code : NOT_KEPT);
}

// On failure there is no process.
static void start_worker(const struct apart *apart, struct worker *worker, size_t index) {
    const pid_t parent = getpid();
    *worker = (struct worker){.process = -1,
                              .out = memfd_create("answer", MFD_CLOEXEC),
                              .messages = memfd_create("messages", MFD_CLOEXEC)};
    // What is buffered would be written by both.
    if (worker->out >= 0 && worker->messages >= 0 && output_flush())
        worker->process = fork();
    if (worker->process == 0)
        run_in_child(apart, worker, index, parent);
    if (worker->process < 0)
        worker_close(worker);
}

// Everything in the file, which the caller frees; NULL: out of memory.
static char *read_back(int fd, size_t *size) {
    const off_t end = lseek(fd, 0, SEEK_END);
    char *bytes = end >= 0 ? malloc((size_t)end + 1) : NULL;
    *size = 0;
    while (bytes && *size < (size_t)end) {
        const ssize_t got = pread(fd, bytes + *size, (size_t)end - *size, (off_t)*size);
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        *size += got > 0 ? (size_t)got : 0;
    }
    return bytes;
}

bool apart_take(struct apart *apart, size_t index, struct apart_answer *answer) {
    struct worker *worker = &apart->workers[index % apart->at_once];
    int status = 0;
    for (; apart->started < apart->count && apart->started < index + apart->at_once; apart->started++)
        start_worker(apart, &apart->workers[apart->started % apart->at_once], apart->started);
    *answer = (struct apart_answer){.code = EXIT_LACKING};
    if (worker->process <= 0)
        return false;
    while (waitpid(worker->process, &status, 0) < 0 && errno == EINTR)
        continue;
    answer->bytes = read_back(worker->out, &answer->size);
    answer->messages = read_back(worker->messages, &answer->message_size);
    worker_close(worker);
    answer->code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_LACKING;
    answer->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (answer->bytes && answer->messages && answer->code != NOT_KEPT)
        return true;
    apart_answer_finish(answer);
    return false;
}

void apart_put_messages(const struct apart_answer *answer) {
    if (!output_flush() || !answer->message_size)
        return;
    (void)fwrite(answer->messages, 1, answer->message_size,
                 stderr); // on failure no output is left to report it to
    (void)fflush(stderr);
}

void apart_answer_finish(struct apart_answer *answer) {
    free(answer->bytes);
    free(answer->messages);
    *answer = (struct apart_answer){0};
}

void apart_destroy(struct apart *apart) {
    if (!apart)
        return;
    for (size_t i = 0; i < apart->at_once; i++) {
        if (apart->workers[i].process <= 0)
            continue;
        (void)kill(apart->workers[i].process, SIGKILL);
        (void)waitpid(apart->workers[i].process, NULL, 0);
        worker_close(&apart->workers[i]);
    }
    free(apart);
}
