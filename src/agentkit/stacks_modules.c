// SPDX-License-Identifier: Apache-2.0
// The modules of the process, as its stacks need them: in the table that walks look into (unwind/unwind_table.h),
// and, before any walk can find them there, in the channel's own table for the reader of the stacks.
//
// A module is known until the end, whether it is still loaded or not: its addresses mean it. When another one has taken
// its place a new epoch begins, and an entry says from which epoch on it holds. Libraries that share a channel count its
// epochs together. None knows what another has seen in a place before, so with them every look that finds something new
// begins an epoch.
//
// The linker's lock is held while modules are listed: nothing is allocated and no lock is taken then (a program's malloc may
// wait for that lock). New modules are copied to memory that was reserved before, and written to the channel afterwards.
#include "agentkit/stacks_private.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/hash.h"
#include "unwind/unwind_table.h"
#include "wire/channel_private.h"
#include "wire/memory.h"

enum { MODULES_MAX = 1 << 14, TEXT_BYTES = 1 << 20, OURS_MAX = 64, BUILD_ID_MAX = 64, PATIENCE = 20000 };

struct known {
    uint64_t begin, end, bias, epoch;
    uint64_t identity; // hash of name and build id
    bool told;
    uint32_t name; // in the text, until it is written
    uint32_t build_id_bytes;
};

struct span {
    _Atomic uint64_t begin, end;
};

static struct {
    struct known *known; // address space for MODULES_MAX
    uint32_t count;
    bool full;
    char *text; // names and build ids of modules that are not written yet
    uint32_t text_used;
    bool begun; // an epoch, in this look
    struct span ours[OURS_MAX];
    _Atomic uint32_t ours_count;
    struct channel *channel;
} modules;

// What stands between the API and the agent: ourselves, and CUPTI, which calls us from within the driver.
static bool is_ours(const char *name) {
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    return strncmp(base, "libtracesmith", 13) == 0 || strncmp(base, "libcupti.so", 11) == 0;
}

static bool overlaps(const struct known *a, const struct known *b) {
    return a->begin < b->end && b->begin < a->end;
}

static bool is_same(const struct known *a, const struct known *b) {
    return a->begin == b->begin && a->end == b->end && a->bias == b->bias && a->identity == b->identity;
}

// The newest module that has any of its addresses: if that is the same, it is known.
static const struct known *newest_at(const struct known *module) {
    for (uint32_t i = modules.count; i-- > 0;)
        if (overlaps(&modules.known[i], module))
            return &modules.known[i];
    return NULL;
}

static bool keep_text(const struct unwind_object *object, struct known *module) {
    size_t length = strlen(object->name) + 1;
    size_t id = object->build_id_bytes < BUILD_ID_MAX ? object->build_id_bytes : BUILD_ID_MAX;
    if (length + id > TEXT_BYTES - modules.text_used)
        return false;
    module->name = modules.text_used;
    module->build_id_bytes = (uint32_t)id;
    memcpy(modules.text + modules.text_used, object->name, length);
    if (id) // a module without one has no bytes to copy from
        memcpy(modules.text + modules.text_used + length, object->build_id, id);
    modules.text_used += (uint32_t)(length + id);
    return true;
}

static void set_span(struct span *span, uint64_t begin, uint64_t end) {
    atomic_store_explicit(&span->begin, begin, memory_order_relaxed);
    atomic_store_explicit(&span->end, end, memory_order_relaxed);
}

// The address range of one of TraceSmith's libraries; an earlier library there has been unloaded. The entry is reused
// by the next one. If more libraries are loaded than there are entries, frames of the last ones count as the program's.
static void note_ours(const struct unwind_object *object) {
    const uint32_t count = atomic_load_explicit(&modules.ours_count, memory_order_relaxed);
    uint32_t room = count;
    for (uint32_t i = 0; i < count; i++) {
        struct span *span = &modules.ours[i];
        const uint64_t begin = atomic_load_explicit(&span->begin, memory_order_relaxed),
                       end = atomic_load_explicit(&span->end, memory_order_relaxed);
        if (begin < object->end && object->begin < end)
            set_span(span, 0, 0);
        room = atomic_load_explicit(&span->end, memory_order_relaxed) == 0 && room == count ? i : room;
    }
    if (!is_ours(object->name) || room == OURS_MAX)
        return;
    set_span(&modules.ours[room], object->begin, object->end);
    if (room == count)
        atomic_store_explicit(&modules.ours_count, count + 1, memory_order_release);
}

