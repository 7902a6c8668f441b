// SPDX-License-Identifier: Apache-2.0
// The triggers of a flight recorder. src/api/flight.c calls it.
#include "api/flight_triggers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/status.h"
#include "tracesmith/time.h"
#include "tracesmith/view.h"

static const int64_t FAR = INT64_C(1) << 61;

// ---- parsing

// "20ms": a number and a unit.
static bool parse_time(const char *text, int64_t *out) {
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    char *end = NULL;
    const double value = strtod(text, &end);
    if (end == text || !(value >= 0))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].unit) == 0 && value * units[i].ns < 1e18) {
            *out = (int64_t)(value * units[i].ns);
            return true;
        }
    return false;
}

// TIME or p99*K.
static bool parse_limit(struct flight_trigger *trigger, const char *limit) {
    char *end = NULL;
    if (*limit != 'p')
        return parse_time(limit, &trigger->limit);
    trigger->quantile = strtod(limit + 1, &end) / 100;
    if (!(trigger->quantile >= 0.5 && trigger->quantile < 1) || *end != '*')
        return false;
    limit = end + 1;
    trigger->factor = strtod(limit, &end);
    trigger->durations = calloc(1, sizeof *trigger->durations);
    return end != limit && !*end && trigger->factor >= 1 && trigger->factor < 1e6 && trigger->durations;
}

// NAME>TIME or NAME>p99*K. A name may have a '>': the last one counts.
static bool parse_range(struct flight_trigger *trigger, const char *argument) {
    const char *limit = strrchr(argument, '>');
    if (!limit || limit == argument)
        return false;
    trigger->name = strndup(argument, (size_t)(limit - argument));
    return trigger->name && parse_limit(trigger, limit + 1);
}

// TIME, p99*K or /N.
static bool parse_frame(struct flight_trigger *trigger, const char *argument) {
    char *end = NULL;
    if (*argument != '/')
        return parse_limit(trigger, argument);
    trigger->every = argument[1] >= '0' && argument[1] <= '9' ? strtoull(argument + 1, &end, 10) : 0;
    return trigger->every && !*end;
}

static bool parse_code(struct flight_trigger *trigger, const char *argument) {
    char *end = NULL;
    trigger->any_code = !*argument;
    trigger->code = strtoll(argument, &end, 10);
    return !*end;
}

static int64_t modified_at(const char *path) {
    struct stat file;
    return stat(path, &file) ? 0 : (int64_t)file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec + 1;
}

static bool parse(struct flight_trigger *trigger, const char *word) {
    static const struct {
        const char *name;
        enum flight_trigger_kind kind;
    } kinds[] = {{"signal", FLIGHT_SIGNAL}, {"range", FLIGHT_RANGE}, {"call", FLIGHT_CALL},
                 {"gap", FLIGHT_GAP},       {"error", FLIGHT_ERROR}, {"loss", FLIGHT_LOSS},
                 {"exit", FLIGHT_EXIT},     {"crash", FLIGHT_CRASH}, {"file", FLIGHT_FILE},
                 {"frame", FLIGHT_FRAME}};
    const size_t length = strcspn(word, ":");
    const char *argument = word[length] ? word + length + 1 : "";
    size_t at = 0;
    const size_t count = sizeof kinds / sizeof kinds[0];
    while (at < count && (strlen(kinds[at].name) != length || memcmp(kinds[at].name, word, length) != 0))
        at++;
    if (at == count)
        return false;
    trigger->kind = kinds[at].kind;
    (void)snprintf(trigger->text, sizeof trigger->text, "%s", word);
    switch (trigger->kind) {
    case FLIGHT_RANGE:
    case FLIGHT_CALL:
        return parse_range(trigger, argument);
    case FLIGHT_GAP:
        return parse_time(argument, &trigger->limit) && trigger->limit > 0;
    case FLIGHT_FRAME:
        return parse_frame(trigger, argument);
    case FLIGHT_ERROR:
        return parse_code(trigger, argument);
    case FLIGHT_FILE:
        trigger->name = *argument ? strdup(argument) : NULL;
        trigger->modified = trigger->name ? modified_at(trigger->name) : 0;
        return trigger->name != NULL;
    default:
        return !word[length];
    }
}

