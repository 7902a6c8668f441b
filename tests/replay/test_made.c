// SPDX-License-Identifier: Apache-2.0
// A recording made by hand: two queues and a kernel, with the results computed here. Correct results are exact; every
// flipped bit of a recorded result is found at its place.
#include "support/test.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording/chunk.h"
#include "recording/record.h"
#include "sbt/recording.h"
#include "tracesmith/replay.h"

enum { COUNT = 40000, BYTES = COUNT * 4 + 3 }; // three chunks, the last one with bytes that no element has

static const char source[] = "__kernel void twice(__global uint *v) { v[get_global_id(0)] *= 2; }";

static const char *element_type = "uint*"; // of the buffer, as in the kernel's declaration
static const char *const *included;        // paths of files that the source includes; NULL: none

struct made {
    struct recording_writer writer;
    struct output records, chunks;
};

static void put(struct made *made, bool chunk) {
    assert_true(recording_end(&made->writer));
    output_bytes(chunk ? &made->chunks : &made->records, made->writer.bytes, made->writer.length);
}

// Keeps the chunks of a payload, and puts their hashes into the record that is being made.
static void put_payload(struct made *made, const uint8_t *bytes, size_t size) {
    struct chunk_hash hashes[8];
    struct recording_writer record = made->writer;
    size_t count = 0;
    made->writer = (struct recording_writer){0};
    for (size_t at = 0; at < size; at += RECORDING_CHUNK_BYTES, count++) {
        const size_t length = size - at < RECORDING_CHUNK_BYTES ? size - at : RECORDING_CHUNK_BYTES;
        hashes[count] = chunk_hash_of(bytes + at, length);
        recording_begin(&made->writer, RECORDING_CHUNK);
        recording_put_bytes(&made->writer, RECORDING_KEY_HASH, &hashes[count], sizeof *hashes);
        recording_put_bytes(&made->writer, RECORDING_KEY_DATA, bytes + at, length);
        put(made, true);
    }
    free(made->writer.bytes);
    made->writer = record;
    recording_put(&made->writer, RECORDING_KEY_SIZE, size);
    recording_put_bytes(&made->writer, RECORDING_KEY_CHUNKS, hashes, count * sizeof *hashes);
}

static struct recording_writer *begin(struct made *made, enum recording_type type, uint64_t object) {
    recording_begin(&made->writer, type);
    if (object)
        recording_put(&made->writer, RECORDING_KEY_OBJECT, object);
    return &made->writer;
}

static const char *recorded_source; // instead of the right one
static const char *kernel_name = "twice";
static const char *build_options; // NULL: none

// Numbers: 1 context, 2 and 3 queues, 4 program, 5 kernel, 6 buffer, 7 event, 8 what is verified.
static void make_objects(struct made *made, const uint8_t *first) {
    struct recording_writer *w = begin(made, RECORDING_PROCESS, 0);
    recording_put(w, RECORDING_KEY_PID, 77);
    put(made, false);
    begin(made, RECORDING_CONTEXT, 1);
    put(made, false);
    for (uint64_t queue = 2; queue <= 3; queue++) {
        recording_put(begin(made, RECORDING_QUEUE, queue), RECORDING_KEY_CONTEXT, 1);
        put(made, false);
    }
    w = begin(made, RECORDING_PROGRAM, 4);
    recording_put(w, RECORDING_KEY_CONTEXT, 1);
    recording_put(w, RECORDING_KEY_FORM, RECORDING_PROGRAM_SOURCE);
    put_payload(made, (const uint8_t *)(recorded_source ? recorded_source : source),
                recorded_source ? strlen(recorded_source) : sizeof source - 1);
    put(made, false);
    for (size_t i = 0; included && included[i]; i++) {
        w = begin(made, RECORDING_INCLUDED, 0);
        recording_put(w, RECORDING_KEY_PROGRAM, 4);
        recording_put_text(w, RECORDING_KEY_NAME, included[i]);
        put_payload(made, (const uint8_t *)"#error", 6);
        put(made, false);
    }
    w = begin(made, RECORDING_BUILD, 0);
    recording_put(w, RECORDING_KEY_PROGRAM, 4);
    recording_put_text(w, RECORDING_KEY_NAME, "/");
    if (build_options)
        recording_put_text(w, RECORDING_KEY_TEXT, build_options);
    put(made, false);
    w = begin(made, RECORDING_KERNEL, 5);
    recording_put(w, RECORDING_KEY_PROGRAM, 4);
    recording_put_text(w, RECORDING_KEY_NAME, kernel_name);
    put(made, false);
    w = begin(made, RECORDING_BUFFER, 6);
    recording_put(w, RECORDING_KEY_CONTEXT, 1);
    recording_put(w, RECORDING_KEY_FLAGS, 1);
    put_payload(made, first, BYTES);
    put(made, false);
    w = begin(made, RECORDING_ARGUMENT, 0);
    recording_put(w, RECORDING_KEY_KERNEL, 5);
    recording_put(w, RECORDING_KEY_FORM, RECORDING_ARGUMENT_OBJECT);
    recording_put(w, RECORDING_KEY_TARGET, 6);
    recording_put_text(w, RECORDING_KEY_NAME, element_type);
    put(made, false);
}

