// SPDX-License-Identifier: Apache-2.0
// Names in a dictionary: of this very program, of generated code, of the kernel's own page; and frames without a
// name: of missing, other and damaged files, and of claims in a foreign trace.
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "support/test.h"
#include "tracesmith/stacks.h"

static const char WRONG[] = "00112233445566778899aabbccddeeff00112233";

// Functions of this program that the linker keeps by name.
__attribute__((noinline)) int symbols_test_first(int x);
__attribute__((noinline)) int symbols_test_second(int x);

int symbols_test_first(int x) {
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

int symbols_test_second(int x) {
    __asm__ volatile("" : "+r"(x));
    return x * 3;
}

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias) {
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr; // the first is the program
    return 1;
}

static uint32_t add_module(tsmith_dictionary *dictionary, const char *path, const char *build_id,
                           uint32_t flags) {
    const tsmith_module module = {.path = tsmith_dictionary_intern_cstr(dictionary, path),
                                  .build_id = tsmith_dictionary_intern_cstr(dictionary, build_id),
                                  .flags = flags};
    return tsmith_dictionary_intern_module(dictionary, &module);
}

static uint32_t add_frame(tsmith_dictionary *dictionary, uint32_t module, uint64_t address, uint32_t flags) {
    return tsmith_dictionary_intern_frame(dictionary, &(tsmith_frame){module, flags, address});
}

static uint32_t add_stack(tsmith_dictionary *dictionary, uint32_t parent, uint32_t frame) {
    return tsmith_dictionary_intern_stack(dictionary, &(tsmith_stack){parent, frame});
}

enum { FIRST, SECOND, OTHER, GONE, DAMAGED, GENERATED, NOWHERE, HEADER, PYTHON, FRAMES };

// A program with all that can happen to a frame.
struct made {
    tsmith_dictionary *dictionary;
    tsmith_stack_names *names;
    char self[4096], map[4096];
    uint64_t first; // address of the function
    uint32_t frames[FRAMES], stack;
};

static void make_map(struct made *made) {
    static const char MAP[] = "7000 100 generated_one\n";
    const char *folder = getenv("TMPDIR");
    (void)snprintf(made->map, sizeof made->map, "%s/symbols-XXXXXX", folder ? folder : "/tmp");
    int fd = mkstemp(made->map);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, MAP, sizeof MAP - 1), sizeof MAP - 1);
    assert_int_equal(close(fd), 0);
}

static int make(void **state) {
    static struct made made;
    uint64_t bias = 0;
    dl_iterate_phdr(take_bias, &bias);
    ssize_t length = readlink("/proc/self/exe", made.self, sizeof made.self - 1);
    assert_true(length > 0);
    make_map(&made);
    assert_int_equal(tsmith_dictionary_create(&made.dictionary), TSMITH_OK);
    tsmith_dictionary *into = made.dictionary;
    made.first = (uint64_t)(uintptr_t)symbols_test_first - bias + 1;
    uint32_t program = add_module(into, made.self, "", 0);
    made.frames[FIRST] = add_frame(into, program, made.first, 0);
    made.frames[SECOND] = add_frame(into, program, (uint64_t)(uintptr_t)symbols_test_second - bias, 0);
    made.frames[HEADER] = add_frame(into, program, 1, 0);
    made.frames[OTHER] = add_frame(into, add_module(into, made.self, WRONG, 0), made.first, 0);
    made.frames[GONE] = add_frame(into, add_module(into, "/nowhere/libgone.so", WRONG, 0), 0x123, 0);
    made.frames[DAMAGED] = add_frame(into, add_module(into, made.map, WRONG, 0), 0x10, 0);
    made.frames[GENERATED] =
        add_frame(into, add_module(into, made.map, "", TSMITH_MODULE_GENERATED), 0x7010, 0);
    made.frames[NOWHERE] = add_frame(into, 0, 0xabcdef, 0);
    made.frames[PYTHON] = add_frame(into, 0, 12, TSMITH_FRAME_PYTHON);
    const tsmith_symbol python = {made.frames[PYTHON], tsmith_dictionary_intern_cstr(into, "train"),
                                  tsmith_dictionary_intern_cstr(into, "model.py"), 12};
    assert_int_not_equal(tsmith_dictionary_add_symbol(into, &python), 0);
    made.stack =
        add_stack(into, add_stack(into, add_stack(into, 0, made.frames[PYTHON]), made.frames[SECOND]),
                  made.frames[FIRST]);
    assert_int_equal(tsmith_stack_names_create(into, &made.names), TSMITH_OK);
    *state = &made;
    return 0;
}

