// SPDX-License-Identifier: Apache-2.0
// The table of formats that are read, and what must have a part for each row: a fuzz target, inputs for it that are of the
// format, and, the other way round, no target for a format that is not there.
#include "support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/formats.h"
#include "tracesmith/import.h"

static const char *source_dir(void) {
    const char *dir = getenv("TRACESMITH_SOURCE_DIR");
    assert_non_null(dir);
    return dir;
}

// The importer's format of the file; "" when it does not open.
static void format_of(const char *path, char *out, size_t size) {
    tsmith_source *source;
    out[0] = '\0';
    if (tsmith_import_open(path, NULL, &source, NULL) != TSMITH_OK)
        return;
    const tsmith_dictionary *dictionary = tsmith_source_dictionary(source);
    tsmith_string format = tsmith_dictionary_find_attribute(dictionary, "import.file");
    if (!format.length)
        format = tsmith_dictionary_find_attribute(dictionary, "import.format");
    (void)snprintf(out, size, "%s", format.length ? format.bytes : "");
    tsmith_source_destroy(source);
}

// How many inputs of the target the library opens as this format.
static unsigned inputs_of(const char *target, const char *name) {
    char path[1024], found[128];
    unsigned count = 0;
    (void)snprintf(path, sizeof path, "%s/fuzz/corpus/import_%s", source_dir(), target);
    DIR *dir = opendir(path);
    if (!dir)
        fail_msg("%s: there is no corpus", path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/fuzz/corpus/import_%s/%s", source_dir(), target, entry->d_name);
        format_of(path, found, sizeof found);
        count += strncmp(found, name, strlen(name)) == 0;
    }
    if (dir)
        closedir(dir);
    return count;
}

static void test_targets(void **state) {
    (void)state;
    const struct import_format *format;
    for (size_t i = 0; (format = import_format_at(i)); i++) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/fuzz/fuzz_import_%s.c", source_dir(), format->fuzz);
        if (access(path, R_OK) != 0)
            fail_msg("%s has no fuzz target: there is no %s", format->name, path);
        if (inputs_of(format->fuzz, format->name) == 0)
            fail_msg("no input of fuzz/corpus/import_%s is a %s", format->fuzz, format->name);
    }
}

static void test_no_target_without_format(void **state) {
    (void)state;
    char path[1024];
    unsigned targets = 0;
    (void)snprintf(path, sizeof path, "%s/fuzz", source_dir());
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char target[128];
        if (sscanf(entry->d_name, "fuzz_import_%127[a-z].c", target) != 1 || strcmp(target, "container") == 0)
            continue; // "container": compressed files, of any format
        bool found = false;
        const struct import_format *format;
        for (size_t i = 0; (format = import_format_at(i)); i++)
            found = found || strcmp(format->fuzz, target) == 0;
        if (!found)
            fail_msg("no format names the fuzz target import_%s", target);
        targets++;
    }
    closedir(dir);
    assert_true(targets > 0);
}

// The attributes that count of one input, read to its end, have a text, but those of unknown packets.
static unsigned check_counts(const char *path) {
    tsmith_source *source;
    const tsmith_batch *batch = NULL;
    unsigned counts = 0;
    if (tsmith_import_open(path, NULL, &source, NULL) != TSMITH_OK)
        return 0;
    while (tsmith_source_next(source, &batch, NULL) == TSMITH_OK) {
    }
    const tsmith_dictionary *dictionary = tsmith_source_dictionary(source);
    for (uint32_t id = 1; id < tsmith_dictionary_attribute_count(dictionary); id++) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(dictionary, id);
        const char *key = tsmith_dictionary_string(dictionary, attribute->key).bytes,
                   *value = tsmith_dictionary_string(dictionary, attribute->value).bytes;
        const char *format = tsmith_dictionary_find_attribute(dictionary, "import.format").bytes;
        if (strncmp(key, "import.", 7) != 0 || strchr(key + 7, '.') || !*value ||
            strspn(value, "0123456789") != strlen(value) ||
            strncmp(key, "import.packets_of_field_", 24) == 0 || strcmp(key, "import.schema_version") == 0)
            continue;
        if (!tsmith_import_problem_doc(format ? format : "", key))
            fail_msg("%s: %s has no text", path, key);
        counts++;
    }
    tsmith_source_destroy(source);
    return counts;
}

static void test_counts(void **state) {
    (void)state;
    static const char *const targets[] = {"json", "perfetto", "et", "ctf", "xplane"};
    unsigned counts = 0;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/fuzz/corpus/import_%s", source_dir(), targets[i]);
        DIR *dir = opendir(path);
        assert_non_null(dir);
        for (struct dirent *entry; (entry = readdir(dir));) {
            (void)snprintf(path, sizeof path, "%s/fuzz/corpus/import_%s/%s", source_dir(), targets[i],
                           entry->d_name);
            counts += entry->d_name[0] == '.' ? 0 : check_counts(path);
        }
        closedir(dir);
    }
    print_message("%u counts\n", counts);
    assert_true(counts > 5);
    assert_null(tsmith_import_problem_doc("", "odd_time"));
    assert_null(tsmith_import_problem_doc("perfetto", "import."));
}

static void test_list(void **state) {
    (void)state;
    unsigned count = 0;
    const char *name;
    for (; (name = tsmith_import_format_name(count)); count++) {
        assert_true(strlen(name) > 0 && strlen(tsmith_import_format_doc(count)) > 0);
        assert_int_equal(tsmith_import_format_extensions(count)[0], '.');
        for (unsigned other = 0; other < count; other++)
            assert_string_not_equal(name, tsmith_import_format_name(other));
    }
    assert_null(tsmith_import_format_doc(count));
    assert_null(tsmith_import_format_extensions(count));
    const struct import_format *format;
    for (size_t i = 0; (format = import_format_at(i)); i++) {
        bool found = false;
        for (unsigned other = 0; other < count; other++)
            found = found || strcmp(format->name, tsmith_import_format_name(other)) == 0;
        assert_true(found);
        // What is not probed is what is left: it must be the last of the last stage.
        assert_true(format->probe || (!import_format_at(i + 1) && format->stage == IMPORT_JSON));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_targets),
                                       cmocka_unit_test(test_no_target_without_format),
                                       cmocka_unit_test(test_counts), cmocka_unit_test(test_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
