// SPDX-License-Identifier: Apache-2.0
// Gates: conditions on what a diff measured, and their JUnit form.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff.h"
#include "base/json.h"
#include "base/sized.h"

struct condition {
    size_t metric_length;
    bool less, or_equal, relative, percent;
    double limit;
};

static bool read_limit(const char *text, struct condition *condition) {
    static const struct {
        const char *unit;
        double scale;
    } UNITS[] = {{"", 1},
                 {"%", 0.01},
                 {"ns", 1},
                 {"us", 1e3},
                 {"ms", 1e6},
                 {"s", 1e9},
                 {"B", 1},
                 {"KiB", 1024},
                 {"MiB", 1024.0 * 1024},
                 {"GiB", 1024.0 * 1024 * 1024}};
    char *end;
    bool sign = *text == '+' || *text == '-';
    if (!sign && (*text < '0' || *text > '9'))
        return false; // no space, "inf" or "nan"
    if (sign && (text[1] < '0' || text[1] > '9'))
        return false;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        if (strcmp(end, UNITS[i].unit) != 0)
            continue;
        condition->percent = strcmp(UNITS[i].unit, "%") == 0;
        condition->relative = sign || condition->percent;
        condition->limit = value * UNITS[i].scale;
        return isfinite(condition->limit);
    }
    return false;
}

// From the end: names of kernels have '<' and '>', too.
static bool read_condition(const char *gate, struct condition *condition) {
    size_t at = strlen(gate);
    while (at > 0 && gate[at - 1] != '<' && gate[at - 1] != '>')
        at--;
    if (at < 2)
        return false;
    condition->metric_length = at - 1;
    condition->less = gate[at - 1] == '<';
    condition->or_equal = gate[at] == '=';
    return read_limit(gate + at + condition->or_equal, condition);
}

// Whether an entry is (a part of) the metric "name" or "prefix:name".
static bool matches_metric(const struct diff_entry *entry, const char *metric, size_t length) {
    static const char *const PREFIXES[DIFF_GROUPS] = {
#define PREFIX(NAME, table, prefix, first, second, doc) prefix,
        DIFF_GROUP_TABLE(PREFIX)
#undef PREFIX
    };
    const char *prefix = PREFIXES[entry->group];
    size_t skipped = strlen(prefix);
    if (!skipped && entry->group != DIFF_TIMES && entry->group != DIFF_COUNTS && entry->group != DIFF_MEMORY)
        return false;
    return length == skipped + entry->first.length && memcmp(metric, prefix, skipped) == 0 &&
           memcmp(metric + skipped, entry->first.bytes, entry->first.length) == 0;
}

static void write_quantity(char out[REPORT_TEXT], double value, enum diff_group group) {
    if (group == DIFF_COUNTS)
        (void)snprintf(out, REPORT_TEXT, "%.6g", value);
    else if (group == DIFF_MEMORY)
        report_bytes(out, value);
    else
        report_duration(out, diff_integer(value));
}

static void judge_condition(const struct condition *condition, struct diff_change sum, enum diff_group group,
                            tsmith_gate *out) {
    char base[REPORT_TEXT], new[REPORT_TEXT], share[REPORT_TEXT] = "from nothing";
    double measured = sum.new;
    if (condition->percent)
        measured = sum.base != 0 ? (sum.new - sum.base) / sum.base : sum.new == 0 ? 0 : HUGE_VAL;
    else if (condition->relative)
        measured = sum.new - sum.base;
    out->passed = condition->or_equal && measured == condition->limit;
    out->passed |= condition->less ? measured < condition->limit : measured > condition->limit;
    if (sum.base != 0)
        (void)snprintf(share, sizeof share, "%+.2f%%", 100 * (sum.new - sum.base) / sum.base);
    write_quantity(base, sum.base, group);
    write_quantity(new, sum.new, group);
    (void)snprintf(out->message, sizeof out->message, "%s, was %s (%s)", new, base, share);
}

