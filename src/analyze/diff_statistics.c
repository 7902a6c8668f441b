// SPDX-License-Identifier: Apache-2.0
// Means, and Welch's interval for their difference. The distribution function of Student's t comes from the incomplete
// beta function (its continued fraction, by Lentz's method), its quantile by bisection.
#include <math.h>

#include "analyze/diff.h"

enum { FRACTION_STEPS = 300, BISECTIONS = 200 };

static double beta_fraction(double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = fabs(d) < tiny ? 1 / tiny : 1 / d;
    double result = d;
    for (int i = 1; i <= FRACTION_STEPS; i++) {
        double m = i;
        for (int odd = 0; odd < 2; odd++) {
            double term = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                              : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 + term * d;
            c = 1 + term / c;
            d = fabs(d) < tiny ? 1 / tiny : 1 / d;
            c = fabs(c) < tiny ? tiny : c;
            result *= d * c;
        }
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return result;
}

// The share of the beta distribution (a, b) below x.
static double beta_below(double a, double b, double x) {
    int sign;
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front =
        exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

// The share of Student's t below t > 0.
static double student_below(double t, double freedom) {
    return 1 - 0.5 * beta_below(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double diff_student(double share, double freedom) {
    double low = 0, high = 1;
    while (student_below(high, freedom) < share && high < 1e12)
        high *= 2;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = low + (high - low) / 2;
        *(student_below(middle, freedom) < share ? &low : &high) = middle;
    }
    return high;
}

// Mean and variance of the mean of a side's runs.
static void moments(const tsmith_diff *diff, const struct diff_entry *entry, int side, double *mean,
                    double *count, double *variance) {
    size_t runs = diff->runs[side];
    double sum = 0, counts = 0, squares = 0;
    for (size_t i = 0; i < entry->filled[side]; i++) {
        sum += entry->values[side][i].time;
        counts += entry->values[side][i].count;
    }
    *mean = sum / (double)runs;
    *count = counts / (double)runs;
    for (size_t i = 0; i < runs; i++) {
        double away = (i < entry->filled[side] ? entry->values[side][i].time : 0) - *mean;
        squares += away * away;
    }
    *variance = runs > 1 ? squares / (double)(runs - 1) / (double)runs : 0;
}

struct diff_change diff_measure(const tsmith_diff *diff, const struct diff_entry *entry) {
    struct diff_change change = {0};
    double base, new, difference;
    moments(diff, entry, 0, &change.base, &change.base_count, &base);
    moments(diff, entry, 1, &change.new, &change.new_count, &new);
    difference = change.new - change.base;
    if (diff->runs[0] < 2 || diff->runs[1] < 2)
        return change;
    change.interval = true;
    change.low = change.high = difference;
    if (base + new > 0) {
        double freedom = (base + new) * (base + new) /
                         (base * base / (double)(diff->runs[0] - 1) + new *new / (double)(diff->runs[1] - 1));
        double half = diff_student(0.5 + diff->confidence / 2, freedom) * sqrt(base + new);
        change.low -= half;
        change.high += half;
    }
    return change;
}
