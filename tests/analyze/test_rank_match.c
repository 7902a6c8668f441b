// SPDX-License-Identifier: Apache-2.0
// The matching of collectives, order statistics and the coins of a comparison of ranks, against slow and plain computations.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks_match.h"

static struct random chance = {1};

static uint64_t draw(uint64_t limit) {
    return random_below(&chance, limit);
}

// ---- order statistics

static int ascending(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static void fill(int64_t *values, size_t count, unsigned form) {
    static const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    for (size_t i = 0; i < count; i++)
        values[i] = form == 0   ? (int64_t)draw(1000000) - 500000
                    : form == 1 ? (int64_t)draw(3)
                    : form == 2 ? (int64_t)i
                    : form == 3 ? (int64_t)(count - i)
                    : form == 4 ? (int64_t)(i % 2 ? i : count - i)
                                : ends[draw(sizeof ends / sizeof *ends)];
}

static void selected_is_what_sorting_gives(void **state) {
    (void)state;
    int64_t values[3000], sorted[3000];
    for (unsigned i = 0; i < 3000; i++) {
        const size_t count = 1 + draw(i % 100 ? 60 : 3000), place = draw(count);
        fill(values, count, i % 6);
        memcpy(sorted, values, count * sizeof *values);
        qsort(sorted, count, sizeof *sorted, ascending);
        assert_true(ranks_select(values, count, place) == sorted[place]);
        for (size_t k = 0; k < count; k++)
            assert_true(k < place ? values[k] <= sorted[place] : values[k] >= sorted[place]);
        // Halves are cut toward 0, of each of the two and of their sum.
        const int64_t low = sorted[(count - 1) / 2], high = sorted[count / 2];
        assert_true(ranks_median(values, count) == low / 2 + high / 2 + (low % 2 + high % 2) / 2);
        qsort(values, count, sizeof *values, ascending);
        assert_memory_equal(values, sorted, count * sizeof *values);
    }
    assert_true(ranks_median(values, 0) == 0);
}

// Pascal's triangle, in numbers that are exact.
static void coins_are_counted(void **state) {
    (void)state;
    for (uint64_t count = 0; count <= 50; count++) {
        double ways[52] = {1}, more = 0;
        for (uint64_t row = 1; row <= count; row++)
            for (uint64_t k = row; k > 0; k--)
                ways[k] += ways[k - 1];
        for (uint64_t heads = count + 1; heads-- > 0;) {
            more += ways[heads];
            const double wanted = ldexp(more, -(int)count), got = ranks_coin_tail(heads, count);
            assert_true(fabs(got - wanted) <= 1e-9 * wanted);
        }
    }
    assert_true(ranks_coin_tail(0, 1000000) == 1);
    assert_true(fabs(ranks_coin_tail(500000, 1000000) - 0.5) <
                0.001); // and half of the chance of exactly that
    assert_true(fabs(ranks_coin_tail(502326, 1000000) / 1.64e-6 - 1) <
                0.01);                                   // the normal distribution's at 4.651
    assert_true(ranks_coin_tail(1000000, 1000000) == 0); // too small for a double
}

// ---- collectives

static const struct {
    const char *bytes;
    size_t length;
} keys[] = {{"b\0"
             "1",
             3},
            {"a\0"
             "2",
             3},
            {"MPI_Barrier\0communicator 0x1\0", 29},
            {"MPI_Allreduce\0communicator 0x2\0", 31},
            {"a\0", 2}};
enum { KEYS = sizeof keys / sizeof *keys };

// `form` 0: numbers without gaps, 1: with large gaps, 2: the same number several times.
static struct rank make_rank(tsmith_ranks *ranks, size_t number, unsigned form) {
    struct rank rank = {.label = strdup("rank"), .number = (int64_t)number, .world = -1};
    const size_t count = draw(40);
    rank.collectives = malloc((count + 1) * sizeof *rank.collectives);
    assert_non_null(rank.label);
    assert_non_null(rank.collectives);
    for (size_t i = 0; i < count; i++) {
        const size_t key = draw(KEYS);
        const bool is_numbered = key == 2 || key == 3;
        const int64_t start = (int64_t)draw(200), end = start + 1 + (int64_t)draw(20);
        const uint64_t given = form == 0 ? i : form == 1 ? draw(UINT32_MAX) : draw(4);
        rank.collectives[rank.collective_count++] = (struct rank_collective){
            start, end, tsmith_dictionary_intern(ranks->keys, keys[key].bytes, keys[key].length),
            is_numbered ? (uint32_t)given : 0};
    }
    assert_true(rank_number_collectives(ranks, &rank));
    return rank;
}

static bool is_before(const struct rank_matching *matching, const struct rank_collective *a,
                      const struct rank_collective *b) {
    const uint32_t left = matching->order[a->key], right = matching->order[b->key];
    if (a->start != b->start)
        return a->start < b->start;
    if (a->end != b->end)
        return a->end < b->end;
    return left != right ? left < right : a->number < b->number;
}

// Each collective is among the members, with the time since the last end of those before it.
static void check_members(const struct rank_matching *matching) {
    const tsmith_ranks *ranks = matching->ranks;
    size_t total = 0;
    for (size_t i = 1; i < matching->count; i++)
        assert_true(ranks_compare_members(&matching->members[i - 1], &matching->members[i]) <= 0);
    for (uint32_t i = 0; i < ranks->count; i++) {
        const struct rank *rank = &ranks->items[i];
        assert_true(matching->first_of[i] == total);
        total += rank->collective_count;
        for (size_t k = 0; k < rank->collective_count; k++) {
            const struct rank_collective *one = &rank->collectives[k];
            size_t before = 0, same = 0, found = 0;
            int64_t end = INT64_MIN;
            for (size_t j = 0; j < rank->collective_count; j++) {
                const struct rank_collective *other = &rank->collectives[j];
                const bool is_equal =
                    !is_before(matching, one, other) && !is_before(matching, other, one) && j != k;
                same += is_equal;
                if (!is_before(matching, other, one))
                    continue;
                before++;
                end = other->end > end ? other->end : end;
            }
            for (size_t j = 0; j < matching->count; j++) {
                const struct rank_member *member = &matching->members[j];
                if (member->rank != i || member->key != matching->order[one->key] ||
                    member->number != one->number || member->start != one->start || member->end != one->end)
                    continue;
                found++;
                if (same)
                    continue;
                assert_int_equal(member->first, before == 0);
                assert_true(!before || member->before == one->start - end);
            }
            assert_int_equal(found, same + 1);
        }
    }
    assert_int_equal(matching->count, total);
}

static void members_are_all_collectives_in_order(void **state) {
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        tsmith_ranks *ranks;
        assert_int_equal(tsmith_ranks_create(&ranks, NULL), TSMITH_OK);
        for (size_t k = 0; k < 2 + i % 4; k++) {
            struct rank rank = make_rank(ranks, k, i % 3);
            assert_true(ranks_push(ranks, &rank));
        }
        struct rank_matching matching = {.ranks = ranks};
        assert_true(ranks_match(&matching));
        check_members(&matching);
        ranks_matching_finish(&matching);
        tsmith_ranks_destroy(ranks);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selected_is_what_sorting_gives),
        cmocka_unit_test(coins_are_counted),
        cmocka_unit_test(members_are_all_collectives_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
