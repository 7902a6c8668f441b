// SPDX-License-Identifier: Apache-2.0
// Checks that the objects of this interpreter have the layout of its version. python.c calls it once per process.
#include "unwind/python_check.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FRAMES_CHECKED = 64, LINE_MAX = 1 << 24 };

static bool read_at(uint64_t address, void *out, size_t size) {
    struct iovec here = {out, size}, there = {(void *)(uintptr_t)address, size};
    return address && process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool read_word(uint64_t address, uint64_t *word) {
    return read_at(address, word, sizeof *word);
}

static bool is_of_type(uint64_t object, uint64_t type) {
    uint64_t found;
    return object % 8 == 0 && read_word(object + PYTHON_TYPE, &found) && found == type;
}

// All of a table or a string can be read: its last byte can.
static bool is_whole(uint64_t object, uint64_t begin, uint64_t size_each) {
    uint64_t size;
    uint8_t last;
    return read_word(object + PYTHON_SIZE, &size) && size < UINT32_MAX &&
           read_at(object + begin + size * size_each, &last, 1);
}

static bool is_text(const struct python_interpreter *interpreter, uint64_t address) {
    uint64_t object;
    return read_word(address, &object) && is_of_type(object, interpreter->text_type) &&
           is_whole(object, interpreter->layout->ascii_text, 1);
}

static bool is_code(const struct python_interpreter *interpreter, uint64_t code) {
    const struct python_layout *layout = interpreter->layout;
    uint64_t lines;
    int32_t first;
    return is_of_type(code, interpreter->code_type) && is_text(interpreter, code + layout->code_name) &&
           is_text(interpreter, code + layout->code_file) && read_word(code + layout->code_lines, &lines) &&
           is_of_type(lines, interpreter->bytes_type) && is_whole(lines, PYTHON_BYTES, 1) &&
           read_at(code + layout->code_first_line, &first, sizeof first) && first >= 0 && first < LINE_MAX;
}

static bool is_frame(const struct python_interpreter *interpreter, uint64_t frame) {
    const struct python_layout *layout = interpreter->layout;
    uint8_t group = 0;
    uint64_t code, instruction;
    if (frame % 8 || (layout->group_kind != PYTHON_ONE_EACH &&
                      (!read_at(frame + layout->frame_group, &group, 1) || group > PYTHON_OWNER_C_STACK)))
        return false;
    if (layout->group_kind == PYTHON_TO_SHIM && group == PYTHON_OWNER_C_STACK)
        return true;
    if (!read_word(frame + layout->frame_code, &code) || !is_code(interpreter, code) ||
        !read_word(frame + layout->frame_instruction, &instruction))
        return false;
    return layout->instruction_kind != PYTHON_ADDRESS ||
           (instruction + 2 >= code + layout->code_begin && instruction % 2 == 0);
}

bool python_check_is_own(const struct python_interpreter *interpreter, uint64_t thread) {
    uint64_t owner;
    return read_word(thread + interpreter->layout->thread_owner, &owner) &&
           owner == (uint64_t)(uintptr_t)pthread_self();
}

enum python_verdict python_check(const struct python_interpreter *interpreter, uint64_t thread) {
    const struct python_layout *layout = interpreter->layout;
    uint64_t frame;
    if (!read_word(thread + layout->thread_frame, &frame))
        return PYTHON_OTHERWISE;
    if (frame && layout->holder_frame != PYTHON_NONE && !read_word(frame + layout->holder_frame, &frame))
        return PYTHON_OTHERWISE;
    if (!frame)
        return PYTHON_NO_FRAMES;
    for (int i = 0; frame && i < FRAMES_CHECKED; i++)
        if (!is_frame(interpreter, frame) || !read_word(frame + layout->frame_back, &frame))
            return PYTHON_OTHERWISE;
    return PYTHON_AS_EXPECTED;
}
