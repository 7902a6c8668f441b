// SPDX-License-Identifier: Apache-2.0
// The steps through JSON text, each against the plainest way of doing the same.
#include "support/test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "import/input.h"
#include "import/json_scan.h"

static const char *plain_nested_end(const char *at, const char *end) {
    size_t depth = 0;
    bool inside = false;
    for (; at < end; at++) {
        if (*at == '\\') {
            at +=
                inside || at[1] == '"' || at[1] == '\\'; // outside of strings JSON has none: any rule will do
        } else if (*at == '"') {
            inside = !inside;
        } else if (!inside && strchr("[{", *at) && *at) {
            depth++;
        } else if (!inside && strchr("]}", *at) && *at && --depth == 0) {
            return at + 1;
        }
    }
    return NULL;
}

// Random text over the characters that matter, its end anywhere in a block, garbage behind it.
static void test_nested(void **state) {
    (void)state;
    static const char alphabet[] = "[]{}\"\\\\a ,:\n\xff";
    struct random random = {1};
    char text[1024 + INPUT_PADDING];
    unsigned found = 0;
    for (int round = 0; round < 20000; round++) {
        size_t length = 1 + random_below(&random, 600);
        uint64_t calm = 1 + random_below(&random, 40);
        for (size_t i = 0; i < sizeof text; i++)
            text[i] =
                random_below(&random, calm) ? 'x' : alphabet[random_below(&random, sizeof alphabet - 1)];
        text[0] = round % 2 ? '[' : '{';
        const char *expected = plain_nested_end(text, text + length);
        found += expected != NULL;
        for (int which = 0; which < 3; which++) {
            json_nested_scanner *scanner = json_nested_scanner_get(which);
            if (scanner && scanner(text, text + length) != expected)
                fail_msg("scanner %d, round %d: %.*s", which, round, (int)length, text);
        }
        assert_ptr_equal(json_nested_end(text, text + length), expected);
    }
    assert_true(found > 1000);
}

// As above, from within the object; NULL if a string has a newline.
static const char *plain_rest(const char *at, const char *end) {
    size_t depth = 1;
    bool inside = false;
    for (; at < end; at++) {
        if (inside && (*at == '\n' || (*at == '\\' && at[1] == '\n')))
            return NULL;
        if (*at == '\\') {
            at += inside || at[1] == '"' || at[1] == '\\';
        } else if (*at == '"') {
            inside = !inside;
        } else if (!inside && strchr("[{", *at) && *at) {
            depth++;
        } else if (!inside && strchr("]}", *at) && *at && --depth == 0) {
            return at + 1;
        }
    }
    return NULL;
}

static void test_rest(void **state) {
    (void)state;
    static const char alphabet[] = "[]{}}}\"\"\\\\a ,:\n\xff";
    struct random random = {8};
    char text[1024 + INPUT_PADDING];
    unsigned found = 0;
    for (int round = 0; round < 20000; round++) {
        size_t length = 1 + random_below(&random, 600);
        uint64_t calm = 1 + random_below(&random, 60);
        for (size_t i = 0; i < sizeof text; i++)
            text[i] =
                random_below(&random, calm) ? 'x' : alphabet[random_below(&random, sizeof alphabet - 1)];
        const char *expected = plain_rest(text, text + length);
        found += expected != NULL;
        for (int which = 0; which < 3; which++) {
            json_nested_scanner *scanner = json_rest_scanner_get(which);
            if (scanner && scanner(text, text + length) != expected)
                fail_msg("scanner %d, round %d: %.*s", which, round, (int)length, text);
        }
        assert_ptr_equal(json_object_rest(text, text + length), expected);
    }
    assert_true(found > 1000);
}

static void test_strings(void **state) {
    (void)state;
    struct random random = {2};
    char text[256 + INPUT_PADDING];
    for (int round = 0; round < 20000; round++) {
        size_t length = random_below(&random, 100);
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = random_below(&random, 20) ? 'x' : "\"\\\n\x80"[random_below(&random, 4)];
        const char *expected = NULL;
        bool expected_plain = true, plain;
        for (size_t i = 0; i < length; i++) {
            if (text[i] == '"') {
                expected = text + i;
                break;
            }
            expected_plain &= text[i] != '\\' && (unsigned char)text[i] >= 0x20;
            i += text[i] == '\\';
        }
        assert_ptr_equal(json_string_end(text, text + length, &plain), expected);
        if (expected)
            assert_int_equal(plain, expected_plain);
    }
}

