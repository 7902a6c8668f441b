// SPDX-License-Identifier: Apache-2.0
// `profile --metrics-listen`: a minimal HTTP server for scrapers of Prometheus. It never waits: a connection has a place and a
// time, and is cut off after it. Every request needs the token.
#include "metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cli/present/terminal.h"
#include "metrics_text.h"
#include "tracesmith/live.h"

enum { PLACES = 8, REQUEST_MOST = 4096, TOKEN_BYTES = 32 };
static const int64_t PATIENCE = 2000000000; // ns for a whole exchange

struct connection {
    int fd; // -1: the place is free
    int64_t begun;
    char request[REQUEST_MOST];
    size_t length;
    struct text answer; // empty: the request is not whole yet
    size_t sent;
};

struct metrics {
    int fd;
    uint16_t port;
    char token[2 * TOKEN_BYTES + 1];
    struct connection connections[PLACES];
    struct metrics_kernels kernels;
    tsmith_live_totals totals;
};

static int64_t monotonic_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// ---- beginning

// 127.0.0.1:PORT, [::1]:PORT, localhost:PORT, or PORT; 0: any that is free.
static bool read_address(const char *text, uint16_t *port, bool *six) {
    static const char *const hosts[] = {"127.0.0.1:", "localhost:", "[::1]:", ""};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        const size_t length = strlen(hosts[i]);
        char *end = NULL;
        if (strncmp(text, hosts[i], length) != 0 || text[length] < '0' || text[length] > '9')
            continue;
        const unsigned long number = strtoul(text + length, &end, 10);
        *port = (uint16_t)number;
        *six = i == 2;
        return !*end && number <= UINT16_MAX;
    }
    return false;
}

static bool listen_at(struct metrics *metrics, uint16_t port, bool six) {
    struct sockaddr_in four = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 loopback = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    const int on = 1;
    metrics->fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (metrics->fd < 0)
        return false;
    setsockopt(metrics->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(metrics->fd, six ? (const void *)&loopback : (const void *)&four,
             six ? sizeof loopback : sizeof four) ||
        listen(metrics->fd, PLACES) || getsockname(metrics->fd, (void *)&bound, &length))
        return false;
    metrics->port = ntohs(six ? ((struct sockaddr_in6 *)(void *)&bound)->sin6_port
                              : ((struct sockaddr_in *)(void *)&bound)->sin_port);
    return true;
}

static bool make_token(struct metrics *metrics) {
    unsigned char random[TOKEN_BYTES];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        for (int half = 0; half < 2; half++)
            metrics->token[2 * i + (size_t)half] = "0123456789abcdef"[random[i] >> (half ? 0 : 4) & 15];
    return true;
}

int metrics_open(const struct invocation *invocation, struct metrics **out) {
    const char *text = invocation_value(invocation, "metrics-listen");
    uint16_t port = 0;
    bool six = false;
    *out = NULL;
    if (!text)
        return EXIT_DONE;
    if (!read_address(text, &port, &six)) {
        complain("--metrics-listen: '%s' is not a port of the loopback interface such as 127.0.0.1:9464",
                 text);
        return EXIT_USAGE;
    }
    struct metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics) {
        complain("out of memory");
        return EXIT_LACKING;
    }
    for (size_t i = 0; i < PLACES; i++)
        metrics->connections[i].fd = -1;
    if (!listen_at(metrics, port, six) || !make_token(metrics)) {
        complain("--metrics-listen: cannot listen at %s: %s", text, strerror(errno));
        metrics_close(metrics);
        return EXIT_LACKING;
    }
    *out = metrics;
    return EXIT_DONE;
}

