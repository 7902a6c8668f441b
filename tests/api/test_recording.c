// SPDX-License-Identifier: Apache-2.0
// What recorders left in a session directory, carried into a trace: every complete record, once, for any pieces the
// file is read in, and also when its process truncates the file meanwhile. pread() is this file's, and truncates the
// file before a read of the test's choice.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
// cmocka wants the four above first
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/recording.h"
#include "recording/record.h"
#include "sbt/recording.h"
#include "tracesmith/replay.h"
#include "wire/channel.h"

enum { RECORDS = 600, TEXT_BYTES = 9000 }; // more than a piece is

static char directory[] = "/tmp/tracesmith-test-XXXXXX";
static char left[256], trace[256];
static int reads, truncate_before; // 0: never
static off_t truncate_to;

ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
    static ssize_t (*real)(int, void *, size_t, off_t);
    struct stat file, watched;
    if (!real)
        real = __extension__(ssize_t(*)(int, void *, size_t, off_t)) dlsym(RTLD_NEXT, "pread");
    if (fstat(fd, &file) == 0 && stat(left, &watched) == 0 && file.st_dev == watched.st_dev &&
        file.st_ino == watched.st_ino && ++reads == truncate_before)
        assert_int_equal(truncate(left, truncate_to), 0);
    return real(fd, buffer, size, offset);
}

// The file of one recorder; how many bytes it has.
static size_t write_left(void) {
    struct recording_writer writer = {0};
    size_t size = 0;
    static char text[TEXT_BYTES];
    memset(text, 'x', sizeof text - 1);
    FILE *file = fopen(left, "wb");
    assert_non_null(file);
    for (uint64_t i = 1; i <= RECORDS; i++) {
        recording_begin(&writer, RECORDING_REFUSED);
        recording_put(&writer, RECORDING_KEY_OBJECT, i);
        recording_put_text(&writer, RECORDING_KEY_NAME, "clMade");
        recording_put_bytes(&writer, RECORDING_KEY_TEXT, text, i % TEXT_BYTES);
        assert_true(recording_end(&writer));
        assert_int_equal(fwrite(writer.bytes, 1, writer.length, file), writer.length);
        size += writer.length;
    }
    // One that is longer than two pieces.
    static uint8_t bytes[3 << 20];
    recording_begin(&writer, RECORDING_REFUSED);
    recording_put_bytes(&writer, RECORDING_KEY_DATA, bytes, sizeof bytes);
    assert_true(recording_end(&writer));
    assert_int_equal(fwrite(writer.bytes, 1, writer.length, file), writer.length);
    size += writer.length;
    assert_int_equal(fclose(file), 0);
    free(writer.bytes);
    reads = 0;
    return size;
}

static void carry(void) {
    struct sbt_writer *writer;
    tsmith_dictionary *dictionary;
    tsmith_error error;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    assert_int_equal(sbt_writer_create(trace, NULL, &writer, &error), TSMITH_OK);
    assert_int_equal(recording_carry(writer, directory, &error), TSMITH_OK);
    assert_int_equal(sbt_writer_finish(writer, dictionary, &error), TSMITH_OK);
    sbt_writer_destroy(writer);
    tsmith_dictionary_destroy(dictionary);
}

// How many records the trace has, which are the first ones.
static uint64_t carried(void) {
    tsmith_sbt *file;
    tsmith_recording *recording;
    tsmith_error error;
    tsmith_recording_summary summary = {.size = sizeof summary};
    assert_int_equal(tsmith_sbt_open(trace, &file, &error), TSMITH_OK);
    const tsmith_status status = tsmith_recording_open(file, &recording, &error);
    if (status == TSMITH_OK) {
        tsmith_recording_summarize(recording, &summary);
        assert_int_equal(summary.damaged, 0);
        tsmith_recording_close(recording);
    } else {
        assert_int_equal(status, TSMITH_ERROR_NOT_FOUND);
    }
    tsmith_sbt_close(file);
    return summary.refused;
}

static void all_of_it(void **unused) {
    (void)unused;
    write_left();
    truncate_before = 0;
    carry();
    assert_int_equal(carried(), RECORDS + 1);
    assert_true(reads > 4);
}

static void truncated_meanwhile(void **unused) {
    (void)unused;
    uint64_t before = UINT64_MAX;
    write_left();
    truncate_before = 0;
    carry();
    for (truncate_before = reads; truncate_before > 0; truncate_before--) {
        write_left();
        truncate_to = 0;
        carry();
        assert_true(reads >= truncate_before);
        const uint64_t now = carried();
        assert_true(now <= before);
        before = now;
    }
    assert_int_equal(before, 0); // nothing was there at the first read
}

// What is there ends within a record, or within the header of one.
static void torn(void **unused) {
    (void)unused;
    const size_t size = write_left();
    truncate_before = 1;
    truncate_to = (off_t)size - 1;
    carry();
    assert_int_equal(carried(), RECORDS);
    write_left();
    truncate_to = 7;
    carry();
    assert_int_equal(carried(), 0);
}

static int make_directory(void **unused) {
    (void)unused;
    assert_non_null(mkdtemp(directory));
    snprintf(left, sizeof left, "%s/" CHANNEL_RECORDING_PREFIX "1", directory);
    snprintf(trace, sizeof trace, "%s.sbt", directory);
    return 0;
}

static int remove_directory(void **unused) {
    (void)unused;
    unlink(left);
    unlink(trace);
    return rmdir(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it),
        cmocka_unit_test(truncated_meanwhile),
        cmocka_unit_test(torn),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
