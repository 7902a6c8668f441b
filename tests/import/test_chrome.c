// SPDX-License-Identifier: Apache-2.0
// Chrome traces, good and bad, through the importer and back out of the exporter. What is expected is written
// down as the JSON that must come back.
#include "import/trip.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <zlib.h>
#include <zstd.h>

#define EVENT(rest) "{\"ph\":\"X\",\"name\":\"k\",\"pid\":1,\"tid\":2," rest "}"
#define TRACE(events) "{\"traceEvents\":[" events "]}"

static void assert_contains(const struct trip *trip, const char *part) {
    if (!strstr(trip->json, part))
        fail_msg("missing: %s\nin: %s", part, trip->json);
}

// One event goes in and must come out as `out`, with `counted` problems noted and nothing lost.
static void assert_trip(const char *in, const char *out, uint64_t counted) {
    char text[4096];
    (void)snprintf(text, sizeof text, TRACE("%s"), in);
    struct trip trip = trip_text(text);
    assert_int_equal(trip.status, TSMITH_OK);
    assert_contains(&trip, out);
    if (trip.attributes != counted || trip.lost)
        fail_msg("%s: %llu counted, %llu lost", in, (unsigned long long)trip.attributes,
                 (unsigned long long)trip.lost);
    trip_free(&trip);
}

static void test_times(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
        uint64_t counted;
    } times[] = {
        {"\"ts\":1419116105356.596,\"dur\":5.74", "\"ts\":1419116105356.596,\"dur\":5.74", 0},
        {"\"ts\":1623142623460111,\"dur\":25", "\"ts\":1623142623460111,\"dur\":25", 0},
        {"\"ts\":0,\"dur\":0.001", "\"ts\":0,\"dur\":0.001", 0},
        {"\"ts\":-1.5,\"dur\":-0.25", "\"ts\":-1.5,\"dur\":-0.25", 1},
        {"\"ts\":1.0005,\"dur\":2.000000001", "\"ts\":1.0005,\"dur\":2.000000001", 0},
        {"\"ts\":-0.0005,\"dur\":1", "\"ts\":-0.0005,\"dur\":1", 0},
        {"\"ts\":1e3,\"dur\":1.5E-2", "\"ts\":1000,\"dur\":0.015", 0},
        {"\"ts\":12.000,\"dur\":1.250000000000000", "\"ts\":12,\"dur\":1.25", 0},
        {"\"ts\":1.0000000001,\"dur\":1", "\"ts\":1.0000000001,\"dur\":1", 1},
        {"\"ts\":9223372036854775807,\"dur\":1", "\"ts\":9223372036854775807,\"dur\":1", 1},
        {"\"ts\":18446744073709551617,\"dur\":1e300", "\"ts\":18446744073709551617,\"dur\":1e300", 2},
        {"\"ts\":\"12.5\",\"dur\":1", "\"ts\":\"12.5\",\"dur\":1", 1},
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char in[256];
        (void)snprintf(in, sizeof in, EVENT("%s"), times[i].in);
        assert_trip(in, times[i].out, times[i].counted);
    }
}