tsmith_status flight_triggers_parse(struct flight_triggers *triggers, const char *const *words, size_t count,
                                    tsmith_error *error) {
    triggers->items = calloc(count + 1, sizeof *triggers->items);
    if (!triggers->items)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a flight recorder");
    for (size_t i = 0; i < count; i++) {
        triggers->count++;
        if (!parse(&triggers->items[i], words[i]))
            return status_set(
                error, TSMITH_ERROR_INVALID_ARGUMENT,
                "unknown trigger '%s'; available: signal, range:NAME>20ms, range:NAME>p99*2, call:NAME>20ms, "
                "call:NAME>p99*2, "
                "gap:TIME, frame:20ms, frame:p99*2, frame:/100, error[:CODE], loss, exit, crash, file:PATH",
                words[i]);
    }
    return TSMITH_OK;
}

void flight_triggers_finish(struct flight_triggers *triggers) {
    for (size_t i = 0; i < triggers->count; i++) {
        struct flight_trigger *trigger = &triggers->items[i];
        for (size_t device = 0; device < FLIGHT_DEVICES; device++)
            live_busy_finish(&trigger->devices[device]);
        free(trigger->name);
        free(trigger->durations);
    }
    free(triggers->items);
    *triggers = (struct flight_triggers){0};
}

bool flight_triggers_have(const struct flight_triggers *triggers, enum flight_trigger_kind kind) {
    for (size_t i = 0; i < triggers->count; i++)
        if (triggers->items[i].kind == kind)
            return true;
    return false;
}

// ---- durations

// Classes 0 to 31 are of their own value; above, 32 for each power of two.
static uint32_t bucket_of(int64_t duration) {
    const uint64_t value = duration > 0 ? (uint64_t)duration : 0;
    if (value < 32)
        return (uint32_t)value;
    const uint32_t power = 63 - (uint32_t)__builtin_clzll(value);
    return (power - 4) * 32 + (uint32_t)(value >> (power - 5) & 31);
}

// The upper end of a class.
static double end_of(uint32_t bucket) {
    if (bucket < 32)
        return bucket;
    const uint32_t power = bucket / 32 + 4;
    return ((double)(32 + bucket % 32) + 1) * (double)(UINT64_C(1) << (power - 5));
}

static double quantile_of(const struct flight_durations *durations, double quantile) {
    const double wanted = quantile * (double)durations->count;
    double below = 0;
    for (uint32_t i = 0; i < FLIGHT_BUCKETS; i++) {
        below += durations->buckets[i];
        if (below >= wanted)
            return end_of(i);
    }
    return 1e18;
}

static bool is_slow(struct flight_trigger *trigger, int64_t duration) {
    struct flight_durations *durations = trigger->durations;
    if (!durations)
        return duration > trigger->limit;
    const bool slow = durations->count >= FLIGHT_SAMPLES_LEAST &&
                      (double)duration > trigger->factor * quantile_of(durations, trigger->quantile);
    durations->count++;
    durations->buckets[bucket_of(duration)]++;
    return slow;
}

// ---- batches

struct asked {
    tsmith_view name, result, lost, reason, correlation;
    tsmith_spans rows;
    uint32_t count;
    const tsmith_dictionary *dictionary;
    const tsmith_track *track;
    flight_fire *fire;
    void *context;
};

static int64_t end_of_row(const struct asked *asked, uint32_t row) {
    return tsmith_time_add(asked->rows.starts[row], tsmith_view_i64_or(&asked->rows.durations, row, 0));
}

// A string is in the dictionary once: from where it was not found, only new ones are compared.
static void find_name(struct flight_trigger *trigger, const tsmith_dictionary *dictionary) {
    const uint32_t count = tsmith_dictionary_string_count(dictionary);
    const size_t length = strlen(trigger->name);
    for (; !trigger->string && trigger->strings_seen < count; trigger->strings_seen++) {
        const tsmith_string text = tsmith_dictionary_string(dictionary, trigger->strings_seen);
        if (text.length == length && memcmp(text.bytes, trigger->name, length) == 0)
            trigger->string = trigger->strings_seen;
    }
}

// Whether the trigger is about events of this kind. Calls that wait have a kind of their own: instead of that of calls, or a
// second event of it.
static bool is_of_kind(const struct flight_trigger *trigger, tsmith_kind kind) {
    return trigger->kind == FLIGHT_RANGE ? kind == TSMITH_KIND_RANGE
                                         : kind == TSMITH_KIND_API || kind == TSMITH_KIND_SYNC;
}

// The same call again, as a wait or as a call: it counts once.
static bool is_again(struct flight_trigger *trigger, tsmith_kind kind, int64_t start, int64_t duration) {
    const bool again =
        kind != trigger->last_kind && start == trigger->last_start && duration == trigger->last_duration;
    trigger->last_kind = kind;
    trigger->last_start = start;
    trigger->last_duration = duration;
    return again && trigger->kind == FLIGHT_CALL;
}