// Decimal text of random integers and decimals against arithmetic on 128 bits.
static void test_times(void **state) {
    (void)state;
    struct random random = {3};
    for (int round = 0; round < 50000; round++) {
        char text[64 + INPUT_PADDING] = "";
        uint64_t whole = random_next(&random) >> (13 + random_below(&random, 51));
        unsigned digits = (unsigned)random_below(&random, 13);
        bool negative = round % 3 == 0;
        __int128 value = whole; // in units of 10^-digits us
        int at = sprintf(text, "%s%llu%s", negative ? "-" : "", (unsigned long long)whole, digits ? "." : "");
        for (unsigned i = 0; i < digits; i++) {
            unsigned digit = (unsigned)random_below(&random, i > 3 ? 2 : 10) * (i > 8 ? 0 : 1);
            text[at++] = (char)('0' + digit);
            value = value * 10 + digit;
        }
        struct json_number number;
        int64_t ns, rest;
        assert_ptr_equal(json_number_read(text, text + at + 1, &number), text + at);
        if (!json_number_ns(&number, &ns, &rest)) {
            // Only when it does not fit, or is a zero with a sign.
            assert_true(!number.exact || value == 0 || whole > INT64_MAX / 1000);
            continue;
        }
        __int128 scale = 1, unit = 1000000000; // 10^-6 ns in a us
        for (unsigned i = 0; i < digits; i++)
            scale *= 10;
        __int128 expected = (negative ? -value : value) * unit;
        assert_true(expected == ((__int128)ns * 1000000 + rest) * scale);
    }
}

// Digits up to more than 64 bits hold, then a byte that is next to the digits in ASCII or differs from one by its top bit.
static void test_integers(void **state) {
    (void)state;
    struct random random = {5};
    static const char after[] = "/:\xb0\xb9 ,}\x10\x01\xff";
    for (int round = 0; round < 50000; round++) {
        char text[64 + INPUT_PADDING];
        memset(text, '7', sizeof text);
        int length = 1 + (int)random_below(&random, 22);
        __int128 value = 0;
        for (int i = 0; i < length; i++) {
            text[i] = (char)('0' + (round % 3 ? random_below(&random, 10) : 9 * random_below(&random, 2)));
            value = value * 10 + (text[i] - '0');
        }
        text[length] = after[random_below(&random, sizeof after - 1)];
        struct json_number number;
        // The end of the input may be anywhere behind the number.
        const char *end = text + length + 1 + random_below(&random, 16);
        assert_ptr_equal(json_number_read(text, end, &number), text + length);
        assert_true(number.integral && !number.negative && number.exponent == 0);
        assert_int_equal(number.exact, value <= UINT64_MAX);
        if (number.exact)
            assert_true(number.mantissa == (uint64_t)value);
    }
}

static void test_doubles(void **state) {
    (void)state;
    struct random random = {4};
    for (int round = 0; round < 50000; round++) {
        uint64_t bits = random_next(&random);
        double value, back;
        char text[64 + INPUT_PADDING] = "";
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        if (round % 2)
            value = (double)(int64_t)random_below(&random, 1u << 30) / 1000;
        int length = snprintf(text, 64, round % 4 == 1 ? "%.3f" : "%.17g", value);
        struct json_number number;
        assert_ptr_equal(json_number_read(text, text + length + 1, &number), text + length);
        back = json_number_double(&number, text, (size_t)length);
        assert_memory_equal(&back, &value, sizeof value);
    }
}

static void test_validity(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool valid;
    } texts[] = {
        {"1", true},
        {" [1, 2.5e-3, \"a\\u00e9\", null, true, {\"a\": {}}] ", true},
        {"", false},
        {"[", false},
        {"[1,]", false},
        {"{\"a\":}", false},
        {"{\"a\" 1}", false},
        {"{a:1}", false},
        {"01", false},
        {"1.", false},
        {"-", false},
        {"+1", false},
        {"[1}", false},
        {"[1] 2", false},
        {"nul", false},
        {"\"\\x\"", false},
        {"\"\n\"", false},
        {"\"\xff\"", false},
        {"\"\xc0\xaf\"", false},
        {"\"\xed\xa0\x80\"", false},
        {"\"\xf4\x90\x80\x80\"", false},
        {"\"\xf0\x9f\x98\x80\"", true},
        {"{\"a\":1,}", false},
        {"{,}", false},
        {"[]]", false},
        {"\"\\ud800\"", true},
        {"\"\\u12g4\"", false},
        {"NaN", false},
        {"{\"a\":[{},[],{\"b\":[]}]}", true},
        {"1e+5", true},
        {"1e", false},
        {"-0", true},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (json_is_valid(texts[i].text, strlen(texts[i].text)) != texts[i].valid)
            fail_msg("%s", texts[i].text);
    char deep[4002];
    memset(deep, '[', 2000);
    memset(deep + 2000, ']', 2000);
    assert_false(json_is_valid(deep, 4000));
    assert_true(json_is_valid(deep + 1100, 1800));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested),   cmocka_unit_test(test_rest),     cmocka_unit_test(test_strings),
        cmocka_unit_test(test_times),    cmocka_unit_test(test_integers), cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_validity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
