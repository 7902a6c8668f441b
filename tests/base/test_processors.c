// SPDX-License-Identifier: Apache-2.0
// The processors that this process may use: on a simulated kernel with 2,048 processors, and by control groups in folders made here.
#include "support/test.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/processors.h"
#include "tracesmith/processors.h"

enum { KERNEL_PROCESSORS = 2048 };
static int allowed; // from processor 1,000 on; the kernel refuses shorter masks

// In place of the C library's.
int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set) {
    assert_int_equal(process, 0);
    if (size < KERNEL_PROCESSORS / 8) {
        errno = EINVAL;
        return -1;
    }
    CPU_ZERO_S(size, set);
    for (int i = 0; i < allowed; i++)
        CPU_SET_S((size_t)(1000 + i), size, set);
    return 0;
}

static void long_masks_are_read(void **state) {
    (void)state;
    const unsigned quota = processors_quota(""); // of the machine that this runs on
    for (allowed = 1; allowed <= 1000; allowed += 333)
        assert_int_equal(tsmith_processors(), quota < (unsigned)allowed ? quota : (unsigned)allowed);
}

// ---- control groups

static char root[64];

static void put(const char *path, const char *text) {
    char full[512];
    assert_true(snprintf(full, sizeof full, "%s/%s", root, path) < (int)sizeof full);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int make_root(void **state) {
    (void)state;
    strcpy(root, "/tmp/processors.XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status, (void)kind, (void)place;
    return remove(path);
}

static int remove_root(void **state) {
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void limits_of_version_two(void **state) {
    (void)state;
    put("proc/self/cgroup", "0::/slice/job/step\n");
    put("proc/self/mountinfo",
        "24 1 0:22 / /sys rw - sysfs sysfs rw\n"
        "30 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
    assert_int_equal(processors_quota(root), UINT_MAX);
    put("sys/fs/cgroup/slice/job/step/cpu.max", "max 100000\n");
    assert_int_equal(processors_quota(root), UINT_MAX);
    put("sys/fs/cgroup/slice/job/cpu.max", "800000 100000\n");
    assert_int_equal(processors_quota(root), 8);
    put("sys/fs/cgroup/slice/cpu.max", "150000 100000\n"); // a group limits those below it
    assert_int_equal(processors_quota(root), 2);
    put("sys/fs/cgroup/slice/job/step/cpu.max", "1000 100000\n");
    assert_int_equal(processors_quota(root), 1);
    put("sys/fs/cgroup/other/cpu.max", "1 100000\n");
    put("sys/fs/cgroup/slice/job/step/cpu.max", "nonsense\n");
    assert_int_equal(processors_quota(root), 2);
}

// Only a part of the hierarchy is mounted, as in a container.
static void limits_of_a_container(void **state) {
    (void)state;
    put("proc/self/cgroup", "0::/docker/123\n");
    put("proc/self/mountinfo", "30 24 0:27 /docker/123 /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    put("sys/fs/cgroup/cpu.max", "400000 100000\n");
    assert_int_equal(processors_quota(root), 4);
    put("sys/fs/cgroup/docker/123/cpu.max", "100000 100000\n"); // another group of this name
    assert_int_equal(processors_quota(root), 4);
}

static void limits_of_version_one(void **state) {
    (void)state;
    put("proc/self/cgroup", "4:memory:/m\n3:cpu,cpuacct:/a/b\n2:cpuset:/c\n1:name=systemd:/s\n0::/u\n");
    put("proc/self/mountinfo",
        "31 24 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "32 24 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 master:2 - cgroup cgroup rw,cpu,cpuacct\n"
        "33 24 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    assert_int_equal(processors_quota(root), UINT_MAX);
    put("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "250000\n");
    put("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "50000\n");
    assert_int_equal(processors_quota(root), 5);
    put("sys/fs/cgroup/unified/u/cpu.max", "300000 100000\n"); // both hierarchies limit
    assert_int_equal(processors_quota(root), 3);
}

static void without_files_there_is_no_limit(void **state) {
    (void)state;
    assert_int_equal(processors_quota(root), UINT_MAX);
    put("proc/self/mountinfo", "30 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    assert_int_equal(processors_quota(root), UINT_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_masks_are_read),
        cmocka_unit_test_setup_teardown(limits_of_version_two, make_root, remove_root),
        cmocka_unit_test_setup_teardown(limits_of_a_container, make_root, remove_root),
        cmocka_unit_test_setup_teardown(limits_of_version_one, make_root, remove_root),
        cmocka_unit_test_setup_teardown(without_files_there_is_no_limit, make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
