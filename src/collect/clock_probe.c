// SPDX-License-Identifier: Apache-2.0
// The thread that compares clocks. src/api/capture.c starts and stops it. It allocates nothing once it runs.
#include "collect/clock_probe.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "base/status.h"
#include "collect/probe_packet.h"
#include "collect/receive_time.h"

enum { PEERS_MOST = 64, IDS_MOST = 64, FOUND_MOST = 1024, ADDRESS_SIZE = 128, AT_ONCE = 64 };
enum { FIRST_ROUNDS = 20, LAST_ROUNDS = 5 };
static const int64_t FIRST_PAUSE = 5000000, PAUSE = 100000000, LAST_PAUSE = 2000000; // ns between rounds
static const int64_t WINDOW = 1000000000; // ns; the best of each is kept
static const char EXAMPLE[] = "10.0.0.1:7000,10.0.0.2:7000";

struct comparison {
    uint32_t id; // index of ids
    int64_t there, here, error;
};

struct peer {
    struct sockaddr_storage address;
    socklen_t length;
    uint64_t number; // of the question that is not answered yet; 0: none
    int64_t sent;
    bool has_best;
    struct comparison best;
};

struct clock_probe {
    struct clock_probe_options options;
    char own_id[PROBE_ID_SIZE];
    struct probe_key key, numbers;
    int socket, wake;
    struct receive_time receive_time; // of the socket
    uint16_t port;
    struct peer peers[PEERS_MOST];
    size_t peer_count;
    uint64_t asked;
    pthread_t thread;
    pthread_mutex_t lock; // of what follows
    char ids[IDS_MOST][PROBE_ID_SIZE];
    uint32_t clocks[IDS_MOST]; // in the dictionary, 0: not there yet
    uint32_t id_count;
    struct comparison found[FOUND_MOST];
    size_t found_count;
    uint64_t sent, answered, refused;
    bool failed;
};

// ---- addresses

// One of the list, "ADDRESS:PORT" or "[ADDRESS]:PORT". False if it is none.
static bool read_address(const char *text, size_t length, struct sockaddr_storage *out, socklen_t *size) {
    char copy[ADDRESS_SIZE], *host = copy;
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found;
    if (length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    char *port = strrchr(copy, ':');
    if (!port || port == copy || port[1] < '0' || port[1] > '9')
        return false;
    *port++ = '\0';
    const size_t host_length = strlen(host);
    if (host[0] == '[' && host[host_length - 1] == ']') {
        host[host_length - 1] = '\0';
        host++;
    } else if (strchr(host, ':')) {
        return false;
    }
    if (strtoul(port, NULL, 10) > UINT16_MAX || getaddrinfo(host, port, &hints, &found) != 0)
        return false;
    memcpy(out, found->ai_addr, found->ai_addrlen);
    *size = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

// The first address, and the others. `peers` has room for PEERS_MOST.
static tsmith_status read_addresses(const char *text, struct peer *own, struct peer *peers, size_t *count,
                                    tsmith_error *error) {
    *count = 0;
    for (const char *at = text, *end; at; at = *end ? end + 1 : NULL) {
        struct peer *place = at == text ? own : &peers[*count];
        end = at + strcspn(at, ",");
        if (at != text && ++*count > PEERS_MOST)
            return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "at most %d peers of clock probes",
                              PEERS_MOST);
        if (!read_address(at, (size_t)(end - at), &place->address, &place->length))
            return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                              "'%.*s' is not a numeric address with a port; clock probes need one to listen "
                              "on and those of the other hosts, such as %s",
                              (int)(end - at), at, EXAMPLE);
    }
    return TSMITH_OK;
}

tsmith_status clock_probe_check(const char *addresses, const char *token, tsmith_error *error) {
    struct peer own;
    size_t count;
    struct peer *peers = calloc(PEERS_MOST + 1, sizeof *peers);
    if (!peers)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading addresses");
    const tsmith_status status = read_addresses(addresses, &own, peers, &count, error);
    free(peers);
    if (status == TSMITH_OK && (!token || strlen(token) < PROBE_TOKEN_LEAST))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "clock probes need the variable TRACESMITH_PROBE_TOKEN, a secret of at least %d "
                          "characters that all hosts of the run share",
                          PROBE_TOKEN_LEAST);
    return status;
}

