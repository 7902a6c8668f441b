// SPDX-License-Identifier: Apache-2.0
// Every line is a name as the linker has it, and what the compiler says that function is called.
module app.physics;

import core.stdc.stdio : printf;

immutable(char)* called;

struct Vector(T, int size) {
    T[size] values;
    T dot(ref Vector other) {
        called = __FUNCTION__.ptr;
        return values[0] * other.values[0];
    }
}

class Engine {
    int run(string name, const int[] list, int delegate(int) step) {
        called = __FUNCTION__.ptr;
        return step(cast(int) (name.length + list.length));
    }
}

int outside(int x) {
    int inside(int y) {
        called = __FUNCTION__.ptr;
        return x + y;
    }
    const sum = inside(2);
    printf("%s\t%s\n", inside.mangleof.ptr, called);
    called = __FUNCTION__.ptr;
    return sum;
}

int main() {
    Vector!(double, 3) one, two;
    one.dot(two);
    printf("%s\t%s\n", Vector!(double, 3).dot.mangleof.ptr, called);
    (new Engine).run("x", [1, 2], (int i) => i + 1);
    printf("%s\t%s\n", Engine.run.mangleof.ptr, called);
    const sum = outside(1);
    printf("%s\t%s\n", outside.mangleof.ptr, called);
    return sum != 3;
}
