// SPDX-License-Identifier: Apache-2.0
// XRay's flight data recorder starts only when the program calls __xray_log_init_mode, and writes its log only on
// request. This library, which is loaded before the program, does both: right before main, and at exit. In a program
// without XRay, or whose symbols were stripped, it does nothing.
//
// XRay's runtime is a part of the program itself, which exports none of it: its functions are found in the program's
// own symbol table.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// What the session sets: the recorder's configuration.
#define CONFIGURATION "TRACESMITH_XRAY_FDR"

typedef int main_function(int argc, char **argv, char **environment);
typedef int start_function(main_function *program, int argc, char **argv, void (*init)(void),
                           void (*fini)(void), void (*loader_fini)(void), void *stack_end);

static main_function *program_main;

// X(member, type, name): C functions of compiler-rt's xray_log_interface.h and xray_interface.h.
typedef int select_mode(const char *mode);
typedef int init_mode(const char *mode, const char *configuration);
typedef int no_argument(void);
#define RUNTIME_TABLE(X)                                                                                     \
    X(select, select_mode, "__xray_log_select_mode")                                                         \
    X(init, init_mode, "__xray_log_init_mode")                                                               \
    X(patch, no_argument, "__xray_patch")                                                                    \
    X(finalize, no_argument, "__xray_log_finalize")                                                          \
    X(flush, no_argument, "__xray_log_flushLog")

static struct {
#define RUNTIME_MEMBER(member, type, name) type *member;
    RUNTIME_TABLE(RUNTIME_MEMBER)
#undef RUNTIME_MEMBER
} runtime;

// ---- the program's own symbols

static int take_bias(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    *(uintptr_t *)context = info->dlpi_addr; // the program comes first
    return 1;
}

static void take_symbol(const char *name, uintptr_t address) {
#define RUNTIME_TAKE(member, type, is)                                                                       \
    if (strcmp(name, is) == 0)                                                                               \
        runtime.member = (type *)address;
    RUNTIME_TABLE(RUNTIME_TAKE)
#undef RUNTIME_TAKE
}

// Whether [offset, offset + bytes) is in a file of this size.
static bool lies_in(uint64_t offset, uint64_t bytes, uint64_t size) {
    return offset <= size && bytes <= size - offset;
}

static void read_symbols(const uint8_t *file, uint64_t size, uintptr_t bias) {
    Elf64_Ehdr head;
    memcpy(&head, file, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_shentsize != sizeof(Elf64_Shdr) ||
        !lies_in(head.e_shoff, (uint64_t)head.e_shnum * sizeof(Elf64_Shdr), size))
        return;
    for (unsigned i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr table, texts;
        memcpy(&table, file + head.e_shoff + i * sizeof table, sizeof table);
        if (table.sh_type != SHT_SYMTAB || table.sh_link >= head.e_shnum ||
            !lies_in(table.sh_offset, table.sh_size, size))
            continue;
        memcpy(&texts, file + head.e_shoff + table.sh_link * sizeof texts, sizeof texts);
        if (!lies_in(texts.sh_offset, texts.sh_size, size) || !texts.sh_size ||
            file[texts.sh_offset + texts.sh_size - 1])
            continue;
        for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            memcpy(&symbol, file + table.sh_offset + at, sizeof symbol);
            if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_value &&
                symbol.st_name < texts.sh_size)
                take_symbol((const char *)file + texts.sh_offset + symbol.st_name,
                            bias + (uintptr_t)symbol.st_value);
        }
    }
}

static bool find_runtime(void) {
    struct stat status;
    uintptr_t bias = 0;
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    if (fstat(file, &status) == 0 && status.st_size >= (off_t)sizeof(Elf64_Ehdr)) {
        const uint64_t size = (uint64_t)status.st_size;
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) {
            dl_iterate_phdr(take_bias, &bias);
            read_symbols(bytes, size, bias);
            munmap(bytes, size);
        }
    }
    close(file);
    return runtime.select && runtime.init && runtime.patch && runtime.finalize && runtime.flush;
}

// ---- before main, and at exit

static void write_log(void) {
    runtime.finalize();
    runtime.flush();
}

static int record_main(int argc, char **argv, char **environment) {
    enum { MODE_SELECTED = 0, INITIALIZED = 2 }; // XRAY_REGISTRATION_OK, XRAY_LOG_INITIALIZED
    const char *configuration = getenv(CONFIGURATION);
    if (configuration && find_runtime() && runtime.select("xray-fdr") == MODE_SELECTED &&
        runtime.init("xray-fdr", configuration) == INITIALIZED) {
        runtime.patch();
        atexit(write_log); // before what the program registers, so after it
    }
    return program_main(argc, argv, environment);
}

__attribute__((visibility("default"))) int __libc_start_main(main_function *program, int argc, char **argv,
                                                             void (*init)(void), void (*fini)(void),
                                                             void (*loader_fini)(void), void *stack_end);
int __libc_start_main(main_function *program, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack_end) {
    start_function *start = __extension__(start_function *) dlsym(RTLD_NEXT, "__libc_start_main");
    program_main = program;
    return start(record_main, argc, argv, init, fini, loader_fini, stack_end);
}
