// SPDX-License-Identifier: Apache-2.0
// Finds CPython in the process, reads the Python frames of a thread and merges them into its native stack.
// src/agentkit/stacks.c calls it.
#include "unwind/python.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/python_check.h"
#include "unwind/python_text.h"
#include "unwind/unwind_table.h"

static const struct python_layout layouts[] = {
#define LAYOUT(version, instruction, lines, group, owner, thread, holder, back, code, at, entry, first,      \
               file, name, table, begin, ascii, wide)                                                        \
    {.minor = (version),                                                                                     \
     .instruction_kind = PYTHON_##instruction,                                                               \
     .lines_kind = PYTHON_##lines,                                                                           \
     .group_kind = PYTHON_##group,                                                                           \
     .thread_owner = (owner),                                                                                \
     .thread_frame = (thread),                                                                               \
     .holder_frame = (holder),                                                                               \
     .frame_back = (back),                                                                                   \
     .frame_code = (code),                                                                                   \
     .frame_instruction = (at),                                                                              \
     .frame_group = (entry),                                                                                 \
     .code_first_line = (first),                                                                             \
     .code_file = (file),                                                                                    \
     .code_name = (name),                                                                                    \
     .code_lines = (table),                                                                                  \
     .code_begin = (begin),                                                                                  \
     .ascii_text = (ascii),                                                                                  \
     .text = (wide)},
    PYTHON_LAYOUTS(LAYOUT)
#undef LAYOUT
};

enum trust { UNTRIED, TRUSTED, REFUSED };

static struct {
    struct python_interpreter interpreter; // written once, before `found`
    _Atomic bool found;
    _Atomic int trust;
} python;

// --- finding it ----------------------------------------------------------------------------------

static const struct python_layout *layout_of(const char *version) {
    if (strncmp(version, "3.", 2))
        return NULL;
    unsigned long minor = strtoul(version + 2, NULL, 10);
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].minor == minor)
            return &layouts[i];
    return NULL;
}

// False: some of what is needed is not in this library.
static bool find_in(void *library, struct python_interpreter *found) {
    const char *(*version)(void);
    *(void **)&version = dlsym(library, "Py_GetVersion");
    if (!version) // a process of hundreds of libraries is searched once, not six times
        return false;
    *(void **)&found->this_thread = dlsym(library, "PyGILState_GetThisThreadState");
    void *loop = dlsym(library, "_PyEval_EvalFrameDefault");
    found->code_type = (uint64_t)(uintptr_t)dlsym(library, "PyCode_Type");
    found->text_type = (uint64_t)(uintptr_t)dlsym(library, "PyUnicode_Type");
    found->bytes_type = (uint64_t)(uintptr_t)dlsym(library, "PyBytes_Type");
    if (!found->this_thread || !loop || !found->code_type || !found->text_type || !found->bytes_type)
        return false;
    Dl_info info;
    void *entry = NULL;
    if (!dladdr1(loop, &info, &entry, RTLD_DL_SYMENT) || !entry)
        return false;
    const ElfW(Sym) *symbol = entry;
    if (!symbol->st_size)
        return false;
    found->loop_begin = (uint64_t)(uintptr_t)loop;
    found->loop_end = found->loop_begin + symbol->st_size;
    found->layout = layout_of(version());
    if (found->layout && found->layout->thread_owner != PYTHON_NONE)
        *(void **)&found->current = dlsym(library, "_PyThreadState_UncheckedGet");
    if (found->layout && info.dli_fname && info.dli_fname[0])
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD); // it stays, for we keep addresses in it
    return found->layout != NULL;
}

// An interpreter inside a program may be a library that only those who opened it can see.
static int find_library(struct dl_phdr_info *module, size_t size, void *context) {
    (void)size;
    const char *path = module->dlpi_name, *name = path ? strrchr(path, '/') : NULL;
    if (!name || strncmp(name, "/libpython3", 11))
        return 0;
    void **library = context;
    *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    return *library != NULL;
}

bool python_found(void) {
    return atomic_load_explicit(&python.found, memory_order_acquire);
}

bool python_look(void) {
    static _Atomic uint64_t looked; // at what was loaded in this version of the table
    if (python_found())
        return true;
    uint64_t version = unwind_table_version();
    if (version && atomic_exchange_explicit(&looked, version, memory_order_relaxed) == version)
        return false;
    struct python_interpreter found = {0};
    if (!find_in(RTLD_DEFAULT, &found)) {
        void *library = NULL;
        dl_iterate_phdr(find_library, &library);
        if (!library)
            return false;
        bool is_one = find_in(library, &found);
        dlclose(library);
        if (!is_one)
            return false;
    }
    python.interpreter = found;
    atomic_store_explicit(&python.found, true, memory_order_release);
    return true;
}

