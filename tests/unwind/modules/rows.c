// SPDX-License-Identifier: Apache-2.0
// rows FILE <ADDRESSES: prints the row of each address of an ELF file: address, CFA, then rbx rbp r12 r13 r14 r15 ra (aarch64:
// x19 to x29 and the return address), as readelf --debug-dump=frames-interp writes them.
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "unwind/cfi.h"

static bool find_section(const uint8_t *file, struct cfi_section *section) {
    const Elf64_Ehdr *head = (const void *)file;
    const Elf64_Phdr *segments = (const void *)(file + head->e_phoff), *frames = NULL;
    for (int i = 0; i < head->e_phnum; i++)
        if (segments[i].p_type == PT_GNU_EH_FRAME)
            frames = &segments[i];
    for (int i = 0; frames && i < head->e_phnum; i++) {
        const Elf64_Phdr *segment = &segments[i];
        if (segment->p_type != PT_LOAD || frames->p_vaddr < segment->p_vaddr ||
            frames->p_vaddr >= segment->p_vaddr + segment->p_filesz)
            continue;
        *section = (struct cfi_section){.start = file + segment->p_offset,
                                        .end = file + segment->p_offset + segment->p_filesz,
                                        .address = segment->p_vaddr,
                                        .header = frames->p_vaddr - segment->p_vaddr};
        return true;
    }
    return false;
}

static void print_rule(const struct cfi_rule *rule) {
    switch (rule->how) {
    case CFI_AT_OFFSET:
        printf(" c%+d", rule->value);
        break;
    case CFI_IS_OFFSET:
        printf(" v%+d", rule->value);
        break;
    case CFI_AT_EXPRESSION:
        printf(" exp");
        break;
    case CFI_IS_EXPRESSION:
        printf(" vexp");
        break;
    case CFI_IN_REGISTER:
        printf(" r%d", rule->value);
        break;
    default:
        printf(" u");
        break;
    }
}

int main(int argc, char **argv) {
    static const int SHOWN[] = {
#if defined(CFI_OF_AARCH64) || defined(__aarch64__)
        19,
        20,
        21,
        22,
        23,
        24,
        25,
        26,
        27,
        28,
        29,
        CFI_RETURN
#else
        3,
        6,
        12,
        13,
        14,
        15,
        CFI_RETURN
#endif
    };
    struct stat status;
    struct cfi_section section;
    struct cfi_row row;
    int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &status))
        return 1;
    const uint8_t *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED || !find_section(file, &section))
        return 1;
    uint64_t pc;
    while (scanf("%" SCNx64, &pc) == 1) {
        printf("%" PRIx64, pc);
        if (!cfi_find(&section, pc, &row)) {
            printf(" unknown\n");
            continue;
        }
        if (row.cfa.how == CFI_IS_EXPRESSION)
            printf(" exp");
        else
            printf(" %d%+d", row.cfa_register, row.cfa.value);
        for (size_t i = 0; i < sizeof SHOWN / sizeof *SHOWN; i++)
            print_rule(&row.registers[SHOWN[i]]);
        printf("\n");
    }
    return 0;
}
