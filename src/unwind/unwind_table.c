// SPDX-License-Identifier: Apache-2.0
// The table of loaded modules and their unwind information. The unwinder looks modules up, and a helper thread
// refreshes it.
#include "unwind/unwind_table.h"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "unwind/unwind_debug.h"

enum { WORDS = sizeof(struct unwind_module) / sizeof(uint64_t), CAPACITY_FIRST = 256, RETRIES = 3 };

// Words, not structures: a late reader may read while the writer writes, and throws away what it read.
struct copy {
    _Atomic(_Atomic uint64_t *) words;
    _Atomic uint64_t count;
    uint64_t capacity; // of modules; the writer's
};

static struct {
    _Atomic uint64_t version;
    struct copy copies[2];
    _Atomic int writer; // the process that refreshes: one that a fork left behind does not count
    uint64_t added, removed;
} table;

// --- the writer ----------------------------------------------------------------------------------

struct gathering {
    struct copy *copy;
    const struct unwind_visitor *visitor;
    uint64_t count;
    bool is_first, unchanged, failed;
    bool
        stays; // modules that the program was started with come first, the linker itself at their end or before
};

static bool grow(struct copy *copy, uint64_t count) {
    uint64_t capacity = copy->capacity ? copy->capacity * 2 : CAPACITY_FIRST;
    _Atomic uint64_t *words = mmap(NULL, capacity * sizeof(struct unwind_module), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (words == MAP_FAILED)
        return false;
    _Atomic uint64_t *old = atomic_load_explicit(&copy->words, memory_order_relaxed);
    for (uint64_t i = 0; i < count * WORDS; i++)
        atomic_store_explicit(&words[i], atomic_load_explicit(&old[i], memory_order_relaxed),
                              memory_order_relaxed);
    atomic_store_explicit(&copy->words, words, memory_order_release);
    copy->capacity = capacity;
    return true;
}

static uint64_t word_of(const struct copy *copy, uint64_t module, uint64_t word) {
    return atomic_load_explicit(
        &atomic_load_explicit(&copy->words, memory_order_acquire)[module * WORDS + word],
        memory_order_relaxed);
}

// Inserts in order: the loader lists modules in the order they came, which is nearly sorted, downwards.
static bool insert(struct gathering *gathering, const struct unwind_module *module) {
    struct copy *copy = gathering->copy;
    if (gathering->count == copy->capacity && !grow(copy, gathering->count))
        return false;
    _Atomic uint64_t *words = atomic_load_explicit(&copy->words, memory_order_relaxed);
    uint64_t at = gathering->count++;
    for (; at > 0 && word_of(copy, at - 1, 0) > module->begin; at--)
        for (uint64_t word = 0; word < WORDS; word++)
            atomic_store_explicit(&words[at * WORDS + word], word_of(copy, at - 1, word),
                                  memory_order_relaxed);
    uint64_t values[WORDS];
    memcpy(values, module, sizeof values);
    for (uint64_t word = 0; word < WORDS; word++)
        atomic_store_explicit(&words[at * WORDS + word], values[word], memory_order_relaxed);
    return true;
}

// Whether `segment` is memory that can be read and holds `address`.
static bool holds_address(const struct dl_phdr_info *info, const ElfW(Phdr) * segment, uint64_t address) {
    uint64_t begin = info->dlpi_addr + segment->p_vaddr;
    return segment->p_type == PT_LOAD && segment->p_flags & PF_R && address >= begin &&
           address - begin < segment->p_filesz;
}

static void find_frames(const struct dl_phdr_info *info, struct unwind_module *module) {
    uint64_t header = 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            header = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    for (int i = 0; header && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (holds_address(info, segment, header)) {
            module->frame_begin = info->dlpi_addr + segment->p_vaddr;
            module->frame_end = module->frame_begin + segment->p_filesz;
            module->frame_header = header - module->frame_begin;
        }
    }
}

// The build id, a note of a segment that is mapped.
static void find_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) * notes,
                          struct unwind_object *object) {
    enum { HEADER = 12, NAME = 4 }; // sizes of name and content, type; "GNU"
    const uint8_t *at = (const uint8_t *)(uintptr_t)(info->dlpi_addr + notes->p_vaddr);
    uint64_t left = notes->p_filesz;
    while (left >= HEADER) {
        uint64_t name = ((uint64_t)bytes_get_u32(at) + 3) & ~UINT64_C(3);
        uint64_t size = bytes_get_u32(at + 4), content = (size + 3) & ~UINT64_C(3);
        if (name > left - HEADER || content > left - HEADER - name)
            return;
        if (bytes_get_u32(at + 8) == NT_GNU_BUILD_ID && name == NAME && !memcmp(at + HEADER, "GNU", NAME)) {
            object->build_id = at + HEADER + NAME;
            object->build_id_bytes = size;
            return;
        }
        at += HEADER + name + content;
        left -= HEADER + name + content;
    }
}

