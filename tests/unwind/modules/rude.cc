// SPDX-License-Identifier: Apache-2.0
// What programs do to their stacks. Every stack is compared with the callers' own account and, if stated, with the
// result of backtrace(); if no path can be known, the stack must be marked and its inner part be correct.
//
//     rude CASE [LIBRARY]      exceptions, jumps, interrupted, unframed, framed, lying, clone, rust LIBRARY
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <sched.h>
#include <sys/time.h>
#include <sys/wait.h>

extern "C" {
#include "rude.h"
}

enum { FRAMES_MAX = 512, NOTES_MAX = 256 };

static walk_state *state;
static uint64_t notes[NOTES_MAX];
static uint32_t note_count, checked;
static volatile uint64_t sink;

#define NOTE() (notes[note_count++] = (uint64_t)(uintptr_t)__builtin_return_address(0))

static void require(bool right, const char *what) {
    if (right)
        return;
    fprintf(stderr, "FAILED: %s\n", what);
    exit(1);
}

// ---- what is right

// The stack of the calling function: like backtrace()'s, its own place left out.
__attribute__((noinline)) static walked take(uint64_t *frames) {
    walked walk = walk_here(state, frames, FRAMES_MAX);
    checked++;
    return walk;
}

__attribute__((noinline)) static void check_whole() {
    uint64_t ours[FRAMES_MAX];
    void *theirs[FRAMES_MAX];
    walked walk = take(ours);
    int count = backtrace(theirs, FRAMES_MAX);
    require(walk.is_whole && walk.exact == walk.count, "the walk did not get to the end");
    // Ours has walk_here and take in front, both have this function next.
    uint32_t extra = walk.count - (uint32_t)count;
    require(extra == 2, "not as many frames as backtrace() finds");
    require(!memcmp(ours + 3, theirs + 1, (size_t)(count - 1) * sizeof *ours), "not what backtrace() finds");
    uint32_t at = 0;
    for (uint32_t i = note_count; i-- > 0;) {
        while (at < walk.count && ours[at] != notes[i])
            at++;
        require(at < walk.count, "a caller is missing");
    }
}

// The inner part equals the functions' record; its end is marked.
extern "C" __attribute__((noinline)) void check_inner(void) {
    uint64_t ours[FRAMES_MAX];
    walked walk = take(ours);
    uint32_t at = 0, found = 0;
    for (uint32_t i = note_count; i-- > 0; found++) {
        while (at < walk.count && ours[at] != notes[i])
            at++;
        if (at == walk.count)
            break;
    }
    require(found == note_count || !walk.is_whole || walk.exact < walk.count, "callers are missing, and it is not said");
    sink = sink + found;
}

// ---- exceptions: stacks while they are on their way, and behind them

struct Witness {
    int number;
    ~Witness() {
        uint32_t had = note_count;
        note_count = 0;
        check_whole();
        note_count = had;
        sink = sink + (uint64_t)number;
    }
};

__attribute__((noinline)) static int thrower(int depth) {
    Witness witness{depth};
    if (depth == 0)
        throw depth;
    return thrower(depth - 1) + witness.number;
}

__attribute__((noinline)) static void exceptions() {
    for (int i = 0; i < 60; i++) {
        try {
            sink = sink + (uint64_t)thrower(i % 20);
        } catch (int) {
            check_whole();
        }
        check_whole();
    }
}

// ---- longjmp

static jmp_buf place;

__attribute__((noinline)) static void jump(int depth) {
    uint32_t had = note_count;
    NOTE();
    check_whole();
    if (depth == 0)
        longjmp(place, 1);
    jump(depth - 1);
    note_count = had;
    sink = sink + 1;
}

__attribute__((noinline)) static void jumps() {
    for (volatile int i = 0; i < 60; i = i + 1) {
        note_count = 0;
        if (setjmp(place) == 0)
            jump(i % 30);
        note_count = 0;
        check_whole();
    }
}

// ---- signal handlers that jump out of the interrupted code, walks included

static sigjmp_buf signal_place;
static volatile sig_atomic_t may_jump;
static std::atomic<uint32_t> struck, nested;

static void on_timer(int) {
    uint64_t frames[FRAMES_MAX];
    walked walk = walk_here(state, frames, FRAMES_MAX);
    nested += walk.is_whole && walk.exact == walk.count;
    struck++;
    if (may_jump)
        siglongjmp(signal_place, 1);
}

__attribute__((noinline)) static void deeper(int depth) {
    if (depth)
        deeper(depth - 1);
    else
        for (int i = 0; i < 1000; i++) {
            uint64_t frames[FRAMES_MAX];
            walked walk = take(frames);
            require(walk.is_whole && walk.exact == walk.count, "a walk after one that was left is not whole");
        }
    sink = sink + 1;
}

__attribute__((noinline)) static void interrupted() {
    struct sigaction action = {};
    action.sa_handler = on_timer;
    sigaction(SIGALRM, &action, nullptr);
    const itimerval often = {{0, 500}, {0, 500}}, never = {};
    setitimer(ITIMER_REAL, &often, nullptr);
    while (struck < 300) {
        if (sigsetjmp(signal_place, 1) == 0) {
            may_jump = 1;
            deeper(3 + (int)(struck % 9));
        }
        may_jump = 0;
        check_whole();
    }
    setitimer(ITIMER_REAL, &never, nullptr);
    signal(SIGALRM, SIG_IGN);
    require(nested == struck, "a walk in a handler is not whole");
    for (int i = 0; i < 100; i++)
        check_whole();
    require(!walk_is_nested(state), "a walk that was left is taken for one that goes on");
}

