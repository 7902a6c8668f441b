// SPDX-License-Identifier: Apache-2.0
// The options of agents as a caller gives them: their form in the program's environment, the older string for CUDA,
// and the errors for an agent, a key or a value that does not exist.
#include "support/test.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracesmith/capture.h"

static char folder[] = "/tmp/tracesmith-test-XXXXXX";
static char answer[300];
static tsmith_error failure;

static tsmith_status capture(tsmith_capture_options options) {
    char command[400];
    tsmith_capture *capture;
    const tsmith_batch *batch;
    snprintf(command, sizeof command, "printf %%s \"${TRACESMITH_AGENT_OPTIONS-none}\" >'%s'", answer);
    options.agent_directory = folder;
    tsmith_status status = tsmith_capture_create(&options, &capture, &failure);
    if (status)
        return status;
    assert_int_equal(tsmith_capture_start(capture, (char *[]){"sh", "-c", command, NULL}, &failure),
                     TSMITH_OK);
    do
        status = tsmith_source_next(tsmith_capture_source(capture), &batch, &failure);
    while (status == TSMITH_OK || status == TSMITH_AGAIN);
    assert_int_equal(status, TSMITH_END);
    tsmith_capture_destroy(capture);
    return TSMITH_OK;
}

// The options that the program got.
static const char *told(tsmith_capture_options options) {
    static char text[2048];
    if (capture(options)) {
        print_message("%s\n", failure.message);
        fail();
    }
    int fd = open(answer, O_RDONLY);
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    assert_true(got >= 0);
    text[got] = '\0';
    return text;
}

#define LIST(...)                                                                                            \
    .size = sizeof(tsmith_capture_options), .agent_options = (const tsmith_agent_option[]){__VA_ARGS__},     \
    .agent_option_count = sizeof((tsmith_agent_option[]){__VA_ARGS__}) / sizeof(tsmith_agent_option)

static void options_reach_the_program(void **unused) {
    (void)unused;
    assert_string_equal(told((tsmith_capture_options){.size = sizeof(tsmith_capture_options)}), "none");
    assert_string_equal(
        told((tsmith_capture_options){LIST({"cuda", "graphs", NULL}, {"cuda", "pc-samples", "12"},
                                           {"cuda", "metric-names", "a.b+c_1"})}),
        "cuda.graphs,cuda.pc-samples=12,cuda.metric-names=a.b+c_1");
    // Those of a recording in which the caller runs are not its programs'.
    setenv("TRACESMITH_AGENT_OPTIONS", "cuda.graphs", 1);
    assert_string_equal(told((tsmith_capture_options){.size = sizeof(tsmith_capture_options)}), "");
    unsetenv("TRACESMITH_AGENT_OPTIONS");
}

static void older_string(void **unused) {
    (void)unused;
    assert_string_equal(
        told((tsmith_capture_options){.size = sizeof(tsmith_capture_options),
                                      .cuda = "graphs,pc-samples:12,metrics:200:a.b+c,latency"}),
        "cuda.graphs,cuda.pc-samples=12,cuda.metrics=200,cuda.metric-names=a.b+c,cuda.latency");
    assert_string_equal(
        told((tsmith_capture_options){.size = sizeof(tsmith_capture_options), .cuda = "metrics"}),
        "cuda.metrics");
    assert_string_equal(told((tsmith_capture_options){.cuda = "events", LIST({"cuda", "metrics", "10"})}),
                        "cuda.events,cuda.metrics=10");
    // A program that was built before there was a list.
    assert_string_equal(told((tsmith_capture_options){.size = offsetof(tsmith_capture_options, agent_options),
                                                      .cuda = "range"}),
                        "cuda.range");
}