// ---- comparisons

static int64_t now_of(const struct clock_probe *probe) {
    return probe->options.now ? probe->options.now(probe->options.context) : clock_trace_now();
}

// The index of a clock's name; IDS_MOST if there are too many.
static uint32_t find_id(struct clock_probe *probe, const char *id) {
    uint32_t i = 0;
    while (i < probe->id_count && strcmp(probe->ids[i], id) != 0)
        i++;
    if (i == probe->id_count && i < IDS_MOST)
        memcpy(probe->ids[probe->id_count++], id, PROBE_ID_SIZE);
    return i;
}

// The other clock showed `came` at a moment after `sent` and `left` at one before `got`; its rate is within 1,000 ppm of ours.
static bool compare(int64_t sent, int64_t got, const struct probe_packet *answer, struct comparison *out) {
    int64_t high, low, width, there;
    if (answer->left < answer->came || __builtin_sub_overflow(answer->came, sent, &high) ||
        __builtin_sub_overflow(answer->left, got, &low) || __builtin_sub_overflow(high, low, &width))
        return false;
    const int64_t round = got - sent;
    if (width < -(round / 1000 + 1))
        return false; // longer there than between question and answer
    width = width > 0 ? width : 0;
    out->here = sent + round / 2;
    out->error = width / 2 + round / 1000 + 2;
    if (__builtin_add_overflow(out->here, low + width / 2, &there))
        return false;
    out->there = there;
    return true;
}

static void take_answer(struct clock_probe *probe, const struct probe_packet *answer, int64_t got) {
    struct comparison one;
    for (size_t i = 0; i < probe->peer_count; i++) {
        struct peer *peer = &probe->peers[i];
        if (!answer->number || peer->number != answer->number)
            continue;
        peer->number = 0;
        pthread_mutex_lock(&probe->lock);
        probe->answered++;
        one.id = find_id(probe, answer->id);
        pthread_mutex_unlock(&probe->lock);
        if (one.id == IDS_MOST || !answer->id[0] || strcmp(answer->id, probe->own_id) == 0 ||
            !compare(peer->sent, got, answer, &one))
            continue;
        if (!peer->has_best || one.error < peer->best.error)
            peer->best = one;
        peer->has_best = true;
    }
}

static void keep_best(struct clock_probe *probe) {
    pthread_mutex_lock(&probe->lock);
    for (size_t i = 0; i < probe->peer_count; i++) {
        if (probe->peers[i].has_best && probe->found_count < FOUND_MOST)
            probe->found[probe->found_count++] = probe->peers[i].best;
        probe->peers[i].has_best = false;
    }
    pthread_mutex_unlock(&probe->lock);
}

// ---- datagrams

static void count_refused(struct clock_probe *probe) {
    pthread_mutex_lock(&probe->lock);
    probe->refused++;
    pthread_mutex_unlock(&probe->lock);
}

static void answer(const struct clock_probe *probe, const struct probe_packet *request, int64_t came,
                   const struct sockaddr_storage *to, socklen_t length) {
    uint8_t bytes[PROBE_PACKET_SIZE];
    struct probe_packet packet = {.kind = PROBE_ANSWER, .number = request->number, .came = came};
    memcpy(packet.id, probe->own_id, sizeof packet.id);
    packet.left = now_of(probe);
    probe_packet_write(&packet, probe->key, bytes);
    (void)sendto(probe->socket, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)to,
                 length); // one that is lost is asked for again
}