static void test_arguments(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
        uint64_t counted;
    } values[] = {
        {"1", "1", 0},
        {"-1", "-1", 0},
        {"1.0", "1.0", 0},
        {"0.1", "0.1", 0},
        {"1e22", "1e+22", 0},
        {"5e-324", "4.94065645841247e-324", 0},
        {"0.30000000000000004", "0.30000000000000004", 0},
        {"123456789012345678", "123456789012345678", 0},
        {"-9223372036854775807", "-9223372036854775807", 0},
        {"9223372036854775808", "9223372036854775808", 0},
        {"18446744073709551615", "18446744073709551615", 0},
        {"18446744073709551616", "18446744073709551616", 1},
        {"-9223372036854775809", "-9223372036854775809", 1},
        {"1e999", "1e999", 1},
        {"true", "true", 0},
        {"false", "false", 0},
        {"null", "null", 0},
        {"\"\"", "\"\"", 0},
        {"\"1\"", "\"1\"", 0},
        {"\"a\\n\\u00e9\\ud83d\\ude00\\u0000\\/\"", "\"a\\n\xc3\xa9\xf0\x9f\x98\x80\\u0000/\"", 0},
        {"\"\\ud800 \\udc80\"", "\"\\ud800 \\udc80\"", 1},
        {"[]", "[]", 0},
        {"[ 1 , {\"a b\" : [ ] } ]", "[1,{\"a b\":[]}]", 0},
        {"{\"deep\":{\"er\":null}}", "{\"deep\":{\"er\":null}}", 0},
        {"NaN", "\"NaN\"", 1},
        {"Infinity", "\"Infinity\"", 1},
        {"-Infinity", "\"-Infinity\"", 1},
        {"[NaN,-Infinity,1]", "[\"NaN\",\"-Infinity\",1]", 2},
        {"[1,,2]", "\"[1,,2]\"", 1},
        {"\"bad \\x escape\"", "\"bad \\\\x escape\"", 1},
        {"\"raw \t tab\"", "\"raw \\t tab\"", 1},
        {"[\"raw \t tab\"]", "[\"raw \\u0009 tab\"]", 1},
        {"\"\xff\xc3\"", "\"\\udcff\\udcc3\"", 1},
        {"[\"\xff\"]", "[\"\\udcff\"]", 1},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char in[512], out[512];
        (void)snprintf(in, sizeof in, EVENT("\"ts\":1,\"args\":{\"v\":%s,\"w\":1}"), values[i].in);
        // The columns of an event come back in the order in which the fields were first seen.
        (void)snprintf(out, sizeof out, "\"v\":%s", values[i].out);
        assert_trip(in, out, values[i].counted);
    }
}

static void test_known_arguments(void **state) {
    (void)state;
    assert_trip(
        EVENT("\"cat\":\"kernel\",\"ts\":1,\"dur\":1,\"args\":{\"grid\":[86, 1, 1],\"block\":[128,1,1],"
              "\"correlation\":7}"),
        "\"args\":{\"correlation\":7,\"grid\":[86,1,1],\"block\":[128,1,1]}", 0);
    assert_trip(EVENT("\"cat\":\"kernel\",\"ts\":1,\"dur\":1,\"args\":{\"grid\":[86,1],\"block\":[128,1,1]}"),
                "\"grid\":[86,1],\"block\":[128,1,1]", 0);
    assert_trip(EVENT("\"cat\":\"kernel\",\"ts\":1,\"dur\":1,\"args\":{\"grid\":[0,1,1],\"block\":[1,1,1]}"),
                "\"grid\":[0,1,1],\"block\":[1,1,1]", 0);
    assert_trip(EVENT("\"cat\":\"kernel\",\"ts\":1,\"dur\":1,\"args\":{\"grid\":[\"5\"],\"correlation\":-1}"),
                "\"args\":{\"correlation\":-1,\"grid\":[\"5\"]}", 0);
    assert_trip(EVENT("\"cat\":\"gpu_memcpy\",\"ts\":1,\"dur\":2,\"args\":{\"bytes\":3000,"
                      "\"memory bandwidth (GB/s)\":1.5}"),
                "\"args\":{\"bytes\":3000,\"memory bandwidth (GB/s)\":1.5}", 0);
    assert_trip(EVENT("\"cat\":\"gpu_memcpy\",\"ts\":1,\"dur\":2,\"args\":{\"bytes\":3000,"
                      "\"memory bandwidth (GB/s)\":1.4}"),
                "\"args\":{\"bytes\":3000,\"memory bandwidth (GB/s)\":1.4}", 0);
    assert_trip(EVENT("\"ts\":1,\"args\":{\"bytes\":\"many\",\"global_x\":5,\"start\":6}"),
                "\"args\":{\"bytes\":\"many\",\"global_x\":5,\"start\":6}", 0);
}

