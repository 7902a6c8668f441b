// SPDX-License-Identifier: Apache-2.0
// Builds an in-memory ELF file of unpacked debug sections for libdw. dwarf_info.c and the reader of split DWARF call
// it.
#include "symbols/image.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/quiet_thread.h"
#include "symbols/inflate.h"

enum {
    PADDING = 16,
    FACTOR_MAX = 1100, // zlib cannot pack better; of zstd no more is believed
    NAME_SIZE = 24,
    THREAD_LEAST = 256 << 10 // packed bytes that are worth a thread of their own
};
static const uint64_t IMAGE_MAX = UINT64_C(4) << 30; // bytes of all sections: beyond it there are no lines
enum packing { PLAIN, ZLIB, ZSTANDARD };

// A section as it is, and what becomes of it.
struct piece {
    const struct elf_file *file; // where a plain one is; NULL: at `from`
    const Elf64_Shdr *section;
    uint8_t *bytes;      // of a packed one, to be freed
    const uint8_t *from; // within bytes, behind a header
    size_t length;
    enum packing packing;
    uint64_t size, offset; // in the image
};

static const char NAMES[][NAME_SIZE] = {
#define NAME(NAME, name) "." #name,
    SYMBOLS_SECTION_TABLE(NAME)
#undef NAME
};

// ---- sections

// Reads the header of what is packed. False when it is damaged, or packed in a way that is not known.
static bool read_header(struct piece *piece, bool old) {
    piece->from = piece->bytes;
    if (old) {
        if (piece->length < 12 || memcmp(piece->bytes, "ZLIB", 4) != 0)
            return false;
        piece->packing = ZLIB;
        piece->size = __builtin_bswap64(bytes_get_u64(piece->bytes + 4));
        piece->from += 12;
    } else {
        Elf64_Chdr head;
        if (piece->length < sizeof head)
            return false;
        memcpy(&head, piece->bytes, sizeof head);
        if (head.ch_type != 1 && head.ch_type != 2) // ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD
            return false;
        piece->packing = head.ch_type == 1 ? ZLIB : ZSTANDARD;
        piece->size = head.ch_size;
        piece->from += sizeof head;
    }
    piece->length -= (size_t)(piece->from - piece->bytes);
    return piece->size / FACTOR_MAX <= piece->length;
}

// A plain one is read later, to where it belongs.
static bool take_piece(const struct elf_file *file, const Elf64_Shdr *section, bool old,
                       struct piece *piece) {
    piece->file = file;
    piece->section = section;
    piece->size = piece->length = elf_file_size(file, section);
    if (!old && !(section->sh_flags & SHF_COMPRESSED))
        return true;
    piece->bytes = elf_file_read(file, section, &piece->length);
    return piece->bytes && read_header(piece, old);
}

// What there is of that name.
static bool find_piece(const struct elf_file *file, const char *name, struct piece *piece) {
    char old_name[NAME_SIZE + 1];
    (void)snprintf(old_name, sizeof old_name, ".z%s", name + 1);
    const Elf64_Shdr *section = elf_file_section(file, name);
    bool old = !section && (section = elf_file_section(file, old_name));
    return !section || take_piece(file, section, old, piece);
}

static bool unpack(const struct piece *piece, uint8_t *to) {
    switch (piece->packing) {
    case ZLIB:
        return symbols_inflate(piece->from, piece->length, to, piece->size);
    case ZSTANDARD:
        return ZSTD_decompress(to, piece->size, piece->from, piece->length) == piece->size;
    default:
        if (piece->file)
            return elf_file_copy(piece->file, piece->section, 0, to, piece->length);
        memcpy(to, piece->from, piece->length);
        return true;
    }
}

static uint8_t *read_piece(const struct piece *piece, size_t *size) {
    uint8_t *bytes = piece->size && piece->size < IMAGE_MAX ? malloc(piece->size + PADDING) : NULL;
    *size = 0;
    if (bytes && unpack(piece, bytes)) {
        *size = piece->size;
        memset(bytes + piece->size, 0, PADDING);
    } else {
        free(bytes);
        bytes = NULL;
    }
    free(piece->bytes);
    return bytes;
}

uint8_t *symbols_image_section(const struct elf_file *file, const char *name, size_t *size) {
    struct piece piece = {0};
    if (!find_piece(file, name, &piece))
        piece.size = 0;
    return read_piece(&piece, size);
}

uint8_t *symbols_image_read(const struct elf_file *file, const Elf64_Shdr *section, size_t *size) {
    struct piece piece = {0};
    if (!take_piece(file, section, false, &piece))
        piece.size = 0;
    return read_piece(&piece, size);
}

// ---- the image

// The header of the file, its sections, and the section with their names.
static void write_heads(char *image, uint64_t sections_at, uint64_t names_at, const struct piece *pieces,
                        uint16_t machine) {
    enum { COUNT = SYMBOLS_SECTIONS };
    Elf64_Ehdr head = {.e_type = ET_EXEC,
                       .e_machine = machine,
                       .e_version = EV_CURRENT,
                       .e_shoff = sections_at,
                       .e_ehsize = sizeof head,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = COUNT + 2,
                       .e_shstrndx = COUNT + 1};
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_VERSION] = EV_CURRENT;
    memcpy(image, &head, sizeof head);
    for (uint32_t i = 0; i <= COUNT; i++) {
        Elf64_Shdr section = {.sh_type = i < COUNT ? SHT_PROGBITS : SHT_STRTAB, .sh_addralign = 1};
        section.sh_name = i < COUNT ? i * NAME_SIZE + 1 : 0;
        section.sh_offset = i < COUNT ? pieces[i].offset : names_at;
        section.sh_size = i < COUNT ? pieces[i].size : COUNT * NAME_SIZE + 1;
        if (!section.sh_size)
            section.sh_type = SHT_NULL;
        memcpy(image + sections_at + (i + 1) * sizeof section, &section, sizeof section);
    }
    memcpy(image + names_at + 1, NAMES, sizeof NAMES);
}

