// SPDX-License-Identifier: Apache-2.0
// Writes, repairs and reads the control file of a session. The collector and session_directory.c call it.
#include "collect/control_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

enum { BYTES = sizeof(struct layout_control) };

static bool write_at(int fd, const char *bytes, size_t offset, size_t count) {
    for (size_t done = 0; fd >= 0 && done < count;) {
        ssize_t put = pwrite(fd, bytes + offset + done, count - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

void control_file_write(const struct control_file *file, size_t offset, size_t bytes) {
    const char *now = (const char *)file->now;
    // What cannot be written is written by the repair of the next round.
    (void)write_at(file->fd, now, offset, bytes);
    (void)write_at(file->kept, now, offset, bytes);
}

void control_file_write_all(const struct control_file *file) {
    // `generation` and, after it, `waiters` belong to the programs.
    control_file_write(file, 0, offsetof(struct layout_control, generation));
    const size_t pid = offsetof(struct layout_control, collector_pid);
    control_file_write(file, pid, offsetof(struct layout_control, waiters) - pid);
    const size_t wake = offsetof(struct layout_control, wake);
    control_file_write(file, wake, BYTES - wake);
}

void control_file_repair(const struct control_file *file) {
    struct stat status;
    if (file->fd >= 0 && (fstat(file->fd, &status) || (size_t)status.st_size < BYTES))
        control_file_write_all(file);
}

static uint32_t read_word(const struct control_file *file, size_t offset, uint32_t otherwise) {
    uint32_t word;
    return file->fd >= 0 && pread(file->fd, &word, sizeof word, (off_t)offset) == (ssize_t)sizeof word
               ? word
               : otherwise;
}

uint32_t control_file_generation(const struct control_file *file) {
    return read_word(file, offsetof(struct layout_control, generation), 0);
}

uint32_t control_file_waiters(const struct control_file *file) {
    return read_word(file, offsetof(struct layout_control, waiters), 0);
}

void control_file_wake(const struct control_file *file) {
    if (file->fd < 0)
        return;
    atomic_fetch_add_explicit(&file->now->wake, 1, memory_order_relaxed);
    CONTROL_FILE_WRITE(file, wake);
    atomic_thread_fence(memory_order_seq_cst);
    // Where the page is gone, the system call fails with EFAULT.
    if (control_file_waiters(file) > 0 && file->page)
        syscall(SYS_futex, (char *)file->page + offsetof(struct layout_control, wake), FUTEX_WAKE, INT_MAX,
                NULL, NULL, 0);
}

static int create_file(int directory, const char *name) {
    return openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

bool control_file_create(struct control_file *file, int directory, struct layout_control *now) {
    *file = (struct control_file){.now = now, .fd = -1, .kept = -1};
    file->fd = create_file(directory, LAYOUT_CONTROL_NAME);
    if (file->fd < 0 || !file_reserve(file->fd, 0, BYTES))
        return false;
    void *page = mmap(NULL, LAYOUT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
    file->page = page == MAP_FAILED ? NULL : page;
    file->kept =
        create_file(directory, LAYOUT_CONTROL_KEPT_NAME); // without space for it, there is only the other
    // The magic makes it valid, so it comes last.
    const uint64_t magic = now->magic;
    now->magic = 0;
    control_file_write_all(file);
    now->magic = magic;
    CONTROL_FILE_WRITE(file, magic);
    return true;
}

void control_file_close(struct control_file *file) {
    if (file->page)
        munmap(file->page, LAYOUT_PAGE);
    if (file->fd >= 0)
        close(file->fd);
    if (file->kept >= 0)
        close(file->kept);
    *file = (struct control_file){.fd = -1, .kept = -1};
}

// Independent of the size that it states; missing bytes read as zeros.
static bool copy_from(int directory, const char *name, uint32_t user, struct layout_control *to) {
    struct stat status;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool done = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == user;
    for (size_t at = 0; done && at < BYTES;) {
        ssize_t got = pread(fd, (char *)to + at, BYTES - at, (off_t)at);
        if (got <= 0)
            break;
        at += (size_t)got;
    }
    if (fd >= 0)
        close(fd);
    return done;
}

struct layout_control *control_file_copy(int directory, uint32_t user) {
    void *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct layout_control *control = at == MAP_FAILED ? NULL : at;
    bool found = control && copy_from(directory, LAYOUT_CONTROL_NAME, user, control);
    if (control && (!found || control->magic != LAYOUT_CONTROL_MAGIC))
        found |= copy_from(directory, LAYOUT_CONTROL_KEPT_NAME, user, control);
    if (control && !found) {
        munmap(control, BYTES);
        control = NULL;
    }
    return control;
}