static void test_shapes_of_events(void **state) {
    (void)state;
    assert_trip(EVENT("\"ts\":1,\"args\":{}"), "\"ts\":1,\"args\":{}", 0);
    assert_trip(EVENT("\"ts\":1,\"args\":null"), "\"args\":null", 0);
    assert_trip(EVENT("\"ts\":1,\"cname\":\"good\",\"tts\":3"), "\"ts\":1,\"cname\":\"good\",\"tts\":3}", 0);
    assert_trip("{\"name\":5,\"ph\":\"X\",\"ts\":1}", "{\"ph\":\"X\",\"ts\":1,\"name\":5}", 0);
    assert_trip("{\"ph\":\"i\",\"s\":\"g\",\"name\":\"n\",\"pid\":\"Spans\",\"tid\":\"\",\"ts\":4}",
                "{\"ph\":\"i\",\"name\":\"n\",\"pid\":\"Spans\",\"tid\":\"\",\"ts\":4,\"s\":\"g\"}", 0);
    assert_trip("{\"ph\":\"C\",\"name\":\"mem\",\"pid\":-3,\"ts\":4,\"args\":{\"used\":1.5}}",
                "{\"ph\":\"C\",\"name\":\"mem\",\"pid\":-3,\"ts\":4,\"args\":{\"used\":1.5}}", 0);
    assert_trip("{\"ph\":\"I\",\"name\":\"n\",\"pid\":1,\"tid\":2.5,\"ts\":4}",
                "{\"ph\":\"I\",\"name\":\"n\",\"pid\":1,\"tid\":2.5,\"ts\":4}", 0);
    assert_trip("{\"ph\":\"b\",\"id\":\"0x1\",\"cat\":\"c\",\"name\":\"n\",\"pid\":1,\"tid\":2,\"ts\":4}",
                "{\"ph\":\"b\",\"cat\":\"c\",\"name\":\"n\",\"pid\":1,\"tid\":2,\"ts\":4,\"id\":\"0x1\"}", 0);
    assert_trip("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"p\"}}",
                "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"p\"}}", 0);
    assert_trip("{\"ph\":\"weird\",\"name\":\"n\",\"pid\":1,\"tid\":2,\"ts\":4}",
                "{\"ph\":\"weird\",\"name\":\"n\",\"pid\":1,\"tid\":2,\"ts\":4}", 0);
}

static void test_pairs(void **state) {
    (void)state;
    struct trip trip =
        trip_text(TRACE("{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1.5,\"args\":{\"x\":1}},"
                        "{\"ph\":\"B\",\"name\":\"b\",\"cat\":\"c\",\"pid\":1,\"tid\":2,\"ts\":2},"
                        "{\"ph\":\"E\",\"name\":\"b\",\"cat\":\"c\",\"pid\":1,\"tid\":2,\"ts\":3,\"args\":{"
                        "\"x\":2,\"y\":[1]}},"
                        "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":4},"
                        "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":5},"
                        "{\"ph\":\"B\",\"name\":\"open\",\"pid\":1,\"tid\":3,\"ts\":6}"));
    assert_int_equal(trip.status, TSMITH_OK);
    assert_int_equal(trip.events, 4);
    assert_int_equal(trip.attributes, 2); // one end, one begin without the other
    assert_contains(&trip, "{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1.5,\"args\":{\"x\":1}}");
    assert_contains(
        &trip, "{\"ph\":\"E\",\"cat\":\"c\",\"name\":\"b\",\"pid\":1,\"tid\":2,\"ts\":3,\"args\":{\"x\":2,"
               "\"y\":[1]}}");
    assert_contains(&trip, "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":4}");
    assert_contains(&trip, "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":5}");
    assert_contains(&trip, "{\"ph\":\"B\",\"name\":\"open\",\"pid\":1,\"tid\":3,\"ts\":6}");
    trip_free(&trip);
}

#define FLOW(ph, id, ts, rest)                                                                               \
    "{\"ph\":\"" ph "\",\"id\":" id ",\"pid\":1,\"tid\":2,\"ts\":" ts                                        \
    ",\"cat\":\"ac2g\",\"name\":\"ac2g\"" rest "}"

static void test_flows(void **state) {
    (void)state;
    struct trip trip = trip_text(TRACE(
        EVENT("\"ts\":1,\"dur\":1,\"args\":{\"correlation\":7}") "," FLOW(
            "s", "7", "1", "") "," // at the event, its correlation
        EVENT("\"ts\":2,\"dur\":1") "," FLOW("f", "-9", "2", ",\"bp\":\"e\"") "," // at the event, another id
        FLOW("t", "9", "2", "") ","                                               // a second one
        FLOW("f", "\"x\"", "2.5", ",\"args\":{}")));                              // elsewhere
    assert_int_equal(trip.status, TSMITH_OK);
    assert_int_equal(trip.events, 4); // two are fields of the events they are at
    assert_contains(
        &trip, "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":7,\"pid\":1,\"tid\":2,\"ts\":1}");
    assert_contains(
        &trip, "{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\",\"id\":-9,\"pid\":1,\"tid\":2,"
               "\"ts\":2}");
    assert_contains(
        &trip, "{\"ph\":\"t\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":1,\"tid\":2,\"ts\":2,\"id\":9}");
    assert_contains(&trip, "\"ts\":2.5,\"args\":{},\"id\":\"x\"}");
    trip_free(&trip);
}

