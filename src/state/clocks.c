// SPDX-License-Identifier: Apache-2.0
// From bounds to the offset of one clock. What the bounds are is in clocks_bounds.c.
#include "state/clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// How far inside the admissible offsets a clock is placed, at most: about what launching or returning takes at least.
#define MARGIN 3000.0
// Clocks of one machine drift apart by less.
#define DRIFT_MAX 1e-3

// Contradictions that are not yet a reason to look for a drift.
enum { OUTLIERS = 4 };

enum { BINS = 256, STEPS = 60 };

int64_t clocks_offset(const tsmith_device_clock *clock, int64_t time) {
    return clock->drift == 0 ? clock->offset
                             : clock->offset + llround(clock->drift * ((double)time - (double)clock->at));
}

// ---- one offset for all times

static int descending(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return a > b ? -1 : a < b;
}

static int ascending(const void *left, const void *right) {
    return descending(right, left);
}

// Bounds without a drift, the tightest first.
struct values {
    double *lower, *upper;
    size_t lower_count, upper_count;
};

static void detrend(struct values *values, const struct clock_bound *lower, const struct clock_bound *upper,
                    int64_t origin, double drift) {
    for (size_t i = 0; i < values->lower_count; i++)
        values->lower[i] = (double)lower[i].bound - drift * ((double)lower[i].at - (double)origin);
    for (size_t i = 0; i < values->upper_count; i++)
        values->upper[i] = (double)upper[i].bound - drift * ((double)upper[i].at - (double)origin);
    if (values->lower_count)
        qsort(values->lower, values->lower_count, sizeof(double), descending);
    if (values->upper_count)
        qsort(values->upper, values->upper_count, sizeof(double), ascending);
}

// With bounds of one kind only, a few that are far beyond the next are outliers: a clock offset moves all of them.
static size_t count_outliers(const double *values, size_t count) {
    for (size_t i = 0; i + 1 < count && i <= count / 50; i++)
        if (fabs(values[i]) <= 2 * fabs(values[i + 1]) && (values[i] > 0) == (values[i + 1] > 0))
            return i;
    return 0;
}

// How many of the tightest have to go until the others admit an offset, as few as possible in proportion to how many
// there are. False when too many would.
static bool leave_out(const struct values *values, size_t *lower_out, size_t *upper_out) {
    const size_t lower_most = values->lower_count / 50,
                 upper_most = values->upper_count >= 3 ? 1 + values->upper_count / 20 : 0;
    double least = INFINITY;
    size_t lower = values->lower_count;
    *lower_out = *upper_out = 0;
    if (!values->upper_count || !values->lower_count) {
        *lower_out = count_outliers(values->lower, values->lower_count);
        *upper_out = count_outliers(values->upper, values->upper_count);
        return true;
    }
    for (lower = 0; lower <= lower_most && values->lower[lower] > values->upper[0];)
        lower++;
    for (size_t upper = 0; upper <= upper_most && upper < values->upper_count; upper++) {
        while (lower && values->lower[lower - 1] <= values->upper[upper])
            lower--;
        if (lower > lower_most || lower == values->lower_count)
            continue;
        const double cost =
            (double)lower / (double)values->lower_count + (double)upper / (double)values->upper_count;
        if (cost < least) {
            least = cost;
            *lower_out = lower;
            *upper_out = upper;
        }
    }
    return least < INFINITY;
}

// The admissible offset nearest to 0, and some way inside.
static double choose(double low, double high, bool from_zero) {
    const double half = (high - low) / 2, margin = half < MARGIN ? half : MARGIN;
    if (from_zero && low <= 0 && high >= 0)
        return 0;
    if (!isfinite(low) || !isfinite(high))
        return isfinite(low) ? low : high;
    return low > 0 || fabs(low) < fabs(high) ? low + margin : high - margin;
}

static bool fit_values(tsmith_device_clock *clock, const struct values *values, double drift,
                       int64_t origin) {
    size_t lower_out, upper_out;
    if (!leave_out(values, &lower_out, &upper_out))
        return false;
    const double low = lower_out < values->lower_count ? values->lower[lower_out] : -INFINITY,
                 high = upper_out < values->upper_count ? values->upper[upper_out] : INFINITY;
    clock->drift = drift;
    clock->at = origin;
    clock->offset = (int64_t)llround(choose(low, high, drift == 0));
    clock->low = isfinite(low) ? (int64_t)ceil(low) : TSMITH_TIME_UNKNOWN;
    clock->high = isfinite(high) ? (int64_t)floor(high) : TSMITH_TIME_UNKNOWN;
    clock->left_out = lower_out + upper_out;
    return true;
}

// ---- a line

// The tightest bounds of each stretch of time. A line has to pass between them.
struct bins {
    double at[2][BINS], bound[2][BINS]; // lower, upper
    size_t count[2];
};

static void fill_bins(struct bins *bins, int side, const struct clock_bound *bounds, size_t count,
                      int64_t origin, double length) {
    size_t tightest[BINS];
    bool any[BINS] = {false};
    for (size_t i = 0; i < count; i++) {
        const double part = ((double)bounds[i].at - (double)origin) / length * BINS;
        const size_t bin = part < 0 ? 0 : part >= BINS ? BINS - 1 : (size_t)part;
        const bool tighter = any[bin] && (side ? bounds[i].bound < bounds[tightest[bin]].bound
                                               : bounds[i].bound > bounds[tightest[bin]].bound);
        if (!any[bin] || tighter)
            tightest[bin] = i;
        any[bin] = true;
    }
    bins->count[side] = 0;
    for (size_t bin = 0; bin < BINS; bin++) {
        if (!any[bin])
            continue;
        bins->at[side][bins->count[side]] = (double)bounds[tightest[bin]].at - (double)origin;
        bins->bound[side][bins->count[side]++] = (double)bounds[tightest[bin]].bound;
    }
}

