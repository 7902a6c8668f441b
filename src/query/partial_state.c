// SPDX-License-Identifier: Apache-2.0
// States of aggregates. Their sums are integers of any size, so that no order of additions rounds differently; quantiles are counted in
// ranges of a width of 1/128 of their numbers.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/sorted.h"
#include "query/partial.h"

enum {
    LIMBS = 68,        // of 32 bits: every finite double, and 2^40 times its sum
    LOWEST = 1074,     // bit 0 is worth 2^-1074
    MANTISSA_KEPT = 7, // bits of a number that choose its range
    RANGE_SHIFT = 52 - MANTISSA_KEPT,
    RANGES = 0x800 << MANTISSA_KEPT, // of numbers of one sign
    CARRY_EVERY = 1 << 28            // additions
};

struct range_count {
    int32_t range;
    uint64_t count;
};

struct state {
    uint64_t count;       // of values that are not NULL
    uint64_t reals;       // of them
    __int128 integers;    // their sum
    int64_t limbs[LIMBS]; // the sum of the others; lowest first
    uint32_t additions;   // since the last carry
    sqlite3_value *least, *most;
    struct range_count *ranges; // sorted
    size_t range_count, range_capacity;
};

// ---- exact sums

static void carry_limbs(struct state *state) {
    int64_t carry = 0;
    for (size_t i = 0; i < LIMBS; i++) {
        const int64_t sum = (int64_t)((uint64_t)state->limbs[i] + (uint64_t)carry);
        carry = i + 1 < LIMBS ? sum >> 32 : 0;
        state->limbs[i] = i + 1 < LIMBS ? sum & 0xffffffff : sum;
    }
    state->additions = 0;
}

// What carry_limbs leaves: digits, and above them the sign. A written sum has no other limbs, for its number of values is far from 2^40.
static bool are_carried(const int64_t *limbs) {
    for (size_t i = 0; i + 1 < LIMBS; i++)
        if (limbs[i] != (limbs[i] & 0xffffffff))
            return false;
    return limbs[LIMBS - 1] == 0 || limbs[LIMBS - 1] == -1;
}

static void add_shifted(int64_t *limbs, uint64_t value, unsigned bit, bool negative) {
    const unsigned at = bit / 32, shift = bit % 32;
    const unsigned __int128 wide = (unsigned __int128)value << shift;
    for (unsigned i = 0; i < 3; i++) {
        const int64_t part = (int64_t)(uint32_t)(wide >> (32 * i));
        limbs[at + i] += negative ? -part : part;
    }
}

static void add_real(struct state *state, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const unsigned exponent = (unsigned)(bits >> 52) & 0x7ff;
    const uint64_t mantissa = (bits & (UINT64_MAX >> 12)) | (exponent ? UINT64_C(1) << 52 : 0);
    add_shifted(state->limbs, mantissa, exponent ? exponent - 1 : 0, bits >> 63);
    if (++state->additions >= CARRY_EVERY)
        carry_limbs(state);
}

// The sum of all, rounded once.
static double rounded_sum(const struct state *from) {
    struct state state = *from;
    const bool lower = state.integers < 0;
    const unsigned __int128 size =
        lower ? -(unsigned __int128)state.integers : (unsigned __int128)state.integers;
    add_shifted(state.limbs, (uint64_t)size, LOWEST, lower);
    add_shifted(state.limbs, (uint64_t)(size >> 64), LOWEST + 64, lower);
    carry_limbs(&state);
    const bool negative = state.limbs[LIMBS - 1] < 0;
    if (negative) {
        for (size_t i = 0; i < LIMBS; i++)
            state.limbs[i] = -state.limbs[i];
        carry_limbs(&state);
    }
    int top = LIMBS - 1;
    while (top > 0 && !state.limbs[top])
        top--;
    // 96 bits from the highest limb down, and whether anything is below them.
    unsigned __int128 high = 0;
    bool below = false;
    for (int i = 0; i < 3; i++)
        high = high << 32 | (top - i >= 0 ? (uint32_t)state.limbs[top - i] : 0);
    for (int i = top - 3; i >= 0; i--)
        below = below || state.limbs[i];
    unsigned dropped = 0;
    while (high >> 64) {
        below = below || (high & 1);
        high >>= 1;
        dropped++;
    }
    const double value = ldexp((double)((uint64_t)high | below), 32 * (top - 2) + (int)dropped - LOWEST);
    return negative ? -value : value;
}

// ---- ranges

static int32_t range_of(double value) {
    uint64_t bits;
    const double size = fabs(value);
    memcpy(&bits, &size, sizeof bits);
    const int32_t range = value == 0 ? 0 : (int32_t)(bits >> RANGE_SHIFT) + 1;
    return value < 0 ? -range : range;
}

