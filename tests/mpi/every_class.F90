! SPDX-License-Identifier: Apache-2.0
! A Fortran program that makes calls of every class that is recorded, checks what arrives, and counts its own calls. With -DMPIFH it
! includes mpif.h, with -DMODULE it uses the module mpi, with -DF08 mpi_f08. Two ranks. Each writes a file FORTRAN_LOG.RANK:
! "call NAME COUNT" and "sent NAME BYTES PEER TAG", "received ...", "collective NAME BYTES" in the order of its calls.
#ifdef F08
#define HANDLE(kind) type(kind)
#define STATUS type(MPI_Status)
#define STATUSES(name, n) type(MPI_Status) :: name(n)
#else
#define HANDLE(kind) integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#endif

module counted
  implicit none
  integer, parameter :: most = 200
  character(len=32) :: names(most)
  integer :: counts(most) = 0, used = 0
  character(len=80) :: lines(400)
  integer :: line_count = 0
contains
  subroutine calls(name)
    character(len=*), intent(in) :: name
    integer :: i
    do i = 1, used
      if (names(i) == name) then
        counts(i) = counts(i) + 1
        return
      end if
    end do
    used = used + 1
    names(used) = name
    counts(used) = 1
  end subroutine calls

  subroutine message(what, name, bytes, peer, tag)
    character(len=*), intent(in) :: what, name
    integer, intent(in) :: bytes, peer, tag
    call calls(name)
    line_count = line_count + 1
    write (lines(line_count), '(A,1X,A,3(1X,I0))') what, name, bytes, peer, tag
  end subroutine message

  subroutine collective(name, bytes)
    character(len=*), intent(in) :: name
    integer, intent(in) :: bytes
    call calls(name)
    line_count = line_count + 1
    write (lines(line_count), '(A,1X,A,1X,I0)') 'collective', name, bytes
  end subroutine collective

  subroutine expect(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (.not. right) then
      write (0, '(2A)') 'the program got something else: ', what
      error stop 3
    end if
  end subroutine expect

  subroutine write_log(rank)
    integer, intent(in) :: rank
    character(len=512) :: path, text
    integer :: i
    call get_environment_variable('FORTRAN_LOG', path)
    write (text, '(2A,I0)') trim(path), '.', rank
    open (unit=20, file=trim(text), status='replace')
    do i = 1, used
      write (20, '(A,1X,A,1X,I0)') 'call', trim(names(i)), counts(i)
    end do
    do i = 1, line_count
      write (20, '(A)') trim(lines(i))
    end do
    close (20)
  end subroutine write_log
end module counted

program every_class
#ifdef F08
  use mpi_f08
#endif
#ifdef MODULE
  use mpi
#endif
  use counted
  implicit none
#ifdef MPIFH
  include 'mpif.h'
#endif
  integer :: ierr, rank, ranks, other, provided
  integer, asynchronous :: out(8), in(8)

  call calls('MPI_Init_thread')
  call MPI_Init_thread(MPI_THREAD_SINGLE, provided, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call expect(ranks == 2, 'two ranks')
  other = 1 - rank
  call blocking()
  call requests()
  call persistent()
  call probes()
  call collectives()
  call vectors()
  call started()
  call communicators()
  call windows()
  call files()
  call MPI_Pcontrol(rank + 1)
  call collective('MPI_Finalize', -1)
  call MPI_Finalize(ierr)
  call write_log(rank)

contains

  subroutine blocking()
    STATUS :: st
    HANDLE(MPI_Datatype) :: kind
    integer(kind=MPI_ADDRESS_KIND) :: place(1)
    integer :: lengths(1), length
    out = (/1, 2, 3, 4, 5, 6, 7, 8/) + 100 * rank
    in = 0
    if (rank == 0) then
      call message('sent', 'MPI_Send', 32, 1, 11)
      call MPI_Send(out, 8, MPI_INTEGER, 1, 11, MPI_COMM_WORLD, ierr)
      call message('sent', 'MPI_Ssend', 12, 1, 12)
      call MPI_Ssend(out, 3, MPI_INTEGER, 1, 12, MPI_COMM_WORLD, ierr)
      call message('received', 'MPI_Recv', 8, 1, 13)
      call MPI_Recv(in, 8, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call expect(in(2) == 102 .and. in(3) == 0, 'a message with its status ignored')
    else
      call message('received', 'MPI_Recv', 32, 0, 11)
      call MPI_Recv(in, 8, MPI_INTEGER, 0, 11, MPI_COMM_WORLD, st, ierr)
      call MPI_Get_count(st, MPI_INTEGER, length, ierr)
      call expect(length == 8 .and. in(8) == 8, 'a message')
      call message('received', 'MPI_Recv', 12, 0, 12)
      call MPI_Recv(in, 8, MPI_INTEGER, MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call message('sent', 'MPI_Send', 8, 0, 13)
      call MPI_Send(out, 2, MPI_INTEGER, 0, 13, MPI_COMM_WORLD, ierr)
    end if
    call message('sent', 'MPI_Sendrecv', 16, other, 14)
    call MPI_Sendrecv(out, 4, MPI_INTEGER, other, 14, in, 8, MPI_INTEGER, other, 14, MPI_COMM_WORLD, st, ierr)
    call expect(in(4) == 4 + 100 * other, 'sendrecv')
    call message('sent', 'MPI_Sendrecv_replace', 4, other, 15)
    call MPI_Sendrecv_replace(in, 1, MPI_INTEGER, other, 15, other, 15, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call expect(in(1) == 1 + 100 * rank, 'sendrecv_replace')
    ! MPI_BOTTOM with the address of the buffer in the type; nobody at the other end.
    lengths(1) = 8
    call MPI_Get_address(out, place(1), ierr)
    call MPI_Type_create_hindexed(1, lengths, place, MPI_INTEGER, kind, ierr)
    call MPI_Type_commit(kind, ierr)
    if (rank == 0) then
      call message('sent', 'MPI_Send', 32, 1, 16)
      call MPI_Send(MPI_BOTTOM, 1, kind, 1, 16, MPI_COMM_WORLD, ierr)
    else
      call message('received', 'MPI_Recv', 32, 0, 16)
      call MPI_Recv(MPI_BOTTOM, 1, kind, 0, 16, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call expect(out(8) == 8, 'MPI_BOTTOM')
    end if
    call MPI_Type_free(kind, ierr)
    call calls('MPI_Send')
    call MPI_Send(out, 8, MPI_INTEGER, MPI_PROC_NULL, 17, MPI_COMM_WORLD, ierr)
  end subroutine blocking

  subroutine begin(first, second, tag)
    HANDLE(MPI_Request), intent(out) :: first, second
    integer, intent(in) :: tag
    call message('started', 'MPI_Irecv', 4, other, tag)
    call MPI_Irecv(in, 1, MPI_INTEGER, other, tag, MPI_COMM_WORLD, first, ierr)
    call message('sent', 'MPI_Isend', 4, other, tag)
    call MPI_Isend(out, 1, MPI_INTEGER, other, tag, MPI_COMM_WORLD, second, ierr)
  end subroutine begin

  subroutine requests()
    HANDLE(MPI_Request) :: r(2)
    STATUSES(sts, 2)
    STATUS :: st
    integer :: which, done, indices(2), left
    logical :: flag
    call begin(r(1), r(2), 21)
    call calls('MPI_Waitall')
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)
    call begin(r(1), r(2), 22)
    call calls('MPI_Waitall')
    call MPI_Waitall(2, r, sts, ierr)
    call begin(r(1), r(2), 23)
    do done = 1, 2
      call calls('MPI_Waitany')
      call MPI_Waitany(2, r, which, MPI_STATUS_IGNORE, ierr)
      call expect(which >= 0 .and. which <= 2, 'an index') ! of C in mpi_f08 of MPICH 4.0
    end do
    call begin(r(1), r(2), 24)
    left = 2
    do while (left > 0)
      call calls('MPI_Waitsome')
      call MPI_Waitsome(2, r, done, indices, MPI_STATUSES_IGNORE, ierr)
      left = left - done
    end do
    call begin(r(1), r(2), 25)
    call calls('MPI_Wait')
    call MPI_Wait(r(1), st, ierr)
    call calls('MPI_Wait')
    call MPI_Wait(r(2), MPI_STATUS_IGNORE, ierr)
    call begin(r(1), r(2), 26)
    do which = 1, 2
      flag = .false.
      do while (.not. flag)
        call calls('MPI_Test')
        call MPI_Test(r(which), flag, MPI_STATUS_IGNORE, ierr)
      end do
    end do
    call begin(r(1), r(2), 27)
    flag = .false.
    do while (.not. flag)
      call calls('MPI_Testall')
      call MPI_Testall(2, r, flag, MPI_STATUSES_IGNORE, ierr)
    end do
    call begin(r(1), r(2), 28)
    left = 2
    do while (left > 0)
      call calls('MPI_Testany')
      call MPI_Testany(2, r, which, flag, st, ierr)
      if (flag) left = left - 1
    end do
    call begin(r(1), r(2), 29)
    left = 2
    do while (left > 0)
      call calls('MPI_Testsome')
      call MPI_Testsome(2, r, done, indices, sts, ierr)
      left = left - done
    end do
    call expect(in(1) == 1, 'messages with requests')
  end subroutine requests

  subroutine persistent()
    HANDLE(MPI_Request) :: r(2)
    integer :: i
    call message('sent', 'MPI_Send_init', 8, other, 31)
    call MPI_Send_init(out, 2, MPI_INTEGER, other, 31, MPI_COMM_WORLD, r(1), ierr)
    call calls('MPI_Recv_init')
    call MPI_Recv_init(in, 2, MPI_INTEGER, other, 31, MPI_COMM_WORLD, r(2), ierr)
    call calls('MPI_Startall')
    call MPI_Startall(2, r, ierr)
    call calls('MPI_Waitall')
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)
    do i = 1, 2
      call calls('MPI_Start')
      call MPI_Start(r(i), ierr)
    end do
    call calls('MPI_Waitall')
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)
    do i = 1, 2
      call calls('MPI_Request_free')
      call MPI_Request_free(r(i), ierr)
    end do
  end subroutine persistent

  subroutine probes()
    HANDLE(MPI_Request) :: r
    HANDLE(MPI_Message) :: found
    STATUS :: st
    logical :: flag
    if (rank == 0) then
      call message('sent', 'MPI_Send', 4, 1, 41)
      call MPI_Send(out, 1, MPI_INTEGER, 1, 41, MPI_COMM_WORLD, ierr)
      call message('sent', 'MPI_Send', 8, 1, 42)
      call MPI_Send(out, 2, MPI_INTEGER, 1, 42, MPI_COMM_WORLD, ierr)
      call message('sent', 'MPI_Send', 12, 1, 43)
      call MPI_Send(out, 3, MPI_INTEGER, 1, 43, MPI_COMM_WORLD, ierr)
      return
    end if
    call calls('MPI_Probe')
    call MPI_Probe(0, 41, MPI_COMM_WORLD, st, ierr)
    flag = .false.
    do while (.not. flag)
      call calls('MPI_Iprobe')
      call MPI_Iprobe(0, 41, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierr)
    end do
    call message('received', 'MPI_Recv', 4, 0, 41)
    call MPI_Recv(in, 8, MPI_INTEGER, 0, 41, MPI_COMM_WORLD, st, ierr)
    call calls('MPI_Mprobe')
    call MPI_Mprobe(0, 42, MPI_COMM_WORLD, found, MPI_STATUS_IGNORE, ierr)
    call message('received', 'MPI_Mrecv', 8, 0, 42)
    call MPI_Mrecv(in, 8, MPI_INTEGER, found, MPI_STATUS_IGNORE, ierr)
    flag = .false.
    do while (.not. flag)
      call calls('MPI_Improbe')
      call MPI_Improbe(0, 43, MPI_COMM_WORLD, flag, found, st, ierr)
    end do
    call calls('MPI_Imrecv')
    call MPI_Imrecv(in, 8, MPI_INTEGER, found, r, ierr)
    call calls('MPI_Wait')
    call MPI_Wait(r, st, ierr)
    call expect(in(3) == 3, 'matched messages')
  end subroutine probes

  subroutine collectives()
    integer :: both(16)
    call collective('MPI_Barrier', -1)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    in = rank
    call collective('MPI_Bcast', 32)
    call MPI_Bcast(in, 8, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)
    call expect(in(5) == 1, 'bcast')
    out = rank + 1
    call collective('MPI_Reduce', 20)
    call MPI_Reduce(out, in, 5, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    call collective('MPI_Allreduce', 32)
    call MPI_Allreduce(out, in, 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call expect(in(8) == 3, 'allreduce')
    call collective('MPI_Allreduce', 32)
    call MPI_Allreduce(MPI_IN_PLACE, out, 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call expect(out(1) == 3, 'allreduce in place')
    out = rank + 1
    call collective('MPI_Scan', 4)
    call MPI_Scan(out, in, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call collective('MPI_Exscan', 4)
    call MPI_Exscan(out, in, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    both = rank
    call collective('MPI_Gather', 32)
    call MPI_Gather(out, 8, MPI_INTEGER, both, 8, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call collective('MPI_Scatter', 32)
    call MPI_Scatter(both, 8, MPI_INTEGER, in, 8, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call collective('MPI_Allgather', 32)
    call MPI_Allgather(out, 8, MPI_INTEGER, both, 8, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call expect(both(9) == 2, 'allgather')
    both(1 + 8 * rank:8 + 8 * rank) = 7 + rank
    call collective('MPI_Allgather', 32)
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, both, 8, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call expect(both(1) == 7 .and. both(9) == 8, 'allgather in place')
    call collective('MPI_Alltoall', 32)
    call MPI_Alltoall(out, 4, MPI_INTEGER, in, 4, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call collective('MPI_Reduce_scatter_block', 32)
    call MPI_Reduce_scatter_block(both, in, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  end subroutine collectives

  subroutine vectors()
    HANDLE(MPI_Datatype) :: kinds(2)
    integer :: counts_of(2), starts(2), both(16), bytes(2)
    counts_of = (/3, 5/)
    starts = (/0, 3/)
    bytes = (/0, 12/)
    kinds = MPI_INTEGER
    both = rank
    call collective('MPI_Gatherv', 4 * counts_of(rank + 1))
    call MPI_Gatherv(out, counts_of(rank + 1), MPI_INTEGER, both, counts_of, starts, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)
    call collective('MPI_Scatterv', 4 * counts_of(rank + 1))
    call MPI_Scatterv(both, counts_of, starts, MPI_INTEGER, in, counts_of(rank + 1), MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)
    call collective('MPI_Allgatherv', 4 * counts_of(rank + 1))
    call MPI_Allgatherv(out, counts_of(rank + 1), MPI_INTEGER, both, counts_of, starts, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    counts_of = 3
    call collective('MPI_Alltoallv', 24)
    call MPI_Alltoallv(out, counts_of, starts, MPI_INTEGER, in, counts_of, starts, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call collective('MPI_Alltoallw', -1)
    call MPI_Alltoallw(out, counts_of, bytes, kinds, in, counts_of, bytes, kinds, MPI_COMM_WORLD, ierr)
    call collective('MPI_Reduce_scatter', 24)
    call MPI_Reduce_scatter(both, in, counts_of, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  end subroutine vectors

  subroutine finish(r)
    HANDLE(MPI_Request), intent(inout) :: r
    call calls('MPI_Wait')
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)
  end subroutine finish

  subroutine started()
    HANDLE(MPI_Request) :: r
    call collective('MPI_Ibarrier', -1)
    call MPI_Ibarrier(MPI_COMM_WORLD, r, ierr)
    call finish(r)
    call collective('MPI_Ibcast', 16)
    call MPI_Ibcast(in, 4, MPI_INTEGER, 0, MPI_COMM_WORLD, r, ierr)
    call finish(r)
    out = rank
    call collective('MPI_Iallreduce', 32)
    call MPI_Iallreduce(MPI_IN_PLACE, out, 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r, ierr)
    call finish(r)
    call expect(out(1) == 1, 'iallreduce in place')
  end subroutine started

  subroutine communicators()
    HANDLE(MPI_Comm) :: copy, half, grid, line, made
    HANDLE(MPI_Group) :: group
    HANDLE(MPI_Request) :: r
    integer :: sizes(2)
    logical :: periods(2), remain(2)
    call collective('MPI_Comm_dup', -1)
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
    call collective('MPI_Barrier', -1)
    call MPI_Barrier(copy, ierr)
    call collective('MPI_Comm_split', -1)
    call MPI_Comm_split(copy, 0, -rank, half, ierr)
    call collective('MPI_Bcast', 4)
    call MPI_Bcast(in, 1, MPI_INTEGER, 0, half, ierr)
    call collective('MPI_Comm_idup', -1)
    call MPI_Comm_idup(half, made, r, ierr)
    call finish(r)
    call collective('MPI_Barrier', -1)
    call MPI_Barrier(made, ierr)
    call collective('MPI_Comm_free', -1)
    call MPI_Comm_free(made, ierr)
    sizes = (/2, 1/)
    periods = .false.
    remain = (/.true., .false./)
    call collective('MPI_Cart_create', -1)
    call MPI_Cart_create(copy, 2, sizes, periods, .false., grid, ierr)
    call collective('MPI_Cart_sub', -1)
    call MPI_Cart_sub(grid, remain, line, ierr)
    call collective('MPI_Allreduce', 4)
    call MPI_Allreduce(out, in, 1, MPI_INTEGER, MPI_MAX, line, ierr)
    call MPI_Comm_group(copy, group, ierr)
    call collective('MPI_Comm_create', -1)
    call MPI_Comm_create(copy, group, made, ierr)
    call MPI_Group_free(group, ierr)
    call collective('MPI_Comm_free', -1)
    call MPI_Comm_free(made, ierr)
    call collective('MPI_Comm_free', -1)
    call MPI_Comm_free(line, ierr)
    call collective('MPI_Comm_free', -1)
    call MPI_Comm_free(grid, ierr)
    call collective('MPI_Comm_free', -1)
    call MPI_Comm_free(half, ierr)
    call collective('MPI_Comm_disconnect', -1)
    call MPI_Comm_disconnect(copy, ierr)
  end subroutine communicators

  ! MPI-IO is not recorded, nor what MPI itself calls for it.
  subroutine files()
    HANDLE(MPI_File) :: file
    integer(kind=MPI_OFFSET_KIND) :: position
    character(len=512) :: path
    call get_environment_variable('FORTRAN_LOG', path)
    call collective('MPI_File_open', -1)
    call MPI_File_open(MPI_COMM_WORLD, trim(path)//'.data', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)
    call expect(ierr == MPI_SUCCESS, 'a file')
    call collective('MPI_File_write_ordered', 32)
    call MPI_File_write_ordered(file, out, 8, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call collective('MPI_File_write_all', 32)
    call MPI_File_write_all(file, out, 8, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    position = 0
    call calls('MPI_File_read_at')
    call MPI_File_read_at(file, position, in, 4, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call expect(ierr == MPI_SUCCESS, 'a part of the file')
    call collective('MPI_File_close', -1)
    call MPI_File_close(file, ierr)
  end subroutine files

  subroutine windows()
    HANDLE(MPI_Win) :: win
    HANDLE(MPI_Request) :: r
    integer(kind=MPI_ADDRESS_KIND) :: bytes, place
    integer, asynchronous, save :: shared(8)
    bytes = 32
    place = 0
    shared = rank
    call collective('MPI_Win_create', -1)
    call MPI_Win_create(shared, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call collective('MPI_Win_fence', -1)
    call MPI_Win_fence(0, win, ierr)
    call message('sent', 'MPI_Put', 8, other, -1)
    call MPI_Put(out, 2, MPI_INTEGER, other, place, 2, MPI_INTEGER, win, ierr)
    place = 4
    call message('got', 'MPI_Get', 4, other, -1)
    call MPI_Get(in, 1, MPI_INTEGER, other, place, 1, MPI_INTEGER, win, ierr)
    call message('sent', 'MPI_Accumulate', 4, other, -1)
    place = 6
    call MPI_Accumulate(out, 1, MPI_INTEGER, other, place, 1, MPI_INTEGER, MPI_SUM, win, ierr)
    call collective('MPI_Win_fence', -1)
    call MPI_Win_fence(0, win, ierr)
    call expect(in(1) == other, 'get')
    call calls('MPI_Win_lock')
    call MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win, ierr)
    call message('sent', 'MPI_Rput', 4, other, -1)
    call MPI_Rput(out, 1, MPI_INTEGER, other, place, 1, MPI_INTEGER, win, r, ierr)
    call finish(r)
    call calls('MPI_Win_flush')
    call MPI_Win_flush(other, win, ierr)
    call message('sent', 'MPI_Fetch_and_op', 4, other, -1)
    call MPI_Fetch_and_op(out, in, MPI_INTEGER, other, place, MPI_SUM, win, ierr)
    call calls('MPI_Win_unlock')
    call MPI_Win_unlock(other, win, ierr)
    call collective('MPI_Win_free', -1)
    call MPI_Win_free(win, ierr)
  end subroutine windows
end program every_class