// --- reading it ----------------------------------------------------------------------------------

static uint64_t innermost_frame(const struct python_layout *layout, uint64_t thread) {
    uint64_t frame = python_word(thread + layout->thread_frame);
    if (layout->holder_frame != PYTHON_NONE && frame)
        frame = python_word(frame + layout->holder_frame);
    return frame;
}

// Bytes from the beginning of the code to the instruction.
static uint64_t instruction_of(const struct python_layout *layout, uint64_t frame, uint64_t code) {
    switch (layout->instruction_kind) {
    case PYTHON_BYTE_INDEX:
        return (uint64_t)(int64_t)python_int(frame + layout->frame_instruction);
    case PYTHON_UNIT_INDEX:
        return (uint64_t)(int64_t)python_int(frame + layout->frame_instruction) * 2;
    default:
        return python_word(frame + layout->frame_instruction) - (code + layout->code_begin);
    }
}

static uint64_t check_of(const struct python_layout *layout, uint64_t code) {
    return python_word(code + layout->code_name) * 3 + python_word(code + layout->code_lines) * 5 +
           python_word(code + layout->code_file) * 7 + (uint32_t)python_int(code + layout->code_first_line);
}

static void describe(const struct python_layout *layout, const struct python_intern *intern,
                     struct python_place *place) {
    char text[PYTHON_TEXT_MAX];
    uint64_t line = python_line(layout, place->code, place->instruction);
    size_t length = python_text(layout, python_word(place->code + layout->code_name), text, sizeof text);
    uint32_t name = intern->function(intern->context, text, length);
    length = python_text(layout, python_word(place->code + layout->code_file), text, sizeof text);
    uint32_t file = intern->function(intern->context, text, length);
    place->words[0] = PYTHON_CODE | (line & 0xffffff) << 32 | name;
    place->words[1] = PYTHON_FILE | file;
}

static bool add_place(struct python_thread *thread, const struct python_intern *intern, uint64_t frame,
                      uint64_t code) {
    const struct python_layout *layout = python.interpreter.layout;
    if (thread->count + 2 > PYTHON_WORDS || python_word(code + PYTHON_TYPE) != python.interpreter.code_type)
        return false;
    struct python_place key = {
        .code = code, .instruction = instruction_of(layout, frame, code), .check = check_of(layout, code)};
    uint64_t mixed = (code >> 4 ^ key.instruction) * UINT64_C(0x9e3779b97f4a7c15);
    struct python_place *place = &thread->places[mixed >> 56];
    if (place->code != code || place->instruction != key.instruction || place->check != key.check) {
        describe(layout, intern, &key);
        *place = key;
    }
    memcpy(&thread->words[thread->count], place->words, sizeof place->words);
    thread->count += 2;
    return true;
}

static bool end_group(struct python_thread *thread) {
    if (thread->groups == PYTHON_GROUPS)
        return false;
    thread->ends[thread->groups++] = (uint16_t)thread->count;
    return true;
}

// Adds the frames of one thread state to what there is.
static void read_chain(struct python_thread *thread, const struct python_intern *intern, uint64_t state) {
    const struct python_layout *layout = python.interpreter.layout;
    for (uint64_t frame = innermost_frame(layout, state); frame && !thread->is_chain_cut;
         frame = python_word(frame + layout->frame_back)) {
        uint8_t group = python_byte(frame + layout->frame_group);
        bool is_shim = layout->group_kind == PYTHON_TO_SHIM && group == PYTHON_OWNER_C_STACK;
        bool added = is_shim || add_place(thread, intern, frame, python_word(frame + layout->frame_code));
        bool is_last = is_shim || layout->group_kind == PYTHON_ONE_EACH ||
                       (layout->group_kind == PYTHON_TO_ENTRY && group);
        thread->is_chain_cut = !added || (is_last && !end_group(thread));
    }
}

// The first stack decides for the process.
static bool is_trusted(uint64_t state) {
    int trust = atomic_load_explicit(&python.trust, memory_order_relaxed);
    if (__builtin_expect(trust == UNTRIED, 0)) {
        enum python_verdict verdict = python_check(&python.interpreter, state);
        if (verdict == PYTHON_NO_FRAMES)
            return false;
        trust = verdict == PYTHON_AS_EXPECTED ? TRUSTED : REFUSED;
        atomic_store_explicit(&python.trust, trust, memory_order_relaxed);
    }
    return trust == TRUSTED;
}

// --- putting the two together --------------------------------------------------------------------