static int drop(void **state) {
    struct made *made = *state;
    tsmith_stack_names_destroy(made->names);
    tsmith_dictionary_destroy(made->dictionary);
    return unlink(made->map);
}

static void expect_text(struct made *made, int frame, const char *expected) {
    tsmith_stack_line line;
    char text[4200];
    assert_int_equal(tsmith_frame_lines(made->names, made->frames[frame], &line, 1), 1);
    assert_int_equal(tsmith_stack_line_text(made->dictionary, &line, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
}

static void test_read_elsewhere(void **state) {
    struct made *made = *state;
    tsmith_symbolize_counts counts = {.size = sizeof counts};
    assert_int_equal(tsmith_dictionary_symbolize(made->dictionary, NULL, &counts, NULL), TSMITH_OK);
    // It is not certain that the present files are the ones that were loaded.
    assert_int_equal(counts.frames, FRAMES - 1);
    assert_int_equal(counts.named, 0);
    expect_text(made, PYTHON, "train");
}

static void test_names_and_what_has_none(void **state) {
    struct made *made = *state;
    char text[4200];
    tsmith_symbolize_counts counts = {.size = sizeof counts};
    const tsmith_symbolize_options live = {sizeof live, 1};
    assert_int_equal(tsmith_dictionary_symbolize(made->dictionary, &live, &counts, NULL), TSMITH_OK);
    assert_int_equal(counts.frames, FRAMES - 1);
    assert_int_equal(counts.named, 3);
    assert_int_equal(counts.modules, 5);
    assert_int_equal(counts.modules_gone, 1);
    assert_int_equal(counts.modules_other, 1);
    assert_int_equal(counts.modules_damaged, 1);
    assert_string_equal(tsmith_dictionary_find_attribute(made->dictionary, "symbols.modules_other").bytes,
                        "1");

    expect_text(made, FIRST, "symbols_test_first");
    expect_text(made, SECOND, "symbols_test_second");
    (void)snprintf(text, sizeof text, "%s[+%llx]", strrchr(made->self, '/') + 1,
                   (unsigned long long)made->first);
    expect_text(made, OTHER, text);
    expect_text(made, GONE, "libgone.so[+123]");
    expect_text(made, GENERATED, "generated_one");
    expect_text(made, NOWHERE, "[abcdef]");
    expect_text(made, PYTHON, "train");

    // Once more: what has a name keeps it, and only it.
    uint32_t symbols = tsmith_dictionary_symbol_count(made->dictionary);
    assert_int_equal(tsmith_dictionary_symbolize(made->dictionary, &live, &counts, NULL), TSMITH_OK);
    assert_int_equal(counts.named, 0);
    assert_int_equal(tsmith_dictionary_symbol_count(made->dictionary), symbols);
}

static void test_a_stack(void **state) {
    struct made *made = *state;
    tsmith_stack_line lines[3];
    assert_int_equal(tsmith_stack_lines(made->names, made->stack, lines, 3), 3);
    assert_int_equal(lines[0].frame, made->frames[FIRST]);
    assert_int_equal(lines[1].frame, made->frames[SECOND]);
    assert_int_equal(lines[2].line, 12);
    assert_int_equal(tsmith_stack_lines(made->names, made->stack, lines, 1), 3);
    assert_int_equal(tsmith_stack_lines(made->names, 0, lines, 3), 0);
    assert_int_equal(tsmith_stack_lines(made->names, made->stack + 1, lines, 3), 0);
}

static void test_the_kernels_page(void **state) {
    (void)state;
    uint64_t page = getauxval(AT_SYSINFO_EHDR);
    // The loader lists it under its own name, and can be asked for its functions.
    void *vdso = page ? dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD) : NULL;
    void *function = vdso ? dlvsym(vdso, "__vdso_clock_gettime", "LINUX_2.6") : NULL;
    if (!function)
        skip();
    tsmith_dictionary *dictionary;
    tsmith_stack_names *names;
    tsmith_stack_line line;
    char text[64];
    const tsmith_symbolize_options live = {sizeof live, 1};
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    uint32_t module = add_module(dictionary, "[vdso]", "", 0),
             frame = add_frame(dictionary, module, (uint64_t)(uintptr_t)function - page, 0);
    assert_int_equal(tsmith_dictionary_symbolize(dictionary, &live, NULL, NULL), TSMITH_OK);
    assert_int_equal(tsmith_stack_names_create(dictionary, &names), TSMITH_OK);
    assert_int_equal(tsmith_frame_lines(names, frame, &line, 1), 1);
    assert_true(tsmith_stack_line_text(dictionary, &line, text, sizeof text) > 0);
    assert_non_null(strstr(text, "clock_gettime"));
    tsmith_stack_names_destroy(names);
    tsmith_dictionary_destroy(dictionary);
}

struct ended {
    tsmith_dictionary *dictionary;
    int left;
};

static tsmith_status ended_next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct ended *ended = self;
    (void)out, (void)error;
    return ended->left-- > 0 ? TSMITH_AGAIN : TSMITH_END;
}