void metrics_begin(struct metrics *metrics, tsmith_capture *capture) {
    struct text path = {0};
    text_add_format(&path, "%s/metrics.token", tsmith_capture_directory(capture));
    const int fd = open(text_cstr(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    const size_t length = strlen(metrics->token);
    const bool good = fd >= 0 && write(fd, metrics->token, length) == (ssize_t)length;
    if (good)
        complain("metrics: http://localhost:%u/metrics, with the bearer token in %s", metrics->port,
                 text_cstr(&path));
    else
        complain("cannot write %s: %s", text_cstr(&path), strerror(errno));
    if (fd >= 0)
        close(fd);
    text_finish(&path);
}

// ---- requests

static void end(struct connection *connection) {
    close(connection->fd);
    text_finish(&connection->answer);
    *connection = (struct connection){.fd = -1};
}

static void answer(struct connection *connection, const char *status, struct text *body) {
    text_add_format(&connection->answer,
                    "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                    "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                    status, body->length);
    text_add(&connection->answer, text_cstr(body), body->length);
    if (connection->answer.failed)
        end(connection);
}

// In a time that does not depend on how much of it is right.
static bool has_token(const struct metrics *metrics, const char *request) {
    static const char name[] = "\r\nauthorization: bearer ";
    const char *at = strcasestr(request, name);
    const size_t length = strlen(metrics->token);
    unsigned char different = 0;
    if (!at || strlen(at + sizeof name - 1) < length + 2)
        return false;
    at += sizeof name - 1;
    for (size_t i = 0; i < length; i++)
        different |= (unsigned char)(at[i] ^ metrics->token[i]);
    return !different && at[length] == '\r';
}

static void answer_request(struct metrics *metrics, tsmith_capture *capture, struct connection *connection) {
    struct text body = {0};
    connection->request[connection->length] = '\0';
    if (!has_token(metrics, connection->request)) {
        text_add_cstr(&body, "the token is missing or wrong\n");
        answer(connection, "401 Unauthorized", &body);
    } else if (strncmp(connection->request, "GET /metrics ", 13) != 0) {
        text_add_cstr(&body, "not found; use GET /metrics\n");
        answer(connection, "404 Not Found", &body);
    } else {
        metrics->totals.size = sizeof metrics->totals;
        tsmith_capture_live(capture, &metrics->totals);
        metrics_add_text(&body, &metrics->totals, &metrics->kernels);
        answer(connection, "200 OK", &body);
    }
    text_finish(&body);
}

static void receive_request(struct metrics *metrics, tsmith_capture *capture, struct connection *connection) {
    const size_t room = REQUEST_MOST - 1 - connection->length;
    const ssize_t got = recv(connection->fd, connection->request + connection->length, room, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        end(connection);
        return;
    }
    connection->length += got > 0 ? (size_t)got : 0;
    if (memmem(connection->request, connection->length, "\r\n\r\n", 4))
        answer_request(metrics, capture, connection);
    else if (connection->length == REQUEST_MOST - 1)
        end(connection);
}

static void send_answer(struct connection *connection) {
    const ssize_t sent = send(connection->fd, connection->answer.bytes + connection->sent,
                              connection->answer.length - connection->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        end(connection);
        return;
    }
    connection->sent += sent > 0 ? (size_t)sent : 0;
    if (connection->sent == connection->answer.length)
        end(connection);
}

static void accept_connection(struct metrics *metrics) {
    for (size_t i = 0; i < PLACES; i++) {
        struct connection *connection = &metrics->connections[i];
        if (connection->fd >= 0)
            continue;
        const int fd = accept4(metrics->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        *connection = (struct connection){.fd = fd, .begun = monotonic_ns()};
    }
}

void metrics_look(struct metrics *metrics, tsmith_capture *capture) {
    accept_connection(metrics);
    for (size_t i = 0; i < PLACES; i++) {
        struct connection *connection = &metrics->connections[i];
        if (connection->fd >= 0 && !connection->answer.length)
            receive_request(metrics, capture, connection);
        if (connection->fd >= 0 && connection->answer.length)
            send_answer(connection);
        if (connection->fd >= 0 && monotonic_ns() - connection->begun > PATIENCE)
            end(connection);
    }
}

void metrics_close(struct metrics *metrics) {
    if (!metrics)
        return;
    for (size_t i = 0; i < PLACES; i++)
        if (metrics->connections[i].fd >= 0)
            end(&metrics->connections[i]);
    if (metrics->fd >= 0)
        close(metrics->fd);
    free(metrics);
}
