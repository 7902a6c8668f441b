// SPDX-License-Identifier: Apache-2.0
// The calls of MPI that are recorded, one table: the wrappers, the names in the trace and the check of
// prototypes (mpi.abi) come from it.
//
//   X(name, class, (parameters), (arguments), facts...)
//
// The facts are members of struct said (agent.h). A macro X expands its arguments before it uses them with ##: it needs two levels. `COUNT` is what the expansion says: int, or for MPI_..._c 64 bits.
//
//   SEND RECV SENDRECV   blocking point-to-point            ISEND IRECV     with a request
//   MAKE_SEND MAKE_RECV  persistent requests                START STARTALL  that begin them
//   WAIT... TEST...      complete requests                  PROBE POLL      look for a message
//   COLL                 blocking collectives               ICOLL           with a request
//   RMA                  one-sided transfers                IRMA            with a request
//   MAKE_WIN WIN_COLL    collectives on a window            WIN             other synchronization of a window
//   MAKE_COMM ...        communicators that are made        FREE_...        or freed
//   FILE_MOVE...         blocking transfers of a file       FILE_START...   with a request
//   FILE_BEGIN           the first half of a split one      FILE_COLL       other collectives on a file
//   ..._ALL              the collective ones of these
#ifndef MPI_CALLS_H
#define MPI_CALLS_H

// clang-format off
#define P_(...) (__VA_ARGS__)
#define MESSAGE_P P_(const void *buf, COUNT count, mpi_handle type, int peer, int tag, mpi_handle comm)
#define MESSAGE_A (buf, count, type, peer, tag, comm)
#define MESSAGE_F .count = count, .type = type, .peer = peer, .tag = tag, .comm = comm
#define MESSAGE_REQUEST_P P_(const void *buf, COUNT count, mpi_handle type, int peer, int tag, mpi_handle comm, void *request)
#define MESSAGE_REQUEST_A (buf, count, type, peer, tag, comm, request)
#define MESSAGE_REQUEST_F MESSAGE_F, .request = request
#define MESSAGE_ROW(X, name, class) X(name, class, MESSAGE_P, MESSAGE_A, MESSAGE_F)
#define REQUEST_ROW(X, name, class) X(name, class, MESSAGE_REQUEST_P, MESSAGE_REQUEST_A, MESSAGE_REQUEST_F)

#define MPI_MESSAGES(X) \
    MESSAGE_ROW(X, Send, SEND) MESSAGE_ROW(X, Bsend, SEND) MESSAGE_ROW(X, Ssend, SEND) MESSAGE_ROW(X, Rsend, SEND) \
    REQUEST_ROW(X, Isend, ISEND) REQUEST_ROW(X, Ibsend, ISEND) REQUEST_ROW(X, Issend, ISEND) REQUEST_ROW(X, Irsend, ISEND) \
    REQUEST_ROW(X, Irecv, IRECV) \
    REQUEST_ROW(X, Send_init, MAKE_SEND) REQUEST_ROW(X, Bsend_init, MAKE_SEND) REQUEST_ROW(X, Ssend_init, MAKE_SEND) \
    REQUEST_ROW(X, Rsend_init, MAKE_SEND) REQUEST_ROW(X, Recv_init, MAKE_RECV) \
    X(Recv, RECV, P_(void *buf, COUNT count, mpi_handle type, int peer, int tag, mpi_handle comm, void *status), \
      (buf, count, type, peer, tag, comm, STATUS(status)), .peer = peer, .tag = tag, .comm = comm) \
    X(Mrecv, RECV, P_(void *buf, COUNT count, mpi_handle type, void *message, void *status), \
      (buf, count, type, message, STATUS(status)), .peer = PEER_FROM_STATUS, .message = message) \
    X(Imrecv, IRECV, P_(void *buf, COUNT count, mpi_handle type, void *message, void *request), \
      (buf, count, type, message, request), .peer = PEER_FROM_STATUS, .message = message, .request = request) \
    X(Sendrecv, SENDRECV, \
      P_(const void *sendbuf, COUNT sendcount, mpi_handle sendtype, int dest, int sendtag, void *recvbuf, COUNT recvcount, \
         mpi_handle recvtype, int source, int recvtag, mpi_handle comm, void *status), \
      (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, STATUS(status)), \
      .count = sendcount, .type = sendtype, .peer = dest, .tag = sendtag, .source = source, .source_tag = recvtag, .comm = comm) \
    X(Sendrecv_replace, SENDRECV, \
      P_(void *buf, COUNT count, mpi_handle type, int dest, int sendtag, int source, int recvtag, mpi_handle comm, void *status), \
      (buf, count, type, dest, sendtag, source, recvtag, comm, STATUS(status)), \
      .count = count, .type = type, .peer = dest, .tag = sendtag, .source = source, .source_tag = recvtag, .comm = comm)

