// SPDX-License-Identifier: Apache-2.0
// Every line of standard input as a name that people write; what is no mangled name as it is.
#include <stdio.h>
#include <string.h>

#include "demangle/demangle.h"

int main(void) {
    static char line[1 << 16], name[DEMANGLE_MAX];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        puts(demangle(line, name, sizeof name) ? name : line);
    }
    return 0;
}
