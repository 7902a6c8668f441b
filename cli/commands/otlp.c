// SPDX-License-Identifier: Apache-2.0
// Decides what is sent when. Metrics are totals since the beginning, so that the next message has what a lost one had; spans that
// cannot be delivered are gone, and counted.
#include "otlp.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "cli/present/terminal.h"
#include "otlp_http.h"
#include "otlp_text.h"
#include "tracesmith/view.h"

enum { SPANS_MOST = 4096, SPANS_OF_MESSAGE = 512 }; // kept, sent at once
static const int64_t INTERVAL = 2000000000, PATIENCE = 2000000000;

struct otlp {
    struct post_target target;
    struct otlp_resource resource;
    struct otlp_trace trace;
    struct metrics_kernels kernels;
    tsmith_live_totals totals;
    const char *url;
    const tsmith_dictionary *dictionary; // of the spans
    struct otlp_span spans[SPANS_MOST];
    size_t span_count;
    uint64_t numbered; // spans so far
    struct post post;
    bool is_metrics;   // the message that is under way
    uint64_t carried;  // its spans
    int64_t due;       // CLOCK_MONOTONIC: not before
    int64_t begun;     // ns since 1970
    bool metrics_next; // they and spans take turns
    bool is_final;
    uint64_t readings, spans_sent, readings_failed, spans_dropped, refused_by_collector;
    char why[160]; // of the last failure
};

static int64_t clock_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// ---- beginning

// Random ids where the caller gave none. The ids of spans follow each other and are never 0.
static bool make_ids(struct otlp *otlp) {
    uint64_t random[3];
    const char *parent = getenv("TRACEPARENT"), *state = getenv("TRACESTATE");
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return false;
    otlp->trace.is_wanted = true;
    otlp->trace.first_span = random[0] >> 1 | 1;
    if (parent && otlp_read_parent(parent, &otlp->trace)) {
        otlp->trace.state = state && *state && strlen(state) <= 512 ? state : NULL;
        return true;
    }
    if (parent && *parent)
        complain("TRACEPARENT is not a trace context of W3C; the spans begin a trace of their own");
    snprintf(otlp->trace.id, sizeof otlp->trace.id, "%016" PRIx64 "%016" PRIx64, random[1] | 1, random[2]);
    return true;
}

int otlp_open(const struct invocation *invocation, const char *program, struct otlp **out) {
    const char *url = invocation_value(invocation, "otlp"), *service = getenv("OTEL_SERVICE_NAME");
    struct post_target target;
    *out = NULL;
    if (!url)
        return EXIT_DONE;
    if (!post_read_target(url, &target)) {
        complain("--otlp: '%s' is not an address of the loopback interface such as http://127.0.0.1:4318",
                 url);
        return EXIT_USAGE;
    }
    struct otlp *otlp = calloc(1, sizeof *otlp);
    if (!otlp || !make_ids(otlp)) {
        complain("out of memory");
        free(otlp);
        return EXIT_LACKING;
    }
    const char *slash = strrchr(program, '/');
    otlp->url = url;
    otlp->target = target;
    otlp->post.fd = -1;
    otlp->resource.program = program;
    otlp->resource.service = service && *service ? service : slash && slash[1] ? slash + 1 : program;
    otlp->resource.pid = getpid();
    if (gethostname(otlp->resource.host, sizeof otlp->resource.host - 1))
        otlp->resource.host[0] = '\0';
    *out = otlp;
    return EXIT_DONE;
}

void otlp_begin(struct otlp *otlp) {
    otlp->begun = clock_ns(CLOCK_REALTIME);
    otlp->due = post_now();
}

// ---- spans

void otlp_take(struct otlp *otlp, const tsmith_dictionary *dictionary, const tsmith_batch *batch) {
    static const uint32_t fields[] = {TSMITH_FIELD_NAME, TSMITH_FIELD_DURATION};
    const int64_t offset = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC_RAW); // of the trace's clock
    tsmith_spans spans;
    tsmith_view views[2];
    if (!otlp->trace.is_wanted || !tsmith_view_spans(batch, &spans))
        return;
    otlp->dictionary = dictionary;
    tsmith_view_batch(batch, fields, 2, views);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        int64_t duration;
        if (spans.kinds[row] != TSMITH_KIND_RANGE || !tsmith_view_i64(&views[1], row, &duration))
            continue;
        otlp->numbered++;
        if (otlp->span_count == SPANS_MOST) {
            otlp->spans_dropped++;
            snprintf(otlp->why, sizeof otlp->why, "there were more ranges than the collector took");
            continue;
        }
        const int64_t start = spans.starts[row] + offset;
        otlp->spans[otlp->span_count++] = (struct otlp_span){.start = start,
                                                             .end = start + duration,
                                                             .name = tsmith_view_id(&views[0], row),
                                                             .track = tsmith_batch_track(batch),
                                                             .number = otlp->numbered};
    }
}

// ---- messages

static void note_failure(struct otlp *otlp) {
    snprintf(otlp->why, sizeof otlp->why, "%s", otlp->post.why);
    otlp->readings_failed += otlp->is_metrics;
    otlp->spans_dropped += otlp->carried;
    otlp->due = post_now() + (otlp->is_final ? 0 : INTERVAL);
}

// "rejectedSpans":"3" of a partial success.
static uint64_t rejected(const char *body, const char *name) {
    const char *at = strstr(body, name);
    if (!at)
        return 0;
    at += strlen(name);
    at += strspn(at, "\": ");
    return strtoull(at, NULL, 10);
}