// ---- collectives: IF_REQUEST is a further parameter of the nonblocking form
#define ONE_P(...) P_(const void *sendbuf, void *recvbuf, COUNT count, mpi_handle type, mpi_handle op, __VA_ARGS__)
#define TWO_P(...) P_(const void *sendbuf, COUNT sendcount, mpi_handle sendtype, void *recvbuf, COUNT recvcount, \
    mpi_handle recvtype, __VA_ARGS__)
#define SENT_F .count = sendcount, .type = sendtype, .in_place = sendbuf, .alt_count = recvcount, .alt_type = recvtype
#define RECEIVED_F .count = recvcount, .type = recvtype, .in_place = recvbuf, .alt_count = sendcount, .alt_type = sendtype
#define ALT_OF(array, of_type) .alt_counts = array, .counts_width = sizeof *array, .alt_type = of_type
#define ALL_OF(array) .counts = array, .counts_width = sizeof *array

#define COLLECTIVE_ROWS(X, NAME, class, ADD_P, ADD_A, F) \
    X(NAME(Allreduce, Iallreduce), class, ADD_P(ONE_P, mpi_handle comm), ADD_A(sendbuf, recvbuf, count, type, op, comm), \
      .count = count, .type = type, .comm = comm F) \
    X(NAME(Scan, Iscan), class, ADD_P(ONE_P, mpi_handle comm), ADD_A(sendbuf, recvbuf, count, type, op, comm), \
      .count = count, .type = type, .comm = comm F) \
    X(NAME(Exscan, Iexscan), class, ADD_P(ONE_P, mpi_handle comm), ADD_A(sendbuf, recvbuf, count, type, op, comm), \
      .count = count, .type = type, .comm = comm F) \
    X(NAME(Reduce_scatter_block, Ireduce_scatter_block), class, ADD_P(ONE_P, mpi_handle comm), ADD_A(sendbuf, recvbuf, count, type, op, comm), \
      .count = count, .type = type, .times_ranks = true, .comm = comm F) \
    X(NAME(Reduce, Ireduce), class, ADD_P(ONE_P, int root, mpi_handle comm), ADD_A(sendbuf, recvbuf, count, type, op, root, comm), \
      .count = count, .type = type, .has_root = true, .root = root, .comm = comm F) \
    X(NAME(Allgather, Iallgather), class, ADD_P(TWO_P, mpi_handle comm), \
      ADD_A(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), SENT_F, .comm = comm F) \
    X(NAME(Neighbor_allgather, Ineighbor_allgather), class, ADD_P(TWO_P, mpi_handle comm), \
      ADD_A(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), .count = sendcount, .type = sendtype, .comm = comm F) \
    X(NAME(Alltoall, Ialltoall), class, ADD_P(TWO_P, mpi_handle comm), \
      ADD_A(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), SENT_F, .times_ranks = true, .comm = comm F) \
    X(NAME(Neighbor_alltoall, Ineighbor_alltoall), class, ADD_P(TWO_P, mpi_handle comm), \
      ADD_A(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), .comm = comm F) \
    X(NAME(Gather, Igather), class, ADD_P(TWO_P, int root, mpi_handle comm), \
      ADD_A(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm), \
      SENT_F, .has_root = true, .root = root, .comm = comm F) \
    X(NAME(Scatter, Iscatter), class, ADD_P(TWO_P, int root, mpi_handle comm), \
      ADD_A(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm), \
      RECEIVED_F, .has_root = true, .root = root, .comm = comm F) \
    X(NAME(Barrier, Ibarrier), class, ADD_P(P_, mpi_handle comm), ADD_A(comm), .comm = comm F) \
    X(NAME(Bcast, Ibcast), class, ADD_P(P_, void *buf, COUNT count, mpi_handle type, int root, mpi_handle comm), \
      ADD_A(buf, count, type, root, comm), .count = count, .type = type, .has_root = true, .root = root, .comm = comm F) \
    X(NAME(Reduce_scatter, Ireduce_scatter), class, \
      ADD_P(P_, const void *sendbuf, void *recvbuf, const COUNT *counts, mpi_handle type, mpi_handle op, mpi_handle comm), \
      ADD_A(sendbuf, recvbuf, counts, type, op, comm), ALL_OF(counts), .type = type, .comm = comm F) \
    X(NAME(Allgatherv, Iallgatherv), class, ADD_P(P_, const void *sendbuf, COUNT sendcount, mpi_handle sendtype, void *recvbuf, \
      const COUNT *counts, const void *displs, mpi_handle recvtype, mpi_handle comm), \
      ADD_A(sendbuf, sendcount, sendtype, recvbuf, counts, displs, recvtype, comm), \
      .count = sendcount, .type = sendtype, .in_place = sendbuf, ALT_OF(counts, recvtype), .comm = comm F) \
    X(NAME(Neighbor_allgatherv, Ineighbor_allgatherv), class, ADD_P(P_, const void *sendbuf, COUNT sendcount, mpi_handle sendtype, void *recvbuf, \
      const COUNT *counts, const void *displs, mpi_handle recvtype, mpi_handle comm), \
      ADD_A(sendbuf, sendcount, sendtype, recvbuf, counts, displs, recvtype, comm), \
      .count = sendcount, .type = sendtype, .comm = comm F) \
    X(NAME(Gatherv, Igatherv), class, ADD_P(P_, const void *sendbuf, COUNT sendcount, mpi_handle sendtype, void *recvbuf, \
      const COUNT *counts, const void *displs, mpi_handle recvtype, int root, mpi_handle comm), \
      ADD_A(sendbuf, sendcount, sendtype, recvbuf, counts, displs, recvtype, root, comm), \
      .count = sendcount, .type = sendtype, .in_place = sendbuf, ALT_OF(counts, recvtype), .has_root = true, .root = root, \
      .comm = comm F) \
    X(NAME(Scatterv, Iscatterv), class, ADD_P(P_, const void *sendbuf, const COUNT *counts, const void *displs, mpi_handle sendtype, \
      void *recvbuf, COUNT recvcount, mpi_handle recvtype, int root, mpi_handle comm), \
      ADD_A(sendbuf, counts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm), \
      .count = recvcount, .type = recvtype, .in_place = recvbuf, ALT_OF(counts, sendtype), .has_root = true, .root = root, \
      .comm = comm F) \
    X(NAME(Alltoallv, Ialltoallv), class, ADD_P(P_, const void *sendbuf, const COUNT *counts, const void *sdispls, mpi_handle sendtype, \
      void *recvbuf, const COUNT *recvcounts, const void *rdispls, mpi_handle recvtype, mpi_handle comm), \
      ADD_A(sendbuf, counts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm), \
      ALL_OF(counts), .type = sendtype, .in_place = sendbuf, .alt_counts_all = recvcounts, .alt_type = recvtype, .comm = comm F) \
    X(NAME(Neighbor_alltoallv, Ineighbor_alltoallv), class, ADD_P(P_, const void *sendbuf, const COUNT *counts, const void *sdispls, \
      mpi_handle sendtype, void *recvbuf, const COUNT *recvcounts, const void *rdispls, mpi_handle recvtype, mpi_handle comm), \
      ADD_A(sendbuf, counts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm), .comm = comm F) \
    X(NAME(Alltoallw, Ialltoallw), class, ADD_P(P_, const void *sendbuf, const COUNT *counts, const void *sdispls, const void *sendtypes, \
      void *recvbuf, const COUNT *recvcounts, const void *rdispls, const void *recvtypes, mpi_handle comm), \
      ADD_A(sendbuf, counts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm), .comm = comm F) \
    X(NAME(Neighbor_alltoallw, Ineighbor_alltoallw), class, ADD_P(P_, const void *sendbuf, const COUNT *counts, const void *sdispls, \
      const void *sendtypes, void *recvbuf, const COUNT *recvcounts, const void *rdispls, const void *recvtypes, mpi_handle comm), \
      ADD_A(sendbuf, counts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm), .comm = comm F)