static void ask_named(struct flight_trigger *trigger, const struct asked *asked) {
    char why[512];
    for (uint32_t row = 0; row < asked->count; row++) {
        int64_t duration;
        if (!is_of_kind(trigger, (tsmith_kind)asked->rows.kinds[row]) ||
            tsmith_view_id(&asked->name, row) != trigger->string ||
            !tsmith_view_i64(&asked->rows.durations, row, &duration) ||
            is_again(trigger, (tsmith_kind)asked->rows.kinds[row], asked->rows.starts[row], duration) ||
            !is_slow(trigger, duration))
            continue;
        (void)snprintf(why, sizeof why, "%s: it took %.6f ms", trigger->text, (double)duration / 1e6);
        asked->fire(asked->context, end_of_row(asked, row), why);
    }
}

// Presents of one call (of several swapchains) end one frame.
static void ask_frames(struct flight_trigger *trigger, const struct asked *asked) {
    char why[512];
    uint64_t last = 0;
    for (uint32_t row = 0; row < asked->count; row++) {
        int64_t duration;
        if (asked->rows.kinds[row] != TSMITH_KIND_FRAME ||
            !tsmith_view_i64(&asked->rows.durations, row, &duration))
            continue;
        const uint64_t number = tsmith_view_u64_or(&asked->correlation, row, 0);
        const bool same = number && number == last;
        last = number;
        if (same)
            continue;
        trigger->frames++;
        if (trigger->every ? trigger->frames % trigger->every != 0 : !is_slow(trigger, duration))
            continue;
        (void)snprintf(why, sizeof why, "%s: frame %" PRIu64 " took %.6f ms", trigger->text, trigger->frames,
                       (double)duration / 1e6);
        asked->fire(asked->context, end_of_row(asked, row), why);
    }
}

static bool is_error(const struct flight_trigger *trigger, const struct asked *asked, uint32_t row,
                     int64_t result) {
    return trigger->any_code
               ? tsmith_call_failed(
                     tsmith_dictionary_string(asked->dictionary, tsmith_view_id(&asked->name, row)).bytes,
                     result)
               : result == trigger->code;
}

static void ask_errors(struct flight_trigger *trigger, const struct asked *asked) {
    char why[512];
    for (uint32_t row = 0; row < asked->count; row++) {
        int64_t result;
        if (asked->rows.kinds[row] != TSMITH_KIND_API || !tsmith_view_i64(&asked->result, row, &result) ||
            !is_error(trigger, asked, row, result))
            continue;
        const tsmith_string name =
            tsmith_dictionary_string(asked->dictionary, tsmith_view_id(&asked->name, row));
        (void)snprintf(why, sizeof why, "%s: %.*s returned %" PRId64, trigger->text,
                       (int)(name.length < 200 ? name.length : 200), name.bytes, result);
        asked->fire(asked->context, end_of_row(asked, row), why);
    }
}

static void ask_losses(struct flight_trigger *trigger, const struct asked *asked) {
    char why[512];
    for (uint32_t row = 0; row < asked->count; row++) {
        const tsmith_reason reason = (tsmith_reason)tsmith_view_word(&asked->reason, row);
        if (asked->rows.kinds[row] != TSMITH_KIND_LOSS || !tsmith_reason_is_of_events(reason))
            continue;
        const char *name = tsmith_value_name(TSMITH_TYPE_REASON, (uint8_t)reason);
        (void)snprintf(why, sizeof why, "%s: %" PRIu64 " events (%s)", trigger->text,
                       tsmith_view_u64_or(&asked->lost, row, 0), name ? name : "?");
        asked->fire(asked->context, end_of_row(asked, row), why);
    }
}

static void add_busy(struct flight_trigger *trigger, const struct asked *asked) {
    const uint32_t device = asked->track ? asked->track->device : 0;
    struct live_span *spans = device && device < FLIGHT_DEVICES ? malloc(asked->count * sizeof *spans) : NULL;
    size_t count = 0;
    bool failed = false;
    for (uint32_t row = 0; spans && row < asked->count; row++) {
        const uint8_t kind = asked->rows.kinds[row];
        const int64_t start = asked->rows.starts[row], end = end_of_row(asked, row);
        if ((kind == TSMITH_KIND_KERNEL || kind == TSMITH_KIND_MEMCPY || kind == TSMITH_KIND_MEMSET ||
             kind == TSMITH_KIND_GRAPH_LAUNCH || kind == TSMITH_KIND_COLLECTIVE) &&
            start > -FAR && end < FAR)
            spans[count++] = (struct live_span){start, end};
    }
    if (spans)
        (void)live_busy_add(&trigger->devices[device], spans, count, &failed);
    free(spans);
}

