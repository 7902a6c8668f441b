// SPDX-License-Identifier: Apache-2.0
// Windows begin at multiples of the period since the first look, so that a late look does not move those that follow.
#include "collect/duty.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "collect/loss_source.h"

static void close_gap(struct duty *duty, int64_t now) {
    struct duty_gap *gap = ARRAY_PUSH(duty->gaps, duty->count, duty->capacity);
    if (gap)
        *gap = (struct duty_gap){duty->off_since, now > duty->off_since ? now : duty->off_since};
    else
        duty->failed = true;
    duty->off_since = 0;
}

void duty_look(struct duty *duty, const struct session_directory *directory) {
    if (!duty->period || duty->has_ended)
        return;
    const int64_t now = clock_trace_now();
    if (!duty->begun) {
        duty->begun = now;
        duty->windows = 1;
    }
    const bool wanted = duty->failed || (now - duty->begun) % duty->period < duty->on;
    if (wanted == !duty->off_since)
        return;
    session_directory_arm(directory, wanted);
    if (wanted) {
        close_gap(duty, clock_trace_now());
        duty->windows++;
    } else {
        duty->off_since = now;
    }
}

static void set_number(tsmith_dictionary *dictionary, const char *name, int64_t value) {
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    tsmith_dictionary_set_attribute(dictionary, name, text);
}

void duty_describe(const struct duty *duty, tsmith_dictionary *dictionary) {
    if (!duty->period)
        return;
    set_number(dictionary, "duty.on_ns", duty->on);
    set_number(dictionary, "duty.period_ns", duty->period);
}

void duty_end(struct duty *duty, tsmith_dictionary *dictionary, int64_t ended) {
    int64_t unseen = 0;
    if (!duty->period || duty->has_ended)
        return;
    duty->has_ended = true;
    if (duty->off_since)
        close_gap(duty, ended);
    for (size_t i = 0; i < duty->count; i++)
        unseen += duty->gaps[i].to - duty->gaps[i].from;
    const int64_t all = duty->begun && ended > duty->begun ? ended - duty->begun : 0;
    set_number(dictionary, "duty.windows", (int64_t)duty->windows);
    set_number(dictionary, "duty.recorded_ns", all > unseen ? all - unseen : 0);
    set_number(dictionary, "duty.elapsed_ns", all);
}

// ---- the losses

struct found {
    const struct duty *duty;
    size_t at;
};

static bool find(void *self, struct loss *out) {
    struct found *found = self;
    if (found->at == found->duty->count)
        return false;
    const struct duty_gap *gap = &found->duty->gaps[found->at++];
    *out = (struct loss){.track = "duty",
                         .text = "recording was switched off",
                         .reason = TSMITH_REASON_OFF_DUTY,
                         .since = gap->from,
                         .until = gap->to};
    return true;
}

tsmith_status duty_source_create(const struct duty *duty, tsmith_source **out) {
    static const struct loss_finder finder = {find, free};
    struct found *found = calloc(1, sizeof *found);
    if (found)
        found->duty = duty;
    return loss_source_create(&finder, found, out);
}

void duty_finish(struct duty *duty) {
    free(duty->gaps);
    *duty = (struct duty){0};
}
