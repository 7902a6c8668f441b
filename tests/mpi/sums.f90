! SPDX-License-Identifier: Apache-2.0
! A Fortran program with three collectives.
program sums
  implicit none
  include 'mpif.h'
  integer :: ierr, rank, total, i
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  do i = 1, 3
    call MPI_ALLREDUCE(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  end do
  if (rank == 0) print *, total
  call MPI_FINALIZE(ierr)
end program sums
