// SPDX-License-Identifier: Apache-2.0
// The reduction. Rank r hands its part to rank r & (r - 1): a binomial tree. The upper rank connects to the lower ones, and when one of
// them is lost it connects to those below that one instead, so that only the traces of the lost rank itself are missing. A rank keeps
// its part until rank 0 has answered, because the rank that took it may be lost afterwards. A part that comes twice counts once.
//
// One thread, one loop: the process that reads traces, the ranks below, the rank above, and connections that have not shown the token.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/present/terminal.h"
#include "mpi_program.h"

enum {
    STRANGERS = 16,
    STRANGER_MS = 10000, // within which a connection must show the token
    ORPHAN_MS = 90000,   // after which a rank that no other asks gives up
    HEAD = 8,            // bytes of the part
    PART = 8,            // exit code and number of ranks; their numbers and the partial follow
};
static const char RELEASE = 'R'; // rank 0 has answered

struct lower {
    int fd;
    uint32_t rank;
    bool covered;
    uint8_t *bytes; // of its part
    size_t size, capacity;
};

struct state {
    struct tree *tree;
    struct lower *lowers;
    size_t lower_count, lower_capacity;
    struct stranger strangers[STRANGERS];
    size_t stranger_count;
    int upper;            // -1: none is there
    int64_t orphan_since; // ms
    uint8_t *part;        // what goes to the rank above; NULL: not yet complete
    size_t part_size, sent;
    bool released;
    int code;
};

static bool reserve(uint8_t **bytes, size_t *capacity, size_t size) {
    if (size <= *capacity)
        return true;
    const size_t grown = size < 2 * *capacity ? 2 * *capacity : size < 4096 ? 4096 : size;
    uint8_t *moved = realloc(*bytes, grown);
    if (!moved)
        return false;
    *bytes = moved;
    *capacity = grown;
    return true;
}

// ---- the ranks below

static const uint8_t *token(const struct state *state) {
    return state->tree->places[0].token;
}

static bool add_lower(struct state *state, int fd, uint32_t rank, bool covered) {
    if (state->lower_count == state->lower_capacity) {
        const size_t capacity = state->lower_capacity ? state->lower_capacity * 2 : 16;
        struct lower *moved = realloc(state->lowers, capacity * sizeof *moved);
        if (!moved)
            return false;
        state->lowers = moved;
        state->lower_capacity = capacity;
    }
    state->lowers[state->lower_count++] = (struct lower){.fd = fd, .rank = rank, .covered = covered};
    return true;
}

// Connects to the ranks below `rank`, and to those below the ones that are lost. `covered`: their parts have come already, and they
// wait for their release only.
// NOLINTNEXTLINE(misc-no-recursion) as deep as the tree
static void adopt(struct state *state, uint32_t rank, bool covered) {
    const uint32_t size = (uint32_t)state->tree->job->size, lowest = rank & -rank;
    for (uint32_t bit = 1; (!rank || bit < lowest) && bit < size - rank; bit <<= 1) {
        const struct place *place = &state->tree->places[rank + bit];
        const int fd = place_connect(place, token(state));
        if (fd >= 0 && add_lower(state, fd, rank + bit, covered))
            continue;
        if (fd >= 0)
            (void)close(fd);
        complain("rank %u on host %s is lost", rank + bit, place->name);
        adopt(state, rank + bit, covered);
    }
}

static void lose_lower(struct state *state, size_t index) {
    const struct lower lost = state->lowers[index];
    (void)close(lost.fd);
    free(lost.bytes);
    state->lowers[index] = state->lowers[--state->lower_count];
    if (state->released)
        return;
    complain("rank %u on host %s is lost", lost.rank, state->tree->places[lost.rank].name);
    adopt(state, lost.rank, lost.covered);
}

// False: it is no part.
static bool take_part(struct state *state, const uint8_t *bytes, size_t size) {
    uint32_t numbers[2];
    tsmith_error error;
    if (size < PART)
        return false;
    memcpy(numbers, bytes, sizeof numbers);
    const size_t before = PART + (size_t)numbers[1] * sizeof(uint32_t);
    if (before > size)
        return false;
    if (tsmith_ranks_add_partial(state->tree->ranks, "part", bytes + before, size - before, &error) !=
        TSMITH_OK) {
        complain("%s", error.message);
        return false;
    }
    for (uint32_t i = 0, rank; i < numbers[1]; i++) {
        memcpy(&rank, bytes + PART + i * sizeof rank, sizeof rank);
        if (rank < (uint32_t)state->tree->job->size)
            state->tree->covered[rank] = 1;
    }
    if ((int)numbers[0] > state->tree->map->code)
        state->tree->map->code = (int)numbers[0];
    return true;
}

