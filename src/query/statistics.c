// SPDX-License-Identifier: Apache-2.0
// The SQL aggregates median(), percentile() and stddev(). query.c registers them.
#include "query/statistics.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

// The values of one group. Integers are kept as they are: times have more digits than a double.
struct values {
    sqlite3_int64 *integers; // as long as all are
    double *reals;           // else
    size_t count, capacity;
    double percent;
    bool is_real, has_percent;
};

struct deviation {
    uint64_t count;
    sqlite3_int64
        origin; // the first value: the others are taken relative to it, as times have more digits than a double
    double mean, squares; // of the differences from the mean, added up
};

static void release(struct values *values) {
    sqlite3_free(values->integers);
    sqlite3_free(values->reals);
    values->integers = NULL;
    values->reals = NULL;
}

// A number, or an error: what is not a number has no order among numbers.
static bool read_number(sqlite3_context *context, sqlite3_value *value, const char *function, double *out) {
    const int type = sqlite3_value_numeric_type(value);
    *out = sqlite3_value_double(value);
    if ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) && isfinite(*out))
        return true;
    char *message = sqlite3_mprintf("%s() takes finite numbers", function);
    sqlite3_result_error(context, message ? message : function, -1);
    sqlite3_free(message);
    return false;
}

static bool grow(struct values *values) {
    const size_t capacity = values->capacity ? 2 * values->capacity : 64;
    if (values->count < values->capacity)
        return true;
    void *moved = values->is_real ? sqlite3_realloc64(values->reals, capacity * sizeof *values->reals)
                                  : sqlite3_realloc64(values->integers, capacity * sizeof *values->integers);
    if (!moved)
        return false;
    if (values->is_real)
        values->reals = moved;
    else
        values->integers = moved;
    values->capacity = capacity;
    return true;
}

// From integers to reals, when the first real comes.
static bool make_real(struct values *values) {
    if (values->is_real)
        return true;
    values->reals = sqlite3_malloc64((values->capacity + 1) * sizeof *values->reals);
    if (!values->reals)
        return false;
    for (size_t i = 0; i < values->count; i++)
        values->reals[i] = (double)values->integers[i];
    sqlite3_free(values->integers);
    values->integers = NULL;
    values->is_real = true;
    return true;
}

static void add_value(sqlite3_context *context, struct values *values, sqlite3_value *value,
                      const char *function) {
    double real;
    if (sqlite3_value_type(value) == SQLITE_NULL || !read_number(context, value, function, &real))
        return;
    const bool integer = sqlite3_value_numeric_type(value) == SQLITE_INTEGER;
    if ((!integer && !make_real(values)) || !grow(values)) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (values->is_real)
        values->reals[values->count++] = real;
    else
        values->integers[values->count++] = sqlite3_value_int64(value);
}

static void median_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct values *values = sqlite3_aggregate_context(context, sizeof *values);
    (void)count;
    if (!values) {
        sqlite3_result_error_nomem(context);
        return;
    }
    values->percent = 50;
    add_value(context, values, arguments[0], "median");
}

static void percentile_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct values *values = sqlite3_aggregate_context(context, sizeof *values);
    double percent;
    (void)count;
    if (!values) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (!read_number(context, arguments[1], "percentile", &percent))
        return;
    if (percent < 0 || percent > 100 || (values->has_percent && values->percent != percent)) {
        sqlite3_result_error(context, "the second argument of percentile() is one number from 0 to 100", -1);
        return;
    }
    values->percent = percent;
    values->has_percent = true;
    add_value(context, values, arguments[0], "percentile");
}

static int by_integer(const void *left, const void *right) {
    const sqlite3_int64 a = *(const sqlite3_int64 *)left, b = *(const sqlite3_int64 *)right;
    return (a > b) - (a < b);
}

static int by_real(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

// Between two neighbors: linear interpolation.
static void quantile(sqlite3_context *context) {
    struct values *values = sqlite3_aggregate_context(context, 0);
    if (!values)
        return; // NULL
    if (values->count) {
        const double place = values->percent / 100 * (double)(values->count - 1);
        const size_t low = (size_t)place, high = low + (low + 1 < values->count);
        const double part = place - (double)low;
        if (values->is_real) {
            qsort(values->reals, values->count, sizeof *values->reals, by_real);
            const double a = values->reals[low], b = values->reals[high];
            sqlite3_result_double(context, part > 0 ? a + (b - a) * part : a);
        } else {
            qsort(values->integers, values->count, sizeof *values->integers, by_integer);
            const sqlite3_int64 a = values->integers[low], b = values->integers[high];
            if (part > 0 && a != b)
                sqlite3_result_double(context, (double)a + ((double)b - (double)a) * part);
            else
                sqlite3_result_int64(context, a);
        }
    }
    release(values);
}

// Welford's way: no sum of squares, which would lose what large numbers differ by.
static void stddev_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct deviation *deviation = sqlite3_aggregate_context(context, sizeof *deviation);
    double real;
    (void)count;
    if (!deviation) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (sqlite3_value_type(arguments[0]) == SQLITE_NULL ||
        !read_number(context, arguments[0], "stddev", &real))
        return;
    sqlite3_int64 distance;
    const bool integer = sqlite3_value_numeric_type(arguments[0]) == SQLITE_INTEGER;
    if (!deviation->count)
        deviation->origin = integer ? sqlite3_value_int64(arguments[0]) : 0;
    if (integer && !__builtin_sub_overflow(sqlite3_value_int64(arguments[0]), deviation->origin, &distance))
        real = (double)distance;
    else
        real -= (double)deviation->origin;
    const double difference = real - deviation->mean;
    deviation->mean += difference / (double)++deviation->count;
    deviation->squares += difference * (real - deviation->mean);
}

static void stddev_final(sqlite3_context *context) {
    const struct deviation *deviation = sqlite3_aggregate_context(context, 0);
    if (deviation && deviation->count > 1)
        sqlite3_result_double(context, sqrt(deviation->squares / (double)(deviation->count - 1)));
}

bool statistics_add(sqlite3 *db) {
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    return sqlite3_create_function_v2(db, "median", 1, flags, NULL, NULL, median_step, quantile, NULL) ==
               SQLITE_OK &&
           sqlite3_create_function_v2(db, "percentile", 2, flags, NULL, NULL, percentile_step, quantile,
                                      NULL) == SQLITE_OK &&
           sqlite3_create_function_v2(db, "stddev", 1, flags, NULL, NULL, stddev_step, stddev_final, NULL) ==
               SQLITE_OK;
}
