// SPDX-License-Identifier: Apache-2.0
// An MPI program that knows nothing of us and keeps its own log of its calls: "NAME BYTES COMMUNICATOR", -1 and - where it has none.
// Each rank writes it to the file $CALLS_LOG.RANK. Standard output is a checksum of all that it received.
//
//   calls ROUNDS [forever]     forever: each rank then waits to be killed, after a line on standard output
//
// $CALLS_DATA is a file that the ranks write and read together.
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ELEMENTS = 64, ANY = -1 };

static FILE *log_file;
static int rank, size;
static unsigned long sum = 5381;

static void check(int result) {
    if (result != MPI_SUCCESS) {
        fprintf(stderr, "rank %d: an MPI call failed: %d\n", rank, result);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static void note(const char *name, long bytes, const char *comm) {
    fprintf(log_file, "MPI_%s %ld %s\n", name, bytes, comm);
}

#define DO(name, bytes, comm, arguments)                                                                     \
    do {                                                                                                     \
        note(#name, bytes, comm);                                                                            \
        check(MPI_##name arguments);                                                                         \
    } while (0)

static void add(const int *values, int count) {
    for (int i = 0; i < count; i++)
        sum = sum * 33 + (unsigned)values[i];
}

static void fill(int *values, int count, int seed) {
    for (int i = 0; i < count; i++)
        values[i] = seed * 1000 + i;
}

// ---- messages

// The communicator at hand: what the log calls it, and the neighbors in a ring.
static const char *label;
static MPI_Comm comm;
static int me, all, right, left;
static int out[8 * ELEMENTS], in[8 * ELEMENTS];

static void take_communicator(const char *name, MPI_Comm of) {
    label = name;
    comm = of;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &all);
    right = (me + 1) % all;
    left = (me + all - 1) % all;
    memset(in, 0, sizeof in);
    fill(out, 8 * ELEMENTS, me);
}

static void blocking_messages(void) {
    MPI_Status status;
    if (me % 2 == 0 && me + 1 < all) {
        DO(Send, 10 * 4, label, (out, 10, MPI_INT, me + 1, 1, comm));
        DO(Recv, 8 * 3, label, (in, ELEMENTS, MPI_INT, me + 1, 2, comm, MPI_STATUS_IGNORE));
        add(in, 6);
    } else if (me % 2) {
        DO(Recv, 10 * 4, label, (in, ELEMENTS, MPI_INT, MPI_ANY_SOURCE, 1, comm, &status));
        add(in, 10);
        add(&status.MPI_SOURCE, 1);
        DO(Ssend, 3 * 8, label, (out, 3, MPI_DOUBLE, me - 1, 2, comm));
    }
    DO(Sendrecv, 5 * 4, label,
       (out, 5, MPI_INT, right, 3, in, ELEMENTS, MPI_INT, left, 3, comm, MPI_STATUS_IGNORE));
    add(in, 5);
    DO(Sendrecv_replace, 7 * 4, label, (out, 7, MPI_INT, left, 4, right, 4, comm, &status));
    add(out, 7);
    DO(Send, -1, label, (out, 7, MPI_INT, MPI_PROC_NULL, 4, comm));
}

// Each way to complete requests.
static void messages_with_requests(void) {
    int index, flag, count;
    MPI_Request requests[3];
    MPI_Status status, statuses[3];
    DO(Irecv, -1, label, (in, ELEMENTS, MPI_INT, left, 5, comm, &requests[0]));
    DO(Isend, 9 * 4, label, (out, 9, MPI_INT, right, 5, comm, &requests[1]));
    DO(Waitall, -1, "-", (2, requests, MPI_STATUSES_IGNORE));
    add(in, 9);
    DO(Irecv, -1, label, (in, ELEMENTS, MPI_INT, MPI_ANY_SOURCE, 6, comm, &requests[0]));
    DO(Issend, 11 * 4, label, (out, 11, MPI_INT, right, 6, comm, &requests[1]));
    requests[2] = MPI_REQUEST_NULL;
    DO(Waitall, -1, "-", (3, requests, statuses));
    add(&statuses[0].MPI_SOURCE, 1);
    add(in, 11);
    DO(Irecv, -1, label, (in, ELEMENTS, MPI_INT, left, 7, comm, &requests[0]));
    DO(Isend, 12 * 4, label, (out, 12, MPI_INT, right, 7, comm, &requests[1]));
    DO(Waitany, -1, "-", (2, requests, &index, &status));
    DO(Wait, -1, "-", (&requests[1 - index], MPI_STATUS_IGNORE));
    DO(Irecv, -1, label, (in, ELEMENTS, MPI_INT, left, 8, comm, &requests[0]));
    DO(Isend, 13 * 4, label, (out, 13, MPI_INT, right, 8, comm, &requests[1]));
    for (int done = 0; done < 2; done += count) {
        int indices[2];
        DO(Waitsome, -1, "-", (2, requests, &count, indices, statuses));
    }
    add(in, 13);
    // Looks that find nothing are counted by the trace, not here.
    DO(Irecv, -1, label, (in, ELEMENTS, MPI_INT, left, 9, comm, &requests[0]));
    DO(Isend, 14 * 4, label, (out, 14, MPI_INT, right, 9, comm, &requests[1]));
    for (flag = 0; !flag;)
        check(MPI_Test(&requests[0], &flag, &status));
    note("Test", -1, "-");
    DO(Wait, -1, "-", (&requests[1], &status));
    add(in, 14);
}

static void found_and_persistent_messages(void) {
    MPI_Request requests[2];
    MPI_Status status, statuses[2];
    // A message of which is asked before.
    DO(Isend, 2 * 4, label, (out, 2, MPI_INT, right, 10, comm, &requests[1]));
    DO(Probe, 2 * 4, label, (left, 10, comm, &status));
    DO(Recv, 2 * 4, label, (in, ELEMENTS, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm, &status));
    DO(Wait, -1, "-", (&requests[1], &status));
    MPI_Message message;
    DO(Isend, 4 * 4, label, (out, 4, MPI_INT, right, 11, comm, &requests[1]));
    DO(Mprobe, 4 * 4, label, (left, 11, comm, &message, &status));
    DO(Mrecv, 4 * 4, label, (in, ELEMENTS, MPI_INT, &message, MPI_STATUS_IGNORE));
    DO(Wait, -1, "-", (&requests[1], &status));
    add(in, 4);
    // Persistent requests.
    DO(Recv_init, -1, label, (in, ELEMENTS, MPI_INT, left, 12, comm, &requests[0]));
    DO(Send_init, 15 * 4, label, (out, 15, MPI_INT, right, 12, comm, &requests[1]));
    for (int i = 0; i < 2; i++) {
        DO(Startall, -1, "-", (2, requests));
        DO(Waitall, -1, "-", (2, requests, statuses));
    }
    DO(Start, -1, "-", (&requests[0]));
    DO(Start, -1, "-", (&requests[1]));
    DO(Wait, -1, "-", (&requests[0], &status));
    DO(Wait, -1, "-", (&requests[1], &status));
    add(in, 15);
    DO(Request_free, -1, "-", (&requests[0]));
    DO(Request_free, -1, "-", (&requests[1]));
}

// ---- collectives

static void messages(const char *name, MPI_Comm of) {
    take_communicator(name, of);
    blocking_messages();
    messages_with_requests();
    found_and_persistent_messages();
}

static void rooted_collectives(void) {
    int counts[64], displs[64];
    const int last = all - 1, total = all * (all + 1) / 2;
    for (int i = 0; i < all; i++) {
        counts[i] = i + 1;
        displs[i] = i * (i + 1) / 2;
    }
    DO(Barrier, -1, label, (comm));
    DO(Bcast, 20 * 4, label, (out, 20, MPI_INT, last, comm));
    add(out, 20);
    fill(out, 8 * ELEMENTS, me);
    DO(Reduce, 6 * 4, label, (out, in, 6, MPI_INT, MPI_SUM, last, comm));
    DO(Allreduce, 4 * 4, label, (out, in, 4, MPI_INT, MPI_MAX, comm));
    add(in, 4);
    DO(Allreduce, 4 * 4, label, (MPI_IN_PLACE, in, 4, MPI_INT, MPI_SUM, comm));
    add(in, 4);
    DO(Gather, 3 * 4, label, (out, 3, MPI_INT, in, 3, MPI_INT, 0, comm));
    if (me == 0)
        DO(Gather, 3 * 4, label, (MPI_IN_PLACE, 0, MPI_INT, in, 3, MPI_INT, 0, comm));
    else
        DO(Gather, 3 * 4, label, (out, 3, MPI_INT, NULL, 0, MPI_INT, 0, comm));
    DO(Gatherv, (me + 1) * 4, label, (out, me + 1, MPI_INT, in, counts, displs, MPI_INT, 0, comm));
    if (me == 0)
        add(in, total);
    DO(Scatter, 2 * 4, label, (out, 2, MPI_INT, in, 2, MPI_INT, 0, comm));
    add(in, 2);
    DO(Scatterv, (me + 1) * 4, label, (out, counts, displs, MPI_INT, in, me + 1, MPI_INT, 0, comm));
    add(in, me + 1);
}

static void symmetric_collectives(void) {
    int counts[64], displs[64];
    const int total = all * (all + 1) / 2;
    MPI_Request request;
    for (int i = 0; i < all; i++) {
        counts[i] = i + 1;
        displs[i] = i * (i + 1) / 2;
    }
    DO(Allgather, 5 * 4, label, (out, 5, MPI_INT, in, 5, MPI_INT, comm));
    add(in, 5 * all);
    DO(Allgatherv, (me + 1) * 4, label, (out, me + 1, MPI_INT, in, counts, displs, MPI_INT, comm));
    DO(Allgatherv, (me + 1) * 4, label, (MPI_IN_PLACE, 0, MPI_INT, in, counts, displs, MPI_INT, comm));
    add(in, total);
    DO(Alltoall, 3L * 4 * all, label, (out, 3, MPI_INT, in, 3, MPI_INT, comm));
    add(in, 3 * all);
    for (int i = 0; i < all; i++) { // i + me + 1 elements to i
        counts[i] = i + me + 1;
        displs[i] = 16 * i;
    }
    DO(Alltoallv, 4L * (all * (me + 1) + total - all), label,
       (out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, comm));
    add(in, me + 1);
    for (int i = 0; i < all; i++)
        counts[i] = i + 1;
    DO(Reduce_scatter, 4L * total, label, (out, in, counts, MPI_INT, MPI_SUM, comm));
    add(in, me + 1);
    DO(Reduce_scatter_block, 2L * 4 * all, label, (out, in, 2, MPI_INT, MPI_SUM, comm));
    DO(Scan, 2 * 4, label, (out, in, 2, MPI_INT, MPI_SUM, comm));
    add(in, 2);
    DO(Exscan, 2 * 4, label, (out, in, 2, MPI_INT, MPI_SUM, comm));
    DO(Iallreduce, 6 * 4, label, (out, in, 6, MPI_INT, MPI_SUM, comm, &request));
    DO(Wait, -1, "-", (&request, MPI_STATUS_IGNORE));
    add(in, 6);
    DO(Ibarrier, -1, label, (comm, &request));
    DO(Wait, -1, "-", (&request, MPI_STATUS_IGNORE));
    DO(Ibcast, 7 * 4, label, (out, 7, MPI_INT, 0, comm, &request));
    DO(Wait, -1, "-", (&request, MPI_STATUS_IGNORE));
    add(out, 7);
}

static void collectives(const char *name, MPI_Comm of) {
    take_communicator(name, of);
    rooted_collectives();
    symmetric_collectives();
}

// ---- communicators, windows, errors

static void communicators(void) {
    MPI_Comm made, other, merged;
    MPI_Group whole, evens;
    MPI_Request request;
    char text[64];
    const int color = rank % 2, half = rank < size / 2;
    DO(Comm_dup, -1, "world", (MPI_COMM_WORLD, &made));
    collectives("dup", made);
    DO(Comm_idup, -1, "dup", (made, &other, &request));
    DO(Wait, -1, "-", (&request, MPI_STATUS_IGNORE));
    DO(Barrier, -1, "idup", (other));
    DO(Comm_free, -1, "idup", (&other));
    DO(Comm_free, -1, "dup", (&made));
    DO(Comm_split, -1, "world", (MPI_COMM_WORLD, color, -rank, &made));
    snprintf(text, sizeof text, "split%d", color);
    messages(text, made);
    collectives(text, made);
    DO(Comm_free, -1, text, (&made));
    MPI_Comm_group(MPI_COMM_WORLD, &whole);
    MPI_Group_range_incl(whole, 1, (int[][3]){{0, size - 1, 2}}, &evens);
    DO(Comm_create, -1, "world", (MPI_COMM_WORLD, evens, &made));
    if (made != MPI_COMM_NULL) {
        DO(Barrier, -1, "created", (made));
        DO(Comm_free, -1, "created", (&made));
    }
    if (color == 0) { // only its group calls it: the others' counts do not change
        for (int i = 0; i < 2; i++) {
            DO(Comm_create_group, -1, "-", (MPI_COMM_WORLD, evens, 5, &made));
            snprintf(text, sizeof text, "group%d", i);
            DO(Barrier, -1, text, (made));
            DO(Comm_free, -1, text, (&made));
        }
    }
    DO(Cart_create, -1, "world", (MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &made));
    DO(Barrier, -1, "cart", (made));
    DO(Comm_free, -1, "cart", (&made));
    MPI_Group_free(&evens);
    MPI_Group_free(&whole);
    if (size < 2)
        return;
    // Two halves, the bridge between them, and what becomes of it.
    DO(Comm_split, -1, "world", (MPI_COMM_WORLD, half, rank, &made));
    snprintf(text, sizeof text, "half%d", half);
    DO(Intercomm_create, -1, text, (made, 0, MPI_COMM_WORLD, half ? size / 2 : 0, 9, &other));
    DO(Intercomm_merge, -1, "inter", (other, half, &merged));
    DO(Barrier, -1, "inter", (other));
    DO(Barrier, -1, "merged", (merged));
    DO(Comm_free, -1, "merged", (&merged));
    DO(Comm_free, -1, "inter", (&other));
    DO(Comm_free, -1, text, (&made));
}

static void windows(void) {
    int base[ELEMENTS] = {0};
    MPI_Win window;
    take_communicator("world", MPI_COMM_WORLD);
    DO(Win_create, -1, "world", (base, sizeof base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    DO(Win_fence, -1, "window", (0, window));
    DO(Put, 5 * 4, "window", (out, 5, MPI_INT, right, 0, 5, MPI_INT, window));
    DO(Win_fence, -1, "window", (0, window));
    add(base, 5);
    DO(Get, 3 * 4, "window", (out, 3, MPI_INT, right, 0, 3, MPI_INT, window));
    DO(Win_fence, -1, "window", (0, window));
    add(out, 3);
    DO(Win_lock, -1, "window", (MPI_LOCK_SHARED, right, 0, window));
    DO(Accumulate, 2 * 4, "window", (out, 2, MPI_INT, right, 10, 2, MPI_INT, MPI_SUM, window));
    DO(Win_flush, -1, "window", (right, window));
    DO(Win_unlock, -1, "window", (right, window));
    DO(Barrier, -1, "world", (MPI_COMM_WORLD));
    DO(Win_free, -1, "window", (&window));
}

// ---- files

enum { BLOCK = 16 }; // integers of each rank

static void independent_transfers(MPI_File file) {
    MPI_Status status;
    const MPI_Offset mine = me * BLOCK * 4L, theirs = right * BLOCK * 4L;
    DO(File_write_at, BLOCK * 4, "file", (file, mine, out, BLOCK, MPI_INT, MPI_STATUS_IGNORE));
    DO(File_sync, -1, "file", (file));
    DO(Barrier, -1, label, (comm));
    DO(File_read_at, BLOCK * 4, "file", (file, theirs, in, BLOCK, MPI_INT, &status));
    add(in, BLOCK);
    // Behind the last block there is nothing.
    DO(File_read_at, 2 * 4, "file", (file, all * BLOCK * 4L - 8, in, BLOCK, MPI_INT, MPI_STATUS_IGNORE));
    check(MPI_File_seek(file, mine, MPI_SEEK_SET));
    DO(File_write, 3 * 4, "file", (file, out, 3, MPI_INT, &status));
    check(MPI_File_seek(file, mine, MPI_SEEK_SET));
    DO(File_read, 5 * 4, "file", (file, in, 5, MPI_INT, MPI_STATUS_IGNORE));
    add(in, 5);
}

static void collective_transfers(MPI_File file) {
    MPI_Status status;
    const MPI_Offset mine = me * BLOCK * 4L, theirs = right * BLOCK * 4L;
    DO(File_write_at_all, 7 * 4, "file", (file, mine, out, 7, MPI_INT, MPI_STATUS_IGNORE));
    DO(File_read_at_all, 7 * 4, "file", (file, mine, in, 7, MPI_INT, &status));
    add(in, 7);
    DO(File_set_view, -1, "file", (file, mine, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    DO(File_write_all, 4 * 4, "file", (file, out, 4, MPI_INT, MPI_STATUS_IGNORE));
    check(MPI_File_seek(file, 0, MPI_SEEK_SET));
    DO(File_read_all, 4 * 4, "file", (file, in, 4, MPI_INT, MPI_STATUS_IGNORE));
    add(in, 4);
    DO(File_set_view, -1, "file", (file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    // In two halves.
    DO(File_write_at_all_begin, -1, "file", (file, mine, out, 6, MPI_INT));
    DO(File_write_at_all_end, 6 * 4, "file", (file, out, &status));
    DO(Barrier, -1, label, (comm));
    DO(File_read_at_all_begin, -1, "file", (file, theirs, in, 6, MPI_INT));
    DO(File_read_at_all_end, 6 * 4, "file", (file, in, MPI_STATUS_IGNORE));
    add(in, 6);
}

static void started_transfers(MPI_File file) {
    MPI_Request request;
    MPI_Status status;
    const MPI_Offset mine = me * BLOCK * 4L;
    DO(File_iwrite_at, 9 * 4, "file", (file, mine, out, 9, MPI_INT, &request));
    DO(Wait, -1, "-", (&request, MPI_STATUS_IGNORE));
    DO(File_iread_at, 9 * 4, "file", (file, mine, in, 9, MPI_INT, &request));
    DO(Wait, -1, "-", (&request, &status));
    add(in, 9);
    DO(File_iwrite_at_all, 5 * 4, "file", (file, mine, out, 5, MPI_INT, &request));
    DO(Wait, -1, "-", (&request, &status));
    DO(File_iread_at_all, -1, "file", (file, mine, in, 5, MPI_INT, &request));
    DO(Wait, -1, "-", (&request, &status));
    add(in, 5);
}

static void files(const char *path) {
    MPI_File file;
    take_communicator("world", MPI_COMM_WORLD);
    DO(File_open, -1, label, (comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    DO(File_set_size, -1, "file", (file, 0));
    independent_transfers(file);
    DO(Barrier, -1, label, (comm));
    collective_transfers(file);
    DO(Barrier, -1, label, (comm));
    started_transfers(file);
    DO(File_close, -1, "file", (&file));
    if (rank == 0)
        DO(File_delete, -1, "-", (path, MPI_INFO_NULL));
    DO(Barrier, -1, label, (comm));
}

static void errors(void) {
    int value = 0, class;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    note("Send", -1, "error");
    const int result = MPI_Send(&value, 1, MPI_INT, size + 5, 1, MPI_COMM_WORLD);
    MPI_Error_class(result, &class);
    if (class != MPI_ERR_RANK)
        check(MPI_ERR_OTHER);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv) {
    int provided = 0;
    const int rounds = argc > 1 ? atoi(argv[1]) : 1;
    const char *prefix = getenv("CALLS_LOG");
    char path[4096];
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
        return 3;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s.%d", prefix ? prefix : "/dev/null", rank);
    log_file = fopen(prefix ? path : "/dev/null", "w");
    if (!log_file)
        return 3;
    note("Init_thread", -1, "-");
    for (int i = 0; i < rounds; i++) {
        MPI_Pcontrol(1 + i);
        messages("world", MPI_COMM_WORLD);
        collectives("world", MPI_COMM_WORLD);
        communicators();
        if (size > 1) // Open MPI has no windows for one rank with several threads
            windows();
        if (getenv("CALLS_DATA"))
            files(getenv("CALLS_DATA"));
        DO(Barrier, -1, "self", (MPI_COMM_SELF));
        errors();
    }
    if (argc > 2) {
        fclose(log_file);
        printf("waits\n");
        fflush(stdout);
        for (;;)
            pause();
    }
    unsigned long all = 0;
    note("Reduce", sizeof sum, "world");
    check(PMPI_Reduce(&sum, &all, 1, MPI_UNSIGNED_LONG, MPI_BXOR, 0,
                      MPI_COMM_WORLD)); // by its other name, as a tool in the program's file calls it
    note("Finalize", -1, "world");
    fclose(log_file);
    if (rank == 0)
        printf("%d ranks, thread level %d, checksum %lx\n", size, provided, all);
    MPI_Finalize();
    return 0;
}