// Reads from a rank below; false: it is lost.
static bool read_lower(struct state *state, struct lower *lower) {
    uint64_t wanted = 0;
    if (!reserve(&lower->bytes, &lower->capacity, lower->size + 65536)) {
        complain("out of memory while receiving the part of rank %u", lower->rank);
        return false;
    }
    const ssize_t got = recv(lower->fd, lower->bytes + lower->size, lower->capacity - lower->size, 0);
    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    lower->size += (size_t)got;
    if (lower->size < HEAD)
        return true;
    memcpy(&wanted, lower->bytes, sizeof wanted);
    if (lower->size - HEAD < wanted)
        return true;
    const bool done = lower->covered ||
                      (lower->size - HEAD == wanted && take_part(state, lower->bytes + HEAD, (size_t)wanted));
    lower->covered = true;
    free(lower->bytes);
    lower->bytes = NULL;
    lower->size = lower->capacity = 0;
    return done;
}

// ---- the rank above

static tsmith_status add_bytes(void *context, const void *bytes, size_t size) {
    struct lower *out = context;
    if (!reserve(&out->bytes, &out->capacity, out->size + size))
        return TSMITH_ERROR_NO_MEMORY;
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
    return TSMITH_OK;
}

// All that this rank has, as the rank above reads it.
static bool make_part(struct state *state) {
    struct tree *tree = state->tree;
    struct lower out = {0};
    const tsmith_output output = {.write = add_bytes, .context = &out};
    const uint64_t none = 0;
    uint32_t numbers[2] = {(uint32_t)tree->map->code, 0};
    tsmith_error error;
    tree->covered[tree->job->rank] = 1;
    for (int i = 0; i < tree->job->size; i++)
        numbers[1] += tree->covered[i];
    bool done = add_bytes(&out, &none, sizeof none) == TSMITH_OK &&
                add_bytes(&out, numbers, sizeof numbers) == TSMITH_OK;
    for (uint32_t i = 0; done && i < (uint32_t)tree->job->size; i++)
        done = !tree->covered[i] || add_bytes(&out, &i, sizeof i) == TSMITH_OK;
    if (!done || tsmith_ranks_write_partial(tree->ranks, &output, &error) != TSMITH_OK) {
        complain("out of memory while joining the parts of ranks");
        free(out.bytes);
        return false;
    }
    const uint64_t size = out.size - HEAD;
    memcpy(out.bytes, &size, sizeof size);
    state->part = out.bytes;
    state->part_size = out.size;
    return true;
}

static void lose_upper(struct state *state) {
    if (state->upper >= 0)
        (void)close(state->upper);
    state->upper = -1;
    state->sent = 0;
    state->orphan_since = network_now();
}

static void read_upper(struct state *state) {
    char byte;
    const ssize_t got = recv(state->upper, &byte, 1, 0);
    if (got == 1 && byte == RELEASE)
        state->released = true;
    else if (got >= 0 || (errno != EAGAIN && errno != EINTR))
        lose_upper(state);
}

static void write_upper(struct state *state) {
    const ssize_t sent =
        send(state->upper, state->part + state->sent, state->part_size - state->sent, MSG_NOSIGNAL);
    if (sent > 0)
        state->sent += (size_t)sent;
    else if (errno != EAGAIN && errno != EINTR)
        lose_upper(state);
}

static void close_stranger(struct state *state, size_t index) {
    state->strangers[index] = state->strangers[--state->stranger_count];
}

