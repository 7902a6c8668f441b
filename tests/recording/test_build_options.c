// SPDX-License-Identifier: Apache-2.0
// Build options and includes as a compiler reads them: folders, quotes, relative paths, and what is no include at all.
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "recording/build_options.h"

static void check_path(const char *base, const char *path, const char *wanted) {
    char out[BUILD_PATH_MOST];
    assert_int_equal(build_path(base, path, strlen(path), out), wanted != NULL);
    if (wanted)
        assert_string_equal(out, wanted);
}

static void paths_are_made_absolute(void **state) {
    (void)state;
    check_path("/home/me", "inc", "/home/me/inc");
    check_path("/home/me/", "./inc//a.h", "/home/me/inc/a.h");
    check_path("/home/me", "../you/a.h", "/home/you/a.h");
    check_path("/home/me", "../../../../etc", "/etc");
    check_path("/", "..", "/");
    check_path("relative", "/usr/./share/..", "/usr");
    check_path("relative", "inc", NULL);
    check_path(NULL, "inc", NULL);
    char out[BUILD_PATH_MOST], *path = malloc(BUILD_PATH_MOST + 2);
    assert_non_null(path);
    memset(path, 'a', BUILD_PATH_MOST + 1);
    assert_false(build_path("/", path, BUILD_PATH_MOST - 1, out));
    assert_true(build_path("/", path, BUILD_PATH_MOST - 2, out));
    assert_int_equal(strlen(out), BUILD_PATH_MOST - 1);
    path[1] = '\0';
    assert_false(
        build_path("/", path, 4, out)); // a path ends with its first NUL, and is not another one then
    free(path);
}

static void folders_are_found(void **state) {
    (void)state;
    static const char *const wanted[] = {"one", "two", NULL, "thr ee", "four", NULL, NULL};
    const char *at = "-I one  -Itwo -DNAME=\"-I none\" -I \"thr ee\"\t-I'four' -cl-fast-relaxed-math -I";
    struct build_option option;
    size_t count = 0;
    for (; build_option_next(&at, &option); count++) {
        assert_true(count < sizeof wanted / sizeof *wanted);
        assert_int_equal(option.folder != NULL, wanted[count] != NULL);
        if (wanted[count]) {
            assert_int_equal(option.folder_length, strlen(wanted[count]));
            assert_memory_equal(option.folder, wanted[count], option.folder_length);
        }
    }
    assert_int_equal(count, sizeof wanted / sizeof *wanted);
}

static void options_are_moved(void **state) {
    (void)state;
    char *moved = build_options_move("-D A -Iinc -I /usr/share/../lib -Werror", "/home/me", "/tmp/x");
    assert_non_null(moved);
    assert_string_equal(moved, "-D A -I /tmp/x/home/me/inc -I /tmp/x/usr/lib -Werror -I /tmp/x/home/me ");
    free(moved);
    moved = build_options_move("", "/home/my own", "/tmp/x");
    assert_string_equal(moved, "-I \"/tmp/x/home/my own\" ");
    free(moved);
}

static void includes_are_found(void **state) {
    (void)state;
    static const char source[] = "#include \"a.h\"\n"
                                 "  #  include<b/c.h> // why\n"
                                 "#includes \"no.h\"\n"
                                 "#include MACRO\n"
                                 "#include \"open.h\n"
                                 "#include \"\"\n"
                                 "int include = 1; /* #include \"no.h\" */\n"
                                 "#include \"last.h\"";
    static const struct {
        const char *name;
        bool quoted;
    } wanted[] = {{"a.h", true}, {"b/c.h", false}, {"last.h", true}};
    struct build_include include;
    size_t count = 0;
    const char *at = source, *end = source + sizeof source - 1;
    for (; build_include_next(&at, end, &include); count++) {
        assert_true(count < sizeof wanted / sizeof *wanted);
        assert_int_equal(include.length, strlen(wanted[count].name));
        assert_memory_equal(include.name, wanted[count].name, include.length);
        assert_int_equal(include.quoted, wanted[count].quoted);
    }
    assert_int_equal(count, sizeof wanted / sizeof *wanted);
    // A text that ends anywhere is read no further.
    for (size_t length = 0; length < sizeof source; length++) {
        char *copy = malloc(length + 1);
        assert_non_null(copy);
        memcpy(copy, source, length);
        for (at = copy; build_include_next(&at, copy + length, &include);)
            assert_true(include.name + include.length < copy + length);
        free(copy);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_made_absolute),
        cmocka_unit_test(folders_are_found),
        cmocka_unit_test(options_are_moved),
        cmocka_unit_test(includes_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
