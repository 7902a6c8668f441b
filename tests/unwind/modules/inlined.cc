// SPDX-License-Identifier: Apache-2.0
// Functions within functions: templates that end up inlined twelve deep, virtual calls, a closure, a cold path.
#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace deep {
template <int N> struct Step {
    static inline __attribute__((always_inline)) long run(long x) {
        return Step<N - 1>::run(x * 3 + N) ^ N;
    }
};
template <> struct Step<0> {
    static inline __attribute__((always_inline)) long run(long x) {
        return x + 1;
    }
};

struct Base {
    virtual ~Base() = default;
    virtual long go(long x) = 0;
};

template <class T> struct Derived : Base {
    std::vector<T> values;
    long go(long x) override {
        values.push_back(T(x));
        std::sort(values.begin(), values.end());
        if (values.size() > 100000)
            throw std::runtime_error("many");
        return Step<12>::run(x);
    }
};
} // namespace deep

static long count_words(std::map<std::string, int> &words) {
    auto one = [&](int k) { return words[std::to_string(k)]++; };
    long sum = 0;
    for (int i = 0; i < 10; i++)
        sum += one(i);
    return sum;
}

int main(int argc, char **) {
    std::map<std::string, int> words;
    deep::Derived<long> integers;
    deep::Derived<double> numbers;
    deep::Base *base = &numbers;
    if (argc > 1)
        base = &integers;
    std::printf("%ld\n", base->go(argc) + count_words(words));
    return 0;
}
