// SPDX-License-Identifier: Apache-2.0
// Inlined functions that only this file sees. Each tells where it is and what the compiler calls it: "address name".
#include <cstdint>
#include <cstdio>

extern "C" char __ehdr_start;

__attribute__((noinline)) static void tell(const char *name) {
    auto address = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - 1;
    std::printf("%jx %s\n", static_cast<uintmax_t>(address - reinterpret_cast<uintptr_t>(&__ehdr_start)), name);
}

#define ALWAYS __attribute__((always_inline))
#define INLINE ALWAYS inline
// What follows keeps the call from being a jump, after which nobody could tell where it came from.
#define TELL                                                                                                 \
    do {                                                                                                     \
        tell(__PRETTY_FUNCTION__);                                                                           \
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

static INLINE void bare() {
    TELL;
}

int main() {
    outer::all();
    bare();
}
