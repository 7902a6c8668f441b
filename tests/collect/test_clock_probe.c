// SPDX-License-Identifier: Apache-2.0
// Clock probes over the loopback interface, between clocks that are this machine's, shifted and running at another rate: each
// comparison is within its bound. Strangers get no answer and are counted.
#include "support/test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sorted.h"
#include "collect/clock_probe.h"
#include "collect/probe_packet.h"

enum { ADDRESSES = 128 };
static const char TOKEN[] = "a secret of the run";

// A clock: the trace clock, faster by ppm from its start on, and shifted.
struct clock {
    int64_t begun, shift, ppm;
};

static int64_t convert(const struct clock *clock, int64_t trace) {
    return trace + (trace - clock->begun) / 1000000 * clock->ppm + clock->shift;
}

static int64_t now(void *context) {
    return convert(context, clock_trace_now());
}

// When the trace clock showed what, by the other clock; found by halving.
static int64_t invert(const struct clock *clock, int64_t shown) {
    return SORTED_FIND(i, clock->begun - 1000000000, clock_trace_now() + 1000000000,
                       convert(clock, i) < shown);
}

static struct clock_probe *start(const char *addresses, const char *id, const char *token,
                                 struct clock *clock) {
    struct clock_probe *probe;
    const struct clock_probe_options options = {
        .addresses = addresses, .token = token, .id = id, .now = now, .context = clock};
    tsmith_error error;
    if (clock_probe_start(&options, &probe, &error) != TSMITH_OK)
        fail_msg("%s", error.message);
    return probe;
}

static tsmith_dictionary *new_dictionary(void) {
    tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    return dictionary;
}

static void rest(void) {
    const struct timespec moment = {.tv_nsec = 1000000};
    nanosleep(&moment, NULL);
}

static long count_of(const tsmith_dictionary *dictionary, const char *key) {
    const tsmith_string value = tsmith_dictionary_find_attribute(dictionary, key);
    assert_non_null(value.bytes);
    return strtol(value.bytes, NULL, 10);
}

static void comparisons_are_within_their_bounds(void **unused) {
    (void)unused;
    const int64_t begun = clock_trace_now();
    struct clock here = {begun, 0, 0}, there = {begun, -777000000000000, 40};
    char addresses[ADDRESSES];
    struct clock_probe *answering = start("127.0.0.1:0", "raw:there", TOKEN, &there);
    (void)snprintf(addresses, sizeof addresses, "127.0.0.1:0,127.0.0.1:%u", clock_probe_port(answering));
    struct clock_probe *asking = start(addresses, "raw:here", TOKEN, &here);
    tsmith_dictionary *dictionary = new_dictionary(), *other = new_dictionary();
    while (tsmith_dictionary_clock_pair_count(dictionary) < 3) {
        clock_probe_take(asking, dictionary);
        rest();
    }
    clock_probe_stop(asking, dictionary);
    clock_probe_stop(answering, other);
    for (uint32_t i = 1; i < tsmith_dictionary_clock_pair_count(dictionary); i++) {
        const tsmith_clock_pair *pair = tsmith_dictionary_clock_pair(dictionary, i);
        const int64_t truth = convert(&there, invert(&here, pair->trace_time));
        assert_true(pair->error > 0);
        assert_true(pair->clock_time - truth <= pair->error && truth - pair->clock_time <= pair->error);
        const uint32_t name = tsmith_dictionary_clock(dictionary, pair->clock)->name;
        assert_string_equal(tsmith_dictionary_string(dictionary, name).bytes, "trace clock raw:there");
    }
    assert_int_equal(tsmith_dictionary_clock_count(dictionary), 2);
    assert_true(count_of(dictionary, "clock_probe.answered") >= 2);
    assert_true(count_of(dictionary, "clock_probe.sent") >= count_of(dictionary, "clock_probe.answered"));
    assert_int_equal(count_of(dictionary, "clock_probe.refused"), 0);
    assert_int_equal(tsmith_dictionary_clock_pair_count(other), 1); // it asked none
    tsmith_dictionary_destroy(dictionary);
    tsmith_dictionary_destroy(other);
}

// Whether an answer comes, to a datagram that is followed by one that certainly is answered.
static bool is_answered(int to, const uint8_t *bytes, size_t size, uint64_t own_number) {
    static uint64_t calls;
    struct probe_packet known = {.kind = PROBE_REQUEST, .number = 1000 + ++calls, .id = "raw:stranger"}, got;
    uint8_t answer[PROBE_PACKET_SIZE], good[PROBE_PACKET_SIZE];
    probe_packet_write(&known, probe_key_of(TOKEN), good);
    assert_int_equal(send(to, bytes, size, 0), size);
    bool answered = false;
    for (;;) { // a datagram may be lost; those of one sender are answered in order
        struct pollfd ready = {.fd = to, .events = POLLIN};
        (void)send(to, good, sizeof good, 0);
        if (poll(&ready, 1, 200) <= 0)
            continue;
        const ssize_t length = recv(to, answer, sizeof answer, 0);
        if (length > 0 && probe_packet_read(answer, (size_t)length, probe_key_of(TOKEN), &got)) {
            answered |= got.number == own_number;
            if (got.number == known.number)
                return answered;
        }
    }
}

