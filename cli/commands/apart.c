// SPDX-License-Identifier: Apache-2.0
// Processes that find answers side by side. `analyze` of several traces calls it.
//
// Not threads: a trace that crashes a process leaves the others their answers, and what is written on stderr can be put where it
// belongs. A process answers about one file after the other, because a new one costs 3 ms, as much as a small trace.
#include "apart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/present/terminal.h"
#include "tracesmith/processors.h"

enum { AT_ONCE_MAX = 16, NOT_KEPT = 100 }; // exit code of a process whose answer is not complete

// An answer on its way from a process.
struct place {
    int out, messages;
};

// Files of one process are `at_once` apart. While the answer about one is read, the process is at the next: two places.
enum { PLACES = 2 };

struct worker {
    pid_t process; // 0, -1: none
    int line; // a byte to the process for each file that it may begin, an exit code from it for each that it has ended
    size_t first;     // index of its first file
    size_t beginning; // index of the next file that it will be let begin
    struct place places[PLACES];
};

struct apart {
    size_t count, at_once;
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
    if (!apart)
        return NULL;
    *apart = (struct apart){.count = count, .at_once = at_once, .run = run, .context = context};
    for (size_t i = 0; i < at_once; i++)
        apart->workers[i] = (struct worker){.line = -1, .places = {{-1, -1}, {-1, -1}}};
    return apart;
}

static void close_one(int *fd) {
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static void worker_close(struct worker *worker) {
    close_one(&worker->line);
    for (size_t i = 0; i < PLACES; i++) {
        close_one(&worker->places[i].out);
        close_one(&worker->places[i].messages);
    }
    worker->process = -1;
}

static struct place *place_of(const struct apart *apart, struct worker *worker, size_t index) {
    return &worker->places[index / apart->at_once % PLACES];
}

static bool send_byte(int line, uint8_t byte) {
    ssize_t sent;
    while ((sent = send(line, &byte, 1, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        continue;
    return sent == 1;
}

// False: the other side is gone.
static bool receive_byte(int line, uint8_t *byte) {
    ssize_t got;
    while ((got = read(line, byte, 1)) < 0 && errno == EINTR)
        continue;
    return got == 1;
}

// Empty, and the offset at its beginning.
static bool empty_file(int fd) {
    return ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0;
}

static int run_one(const struct apart *apart, const struct place *place, size_t index) {
    if (!empty_file(place->out) || !empty_file(place->messages) || dup2(place->messages, STDERR_FILENO) < 0)
        return NOT_KEPT;
    const int fd = fcntl(place->out, F_DUPFD_CLOEXEC, 0);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out)
        return NOT_KEPT;
    const int code = apart->run(apart->context, index, out);
    const bool is_lost = ferror(out) != 0; // files are limited in size, or memory is exhausted
    return fclose(out) == 0 && !is_lost ? code : NOT_KEPT;
}

static void run_in_child(const struct apart *apart, struct worker *worker, int line, pid_t parent) {
    uint8_t byte;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t index = worker->first; getppid() == parent && receive_byte(line, &byte);
         index += apart->at_once)
        if (!send_byte(line, (uint8_t)run_one(apart, place_of(apart, worker, index), index)))
            break;
    _exit(0);
}

static void let_begin(const struct apart *apart, struct worker *worker) {
    if (worker->beginning < apart->count && send_byte(worker->line, 0))
        worker->beginning += apart->at_once;
}

static bool open_places(struct worker *worker) {
    bool done = true;
    for (size_t i = 0; i < PLACES; i++) {
        worker->places[i] = (struct place){.out = memfd_create("answer", MFD_CLOEXEC),
                                           .messages = memfd_create("messages", MFD_CLOEXEC)};
        done = done && worker->places[i].out >= 0 && worker->places[i].messages >= 0;
    }
    return done;
}

// A process for the file `index` and those after it that are the worker's. On failure there is none.
static void start_worker(const struct apart *apart, struct worker *worker, size_t index) {
    const pid_t parent = getpid();
    int lines[2] = {-1, -1};
    *worker = (struct worker){.process = -1, .line = -1, .first = index, .beginning = index};
    // What is buffered would be written by both.
    if (open_places(worker) && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines) == 0 &&
        output_flush())
        worker->process = fork();
    if (worker->process == 0) {
        close_one(&lines[0]);
        run_in_child(apart, worker, lines[1], parent);
    }
    close_one(&lines[1]);
    worker->line = lines[0];
    if (worker->process < 0)
        worker_close(worker);
    for (size_t i = 0; worker->process > 0 && i < PLACES; i++)
        let_begin(apart, worker);
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

// How a process ended that did not say what became of its file.
static void wait_for(struct worker *worker, struct apart_answer *answer) {
    int status = 0;
    while (waitpid(worker->process, &status, 0) < 0 && errno == EINTR)
        continue;
    worker->process = -1;
    answer->code = WIFSIGNALED(status) ? EXIT_LACKING : NOT_KEPT;
    answer->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

bool apart_take(struct apart *apart, size_t index, struct apart_answer *answer) {
    struct worker *worker = &apart->workers[index % apart->at_once];
    uint8_t code;
    for (size_t i = index; i < apart->count && i < index + apart->at_once; i++)
        if (apart->workers[i % apart->at_once].process <= 0)
            start_worker(apart, &apart->workers[i % apart->at_once], i);
    *answer = (struct apart_answer){.code = EXIT_LACKING};
    if (worker->process <= 0)
        return false;
    if (receive_byte(worker->line, &code))
        answer->code = code;
    else
        wait_for(worker, answer);
    const struct place *place = place_of(apart, worker, index);
    answer->bytes = read_back(place->out, &answer->size);
    answer->messages = read_back(place->messages, &answer->message_size);
    // A process that ends before it begins the next file of this place has no answer about it.
    (void)empty_file(place->out);
    (void)empty_file(place->messages);
    if (worker->process > 0)
        let_begin(apart, worker);
    else
        worker_close(worker);
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
        if (apart->workers[i].process > 0) {
            (void)kill(apart->workers[i].process, SIGKILL);
            (void)waitpid(apart->workers[i].process, NULL, 0);
        }
        worker_close(&apart->workers[i]);
    }
    free(apart);
}