struct merged {
    uint64_t *frames;
    uint32_t count, capacity;
    bool cut;
};

static void append(struct merged *merged, const uint64_t *words, uint32_t count, uint32_t unit) {
    uint32_t room = (merged->capacity - merged->count) / unit * unit;
    if (count > room) {
        count = room;
        merged->cut = true;
    }
    memcpy(merged->frames + merged->count, words, count * sizeof *words);
    merged->count += count;
}

static bool is_loop(uint64_t frame) {
    uint64_t pc = frame & ~PYTHON_TOP;
    return pc > python.interpreter.loop_begin && pc <= python.interpreter.loop_end;
}

static uint32_t count_loops(const struct python_native *native) {
    uint32_t loops = 0;
    for (uint32_t i = 0; i < native->count; i++)
        loops += is_loop(native->frames[i]);
    return loops;
}

static uint32_t merge(struct python_thread *thread, const struct python_native *native,
                      struct python_missing *missing) {
    uint32_t group = 0, from = 0, native_count = native->count < PYTHON_WORDS ? native->count : PYTHON_WORDS;
    struct merged merged = {.frames = native->frames, .capacity = native->capacity};
    memcpy(thread->native, native->frames, native_count * sizeof *native->frames);
    for (uint32_t i = 0; i < native_count && !merged.cut; i++) {
        if (!is_loop(thread->native[i]) || group == thread->groups) {
            append(&merged, &thread->native[i], 1, 1);
            continue;
        }
        append(&merged, thread->words + from, thread->ends[group] - from, 2);
        from = thread->ends[group++];
        // What called the loop has the name of the same function.
        i += i + 1 < native_count && (thread->native[i + 1] & STACKS_TRAMPOLINE) != 0;
    }
    if (!merged.cut)
        append(&merged, thread->words + from, thread->count - from, 2);
    missing->room = merged.cut || native_count < native->count;
    missing->frames = thread->is_chain_cut;
    return merged.count;
}

// The thread state that is current, if it is another one of this thread: up to 3.11 that of the thread that holds the interpreter
// lock, which may be another thread and gone by the time it is read, so the kernel is asked.
static uint64_t inner_state(struct python_thread *thread, uint64_t state) {
    uint64_t current = python.interpreter.current ? (uint64_t)(uintptr_t)python.interpreter.current() : 0;
    if (!current || current == state || current == thread->stranger)
        return 0;
    if (python_check_is_own(&python.interpreter, current))
        return current;
    thread->stranger = current;
    return 0;
}

// The chains of this thread. False: there may be a chain within them that is not known.
static bool read_stack(struct python_thread *thread, const struct python_native *native,
                       const struct python_intern *intern, uint64_t state, struct python_missing *missing) {
    const uint32_t loops = count_loops(native);
    thread->count = thread->groups = 0;
    thread->is_chain_cut = false;
    read_chain(thread, intern, state);
    if (loops <= thread->groups && native->is_whole)
        return true;
    uint64_t inner = inner_state(thread, state);
    if (inner) {
        thread->count = thread->groups = 0;
        read_chain(thread, intern, inner);
        uint32_t count = thread->count, groups = thread->groups;
        read_chain(thread, intern, state);
        // More loops than both have run: the frames between the two chains are unknown, and so is the begin of the outer one.
        if (loops > thread->groups || !native->is_whole) {
            thread->count = count;
            thread->groups = groups;
            missing->functions = true;
            return true;
        }
    }
    missing->functions = loops > thread->groups && !thread->is_chain_cut;
    // Since 3.12 `state` is the one that was current last.
    return !missing->functions || python.interpreter.layout->thread_owner == PYTHON_NONE;
}

void python_reset(struct python_thread *thread) {
    memset(thread, 0, offsetof(struct python_thread, words));
}

uint32_t python_merge(struct python_thread *thread, const struct python_native *native,
                      const struct python_intern *intern, struct python_missing *missing) {
    uint32_t count = native->count;
    *missing = (struct python_missing){0};
    if (!atomic_load_explicit(&python.found, memory_order_acquire) || thread->is_walking)
        return count;
    uint64_t state = (uint64_t)(uintptr_t)python.interpreter.this_thread();
    if (!state || !is_trusted(state)) {
        missing->functions = count_loops(native) > 0;
        return count;
    }
    thread->is_walking = true;
    atomic_signal_fence(memory_order_seq_cst);
    if (read_stack(thread, native, intern, state, missing) && thread->count)
        count = merge(thread, native, missing);
    atomic_signal_fence(memory_order_seq_cst);
    thread->is_walking = false;
    return count;
}
