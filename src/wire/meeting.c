// SPDX-License-Identifier: Apache-2.0
// The meeting point of one copy, and the agreement with others on one of theirs. Invariants: meeting.h. channel.c calls it when a
// channel is opened.
//
// An object file of its own in every library that opens channels (CMakeLists.txt): only it depends on the name of the build.
// Everything that is read of other objects is checked against their program headers: an object may have such a note by chance.
#include "wire/meeting.h"

#include <assert.h>
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#ifndef MEETING_BUILD
#error "MEETING_BUILD names the sources: CMakeLists.txt defines it"
#endif
static_assert(sizeof(void *) == 8, "the note has an offset of 8 bytes");

extern struct meeting_point tracesmith_meeting_point __attribute__((visibility("hidden")));
__attribute__((used)) struct meeting_point tracesmith_meeting_point = {
    .magic = {MEETING_MAGIC_0, MEETING_MAGIC_1}};

// The distance from the offset to the point: nothing to relocate when the library is loaded.
__asm__(".pushsection .note.tracesmith,\"a\",%note\n"
        ".balign 4\n"
        ".long 11, 8, 1\n"
        ".asciz \"" MEETING_NOTE_OWNER "\"\n"
        ".balign 4\n"
        ".quad tracesmith_meeting_point - .\n"
        ".popsection\n");

struct note {
    uint32_t owner_bytes, bytes, type;
    char owner[12];
    unsigned char offset[8];
};
static const struct note expected = {
    sizeof MEETING_NOTE_OWNER, 8, MEETING_NOTE_TYPE, MEETING_NOTE_OWNER, {0}};

static struct meeting_point *_Atomic agreed; // NULL: not yet
static _Atomic bool stays;                   // this library

// ---- what a loaded object has

static bool is_in(const struct dl_phdr_info *object, const ElfW(Phdr) * segment, uintptr_t at, size_t bytes) {
    const uintptr_t from = object->dlpi_addr + segment->p_vaddr;
    return at >= from && at - from <= segment->p_memsz && bytes <= segment->p_memsz - (at - from);
}

static bool is_loaded(const struct dl_phdr_info *object, uintptr_t at, size_t bytes, ElfW(Word) flags) {
    bool found = false;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags)
            found = found || is_in(object, segment, at, bytes);
        else if (segment->p_type == PT_GNU_RELRO && (flags & PF_W) && is_in(object, segment, at, 1))
            return false;
    }
    return found;
}

static bool is_nodelete(const struct dl_phdr_info *object) {
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        const uintptr_t at = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_DYNAMIC || !is_loaded(object, at, segment->p_memsz, PF_R))
            continue;
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)at, *end = entry + segment->p_memsz / sizeof *entry;
        for (; entry < end && entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_FLAGS_1)
                return entry->d_un.d_val & DF_1_NODELETE;
    }
    return false;
}

// Also when it is closed. Only glibc unloads, and it gives the program no name.
static bool stays_loaded(const struct dl_phdr_info *object) {
#ifdef __GLIBC__
    return (uintptr_t)object->dlpi_phdr == getauxval(AT_PHDR) || !object->dlpi_name || !*object->dlpi_name ||
           is_nodelete(object);
#else
    return true;
#endif
}

static struct meeting_point *check_point(const struct dl_phdr_info *object, uintptr_t at) {
    if (at % _Alignof(struct meeting_point) ||
        !is_loaded(object, at, sizeof(struct meeting_point), PF_R | PF_W))
        return NULL;
    struct meeting_point *point = (struct meeting_point *)at;
    const uint64_t state = atomic_load(&point->agreed);
    const bool ours = point->magic[0] == MEETING_MAGIC_0 && point->magic[1] == MEETING_MAGIC_1 &&
                      (state == 1 || (state == 0 && !atomic_load(&point->newest)));
    return ours ? point : NULL;
}

// ---- agreement

struct walk {
    struct meeting_point *before; // agreed on
    struct meeting_point *first;  // of those that stay, up to the own one
    bool own;                     // was seen
};

static void look_at_point(struct walk *walk, const struct dl_phdr_info *object, struct meeting_point *point) {
    const bool own = point == &tracesmith_meeting_point;
    if (own && stays_loaded(object))
        atomic_store(&stays, true);
    if (!walk->before && atomic_load(&point->agreed))
        walk->before = point;
    if (!walk->first && !walk->own && (stays_loaded(object) || (own && atomic_load(&stays))))
        walk->first = point;
    walk->own = walk->own || own;
}