// Which option is refused, and the words that must be in the message.
static void refuse(tsmith_capture_options options, const char *const *words) {
    assert_int_equal(tsmith_capture_check(&options, &failure), TSMITH_ERROR_INVALID_ARGUMENT);
    assert_int_equal(capture(options), TSMITH_ERROR_INVALID_ARGUMENT);
    for (; *words; words++) {
        if (!strstr(failure.message, *words)) {
            print_message("'%s' is not in: %s\n", *words, failure.message);
            fail();
        }
    }
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void unknown_is_refused(void **unused) {
    (void)unused;
    const char *const only[] = {"opencl"};
    tsmith_capture_options nvtx = {LIST({"cuda", "graphs", NULL})};
    refuse((tsmith_capture_options){LIST({"cuda", "events", ""}, {"cuda", "grafs", NULL})},
           WORDS("grafs", "cuda", "graphs", "events", "pc-samples", "metric-names"));
    refuse((tsmith_capture_options){LIST({"metal", "graphs", NULL})},
           WORDS("metal", "opencl", "cuda", "nvtx", "nccl"));
    refuse((tsmith_capture_options){LIST({NULL, "graphs", NULL})}, WORDS("opencl", "cuda"));
    refuse((tsmith_capture_options){LIST({"nvtx", "graphs", NULL})}, WORDS("graphs", "nvtx", "no options"));
    refuse((tsmith_capture_options){LIST({"cuda", NULL, NULL})}, WORDS("cuda", "graphs"));
    refuse((tsmith_capture_options){.size = sizeof(tsmith_capture_options), .cuda = "events,grafs"},
           WORDS("grafs", "graphs"));
    nvtx.apis = only;
    nvtx.api_count = 1;
    refuse(nvtx, WORDS("graphs", "cuda", "not selected"));
}

static void values_are_checked(void **unused) {
    (void)unused;
    static const char *const wrong[][3] = {
        {"graphs", "1", "no value"},
        {"pc-samples", "4", "5 to 31"},
        {"pc-samples", "32", "5 to 31"},
        {"pc-samples", "-5", "5 to 31"},
        {"pc-samples", "5 ", "5 to 31"},
        {"pc-samples", "0x10", "5 to 31"},
        {"metrics", "9", "10 to 1000000"},
        {"metrics", "18446744073709551716", "10 to 1000000"},
        {"metric-names", "", "names"},
        {"metric-names", "a+", "names"},
        {"metric-names", "+a", "names"},
        {"metric-names", "a++b", "names"},
        {"metric-names", "a,graphs", "names"},
        {"metric-names", "1+2+3+4+5+6+7+8+9+10+11+12+13+14+15+16+17", "1 to 16"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refuse((tsmith_capture_options){LIST({"cuda", wrong[i][0], wrong[i][1]})},
               WORDS(wrong[i][0], wrong[i][1], wrong[i][2]));
}

static tsmith_status check(const char *api, const char *key, const char *value) {
    const tsmith_capture_options options = {.apis = &api, .api_count = 1, LIST({api, key, value})};
    return tsmith_capture_check(&options, &failure);
}

// Every listed option is accepted, with a value if it takes one; none is listed twice.
static void the_list_is_true(void **unused) {
    (void)unused;
    tsmith_agent_option_description option = {.size = sizeof option}, other = {.size = sizeof other};
    size_t count = 0;
    for (; tsmith_agent_option_describe(count, &option); count++) {
        char value[32] = "";
        bool known = false;
        if (option.argument)
            snprintf(value, sizeof value, "%llu", (unsigned long long)option.most);
        assert_int_equal(check(option.api, option.key, value), TSMITH_OK);
        assert_int_equal(check(option.api, option.key, NULL) == TSMITH_OK,
                         !option.argument || option.value_optional);
        assert_true(option.doc && option.doc[0]);
        for (size_t i = 0; tsmith_agent_name(i); i++)
            known |= strcmp(tsmith_agent_name(i), option.api) == 0;
        assert_true(known);
        for (size_t i = 0; i < count && tsmith_agent_option_describe(i, &other); i++)
            assert_false(strcmp(other.key, option.key) == 0 && strcmp(other.api, option.api) == 0);
    }
    assert_true(count > 0);
}

static int prepare(void **unused) {
    (void)unused;
    char path[400];
    assert_non_null(mkdtemp(folder));
    snprintf(answer, sizeof answer, "%s/answer", folder);
    for (size_t i = 0; tsmith_agent_name(i); i++) {
        snprintf(path, sizeof path, "%s/libtracesmith-%s.so", folder, tsmith_agent_name(i));
        close(open(path, O_WRONLY | O_CREAT, 0600));
    }
    return 0;
}

static int clear(void **unused) {
    (void)unused;
    char path[400];
    for (size_t i = 0; tsmith_agent_name(i); i++) {
        snprintf(path, sizeof path, "%s/libtracesmith-%s.so", folder, tsmith_agent_name(i));
        unlink(path);
    }
    unlink(answer);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_reach_the_program), cmocka_unit_test(older_string),
        cmocka_unit_test(unknown_is_refused),        cmocka_unit_test(values_are_checked),
        cmocka_unit_test(the_list_is_true),
    };
    return cmocka_run_group_tests(tests, prepare, clear);
}
