// SPDX-License-Identifier: Apache-2.0
// Functions that only this file sees: compilers give them no linkage name in DWARF, but a bare one.
#define APART __attribute__((noinline, noclone, noipa))

namespace outer {
namespace {
APART int run(int x) {
    return x * 3;
}

struct Step {
    APART int go(int x) const {
        return x + 5;
    }
    template <typename T> APART static int cast(T x) {
        return (int)x;
    }
};
} // namespace

APART static int helper(int x) {
    return run(x) + Step{}.go(x) + Step::cast<long>(x) + Step::cast<char>('c');
}

int all(int x) {
    struct Local {
        APART int go(int y) {
            return y - 1;
        }
    };
    auto callback = [x](int y) APART { return x ^ y; };
    return helper(x) + Local().go(x) + callback(x);
}
} // namespace outer

int main(int argc, char **) {
    return outer::all(argc);
}
