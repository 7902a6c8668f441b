// SPDX-License-Identifier: Apache-2.0
// The cache of imported traces: lookup, storing and removal of old entries. trace.c calls it when it opens a foreign
// trace, trace_tiles.c for the detail of timelines.
#include "api/import_cache.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"

enum { BLOCK = 1 << 20, HASH_TEXT = 32, NAME_SIZE = 80, BUILD_ID_MAX = 64, LEFT_AFTER_S = 3600 };

#define LIMIT ((uint64_t)4 << 30)
#define ENDING ".sbt"
#define UNFINISHED "unfinished-"

// ---- what an import depends on

// The content of a file. False: it cannot be read, or its size changes meanwhile.
static bool hash_file(int fd, uint64_t size, struct chunk_hash *out) {
    uint64_t state[5] = {0}; // hash so far, hash of the block, its size
    uint64_t at = 0;
    char *block = malloc(BLOCK);
    bool good = block != NULL;
    while (good && at < size) {
        size_t held = 0, wanted = size - at < BLOCK ? (size_t)(size - at) : BLOCK;
        while (good && held < wanted) {
            ssize_t got = pread(fd, block + held, wanted - held, (off_t)(at + held));
            good = got > 0 || (got < 0 && errno == EINTR);
            held += got > 0 ? (size_t)got : 0;
        }
        if (!good)
            break;
        struct chunk_hash hash = chunk_hash_of(block, held);
        state[2] = hash.low, state[3] = hash.high, state[4] = held;
        hash = chunk_hash_of(state, sizeof state);
        state[0] = hash.low, state[1] = hash.high;
        at += held;
    }
    free(block);
    *out = (struct chunk_hash){state[0], state[1]};
    return good;
}

struct build {
    uintptr_t address; // in the object that is looked for
    uint8_t id[BUILD_ID_MAX];
    size_t size; // 0: not found
};

static void read_notes(struct build *build, const uint8_t *at, size_t left) {
    ElfW(Nhdr) note;
    while (left >= sizeof note) {
        memcpy(&note, at, sizeof note);
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3,
               value = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > left - sizeof note || value > left - sizeof note - name)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at + sizeof note, "GNU", 4) == 0 &&
            note.n_descsz <= sizeof build->id) {
            build->size = note.n_descsz;
            memcpy(build->id, at + sizeof note + name, note.n_descsz);
            return;
        }
        at += sizeof note + name + value;
        left -= sizeof note + name + value;
    }
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *context) {
    struct build *build = context;
    bool is_ours = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        is_ours = is_ours || (part->p_type == PT_LOAD && build->address - info->dlpi_addr >= part->p_vaddr &&
                              build->address - info->dlpi_addr - part->p_vaddr < part->p_memsz);
    }
    for (int i = 0; is_ours && i < info->dlpi_phnum && !build->size; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            read_notes(build, (const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                       info->dlpi_phdr[i].p_memsz);
    return is_ours;
}

// All but the build id, which stands behind it.
struct identity {
    uint64_t content[2], device, inode, size, seconds, nanoseconds;
};

static bool key_of(const struct identity *source, struct chunk_hash *out) {
    struct {
        struct identity source;
        uint8_t build[BUILD_ID_MAX];
    } all;
    struct build build = {.address = (uintptr_t)&visit_object};
    if (!dl_iterate_phdr(visit_object, &build) || !build.size)
        return false;
    memset(&all, 0, sizeof all);
    all.source = *source;
    memcpy(all.build, build.id, build.size);
    *out = chunk_hash_of(&all, sizeof all);
    return true;
}

static bool find_key(int source, struct chunk_hash *out) {
    struct stat stat;
    struct chunk_hash content;
    if (fstat(source, &stat) != 0 || !S_ISREG(stat.st_mode) || stat.st_size < IMPORT_CACHE_LEAST ||
        !hash_file(source, (uint64_t)stat.st_size, &content))
        return false;
    return key_of(&(struct identity){.content = {content.low, content.high},
                                     .device = (uint64_t)stat.st_dev,
                                     .inode = (uint64_t)stat.st_ino,
                                     .size = (uint64_t)stat.st_size,
                                     .seconds = (uint64_t)stat.st_mtim.tv_sec,
                                     .nanoseconds = (uint64_t)stat.st_mtim.tv_nsec},
                  out);
}

// ---- the folder

static bool make_folders(const char *path) {
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof part)
        return false;
    memcpy(part, path, length + 1);
    for (char *at = part + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return false;
        *at = '/';
    }
    return mkdir(part, 0700) == 0 || errno == EEXIST;
}

