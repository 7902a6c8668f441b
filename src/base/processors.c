// SPDX-License-Identifier: Apache-2.0
// How many processors this process may use: by its affinity mask and by the limits of its control groups. The importer of Chrome's format
// and `analyze` call it before they start threads or processes for the sake of speed.
//
// A container or a job may be limited to the time of two processors on a machine with a hundred. Each group limits those below it, so the
// smallest limit from the process's own group up to the top counts.
#include "base/processors.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracesmith/processors.h"

enum { PATH = 4096, LINE = 128, WORD = 1024, PROCESSORS_FIRST = 1024, PROCESSORS_MOST = 1 << 20 };

// The mask of the kernel may be longer than cpu_set_t: then the call fails with EINVAL.
static unsigned count_allowed(void) {
    for (int room = PROCESSORS_FIRST; room <= PROCESSORS_MOST; room *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)room);
        const size_t size = CPU_ALLOC_SIZE((size_t)room);
        if (!set)
            break;
        const bool done = sched_getaffinity(0, size, set) == 0, is_short = !done && errno == EINVAL;
        const int count = done ? CPU_COUNT_S(size, set) : 1;
        CPU_FREE(set);
        if (!is_short)
            return count > 0 ? (unsigned)count : 1;
    }
    return 1;
}

// ---- limits

// Whether a list, separated by commas, has a word.
static bool has_word(const char *list, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

static bool read_line(const char *folder, const char *name, char *line, int size) {
    char path[2 * PATH];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
    const bool done = file && fgets(line, size, file);
    if (file)
        (void)fclose(file);
    return done;
}

// Of one group: "max 100000" or "150000 100000"; of version 1 a file for each of both numbers, -1 for none.
static unsigned quota_of(const char *folder, bool is_second) {
    char line[LINE], *behind = line;
    long long quota = -1, period = 0;
    if (is_second && read_line(folder, "cpu.max", line, sizeof line)) {
        quota = strtoll(line, &behind, 10);
        period = behind != line ? strtoll(behind, NULL, 10) : 0;
    } else if (!is_second && read_line(folder, "cpu.cfs_quota_us", line, sizeof line)) {
        quota = strtoll(line, NULL, 10);
        period = read_line(folder, "cpu.cfs_period_us", line, sizeof line) ? strtoll(line, NULL, 10) : 0;
    }
    if (quota <= 0 || period <= 0)
        return UINT_MAX;
    const long long count = (quota - 1) / period + 1;
    return count < UINT_MAX ? (unsigned)count : UINT_MAX;
}

// The group of this process below the top of a hierarchy, as /proc/self/cgroup has it: "0::/a/b", "4:cpu,cpuacct:/a/b".
static bool find_group(const char *root, bool is_second, char *group, size_t size) {
    char path[PATH], line[PATH], controllers[WORD], *colon;
    (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        colon = strchr(line, ':');
        char *last = colon ? strchr(colon + 1, ':') : NULL;
        if (!last)
            continue;
        (void)snprintf(controllers, sizeof controllers, "%.*s", (int)(last - colon - 1), colon + 1);
        found = is_second ? !controllers[0] : has_word(controllers, "cpu");
        (void)snprintf(group, size, "%s", last + 1);
    }
    if (file)
        (void)fclose(file);
    return found;
}

// From the group up to the top: the mount shows the groups from `top` on.
static unsigned least_quota(const char *root, const char *mount, const char *top, bool is_second) {
    char group[PATH], folder[2 * PATH];
    unsigned least = UINT_MAX;
    if (!find_group(root, is_second, group, sizeof group))
        return UINT_MAX;
    const size_t above = strcmp(top, "/") == 0 ? 0 : strlen(top);
    const bool is_below = strncmp(group, top, above) == 0 && (group[above] == '/' || !group[above]);
    const int length = snprintf(folder, sizeof folder, "%s%s%s", root, mount, is_below ? group + above : "");
    const size_t shortest = strlen(root) + strlen(mount);
    if (length < 0 || (size_t)length >= sizeof folder)
        return UINT_MAX;
    for (;;) {
        const unsigned quota = quota_of(folder, is_second);
        least = quota < least ? quota : least;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < shortest)
            break;
        *slash = '\0';
    }
    return least;
}

// Cuts a line at its spaces; how many words there are, at most `most`.
static size_t cut_words(char *line, char **words, size_t most) {
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " \n", &rest); word && count < most; word = strtok_r(NULL, " \n", &rest))
        words[count++] = word;
    return count;
}

// Of a line of mountinfo: "30 24 0:27 TOP MOUNT OPTIONS ... - TYPE SOURCE OPTIONS".
static unsigned quota_of_mount(const char *root, char *line) {
    enum { TOP = 3, MOUNT = 4, TYPE = 0, OPTIONS = 2, WORDS = 5 };
    char *before[WORDS], *after[WORDS], *behind = strstr(line, " - ");
    if (!behind)
        return UINT_MAX;
    *behind = '\0';
    if (cut_words(line, before, WORDS) <= MOUNT || cut_words(behind + 3, after, WORDS) <= OPTIONS)
        return UINT_MAX;
    const bool is_second = strcmp(after[TYPE], "cgroup2") == 0;
    if (!is_second && (strcmp(after[TYPE], "cgroup") != 0 || !has_word(after[OPTIONS], "cpu")))
        return UINT_MAX;
    return least_quota(root, before[MOUNT], before[TOP], is_second);
}

unsigned processors_quota(const char *root) {
    char path[PATH], *line = NULL;
    size_t room = 0;
    unsigned least = UINT_MAX;
    (void)snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &room, file) > 0) {
        const unsigned quota = quota_of_mount(root, line);
        least = quota < least ? quota : least;
    }
    free(line);
    if (file)
        (void)fclose(file);
    return least;
}

// Read once: with many mounts it takes as long as a small trace. Two threads may both read it.
static unsigned quota_here(void) {
    static _Atomic unsigned known; // 0: not read yet
    unsigned quota = atomic_load_explicit(&known, memory_order_relaxed);
    if (!quota) {
        quota = processors_quota("");
        atomic_store_explicit(&known, quota, memory_order_relaxed);
    }
    return quota;
}

unsigned tsmith_processors(void) {
    const unsigned allowed = count_allowed(), quota = quota_here();
    return quota < allowed ? quota : allowed;
}
