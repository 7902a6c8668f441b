// SPDX-License-Identifier: Apache-2.0
// Times of a Chrome trace: microseconds, as the format has it, or nanoseconds, as mcTracer (MetaX) writes them: whole
// numbers of nanoseconds since 1970. The first time of the file decides: as microseconds, 10^18 and more would be
// 30,000 years in the future.
#include <math.h>
#include <stdio.h>

#include "import/chrome/reader.h"
#include "import/json_scan.h"

#define LEAST_NS ((uint64_t)1000000000000000000) // of the year 2001
#define MOST_NS (4 * LEAST_NS)

void times_odd(struct chrome *chrome, struct moment *moment, double us, const char *text, size_t length) {
    enum text_form form;
    double ns = us * 1000.0;
    moment->ns = isnan(ns)       ? 0
                 : ns >= 0x1p62  ? (int64_t)1 << 62
                 : ns <= -0x1p62 ? -((int64_t)1 << 62)
                                 : (int64_t)ns;
    moment->odd = true;
    moment->rest = 0;
    moment->text = texts_json_once(&chrome->texts, text, length, &form);
    reader_notice(chrome->reader, PROBLEM_ODD_TIME);
}

static bool is_whole(const struct json_number *number) {
    return number->integral && number->exact && number->mantissa <= (uint64_t)INT64_MAX;
}

static void find_unit(struct chrome *chrome, const struct json_number *number) {
    chrome->has_unit = true;
    chrome->in_ns =
        is_whole(number) && !number->negative && number->mantissa >= LEAST_NS && number->mantissa < MOST_NS;
    if (!chrome->in_ns)
        return;
    tsmith_attribute attribute = {tsmith_dictionary_intern_cstr(chrome->dictionary, "import.time_unit"),
                                  tsmith_dictionary_intern_cstr(chrome->dictionary, "ns")};
    (void)tsmith_dictionary_add_attribute(chrome->dictionary, &attribute);
}

void times_negative(struct chrome *chrome, struct moment *moment, const char *text, size_t length) {
    enum text_form form;
    if (moment != &chrome->reader->event.duration || chrome->by_us)
        return;
    *moment = (struct moment){.there = true, .odd = true, .bad = true};
    moment->text = texts_json_once(&chrome->texts, text, length, &form);
    reader_notice(chrome->reader, PROBLEM_BACKWARDS);
}

void times_read(struct chrome *chrome, struct moment *moment, const struct json_number *number,
                const char *text, size_t length) {
    if (!chrome->has_unit && moment == &chrome->reader->event.start)
        find_unit(chrome, number);
    moment->there = true;
    moment->odd = false;
    moment->rest = 0;
    if (chrome->in_ns && is_whole(number))
        moment->ns = number->negative ? -(int64_t)number->mantissa : (int64_t)number->mantissa;
    else if (chrome->in_ns)
        times_odd(chrome, moment, json_number_double(number, text, length) / 1000, text, length);
    else if (!json_number_ns(number, &moment->ns, &moment->rest))
        times_odd(chrome, moment, json_number_double(number, text, length), text, length);
    if (number->negative && number->mantissa)
        times_negative(chrome, moment, text, length);
}

void times_bad(struct chrome *chrome, struct moment *moment, const char *text, size_t length) {
    enum text_form form;
    *moment = (struct moment){.there = true, .odd = true, .bad = true};
    moment->text = texts_json_once(&chrome->texts, text, length, &form);
    if (form != TEXT_JSON) { // NaN, Infinity, and what is damaged
        char quoted[64];
        int count = snprintf(quoted, sizeof quoted, "\"%.*s\"", (int)(length < 32 ? length : 32), text);
        moment->text = texts_json_once(&chrome->texts, quoted, (size_t)count, &form);
    }
    if (moment == &chrome->reader->event.duration)
        reader_notice(chrome->reader, PROBLEM_NO_DURATION);
}

bool times_lost(struct chrome *chrome, const struct event *event) {
    if ((event->start.there && !event->start.bad) || event->ph == 'M') // metadata has no time
        return false;
    if (!chrome->problems.counts[PROBLEM_NO_TIME]++)
        chrome->no_time_at = event->offset;
    return true;
}
