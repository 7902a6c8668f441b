// SPDX-License-Identifier: Apache-2.0
// Copies the kernel's code for programs. The symbolizer and the unwinder of copied stacks call it.
#include "symbols/vdso.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

// Bytes that are mapped at an address where a mapping begins.
static size_t mapped_at(uintptr_t start) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512], *end;
    size_t size = 0;
    while (maps && !size && fgets(line, sizeof line, maps))
        if (strtoull(line, &end, 16) == start && *end == '-')
            size = (size_t)(strtoull(end + 1, NULL, 16) - start);
    if (maps)
        (void)fclose(maps);
    return size;
}

int vdso_open(void) {
    enum { IMAGE_MAX = 1 << 20 };
    const uintptr_t start = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
    const size_t size = start ? mapped_at(start) : 0;
    int fd = size && size <= IMAGE_MAX ? memfd_create("vdso", MFD_CLOEXEC) : -1;
    if (fd >= 0 && !file_write(fd, (const void *)start, size)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}
