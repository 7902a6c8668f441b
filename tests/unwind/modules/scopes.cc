// SPDX-License-Identifier: Apache-2.0
// Inlined functions that only this file sees. Each prints its address and the compiler's name: "address name".
#include <cstdint>
#include <cstdio>

extern "C" char __ehdr_start;

__attribute__((noinline)) static void print_name(const char *name) {
    auto address = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - 1;
    std::printf("%jx %s\n", static_cast<uintmax_t>(address - reinterpret_cast<uintptr_t>(&__ehdr_start)), name);
}

#define ALWAYS __attribute__((always_inline))
#define INLINE ALWAYS inline
// The next line keeps the call from being a jump, after which the caller could not be determined.
#define TELL                                                                                                 \
    do {                                                                                                     \
        print_name(__PRETTY_FUNCTION__);                                                                           \
        __asm__ volatile("");                                                                                \
    } while (0)

namespace outer {
namespace {
INLINE void run() {
    TELL;
}

struct Step {
    INLINE void go() const {
        TELL;
    }
    INLINE static void stay() {
        TELL;
    }
    struct Half {
        INLINE void go();
    };
};

void Step::Half::go() {
    TELL;
}
} // namespace

namespace inner {
static INLINE void helper() {
    TELL;
    auto twice = [](int times) ALWAYS {
        TELL;
        auto once = [times]() ALWAYS { TELL; };
        once();
    };
    twice(2);
}
} // namespace inner

void all() {
    struct Local {
        INLINE void go() {
            TELL;
        }
    };
    run();
    Step{}.go();
    Step::stay();
    Step::Half{}.go();
    inner::helper();
    Local{}.go();
    auto callback = []() ALWAYS { TELL; };
    callback();
}
} // namespace outer

// Too many siblings for walking past them one by one each time.
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define HUNDRED(X)                                                                                           \
    TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5) TEN(X, 6) TEN(X, 7) TEN(X, 8) TEN(X, 9) TEN(X, 10)
namespace {
#define DEFINE(n)                                                                                            \
    INLINE void many_##n() {                                                                                 \
        TELL;                                                                                                \
    }
HUNDRED(DEFINE)
} // namespace

static INLINE void bare() {
    TELL;
}

int main() {
    outer::all();
    bare();
#define CALL(n) many_##n();
    HUNDRED(CALL)
}
