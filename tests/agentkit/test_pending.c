// SPDX-License-Identifier: Apache-2.0
// The kit's commands in flight over a mock driver, whose commands are complete when the test decides it: each is recorded and
// released once, in whatever order they complete; a queue that runs in order is asked no more than it must; lists grow, are
// left to other threads, and are forgotten in a forked child.
#include "support/numbered.h"

#include <pthread.h>
#include <sys/wait.h>

#include "agentkit/pending.h"
#include "support/test.h"

enum { COMMANDS = 20000, QUEUES = 4, MOST_WORDS = 40, THREADS = 3 };

// ---- the driver

struct command {
    _Atomic uint32_t complete, recorded, released, polled;
};
static struct command commands[THREADS][COMMANDS];
static struct pending_queue queues[QUEUES];
static _Atomic uint32_t wrong, begun;

struct entry {
    struct pending_entry head; // first
    struct command *command;
    uint64_t filling[]; // with the number of the command
};
enum { ENTRY_WORDS = sizeof(struct entry) / 8 };

static enum pending_answer poll(struct pending_entry *head, struct pending_times *times) {
    struct command *command = ((struct entry *)head)->command;
    const uint32_t complete = atomic_load(&command->complete);
    atomic_fetch_add(&command->polled, 1);
    *times = (struct pending_times){.start = complete, .end = complete + 1, .result = -5};
    return complete == 0 ? PENDING_RUNNING : complete == 1 ? PENDING_UNTIMED : PENDING_TIMED;
}

static void record(struct pending_entry *head, const struct pending_times *times,
                   enum pending_answer answer) {
    struct entry *entry = (struct entry *)head;
    const uint32_t complete = atomic_load(&entry->command->complete);
    atomic_fetch_add(&wrong, answer != (complete == 1 ? PENDING_UNTIMED : PENDING_TIMED) ||
                                 times->start != complete || times->result != -5);
    for (uint32_t i = 0; i < head->words - ENTRY_WORDS; i++)
        atomic_fetch_add(&wrong, entry->filling[i] != (uintptr_t)entry->command + i);
    atomic_fetch_add(&wrong, atomic_load(&entry->command->released) != 0);
    atomic_fetch_add(&entry->command->recorded, 1);
}

static void release(struct pending_entry *head) {
    struct command *command = ((struct entry *)head)->command;
    atomic_fetch_add(&wrong, atomic_load(&command->recorded) != 1);
    atomic_fetch_add(&command->released, 1);
}

static void begin(void) {
    atomic_fetch_add(&begun, 1);
}

PENDING_FINISH(finish, poll, record, release)

static bool push(struct command *command, struct pending_queue *queue, uint32_t filling) {
    struct entry *entry = (struct entry *)pending_reserve(ENTRY_WORDS + filling + 3);
    if (!entry)
        return false;
    entry->command = command;
    for (uint32_t i = 0; i < filling; i++)
        entry->filling[i] = (uintptr_t)command + i;
    pending_commit(&entry->head, ENTRY_WORDS + filling, queue);
    return true;
}

// ---- the session, whose channel the kit counts in

static struct session_directory directory;