static double range_middle(int32_t range) {
    const uint64_t first = (uint64_t)(abs(range) - 1) << RANGE_SHIFT, next = (uint64_t)abs(range)
                                                                             << RANGE_SHIFT;
    double low, high;
    if (range == 0)
        return 0;
    memcpy(&low, &first, sizeof low);
    memcpy(&high, &next, sizeof high);
    const double middle = isfinite(high) ? low + (high - low) / 2 : low;
    return range < 0 ? -middle : middle;
}

static bool count_range(struct state *state, int32_t range, uint64_t count) {
    const size_t at = SORTED_FIND(i, 0, state->range_count, state->ranges[i].range < range);
    if (at < state->range_count && state->ranges[at].range == range) {
        state->ranges[at].count += count;
        return true;
    }
    if (!ARRAY_RESERVE(state->ranges, state->range_capacity, state->range_count + 1))
        return false;
    memmove(&state->ranges[at + 1], &state->ranges[at], (state->range_count - at) * sizeof *state->ranges);
    state->ranges[at] = (struct range_count){range, count};
    state->range_count++;
    return true;
}

// ---- extrema

static bool is_number(int type) {
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

// SQLite's order: numbers, then texts by their bytes. Of an integer and an equal real the integer is less, so that there are no ties.
static int compare_values(sqlite3_value *left, sqlite3_value *right) {
    const int a = sqlite3_value_type(left), b = sqlite3_value_type(right);
    if (is_number(a) && is_number(b)) {
        const long double x = a == SQLITE_INTEGER ? (long double)sqlite3_value_int64(left)
                                                  : (long double)sqlite3_value_double(left),
                          y = b == SQLITE_INTEGER ? (long double)sqlite3_value_int64(right)
                                                  : (long double)sqlite3_value_double(right);
        return x < y ? -1 : x > y ? 1 : a < b ? -1 : a > b;
    }
    if (is_number(a) != is_number(b))
        return is_number(a) ? -1 : 1;
    const int m = sqlite3_value_bytes(left), n = sqlite3_value_bytes(right);
    const int order = memcmp(sqlite3_value_text(left), sqlite3_value_text(right), (size_t)(m < n ? m : n));
    return order ? order : m < n ? -1 : m > n;
}

static bool keep_extremum(sqlite3_value **place, sqlite3_value *value, int sign) {
    if (*place && compare_values(value, *place) * sign <= 0)
        return true;
    sqlite3_value_free(*place);
    *place = sqlite3_value_dup(value);
    return *place != NULL;
}

// ---- bytes: count, reals, integers, limbs (if there are reals), least and most (type, bytes), ranges

struct written {
    uint8_t *data;
    size_t size, capacity;
    bool failed;
};

static void put_bytes(struct written *out, const void *bytes, size_t size) {
    out->failed = out->failed || !ARRAY_RESERVE(out->data, out->capacity, out->size + size);
    if (!out->failed && size) {
        memcpy(out->data + out->size, bytes, size);
        out->size += size;
    }
}

static void put_value(struct written *out, sqlite3_value *value) {
    const uint32_t type = value ? (uint32_t)sqlite3_value_type(value) : SQLITE_NULL;
    put_bytes(out, &type, sizeof type);
    if (type == SQLITE_INTEGER) {
        const sqlite3_int64 integer = sqlite3_value_int64(value);
        put_bytes(out, &integer, sizeof integer);
    } else if (type == SQLITE_FLOAT) {
        const double real = sqlite3_value_double(value);
        put_bytes(out, &real, sizeof real);
    } else if (type == SQLITE_TEXT) {
        const void *text = sqlite3_value_text(value);
        const uint32_t size = (uint32_t)sqlite3_value_bytes(value);
        put_bytes(out, &size, sizeof size);
        put_bytes(out, text, size);
    }
}

static void result_state(sqlite3_context *context, struct state *state) {
    struct written out = {0};
    const uint32_t ranges = (uint32_t)state->range_count;
    carry_limbs(state);
    put_bytes(&out, &state->count, sizeof state->count);
    put_bytes(&out, &state->reals, sizeof state->reals);
    put_bytes(&out, &state->integers, sizeof state->integers);
    if (state->reals)
        put_bytes(&out, state->limbs, sizeof state->limbs);
    put_value(&out, state->least);
    put_value(&out, state->most);
    put_bytes(&out, &ranges, sizeof ranges);
    for (size_t i = 0; i < state->range_count; i++) {
        put_bytes(&out, &state->ranges[i].range, sizeof state->ranges[i].range);
        put_bytes(&out, &state->ranges[i].count, sizeof state->ranges[i].count);
    }
    if (out.failed)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_blob64(context, out.data, out.size, SQLITE_TRANSIENT);
    free(out.data);
}

struct cursor {
    const uint8_t *at;
    size_t left;
    bool damaged;
};

static const uint8_t *get_bytes(struct cursor *cursor, size_t size) {
    static const uint8_t NOTHING[sizeof((struct state *)0)->limbs];
    if (cursor->damaged || cursor->left < size) {
        cursor->damaged = true;
        return size <= sizeof NOTHING ? NOTHING : NULL;
    }
    const uint8_t *at = cursor->at;
    cursor->at += size;
    cursor->left -= size;
    return at;
}

// Calls keep_extremum on the value at the cursor, of which SQLite makes an object.
static bool get_extremum(struct cursor *cursor, sqlite3_context *context, sqlite3_value **place, int sign) {
    sqlite3_stmt *statement = NULL;
    const uint32_t type = bytes_get_u32(get_bytes(cursor, 4));
    bool done = true;
    if (cursor->damaged || type == SQLITE_NULL)
        return true;
    if (sqlite3_prepare_v2(sqlite3_context_db_handle(context), "SELECT ?", -1, &statement, NULL) != SQLITE_OK)
        return false;
    if (type == SQLITE_INTEGER) {
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)bytes_get_u64(get_bytes(cursor, 8)));
    } else if (type == SQLITE_FLOAT) {
        double real;
        memcpy(&real, get_bytes(cursor, 8), sizeof real);
        sqlite3_bind_double(statement, 1, real);
    } else {
        const uint32_t size = bytes_get_u32(get_bytes(cursor, 4));
        const uint8_t *text = get_bytes(cursor, size);
        cursor->damaged = cursor->damaged || type != SQLITE_TEXT;
        if (!cursor->damaged)
            sqlite3_bind_text64(statement, 1, (const char *)text, size, SQLITE_TRANSIENT, SQLITE_UTF8);
    }
    if (!cursor->damaged)
        done = sqlite3_step(statement) == SQLITE_ROW &&
               keep_extremum(place, sqlite3_column_value(statement, 0), sign);
    sqlite3_finalize(statement);
    return done;
}

