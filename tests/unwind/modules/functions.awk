# SPDX-License-Identifier: Apache-2.0
# awk -v count=N -v seed=S -f functions.awk: functions that differ in their frames and in how they call on.
BEGIN {
    srand(seed)
    print "#include <alloca.h>\n#include \"path.h\""
    for (i = 0; i < count; i++) {
        size = 8 + int(rand() * 3000)
        kind = int(rand() * 5)
        printf "static __attribute__((noinline)) uint64_t f%d(struct path *path) {\n", i
        if (kind == 0) {
            print "    return path_next(path);" # a jump: leaves no frame and notes nothing
        } else {
            print "    PATH_NOTE(path);"
            if (kind == 1)
                printf "    volatile char *bytes = alloca(%d + path->at);\n", size
            else
                printf "    volatile char bytes[%d];\n", size
            if (kind == 2)
                print "    _Alignas(64) volatile char wide[64]; wide[path->at] = 2;"
            printf "    bytes[%d] = 1;\n", size - 1
            printf "    uint64_t a = path->at * %du, b = path->length ^ %du, c = a * b;\n", size, i
            print "    return path_next(path) + a + b + c + (uint64_t)bytes[path->at % 8];"
        }
        print "}"
    }
    print "__attribute__((visibility(\"default\"))) path_function *const functions[PATH_FUNCTIONS] = {"
    for (i = 0; i < count; i++)
        printf "    f%d,\n", i
    print "};"
    if (library)
        print "__attribute__((noinline)) uint64_t path_next(struct path *path) {\n    PATH_NOTE(path);\n" \
              "    uint64_t value = path->at == path->length ? path_arrive(path) : path->functions[path->at++](path);\n" \
              "    return value + path->at;\n}"
}