// ---- code that nothing, or something wrong, describes

__attribute__((noinline)) static void through(void (*function)(void (*)(void)), int times) {
    for (int i = 0; i < times; i++) {
        note_count = 0;
        function(check_inner);
    }
}

__attribute__((noinline)) static void through_framed() {
    uint64_t ours[FRAMES_MAX];
    rude_framed(check_inner);
    static walked seen;
    static uint64_t *const frames = ours;
    rude_framed([] { seen = take(frames); });
    require(seen.is_whole && seen.exact < seen.count, "frames by frame pointer are not marked, or are not there");
    void *const main_caller = __builtin_return_address(0);
    bool is_there = false;
    for (uint32_t i = 0; i < seen.count; i++)
        is_there |= ours[i] == (uint64_t)(uintptr_t)main_caller;
    require(is_there, "the caller beyond code without rules is not there");
}

// Each gives another wrong description of its frame.
#if defined(__x86_64__)
#define LYING(name, lie)                                                                                               \
    extern "C" void name(void (*function)(void));                                                                      \
    __asm__(".pushsection .text\n\t.globl " #name "\n\t.type " #name ", @function\n" #name ":\n\t.cfi_startproc\n\t" lie \
            "\n\tpushq %rbx\n\tsubq $64, %rsp\n\tcall *%rdi\n\taddq $64, %rsp\n\tpopq %rbx\n\tret\n\t.cfi_endproc\n\t"  \
            ".size " #name ", .-" #name "\n\t.popsection")
LYING(lies_small, ".cfi_def_cfa_offset 8");
LYING(lies_large, ".cfi_def_cfa_offset 1048576");
LYING(lies_odd, ".cfi_def_cfa_offset 83");
LYING(lies_below, ".cfi_def_cfa_offset -4096");
LYING(lies_register, ".cfi_def_cfa 0, 8");
LYING(lies_return, ".cfi_undefined 7\n\t.cfi_offset 16, -8000");
LYING(lies_null, ".cfi_escape 0x0f, 3, 0x30, 0x06, 0x96");         // DW_OP_lit0, deref, nop
LYING(lies_for_ever, ".cfi_escape 0x0f, 4, 0x30, 0x2f, 0xfc, 0xff"); // DW_OP_lit0, skip back
static void (*const liars[])(void (*)(void)) = {lies_small, lies_large, lies_odd,  lies_below,
                                                lies_register, lies_return, lies_null, lies_for_ever};
#else
static void (*const liars[])(void (*)(void)) = {rude_framed};
#endif

// The result may be anything, but it lies within the stack, and its inner part is right.
__attribute__((noinline)) static void lying() {
    for (void (*const liar)(void (*)(void)) : liars)
        for (int i = 0; i < 20; i++)
            liar([] {
                uint64_t frames[FRAMES_MAX];
                walked walk = take(frames);
                require(walk.count >= 3, "less than what is known");
                check_inner();
            });
    check_whole();
}

// ---- a process that shares this one's memory, and thread-local storage, on a stack of its own

static int in_clone(void *) {
    uint64_t frames[FRAMES_MAX];
    walked walk = take(frames);
    return walk.count >= 3 ? 0 : 1;
}

__attribute__((noinline)) static void clones() {
    enum { STACK = 256 << 10 };
    char *stack = static_cast<char *>(malloc(STACK));
    for (int i = 0; i < 20; i++) {
        int status = 1;
        pid_t child = clone(in_clone, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr);
        require(child > 0 && waitpid(child, &status, 0) == child && status == 0, "in a process of clone()");
        check_whole();
    }
    free(stack);
}

// ---- Rust: closures, iterators, a panic that is caught on the way

static void from_rust() {
    check_whole();
}

__attribute__((noinline)) static void rust(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    require(library != nullptr, "the library does not load");
    walk_refresh();
    auto run = reinterpret_cast<uint64_t (*)(void (*)(void), uint64_t)>(dlsym(library, "rude_rust"));
    require(run != nullptr, "rude_rust is not there");
    for (uint64_t i = 0; i < 200; i++)
        sink = sink + run(from_rust, i);
}

int main(int argc, char **argv) {
    state = walk_begin();
    require(argc >= 2 && state, "usage: rude CASE [LIBRARY]");
    const char *name = argv[1];
    if (!strcmp(name, "exceptions"))
        exceptions();
    else if (!strcmp(name, "jumps"))
        jumps();
    else if (!strcmp(name, "interrupted"))
        interrupted();
    else if (!strcmp(name, "unframed"))
        through(rude_unframed, 50);
    else if (!strcmp(name, "framed"))
        through_framed();
    else if (!strcmp(name, "lying"))
        lying();
    else if (!strcmp(name, "clone"))
        clones();
    else if (!strcmp(name, "rust") && argc == 3)
        rust(argv[2]);
    else
        require(false, "no such case");
    printf("%s: %u stacks\n", name, checked);
    return 0;
}