// Adds the state in a blob. False when memory is exhausted.
static bool add_blob(sqlite3_context *context, struct state *state, sqlite3_value *blob, bool *damaged) {
    struct cursor cursor = {sqlite3_value_blob(blob), (size_t)sqlite3_value_bytes(blob), false};
    __int128 integers;
    int64_t limbs[LIMBS];
    state->count += bytes_get_u64(get_bytes(&cursor, 8));
    const uint64_t reals = bytes_get_u64(get_bytes(&cursor, 8));
    state->reals += reals;
    memcpy(&integers, get_bytes(&cursor, sizeof integers), sizeof integers);
    state->integers = (__int128)((unsigned __int128)state->integers + (unsigned __int128)integers);
    if (reals) {
        memcpy(limbs, get_bytes(&cursor, sizeof limbs), sizeof limbs);
        cursor.damaged = cursor.damaged || !are_carried(limbs);
        for (size_t i = 0; !cursor.damaged && i < LIMBS; i++)
            state->limbs[i] = (int64_t)((uint64_t)state->limbs[i] + (uint64_t)limbs[i]);
        carry_limbs(state);
    }
    bool done =
        get_extremum(&cursor, context, &state->least, -1) && get_extremum(&cursor, context, &state->most, 1);
    for (uint32_t left = bytes_get_u32(get_bytes(&cursor, 4)); done && left && !cursor.damaged; left--) {
        const int32_t range = (int32_t)bytes_get_u32(get_bytes(&cursor, 4));
        const uint64_t count = bytes_get_u64(get_bytes(&cursor, 8));
        cursor.damaged = cursor.damaged || range > RANGES || range < -RANGES;
        done = cursor.damaged || count_range(state, range, count);
    }
    *damaged = cursor.damaged || cursor.left;
    return done;
}

// ---- functions

static void state_finish(struct state *state) {
    sqlite3_value_free(state->least);
    sqlite3_value_free(state->most);
    free(state->ranges);
}

// The state of the group; NULL when memory is exhausted. SQLite's own memory is not aligned for it.
static struct state *group_state(sqlite3_context *context) {
    struct state **place = sqlite3_aggregate_context(context, sizeof *place);
    if (place && !*place)
        *place = calloc(1, sizeof **place);
    return place ? *place : NULL;
}