// Twice on one queue, then once on the other, behind the event of the second.
static void make_commands(struct made *made, const uint8_t *last) {
    const uint64_t global = COUNT, event = 7;
    for (int i = 0; i < 3; i++) {
        struct recording_writer *w = begin(made, RECORDING_COMMAND, 0);
        recording_put(w, RECORDING_KEY_COMMAND, RECORDING_COMMAND_KERNEL);
        recording_put(w, RECORDING_KEY_QUEUE, i < 2 ? 2 : 3);
        recording_put(w, RECORDING_KEY_KERNEL, 5);
        recording_put_list(w, RECORDING_KEY_GLOBAL, &global, 1);
        if (i == 1)
            recording_put(w, RECORDING_KEY_EVENT, event);
        if (i == 2)
            recording_put_list(w, RECORDING_KEY_WAITS, &event, 1);
        put(made, false);
    }
    recording_put(begin(made, RECORDING_VERIFY, 6), RECORDING_KEY_VERIFY, 8);
    put(made, false);
    recording_put(begin(made, RECORDING_RELEASE, 6), RECORDING_KEY_FLAGS, 0);
    put(made, false);
    recording_put(begin(made, RECORDING_STATE, 0), RECORDING_KEY_VERIFY, 8);
    put_payload(made, last, BYTES);
    put(made, false);
    begin(made, RECORDING_END, 0);
    put(made, false);
}

static bool with_vulkan; // a process with a frame of Vulkan comes first in the trace, as 78

static void write_vulkan(struct sbt_writer *writer) {
    struct made made = {0};
    struct recording_writer *w = begin(&made, RECORDING_PROCESS, 0);
    recording_put(w, RECORDING_KEY_PID, 78);
    recording_put(w, RECORDING_KEY_FLAGS, RECORDING_OF_VULKAN);
    put(&made, false);
    recording_put(begin(&made, RECORDING_COMMAND, 0), RECORDING_KEY_COMMAND, RECORDING_COMMAND_SUBMIT);
    put(&made, false);
    begin(&made, RECORDING_END, 0);
    put(&made, false);
    assert_int_equal(
        sbt_recording_write(writer, FRAME_RECORDS, 2, made.records.bytes, made.records.length, NULL), 0);
    free(made.writer.bytes);
    free(made.records.bytes);
}

// Writes the trace with this as what was recorded of the buffer at last; the first `whole` bytes of the records only.
static void write_trace(const char *path, const uint8_t *first, const uint8_t *last, size_t whole) {
    struct made made = {0};
    struct sbt_writer *writer;
    tsmith_dictionary *dictionary;
    make_objects(&made, first);
    make_commands(&made, last);
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    assert_int_equal(sbt_writer_create(path, NULL, &writer, NULL), TSMITH_OK);
    if (with_vulkan)
        write_vulkan(writer);
    const size_t length = made.records.length < whole ? made.records.length : whole;
    assert_int_equal(
        sbt_recording_write(writer, FRAME_CHUNKS, 1, made.chunks.bytes, made.chunks.length, NULL), 0);
    assert_int_equal(sbt_recording_write(writer, FRAME_RECORDS, 1, made.records.bytes, length, NULL), 0);
    assert_int_equal(sbt_writer_finish(writer, dictionary, NULL), TSMITH_OK);
    sbt_writer_destroy(writer);
    tsmith_dictionary_destroy(dictionary);
    free(made.writer.bytes);
    free(made.records.bytes);
    free(made.chunks.bytes);
}

