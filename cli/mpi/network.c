// SPDX-License-Identifier: Apache-2.0
// Connections between the ranks. A rank listens where the command line says, or on the loopback address if all are on one host, and closes a
// connection that does not begin with the token, which the ranks have from MPI.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/present/terminal.h"
#include "mpi_program.h"

static const char HELLO[8] = {'T', 'S', 'M', 'P', 'I', '1', '\r', '\n'};
enum { CONNECT_MS = 5000, BACKLOG = 64 };

int64_t network_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool place_learn(struct place *place) {
    char boot[64] = "";
    struct stat space = {0};
    uint64_t hash = 0xcbf29ce484222325;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        (void)!fgets(boot, sizeof boot, file);
        (void)fclose(file);
    }
    (void)stat("/proc/self/ns/net",
               &space); // the loopback address is one host's, and one network namespace's
    if (gethostname(place->name, sizeof place->name - 1) != 0)
        (void)snprintf(place->name, sizeof place->name, "unknown");
    for (size_t i = 0; i < sizeof boot; i++)
        hash = (hash ^ (unsigned char)boot[i]) * 0x100000001b3;
    for (const char *at = place->name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
    place->host = (hash ^ space.st_ino) * 0x100000001b3;
    if (getrandom(place->token, sizeof place->token, 0) == (ssize_t)sizeof place->token)
        return true;
    complain("there are no random numbers for the token of the job: %s", strerror(errno));
    return false;
}

// ---- addresses

static void map_v4(struct in6_addr *out, const struct in_addr *from) {
    memset(out, 0, 10);
    out->s6_addr[10] = out->s6_addr[11] = 0xff;
    memcpy(&out->s6_addr[12], from, sizeof *from);
}

static void map_address(struct sockaddr_in6 *out, const struct sockaddr *from) {
    *out = (struct sockaddr_in6){.sin6_family = AF_INET6};
    if (from->sa_family == AF_INET6) {
        memcpy(out, from, sizeof *out);
        out->sin6_flowinfo = 0;
    } else {
        map_v4(&out->sin6_addr, &((const struct sockaddr_in *)from)->sin_addr);
    }
}

// "10.1.0.0/16", "10.1.0.7", "fd00::/8"; false: it is no address.
static bool read_range(const char *network, struct in6_addr *address, unsigned *bits) {
    char text[64];
    const char *slash = strchr(network, '/');
    const size_t length = slash ? (size_t)(slash - network) : strlen(network);
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    if (length >= sizeof text)
        return false;
    memcpy(text, network, length);
    text[length] = '\0';
    const bool is_v4 = inet_pton(AF_INET, text, &v4.sin_addr) == 1;
    if (!is_v4 && inet_pton(AF_INET6, text, address) != 1)
        return false;
    if (is_v4)
        map_v4(address, &v4.sin_addr);
    char *end = NULL;
    const unsigned long given = slash ? strtoul(slash + 1, &end, 10) : is_v4 ? 32 : 128;
    if (slash && (end == slash + 1 || *end || given > (is_v4 ? 32 : 128)))
        return false;
    *bits = (unsigned)given + (is_v4 ? 96 : 0);
    return true;
}

static bool is_within(const struct in6_addr *address, const struct in6_addr *range, unsigned bits) {
    const unsigned bytes = bits / 8, rest = bits % 8;
    return memcmp(address, range, bytes) == 0 &&
           (!rest || ((address->s6_addr[bytes] ^ range->s6_addr[bytes]) >> (8 - rest)) == 0);
}

// Whether `network` selects an address of an interface.
static bool is_selected(const struct ifaddrs *one, const char *network, struct sockaddr_in6 *address) {
    struct in6_addr range;
    unsigned bits = 0;
    if (!one->ifa_addr || !(one->ifa_flags & IFF_UP) ||
        (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6))
        return false;
    map_address(address, one->ifa_addr);
    if (read_range(network, &range, &bits))
        return is_within(&address->sin6_addr, &range, bits);
    return strcmp(network, one->ifa_name) == 0 && !IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr);
}