void flight_triggers_batch(struct flight_triggers *triggers, const tsmith_dictionary *dictionary,
                           const tsmith_batch *batch, flight_fire *fire, void *context) {
    static const uint32_t fields[] = {TSMITH_FIELD_NAME, TSMITH_FIELD_RESULT, TSMITH_FIELD_LOST,
                                      TSMITH_FIELD_REASON, TSMITH_FIELD_CORRELATION};
    tsmith_view views[5];
    struct asked asked = {.count = tsmith_batch_count(batch),
                          .dictionary = dictionary,
                          .track = tsmith_dictionary_track(dictionary, tsmith_batch_track(batch)),
                          .fire = fire,
                          .context = context};
    if (!triggers->count || !tsmith_view_spans(batch, &asked.rows))
        return;
    tsmith_view_batch(batch, fields, 5, views);
    asked.name = views[0];
    asked.result = views[1];
    asked.lost = views[2];
    asked.reason = views[3];
    asked.correlation = views[4];
    for (size_t i = 0; i < triggers->count; i++) {
        struct flight_trigger *trigger = &triggers->items[i];
        if (trigger->kind == FLIGHT_RANGE || trigger->kind == FLIGHT_CALL) {
            find_name(trigger, dictionary);
            if (trigger->string)
                ask_named(trigger, &asked);
        } else if (trigger->kind == FLIGHT_FRAME) {
            ask_frames(trigger, &asked);
        } else if (trigger->kind == FLIGHT_ERROR) {
            ask_errors(trigger, &asked);
        } else if (trigger->kind == FLIGHT_LOSS) {
            ask_losses(trigger, &asked);
        } else if (trigger->kind == FLIGHT_GAP) {
            add_busy(trigger, &asked);
        }
    }
}

// ---- what is no batch

// Gaps that ended before `delivered`: a command that ran in one would have been delivered.
static void ask_gaps(struct flight_trigger *trigger, uint32_t device, int64_t delivered, flight_fire *fire,
                     void *context) {
    const struct live_busy *busy = &trigger->devices[device];
    char why[512];
    for (size_t i = busy->count; i-- > 1;) {
        const int64_t from = busy->spans[i - 1].to, to = busy->spans[i].from;
        if (to <= trigger->gaps_seen[device])
            break;
        if (to > delivered || to - from <= trigger->limit)
            continue;
        (void)snprintf(why, sizeof why, "%s: device %u was idle for %.6f ms", trigger->text, device,
                       (double)(to - from) / 1e6);
        fire(context, to, why);
    }
    trigger->gaps_seen[device] = delivered;
}

void flight_triggers_look(struct flight_triggers *triggers, int64_t now, int64_t delivered, flight_fire *fire,
                          void *context) {
    char why[512];
    for (size_t i = 0; i < triggers->count; i++) {
        struct flight_trigger *trigger = &triggers->items[i];
        if (trigger->kind == FLIGHT_GAP)
            for (uint32_t device = 1; device < FLIGHT_DEVICES; device++)
                ask_gaps(trigger, device, delivered, fire, context);
        if (trigger->kind != FLIGHT_FILE)
            continue;
        const int64_t modified = modified_at(trigger->name);
        if (modified && modified != trigger->modified) {
            (void)snprintf(why, sizeof why, "%s: it was modified", trigger->text);
            fire(context, now, why);
        }
        trigger->modified = modified;
    }
}

void flight_triggers_ended(struct flight_triggers *triggers, int64_t now, int wait_status, flight_fire *fire,
                           void *context) {
    char why[512];
    const bool crashed = WIFSIGNALED(wait_status) || (WIFEXITED(wait_status) && WEXITSTATUS(wait_status));
    for (size_t i = 0; i < triggers->count; i++) {
        const struct flight_trigger *trigger = &triggers->items[i];
        if (trigger->kind != FLIGHT_EXIT && (trigger->kind != FLIGHT_CRASH || !crashed))
            continue;
        if (WIFSIGNALED(wait_status))
            (void)snprintf(why, sizeof why, "%s: by signal %d", trigger->text, WTERMSIG(wait_status));
        else
            (void)snprintf(why, sizeof why, "%s: with exit code %d", trigger->text, WEXITSTATUS(wait_status));
        fire(context, now, why);
        return;
    }
}
