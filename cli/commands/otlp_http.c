// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 as far as a collector of OTLP needs it. otlp.c calls it.
#include "otlp_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t post_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// ---- the address

static bool read_port(const char *text, size_t length, uint16_t *port) {
    unsigned long number = 0;
    if (!length || length > 5)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        number = number * 10 + (unsigned long)(text[i] - '0');
    }
    *port = (uint16_t)number;
    return number && number <= UINT16_MAX;
}

static bool is_path(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7f || strchr("?#\"<>\\^`{|}", *text))
            return false;
    return true;
}

bool post_read_target(const char *url, struct post_target *out) {
    static const char scheme[] = "http://";
    static const char *const hosts[] = {"127.0.0.1", "localhost", "[::1]"};
    uint16_t port = 4318; // OTLP's
    *out = (struct post_target){0};
    if (strncmp(url, scheme, sizeof scheme - 1) != 0)
        return false;
    url += sizeof scheme - 1;
    const size_t length = strcspn(url, "/");
    const char *path = url + length;
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        const size_t host = strlen(hosts[i]);
        if (strncmp(url, hosts[i], host) != 0 || (host != length && url[host] != ':') ||
            (host != length && !read_port(url + host + 1, length - host - 1, &port)))
            continue;
        struct sockaddr_in four = {
            .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        struct sockaddr_in6 six = {
            .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
        out->address_length = i == 2 ? sizeof six : sizeof four;
        memcpy(&out->address, i == 2 ? (const void *)&six : (const void *)&four, out->address_length);
        snprintf(out->host, sizeof out->host, "%s:%u", hosts[i], port);
        size_t rest = strlen(path);
        while (rest && path[rest - 1] == '/')
            rest--;
        if (rest >= sizeof out->folder || !is_path(path))
            return false;
        memcpy(out->folder, path, rest);
        return true;
    }
    return false;
}

// ---- an exchange

static void close_post(struct post *post) {
    if (post->fd >= 0)
        close(post->fd);
    post->fd = -1;
    text_finish(&post->request);
}

static enum post_state fail(struct post *post, const char *why) {
    close_post(post);
    snprintf(post->why, sizeof post->why, "%s", why);
    return POST_FAILED;
}

bool post_begin(struct post *post, const struct post_target *target, const char *path,
                const struct text *body) {
    post->fd = -1;
    post->sent = post->received = 0;
    post->begun = post_now();
    text_add_format(&post->request,
                    "POST %s%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                    "User-Agent: tracesmith\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
                    target->folder, path, target->host, body->length);
    text_add(&post->request, body->bytes, body->length);
    if (post->request.failed || body->failed) {
        (void)fail(post, "out of memory");
        return false;
    }
    post->fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (post->fd < 0 ||
        (connect(post->fd, (const struct sockaddr *)&target->address, target->address_length) &&
         errno != EINPROGRESS && errno != EINTR)) {
        (void)fail(post, strerror(errno));
        return false;
    }
    return true;
}

// False after a failure.
static bool send_more(struct post *post) {
    while (post->sent < post->request.length) {
        const ssize_t sent = send(post->fd, post->request.bytes + post->sent,
                                  post->request.length - post->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0)
            post->sent += (size_t)sent;
        else if (errno == EAGAIN || errno == ENOTCONN) // not yet connected: EAGAIN
            return true;
        else if (errno != EINTR)
            return false;
    }
    return true;
}

// The length of the whole answer, once its head is there; SIZE_MAX: until the end of the connection.
static size_t whole_length(const struct post *post) {
    static const char name[] = "\r\ncontent-length:";
    const char *end = strstr(post->answer, "\r\n\r\n"), *at = strcasestr(post->answer, name);
    if (!end || !at || at > end)
        return SIZE_MAX;
    const unsigned long long length = strtoull(at + sizeof name - 1, NULL, 10);
    return length > sizeof post->answer ? SIZE_MAX : (size_t)(end + 4 - post->answer) + (size_t)length;
}

static enum post_state judge_answer(struct post *post, const char **body) {
    const char *end = strstr(post->answer, "\r\n\r\n");
    const char *rest = post->answer;
    char why[64];
    const bool is_http = end && (strncmp(rest, "HTTP/1.0 ", 9) == 0 || strncmp(rest, "HTTP/1.1 ", 9) == 0) &&
                         strspn(rest + 9, "0123456789") == 3;
    if (!is_http)
        return fail(post, "the answer is not HTTP");
    const int status = (int)strtoul(rest + 9, NULL, 10);
    if (status < 200 || status > 299) {
        snprintf(why, sizeof why, "the collector answered with HTTP status %d", status);
        return fail(post, why);
    }
    close_post(post);
    *body = end + 4;
    return POST_DONE;
}

enum post_state post_look(struct post *post, int64_t patience, const char **body) {
    if (post->fd < 0)
        return POST_IDLE;
    if (!send_more(post))
        return fail(post, strerror(errno));
    while (post->received < sizeof post->answer - 1) {
        const ssize_t got = recv(post->fd, post->answer + post->received,
                                 sizeof post->answer - 1 - post->received, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno != EAGAIN && errno != ENOTCONN && !post->received)
            return fail(post, strerror(errno));
        post->received += got > 0 ? (size_t)got : 0;
        post->answer[post->received] = '\0';
        if (got == 0 || post->received >= whole_length(post) ||
            (got < 0 && errno != EAGAIN && errno != ENOTCONN))
            return post->received ? judge_answer(post, body)
                                  : fail(post, "the collector closed the connection");
        if (got < 0)
            break;
    }
    if (post->received == sizeof post->answer - 1)
        return judge_answer(post, body);
    return post_now() - post->begun > patience ? fail(post, "the collector did not answer in time")
                                               : POST_UNDER_WAY;
}

void post_finish(struct post *post) {
    close_post(post);
}