#define FIRST_NAME(blocking, started) blocking
#define SECOND_NAME(blocking, started) started
#define WITHOUT_P(LIST, ...) LIST(__VA_ARGS__)
#define WITHOUT_A(...) (__VA_ARGS__)
#define REQUEST_P(LIST, ...) LIST(__VA_ARGS__, void *request)
#define REQUEST_A(...) (__VA_ARGS__, request)
#define REQUEST_F , .request = request
#define MPI_COLLECTIVES(X) COLLECTIVE_ROWS(X, FIRST_NAME, COLL, WITHOUT_P, WITHOUT_A, )
#define MPI_STARTED_COLLECTIVES(X) COLLECTIVE_ROWS(X, SECOND_NAME, ICOLL, REQUEST_P, REQUEST_A, REQUEST_F)

// ---- one-sided
#define TARGET_P const void *buf, COUNT count, mpi_handle type, int target, int64_t disp, COUNT target_count, mpi_handle target_type
#define TARGET_A buf, count, type, target, disp, target_count, target_type
#define RMA_F .count = count, .type = type, .peer = target, .win = win
#define FETCH_P const void *buf, COUNT count, mpi_handle type, void *result_buf, COUNT result_count, mpi_handle result_type, \
    int target, int64_t disp, COUNT target_count, mpi_handle target_type, mpi_handle op, mpi_handle win
