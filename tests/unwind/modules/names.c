// SPDX-License-Identifier: Apache-2.0
// names FILE [BUILD-ID]: for every address (hexadecimal, one a line) of standard input what is there, innermost first: a
// line `address function file line` with tabs between them, "?" for what is not known. With --map FILE is a perf map.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "demangle/demangle.h"
#include "symbols/symbols.h"

static void print(uint64_t address, const struct symbols_frame *frame) {
    static char name[DEMANGLE_MAX];
    const char *function = frame->function ? frame->function : "?";
    if (demangle(function, name, sizeof name))
        function = name;
    printf("%" PRIx64 "\t%s\t%s\t%u\n", address, function, frame->file ? frame->file : "?", frame->line);
}

int main(int argc, char **argv) {
    static const char *const STATES[] = {"found", "gone", "other", "damaged"};
    struct symbols_frame frames[SYMBOLS_DEPTH_MAX];
    enum symbols_state state;
    uint64_t address;
    bool map = argc > 2 && strcmp(argv[1], "--map") == 0;
    if (argc < 2)
        return 2;
    struct symbols *symbols =
        map ? symbols_open_map(argv[2], &state) : symbols_open(argv[1], argc > 2 ? argv[2] : NULL, &state);
    if (!symbols)
        return 1;
    while (scanf("%" SCNx64, &address) == 1) {
        size_t count = symbols_find(symbols, address, frames, SYMBOLS_DEPTH_MAX);
        for (size_t i = 0; i < count; i++)
            print(address, &frames[i]);
        if (!count)
            print(address, &(struct symbols_frame){0});
    }
    printf("%s %s\n", STATES[state], symbols_damaged(symbols) ? "damaged" : "whole");
    symbols_close(symbols);
    return 0;
}