static int open_folder(const char *path) {
    struct stat stat;
    if (!make_folders(path))
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &stat) == 0 && stat.st_uid == geteuid() && (stat.st_mode & 077) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static void add_hash(char *text, struct chunk_hash hash) {
    (void)snprintf(text, HASH_TEXT + 1, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}

static bool ends_in(const char *name, const char *ending) {
    size_t length = strlen(name), end = strlen(ending);
    return length > end && strcmp(name + length - end, ending) == 0;
}

// The folder's entries from its beginning, or NULL.
static DIR *list_folder(const struct import_cache *cache) {
    int fd = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !list)
        (void)close(fd);
    return list;
}

void import_cache_open(struct import_cache *cache, const char *folder, uint64_t limit, int source) {
    *cache = (struct import_cache){.folder = -1, .source = source, .limit = limit ? limit : LIMIT};
    if (folder)
        cache->folder = open_folder(folder);
    if (cache->folder >= 0 && !find_key(source, &cache->key))
        import_cache_close(cache);
}

void import_cache_open_by(struct import_cache *cache, const char *folder, uint64_t limit,
                          struct chunk_hash identity) {
    *cache =
        (struct import_cache){.folder = open_folder(folder), .source = -1, .limit = limit ? limit : LIMIT};
    if (cache->folder >= 0 &&
        !key_of(&(struct identity){.content = {identity.low, identity.high}}, &cache->key))
        import_cache_close(cache);
}

void import_cache_close(struct import_cache *cache) {
    if (cache->folder >= 0)
        (void)close(cache->folder);
    cache->folder = -1;
}

// ---- finding

// Opens an entry whose content matches its name.
static int open_entry(const struct import_cache *cache, const char *name) {
    struct stat stat;
    struct chunk_hash content;
    char check[HASH_TEXT + 1];
    int fd = openat(cache->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && hash_file(fd, (uint64_t)stat.st_size, &content)) {
        add_hash(check, content);
        if (memcmp(check, name + HASH_TEXT + 1, HASH_TEXT) == 0) {
            // When it was used last. This needs no right to write to it beyond being its owner.
            (void)futimens(fd, NULL);
            return fd;
        }
    }
    (void)close(fd);
    (void)unlinkat(cache->folder, name, 0);
    return -1;
}

// The next entry of the key.
static const char *next_entry(const struct import_cache *cache, DIR *list) {
    char key[HASH_TEXT + 1];
    add_hash(key, cache->key);
    for (struct dirent *entry; (entry = readdir(list));)
        if (strlen(entry->d_name) == 2 * HASH_TEXT + 1 + strlen(ENDING) && ends_in(entry->d_name, ENDING) &&
            memcmp(entry->d_name, key, HASH_TEXT) == 0)
            return entry->d_name;
    return NULL;
}

int import_cache_find(struct import_cache *cache) {
    int found = -1;
    DIR *list = cache->folder >= 0 ? list_folder(cache) : NULL;
    for (const char *name; list && found < 0 && (name = next_entry(cache, list));)
        found = open_entry(cache, name);
    if (list)
        (void)closedir(list);
    return found;
}

void import_cache_remove(struct import_cache *cache) {
    DIR *list = cache->folder >= 0 ? list_folder(cache) : NULL;
    for (const char *name; list && (name = next_entry(cache, list));)
        (void)unlinkat(cache->folder, name, 0);
    if (list)
        (void)closedir(list);
}

// ---- keeping