#define FETCH_A buf, count, type, result_buf, result_count, result_type, target, disp, target_count, target_type, op, win
#define MPI_ONE_SIDED(X) \
    X(Put, RMA, P_(TARGET_P, mpi_handle win), (TARGET_A, win), RMA_F) \
    X(Get, RMA, P_(TARGET_P, mpi_handle win), (TARGET_A, win), RMA_F) \
    X(Accumulate, RMA, P_(TARGET_P, mpi_handle op, mpi_handle win), (TARGET_A, op, win), RMA_F) \
    X(Get_accumulate, RMA, P_(FETCH_P), (FETCH_A), .count = result_count, .type = result_type, .peer = target, .win = win) \
    X(Rput, IRMA, P_(TARGET_P, mpi_handle win, void *request), (TARGET_A, win, request), RMA_F, .request = request) \
    X(Rget, IRMA, P_(TARGET_P, mpi_handle win, void *request), (TARGET_A, win, request), RMA_F, .request = request) \
    X(Raccumulate, IRMA, P_(TARGET_P, mpi_handle op, mpi_handle win, void *request), (TARGET_A, op, win, request), RMA_F, \
      .request = request) \
    X(Rget_accumulate, IRMA, P_(FETCH_P, void *request), (FETCH_A, request), .count = result_count, .type = result_type, \
      .peer = target, .win = win, .request = request)

