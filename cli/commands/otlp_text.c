// SPDX-License-Identifier: Apache-2.0
// Writes OTLP's messages in the JSON form of its protocol buffers: integers of 64 bits are strings, ids hexadecimal. otlp.c calls it.
#include "otlp_text.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "tracesmith/version.h"

// ---- W3C's Trace Context

static bool is_hexadecimal(const char *text, size_t length) {
    bool is_zero = true;
    for (size_t i = 0; i < length; i++) {
        if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
            return false;
        is_zero &= text[i] == '0';
    }
    return !is_zero;
}

// "00-TRACE-SPAN-FLAGS"; later versions may append more.
bool otlp_read_parent(const char *text, struct otlp_trace *trace) {
    enum { TRACE = 3, SPAN = 36, FLAGS = 53, LENGTH = 55 };
    static const char digits[] = "0123456789abcdef";
    const size_t length = strlen(text);
    if (length < LENGTH || !strchr(digits, text[0]) || !strchr(digits, text[1]) ||
        strncmp(text, "ff", 2) == 0 || text[2] != '-' || text[SPAN - 1] != '-' || text[FLAGS - 1] != '-' ||
        !is_hexadecimal(text + TRACE, 32) || !is_hexadecimal(text + SPAN, 16) ||
        !strchr(digits, text[FLAGS]) || !strchr(digits, text[FLAGS + 1]))
        return false;
    if (length > LENGTH && (text[LENGTH] != '-' || strncmp(text, "00", 2) == 0))
        return false;
    memcpy(trace->id, text + TRACE, 32);
    memcpy(trace->parent, text + SPAN, 16);
    trace->id[32] = trace->parent[16] = '\0';
    trace->is_wanted = (strchr(digits, text[FLAGS + 1]) - digits) & 1;
    return true;
}

// ---- parts

static void add_string(struct text *text, const char *separator, const char *key, tsmith_string value) {
    text_add_format(text, "%s{\"key\":\"%s\",\"value\":{\"stringValue\":", separator, key);
    text_add_json(text, value);
    text_add_cstr(text, "}}");
}

static void add_integer(struct text *text, const char *separator, const char *key, int64_t value) {
    text_add_format(text, "%s{\"key\":\"%s\",\"value\":{\"intValue\":\"%" PRId64 "\"}}", separator, key,
                    value);
}

static void add_resource(struct text *text, const struct otlp_resource *resource) {
    text_add_cstr(text, "\"resource\":{\"attributes\":[");
    add_string(text, "", "service.name", text_string(resource->service));
    add_string(text, ",", "process.executable.path", text_string(resource->program));
    add_string(text, ",", "host.name", text_string(resource->host));
    add_integer(text, ",", "tracesmith.collector.pid", resource->pid);
    text_add_cstr(text, "]}");
}

static void add_scope(struct text *text) {
    text_add_format(text, "\"scope\":{\"name\":\"tracesmith\",\"version\":\"%s\"}", tsmith_version());
}

// ---- metrics

struct metrics_message {
    struct text *text;
    int64_t since, now;
    bool has_metric, has_value;
};

static void begin_metric(void *context, const struct metric *metric) {
    static const char *const units[] = {[METRIC_NUMBER] = "1", [METRIC_BYTES] = "By", [METRIC_SECONDS] = "s"};
    struct metrics_message *message = context;
    text_add_format(message->text, "%s{\"name\":\"%s\",\"description\":\"%s\",\"unit\":\"%s\",",
                    message->has_metric ? "," : "", metric->name, metric->help, units[metric->unit]);
    text_add_cstr(message->text, metric->is_gauge
                                     ? "\"gauge\":{"
                                     : "\"sum\":{\"aggregationTemporality\":2,\"isMonotonic\":true,");
    text_add_cstr(message->text, "\"dataPoints\":[");
    message->has_metric = true;
    message->has_value = false;
}

static void add_point(void *context, const struct metric *metric, const struct metric_label *labels,
                      size_t count, int64_t value) {
    struct metrics_message *message = context;
    struct text *text = message->text;
    text_add_cstr(text, message->has_value ? ",{\"attributes\":[" : "{\"attributes\":[");
    for (size_t i = 0; i < count; i++)
        add_string(text, i ? "," : "", labels[i].name, text_string(labels[i].value));
    text_add_format(text, "],\"startTimeUnixNano\":\"%" PRId64 "\",\"timeUnixNano\":\"%" PRId64 "\",",
                    message->since, message->now);
    if (metric->unit == METRIC_SECONDS)
        text_add_format(text, "\"asDouble\":%" PRId64 ".%09" PRId64 "}", value / 1000000000,
                        value % 1000000000);
    else
        text_add_format(text, "\"asInt\":\"%" PRId64 "\"}", value);
    message->has_value = true;
}