static tsmith_status judge_gate(const tsmith_diff *diff, const char *gate, tsmith_gate *out,
                                tsmith_error *error) {
    struct condition condition = {0};
    struct diff_change sum = {0};
    bool found = false;
    enum diff_group group = DIFF_TIMES;
    if (!diff->finished)
        return status_set(error, TSMITH_ERROR_STATE, "Gates can be checked only after the diff is finished.");
    if (!read_condition(gate, &condition))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "\"%.80s\" is not a gate; write METRIC<LIMIT, for example kernel_time<+3%%.", gate);
    for (size_t i = 0; i < diff->count; i++) { // an operator's name may have several categories
        const struct diff_entry *entry = &diff->entries[i];
        if (!matches_metric(entry, gate, condition.metric_length))
            continue;
        struct diff_change change = diff_measure(diff, entry);
        sum.base += change.base;
        sum.new += change.new;
        group = entry->group;
        found = true;
        if (entry->unknown)
            return status_set(error, TSMITH_ERROR_NOT_FOUND,
                              "\"%.*s\" is unknown: one of the traces has no host calls.",
                              (int)entry->first.length, entry->first.bytes);
    }
    // Memory without any data in the traces is unknown, and passes no gate.
    if (!found || (group == DIFF_MEMORY && sum.base == 0 && sum.new == 0))
        return status_set(error, TSMITH_ERROR_NOT_FOUND, "None of the traces has \"%.*s\".",
                          (int)(condition.metric_length < 80 ? condition.metric_length : 80), gate);
    judge_condition(&condition, sum, group, out);
    // What is known only as a lower bound cannot be below a limit.
    if (group == DIFF_MEMORY &&
        (diff->memory_open[TSMITH_DIFF_NEW] || (condition.relative && diff->memory_open[TSMITH_DIFF_BASE]))) {
        const size_t length = strlen(out->message);
        out->passed &= !condition.less && !condition.relative;
        (void)snprintf(out->message + length, sizeof out->message - length,
                       ", or more: memory allocated before the trace is not counted");
    }
    return TSMITH_OK;
}

tsmith_status tsmith_diff_gate(const tsmith_diff *diff, const char *gate, tsmith_gate *out,
                               tsmith_error *error) {
    tsmith_gate judged = {.size = sizeof judged, .gate = gate};
    const tsmith_status status = judge_gate(diff, gate, &judged, error);
    sized_give(tsmith_gate, &judged, out);
    return status;
}

// ---- JUnit

// The caller's gates are as long as the first of them says.
static const tsmith_gate *gate_at(const tsmith_gate *gates, size_t index) {
    return (const tsmith_gate *)(const void *)((const char *)gates + index * gates->size);
}

// An attribute's value; what XML cannot say becomes '?'.
static void write_xml(FILE *out, const char *text) {
    for (size_t left = strlen(text); left;) {
        unsigned char c = (unsigned char)*text;
        unsigned length = json_utf8_length(text, left);
        static const char *const ENTITIES[] = {
            ['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;"};
        bool not_xml = length == 3 && (unsigned char)text[0] == 0xef && (unsigned char)text[1] == 0xbf &&
                       (unsigned char)text[2] >= 0xbe; // U+FFFE, U+FFFF
        if (!length || c < 0x20 || not_xml)
            fputc('?', out);
        else if (c < sizeof ENTITIES / sizeof *ENTITIES && ENTITIES[c])
            fputs(ENTITIES[c], out);
        else
            (void)fwrite(text, 1, length, out);
        length = length ? length : 1;
        text += length;
        left -= length;
    }
}

tsmith_status tsmith_gates_write_junit(const tsmith_gate *gates, size_t count, FILE *out,
                                       tsmith_error *error) {
    size_t failures = 0;
    if (count && gates->size < offsetof(tsmith_gate, message) + sizeof gates->message)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "the size of tsmith_gate is %zu: set it to sizeof(tsmith_gate)", gates->size);
    for (size_t i = 0; i < count; i++)
        failures += !gate_at(gates, i)->passed;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"tracesmith diff\" tests=\"%zu\" failures=\"%zu\">\n",
            count, failures);
    for (size_t i = 0; i < count; i++) {
        const tsmith_gate *gate = gate_at(gates, i);
        fputs("  <testcase classname=\"tracesmith.diff\" name=\"", out);
        write_xml(out, gate->gate);
        fputs(gate->passed ? "\"><system-out>" : "\"><failure message=\"", out);
        write_xml(out, gate->message);
        fputs(gate->passed ? "</system-out></testcase>\n" : "\"/></testcase>\n", out);
    }
    fputs("</testsuite>\n", out);
    if (fflush(out) || ferror(out))
        return status_set_errno(error, "The gates could not be written");
    return TSMITH_OK;
}