static void strangers_are_refused(void **unused) {
    (void)unused;
    struct clock clock = {clock_trace_now(), 5, 0};
    struct clock_probe *probe = start("127.0.0.1:0", "raw:a", TOKEN, &clock);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(clock_probe_port(probe))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int to = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(connect(to, (const struct sockaddr *)&address, sizeof address), 0);
    struct probe_packet packet = {.kind = PROBE_REQUEST, .number = 5, .id = "raw:stranger"};
    uint8_t bytes[PROBE_PACKET_SIZE];
    probe_packet_write(&packet, probe_key_of(TOKEN), bytes);
    assert_true(is_answered(to, bytes, sizeof bytes, 5));
    probe_packet_write(&packet, probe_key_of("another secret, of others"), bytes);
    assert_false(is_answered(to, bytes, sizeof bytes, 5)); // 1
    probe_packet_write(&packet, probe_key_of(TOKEN), bytes);
    assert_false(is_answered(to, bytes, sizeof bytes - 1, 5)); // 2
    for (size_t i = 0; i < sizeof bytes; i += 8) {             // any byte that is changed
        bytes[i] ^= 1;
        assert_false(is_answered(to, bytes, sizeof bytes, 5));
        bytes[i] ^= 1;
    }
    tsmith_dictionary *dictionary = new_dictionary();
    clock_probe_stop(probe, dictionary);
    assert_int_equal(count_of(dictionary, "clock_probe.refused"), 2 + sizeof bytes / 8);
    assert_int_equal(tsmith_dictionary_clock_count(dictionary), 1); // nothing was compared
    tsmith_dictionary_destroy(dictionary);
    close(to);
}

// A collector with another token: no comparison, and both count what they refused. It ends at once.
static void other_runs_are_strangers(void **unused) {
    (void)unused;
    struct clock clock = {clock_trace_now(), 5, 0};
    char addresses[ADDRESSES];
    struct clock_probe *first = start("127.0.0.1:0", "raw:a", TOKEN, &clock);
    (void)snprintf(addresses, sizeof addresses, "127.0.0.1:0,127.0.0.1:%u", clock_probe_port(first));
    struct clock_probe *second = start(addresses, "raw:b", "the secret of another run", &clock);
    tsmith_dictionary *asked = new_dictionary(), *asking = new_dictionary();
    clock_probe_stop(second, asking);
    clock_probe_stop(first, asked);
    assert_true(count_of(asked, "clock_probe.refused") <= count_of(asking, "clock_probe.sent"));
    assert_int_equal(count_of(asking, "clock_probe.answered"), 0);
    assert_int_equal(tsmith_dictionary_clock_pair_count(asking), 1);
    tsmith_dictionary_destroy(asked);
    tsmith_dictionary_destroy(asking);
}

static void addresses_are_checked(void **unused) {
    (void)unused;
    static const char *const bad[] = {"",           "127.0.0.1",        "127.0.0.1:",       "localhost:7000",
                                      ":7000",      "127.0.0.1:70000",  "::1:7000",         "127.0.0.1:7,",
                                      "[::1]:7,,x", "127.0.0.1:7;true", "127.0.0.1:7,[::1]"};
    static const char *const good[] = {"127.0.0.1:7000", "[::1]:7000,[fe80::2]:1",
                                       "0.0.0.0:1,10.0.0.2:65535"};
    tsmith_error error;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(clock_probe_check(bad[i], TOKEN, &error), TSMITH_ERROR_INVALID_ARGUMENT);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(clock_probe_check(good[i], TOKEN, &error), TSMITH_OK);
    assert_int_equal(clock_probe_check(good[0], NULL, &error), TSMITH_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "TRACESMITH_PROBE_TOKEN"));
    assert_int_equal(clock_probe_check(good[0], "short", &error), TSMITH_ERROR_INVALID_ARGUMENT);
    // A port that is taken.
    struct clock clock = {0};
    char addresses[ADDRESSES];
    struct clock_probe *probe = start("127.0.0.1:0", "raw:a", TOKEN, &clock), *second;
    (void)snprintf(addresses, sizeof addresses, "127.0.0.1:%u", clock_probe_port(probe));
    const struct clock_probe_options options = {.addresses = addresses, .token = TOKEN, .id = "raw:b"};
    assert_true(clock_probe_start(&options, &second, &error) < 0);
    assert_null(second);
    assert_non_null(strstr(error.message, addresses));
    clock_probe_stop(probe, NULL);
    clock_probe_stop(NULL, NULL);
}

// The vectors of the authors, for the bytes 0, 1, 2, ... and the key of the bytes 0 to 15.
static void hash_is_siphash(void **unused) {
    (void)unused;
    uint8_t bytes[16];
    for (uint8_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i;
    const struct probe_key key = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    assert_true(probe_hash(bytes, 0, key) == UINT64_C(0x726fdb47dd0e0e31));
    assert_true(probe_hash(bytes, 8, key) == UINT64_C(0x93f5f5799a932462));
    assert_true(probe_hash(bytes, 15, key) == UINT64_C(0xa129ca6149be45e5));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_is_siphash),
        cmocka_unit_test(addresses_are_checked),
        cmocka_unit_test(strangers_are_refused),
        cmocka_unit_test(other_runs_are_strangers),
        cmocka_unit_test(comparisons_are_within_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
