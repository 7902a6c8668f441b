#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --probe of functions of C++, by the linker's name and by their own, in a program that may be loaded anywhere, from
# threads, recursively and in processes started later: as often as the program calls them. A name that is nearly right is asked
# about, and nothing is run.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/watch/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/watch/common.sh"
[ -f "$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-bpf.so" ] || skip "built without libbpf"
command -v c++ >/dev/null || skip "no compiler of C++"
cat >"$work/shop.cc" <<'CC'
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
namespace shop {
struct Cart {
    __attribute__((noinline)) long total(int n);
    template <class T> __attribute__((noinline)) T twice(T x) { asm volatile(""); return x + x; }
};
}
long shop::Cart::total(int n) { volatile long s = n; return n <= 0 ? 0 : s + total(n - 1); }
int main() {
    shop::Cart cart;
    long sum = 0;
    std::thread other([&] { for (int i = 0; i < 300; i++) sum += cart.twice<int>(i); });
    other.join();
    for (int i = 0; i < 100; i++) sum += cart.total(4);
    if (fork() == 0) { cart.total(9); _exit(0); }
    wait(nullptr);
    return sum == 0;
}
CC
c++ -O1 -fno-optimize-sibling-calls -fPIE -pie -pthread -o "$work/shop" "$work/shop.cc" || skip "it cannot be compiled here"
# counts FUNCTION CALLS
counts() {
    code=0
    "$TRACESMITH" profile --probe "$work/shop:$1" -o "$work/run.sbt" -- "$work/shop" 2>"$work/err" || code=$?
    [ "$code" -ne 4 ] || skip "$(cat "$work/err")"
    [ "$code" -eq 0 ] || fail "$1: $(cat "$work/err")"
    got=$("$TRACESMITH" query --csv "$work/run.sbt" "SELECT count(*), sum(duration > 0) FROM host_function" | tail -n 1 | tr -d '\r')
    [ "$got" = "$2,$2" ] || fail "$1 was called $2 times, and not $got"
}
counts _ZN4shop4Cart5totalEi 510
counts "shop::Cart::total(int)" 510
counts "shop::Cart::total" 510
counts "int shop::Cart::twice<int>(int)" 300
for near in "shop::Cart::totel" "mian"; do
    code=0
    "$TRACESMITH" profile --probe "$work/shop:$near" -o "$work/no.sbt" -- touch "$work/was_run" 2>"$work/err" || code=$?
    { [ "$code" -eq 2 ] && grep -qE "is it '(shop::Cart::total|main)'" "$work/err" && [ ! -e "$work/was_run" ]; } ||
        fail "$near gave $code: $(cat "$work/err")"
done