static int begin_session(void **unused) {
    (void)unused;
    static const struct pending_work work = {finish, begin};
    directory = numbered_session(1 << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    pending_start(&work);
    return channel_open(directory.path, "test", &agent.channel);
}

static int end_session(void **unused) {
    (void)unused;
    channel_close(agent.channel);
    channel_detach(agent.channel);
    agent.channel = NULL;
    session_directory_remove(&directory);
    return 0;
}

static void reset(void) {
    memset(commands, 0, sizeof commands);
    for (int i = 0; i < QUEUES; i++)
        queues[i].out_of_order = i % 2;
    atomic_store(&wrong, 0);
}

static uint32_t count(const struct command *of, uint32_t from, uint32_t to) {
    uint32_t released = 0;
    for (uint32_t i = from; i < to; i++) {
        assert_true(of[i].recorded <= 1 && of[i].released == of[i].recorded);
        released += of[i].released;
    }
    return released;
}

// ---- tests

// Commands complete in any order over several queues, with and without times, while more come: the ring is passed around,
// and grows.
static void any_order(void **unused) {
    (void)unused;
    struct random random = {7};
    reset();
    for (uint32_t i = 0; i < COMMANDS; i++) {
        assert_true(
            push(&commands[0][i], &queues[1 + 2 * (i % 2)], (uint32_t)random_below(&random, MOST_WORDS)));
        for (int done = 0; done < 2; done++)
            atomic_store(&commands[0][random_below(&random, i + 1)].complete,
                         1 + (uint32_t)random_below(&random, 2));
        if (i % 1000 == 0)
            pending_reap_own();
    }
    pending_reap_all(true);
    for (uint32_t i = 0; i < COMMANDS; i++)
        assert_int_equal(commands[0][i].released, commands[0][i].complete != 0);
    assert_true(count(commands[0], 0, COMMANDS) < COMMANDS);
    for (uint32_t i = 0; i < COMMANDS; i++)
        if (!commands[0][i].complete)
            atomic_store(&commands[0][i].complete, 2);
    pending_reap_own();
    assert_int_equal(count(commands[0], 0, COMMANDS), COMMANDS);
    assert_int_equal(wrong, 0);
    assert_int_equal(pending_abandon(), 0);
}

// In a queue that runs in order, a look asks for one unfinished command; out of order for each.
static void asks_no_more_than_it_must(void **unused) {
    (void)unused;
    enum { FEW = 100 };
    reset();
    for (uint32_t i = 0; i < FEW; i++)
        assert_true(push(&commands[0][i], &queues[i % 2], 1));
    const uint64_t epoch = pending_epoch();
    pending_reap_own();
    assert_int_equal(epoch % 2, 0);
    assert_int_equal(pending_epoch(), epoch + 2);
    for (uint32_t i = 0; i < FEW; i++)
        assert_int_equal(commands[0][i].polled, i == 0 || i % 2);
    for (uint32_t i = 0; i < FEW; i += 2)
        atomic_store(&commands[0][i].complete, 2);
    pending_reap_own();
    assert_int_equal(count(commands[0], 0, FEW), FEW / 2);
    assert_int_equal(pending_abandon(), FEW / 2); // and forgets them
    assert_int_equal(pending_abandon(), 0);
    pending_reap_own();
    assert_int_equal(count(commands[0], 0, FEW), FEW / 2);
}

// Threads that give commands and wait for some, and another that looks after all lists: as the control thread does.
struct giver {
    uint32_t index;
    _Atomic uint32_t *over;
};

static void *give(void *self) {
    const struct giver *giver = self;
    struct command *own = commands[giver->index];
    for (uint32_t i = 0; i < COMMANDS; i++) {
        if (!push(&own[i], &queues[giver->index], i % 5))
            atomic_fetch_add(&wrong, 1);
        atomic_store(&own[i].complete, 2);
        if (i % 700 == 0)
            pending_reap_own();
    }
    atomic_fetch_add(giver->over, 1);
    return NULL;
}

static void threads_at_once(void **unused) {
    (void)unused;
    struct giver givers[THREADS];
    pthread_t threads[THREADS];
    _Atomic uint32_t over = 0;
    reset();
    for (uint32_t i = 0; i < THREADS; i++) {
        givers[i] = (struct giver){i, &over};
        assert_int_equal(pthread_create(&threads[i], NULL, give, &givers[i]), 0);
    }
    while (atomic_load(&over) < THREADS)
        pending_reap_neglected();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pending_reap_all(true);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(count(commands[i], 0, COMMANDS), COMMANDS);
    assert_int_equal(wrong, 0);
}

// A thread that ends leaves its list to the next one, but not before what is in it is finished.
static void *give_one(void *command) {
    if (!push(command, &queues[1], 2))
        atomic_fetch_add(&wrong, 1);
    return pending_own;
}

static const void *thread_that_gives(struct command *command) {
    pthread_t thread;
    void *list;
    assert_int_equal(pthread_create(&thread, NULL, give_one, command), 0);
    pthread_join(thread, &list);
    return list;
}

static void lists_are_left(void **unused) {
    (void)unused;
    reset();
    const void *first = thread_that_gives(&commands[0][0]);
    const void *second = thread_that_gives(&commands[0][1]);
    assert_ptr_not_equal(first, second);
    atomic_store(&commands[0][0].complete, 2);
    pending_reap_all(false);
    assert_ptr_equal(thread_that_gives(&commands[0][2]), first);
    assert_int_equal(pending_abandon(), 2);
    assert_int_equal(count(commands[0], 0, 3), 1);
}

// What the parent had in flight is not the child's: the driver is not asked for it there.
static void children_forget(void **unused) {
    (void)unused;
    int status;
    reset();
    assert_true(push(&commands[0][0], &queues[0], 1));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pending_after_fork_child();
        atomic_store(&commands[0][0].complete, 2);
        pending_reap_all(true);
        const bool asked = commands[0][0].polled != 0;
        atomic_store(&commands[0][1].complete, 2);
        const bool pushed = push(&commands[0][1], &queues[0], 1);
        pending_reap_own();
        _exit(asked || !pushed || commands[0][1].released != 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    atomic_store(&commands[0][0].complete, 2);
    pending_reap_own();
    assert_int_equal(commands[0][0].released, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order),       cmocka_unit_test(asks_no_more_than_it_must),
        cmocka_unit_test(threads_at_once), cmocka_unit_test(lists_are_left),
        cmocka_unit_test(children_forget),
    };
    return cmocka_run_group_tests(tests, begin_session, end_session);
}
