// SPDX-License-Identifier: Apache-2.0
// One HTTP POST at a time to an address of the loopback interface, without ever waiting.
#ifndef CLI_OTLP_HTTP_H
#define CLI_OTLP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "cli/present/text.h"

enum post_state { POST_IDLE, POST_UNDER_WAY, POST_DONE, POST_FAILED };

struct post_target {
    struct sockaddr_storage address;
    socklen_t address_length;
    char host[64];    // as the header Host has it
    char folder[256]; // "" or "/path", without a slash at its end
};

struct post {
    int fd; // -1: none is under way
    int64_t begun;
    struct text request;
    size_t sent;
    char answer[8192];
    size_t received;
    char why[160]; // of a failure
};

// "http://127.0.0.1:4318", also with a path; false for an address that is not of the loopback interface, or another scheme.
bool post_read_target(const char *url, struct post_target *out);
// Begins to send; false after a failure, which `why` has.
bool post_begin(struct post *post, const struct post_target *target, const char *path,
                const struct text *body);
// Goes on. DONE: an answer with a status from 200 to 299; its body is behind *body. After DONE and FAILED the post is idle.
enum post_state post_look(struct post *post, int64_t patience, const char **body);
void post_finish(struct post *post);
// CLOCK_MONOTONIC in ns, of which `begun` is.
int64_t post_now(void);

#endif