// One datagram; its size, -1 with errno. *came: of the clock, not before it came.
static ssize_t receive_one(struct clock_probe *probe, uint8_t *bytes, size_t size,
                           struct sockaddr_storage *from, socklen_t *from_length, int64_t *came) {
    union receive_note note;
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_name = from,
                             .msg_namelen = sizeof *from,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &note,
                             .msg_controllen = sizeof note};
    receive_time_look(&probe->receive_time);
    const ssize_t got = recvmsg(probe->socket, &message, MSG_DONTWAIT);
    if (got < 0)
        return got;
    const int64_t age = receive_time_age(&probe->receive_time, &message);
    *came = now_of(probe) - age;
    *from_length = message.msg_namelen;
    return got;
}

static void receive(struct clock_probe *probe) {
    for (int i = 0; i < AT_ONCE; i++) {
        uint8_t bytes[PROBE_PACKET_SIZE + 1];
        struct sockaddr_storage from;
        socklen_t length;
        struct probe_packet packet;
        int64_t came;
        const ssize_t got = receive_one(probe, bytes, sizeof bytes, &from, &length, &came);
        if (got < 0 && errno != ECONNREFUSED) { // ECONNREFUSED: no peer there yet
            receive_time_empty(&probe->receive_time);
            return;
        }
        if (got < 0)
            continue;
        if (!probe_packet_read(bytes, (size_t)got, probe->key, &packet))
            count_refused(probe);
        else if (packet.kind == PROBE_REQUEST)
            answer(probe, &packet, came, &from, length);
        else if (packet.kind == PROBE_ANSWER)
            take_answer(probe, &packet, came);
    }
}

static void ask_peers(struct clock_probe *probe) {
    for (size_t i = 0; i < probe->peer_count; i++) {
        struct peer *peer = &probe->peers[i];
        uint8_t bytes[PROBE_PACKET_SIZE];
        struct probe_packet packet = {.kind = PROBE_REQUEST};
        probe->asked++;
        packet.number = probe_hash(&probe->asked, sizeof probe->asked, probe->numbers) | 1;
        memcpy(packet.id, probe->own_id, sizeof packet.id);
        probe_packet_write(&packet, probe->key, bytes);
        peer->number = packet.number;
        peer->sent = now_of(probe);
        (void)sendto(probe->socket, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL,
                     (const struct sockaddr *)&peer->address, peer->length);
    }
    pthread_mutex_lock(&probe->lock);
    probe->sent += probe->peer_count;
    pthread_mutex_unlock(&probe->lock);
}

// Receives until the time is over; true if the thread is to end.
static bool wait_until(struct clock_probe *probe, int64_t until, bool stopping) {
    for (int64_t left; (left = until - clock_trace_now()) > 0;) {
        struct pollfd ready[] = {{.fd = probe->socket, .events = POLLIN},
                                 {.fd = stopping ? -1 : probe->wake, .events = POLLIN}};
        const struct timespec timeout = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        if (ppoll(ready, 2, &timeout, NULL) <= 0)
            continue;
        if (ready[1].revents)
            return true;
        receive(probe);
    }
    return false;
}

static void *run(void *of) {
    struct clock_probe *probe = of;
    int64_t window = clock_trace_now();
    bool stop = false;
    for (uint64_t round = 0; !stop; round++) {
        ask_peers(probe);
        stop = wait_until(probe, clock_trace_now() + (round < FIRST_ROUNDS ? FIRST_PAUSE : PAUSE), false);
        if (round != FIRST_ROUNDS && clock_trace_now() - window < WINDOW)
            continue;
        keep_best(probe);
        window = clock_trace_now();
    }
    keep_best(probe);
    for (int i = 0; i < LAST_ROUNDS && probe->peer_count; i++) {
        ask_peers(probe);
        (void)wait_until(probe, clock_trace_now() + LAST_PAUSE, true);
    }
    keep_best(probe);
    return NULL;
}

// ---- life

