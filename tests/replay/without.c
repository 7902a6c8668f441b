// SPDX-License-Identifier: Apache-2.0
// Runs a program on a kernel that lacks something: without FEATURE... -- COMMAND...
// The system calls of Landlock, of mounts and namespaces, or of seccomp filters (and what prctl has of them) give ENOSYS.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LANDLOCK = 444, MOUNT_SETATTR = 442, MOST = 64 };

static struct sock_filter words[MOST];
static unsigned short count;

static void lack(long call) {
    words[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1);
    words[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
}

int main(int argc, char **argv) {
    int at = 1;
    words[count++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        if (strcmp(argv[at], "landlock") == 0) {
            lack(LANDLOCK);
        } else if (strcmp(argv[at], "mounts") == 0) {
            lack(MOUNT_SETATTR);
            lack(SYS_mount);
        } else if (strcmp(argv[at], "seccomp") == 0) {
            lack(SYS_seccomp);
        }
    }
    words[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {count, words};
    if (at + 1 >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("without");
        return 2;
    }
    execv(argv[at + 1], argv + at + 1);
    perror(argv[at + 1]);
    return 2;
}