// Every second share of the pieces, by what there is to unpack.
struct share {
    struct piece *pieces;
    char *image;
    bool second[SYMBOLS_SECTIONS], mine, ok;
};

static void *fill(void *context) {
    struct share *share = context;
    for (size_t i = 0; i < SYMBOLS_SECTIONS; i++)
        if (share->second[i] == share->mine && share->pieces[i].size)
            share->ok &= unpack(&share->pieces[i], (uint8_t *)share->image + share->pieces[i].offset);
    return NULL;
}

// The largest packed one is for another thread, if it is large; true: there is such.
static bool divide_work(struct share *share) {
    size_t largest = 0;
    for (size_t i = 0; i < SYMBOLS_SECTIONS; i++)
        if (share->pieces[i].packing != PLAIN && (share->pieces[largest].packing == PLAIN ||
                                                  share->pieces[i].length > share->pieces[largest].length))
            largest = i;
    share->second[largest] =
        share->pieces[largest].packing != PLAIN && share->pieces[largest].length >= THREAD_LEAST;
    return share->second[largest];
}

static bool fill_all(struct piece *pieces, char *image) {
    struct share first = {.pieces = pieces, .image = image, .ok = true}, second;
    pthread_t thread;
    bool two = divide_work(&first);
    second = first;
    second.mine = true;
    bool started = two && quiet_thread_start(&thread, fill, &second) == 0;
    (void)fill(&first);
    if (started)
        (void)pthread_join(thread, NULL);
    else if (two)
        (void)fill(&second);
    return first.ok && second.ok;
}

// Large pages, where there are such: a fault for each small one takes as long as unpacking it.
static char *take_memory(size_t size) {
    enum { HUGE_PAGE = 2 << 20 };
    if (size < HUGE_PAGE || size > SIZE_MAX - HUGE_PAGE)
        return malloc(size);
    char *bytes = aligned_alloc(HUGE_PAGE, (size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1));
    if (bytes)
        (void)madvise(bytes, size, MADV_HUGEPAGE);
    return bytes;
}

// Lays the pieces out, and frees what was read of them.
static struct symbols_image build(struct piece *pieces, bool ok, uint16_t machine) {
    struct symbols_image image = {0};
    uint64_t at = sizeof(Elf64_Ehdr);
    for (size_t i = 0; ok && i < SYMBOLS_SECTIONS; i++) {
        ok = !__builtin_add_overflow(at, PADDING, &pieces[i].offset) &&
             !__builtin_add_overflow(pieces[i].offset, pieces[i].size, &at) && at < IMAGE_MAX;
        at = (at + PADDING) & ~(uint64_t)(PADDING - 1);
    }
    uint64_t sections_at = at + PADDING, names_at = sections_at + (SYMBOLS_SECTIONS + 2) * sizeof(Elf64_Shdr);
    image.size = names_at + SYMBOLS_SECTIONS * NAME_SIZE + PADDING;
    if (ok && pieces[SYMBOLS_INFO].size)
        image.bytes = take_memory(image.size);
    ok = image.bytes != NULL;
    if (ok) {
        uint64_t end = 0; // of what has been written: zeros between the sections, and behind the last
        for (size_t i = 0; i < SYMBOLS_SECTIONS; i++) {
            memset(image.bytes + end, 0, pieces[i].offset - end);
            end = pieces[i].offset + pieces[i].size;
        }
        memset(image.bytes + end, 0, image.size - end);
        ok = fill_all(pieces, image.bytes);
    }
    for (size_t i = 0; i < SYMBOLS_SECTIONS; i++)
        free(pieces[i].bytes);
    if (ok) {
        write_heads(image.bytes, sections_at, names_at, pieces, machine);
        return image;
    }
    free(image.bytes);
    return (struct symbols_image){0};
}

struct symbols_image symbols_image_make(const struct elf_file *file) {
    struct piece pieces[SYMBOLS_SECTIONS] = {{0}};
    bool ok = true;
    for (size_t i = 0; ok && i < SYMBOLS_SECTIONS; i++)
        ok = find_piece(file, NAMES[i], &pieces[i]);
    return build(pieces, ok, file->machine);
}

struct symbols_bytes symbols_image_part(const struct symbols_image *image, enum symbols_section which) {
    Elf64_Ehdr head;
    Elf64_Shdr section;
    memcpy(&head, image->bytes, sizeof head);
    memcpy(&section, image->bytes + head.e_shoff + ((size_t)which + 1) * sizeof section, sizeof section);
    return (struct symbols_bytes){(const uint8_t *)image->bytes + section.sh_offset, section.sh_size};
}

struct symbols_image symbols_image_of(const struct symbols_bytes sections[SYMBOLS_SECTIONS],
                                      uint16_t machine) {
    struct piece pieces[SYMBOLS_SECTIONS] = {{0}};
    for (size_t i = 0; i < SYMBOLS_SECTIONS; i++)
        pieces[i] =
            (struct piece){.from = sections[i].bytes, .length = sections[i].size, .size = sections[i].size};
    return build(pieces, true, machine);
}