static void test_kinds_and_names(void **state) {
    (void)state;
    static const char text[] =
        "{\"deviceProperties\":[{\"id\": 0, \"name\": \"H100\", \"totalGlobalMem\": 5, \"numSms\": 132}],"
        "\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,"
        "\"dur\":1},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"l\",\"pid\":9,\"tid\":10,\"ts\":1,\"dur\":1},"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":9,\"tid\":0,\"args\":{\"name\":\"python\"}},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":7,\"args\":{\"name\":\"stream 7\"}}]}";
    int fd = trip_memory(text, sizeof text - 1);
    tsmith_source *source;
    const tsmith_batch *batch;
    uint64_t kind;
    assert_int_equal(tsmith_import_open_fd(fd, "text", NULL, &source, NULL), TSMITH_OK);
    assert_int_equal(tsmith_source_next(source, &batch, NULL), TSMITH_OK);
    const tsmith_dictionary *dictionary = tsmith_source_dictionary(source);
    assert_true(tsmith_batch_get(batch, TSMITH_FIELD_KIND, 0, &kind));
    assert_int_equal(kind, TSMITH_KIND_KERNEL);
    const tsmith_track *track = tsmith_dictionary_track(dictionary, tsmith_batch_track(batch));
    assert_int_equal(track->kind, TSMITH_TRACK_QUEUE);
    assert_string_equal(tsmith_dictionary_string(dictionary, track->name).bytes, "stream 7");
    const tsmith_device *device = tsmith_dictionary_device(dictionary, track->device);
    assert_string_equal(tsmith_dictionary_string(dictionary, device->name).bytes, "H100");
    assert_int_equal(device->compute_units, 132);
    assert_int_equal(tsmith_source_next(source, &batch, NULL), TSMITH_OK);
    assert_true(tsmith_batch_get(batch, TSMITH_FIELD_KIND, 0, &kind));
    assert_int_equal(kind, TSMITH_KIND_API);
    track = tsmith_dictionary_track(dictionary, tsmith_batch_track(batch));
    assert_int_equal(track->kind, TSMITH_TRACK_THREAD);
    const tsmith_process *process = tsmith_dictionary_process(dictionary, track->process);
    assert_int_equal(process->pid, 9);
    assert_string_equal(tsmith_dictionary_string(dictionary, process->name).bytes, "python");
    assert_int_equal(tsmith_source_next(source, &batch, NULL), TSMITH_END);
    tsmith_source_destroy(source);
    close(fd);
}

