// SPDX-License-Identifier: Apache-2.0
// Finds a module's separate debug files by build id, debug link or debuginfod. symbols.c and split.c call it.
#include "symbols/files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/bytes.h"

static const char DEBUG_ROOT[] = "/usr/lib/debug";

int symbols_files_open(const char *path) {
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)))
        return fd;
    (void)close(fd);
    return -1;
}

static bool has_build_id(int fd, const char *build_id) {
    struct elf_file file;
    char own[2 * ELF_BUILD_ID_MAX + 1];
    if (!elf_file_open(&file, fd))
        return false;
    elf_file_build_id(&file, own);
    elf_file_close(&file);
    return strcmp(own, build_id) == 0;
}

static int open_with(const char *path, const char *build_id) {
    int fd = symbols_files_open(path);
    if (fd < 0 || has_build_id(fd, build_id))
        return fd;
    (void)close(fd);
    return -1;
}

static bool is_hex(const char *text) {
    size_t length = strlen(text);
    return length >= 6 && length <= (size_t)2 * ELF_BUILD_ID_MAX && length % 2 == 0 &&
           strspn(text, "0123456789abcdef") == length;
}

static int by_build_id(const char *build_id, char path[PATH_MAX]) {
    if (!is_hex(build_id))
        return -1;
    (void)snprintf(path, PATH_MAX, "%s/.build-id/%.2s/%s.debug", DEBUG_ROOT, build_id, build_id + 2);
    return open_with(path, build_id);
}

// ---- by name

static bool has_checksum(int fd, uint32_t wanted) {
    static const size_t SIZE = 1 << 16;
    uint8_t *bytes = malloc(SIZE);
    uLong sum = crc32(0, NULL, 0);
    off_t at = 0;
    ssize_t got = -1;
    while (bytes && (got = pread(fd, bytes, SIZE, at)) > 0) {
        sum = crc32(sum, bytes, (uInt)got);
        at += got;
    }
    free(bytes);
    return got == 0 && sum == wanted;
}

static bool is_right(int fd, const char *build_id, uint32_t checksum) {
    return build_id && *build_id ? has_build_id(fd, build_id) : has_checksum(fd, checksum);
}

static int by_link(const char *path, const char *build_id, const struct elf_file *module,
                   char candidate[PATH_MAX]) {
    const Elf64_Shdr *section = elf_file_section(module, ".gnu_debuglink");
    size_t size;
    int fd = -1;
    uint8_t *link = section ? elf_file_read(module, section, &size) : NULL;
    size_t name = link ? strlen((const char *)link) : 0, sum = (name + 4) & ~(size_t)3;
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) : 0;
    if (link && slash && name && size >= 4 && sum <= size - 4 && !strchr((const char *)link, '/')) {
        static const char *const PLACES[][2] = {{"", ""}, {"", "/.debug"}, {DEBUG_ROOT, ""}};
        for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES && fd < 0; i++) {
            int length = snprintf(candidate, PATH_MAX, "%s%.*s%s/%s", PLACES[i][0], folder, path,
                                  PLACES[i][1], (const char *)link);
            if (length < 0 || length >= PATH_MAX || strcmp(candidate, path) == 0)
                continue;
            fd = symbols_files_open(candidate);
            if (fd >= 0 && !is_right(fd, build_id, bytes_get_u32(link + sum))) {
                (void)close(fd);
                fd = -1;
            }
        }
    }
    free(link);
    return fd;
}

// ---- from a server

// The library is optional and loaded with dlopen: it is needed only where DEBUGINFOD_URLS is set.
static int by_server(const char *build_id) {
    const char *servers = getenv("DEBUGINFOD_URLS");
    if (!servers || !*servers || !is_hex(build_id))
        return -1;
    void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return -1;
    void *(*begin)(void) = (void *(*)(void))dlsym(library, "debuginfod_begin");
    void (*end)(void *) = (void (*)(void *))dlsym(library, "debuginfod_end");
    int (*find)(void *, const unsigned char *, int, char **) =
        (int (*)(void *, const unsigned char *, int, char **))dlsym(library, "debuginfod_find_debuginfo");
    void *client = begin && end && find ? begin() : NULL;
    int fd = -1;
    if (client) { // a length of 0 means that the build id is text
        fd = find(client, (const unsigned char *)build_id, 0, NULL);
        end(client);
    }
    // It stays loaded: libcurl beneath it cannot be unloaded safely.
    if (fd < 0 || has_build_id(fd, build_id))
        return fd < 0 ? -1 : fd;
    (void)close(fd);
    return -1;
}

int symbols_files_debug(const char *path, const char *build_id, const struct elf_file *module,
                        char found[PATH_MAX]) {
    int fd = build_id ? by_build_id(build_id, found) : -1;
    if (fd < 0 && module)
        fd = by_link(path, build_id, module, found);
    if (fd >= 0)
        return fd;
    found[0] = '\0';
    return build_id ? by_server(build_id) : -1;
}

bool symbols_files_alternate(const char *path, const struct elf_file *debug, int *fd) {
    const Elf64_Shdr *section = elf_file_section(debug, ".gnu_debugaltlink");
    *fd = -1;
    if (!section)
        return true;
    size_t size;
    char hex[2 * ELF_BUILD_ID_MAX + 1], candidate[PATH_MAX];
    uint8_t *link = elf_file_read(debug, section, &size);
    size_t name = link ? strlen((const char *)link) : 0;
    if (link && name + 1 < size && size - name - 1 <= ELF_BUILD_ID_MAX) {
        const char *slash = strrchr(path, '/');
        size_t id = size - name - 1;
        for (size_t i = 0; i < id; i++)
            (void)snprintf(hex + 2 * i, 3, "%02x", link[name + 1 + i]);
        int length = link[0] == '/' || !slash
                         ? snprintf(candidate, sizeof candidate, "%s", (const char *)link)
                         : snprintf(candidate, sizeof candidate, "%.*s/%s", (int)(slash - path), path,
                                    (const char *)link);
        if (length > 0 && (size_t)length < sizeof candidate)
            *fd = open_with(candidate, hex);
        if (*fd < 0)
            *fd = by_build_id(hex, candidate);
    }
    free(link);
    return *fd >= 0;
}
