// SPDX-License-Identifier: Apache-2.0
// Reports samples of the launching threads. idle.c calls it.
#include "analyze/idle_code.h"

struct report_table *idle_code_begin(struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"device", TSMITH_CELL_TEXT},   {"function", TSMITH_CELL_TEXT}, {"in", TSMITH_CELL_TEXT},
        {"samples", TSMITH_CELL_COUNT}, {"time", TSMITH_CELL_DURATION}, {"share", TSMITH_CELL_SHARE}};
    return REPORT_TABLE(
        report, "host_code",
        "the code that the launching threads ran while the device was host-bound, by CPU samples", COLUMNS);
}

void idle_code_write(const struct analysis_context *context, const struct host_samples *samples,
                     const tsmith_row *device, struct report *report, struct report_table *table) {
    enum { ROWS = 20 };
    for (size_t i = 0; i < samples->code_count && i < ROWS; i++) {
        const struct host_code *code = &samples->codes[i];
        analysis_device_text(report, table, context, device);
        report_text(report, table, tsmith_dictionary_string(context->dictionary, code->function));
        report_text(report, table, tsmith_dictionary_string(context->dictionary, code->innermost));
        report_integer(report, table, (int64_t)code->samples);
        if (code->time)
            report_integer(report, table, code->time);
        else
            report_unknown(report, table);
        report_share(report, table, (int64_t)code->samples, (int64_t)samples->found);
    }
}

// Samples of the function of the program that has the most.
static struct host_code most_frequent(const struct host_samples *samples) {
    struct host_code most = {0};
    for (size_t i = 0; i < samples->code_count; i++) {
        struct host_code sum = {.function = samples->codes[i].function,
                                .innermost = samples->codes[i].innermost};
        for (size_t k = i; k < samples->code_count; k++)
            sum.samples += samples->codes[k].function == sum.function ? samples->codes[k].samples : 0;
        if (sum.samples > most.samples)
            most = sum;
        if (samples->codes[i].samples * (samples->code_count - i) < most.samples)
            break; // the rest cannot be more
    }
    return most;
}

struct report_table *idle_code_begin_gaps(struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"at", TSMITH_CELL_TIME},          {"length", TSMITH_CELL_DURATION},
        {"device", TSMITH_CELL_TEXT},      {"samples", TSMITH_CELL_COUNT},
        {"function", TSMITH_CELL_TEXT},    {"in_function", TSMITH_CELL_COUNT},
        {"share_from", TSMITH_CELL_SHARE}, {"share_to", TSMITH_CELL_SHARE}};
    return REPORT_TABLE(report, "gap_code",
                        "the code that most CPU samples in each of these gaps are of, if the gap has enough",
                        COLUMNS);
}

void idle_code_write_gap(const struct analysis_context *context, const struct host_samples *samples,
                         const tsmith_row *device, tsmith_interval gap, struct report *report,
                         struct report_table *table) {
    const struct host_code most = most_frequent(samples);
    double from, to;
    report_integer(report, table, gap.from - context->window.from);
    report_integer(report, table, gap.to - gap.from);
    analysis_device_text(report, table, context, device);
    report_integer(report, table, (int64_t)samples->found);
    if (samples->found < HOST_SAMPLES_LEAST) {
        report_text(report, table, analysis_text("too few samples"));
        for (int i = 0; i < 3; i++)
            report_unknown(report, table);
        return;
    }
    host_samples_range(most.samples, samples->found, &from, &to);
    report_text(report, table, analysis_named(tsmith_dictionary_string(context->dictionary, most.function)));
    report_integer(report, table, (int64_t)most.samples);
    report_number(report, table, from);
    report_number(report, table, to);
}

void idle_code_advise(const struct analysis_context *context, const struct host_samples *samples) {
    const struct host_code most = most_frequent(samples);
    double from, to;
    if (!samples->count)
        return;
    if (samples->found < HOST_SAMPLES_LEAST) {
        advice_evidence(
            context->advice, ADVICE_HOST_BOUND,
            "Only %llu CPU sample%s of the launching threads %s of this time: too few to name its code.",
            (unsigned long long)samples->found, report_plural(samples->found),
            samples->found == 1 ? "is" : "are");
        return;
    }
    const tsmith_string function = tsmith_dictionary_string(context->dictionary, most.function);
    host_samples_range(most.samples, samples->found, &from, &to);
    advice_evidence(context->advice, ADVICE_HOST_BOUND,
                    "In %llu of %llu CPU samples of the launching threads during it the host runs %.*s%s: "
                    "%.0f%% to %.0f%% of its "
                    "CPU time.",
                    (unsigned long long)most.samples, (unsigned long long)samples->found,
                    ANALYSIS_NAMED(function), 100 * from, 100 * to);
    if (2 * samples->interpreter >= samples->found)
        advice_evidence(context->advice, ADVICE_HOST_BOUND,
                        "In %llu of the %llu samples the interpreter of Python runs a function that is not "
                        "known: CPython 3.12 and newer names it with PYTHONPERFSUPPORT=1.",
                        (unsigned long long)samples->interpreter, (unsigned long long)samples->found);
}
