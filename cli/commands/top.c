// SPDX-License-Identifier: Apache-2.0
// `tracesmith top`: the totals of a running recording, again and again.
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/options/command.h"
#include "cli/options/quantity.h"
#include "cli/present/terminal.h"
#include "cli/present/top.h"
#include "cli/sessions.h"
#include "tracesmith/live.h"
#include "tracesmith/on_demand.h"

static const int64_t DEFAULT_INTERVAL = 500000000; // ns
static const int64_t SHORTEST = 50000000;
static const int64_t FIRST_WITHIN = 5000000000; // ns: a collector looks for requests a few times a second
static const int64_t POLL = 50000000;

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

static void sleep_ns(int64_t ns) {
    const struct timespec nap = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    nanosleep(&nap, NULL); // a signal ends it
}

static bool read_interval(const struct invocation *invocation, int64_t *out) {
    const char *text = invocation_value(invocation, "interval");
    *out = DEFAULT_INTERVAL;
    if (!text)
        return true;
    if (quantity_time(text, out) && *out >= SHORTEST && *out <= INT64_C(3600000000000))
        return true;
    complain("--interval: '%s' is not a time from 50ms to 1h", text);
    return false;
}

// The next totals that differ from those before.
static tsmith_status read_next(tsmith_live *live, uint64_t before, tsmith_live_totals *out,
                               tsmith_error *error) {
    for (int64_t waited = 0; !interrupted; waited += POLL) {
        out->size = sizeof *out;
        const tsmith_status status = tsmith_live_read(live, out, error);
        if (status < 0 || status == TSMITH_END || (status == TSMITH_OK && out->sequence != before))
            return status;
        if (waited >= FIRST_WITHIN)
            return TSMITH_AGAIN;
        sleep_ns(POLL);
    }
    return TSMITH_AGAIN;
}

static void write_one(const struct top_reading *reading, bool json) {
    struct text text = {0};
    if (json)
        top_add_json(&text, reading);
    else
        top_add_text(&text, reading);
    output_text(&text);
    output_flush();
    text_finish(&text);
}

static int complain_of(const char *directory, tsmith_status status, const tsmith_error *error) {
    if (interrupted)
        return EXIT_DONE;
    if (status < 0)
        complain("%s", error->message);
    else if (status == TSMITH_END)
        complain("the recording in %s ended before it published totals", directory);
    else
        complain("the recording in %s publishes no totals: its collector is stopped or has another version",
                 directory);
    return EXIT_LACKING;
}

static int show_totals(const char *directory, tsmith_live *live, int64_t interval, bool once, bool json) {
    static tsmith_live_totals before, now;
    struct top_reading reading = {
        .directory = directory, .armed = tsmith_on_demand_is_armed(directory) != 0, .now = &now};
    tsmith_error error = {0};
    for (bool first = true; !interrupted; first = false) {
        const tsmith_status status = read_next(live, before.sequence, &now, &error);
        if (status < 0 || status == TSMITH_AGAIN || (status == TSMITH_END && !now.sequence))
            return complain_of(directory, status, &error);
        reading.before = first ? NULL : &before;
        // Of two readings, so that there are rates.
        if (!once || !first || status == TSMITH_END)
            write_one(&reading, json);
        if (status == TSMITH_END && !now.ended)
            complain("the recording in %s was killed: 'tracesmith recover' writes its trace", directory);
        if (status == TSMITH_END || (once && !first))
            return EXIT_DONE;
        before = now;
        sleep_ns(interval);
    }
    return EXIT_DONE;
}

int command_top(const struct invocation *invocation) {
    struct text directory = {0};
    tsmith_live *live = NULL;
    tsmith_error error;
    int64_t interval;
    const bool json = invocation_flag(invocation, "json");
    if (!read_interval(invocation, &interval))
        return EXIT_USAGE;
    int code = sessions_find(invocation->operands[0], &directory);
    if (code == EXIT_DONE && tsmith_live_open(text_cstr(&directory), &live, &error) < 0) {
        complain("%s", error.message);
        code = EXIT_LACKING;
    }
    if (code == EXIT_DONE) {
        const struct sigaction action = {.sa_handler = interrupt};
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        if (json)
            output_for_programs(true);
        code = show_totals(text_cstr(&directory), live, interval, invocation_flag(invocation, "once"), json);
    }
    tsmith_live_close(live);
    text_finish(&directory);
    return code;
}