static char path[] = "/tmp/tracesmith-made-XXXXXX";
static uint8_t first[BYTES], right[BYTES];

struct opened {
    tsmith_sbt *trace;
    tsmith_recording *recording;
    tsmith_replay *replay;
};

static tsmith_status run(struct opened *opened, const tsmith_replay_options *options, tsmith_error *error) {
    *opened = (struct opened){0};
    assert_int_equal(tsmith_sbt_open(path, &opened->trace, NULL), TSMITH_OK);
    assert_int_equal(tsmith_recording_open(opened->trace, &opened->recording, NULL), TSMITH_OK);
    return tsmith_replay_run(opened->recording, options, &opened->replay, error);
}

static void finish(struct opened *opened) {
    tsmith_replay_destroy(opened->replay);
    tsmith_recording_close(opened->recording);
    tsmith_sbt_close(opened->trace);
}

static int set_up(void **state) {
    struct random random = {11};
    struct opened opened;
    tsmith_error error;
    (void)state;
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    close(fd);
    for (size_t i = 0; i < BYTES; i++)
        right[i] = first[i] = (uint8_t)random_next(&random);
    for (size_t i = 0; i < COUNT; i++) {
        uint32_t value;
        memcpy(&value, right + 4 * i, 4);
        value *= 8;
        memcpy(right + 4 * i, &value, 4);
    }
    write_trace(path, first, right, SIZE_MAX);
    const tsmith_status status = run(&opened, NULL, &error);
    finish(&opened);
    if (status == TSMITH_ERROR_MISSING) {
        unlink(path);
        printf("skipped: %s\n", error.message);
        exit(77);
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return unlink(path);
}

// Every record of every replay is reported, in order.
struct told {
    uint64_t calls, next, total, begun;
};

static void take_progress(void *context, uint64_t done, uint64_t total) {
    struct told *told = context;
    told->begun += done == 0;
    assert_true(done == 0 || done == told->next);
    assert_true(done < total && (!told->total || total == told->total));
    told->next = done + 1;
    told->total = total;
    told->calls++;
}

static void test_exact(void **state) {
    struct told told = {0};
    const tsmith_replay_options options = {
        .size = sizeof options, .times = 3, .progress = take_progress, .progress_context = &told};
    struct opened opened;
    (void)state;
    write_trace(path, first, right, SIZE_MAX);
    assert_int_equal(run(&opened, &options, NULL), TSMITH_OK);
    assert_int_equal(tsmith_replay_result_count(opened.replay), 1);
    const tsmith_replay_result *result = tsmith_replay_result_get(opened.replay, 0);
    assert_int_equal(result->verdict, TSMITH_VERDICT_EXACT);
    assert_int_equal(result->bytes, BYTES);
    assert_int_equal(result->pid, 77);
    assert_int_equal(result->replays_exact, 3);
    assert_string_equal(result->writer, "twice");
    assert_int_equal(result->writer_command, 2);
    assert_int_equal(told.begun, 3);
    assert_true(told.total > 3 && told.calls == 3 * told.total);
    finish(&opened);
}

static void test_flipped_bits(void **state) {
    static const size_t bytes[] = {0, 1, 4096, 65535, 65536, 2 * 65536 + 5, BYTES - 4, BYTES - 1};
    (void)state;
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        const size_t at = bytes[i], offset = at < 4 * (size_t)COUNT ? at / 4 * 4 : at;
        struct opened opened;
        right[at] ^= (uint8_t)(1u << i);
        write_trace(path, first, right, SIZE_MAX);
        right[at] ^= (uint8_t)(1u << i);
        assert_int_equal(run(&opened, NULL, NULL), TSMITH_OK);
        const tsmith_replay_result *result = tsmith_replay_result_get(opened.replay, 0);
        assert_non_null(result);
        assert_int_equal(result->verdict, TSMITH_VERDICT_DIVERGED);
        assert_int_equal(result->offset, offset);
        assert_int_equal(result->different, 1);
        assert_int_equal(result->recorded ^ result->replayed, (uint64_t)1 << i << 8 * (at - offset));
        finish(&opened);
    }
}

