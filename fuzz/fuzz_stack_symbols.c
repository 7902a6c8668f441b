// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ELF file with symbols and DWARF, or (first byte odd) as a map of generated code; and as a mangled name. With
// the second bit of the first byte the file's length follows, and behind the file is a package of split DWARF. No read outside,
// no hang; every answer is one that can be shown.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "demangle/demangle.h"
#include "symbols/symbols.h"

enum { SIZE_MAX_TRIED = 1 << 17 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int right) {
    if (!right)
        abort();
}

static size_t show(const struct symbols_frame *frame) {
    static char name[DEMANGLE_MAX];
    size_t length = frame->file ? strlen(frame->file) : 0;
    if (frame->function) {
        size_t demangled = demangle(frame->function, name, sizeof name);
        require(demangled == 0 || strlen(name) == demangled);
        length += strlen(frame->function);
    }
    return length;
}

static void look_up(struct symbols *symbols, uint64_t address) {
    struct symbols_frame frames[SYMBOLS_DEPTH_MAX];
    size_t count = symbols_find(symbols, address, frames, SYMBOLS_DEPTH_MAX), shown = 0;
    require(count <= SYMBOLS_DEPTH_MAX);
    for (size_t i = 0; i < count; i++)
        shown += show(&frames[i]);
    require(shown < SIZE_MAX);
}

static int make_file(const uint8_t *data, size_t size) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    require(fd >= 0 && file_write(fd, data, size));
    return fd;
}

static void look_up_all(struct symbols *symbols, const uint8_t *data, size_t size) {
    for (uint64_t address = 0; address < 0x6000; address += 7)
        look_up(symbols, address);
    for (size_t at = 0; at + 8 < size && at < 512; at += 8) {
        uint64_t address;
        memcpy(&address, data + at, sizeof address);
        look_up(symbols, address);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char name[4096], path[64];
    enum symbols_state state;
    enum { MAP = 1, PACKAGED = 2, HEAD = 5 };
    if (size < HEAD || size > SIZE_MAX_TRIED)
        return 0;
    size_t length = size - 1 < sizeof name - 1 ? size - 1 : sizeof name - 1;
    memcpy(name, data + 1, length);
    name[length] = '\0';
    size_t begin = data[0] & PACKAGED ? HEAD : 1, end = size;
    if (data[0] & PACKAGED) {
        uint32_t wanted;
        memcpy(&wanted, data + 1, sizeof wanted);
        end = wanted < size - HEAD ? HEAD + wanted : size;
    }
    int fd = make_file(data + begin, end - begin),
        package = end < size ? make_file(data + end, size - end) : -1;
    int written = snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    require(written > 0);
    struct symbols *symbols =
        data[0] & MAP ? symbols_open_map(path, &state) : symbols_open_fd(fd, package, &state);
    require(symbols != NULL);
    look_up_all(symbols, data, size);
    symbols_close(symbols);
    require(close(fd) == 0 && (package < 0 || close(package) == 0));
    (void)show(&(struct symbols_frame){.function = name});
    return 0;
}
