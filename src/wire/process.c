// SPDX-License-Identifier: Apache-2.0
// A process in a PID namespace has a number in each namespace around it. In its own it may be 1 and here 4711: the last of the
// numbers in the line NSpid of /proc/4711/status is the one it knows.
#include "wire/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A file of /proc/WHO, as text; false when there is none. By way of its folder: qemu-user answers a process that opens its own
// /proc/self/stat by that path with one that it made up, and its time of start is not the one that others read.
static bool read_about(const char *who, const char *what, char *text, size_t room) {
    char path[64];
    if ((size_t)snprintf(path, sizeof path, "/proc/%s", who) >= sizeof path)
        return false;
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int fd = folder >= 0 ? openat(folder, what, O_RDONLY | O_CLOEXEC) : -1;
    if (folder >= 0)
        close(folder);
    if (fd < 0)
        return false;
    size_t length = 0;
    for (ssize_t got; length < room - 1; length += (size_t)got) {
        got = read(fd, text + length, room - 1 - length);
        if (got < 0 && errno == EINTR)
            got = 0;
        else if (got <= 0)
            break;
    }
    close(fd);
    text[length] = '\0';
    return length > 0;
}

// Where field `number` of a stat begins, from that of field 2 on.
static const char *stat_field(const char *at, int number) {
    for (int field = 2; at && field < number; field++)
        at = strchr(at + 1, ' ');
    return at;
}

// Field 22 of a stat; 0 for a process that has ended. A process whose first thread has exited continues with its
// others (field 20).
static uint64_t start_time_of(const char *who) {
    char text[1024];
    if (!read_about(who, "stat", text, sizeof text))
        return 0;
    const char *name = strrchr(text, ')'); // what is before it may be anything
    if (!name || name[1] != ' ' || name[2] == 'X')
        return 0;
    const char *threads = stat_field(name, 20), *start = stat_field(name, 22);
    if (!start || (name[2] == 'Z' && strtoull(threads, NULL, 10) < 2))
        return 0;
    return strtoull(start, NULL, 10);
}

uint64_t process_start_time(void) {
    return start_time_of("self");
}

uint64_t process_start_time_of(uint64_t pid) {
    char who[24];
    snprintf(who, sizeof who, "%llu", (unsigned long long)pid);
    return start_time_of(who);
}

uint64_t process_image_of(uint64_t pid) {
    char who[24], text[1024];
    enum { START_OF_STACK = 28 };
    snprintf(who, sizeof who, "%llu", (unsigned long long)pid);
    const char *name = read_about(who, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    const char *start = stat_field(name, START_OF_STACK);
    return start ? strtoull(start, NULL, 10) : 0;
}

// 0 where the system does not say by which numbers a process is known: gVisor gives each process another number of its namespace.
uint32_t process_namespace(void) {
    char text[4096];
    struct stat status;
    if (!read_about("self", "status", text, sizeof text) || !strstr(text, "\nNSpid:"))
        return 0;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint32_t)status.st_ino : 0;
}

bool process_is_elsewhere(const struct process_seen *process) {
    const uint32_t ours = process->space ? process_namespace() : 0;
    return ours && process->space != ours;
}

// Whether /proc/WHO is known as `pid` in a namespace below ours.
static bool is_known_as(const char *who, uint64_t pid) {
    char text[4096];
    if (!read_about(who, "status", text, sizeof text))
        return false;
    const char *line = strstr(text, "\nNSpid:");
    const char *end = line ? strchr(line + 1, '\n') : NULL;
    if (!end)
        return false;
    while (end[-1] >= '0' && end[-1] <= '9')
        end--;
    return end[-1] == '\t' && end[-2] != ':' && strtoull(end, NULL, 10) == pid;
}

static uint64_t find_in_proc(const struct process_seen *process) {
    uint64_t found = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; !found && proc && (entry = readdir(proc));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            start_time_of(entry->d_name) == process->start_time && is_known_as(entry->d_name, process->pid))
            found = strtoull(entry->d_name, NULL, 10);
    if (proc)
        closedir(proc);
    return found;
}

// PF_EXITING of the kernel's include/linux/sched.h, in field 9 of a thread's stat. True for a thread that is gone.
static bool thread_is_exiting(const char *who) {
    enum { EXITING = 4 };
    char text[1024];
    const char *name = read_about(who, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    const char *flags = stat_field(name, 9);
    return !flags || (strtoull(flags, NULL, 10) & EXITING);
}

bool process_is_exiting(const struct process_seen *process) {
    char path[64];
    bool exiting = true;
    snprintf(path, sizeof path, "/proc/%llu/task", (unsigned long long)process->here);
    DIR *threads = process->here ? opendir(path) : NULL;
    if (!threads)
        return process->here && errno == ENOENT;
    for (struct dirent *entry; exiting && (entry = readdir(threads));) {
        char who[64];
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        snprintf(who, sizeof who, "%llu/task/%.20s", (unsigned long long)process->here, entry->d_name);
        exiting = thread_is_exiting(who);
    }
    closedir(threads);
    return exiting;
}

bool process_is_alive(struct process_seen *process) {
    char who[24];
    if (!process->start_time) // it saw no /proc: all there is to ask for is the number
        return kill((pid_t)process->pid, 0) == 0 || errno == EPERM;
    if (!process->here)
        process->here = process_is_elsewhere(process) ? find_in_proc(process) : process->pid;
    snprintf(who, sizeof who, "%llu", (unsigned long long)process->here);
    return process->here && start_time_of(who) == process->start_time;
}
