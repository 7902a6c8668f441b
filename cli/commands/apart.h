// SPDX-License-Identifier: Apache-2.0
// Answers about several files, found by processes side by side, each about one file after the other. The largest process is as
// large as that for one file.
#ifndef CLI_APART_H
#define CLI_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct apart;

// How many processes run at the same time at most.
size_t apart_at_once(void);

// `run` writes the answer about file `index` to `out` and returns the exit code; it is called in a child process. NULL if the files are as
// well read one after the other: there is one file or one processor. The caller has started no thread.
struct apart *apart_create(size_t count, int (*run)(const void *context, size_t index, FILE *out),
                           const void *context);
void apart_destroy(struct apart *apart);

struct apart_answer {
    int code;
    int signal;             // that ended the process, 0: none; `bytes` are then not complete
    char *bytes, *messages; // what was written to `out` and to stderr
    size_t size, message_size;
};

// The answer about file `index`; called for 0, 1, 2 and so on. False if no process could be started, or the answer could
// not be kept: the caller finds it itself.
bool apart_take(struct apart *apart, size_t index, struct apart_answer *answer);
// Writes the messages on stderr, after the answer that was written until now.
void apart_put_messages(const struct apart_answer *answer);
void apart_answer_finish(struct apart_answer *answer);

#endif