static void test_damage(void **state) {
    (void)state;
    static const struct {
        const char *text;
        tsmith_status status;
        uint64_t events, lost, counted;
        const char *contains;
    } damages[] = {
        // Quotes without an escape.
        {TRACE(EVENT("\"ts\":1,\"args\":{\"v\":\"say \"hello\" twice\",\"w\":1}") "," EVENT("\"ts\":2")),
         TSMITH_OK, 2, 0, 1, "\"v\":\"say \\\"hello\\\" twice\",\"w\":1"},
        {TRACE(EVENT("\"ts\":1,\"args\":{\"v\":[\"a\"b\"],\"w\":1}") "," EVENT("\"ts\":2")), TSMITH_OK, 2, 0,
         1, "\"ts\":2"},
        // Something that is no event between two that are.
        {TRACE(EVENT("\"ts\":1") ",{\"ph\":\"X\",\"ts\":!,\"pid\":1}," EVENT("\"ts\":3")), TSMITH_OK, 2, 1, 1,
         "\"ts\":3"},
        {TRACE(EVENT("\"ts\":1") ",{\"ph\":{\"\"\"\"}}," EVENT("\"ts\":3")), TSMITH_OK, 2, 1, 2, "\"ts\":3"},
        {TRACE(EVENT("\"ts\":1") ",{\"nothing\":1}," EVENT("\"ts\":3")), TSMITH_OK, 2, 1, 1, "\"ts\":3"},
        {TRACE(EVENT("\"ts\":1") ",{\"ph\":\"X\",\"name\":\"no end,\"pid\":1}," EVENT("\"ts\":3") "," EVENT(
             "\"ts\":4")),
         TSMITH_OK, 3, 1, 1, "\"ts\":4"},
        {TRACE(EVENT("\"ts\":1") ",{\"ph\":\"X\",\"args\":{\"v\":[1,2},\"ts\":2}," EVENT(
             "\"ts\":3") "," EVENT("\"ts\":4")),
         TSMITH_OK, 3, 1, 2, "\"ts\":4"},
        // The end is missing.
        {"{\"traceEvents\":[" EVENT("\"ts\":1"), TSMITH_TRUNCATED, 1, 0, 1, "\"ts\":1"},
        {"{\"traceEvents\":[" EVENT("\"ts\":1") ",", TSMITH_TRUNCATED, 1, 0, 1, "\"ts\":1"},
        {"{\"traceEvents\":[" EVENT("\"ts\":1") ",{\"ph\":\"X\",\"na", TSMITH_TRUNCATED, 1, 0, 1, "\"ts\":1"},
        {"{\"traceEvents\":[" EVENT("\"ts\":1") "]", TSMITH_TRUNCATED, 1, 0, 1, "\"ts\":1"},
        {"{\"traceEvents\":[", TSMITH_TRUNCATED, 0, 0, 1, "traceEvents"},
        // The end of an array may be missing.
        {"[" EVENT("\"ts\":1") ",\n", TSMITH_OK, 1, 0, 0, "\"ts\":1"},
        {"[" EVENT("\"ts\":1"), TSMITH_OK, 1, 0, 0, "\"ts\":1"},
        {"[]", TSMITH_OK, 0, 0, 0, "traceEvents"},
        // Slices that overlap.
        {TRACE(EVENT("\"ts\":1,\"dur\":5") "," EVENT("\"ts\":3,\"dur\":9")), TSMITH_OK, 2, 0, 1, "\"dur\":9"},
        // Spaces, a byte order mark, trailing commas, keys next to the events.
        {"\xef\xbb\xbf \n{ \"a\" : [ 1 ] , \"traceEvents\" : [ " EVENT(
             "\"ts\":1") " , ] , \"b\" : \"x\" , }\n",
         TSMITH_OK, 1, 0, 0, "\"a\":[1]"},
        {"{\"junk\":[1,}, \"traceEvents\":[" EVENT("\"ts\":1") "]}", TSMITH_OK, 1, 0, 1, "\"ts\":1"},
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        struct trip trip = trip_text(damages[i].text);
        if (trip.status != damages[i].status || trip.events != damages[i].events ||
            trip.lost != damages[i].lost || trip.attributes != damages[i].counted)
            fail_msg("%s: status %d, %llu events, %llu lost, %llu counted\n%s", damages[i].text, trip.status,
                     (unsigned long long)trip.events, (unsigned long long)trip.lost,
                     (unsigned long long)trip.attributes, trip.json);
        // A file that ends early has an unknown number of missing events: an entry without a number.
        assert_int_equal(trip.losses, damages[i].status == TSMITH_TRUNCATED || damages[i].lost);
        assert_contains(&trip, damages[i].contains);
        trip_free(&trip);
    }
}

static void test_no_trace(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t offset;
    } texts[] = {{"", 0},          {"  \n", 3},     {"hello", 0}, {" <xml>", 1},
                 {"{\"a\":1}", 7}, {"{\"a\":1", 6}, {"{", 1},     {"{\"a\":[1,2],\"b\":{}}  ", 18}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct trip trip = trip_text(texts[i].text);
        if (trip.status != TSMITH_ERROR_FORMAT || trip.error.offset != texts[i].offset)
            fail_msg("'%s': status %d, offset %llu: %s", texts[i].text, trip.status,
                     (unsigned long long)trip.error.offset, trip.error.message);
        trip_free(&trip);
    }
    tsmith_source *source;
    tsmith_error error;
    assert_int_equal(tsmith_import_open("/nonexistent/trace.json", NULL, &source, &error),
                     TSMITH_ERROR_NOT_FOUND);
    assert_int_equal(tsmith_import_open("/", NULL, &source, &error), TSMITH_ERROR_IO);
}

