// SPDX-License-Identifier: Apache-2.0
// ELF of 64 bits, for systems whose programs have another format: the parts that import/xray/map.c reads from the program that wrote a log
// of XRay.
#ifndef PLATFORM_OTHER_ELF_H
#define PLATFORM_OTHER_ELF_H

#include <stdint.h>

#define ELFMAG "\177ELF"
#define ELF64_ST_TYPE(info) ((info)&0xf)
enum {
    SELFMAG = 4,
    EI_CLASS = 4,
    EI_DATA = 5,
    EI_NIDENT = 16,
    ELFCLASS64 = 2,
    ELFDATA2LSB = 1,
    STT_FUNC = 2
};
enum { SHT_SYMTAB = 2, SHT_RELA = 4, SHT_NOBITS = 8, SHT_DYNSYM = 11 };

typedef struct {
    unsigned char e_ident[EI_NIDENT];
    uint16_t e_type, e_machine;
    uint32_t e_version;
    uint64_t e_entry, e_phoff, e_shoff;
    uint32_t e_flags;
    uint16_t e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx;
} Elf64_Ehdr;

typedef struct {
    uint32_t sh_name, sh_type;
    uint64_t sh_flags, sh_addr, sh_offset, sh_size;
    uint32_t sh_link, sh_info;
    uint64_t sh_addralign, sh_entsize;
} Elf64_Shdr;

typedef struct {
    uint64_t r_offset, r_info;
    int64_t r_addend;
} Elf64_Rela;

typedef struct {
    uint32_t st_name;
    unsigned char st_info, st_other;
    uint16_t st_shndx;
    uint64_t st_value, st_size;
} Elf64_Sym;

#endif