static void end_metric(void *context, const struct metric *metric) {
    struct metrics_message *message = context;
    (void)metric;
    text_add_cstr(message->text, "]}}");
}

void otlp_add_metrics(struct text *text, const struct otlp_resource *resource,
                      const tsmith_live_totals *totals, struct metrics_kernels *kernels, int64_t since,
                      int64_t now) {
    struct metrics_message message = {.text = text, .since = since, .now = now};
    const struct metric_visitor visitor = {
        .context = &message, .begin = begin_metric, .value = add_point, .end = end_metric};
    text_add_cstr(text, "{\"resourceMetrics\":[{");
    add_resource(text, resource);
    text_add_cstr(text, ",\"scopeMetrics\":[{");
    add_scope(text);
    text_add_cstr(text, ",\"metrics\":[");
    metrics_each(totals, kernels, &visitor);
    text_add_cstr(text, "]}]}]}");
}

// ---- spans

static void add_ids(struct text *text, const struct otlp_trace *trace, uint64_t number) {
    text_add_format(text, "{\"traceId\":\"%s\",\"spanId\":\"%016" PRIx64 "\"", trace->id,
                    trace->first_span + number);
    if (number)
        text_add_format(text, ",\"parentSpanId\":\"%016" PRIx64 "\"", trace->first_span);
    else if (trace->parent[0])
        text_add_format(text, ",\"parentSpanId\":\"%s\"", trace->parent);
    if (trace->state) {
        text_add_cstr(text, ",\"traceState\":");
        text_add_json_cstr(text, trace->state);
    }
}

static void add_times(struct text *text, const struct otlp_span *span) {
    text_add_format(text,
                    ",\"kind\":1,\"startTimeUnixNano\":\"%" PRId64 "\",\"endTimeUnixNano\":\"%" PRId64
                    "\",\"attributes\":[",
                    span->start, span->end);
}

static void add_range(struct text *text, const struct otlp_trace *trace, const tsmith_dictionary *dictionary,
                      const struct otlp_span *span) {
    const tsmith_track *track = tsmith_dictionary_track(dictionary, span->track);
    const tsmith_process *process = track ? tsmith_dictionary_process(dictionary, track->process) : NULL;
    const tsmith_string name = tsmith_dictionary_string(dictionary, span->name);
    add_ids(text, trace, span->number);
    text_add_cstr(text, ",\"name\":");
    text_add_json(text, name.length ? name : text_string("(no name)"));
    add_times(text, span);
    add_string(text, "", "thread.name",
               track ? tsmith_dictionary_string(dictionary, track->name) : text_string(""));
    if (process)
        add_integer(text, ",", "process.pid", (int64_t)process->pid);
    text_add_cstr(text, "]}");
}

static void add_run(struct text *text, const struct otlp_resource *resource, const struct otlp_trace *trace,
                    const struct otlp_span *run, int wait_status) {
    const char *slash = strrchr(resource->program, '/');
    const bool is_good = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
    add_ids(text, trace, 0);
    text_add_cstr(text, ",\"name\":");
    text_add_json_cstr(text, slash ? slash + 1 : resource->program);
    add_times(text, run);
    if (WIFEXITED(wait_status))
        add_integer(text, "", "process.exit.code", WEXITSTATUS(wait_status));
    else if (WIFSIGNALED(wait_status))
        add_integer(text, "", "tracesmith.signal", WTERMSIG(wait_status));
    text_add_format(text, "],\"status\":{\"code\":%d}}", is_good ? 1 : 2);
}

void otlp_add_spans(struct text *text, const struct otlp_resource *resource, const struct otlp_trace *trace,
                    const tsmith_dictionary *dictionary, const struct otlp_span *spans, size_t count,
                    const struct otlp_span *run, int wait_status) {
    text_add_cstr(text, "{\"resourceSpans\":[{");
    add_resource(text, resource);
    text_add_cstr(text, ",\"scopeSpans\":[{");
    add_scope(text);
    text_add_cstr(text, ",\"spans\":[");
    for (size_t i = 0; i < count; i++) {
        text_add_cstr(text, i ? "," : "");
        add_range(text, trace, dictionary, &spans[i]);
    }
    if (run) {
        text_add_cstr(text, count ? "," : "");
        add_run(text, resource, trace, run, wait_status);
    }
    text_add_cstr(text, "]}]}]}");
}