// The same at arbitrary places, every kind of bit, and always the last byte.
static void test_flipped_anywhere(void **state) {
    struct random random = {42};
    (void)state;
    for (unsigned i = 0; i < 24; i++) {
        const size_t at = i ? random_below(&random, BYTES) : BYTES - 1;
        const uint8_t bit = (uint8_t)(1u << random_below(&random, 8));
        struct opened opened;
        tsmith_replay_culprit culprit = {.size = sizeof culprit};
        right[at] ^= bit;
        write_trace(path, first, right, SIZE_MAX);
        right[at] ^= bit;
        assert_int_equal(run(&opened, NULL, NULL), TSMITH_OK);
        const tsmith_replay_result *result = tsmith_replay_result_get(opened.replay, 0);
        assert_int_equal(result->verdict, TSMITH_VERDICT_DIVERGED);
        assert_true(result->offset <= at && at < result->offset + 4);
        // The memory between the beginning and the end was not recorded: any of the three commands may be the first wrong one.
        assert_true(tsmith_replay_culprit_get(opened.replay, &culprit));
        assert_true(culprit.first == 0 && culprit.count == 3 && strcmp(culprit.kernel, "twice") == 0);
        finish(&opened);
    }
}

// One representable value off is within a tolerance of one, two are not, and none is without.
static void test_one_ulp(void **state) {
    (void)state;
    element_type = "float*";
    for (uint64_t ulps = 0; ulps <= 1; ulps++)
        for (unsigned bit = 0; bit < 2; bit++) { // the lowest bit is one, the next one two of them
            const tsmith_replay_options options = {.size = sizeof options, .ulps = ulps};
            struct opened opened;
            size_t at = 0;
            while ((right[at + 3] & 0x7f) == 0x7f || (right[at + 3] & 0x7f) == 0) // a plain number
                at += 4;
            right[at] ^= (uint8_t)(1u << bit);
            write_trace(path, first, right, SIZE_MAX);
            right[at] ^= (uint8_t)(1u << bit);
            assert_int_equal(run(&opened, &options, NULL), TSMITH_OK);
            const tsmith_replay_result *result = tsmith_replay_result_get(opened.replay, 0);
            assert_int_equal(result->verdict,
                             bit < ulps ? TSMITH_VERDICT_WITHIN_TOLERANCE : TSMITH_VERDICT_DIVERGED);
            assert_int_equal(result->most_ulps, 1u << bit);
            assert_int_equal(result->element, TSMITH_ELEMENT_F32);
            finish(&opened);
        }
    element_type = "uint*";
}

// Cut off anywhere: the complete part is replayed, and the missing copy is reported as missing.
static void test_cut_off(void **state) {
    (void)state;
    for (size_t whole = 0; whole < 1200; whole += 41) {
        struct opened opened;
        tsmith_error error;
        write_trace(path, first, right, whole);
        const tsmith_status status = run(&opened, NULL, &error);
        assert_int_equal(status, TSMITH_OK);
        for (size_t i = 0; i < tsmith_replay_result_count(opened.replay); i++) {
            const tsmith_replay_result *result = tsmith_replay_result_get(opened.replay, i);
            assert_true(result->verdict == TSMITH_VERDICT_EXACT ||
                        (result->verdict == TSMITH_VERDICT_UNCOMPARABLE && result->reason));
        }
        finish(&opened);
    }
}

// The same kernel, edited: what differs is what was edited.
static void test_edited(void **state) {
    const tsmith_replay_options options = {
        .size = sizeof options,
        .source_kernel = "twice",
        .source_text = "__kernel void twice(__global uint *v) { size_t i = get_global_id(0); v[i] *= 2; "
                       "if (i == 1234) v[i] += 1; }"};
    struct opened opened;
    (void)state;
    write_trace(path, first, right, SIZE_MAX);
    assert_int_equal(run(&opened, &options, NULL), TSMITH_OK);
    const tsmith_replay_result *result = tsmith_replay_result_get(opened.replay, 0);
    assert_int_equal(result->verdict, TSMITH_VERDICT_DIVERGED);
    assert_int_equal(result->offset, 4 * 1234);
    assert_int_equal(result->different, 1);
    assert_int_equal((uint32_t)(result->replayed - result->recorded), 1 * 4 + 1 * 2 + 1);
    finish(&opened);
}