struct entry {
    char name[NAME_SIZE];
    uint64_t size;
    struct timespec used;
};

static int compare_used(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec)
        return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

// An entry, or what a process that was killed left of one. Other files in the folder are not ours.
static bool is_ours(const char *name) {
    return strlen(name) < NAME_SIZE &&
           (ends_in(name, ENDING) || strncmp(name, UNFINISHED, strlen(UNFINISHED)) == 0);
}

// Removes what was used longest ago until `wanted` more bytes have room. False: they have none.
static bool make_room(const struct import_cache *cache, uint64_t wanted) {
    struct entry *entries = NULL;
    size_t count = 0, capacity = 0;
    uint64_t total = 0;
    DIR *list = list_folder(cache);
    bool good = list != NULL;
    for (struct dirent *at; good && (at = readdir(list));) {
        struct stat stat;
        if (!is_ours(at->d_name) || fstatat(cache->folder, at->d_name, &stat, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        bool unfinished = !ends_in(at->d_name, ENDING);
        if (unfinished && stat.st_mtim.tv_sec + LEFT_AFTER_S < time(NULL)) {
            (void)unlinkat(cache->folder, at->d_name, 0);
            continue;
        }
        total += (uint64_t)stat.st_size;
        if (unfinished) // another process writes it
            continue;
        good = ARRAY_RESERVE(entries, capacity, count + 1);
        if (!good)
            break;
        memcpy(entries[count].name, at->d_name, strlen(at->d_name) + 1); // is_ours: it fits
        entries[count].size = (uint64_t)stat.st_size;
        entries[count++].used = stat.st_mtim;
    }
    if (count)
        qsort(entries, count, sizeof *entries, compare_used);
    for (size_t i = 0; good && i < count && total + wanted > cache->limit; i++)
        if (unlinkat(cache->folder, entries[i].name, 0) == 0 || errno == ENOENT)
            total -= entries[i].size;
    if (list)
        (void)closedir(list);
    free(entries);
    return good && total + wanted <= cache->limit;
}

static bool copy_file(int from, int to, uint64_t size) {
    char *block = malloc(BLOCK);
    bool good = block != NULL;
    for (uint64_t at = 0; good && at < size;) {
        ssize_t got = pread(from, block, BLOCK, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        good = got > 0 && file_write(to, block, (size_t)got);
        at += got > 0 ? (uint64_t)got : 0;
    }
    free(block);
    return good;
}

// Under a temporary name, so that no other process sees it before it is complete.
static bool write_entry(const struct import_cache *cache, int made, uint64_t size, const char *name) {
    char temporary[NAME_SIZE];
    uint64_t number;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        return false;
    (void)snprintf(temporary, sizeof temporary, UNFINISHED "%016" PRIx64, number);
    int fd = openat(cache->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    // Space first: beyond the file size limit, or on a full disk, nothing is begun.
    bool good = file_reserve(fd, 0, size) && copy_file(made, fd, size);
    good = close(fd) == 0 && good;
    good = good && renameat(cache->folder, temporary, cache->folder, name) == 0;
    if (!good)
        (void)unlinkat(cache->folder, temporary, 0);
    return good;
}

void import_cache_keep(struct import_cache *cache, int made) {
    struct stat stat;
    struct chunk_hash now, content;
    char key[HASH_TEXT + 1], check[HASH_TEXT + 1], name[NAME_SIZE];
    if (cache->folder < 0 || fstat(made, &stat) != 0 || (uint64_t)stat.st_size > cache->limit)
        return;
    // The importer has read the source after it was hashed: if it is still the same, that is what was read.
    if ((cache->source >= 0 && (!find_key(cache->source, &now) || !chunk_hash_equal(now, cache->key))) ||
        !hash_file(made, (uint64_t)stat.st_size, &content) || !make_room(cache, (uint64_t)stat.st_size))
        return;
    add_hash(key, cache->key);
    add_hash(check, content);
    (void)snprintf(name, sizeof name, "%s-%s" ENDING, key, check);
    (void)write_entry(cache, made, (uint64_t)stat.st_size, name);
}