static struct unwind_object describe(const struct dl_phdr_info *info) {
    struct unwind_object object = {
        .name = info->dlpi_name ? info->dlpi_name : "", .bias = info->dlpi_addr, .begin = UINT64_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
            object.begin = begin < object.begin ? begin : object.begin;
            object.end = begin + segment->p_memsz > object.end ? begin + segment->p_memsz : object.end;
        }
        for (int j = 0; segment->p_type == PT_NOTE && !object.build_id && j < info->dlpi_phnum; j++)
            if (holds_address(info, &info->dlpi_phdr[j], begin) &&
                holds_address(info, &info->dlpi_phdr[j], begin + segment->p_filesz - 1))
                find_build_id(info, segment, &object);
    }
    return object;
}

static void visit(const struct unwind_visitor *visitor, const struct dl_phdr_info *info) {
    struct unwind_object object = describe(info);
    if (object.begin < object.end)
        visitor->object(visitor->context, &object);
}

// This code is linked into libraries that are never closed.
static bool is_own_code(const struct unwind_object *object) {
    uint64_t here = (uint64_t)(uintptr_t)&unwind_table_version;
    return here >= object->begin && here < object->end;
}

static void find_identity(const struct dl_phdr_info *info, bool stays, struct unwind_module *module) {
    struct unwind_object object = describe(info);
    if (stays || is_own_code(&object))
        return;
    if (object.build_id_bytes >= sizeof module->content)
        module->identity = (uint64_t)(uintptr_t)object.build_id;
    else if (module->frame_end - module->frame_begin - module->frame_header >= sizeof module->content)
        module->identity = module->frame_begin + module->frame_header;
    if (module->identity)
        memcpy(module->content, (const void *)(uintptr_t)module->identity, sizeof module->content);
}

static int gather(struct dl_phdr_info *info, size_t size, void *context) {
    struct gathering *gathering = context;
    if (gathering->is_first && size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        if (unwind_table_version() && info->dlpi_adds == table.added && info->dlpi_subs == table.removed) {
            gathering->unchanged = true;
            return 1;
        }
        table.added = info->dlpi_adds;
        table.removed = info->dlpi_subs;
    }
    gathering->is_first = false;
    if (gathering->visitor)
        visit(gathering->visitor, info);
    struct unwind_module module = {0};
    find_frames(info, &module);
    find_identity(info, gathering->stays, &module);
    if (info->dlpi_addr == getauxval(AT_BASE))
        gathering->stays = false;
    for (int i = 0; i < info->dlpi_phnum && !gathering->failed; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        module.begin = info->dlpi_addr + segment->p_vaddr;
        module.end = module.begin + segment->p_memsz;
        gathering->failed = !insert(gathering, &module);
    }
    return gathering->failed;
}

// One at a time. The lock has the owner's process in it: one that a fork has left locked is taken over.
static void lock_table(void) {
    int self = (int)getpid(), other = 0;
    while (!atomic_compare_exchange_weak_explicit(&table.writer, &other, self, memory_order_acquire,
                                                  memory_order_relaxed)) {
        if (other == self)
            sched_yield();
        other = other == self ? 0 : other;
    }
}

bool unwind_table_refresh(const struct unwind_visitor *visitor) {
    lock_table();
    uint64_t version = unwind_table_version();
    struct gathering gathering = {
        .copy = &table.copies[(version + 1) & 1], .visitor = visitor, .is_first = true, .stays = true};
    // A reader that sees a word written after this fence also sees the version that directs it to the other copy.
    atomic_thread_fence(memory_order_seq_cst);
    dl_iterate_phdr(gather, &gathering);
    if (gathering.failed) {
        table.added = 0; // the next refresh looks again
    } else if (!gathering.unchanged) {
        if (visitor)
            visitor->all_seen(visitor->context);
        atomic_store_explicit(&gathering.copy->count, gathering.count, memory_order_release);
        atomic_store_explicit(&table.version, ++version, memory_order_seq_cst);
    }
    if (unwind_debug_load()) // the copy that is current stays it
        atomic_store_explicit(&table.version, version + 2, memory_order_seq_cst);
    atomic_store_explicit(&table.writer, 0, memory_order_release);
    return !gathering.failed;
}