// What this device's compiler does not take; the source given instead of it is another matter: there is no answer.
static void test_does_not_compile(void **state) {
    const tsmith_replay_options edited = {
        .size = sizeof edited, .source_kernel = "twice", .source_text = "this is no program"};
    struct opened opened;
    (void)state;
    recorded_source = "__kernel void twice(__global float *x) { x[get_global_id(0)] = of_another_device(); }";
    write_trace(path, first, right, SIZE_MAX);
    recorded_source = NULL;
    assert_int_equal(run(&opened, NULL, NULL), TSMITH_OK);
    const tsmith_replay_result *result = tsmith_replay_result_get(opened.replay, 0);
    assert_int_equal(result->verdict, TSMITH_VERDICT_UNCOMPARABLE);
    assert_non_null(strstr(result->reason, "compile"));
    finish(&opened);
    write_trace(path, first, right, SIZE_MAX);
    assert_int_equal(run(&opened, &edited, NULL), TSMITH_ERROR_FORMAT);
    finish(&opened);
}

// No path leads out of the replay's own folder, and nothing is left of it.
static void test_paths_of_included_files(void **state) {
    static const char *const wrong[] = {"../outside", "/a/../../outside", "/a/./b", "/a//b",
                                        "/",          "relative",         "/a/",    NULL};
    char folder[] = "/tmp/tracesmith-test-XXXXXX", inner[64], outside[64];
    struct opened opened;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(inner, sizeof inner, "%s/inner", folder);
    snprintf(outside, sizeof outside, "%s/outside", folder);
    assert_int_equal(mkdir(inner, 0700), 0);
    assert_int_equal(setenv("TMPDIR", inner, 1), 0);
    included = wrong;
    write_trace(path, first, right, SIZE_MAX);
    included = NULL;
    assert_int_equal(run(&opened, NULL, NULL), TSMITH_OK);
    const char *note = tsmith_replay_note(opened.replay, 0);
    assert_true(note && strstr(note, "no proper path"));
    assert_int_equal(tsmith_replay_result_get(opened.replay, 0)->verdict, TSMITH_VERDICT_EXACT);
    finish(&opened);
    unsetenv("TMPDIR");
    assert_int_not_equal(access(outside, F_OK), 0);
    assert_int_equal(rmdir(inner), 0); // so it is empty
    assert_int_equal(rmdir(folder), 0);
}

// ---- as a program

static char written_folder[] = "/tmp/tracesmith-emit-XXXXXX";
static size_t written_files;