static void test_rocprof(void **state) {
    (void)state;
    static const char text[] =
        "{\"rocprofiler-sdk-tool\": [{\"metadata\": "
        "{\"pid\":908},\"agents\":[{\"id\":{\"handle\":7},\"cu_count\":256,"
        "\"simd_count\":4,\"product_name\":\"MI300\"}],\"kernel_symbols\":[{\"kernel_id\":3,"
        "\"formatted_kernel_name\":\"k\\u00e9\"}],\"buffer_records\":{\"hip_api\":[{\"start_timestamp\":5,"
        "\"end_timestamp\":9,\"thread_id\":11,\"correlation_id\":{\"internal\":4}}],\"kernel_dispatch\":["
        "{\"start_timestamp\":1000,\"end_timestamp\":1040,\"thread_id\":11,\"correlation_id\":{\"internal\":"
        "4},"
        "\"dispatch_info\":{\"agent_id\":{\"handle\":7},\"queue_id\":{\"handle\":2},\"kernel_id\":3,"
        "\"workgroup_size\":{\"x\":64,\"y\":1,\"z\":1},\"grid_size\":{\"x\":128,\"y\":1,\"z\":1}},\"ok\":"
        "true},"
        "{\"no\":\"time\"}],\"empty\":[]}}]}";
    struct trip trip = trip_bytes(text, sizeof text - 1);
    assert_int_equal(trip.status, TSMITH_OK);
    assert_int_equal(trip.events, 2);
    assert_int_equal(trip.lost, 1);
    assert_contains(&trip,
                    "\"name\":\"k\xc3\xa9\",\"pid\":908,\"tid\":\"agent 7 queue 2\",\"ts\":1,\"dur\":0.04");
    assert_contains(&trip, "\"correlation\":4");
    assert_contains(&trip, "\"grid\":[2,1,1],\"block\":[64,1,1]");
    assert_contains(&trip, "\"cat\":\"hip_api\",\"name\":\"hip_api\",\"pid\":908,\"tid\":11,\"ts\":0.005");
    trip_free(&trip);
    for (size_t cut = 25; cut < sizeof text - 1; cut++) {
        trip = trip_bytes(text, cut);
        assert_int_equal(trip.status, TSMITH_TRUNCATED);
        trip_free(&trip);
    }
}

// ---- larger ones

// A trace like Kineto's, of `count` events on a few threads.
static char *make_trace(size_t count, size_t *length) {
    struct random random = {7};
    char *text = malloc(count * 420 + 100);
    assert_non_null(text);
    size_t at = (size_t)sprintf(text, "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n");
    for (size_t i = 0; i < count; i++) {
        unsigned thread = (unsigned)random_below(&random, 3);
        at += (size_t)sprintf(
            text + at,
            "%s  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"op %u\", \"pid\": 10, \"tid\": %u,\n"
            "    \"ts\": %zu.%03u, \"dur\": %u,\n    \"args\": {\n      \"External id\": %zu, "
            "\"Input Dims\": [[%u, 3], []], \"text\": \"%s\"\n    }\n  }",
            i ? ",\n" : "", thread == 2 ? "kernel" : "cpu_op", (unsigned)random_below(&random, 50), thread,
            1000 + i * 5, (unsigned)random_below(&random, 1000), (unsigned)random_below(&random, 5), i,
            (unsigned)random_below(&random, 9), i % 97 ? "plain" : "with \\\"quotes\\\" and {[brackets");
    }
    at += (size_t)sprintf(text + at, "\n  ],\n  \"traceName\": \"made\"\n}\n");
    *length = at;
    return text;
}

static uint64_t count_of(const char *text, size_t length, const char *part) {
    uint64_t count = 0;
    for (const char *at = text; (at = memmem(at, length - (size_t)(at - text), part, strlen(part))); at++)
        count++;
    return count;
}