static bool add_number(sqlite3_context *context, struct state *state, sqlite3_value *value, bool ranges) {
    const int type = sqlite3_value_numeric_type(value);
    const double real = sqlite3_value_double(value);
    if (!is_number(type) || !isfinite(real)) {
        sqlite3_result_error(context, "sums and quantiles of a partial take finite numbers", -1);
        return true;
    }
    if (ranges)
        return count_range(state, range_of(real), 1) && keep_extremum(&state->least, value, -1) &&
               keep_extremum(&state->most, value, 1);
    if (type == SQLITE_INTEGER) {
        state->integers += sqlite3_value_int64(value);
    } else {
        state->reals++;
        add_real(state, real);
    }
    return true;
}

static void state_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct state *state = group_state(context);
    sqlite3_value *value = arguments[1];
    bool done = state != NULL;
    (void)count;
    if (done && sqlite3_value_type(value) == SQLITE_NULL)
        return;
    if (done) {
        state->count++;
        switch (sqlite3_value_int(arguments[0])) {
        case PARTIAL_SUM:
        case PARTIAL_TOTAL:
        case PARTIAL_AVG:
            done = add_number(context, state, value, false);
            break;
        case PARTIAL_PERCENTILE:
            done = add_number(context, state, value, true);
            break;
        case PARTIAL_MIN:
            done = keep_extremum(&state->least, value, -1);
            break;
        case PARTIAL_MAX:
            done = keep_extremum(&state->most, value, 1);
            break;
        default:
            break;
        }
    }
    if (!done)
        sqlite3_result_error_nomem(context);
}

static void merge_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct state *state = group_state(context);
    bool damaged = false;
    (void)count;
    if (!state || !add_blob(context, state, arguments[0], &damaged))
        sqlite3_result_error_nomem(context);
    else if (damaged)
        sqlite3_result_error(context, "a state of the partial is damaged", -1);
}

static void state_final(sqlite3_context *context) {
    struct state *state = group_state(context);
    if (!state) {
        sqlite3_result_error_nomem(context);
        return;
    }
    result_state(context, state);
    state_finish(state);
    free(state);
}

static void result_percentile(sqlite3_context *context, const struct state *state, double percent) {
    const uint64_t place = (uint64_t)(percent / 100 * (double)(state->count - 1));
    uint64_t before = 0;
    size_t at = 0;
    while (at < state->range_count && before + state->ranges[at].count <= place)
        before += state->ranges[at++].count;
    if (at == state->range_count || !state->least || !state->most)
        return; // NULL
    const double least = sqlite3_value_double(state->least), most = sqlite3_value_double(state->most),
                 middle = range_middle(state->ranges[at].range);
    sqlite3_result_double(context, middle < least ? least : middle > most ? most : middle);
}

static void result_sum(sqlite3_context *context, const struct state *state) {
    if (state->reals || state->integers > INT64_MAX || state->integers < INT64_MIN)
        sqlite3_result_double(context, rounded_sum(state));
    else
        sqlite3_result_int64(context, (sqlite3_int64)state->integers);
}

static void value_of(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct state state = {0};
    bool damaged = false;
    const int kind = sqlite3_value_int(arguments[0]);
    (void)count;
    if (!add_blob(context, &state, arguments[2], &damaged) || damaged)
        sqlite3_result_error(context, "a state of the partial is damaged", -1);
    else if (kind == PARTIAL_COUNT)
        sqlite3_result_int64(context, (sqlite3_int64)state.count);
    else if (kind == PARTIAL_TOTAL)
        sqlite3_result_double(context, rounded_sum(&state));
    else if (state.count && kind == PARTIAL_SUM)
        result_sum(context, &state);
    else if (state.count && kind == PARTIAL_AVG)
        sqlite3_result_double(context, rounded_sum(&state) / (double)state.count);
    else if (kind == PARTIAL_MIN && state.least)
        sqlite3_result_value(context, state.least);
    else if (kind == PARTIAL_MAX && state.most)
        sqlite3_result_value(context, state.most);
    else if (state.count && kind == PARTIAL_PERCENTILE)
        result_percentile(context, &state, sqlite3_value_double(arguments[1]));
    state_finish(&state);
}

bool partial_functions_add(sqlite3 *db) {
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    return sqlite3_create_function_v2(db, "partial_state", 2, flags, NULL, NULL, state_step, state_final,
                                      NULL) == SQLITE_OK &&
           sqlite3_create_function_v2(db, "partial_merge", 1, flags, NULL, NULL, merge_step, state_final,
                                      NULL) == SQLITE_OK &&
           sqlite3_create_function_v2(db, "partial_value", 3, flags, NULL, value_of, NULL, NULL, NULL) ==
               SQLITE_OK;
}