// In the folder, without folders of its own.
static int write_emitted(void *context, const tsmith_emit_file *file) {
    char name[256];
    (void)context;
    assert_int_equal(
        strspn(file->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.+-@"),
        strlen(file->name));
    assert_true(file->name[0] != '/' && file->name[0] != '.' && !strstr(file->name, "/."));
    if (strcmp(file->name, "repro.c") == 0) {
        for (size_t i = 0; i < file->length; i++)
            assert_true(((const char *)file->bytes)[i] == '\n' ||
                        (((const char *)file->bytes)[i] >= ' ' && ((const char *)file->bytes)[i] <= '~'));
        snprintf(name, sizeof name, "%s/repro.c", written_folder);
        FILE *out = fopen(name, "we");
        assert_non_null(out);
        assert_int_equal(fwrite(file->bytes, 1, file->length, out), file->length);
        assert_int_equal(fclose(out), 0);
    }
    written_files++;
    return 1;
}

// 0: it compiles without a warning; -1: there is no compiler.
static int compile_written(void) {
    char name[256];
    int status = -1;
    pid_t child;
    snprintf(name, sizeof name, "%s/repro.c", written_folder);
    char *const arguments[] = {"cc",      "-std=c99",      "-Wall", "-Wextra", "-Wpedantic",
                               "-Werror", "-fsyntax-only", name,    NULL};
    if (posix_spawnp(&child, "cc", NULL, NULL, arguments, environ) != 0)
        return -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(unlink(name), 0);
    return status;
}

// Names, types, options and paths that try to leave a string, a comment, or the directory.
static void test_hostile_names(void **state) {
    static const char *const paths[] = {"../up",      "/a/../../up", "/a/b c",  "/a/\"b", "/a/`b`",
                                        "/a/.hidden", "/-option",    "/good.h", NULL};
    static const char *const names[] = {"twice*/ int evil; /*",
                                        "twice\"); evil(); //",
                                        "twice\\",
                                        "a?\?/\n#error evil\n",
                                        "\n#error evil",
                                        "../../twice",
                                        "%s%n",
                                        "\x01\xff\x7f",
                                        "int",
                                        "KERNELS",
                                        "main"};
    (void)state;
    assert_non_null(mkdtemp(written_folder));
    int compiled = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && compiled == 0; i++) {
        struct opened opened = {0};
        tsmith_emit_summary summary = {.size = sizeof summary};
        kernel_name = build_options = element_type = names[i];
        included = paths;
        write_trace(path, first, right, SIZE_MAX);
        assert_int_equal(tsmith_sbt_open(path, &opened.trace, NULL), TSMITH_OK);
        assert_int_equal(tsmith_recording_open(opened.trace, &opened.recording, NULL), TSMITH_OK);
        written_files = 0;
        assert_int_equal(tsmith_replay_emit(opened.recording, 0, NULL, write_emitted, NULL, &summary, NULL),
                         TSMITH_OK);
        // repro.c, a source, one of the included files, data.bin, Makefile, README.md; the other paths are reported.
        assert_int_equal(written_files, 6);
        assert_int_equal(summary.launches, 3);
        assert_int_equal(summary.results, 1);
        assert_int_equal(summary.omissions, 7);
        finish(&opened);
        compiled = compile_written();
        if (compiled > 0)
            fail_msg("the program of a kernel named '%s' does not compile", names[i]);
    }
    kernel_name = "twice";
    element_type = "uint*";
    build_options = NULL;
    included = NULL;
    if (compiled < 0)
        printf("left out: no compiler for the programs\n");
    char name[256];
    snprintf(name, sizeof name, "%s/repro.c", written_folder);
    unlink(name);
    assert_int_equal(rmdir(written_folder), 0);
}

// ---- a process of Vulkan in the same trace

static int count_file(void *context, const tsmith_emit_file *file) {
    (void)file;
    ++*(size_t *)context;
    return 1;
}

static void count_memory(void *context, const tsmith_replay_memory *memory) {
    assert_int_equal(memory->pid, 77);
    ++*(size_t *)context;
}

static void test_next_to_vulkan(void **state) {
    struct opened opened = {0};
    tsmith_emit_summary summary = {.size = sizeof summary};
    size_t files = 0, memories = 0;
    (void)state;
    with_vulkan = true;
    write_trace(path, first, right, SIZE_MAX);
    with_vulkan = false;
    assert_int_equal(tsmith_sbt_open(path, &opened.trace, NULL), TSMITH_OK);
    assert_int_equal(tsmith_recording_open(opened.trace, &opened.recording, NULL), TSMITH_OK);
    assert_int_equal(tsmith_replay_emit(opened.recording, 0, NULL, count_file, &files, &summary, NULL),
                     TSMITH_OK);
    assert_int_equal(summary.pid, 77);
    assert_true(files > 0);
    assert_int_equal(tsmith_replay_emit(opened.recording, 78, NULL, count_file, &files, &summary, NULL),
                     TSMITH_ERROR_UNSUPPORTED);
    assert_int_equal(tsmith_replay_inspect(opened.recording, 0, 1, NULL, count_memory, &memories, NULL),
                     TSMITH_OK);
    assert_int_equal(memories, 2); // before and after the command
    assert_int_equal(tsmith_replay_inspect(opened.recording, 78, 0, NULL, count_memory, &memories, NULL),
                     TSMITH_ERROR_UNSUPPORTED);
    assert_int_equal(tsmith_replay_inspect(opened.recording, 0, 99, NULL, count_memory, &memories, NULL),
                     TSMITH_ERROR_UNSUPPORTED);
    assert_int_equal(tsmith_replay_inspect(opened.recording, 77, 99, NULL, count_memory, &memories, NULL),
                     TSMITH_ERROR_NOT_FOUND);
    finish(&opened);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_flipped_bits),
        cmocka_unit_test(test_flipped_anywhere),
        cmocka_unit_test(test_one_ulp),
        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_edited),
        cmocka_unit_test(test_does_not_compile),
        cmocka_unit_test(test_paths_of_included_files),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_next_to_vulkan),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
