// SPDX-License-Identifier: Apache-2.0
#include "stack/symbols_image.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/bytes.h"

// Everything lines and functions are told by. X(name without its point)
#define SECTIONS(X)                                                                                          \
    X(debug_info)                                                                                            \
    X(debug_types)                                                                                           \
    X(debug_abbrev)                                                                                          \
    X(debug_line)                                                                                            \
    X(debug_str)                                                                                             \
    X(debug_line_str)                                                                                        \
    X(debug_ranges)                                                                                          \
    X(debug_rnglists)                                                                                        \
    X(debug_addr)                                                                                            \
    X(debug_str_offsets)

enum {
    PADDING = 16,
    FACTOR_MAX = 1100,
    NAME_SIZE = 20
};                                                   // zlib cannot pack better; of zstd no more is believed
static const uint64_t IMAGE_MAX = UINT64_C(4) << 30; // bytes of all sections: beyond it there are no lines
enum packing { PLAIN, ZLIB, ZSTANDARD };

// A section as it is in the file, and what becomes of it.
struct piece {
    uint8_t *bytes;
    const uint8_t *from; // within bytes, behind a header
    size_t length;
    enum packing packing;
    uint64_t size, offset; // in the image
};

static const char NAMES[][NAME_SIZE] = {
#define NAME(name) "." #name,
    SECTIONS(NAME)
#undef NAME
};
enum { COUNT = sizeof NAMES / sizeof *NAMES };

// Reads the header of what is packed. False when it is damaged, or packed in a way that is not known.
static bool understand(struct piece *piece, const Elf64_Shdr *section, bool old) {
    piece->from = piece->bytes;
    piece->size = piece->length;
    if (old && piece->length >= 12 && memcmp(piece->bytes, "ZLIB", 4) == 0) {
        piece->packing = ZLIB;
        piece->size = be64toh(bytes_get_u64(piece->bytes + 4));
        piece->from += 12;
    } else if (section->sh_flags & SHF_COMPRESSED) {
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
    return piece->packing == PLAIN || piece->size / FACTOR_MAX <= piece->length;
}

static bool read_piece(const struct elf_file *file, size_t index, struct piece *piece) {
    char old_name[NAME_SIZE + 1];
    (void)snprintf(old_name, sizeof old_name, ".z%s", NAMES[index] + 1);
    const Elf64_Shdr *section = elf_file_section(file, NAMES[index]);
    bool old = !section && (section = elf_file_section(file, old_name));
    if (!section)
        return true;
    piece->bytes = elf_file_read(file, section, &piece->length);
    return piece->bytes && understand(piece, section, old);
}

static bool unpack(const struct piece *piece, char *to) {
    uLongf size = piece->size;
    switch (piece->packing) {
    case ZLIB:
        return uncompress((Bytef *)to, &size, piece->from, piece->length) == Z_OK && size == piece->size;
    case ZSTANDARD:
        return ZSTD_decompress(to, piece->size, piece->from, piece->length) == piece->size;
    default:
        memcpy(to, piece->from, piece->length);
        return true;
    }
}

// The header of the file, its sections, and the section with their names.
static void write_heads(char *image, uint64_t sections_at, uint64_t names_at, const struct piece *pieces,
                        uint16_t machine) {
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

struct symbols_image symbols_image_make(const struct elf_file *file) {
    struct piece pieces[COUNT] = {{0}};
    struct symbols_image image = {0};
    uint64_t at = sizeof(Elf64_Ehdr);
    bool ok = true;
    for (size_t i = 0; ok && i < COUNT; i++) {
        ok = read_piece(file, i, &pieces[i]) && !__builtin_add_overflow(at, PADDING, &pieces[i].offset) &&
             !__builtin_add_overflow(pieces[i].offset, pieces[i].size, &at) && at < IMAGE_MAX;
        at = (at + PADDING) & ~(uint64_t)(PADDING - 1);
    }
    uint64_t sections_at = at + PADDING, names_at = sections_at + (COUNT + 2) * sizeof(Elf64_Shdr);
    image.size = names_at + COUNT * NAME_SIZE + PADDING;
    if (ok && pieces[0].size)
        image.bytes = calloc(image.size, 1);
    ok = image.bytes != NULL;
    for (size_t i = 0; i < COUNT; i++) {
        ok = ok && (!pieces[i].size || unpack(&pieces[i], image.bytes + pieces[i].offset));
        free(pieces[i].bytes);
    }
    if (ok) {
        write_heads(image.bytes, sections_at, names_at, pieces, file->machine);
        return image;
    }
    free(image.bytes);
    return (struct symbols_image){0};
}