// Linkers put notes of several owners into one segment, some with gaps: ours is looked for at each possible place.
static void look_at_notes(struct walk *walk, const struct dl_phdr_info *object, const ElfW(Phdr) * segment) {
    const uintptr_t end = object->dlpi_addr + segment->p_vaddr + segment->p_memsz;
    uintptr_t at = (object->dlpi_addr + segment->p_vaddr + 3) & ~(uintptr_t)3;
    for (; at < end && end - at >= sizeof(struct note); at += 4) {
        int64_t offset;
        if (memcmp((const void *)at, &expected, offsetof(struct note, offset)) != 0)
            continue;
        memcpy(&offset, (const char *)at + offsetof(struct note, offset), sizeof offset);
        struct meeting_point *point =
            check_point(object, at + offsetof(struct note, offset) + (uintptr_t)offset);
        if (point)
            look_at_point(walk, object, point);
    }
}

static int look_at_object(struct dl_phdr_info *object, size_t size, void *walk) {
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE &&
            is_loaded(object, object->dlpi_addr + segment->p_vaddr, segment->p_memsz, PF_R))
            look_at_notes(walk, object, segment);
    }
    return 0;
}

// Within a callback, so that nothing is loaded or unloaded between the look and the agreement.
static int agree_here(struct dl_phdr_info *object, size_t size, void *unused) {
    struct walk walk = {NULL, NULL, false};
    (void)object, (void)size, (void)unused;
    dl_iterate_phdr(look_at_object, &walk);
    struct meeting_point *point = walk.before ? walk.before : walk.first;
    if (!point && atomic_load(&stays)) // its note was taken out of the file
        point = &tracesmith_meeting_point;
    if (point)
        atomic_store(&point->agreed, 1);
    atomic_store(&agreed, point);
    return 1;
}

static void agree(void) {
    if (!atomic_load(&agreed))
        dl_iterate_phdr(agree_here, NULL);
}

__attribute__((constructor)) static void agree_when_loaded(void) {
    agree();
}

// ---- stay

struct own_object {
    const char *name;
    uintptr_t base;
    bool stays;
};

static int look_for_own(struct dl_phdr_info *object, size_t size, void *out) {
    struct own_object *own = out;
    (void)size;
    if (!is_loaded(object, (uintptr_t)&tracesmith_meeting_point, 1, PF_R))
        return 0;
    own->name = object->dlpi_name;
    own->base = object->dlpi_addr;
    own->stays = stays_loaded(object);
    return 1;
}

void meeting_stay(void) {
    struct own_object own = {NULL, 0, false};
    struct link_map *map = NULL;
    agree(); // where the constructor has not run yet
    if (atomic_load(&stays) || !dl_iterate_phdr(look_for_own, &own))
        return;
    if (!own.stays) {
        // Its users hold it loaded meanwhile: they are in a call of it.
        void *library = dlopen(own.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        own.stays = library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_addr == own.base;
        if (library)
            dlclose(library);
        else
            (void)dlerror(); // not the program's failure
    }
    atomic_store(&stays, own.stays);
    agree(); // there may have been nothing to agree on
}

// ---- entries

static struct meeting *newest(void) {
    struct meeting_point *point = atomic_load(&agreed);
    return point ? atomic_load_explicit(&point->newest, memory_order_acquire) : NULL;
}

static struct meeting *find_from(struct meeting *entry) {
    while (entry && strcmp(entry->build, MEETING_BUILD) != 0)
        entry = entry->next;
    return entry;
}

const char *meeting_build(void) {
    return MEETING_BUILD;
}

struct meeting *meeting_find(void) {
    return find_from(newest());
}

struct meeting *meeting_publish(struct meeting *own) {
    struct meeting_point *point = atomic_load(&agreed);
    struct meeting *first = newest(), *theirs;
    const bool publishes = point && atomic_load(&stays);
    own->build = MEETING_BUILD;
    do {
        theirs = find_from(first);
        own->next = first;
    } while (!theirs && publishes &&
             !atomic_compare_exchange_weak_explicit(&point->newest, &first, own, memory_order_acq_rel,
                                                    memory_order_acquire));
    return theirs ? theirs : own;
}

const char *meeting_other_build(void) {
    const struct meeting *entry = newest();
    while (entry && strcmp(entry->build, MEETING_BUILD) == 0)
        entry = entry->next;
    return entry ? entry->build : NULL;
}