// ---- files: `void *buf` also where it is only read
#define MOVE_P mpi_handle file, void *buf, COUNT count, mpi_handle type
#define MOVE_A file, buf, count, type
#define MOVE_AT_P mpi_handle file, int64_t offset, void *buf, COUNT count, mpi_handle type
#define MOVE_AT_A file, offset, buf, count, type
#define AT_F .file = file, .has_offset = true, .offset = offset
#define WRITTEN_F .type = type, .count = count
#define MPI_FILES(X) \
    X(File_read, FILE_MOVE, P_(MOVE_P, void *status), (MOVE_A, STATUS(status)), .file = file) \
    X(File_read_all, FILE_MOVE_ALL, P_(MOVE_P, void *status), (MOVE_A, STATUS(status)), .file = file) \
    X(File_read_shared, FILE_MOVE, P_(MOVE_P, void *status), (MOVE_A, STATUS(status)), .file = file) \
    X(File_read_ordered, FILE_MOVE_ALL, P_(MOVE_P, void *status), (MOVE_A, STATUS(status)), .file = file) \
    X(File_read_at, FILE_MOVE, P_(MOVE_AT_P, void *status), (MOVE_AT_A, STATUS(status)), AT_F) \
    X(File_read_at_all, FILE_MOVE_ALL, P_(MOVE_AT_P, void *status), (MOVE_AT_A, STATUS(status)), AT_F) \
    X(File_write, FILE_MOVE, P_(MOVE_P, void *status), (MOVE_A, STATUS(status)), .file = file) \
    X(File_write_all, FILE_MOVE_ALL, P_(MOVE_P, void *status), (MOVE_A, STATUS(status)), .file = file) \
    X(File_write_shared, FILE_MOVE, P_(MOVE_P, void *status), (MOVE_A, STATUS(status)), .file = file) \
    X(File_write_ordered, FILE_MOVE_ALL, P_(MOVE_P, void *status), (MOVE_A, STATUS(status)), .file = file) \
    X(File_write_at, FILE_MOVE, P_(MOVE_AT_P, void *status), (MOVE_AT_A, STATUS(status)), AT_F) \
    X(File_write_at_all, FILE_MOVE_ALL, P_(MOVE_AT_P, void *status), (MOVE_AT_A, STATUS(status)), AT_F) \
    X(File_iread, FILE_START, P_(MOVE_P, void *request), (MOVE_A, request), .file = file, .reads = true, .request = request) \
    X(File_iread_shared, FILE_START, P_(MOVE_P, void *request), (MOVE_A, request), .file = file, .reads = true, .request = request) \
    X(File_iread_at, FILE_START, P_(MOVE_AT_P, void *request), (MOVE_AT_A, request), AT_F, .reads = true, .request = request) \
    X(File_iwrite, FILE_START, P_(MOVE_P, void *request), (MOVE_A, request), .file = file, WRITTEN_F, .request = request) \
    X(File_iwrite_shared, FILE_START, P_(MOVE_P, void *request), (MOVE_A, request), .file = file, WRITTEN_F, .request = request) \
    X(File_iwrite_at, FILE_START, P_(MOVE_AT_P, void *request), (MOVE_AT_A, request), AT_F, WRITTEN_F, .request = request) \
    X(File_iread_all, FILE_START_ALL, P_(MOVE_P, void *request), (MOVE_A, request), .file = file, .request = request) \
    X(File_iread_at_all, FILE_START_ALL, P_(MOVE_AT_P, void *request), (MOVE_AT_A, request), AT_F, .request = request) \
    X(File_iwrite_all, FILE_START_ALL, P_(MOVE_P, void *request), (MOVE_A, request), .file = file, WRITTEN_F, .request = request) \
    X(File_iwrite_at_all, FILE_START_ALL, P_(MOVE_AT_P, void *request), (MOVE_AT_A, request), AT_F, WRITTEN_F, .request = request) \
    X(File_read_all_begin, FILE_BEGIN, P_(MOVE_P), (MOVE_A), .file = file) \
    X(File_read_ordered_begin, FILE_BEGIN, P_(MOVE_P), (MOVE_A), .file = file) \
    X(File_read_at_all_begin, FILE_BEGIN, P_(MOVE_AT_P), (MOVE_AT_A), AT_F) \
    X(File_write_all_begin, FILE_BEGIN, P_(MOVE_P), (MOVE_A), .file = file) \
    X(File_write_ordered_begin, FILE_BEGIN, P_(MOVE_P), (MOVE_A), .file = file) \
    X(File_write_at_all_begin, FILE_BEGIN, P_(MOVE_AT_P), (MOVE_AT_A), AT_F)