static void note_success(struct otlp *otlp, const char *body) {
    const uint64_t refused = rejected(body, otlp->is_metrics ? "rejectedDataPoints" : "rejectedSpans");
    otlp->readings += otlp->is_metrics;
    otlp->refused_by_collector += refused;
    otlp->spans_sent += otlp->carried - (!otlp->is_metrics && refused < otlp->carried ? refused : 0);
}

static void begin_message(struct otlp *otlp, const char *path, const struct text *body) {
    if (!post_begin(&otlp->post, &otlp->target, path, body))
        note_failure(otlp);
}

static void send_metrics(struct otlp *otlp, tsmith_capture *capture) {
    struct text body = {0};
    otlp->is_metrics = true;
    otlp->carried = 0;
    otlp->totals.size = sizeof otlp->totals;
    tsmith_capture_live(capture, &otlp->totals);
    otlp_add_metrics(&body, &otlp->resource, &otlp->totals, &otlp->kernels, otlp->begun,
                     clock_ns(CLOCK_REALTIME));
    begin_message(otlp, "/v1/metrics", &body);
    text_finish(&body);
}

static void send_spans(struct otlp *otlp, const struct otlp_span *run, int wait_status) {
    struct text body = {0};
    const size_t count = otlp->span_count < SPANS_OF_MESSAGE ? otlp->span_count : SPANS_OF_MESSAGE;
    otlp->is_metrics = false;
    otlp->carried = count + (run != NULL);
    otlp_add_spans(&body, &otlp->resource, &otlp->trace, otlp->dictionary, otlp->spans, count, run,
                   wait_status);
    otlp->span_count -= count;
    memmove(otlp->spans, otlp->spans + count, otlp->span_count * sizeof otlp->spans[0]);
    begin_message(otlp, "/v1/traces", &body);
    text_finish(&body);
}

// Goes on with the message that is under way; true if there is none any more.
static bool advance(struct otlp *otlp) {
    const char *body = "";
    switch (post_look(&otlp->post, PATIENCE, &body)) {
    case POST_UNDER_WAY:
        return false;
    case POST_DONE:
        note_success(otlp, body);
        return true;
    case POST_FAILED:
        note_failure(otlp);
        return true;
    case POST_IDLE:
        break;
    }
    return true;
}

void otlp_look(struct otlp *otlp, tsmith_capture *capture) {
    if (!advance(otlp) || post_now() < otlp->due)
        return;
    otlp->metrics_next = !otlp->metrics_next;
    if (otlp->metrics_next) {
        send_metrics(otlp, capture);
        return;
    }
    if (otlp->span_count)
        send_spans(otlp, NULL, 0);
    // Many spans are sent one message after the other; the next reading of metrics is due later.
    if (otlp->span_count >= SPANS_OF_MESSAGE)
        otlp->metrics_next = true;
    else if (otlp->due <= post_now())
        otlp->due = post_now() + INTERVAL;
}

// ---- the end

static void wait_for_message(struct otlp *otlp) {
    while (!advance(otlp)) {
        struct pollfd fd = {
            .fd = otlp->post.fd,
            .events = (short)(POLLIN | (otlp->post.sent < otlp->post.request.length ? POLLOUT : 0))};
        (void)poll(&fd, 1, 20);
    }
}

static void print_result(const struct otlp *otlp) {
    struct text line = {0};
    text_add_cstr(&line, "--otlp: ");
    text_add_counted(&line, otlp->readings, "reading of metrics and ", "readings of metrics and ");
    text_add_counted(&line, otlp->spans_sent, "span delivered", "spans delivered");
    if (otlp->readings_failed || otlp->spans_dropped || otlp->refused_by_collector) {
        text_add_cstr(&line, "; not delivered: ");
        text_add_counted(&line, otlp->readings_failed, "reading, ", "readings, ");
        text_add_counted(&line, otlp->spans_dropped, "span", "spans");
        if (otlp->refused_by_collector)
            text_add_format(&line, "; rejected by the collector: %" PRIu64, otlp->refused_by_collector);
        if (otlp->why[0])
            text_add_format(&line, " (%s)", otlp->why);
    }
    if (!otlp->trace.is_wanted)
        text_add_cstr(&line, "; TRACEPARENT says that its trace is not recorded");
    complain("%s", text_cstr(&line));
    text_finish(&line);
}

void otlp_end(struct otlp *otlp, tsmith_capture *capture, int wait_status) {
    const int64_t deadline = post_now() + PATIENCE;
    const struct otlp_span run = {.start = otlp->begun, .end = clock_ns(CLOCK_REALTIME)};
    bool is_run_sent = !otlp->trace.is_wanted;
    otlp->is_final = true;
    wait_for_message(otlp);
    send_metrics(otlp, capture);
    wait_for_message(otlp);
    while ((otlp->span_count || !is_run_sent) && post_now() < deadline) {
        const bool is_last = otlp->span_count <= SPANS_OF_MESSAGE;
        send_spans(otlp, is_last && !is_run_sent ? &run : NULL, wait_status);
        is_run_sent |= is_last;
        wait_for_message(otlp);
    }
    otlp->spans_dropped += otlp->span_count + !is_run_sent;
    otlp->span_count = 0;
    print_result(otlp);
}

void otlp_close(struct otlp *otlp) {
    if (otlp)
        post_finish(&otlp->post);
    free(otlp);
}