static const tsmith_dictionary *ended_dictionary(void *self) {
    return ((struct ended *)self)->dictionary;
}

static void test_a_source_that_ends(void **state) {
    (void)state;
    static const tsmith_source_ops ops = {ended_next, ended_dictionary, NULL};
    struct ended ended = {.left = 2};
    tsmith_source *source, *named;
    const tsmith_batch *batch;
    uint64_t bias = 0;
    dl_iterate_phdr(take_bias, &bias);
    assert_int_equal(tsmith_dictionary_create(&ended.dictionary), TSMITH_OK);
    uint32_t module = add_module(ended.dictionary, "/proc/self/exe", "", 0);
    assert_int_equal(tsmith_source_create(&ops, &ended, &source), TSMITH_OK);
    const tsmith_symbolize_options live = {sizeof live, 1};
    tsmith_symbolize_counts counts = {.size = sizeof counts};
    assert_int_equal(tsmith_symbolized_source_create(source, &live, &counts, &named), TSMITH_OK);
    assert_int_equal(tsmith_source_next(named, &batch, NULL), TSMITH_AGAIN);
    add_frame(ended.dictionary, module, (uint64_t)(uintptr_t)symbols_test_first - bias, 0);
    assert_int_equal(tsmith_source_next(named, &batch, NULL), TSMITH_AGAIN);
    assert_int_equal(tsmith_dictionary_symbol_count(ended.dictionary), 1);
    assert_int_equal(tsmith_source_next(named, &batch, NULL), TSMITH_END);
    assert_int_equal(counts.named, 1);
    assert_true(tsmith_dictionary_symbol_count(ended.dictionary) > 1);
    assert_ptr_equal(tsmith_source_dictionary(named), ended.dictionary);
    tsmith_source_destroy(named);
    tsmith_source_destroy(source);
    tsmith_dictionary_destroy(ended.dictionary);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_read_elsewhere, make, drop),
        cmocka_unit_test_setup_teardown(test_names_and_what_has_none, make, drop),
        cmocka_unit_test_setup_teardown(test_a_stack, make, drop),
        cmocka_unit_test(test_the_kernels_page),
        cmocka_unit_test(test_a_source_that_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