// By how much a bound is missed; negative when it is not.
static double miss_distance(const struct bins *bins, int side, size_t i, double offset, double drift) {
    const double line = offset + drift * bins->at[side][i];
    return side ? line - bins->bound[side][i] : bins->bound[side][i] - line;
}

static double all_missed(const struct bins *bins, double offset, double drift) {
    double sum = 0;
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < bins->count[side]; i++) {
            const double by = miss_distance(bins, side, i, offset, drift);
            sum += by > 0 ? by : 0;
        }
    return sum;
}

// The offset for a drift by which the least is missed, and how much that is. A sum of convex functions is convex.
static double least_missed(const struct bins *bins, double drift, double *offset) {
    double low = INFINITY, high = -INFINITY;
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < bins->count[side]; i++) {
            const double value = bins->bound[side][i] - drift * bins->at[side][i];
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
    for (int step = 0; step < STEPS; step++) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (all_missed(bins, a, drift) <= all_missed(bins, b, drift))
            high = b;
        else
            low = a;
    }
    *offset = (low + high) / 2;
    return all_missed(bins, *offset, drift);
}

// How wide the corridor between the bounds is at a drift: concave in the drift.
static double corridor_width(const struct bins *bins, double drift, double *middle) {
    double low = -INFINITY, high = INFINITY;
    for (size_t i = 0; i < bins->count[0]; i++)
        low = fmax(low, bins->bound[0][i] - drift * bins->at[0][i]);
    for (size_t i = 0; i < bins->count[1]; i++)
        high = fmin(high, bins->bound[1][i] - drift * bins->at[1][i]);
    *middle = (low + high) / 2;
    return high - low;
}

// The drift with the least missed (`widest` false) or the widest corridor.
static double search(const struct bins *bins, bool widest, double *offset) {
    double low = -DRIFT_MAX, high = DRIFT_MAX, ignored;
    for (int step = 0; step < STEPS; step++) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        const bool left = widest ? corridor_width(bins, a, &ignored) >= corridor_width(bins, b, &ignored)
                                 : least_missed(bins, a, &ignored) <= least_missed(bins, b, &ignored);
        *(left ? &high : &low) = left ? b : a;
    }
    const double drift = (low + high) / 2;
    if (widest)
        corridor_width(bins, drift, offset);
    else
        least_missed(bins, drift, offset);
    return drift;
}

static void drop_missed(struct bins *bins, double offset, double drift) {
    for (int side = 0; side < 2; side++) {
        size_t kept = 0;
        for (size_t i = 0; i < bins->count[side]; i++) {
            if (miss_distance(bins, side, i, offset, drift) > MARGIN / 10)
                continue;
            bins->at[side][kept] = bins->at[side][i];
            bins->bound[side][kept++] = bins->bound[side][i];
        }
        bins->count[side] = kept;
    }
}

static double fit_drift(const struct clock_bound *lower, size_t lower_count, const struct clock_bound *upper,
                        size_t upper_count, int64_t from, int64_t to) {
    struct bins bins;
    double offset;
    const double length = (double)to - (double)from + 1;
    fill_bins(&bins, 0, lower, lower_count, from, length);
    fill_bins(&bins, 1, upper, upper_count, from, length);
    const double drift = search(&bins, false, &offset);
    drop_missed(&bins, offset, drift);
    return bins.count[0] && bins.count[1] ? search(&bins, true, &offset) : drift;
}

// ---- all of it

static void find_span(const struct clock_bound *bounds, size_t count, int64_t *from, int64_t *to) {
    for (size_t i = 0; i < count; i++) {
        *from = bounds[i].at < *from ? bounds[i].at : *from;
        *to = bounds[i].at > *to ? bounds[i].at : *to;
    }
}

bool clocks_fit(tsmith_device_clock *clock, struct clock_bound *lower, size_t lower_count,
                struct clock_bound *upper, size_t upper_count) {
    struct values values = {malloc((lower_count + 1) * sizeof(double)),
                            malloc((upper_count + 1) * sizeof(double)), lower_count, upper_count};
    const bool done = values.lower && values.upper;
    int64_t from = INT64_MAX, to = INT64_MIN;
    find_span(lower, lower_count, &from, &to);
    find_span(upper, upper_count, &from, &to);
    if (done && from <= to) {
        detrend(&values, lower, upper, from, 0);
        bool fits = fit_values(clock, &values, 0, from);
        if (!fits || clock->left_out > OUTLIERS) {
            const double drift = fit_drift(lower, lower_count, upper, upper_count, from, to);
            tsmith_device_clock line = *clock;
            detrend(&values, lower, upper, from, drift);
            if (fit_values(&line, &values, drift, from) &&
                (!fits || line.left_out < (clock->left_out - OUTLIERS) / 2)) {
                *clock = line;
                fits = true;
            }
        }
        clock->state = !fits                                ? TSMITH_CLOCK_CONTRADICTED
                       : clock->offset || clock->drift != 0 ? TSMITH_CLOCK_PLACED
                                                            : TSMITH_CLOCK_AS_RECORDED;
        if (!fits)
            clock->offset = 0, clock->drift = 0, clock->low = clock->high = TSMITH_TIME_UNKNOWN;
    }
    free(values.lower);
    free(values.upper);
    return done;
}