// --- the readers ---------------------------------------------------------------------------------

uint64_t unwind_table_version(void) {
    return atomic_load_explicit(&table.version, memory_order_acquire);
}

static bool look_up(const struct copy *copy, uint64_t pc, struct unwind_module *module) {
    uint64_t count = atomic_load_explicit(&copy->count, memory_order_acquire), first = 0;
    while (count > 1) {
        uint64_t half = count / 2;
        if (word_of(copy, first + half, 0) <= pc) {
            first += half;
            count -= half;
        } else {
            count = half;
        }
    }
    if (!count)
        return false;
    uint64_t values[WORDS];
    for (uint64_t word = 0; word < WORDS; word++)
        values[word] = word_of(copy, first, word);
    memcpy(module, values, sizeof values);
    return pc >= module->begin && pc < module->end;
}

// True: `module` has the code at pc. A table that changes time and again under a reader is as good as none.
static bool find_module(uint64_t pc, struct unwind_module *module) {
    for (int i = 0; i < RETRIES; i++) {
        uint64_t version = unwind_table_version();
        bool found = version && look_up(&table.copies[version & 1], pc, module);
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&table.version, memory_order_relaxed) == version)
            return found;
    }
    return false;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
// glibc 2.35 and later can report the loaded modules without a lock; with an older one this stays NULL.
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));
#endif

// A module that has been closed since the last refresh must not be read: its frames are on no stack any more, but a
// program counter that was guessed, or that the program has smashed, may point there.
static bool is_loaded(uint64_t pc, const struct unwind_module *module) {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found;
    if (_dl_find_object)
        return _dl_find_object((void *)(uintptr_t)pc, &found) == 0 &&
               (uint64_t)(uintptr_t)found.dlfo_eh_frame == module->frame_begin + module->frame_header;
#endif
    (void)pc, (void)module;
    return true;
}

bool unwind_table_still(uint64_t pc, const struct unwind_entered *module) {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found;
    uint64_t content[2];
    if (!_dl_find_object || !module->identity)
        return true;
    if (_dl_find_object((void *)(uintptr_t)pc, &found) ||
        (uint64_t)(uintptr_t)found.dlfo_eh_frame != module->header ||
        module->identity < (uint64_t)(uintptr_t)found.dlfo_map_start ||
        module->identity + sizeof content > (uint64_t)(uintptr_t)found.dlfo_map_end)
        return false;
    memcpy(content, (const void *)(uintptr_t)module->identity, sizeof content);
    return content[0] == module->content[0] && content[1] == module->content[1];
#else
    (void)pc, (void)module;
    return true;
#endif
}

bool unwind_table_enter(uint64_t pc, struct unwind_entered *entered) {
    struct unwind_module module;
    if (find_module(pc, &module)) {
        *entered = (struct unwind_entered){.begin = module.begin,
                                           .size = module.end - module.begin,
                                           .header = module.frame_begin + module.frame_header,
                                           .identity = module.identity,
                                           .content = {module.content[0], module.content[1]}};
        return unwind_table_still(pc, entered);
    }
    *entered = (struct unwind_entered){.begin = pc, .size = 1};
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found;
    return !_dl_find_object || _dl_find_object((void *)(uintptr_t)pc, &found) != 0;
#else
    return true;
#endif
}

static bool find_loaded_row(const struct unwind_module *module, uint64_t pc, struct cfi_section *section,
                            struct cfi_row *row) {
    *section = (struct cfi_section){.start = (const uint8_t *)(uintptr_t)module->frame_begin,
                                    .end = (const uint8_t *)(uintptr_t)module->frame_end,
                                    .address = module->frame_begin,
                                    .header = module->frame_header};
    return module->frame_begin && cfi_find(section, pc, row);
}

enum unwind_found unwind_table_find(uint64_t pc, struct cfi_section *section, struct cfi_row *row) {
    struct unwind_module module;
    if (!find_module(pc, &module))
        return UNWIND_NO_MODULE;
    if (module.frame_begin && !is_loaded(pc, &module))
        return UNWIND_NO_MODULE;
    if (find_loaded_row(&module, pc, section, row) ||
        unwind_debug_find(&module, pc, section, row) == UNWIND_DEBUG_ROW)
        return UNWIND_ROW;
    return UNWIND_NO_ROW;
}
