// SPDX-License-Identifier: Apache-2.0
// Names that C++20 has brought: constrained templates, template lambdas, coroutines, classes as template arguments, <=>.
#include <compare>
#include <coroutine>

template <class T>
concept Addable = requires(T a) { a + a; };

template <Addable T> __attribute__((noinline)) T add(T a, T b) {
    return a + b;
}
template <class T>
    requires(sizeof(T) > 2)
__attribute__((noinline)) T subtract(T a, T b) {
    return a - b;
}
__attribute__((noinline)) auto same(Addable auto x) {
    return x;
}

struct Task {
    struct promise_type {
        Task get_return_object() {
            return {};
        }
        std::suspend_never initial_suspend() {
            return {};
        }
        std::suspend_never final_suspend() noexcept {
            return {};
        }
        void return_void() {}
        void unhandled_exception() {}
    };
};
Task wait(int) {
    co_await std::suspend_always{};
}

struct Point {
    int x;
    friend auto operator<=>(const Point &, const Point &) = default;
};
template <auto V> struct Value {
    static __attribute__((noinline)) int get() {
        return sizeof V;
    }
};
inline auto twice = []<class T>(T x) { return x + x; };

int main(int count, char **) {
    wait(count);
    auto closure = [count]<class T>(T t) { return t + count; };
    return add(count, 2) + subtract(count, 1) + same(count) + int(closure(3L)) + Value<5>::get() + Value<Point{3}>::get() +
           (Point{1} < Point{count}) + twice(3);
}
