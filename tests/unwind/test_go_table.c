// SPDX-License-Identifier: Apache-2.0
// Go's table of functions: a small one made here by its definition (Go's runtime/symtab.go), and the same with each byte
// changed, in memory that ends where the table does.
#include "support/test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "unwind/go_table.h"

#if defined(__x86_64__)

enum { TEXT = 0x401000, NAMES = 72, POSITIONS = 160, FUNCTIONS = 192, SIZE = 320, COUNT = 4, BODIES = 40 };

// Functions of 32 bytes. The first pushes 8 bytes at its byte 1, takes 16 more at 4, and gives all back at 28.
static const uint8_t positions[] = {2, 1, 16, 3, 32, 24, 47, 4, 0};

static void make(uint8_t *table) {
    static const char names[] = "main.work\0runtime.asmcgocall.abi0\0runtime.goexit\0runtime.cgocallback";
    static const uint32_t name_of[COUNT] = {0, 10, 34, 49};
    memset(table, 0, SIZE);
    bytes_put_u32(table, 0xfffffff0);
    table[6] = 1;
    table[7] = 8;
    bytes_put_u64(table + 8, COUNT);
    bytes_put_u64(table + 24, TEXT);
    bytes_put_u64(table + 32, NAMES);
    bytes_put_u64(table + 56, POSITIONS);
    bytes_put_u64(table + 64, FUNCTIONS);
    memcpy(table + NAMES, names, sizeof names);
    memcpy(table + POSITIONS + 1, positions, sizeof positions);
    for (uint32_t i = 0; i <= COUNT; i++)
        bytes_put_u32(table + FUNCTIONS + 8 * i, 32 * i);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint8_t *body = table + FUNCTIONS + BODIES + 20 * i;
        bytes_put_u32(table + FUNCTIONS + 8 * i + 4, BODIES + 20 * i);
        bytes_put_u32(body, 32 * i);
        bytes_put_u32(body + 4, name_of[i]);
        bytes_put_u32(body + 16, i == 0 ? 1 : 0);
    }
}

static void rows(void **state) {
    static const struct {
        uint64_t pc;
        int32_t cfa;
    } wanted[] = {{0, 8}, {1, 16}, {3, 16}, {4, 32}, {27, 32}, {28, 8}, {31, 8}};
    uint8_t bytes[SIZE];
    struct go_table table;
    struct cfi_row row;
    (void)state;
    make(bytes);
    assert_true(go_table_open(&table, bytes, SIZE));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_true(go_table_find(&table, TEXT + wanted[i].pc, &row));
        assert_int_equal(row.cfa_register, CFI_STACK_POINTER);
        assert_int_equal(row.cfa.value, wanted[i].cfa);
        assert_int_equal(row.registers[CFI_RETURN].value, -8);
        assert_int_equal(row.registers[CFI_FRAME_POINTER].how, wanted[i].cfa > 8 ? CFI_AT_OFFSET : CFI_SAME);
        assert_false(row.go_calls_c);
    }
    assert_true(go_table_find(&table, TEXT + 40, &row));
    assert_true(row.go_calls_c);
    assert_true(go_table_find(&table, TEXT + 64, &row));
    assert_int_equal(row.registers[CFI_RETURN].how, CFI_UNDEFINED);
    assert_false(go_table_find(&table, TEXT + 96, &row)); // C has called Go
    assert_false(go_table_find(&table, TEXT - 1, &row));
    assert_false(go_table_find(&table, TEXT + 128, &row));
}

static void damaged(void **state) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_true(memory != MAP_FAILED && mprotect(memory + page, page, PROT_NONE) == 0);
    uint8_t *bytes = memory + page - SIZE;
    for (size_t at = 0; at < SIZE; at++)
        for (uint32_t value = 0; value < 256; value += 17) {
            struct go_table table;
            struct cfi_row row;
            make(bytes);
            bytes[at] = (uint8_t)value;
            if (!go_table_open(&table, bytes, SIZE))
                continue;
            for (uint64_t pc = TEXT; pc < TEXT + 128; pc += 3)
                (void)go_table_find(&table, pc, &row);
        }
    for (size_t size = 0; size < SIZE; size++) { // cut off
        struct go_table table;
        struct cfi_row row;
        make(bytes);
        memmove(memory + page - size, bytes, size);
        if (go_table_open(&table, memory + page - size, size))
            for (uint64_t pc = TEXT; pc < TEXT + 128; pc += 3)
                (void)go_table_find(&table, pc, &row);
    }
    munmap(memory, 2 * page);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows), cmocka_unit_test(damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) {
    return 77; // Go's switch of stacks is known on x86-64
}
#endif
