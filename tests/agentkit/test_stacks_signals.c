// SPDX-License-Identifier: Apache-2.0
// A signal handler takes a stack, at each of the first instructions and at many of the others of a thread's first stack, and of what is done
// when it ends: no handler waits for what its own thread holds, and each stack that a handler does not get is counted.
#include "support/numbered.h"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "agentkit/stacks.h"
#include "wire/channel_private.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                \
    !defined(SANITIZED)

enum { EACH = 250, APART = 131, INSTRUCTIONS = 2500, HANG = 120 }; // s: only where a handler waits for ever
static struct channel *channel;
static pthread_key_t first_key, last_key;
static uint64_t taken, refused;
static int at_start, at_end; // the instruction that a handler takes its stack at; 0: none
static int left;             // until then
static bool is_over;         // all that is to be stepped through was, without it

static uint64_t lost_stacks(void) {
    return atomic_load(&channel->gate.ledger->lost[TSMITH_REASON_NO_STACK]);
}

static void take(void) {
    if (stacks_capture())
        taken++;
    else
        refused++;
}

static void on_step(int number, siginfo_t *info, void *context) {
    enum { STEPPING = 0x100 };
    (void)number, (void)info;
    if (--left > 0)
        return;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~STEPPING;
    take();
}

// In assembly, so that the unwind information knows of what they push.
#define STEPPING(name, change)                                                                               \
    void name(void);                                                                                         \
    __asm__(".pushsection .text\n\t.type " #name ", @function\n" #name ":\n\t.cfi_startproc\n\t"             \
            "pushfq\n\t.cfi_adjust_cfa_offset 8\n\t" change ", (%rsp)\n\t"                                   \
            "popfq\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.cfi_endproc\n\t.popsection")
STEPPING(begin_stepping, "orq $0x100");
STEPPING(end_stepping, "andq $~0x100");

static void before_the_others(void *unused) {
    (void)unused;
    left = at_end;
    if (at_end)
        begin_stepping();
}

static void after_the_others(void *unused) {
    (void)unused;
    if (at_end)
        end_stepping();
    is_over |= at_end && left > 0;
}

static void *thread(void *unused) {
    assert_int_equal(pthread_setspecific(first_key, &taken), 0);
    assert_int_equal(pthread_setspecific(last_key, &taken), 0);
    left = at_start;
    if (at_start)
        begin_stepping();
    take();
    if (at_start)
        end_stepping();
    is_over |= at_start && left > 0;
    return unused;
}

static void run_threads(int *at) {
    pthread_t id;
    is_over = false;
    for (*at = 1; !is_over && *at < INSTRUCTIONS; *at += *at < EACH ? 1 : APART) {
        assert_int_equal(pthread_create(&id, NULL, thread, NULL), 0);
        assert_int_equal(pthread_join(id, NULL), 0);
    }
    print_message("%d instructions\n", *at);
    *at = 0;
}

static void test_every_instruction(void **state) {
    (void)state;
    const tsmith_capture_options options = {.size = sizeof options, .buffer_bytes = 1 << 20, .stacks = 1};
    const struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    struct session_directory directory;
    tsmith_error error;
    assert_int_equal(session_directory_create(&directory, &options, &error), TSMITH_OK);
    assert_int_equal(channel_open(directory.path, "test", &channel), TSMITH_OK);
    // The C library destroys what a thread has by the order of the keys.
    assert_int_equal(pthread_key_create(&first_key, before_the_others), 0);
    assert_true(stacks_start(channel));
    assert_int_equal(pthread_key_create(&last_key, after_the_others), 0);
    take();
    assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
    alarm(HANG);
    run_threads(&at_start);
    assert_true(taken > 0);
    run_threads(&at_end);
    assert_true(is_over); // the end has few instructions
    alarm(0);
    print_message("%lu stacks, %lu refused\n", (unsigned long)taken, (unsigned long)refused);
    assert_int_equal(lost_stacks(), refused);
    channel_close(channel);
    stacks_end();
    session_directory_remove(&directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_instruction)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) {
    puts("skipped: single steps are tested on x86-64, without sanitizers");
    return 77;
}
#endif