static void test_many_batches(void **state) {
    (void)state;
    size_t length;
    char *text = make_trace(150000, &length);
    int in = trip_memory(text, length);
    struct trip held = trip_fd(in, 0);
    assert_int_equal(lseek(in, 0, SEEK_SET), 0);
    struct trip at_once = trip_fd(in, 1);
    assert_int_equal(held.status, TSMITH_OK);
    assert_int_equal(at_once.status, TSMITH_OK);
    assert_int_equal(held.events, 150000);
    assert_int_equal(at_once.events, 150000);
    assert_int_equal(count_of(held.json, held.length, "\"External id\":"), 150000);
    assert_int_equal(held.length, at_once.length);
    trip_free(&held);
    trip_free(&at_once);
    close(in);
    free(text);
}

// Values that are the same for a while, each for another while, come back as they were.
static void test_repeated_values(void **state) {
    (void)state;
    enum { EVENTS = 3000 };
    char *text = NULL, event[256];
    size_t length;
    FILE *out = open_memstream(&text, &length);
    for (unsigned i = 0; i < EVENTS; i++)
        (void)fprintf(out,
                      "%s{\"ph\":\"X\",\"cat\":\"c%u\",\"name\":\"n%u\",\"pid\":7,\"tid\":%u,\"ts\":%u,"
                      "\"dur\":1,\"args\":{\"a\":%u,\"b\":\"b%u\",\"i\":%u}}",
                      i ? "," : "{\"traceEvents\":[", i / 40 % 3, i / 70 % 5, i / 200 % 4, i * 2, i / 90,
                      i / 33 % 2, i);
    (void)fprintf(out, "]}");
    assert_int_equal(fclose(out), 0);
    struct trip trip = trip_bytes(text, length);
    assert_int_equal(trip.status, TSMITH_OK);
    assert_int_equal(trip.events, EVENTS);
    assert_int_equal(trip.attributes, 0);
    for (unsigned i = 0; i < EVENTS; i++) {
        (void)snprintf(event, sizeof event,
                       "{\"ph\":\"X\",\"cat\":\"c%u\",\"name\":\"n%u\",\"pid\":7,\"tid\":%u,\"ts\":%u,"
                       "\"dur\":1,\"args\":{\"a\":%u,\"b\":\"b%u\",\"i\":%u}}",
                       i / 40 % 3, i / 70 % 5, i / 200 % 4, i * 2, i / 90, i / 33 % 2, i);
        assert_contains(&trip, event);
    }
    trip_free(&trip);
    free(text);
}

// At any cut, everything before it is read, and the cut is reported.
static void assert_cut(const char *bytes, size_t length, size_t cut) {
    struct trip trip = trip_bytes(bytes, cut);
    if (trip.status != TSMITH_TRUNCATED && trip.status != TSMITH_ERROR_FORMAT &&
        !(trip.status == TSMITH_OK && cut + 2 > length))
        fail_msg("cut at %zu of %zu: status %d", cut, length, trip.status);
    if (trip.status == TSMITH_TRUNCATED)
        assert_int_equal(trip.attributes, 1);
    trip_free(&trip);
}

static void test_cut_anywhere(void **state) {
    (void)state;
    struct random random = {99};
    size_t length;
    char *text = make_trace(400, &length);
    for (int i = 0; i < 200; i++) {
        size_t cut = random_below(&random, length);
        assert_cut(text, length, cut);
        if (cut < 60)
            continue;
        // As many events as are whole in what is left.
        struct trip trip = trip_bytes(text, cut);
        assert_int_equal(trip.events, count_of(text, cut, "\n    }\n  }"));
        trip_free(&trip);
    }
    free(text);
}

static size_t compress_gzip(const char *text, size_t length, char *out, size_t room) {
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)text,
                       .avail_in = (uInt)length,
                       .next_out = (Bytef *)out,
                       .avail_out = (uInt)room};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t made = stream.total_out;
    deflateEnd(&stream);
    return made;
}

// From a pipe, in pieces of all sizes.
static struct trip trip_pipe(const char *bytes, size_t length) {
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct random random = {3};
        close(ends[0]);
        while (length) {
            size_t part = 1 + random_below(&random, 5000);
            ssize_t written = write(ends[1], bytes, part < length ? part : length);
            if (written <= 0)
                _exit(1);
            bytes += written;
            length -= (size_t)written;
        }
        _exit(0);
    }
    close(ends[1]);
    struct trip trip = trip_fd(ends[0], 0);
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return trip;
}