static void accept_one(struct state *state) {
    const int fd = accept4(state->tree->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        state->strangers[state->stranger_count++] = (struct stranger){.fd = fd, .since = network_now()};
}

static void read_stranger(struct state *state, size_t index) {
    struct stranger *stranger = &state->strangers[index];
    const int known = stranger_read(stranger, token(state));
    if (known > 0) {
        lose_upper(state); // the rank that asked before is lost
        state->upper = stranger->fd;
        close_stranger(state, index);
    } else if (known < 0 || network_now() - stranger->since > STRANGER_MS) {
        (void)close(stranger->fd);
        close_stranger(state, index);
    }
}

// ---- the loop

static bool is_gathered(const struct state *state) {
    bool all = !state->tree->map->child;
    for (size_t i = 0; i < state->lower_count; i++)
        all = all && state->lowers[i].covered;
    return all;
}

// Once the map is done and every rank below has delivered or is lost.
static bool finish_part(struct state *state) {
    if (!make_part(state)) {
        state->code = EXIT_LACKING;
        return false;
    }
    if (state->tree->job->rank == 0) {
        state->code = state->tree->answer(state->tree, state->tree->context);
        state->released = true;
    }
    return true;
}

static void handle_events(struct state *state, const struct pollfd *fds, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!fds[i].revents)
            continue;
        if (fds[i].fd == state->tree->listener) {
            accept_one(state);
        } else if (state->tree->map->child && fds[i].fd == state->tree->map->end_fd) {
            map_take(state->tree->map);
            (void)map_next(state->tree->map);
        } else if (fds[i].fd == state->upper) {
            if (fds[i].revents & (POLLIN | POLLHUP | POLLERR))
                read_upper(state);
            if (state->upper >= 0 && (fds[i].revents & POLLOUT))
                write_upper(state);
        }
    }
    for (size_t i = 0; i < count; i++) { // descriptors of these are not given out again before the next poll
        if (!fds[i].revents)
            continue;
        for (size_t k = 0; k < state->lower_count; k++)
            if (state->lowers[k].fd == fds[i].fd && !read_lower(state, &state->lowers[k])) {
                lose_lower(state, k);
                break;
            }
        for (size_t k = 0; k < state->stranger_count; k++)
            if (state->strangers[k].fd == fds[i].fd) {
                read_stranger(state, k);
                break;
            }
    }
}

// Waits for the next thing that happens; false when memory is exhausted.
static bool wait_once(struct state *state) {
    const size_t most = state->lower_count + state->stranger_count + 3;
    struct pollfd *fds = calloc(most, sizeof *fds);
    size_t count = 0;
    if (!fds)
        return false;
    if (state->tree->map->child)
        fds[count++] = (struct pollfd){.fd = state->tree->map->end_fd, .events = POLLIN};
    if (state->tree->listener >= 0 && state->stranger_count < STRANGERS)
        fds[count++] = (struct pollfd){.fd = state->tree->listener, .events = POLLIN};
    if (state->upper >= 0)
        fds[count++] = (struct pollfd){
            .fd = state->upper,
            .events = (short)(POLLIN | (state->part && state->sent < state->part_size ? POLLOUT : 0))};
    for (size_t i = 0; i < state->lower_count; i++)
        fds[count++] = (struct pollfd){.fd = state->lowers[i].fd, .events = POLLIN};
    for (size_t i = 0; i < state->stranger_count; i++)
        fds[count++] = (struct pollfd){.fd = state->strangers[i].fd, .events = POLLIN};
    if (poll(fds, count, 1000) > 0)
        handle_events(state, fds, count);
    for (size_t i = state->stranger_count; i-- > 0;)
        if (network_now() - state->strangers[i].since > STRANGER_MS) {
            (void)close(state->strangers[i].fd);
            close_stranger(state, i);
        }
    free(fds);
    return true;
}

static void release_lowers(struct state *state) {
    for (size_t i = 0; i < state->lower_count; i++) {
        (void)send(state->lowers[i].fd, &RELEASE, 1, MSG_NOSIGNAL);
        (void)close(state->lowers[i].fd);
        free(state->lowers[i].bytes);
    }
}

int tree_run(struct tree *tree) {
    struct state state = {.tree = tree, .upper = -1, .orphan_since = network_now()};
    adopt(&state, (uint32_t)tree->job->rank, false);
    (void)map_next(tree->map);
    while (!state.released && state.code == EXIT_DONE) {
        if (!state.part && is_gathered(&state)) {
            (void)finish_part(&state);
        } else if (tree->job->rank && state.upper < 0 && network_now() - state.orphan_since > ORPHAN_MS) {
            complain("rank %d: no other rank has asked for its part", tree->job->rank);
            state.code = EXIT_LACKING;
        } else if (!wait_once(&state)) {
            complain("out of memory");
            state.code = EXIT_LACKING;
        }
    }
    release_lowers(&state);
    if (state.upper >= 0)
        (void)close(state.upper);
    for (size_t i = 0; i < state.stranger_count; i++)
        (void)close(state.strangers[i].fd);
    free(state.lowers);
    free(state.part);
    return state.code;
}