static tsmith_status listen_at(struct clock_probe *probe, const struct peer *own, tsmith_error *error) {
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    char port[16];
    probe->socket = socket(own->address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe->socket < 0 || bind(probe->socket, (const struct sockaddr *)&own->address, own->length) != 0 ||
        getsockname(probe->socket, (struct sockaddr *)&bound, &length) != 0)
        return status_set_errno(error, "clock probes cannot listen on %.*s",
                                (int)strcspn(probe->options.addresses, ","), probe->options.addresses);
    receive_time_start(&probe->receive_time, probe->socket);
    if (getnameinfo((const struct sockaddr *)&bound, length, NULL, 0, port, sizeof port,
                    NI_NUMERICSERV | NI_DGRAM) == 0)
        probe->port = (uint16_t)strtoul(port, NULL, 10);
    return TSMITH_OK;
}

static void finish(struct clock_probe *probe) {
    if (probe->socket >= 0)
        close(probe->socket);
    if (probe->wake >= 0)
        close(probe->wake);
    pthread_mutex_destroy(&probe->lock);
    free(probe);
}

tsmith_status clock_probe_start(const struct clock_probe_options *options, struct clock_probe **out,
                                tsmith_error *error) {
    struct peer own;
    *out = NULL;
    struct clock_probe *probe = calloc(1, sizeof *probe);
    if (!probe)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while starting clock probes");
    probe->options = *options;
    probe->socket = probe->wake = -1;
    pthread_mutex_init(&probe->lock, NULL);
    snprintf(probe->own_id, sizeof probe->own_id, "%s", options->id);
    probe->key = probe_key_of(options->token);
    tsmith_status status = read_addresses(options->addresses, &own, probe->peers, &probe->peer_count, error);
    if (status == TSMITH_OK)
        status = listen_at(probe, &own, error);
    if (status == TSMITH_OK && (getrandom(&probe->numbers, sizeof probe->numbers, 0) < 0 ||
                                (probe->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0))
        status = status_set_errno(error, "clock probes cannot start");
    if (status == TSMITH_OK && (errno = quiet_thread_start(&probe->thread, run, probe)) != 0)
        status = status_set_errno(error, "clock probes cannot start a thread");
    probe->options.addresses = probe->options.token = probe->options.id = NULL; // the caller's
    if (status == TSMITH_OK)
        *out = probe;
    else
        finish(probe);
    return status;
}

uint16_t clock_probe_port(const struct clock_probe *probe) {
    return probe->port;
}

void clock_probe_take(struct clock_probe *probe, tsmith_dictionary *dictionary) {
    char name[sizeof TSMITH_CLOCK_OF + PROBE_ID_SIZE];
    pthread_mutex_lock(&probe->lock);
    for (size_t i = 0; i < probe->found_count; i++) {
        const struct comparison *one = &probe->found[i];
        uint32_t *clock = &probe->clocks[one->id];
        snprintf(name, sizeof name, TSMITH_CLOCK_OF "%s", probe->ids[one->id]);
        if (!*clock)
            *clock = tsmith_dictionary_add_clock(
                dictionary, &(tsmith_clock){.name = tsmith_dictionary_intern_cstr(dictionary, name)});
        (void)tsmith_dictionary_add_clock_pair(dictionary, &(tsmith_clock_pair){.clock = *clock,
                                                                                .clock_time = one->there,
                                                                                .trace_time = one->here,
                                                                                .error = one->error});
    }
    probe->found_count = 0;
    pthread_mutex_unlock(&probe->lock);
}

static void set_count(tsmith_dictionary *dictionary, const char *key, uint64_t count) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)count);
    tsmith_dictionary_set_attribute(dictionary, key, text);
}

void clock_probe_stop(struct clock_probe *probe, tsmith_dictionary *dictionary) {
    const uint64_t one = 1;
    if (!probe)
        return;
    if (write(probe->wake, &one, sizeof one) != sizeof one)
        return; // impossible; the thread would not end
    pthread_join(probe->thread, NULL);
    if (dictionary) {
        clock_probe_take(probe, dictionary);
        set_count(dictionary, "clock_probe.sent", probe->sent);
        set_count(dictionary, "clock_probe.answered", probe->answered);
        set_count(dictionary, "clock_probe.refused", probe->refused);
    }
    finish(probe);
}
