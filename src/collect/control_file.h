// SPDX-License-Identifier: Apache-2.0
// The control file as its collector writes it.
//
// The recorded programs map the file and may change it, so the collector uses nothing from it except two hints that
// only cost time when they are wrong: `generation` and `waiters`. It has its own copy of everything, writes that out
// by pwrite, and never touches a mapping of the file: a mapping raises SIGBUS after the file is truncated, and a
// library must not catch signals of its process. A file that was truncated is written anew. A second file, which no
// recorded program opens, lets recover find the session when the first one is damaged.
#ifndef COLLECT_CONTROL_FILE_H
#define COLLECT_CONTROL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/layout.h"

struct control_file {
    struct layout_control *now; // the collector's copy
    int fd, kept;               // the two files; -1: none (recover)
    void *page; // the first page, mapped only for its addresses, which futex() takes; NULL: none
};

// Makes the two files of a new session from `now`. False (errno set): there is no space.
bool control_file_create(struct control_file *file, int directory, struct layout_control *now);
void control_file_close(struct control_file *file);
// A private copy of the control file of a session directory, or of the kept one where that is damaged. NULL: there is
// none of this user.
struct layout_control *control_file_copy(int directory, uint32_t user);

// Writes a part of the copy out.
void control_file_write(const struct control_file *file, size_t offset, size_t bytes);
#define CONTROL_FILE_WRITE(file, field)                                                                      \
    control_file_write((file), offsetof(struct layout_control, field), sizeof((file)->now->field))
// Writes all of it out, but for what the recorded programs write.
void control_file_write_all(const struct control_file *file);
// Writes all of it anew if the file was truncated; called once a round.
void control_file_repair(const struct control_file *file);

// What the recorded programs wrote, as it is now.
uint32_t control_file_generation(const struct control_file *file);
uint32_t control_file_waiters(const struct control_file *file);
// Wakes the threads that wait for room.
void control_file_wake(const struct control_file *file);

#endif
