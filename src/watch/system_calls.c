// SPDX-License-Identifier: Apache-2.0
// Names of system calls. rows.c calls it for each wait.
#include "watch/system_calls.h"

#include <stdio.h>
#include <sys/syscall.h>

// What threads wait in, by number. Not all that there are.
#define NAMED(name) [SYS_##name] = #name
static const char *const system_calls[] = {
    NAMED(read),
    NAMED(write),
    NAMED(readv),
    NAMED(writev),
    NAMED(pread64),
    NAMED(pwrite64),
    NAMED(futex),
    NAMED(ppoll),
    NAMED(pselect6),
    NAMED(epoll_pwait),
    NAMED(nanosleep),
    NAMED(clock_nanosleep),
    NAMED(sched_yield),
    NAMED(ioctl),
    NAMED(fsync),
    NAMED(fdatasync),
    NAMED(mmap),
    NAMED(munmap),
    NAMED(mprotect),
    NAMED(madvise),
    NAMED(mremap),
    NAMED(msync),
    NAMED(brk),
    NAMED(openat),
    NAMED(close),
    NAMED(newfstatat),
    NAMED(statx),
    NAMED(fstat),
    NAMED(getdents64),
    NAMED(unlinkat),
    NAMED(ftruncate),
    NAMED(fallocate),
    NAMED(wait4),
    NAMED(waitid),
    NAMED(recvfrom),
    NAMED(recvmsg),
    NAMED(sendto),
    NAMED(sendmsg),
    NAMED(socket),
#ifdef SYS_accept // s390x has accept4 only
    NAMED(accept),
#endif
    NAMED(accept4),
    NAMED(connect),
    NAMED(rt_sigtimedwait),
    NAMED(rt_sigsuspend),
    NAMED(rt_sigprocmask),
    NAMED(io_getevents),
    NAMED(execve),
    NAMED(clone),
    NAMED(exit_group),
    NAMED(exit),
    NAMED(flock),
    NAMED(splice),
    NAMED(sendfile),
    NAMED(getrandom),
    NAMED(membarrier),
    NAMED(prctl),
    NAMED(sched_setaffinity),
    NAMED(kill),
    NAMED(tgkill),
#if defined(SYS_poll) // those that newer machines never had
    NAMED(poll),
    NAMED(select),
    NAMED(epoll_wait),
    NAMED(pause),
    NAMED(fork),
    NAMED(vfork),
    NAMED(open),
    NAMED(stat),
    NAMED(unlink),
    NAMED(rename),
    NAMED(mkdir),
#endif
#if defined(SYS_clone3)
    NAMED(clone3),
#endif
#if defined(SYS_io_uring_enter)
    NAMED(io_uring_enter),
#endif
};
#undef NAMED

const char *system_call_name(int number, char *room, size_t size) {
    if (number >= 0 && (size_t)number < sizeof system_calls / sizeof *system_calls && system_calls[number])
        return system_calls[number];
    snprintf(room, size, "system call %d", number);
    return room;
}