// Those with a form MPI_..._c.
#define MPI_COUNTED(X) MPI_MESSAGES(X) MPI_COLLECTIVES(X) MPI_STARTED_COLLECTIVES(X) MPI_ONE_SIDED(X) MPI_FILES(X)

#define HALF_P P_(mpi_handle file, void *buf, void *status)
#define HALF_A (file, buf, STATUS(status))

#define MPI_OTHERS(X) \
    X(Init, INIT, P_(int *argc, char ***argv), (argc, argv), .comm = 0) \
    X(Init_thread, INIT, P_(int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided), .comm = 0) \
    X(Finalize, FINALIZE, (void), (), .comm = 0) \
    X(Abort, ABORT, P_(mpi_handle comm, int code), (comm, code), .comm = comm) \
    X(Wait, WAIT, P_(void *request, void *status), (request, STATUS(status)), .requests = request, .request_count = 1) \
    X(Waitall, WAITALL, P_(int count, void *requests, void *statuses), (count, requests, statuses), \
      .requests = requests, .request_count = count, .statuses = statuses) \
    X(Waitany, WAITANY, P_(int count, void *requests, int *index, void *status), (count, requests, index, STATUS(status)), \
      .requests = requests, .request_count = count, .indices = index) \
    X(Waitsome, WAITSOME, P_(int count, void *requests, int *done, int *indices, void *statuses), \
      (count, requests, done, indices, statuses), \
      .requests = requests, .request_count = count, .flag = done, .indices = indices, .statuses = statuses) \
    X(Test, TEST, P_(void *request, int *flag, void *status), (request, flag, STATUS(status)), \
      .requests = request, .request_count = 1, .flag = flag) \
    X(Testall, TESTALL, P_(int count, void *requests, int *flag, void *statuses), (count, requests, flag, statuses), \
      .requests = requests, .request_count = count, .flag = flag, .statuses = statuses) \
    X(Testany, TESTANY, P_(int count, void *requests, int *index, int *flag, void *status), \
      (count, requests, index, flag, STATUS(status)), \
      .requests = requests, .request_count = count, .flag = flag, .indices = index) \
    X(Testsome, TESTSOME, P_(int count, void *requests, int *done, int *indices, void *statuses), \
      (count, requests, done, indices, statuses), \
      .requests = requests, .request_count = count, .flag = done, .indices = indices, .statuses = statuses) \
    X(Request_free, FREE_REQUEST, P_(void *request), (request), .requests = request, .request_count = 1) \
    X(Cancel, CALL, P_(void *request), (request), .comm = 0) \
    X(Start, START, P_(void *request), (request), .requests = request, .request_count = 1) \
    X(Startall, START, P_(int count, void *requests), (count, requests), .requests = requests, .request_count = count) \
    X(Probe, PROBE, P_(int peer, int tag, mpi_handle comm, void *status), (peer, tag, comm, STATUS(status)), \
      .peer = peer, .tag = tag, .comm = comm) \
    X(Mprobe, MPROBE, P_(int peer, int tag, mpi_handle comm, void *message, void *status), \
      (peer, tag, comm, message, STATUS(status)), .peer = peer, .tag = tag, .comm = comm, .message = message) \
    X(Iprobe, POLL, P_(int peer, int tag, mpi_handle comm, int *flag, void *status), (peer, tag, comm, flag, STATUS(status)), \
      .peer = peer, .tag = tag, .comm = comm, .flag = flag) \
    X(Improbe, MPOLL, P_(int peer, int tag, mpi_handle comm, int *flag, void *message, void *status), \
      (peer, tag, comm, flag, message, STATUS(status)), .peer = peer, .tag = tag, .comm = comm, .flag = flag, .message = message) \
    X(Comm_dup, MAKE_COMM, P_(mpi_handle comm, void *made), (comm, made), .comm = comm, .made = made) \
    X(Comm_dup_with_info, MAKE_COMM, P_(mpi_handle comm, mpi_handle info, void *made), (comm, info, made), .comm = comm, .made = made) \
    X(Comm_idup, IDUP_COMM, P_(mpi_handle comm, void *made, void *request), (comm, made, request), .comm = comm, .made = made, \
      .request = request) \
    X(Comm_create, MAKE_COMM, P_(mpi_handle comm, mpi_handle group, void *made), (comm, group, made), .comm = comm, .made = made) \
    X(Comm_create_group, GROUP_COMM, P_(mpi_handle comm, mpi_handle group, int tag, void *made), (comm, group, tag, made), \
      .comm = comm, .tag = tag, .made = made) \
    X(Comm_split, MAKE_COMM, P_(mpi_handle comm, int color, int key, void *made), (comm, color, key, made), \
      .comm = comm, .made = made) \
    X(Comm_split_type, MAKE_COMM, P_(mpi_handle comm, int split, int key, mpi_handle info, void *made), \
      (comm, split, key, info, made), .comm = comm, .made = made) \
    X(Cart_create, MAKE_COMM, P_(mpi_handle comm, int dims, const int *sizes, const int *periods, int reorder, void *made), \
      (comm, dims, sizes, periods, reorder, made), .comm = comm, .made = made) \
    X(Cart_sub, MAKE_COMM, P_(mpi_handle comm, const int *remain, void *made), (comm, remain, made), .comm = comm, .made = made) \
    X(Graph_create, MAKE_COMM, P_(mpi_handle comm, int nodes, const int *index, const int *edges, int reorder, void *made), \
      (comm, nodes, index, edges, reorder, made), .comm = comm, .made = made) \
    X(Dist_graph_create, MAKE_COMM, P_(mpi_handle comm, int n, const int *sources, const int *degrees, const int *targets, \
      const int *weights, mpi_handle info, int reorder, void *made), \
      (comm, n, sources, degrees, targets, weights, info, reorder, made), .comm = comm, .made = made) \
    X(Dist_graph_create_adjacent, MAKE_COMM, P_(mpi_handle comm, int indegree, const int *sources, const int *in_weights, \
      int outdegree, const int *targets, const int *out_weights, mpi_handle info, int reorder, void *made), \
      (comm, indegree, sources, in_weights, outdegree, targets, out_weights, info, reorder, made), .comm = comm, .made = made) \
    X(Intercomm_merge, MAKE_COMM, P_(mpi_handle comm, int high, void *made), (comm, high, made), .comm = comm, .made = made) \
    X(Intercomm_create, INTER_COMM, P_(mpi_handle comm, int leader, mpi_handle bridge, int remote_leader, int tag, void *made), \
      (comm, leader, bridge, remote_leader, tag, made), .comm = comm, .tag = tag, .made = made) \
    X(Comm_free, FREE_COMM, P_(void *comm), (comm), .made = comm) \
    X(Comm_disconnect, FREE_COMM, P_(void *comm), (comm), .made = comm) \
    X(Win_create, MAKE_WIN, P_(void *base, int64_t size, int unit, mpi_handle info, mpi_handle comm, void *win), \
      (base, size, unit, info, comm, win), .comm = comm, .made = win) \
    X(Win_allocate, MAKE_WIN, P_(int64_t size, int unit, mpi_handle info, mpi_handle comm, void *base, void *win), \
      (size, unit, info, comm, base, win), .comm = comm, .made = win) \
    X(Win_allocate_shared, MAKE_WIN, P_(int64_t size, int unit, mpi_handle info, mpi_handle comm, void *base, void *win), \
      (size, unit, info, comm, base, win), .comm = comm, .made = win) \
    X(Win_create_dynamic, MAKE_WIN, P_(mpi_handle info, mpi_handle comm, void *win), (info, comm, win), .comm = comm, .made = win) \
    X(Win_free, FREE_WIN, P_(void *win), (win), .made = win) \
    X(Win_fence, WIN_COLL, P_(int assertions, mpi_handle win), (assertions, win), .win = win) \
    X(Win_lock, WIN_PEER, P_(int type, int target, int assertions, mpi_handle win), (type, target, assertions, win), \
      .peer = target, .win = win) \
    X(Win_unlock, WIN_PEER, P_(int target, mpi_handle win), (target, win), .peer = target, .win = win) \
    X(Win_lock_all, WIN, P_(int assertions, mpi_handle win), (assertions, win), .win = win) \
    X(Win_unlock_all, WIN, P_(mpi_handle win), (win), .win = win) \
    X(Win_flush, WIN_PEER, P_(int target, mpi_handle win), (target, win), .peer = target, .win = win) \
    X(Win_flush_local, WIN_PEER, P_(int target, mpi_handle win), (target, win), .peer = target, .win = win) \
    X(Win_flush_all, WIN, P_(mpi_handle win), (win), .win = win) \
    X(Win_flush_local_all, WIN, P_(mpi_handle win), (win), .win = win) \
    X(Win_sync, WIN, P_(mpi_handle win), (win), .win = win) \
    X(Win_start, WIN, P_(mpi_handle group, int assertions, mpi_handle win), (group, assertions, win), .win = win) \
    X(Win_complete, WIN, P_(mpi_handle win), (win), .win = win) \
    X(Win_post, WIN, P_(mpi_handle group, int assertions, mpi_handle win), (group, assertions, win), .win = win) \
    X(Win_wait, WIN, P_(mpi_handle win), (win), .win = win) \
    X(Fetch_and_op, RMA, P_(const void *buf, void *got, mpi_handle type, int target, int64_t disp, mpi_handle op, mpi_handle win), \
      (buf, got, type, target, disp, op, win), .count = 1, .type = type, .peer = target, .win = win) \
    X(Compare_and_swap, RMA, P_(const void *buf, const void *compare, void *got, mpi_handle type, int target, int64_t disp, \
      mpi_handle win), (buf, compare, got, type, target, disp, win), .count = 1, .type = type, .peer = target, .win = win) \
    X(File_open, MAKE_FILE, P_(mpi_handle comm, const char *name, int mode, mpi_handle info, void *made), \
      (comm, name, mode, info, made), .comm = comm, .name = name, .made = made) \
    X(File_close, FREE_FILE, P_(void *file), (file), .made = file) \
    X(File_delete, CALL, P_(const char *name, mpi_handle info), (name, info), .comm = 0) \
    X(File_set_size, FILE_COLL, P_(mpi_handle file, int64_t size), (file, size), .file = file) \
    X(File_preallocate, FILE_COLL, P_(mpi_handle file, int64_t size), (file, size), .file = file) \
    X(File_set_view, FILE_COLL, P_(mpi_handle file, int64_t disp, mpi_handle unit, mpi_handle type, const char *form, mpi_handle info), \
      (file, disp, unit, type, form, info), .file = file) \
    X(File_sync, FILE_COLL, P_(mpi_handle file), (file), .file = file) \
    X(File_seek_shared, FILE_COLL, P_(mpi_handle file, int64_t offset, int whence), (file, offset, whence), .file = file) \
    X(File_read_all_end, FILE_MOVE, HALF_P, HALF_A, .file = file) \
    X(File_read_ordered_end, FILE_MOVE, HALF_P, HALF_A, .file = file) \
    X(File_read_at_all_end, FILE_MOVE, HALF_P, HALF_A, .file = file) \
    X(File_write_all_end, FILE_MOVE, HALF_P, HALF_A, .file = file) \
    X(File_write_ordered_end, FILE_MOVE, HALF_P, HALF_A, .file = file) \
    X(File_write_at_all_end, FILE_MOVE, HALF_P, HALF_A, .file = file)
// clang-format on

#endif