// Under the linker's lock.
static void note_module(void *unused, const struct unwind_object *object) {
    (void)unused;
    struct known module = {.begin = object->begin,
                           .end = object->end,
                           .bias = object->bias,
                           .identity = hash_bytes(object->name, strlen(object->name)) ^
                                       hash_bytes(object->build_id, object->build_id_bytes) * 3};
    const struct known *before = newest_at(&module);
    if (before && is_same(before, &module))
        return;
    if (modules.count == MODULES_MAX || !keep_text(object, &module))
        return (void)(modules.full = true); // its frames will be in no module
    struct channel_process *process = modules.channel->process;
    if (!modules.begun && (before || atomic_load(&process->stack_users) > 1)) {
        atomic_fetch_add(&process->stack_epoch, 1);
        modules.begun = true;
    }
    module.epoch = atomic_load(&process->stack_epoch);
    modules.known[modules.count++] = module;
    note_ours(object);
}

// The path that others can use: the program itself has no name there, and the kernel's code no file.
static const char *path_of(const struct known *module, char *buffer, size_t size) {
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    const char *name = modules.text + module->name;
    if (vdso && module->bias == vdso)
        return "[vdso]";
    if (*name)
        return name;
    ssize_t length = readlink("/proc/self/exe", buffer, size - 1);
    if (length <= 0)
        return "";
    buffer[length] = '\0';
    return buffer;
}

static void write_module(struct channel *channel, struct known *module) {
    char path[PATH_BYTES], id[2 * BUILD_ID_MAX + 1];
    const char *name = path_of(module, path, sizeof path);
    const unsigned char *bytes =
        (const unsigned char *)modules.text + module->name + strlen(modules.text + module->name) + 1;
    for (uint32_t i = 0; i < module->build_id_bytes; i++)
        (void)snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    struct layout_module entry = {.begin = module->begin,
                                  .end = module->end,
                                  .bias = module->bias,
                                  .epoch = module->epoch,
                                  .path = channel_table_string(channel, name, strlen(name)),
                                  .build_id =
                                      channel_table_string(channel, id, 2 * (size_t)module->build_id_bytes)};
    (void)channel_table_add(channel, LAYOUT_ENTRY_MODULE, &entry, sizeof entry);
    module->told = true;
}

static void write_modules(void *unused) {
    (void)unused;
    struct channel *channel = modules.channel;
    if (channel_lock(channel))
        for (uint32_t i = 0; i < modules.count; i++)
            if (!modules.known[i].told)
                write_module(channel, &modules.known[i]);
    channel_unlock(channel);
    modules.text_used = 0;
    if (modules.full)
        channel_lose(channel, TSMITH_REASON_TABLE_FULL, 1);
    modules.full = false;
}

static _Atomic int owner; // the process that is looking: one that a fork left behind does not count

// Waits for another thread's listing, but not forever: that thread may wait for a lock of the linker that this thread holds.
bool stacks_modules_take_turn(void) {
    int self = (int)getpid();
    for (int i = 0; i < PATIENCE; i++) {
        int other = atomic_load(&owner);
        if (other != self && atomic_compare_exchange_strong(&owner, &other, self))
            return true;
        sched_yield();
    }
    return false;
}

void stacks_modules_end_turn(void) {
    atomic_store(&owner, 0);
}

void stacks_modules_refresh(struct channel *channel) {
    static const struct unwind_visitor visitor = {.object = note_module, .all_seen = write_modules};
    if (!modules.known)
        modules.known = memory_take(MODULES_MAX * sizeof *modules.known);
    if (!modules.text)
        modules.text = memory_take(TEXT_BYTES);
    modules.channel = channel;
    modules.begun = false;
    if (modules.known && modules.text)
        (void)unwind_table_refresh(&visitor);
}

bool stacks_modules_ours(uint64_t pc) {
    uint32_t count = atomic_load_explicit(&modules.ours_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        if (pc >= atomic_load_explicit(&modules.ours[i].begin, memory_order_relaxed) &&
            pc < atomic_load_explicit(&modules.ours[i].end, memory_order_relaxed))
            return true;
    return false;
}