static void test_compressed_and_piped(void **state) {
    (void)state;
    size_t length, room;
    char *text = make_trace(20000, &length);
    struct trip plain = trip_bytes(text, length);
    assert_int_equal(plain.status, TSMITH_OK);
    char *packed = malloc(room = length + 1000);
    assert_non_null(packed);
    size_t sizes[3] = {length};
    for (int packing = 0; packing < 3; packing++) {
        if (packing == 0)
            memcpy(packed, text, length);
        else if (packing == 1)
            sizes[1] = compress_gzip(text, length, packed, room);
        else
            sizes[2] = ZSTD_compress(packed, room, text, length, 3);
        struct trip piped = trip_pipe(packed, sizes[packing]);
        assert_int_equal(piped.status, TSMITH_OK);
        assert_int_equal(piped.length, plain.length);
        assert_memory_equal(piped.json, plain.json, plain.length);
        trip_free(&piped);
        struct random random = {5};
        for (int i = 0; packing && i < 20; i++)
            assert_cut(packed, sizes[packing], random_below(&random, sizes[packing]));
    }
    // Two members, one after the other, are one file; a damaged one is reported.
    size_t half = compress_gzip(text, length / 2, packed, room);
    size_t whole = half + compress_gzip(text + length / 2, length - length / 2, packed + half, room - half);
    struct trip members = trip_bytes(packed, whole);
    assert_int_equal(members.status, TSMITH_OK);
    assert_int_equal(members.length, plain.length);
    trip_free(&members);
    packed[half / 2] = (char)(packed[half / 2] ^ 0x55);
    struct trip damaged = trip_bytes(packed, whole);
    assert_true(damaged.status != TSMITH_OK);
    trip_free(&damaged);
    trip_free(&plain);
    free(packed);
    free(text);
}

static void test_too_large_events(void **state) {
    (void)state;
    // 5,000 different keys: more than there are fields for. The event comes back whole all the same.
    char *text = malloc(400000);
    assert_non_null(text);
    size_t at =
        (size_t)sprintf(text, "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"n\",\"args\":{");
    for (int i = 0; i < 5000; i++)
        at += (size_t)sprintf(text + at, "%s\"key %d\":%d", i ? "," : "", i, i);
    at += (size_t)sprintf(text + at, "}},{\"ph\":\"X\",\"ts\":5,\"args\":{\"other\":1}}]}");
    struct trip trip = trip_bytes(text, at);
    assert_int_equal(trip.status, TSMITH_OK);
    assert_int_equal(trip.events, 2);
    assert_int_equal(trip.lost, 0);
    assert_contains(&trip, "\"key 4999\":4999}}");
    assert_contains(&trip, "\"other\":1");
    trip_free(&trip);
    free(text);
}

static void test_random_bytes(void **state) {
    (void)state;
    static const char *const words[] = {
        "{",      "}",        "[",   "]", ",", ":",  "\"",       "\\",      "\"ph\"",        "\"X\"",
        "\"ts\"", "\"args\"", "1.5", "-", "n", "\n", "\"name\"", "\"tid\"", "{\"ph\":\"B\"", "null",
        "\xff"};
    struct random random = {11};
    for (int round = 0; round < 1000; round++) {
        char text[2048] = "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1},";
        size_t at = strlen(text);
        size_t count = random_below(&random, 60);
        for (size_t i = 0; i < count; i++)
            at +=
                (size_t)sprintf(text + at, "%s", words[random_below(&random, sizeof words / sizeof *words)]);
        struct trip trip = trip_bytes(text, at);
        assert_true(trip.events >= 1);
        trip_free(&trip);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_known_arguments),
        cmocka_unit_test(test_shapes_of_events),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_flows),
        cmocka_unit_test(test_kinds_and_names),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_no_trace),
        cmocka_unit_test(test_rocprof),
        cmocka_unit_test(test_many_batches),
        cmocka_unit_test(test_repeated_values),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_compressed_and_piped),
        cmocka_unit_test(test_too_large_events),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
