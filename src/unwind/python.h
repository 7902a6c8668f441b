// SPDX-License-Identifier: Apache-2.0
// Python functions in the call stack of the calling thread: function, file and line of CPython 3.8 to 3.13, in the
// places of the interpreter's own frames.
//
// Nothing is built against Python and the only function of it that is called on the event path is
// PyGILState_GetThisThreadState, which reads a thread-local. The layout of a thread's frames in memory is known per
// version; a thread's chain of frames is changed by that thread alone, so it can be read whether or not the thread
// holds the interpreter lock just now (extensions release it around calls that block). Before any of it is used, the
// first stack of the process is read through the kernel, which answers with an error where a wrong layout would be a
// fault, and every object on it must be of the type that it should be. Other interpreters (PyPy, debug builds with
// other objects) fail that, and their stacks stay native.
//
// A thread that runs code of several interpreters (PEP 554, PEP 684) has a chain of frames in each. The innermost chain
// is that of the thread state that is current, the one before that of the state that PyGILState_GetThisThreadState
// gives; further ones are unknown. Each native frame of the interpreter's loop has run a group of Python frames, so
// more loops than groups mean that a chain is missing: uncertain frames then stay native, and are counted.
#ifndef UNWIND_PYTHON_H
#define UNWIND_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/stack_words.h"

enum { PYTHON_PLACES = 256, PYTHON_TEXT_MAX = 1024, PYTHON_WORDS = 1 << 14, PYTHON_GROUPS = 1 << 13 };

// A place in a Python function that the thread has met.
struct python_place {
    uint64_t code, instruction; // 0: free
    uint64_t check;             // of what the code object was then: its memory may be another's since
    uint64_t words[2];
};

// What a thread keeps between its stacks, and room to work in; its memory is the caller's, about 280 KiB, which are touched
// as far as a stack is deep; zeroed before the first. A signal handler that interrupts its work gets a native stack.
struct python_thread {
    bool is_walking;
    bool is_chain_cut;
    uint64_t stranger; // a thread state that was seen to be of another thread
    struct python_place places[PYTHON_PLACES];
    uint64_t words[PYTHON_WORDS]; // the Python stack
    uint32_t count;
    uint16_t ends[PYTHON_GROUPS]; // in words: what one native frame of the interpreter's loop has run
    uint32_t groups;
    uint64_t native[PYTHON_WORDS];
};

// Gives a string a number (0: there is no room). `bytes` are UTF-8 and live for the call.
struct python_intern {
    uint32_t (*function)(void *context, const char *bytes, size_t length);
    void *context;
};

// Looks whether the process has an interpreter, and remembers where it is; where nothing has been loaded since the last
// look (by unwind_table_version) that costs nothing. May take the dynamic linker's lock: for the
// thread that refreshes the table of modules (unwind_table.h), never on the event path. True: there is one.
bool python_look(void);
// Whether one was found: else python_merge leaves every stack as it is.
bool python_found(void);

// For a thread that had another owner.
void python_reset(struct python_thread *thread);

// A native stack, innermost first, in memory for `capacity` words (and for `count`, if that is more).
struct python_native {
    uint64_t *frames;
    uint32_t count, capacity;
    bool is_whole; // it reaches the outermost frame
};

// What is not in a stack that was put together.
struct python_missing {
    bool room;      // outer frames: there was not room for all
    bool frames;    // outer frames: one could not be read
    bool functions; // of Python: frames of the interpreter's loop stand where they should be
};

// Puts the calling thread's Python functions into its native stack: they take
// the place of the interpreter's frames that ran them; what the native walk did not reach comes after it. Returns the new
// count. Without an interpreter, or a Python stack: nothing is changed. No lock or allocation; no system call but for the
// first stack of the process, one where frames of another interpreter may be (CPython up to 3.11), and what
// `intern` does at places met for the first time.
uint32_t python_merge(struct python_thread *thread, const struct python_native *native,
                      const struct python_intern *intern, struct python_missing *missing);

#endif