static socklen_t native(const struct sockaddr_in6 *address, struct sockaddr_storage *out) {
    memset(out, 0, sizeof *out);
    if (!IN6_IS_ADDR_V4MAPPED(&address->sin6_addr)) {
        memcpy(out, address, sizeof *address);
        return sizeof *address;
    }
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = address->sin6_port};
    memcpy(&v4.sin_addr, &address->sin6_addr.s6_addr[12], 4);
    memcpy(out, &v4, sizeof v4);
    return sizeof v4;
}

// ---- listening and connecting

// Listens on an address; -1: it cannot.
static int listen_on(struct place *place) {
    struct sockaddr_storage address;
    socklen_t length = native(&place->address, &address);
    const int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, length) == 0 && listen(fd, BACKLOG) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &length) == 0) {
        place->address.sin6_port = address.ss_family == AF_INET
                                       ? ((const struct sockaddr_in *)&address)->sin_port
                                       : ((const struct sockaddr_in6 *)&address)->sin6_port;
        place->listens = 1;
        return fd;
    }
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

int place_listen(struct place *place, const char *network) {
    const struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
    struct ifaddrs *all = NULL;
    int fd = -1;
    if (!network) {
        place->address = (struct sockaddr_in6){.sin6_family = AF_INET6};
        map_v4(&place->address.sin6_addr, &loopback);
        fd = listen_on(place);
    } else if (getifaddrs(&all) == 0) {
        for (const struct ifaddrs *one = all; fd < 0 && one; one = one->ifa_next)
            if (is_selected(one, network, &place->address))
                fd = listen_on(place);
        freeifaddrs(all);
    }
    if (fd < 0)
        complain("host %s has no address in '%s' to listen on", place->name, network ? network : "127.0.0.1");
    return fd;
}

// A host that is gone closes no connection: then the kernel does, after 25 s without a sign of it.
static void set_limits(int fd) {
    const int on = 1, idle = 10, interval = 5, count = 3;
    const unsigned ms = 25000;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

static bool connect_within(int fd, const struct sockaddr_storage *address, socklen_t length) {
    struct pollfd waits = {.fd = fd, .events = POLLOUT};
    int failure = 0;
    socklen_t size = sizeof failure;
    if (connect(fd, (const struct sockaddr *)address, length) == 0)
        return true;
    return errno == EINPROGRESS && poll(&waits, 1, CONNECT_MS) == 1 &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) == 0 && failure == 0;
}

int place_connect(const struct place *to, const uint8_t token[TOKEN_SIZE]) {
    uint8_t hello[sizeof HELLO + TOKEN_SIZE];
    struct sockaddr_storage address;
    if (!to->listens)
        return -1;
    const socklen_t length = native(&to->address, &address);
    const int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(hello, HELLO, sizeof HELLO);
    memcpy(hello + sizeof HELLO, token, TOKEN_SIZE);
    if (fd >= 0 && connect_within(fd, &address, length) &&
        send(fd, hello, sizeof hello, MSG_NOSIGNAL) == (ssize_t)sizeof hello) {
        set_limits(fd);
        return fd;
    }
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

int stranger_read(struct stranger *stranger, const uint8_t token[TOKEN_SIZE]) {
    const ssize_t got =
        recv(stranger->fd, stranger->hello + stranger->size, sizeof stranger->hello - stranger->size, 0);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    stranger->size += (size_t)got;
    if (got == 0 || stranger->size < sizeof stranger->hello)
        return got == 0 ? -1 : 0;
    unsigned differs = (unsigned)(memcmp(stranger->hello, HELLO, sizeof HELLO) != 0);
    for (size_t i = 0; i < TOKEN_SIZE; i++) // in the same time for every token
        differs |= (unsigned)(stranger->hello[sizeof HELLO + i] ^ token[i]);
    if (differs)
        return -1;
    set_limits(stranger->fd);
    return 1;
}
